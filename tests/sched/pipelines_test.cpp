// Kernels with pipelines written by hand: each departure from what the processor needs is refused
// by name before the kernel is distributed.
#include "sched/schedule_support.h"
#include "sched/simt/layout.h"

namespace sinter::sched {
namespace {

// A product of 64 x 64 accumulators by an instruction that reads shared memory.
constexpr const char *kKernel = R"(
tile.kernel @k(%a: !tile.view<?x?xbf16, in>, %b: !tile.view<?x?xbf16, in>, %out: !tile.view<?x?xf32, out>)
    attributes {sched.threads = 128 : i64} {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %i0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  tile.grid %c1, %c1, %c1
  %left = sched.make_pipeline swizzled : !sched.pipeline<3, tensor<64x64xbf16>>
  %right = sched.make_pipeline swizzled : !sched.pipeline<3, tensor<64x64xbf16>>
  sched.stage_copy %a[%c0, %c0] to %left[%i0] : !tile.view<?x?xbf16, in>, !sched.pipeline<3, tensor<64x64xbf16>>
  sched.stage_copy %b[%c0, %c0] to %right[%i0] : !tile.view<?x?xbf16, in>, !sched.pipeline<3, tensor<64x64xbf16>>
  sched.commit
  sched.await 0
  %flying = sched.stage_dot "nvidia.wgmma.m64n64k16.f32.bf16" %left, %right[%i0], %zero pending 0
      : !sched.pipeline<3, tensor<64x64xbf16>>, !sched.pipeline<3, tensor<64x64xbf16>>,
        tensor<64x64xf32> -> tensor<64x64xf32>
  %accumulators = sched.settle %flying : tensor<64x64xf32> -> tensor<64x64xf32>
  tile.store %accumulators, %out[%c0, %c0] : tensor<64x64xf32>, !tile.view<?x?xf32, out>
}
)";

SimtFacts hopper() {
  SimtFacts facts;
  facts.maxShared = 232448;
  facts.asyncCopies = true;
  facts.instructions = {"nvidia.wgmma.m64n64k16.f32.bf16", "nvidia.wgmma.m64n64k16.f32.f16",
                        "nvidia.wgmma.ra.m64n64k16.f32.bf16", "nvidia.mma.m16n8k16.f32.bf16"};
  return facts;
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  EXPECT_NE(text.find(from), std::string::npos) << from;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string scheduling(const std::string &text, const SimtFacts &facts) {
  return made(text, facts).message;
}

TEST(Pipelines, MayBeWrittenByHand) {
  EXPECT_EQ(scheduling(kKernel, hopper()), "scheduled");
}

struct Departure {
  const char *name, *from, *to, *message;
};

class PipelineRefusals : public testing::TestWithParam<Departure> {};
TEST_P(PipelineRefusals, NameWhatWasFoundAndExpected) {
  const Departure &departure = GetParam();
  EXPECT_EQ(scheduling(replaced(kKernel, departure.from, departure.to), hopper()),
            departure.message);
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, PipelineRefusals,
    testing::Values(
        Departure{"ThreadsThatAreNoNumber", "128 : i64", "\"128\"",
                  "'tile.kernel' op has sched.threads = \"128\", expected an i64"},
        Departure{
            "ThreadsThatAreNoPowerOfTwo", "128 : i64", "96 : i64",
            "'tile.kernel' op has blocks of 96 threads, expected a power of two from 32 to 1024"},
        Departure{
            "ThreadsBeyondTheBlock", "128 : i64", "2048 : i64",
            "'tile.kernel' op has blocks of 2048 threads, expected a power of two from 32 to 1024"},
        Departure{
            "FewerThreadsThanASubgroup", "128 : i64", "16 : i64",
            "'tile.kernel' op has blocks of 16 threads, expected a power of two from 32 to 1024"},
        Departure{
            "NoPlaces", "pipeline<3,", "pipeline<0,",
            "'sched.make_pipeline' op has 0 stages for 'tensor<64x64xbf16>', expected at least "
            "one and at most 232448 bytes"},
        Departure{"PlacesBeyondSharedMemory", "pipeline<3,", "pipeline<1000,",
                  "'sched.make_pipeline' op has 1000 stages for 'tensor<64x64xbf16>', expected at "
                  "least one and at most 232448 bytes"},
        Departure{
            "PlacesBeyondWhatCanBeCounted", "pipeline<3,", "pipeline<9223372036854775807,",
            "'sched.make_pipeline' op has 9223372036854775807 stages for 'tensor<64x64xbf16>', "
            "expected at least one and at most 232448 bytes"},
        Departure{
            "TilesOfOneAxis", "pipeline<3, tensor<64x64xbf16>>", "pipeline<3, tensor<64xbf16>>",
            "'sched.make_pipeline' op has stages for 'tensor<64xbf16>', expected a tile of two "
            "axes with elements of 8, 16 or 32 bits"},
        Departure{
            "RowsOfPartsOfPieces", "pipeline<3, tensor<64x64xbf16>>",
            "pipeline<3, tensor<64x4xbf16>>",
            "'sched.make_pipeline' op has stages for 'tensor<64x4xbf16>', expected rows of whole "
            "pieces of 16 bytes"},
        Departure{"PlainPipelines", "make_pipeline swizzled", "make_pipeline",
                  "'sched.stage_dot' op multiplies 'tensor<64x64xbf16>' with 'tensor<64x64xbf16>', "
                  "expected swizzled pipelines with rows of 128 bytes of the operands of "
                  "'nvidia.wgmma.m64n64k16.f32.bf16'"},
        Departure{"RowsOfAnotherLength", "pipeline<3, tensor<64x64xbf16>>",
                  "pipeline<3, tensor<64x32xbf16>>",
                  "'sched.stage_dot' op multiplies 'tensor<64x32xbf16>' with 'tensor<64x32xbf16>', "
                  "expected swizzled pipelines with rows of 128 bytes of the operands of "
                  "'nvidia.wgmma.m64n64k16.f32.bf16'"},
        Departure{"InstructionsThatTakeRegisters", "nvidia.wgmma.m64n64k16.f32.bf16",
                  "nvidia.mma.m16n8k16.f32.bf16",
                  "'sched.stage_dot' op names 'nvidia.mma.m16n8k16.f32.bf16', expected an "
                  "instruction of the processor that reads shared memory"},
        Departure{"InstructionsOfOtherElements", "nvidia.wgmma.m64n64k16.f32.bf16",
                  "nvidia.wgmma.m64n64k16.f32.f16",
                  "'sched.stage_dot' op multiplies 'tensor<64x64xbf16>' with 'tensor<64x64xbf16>', "
                  "expected swizzled pipelines with rows of 128 bytes of the operands of "
                  "'nvidia.wgmma.m64n64k16.f32.f16'"},
        Departure{"InstructionsThatTheProcessorLacks", "nvidia.wgmma.m64n64k16.f32.bf16",
                  "nvidia.wgmma.m64n128k16.f32.bf16",
                  "'sched.stage_dot' op names 'nvidia.wgmma.m64n128k16.f32.bf16', expected an "
                  "instruction of the processor that reads shared memory"},
        Departure{"AccumulatorsOfAnotherShape", "tensor<64x64xf32>", "tensor<64x32xf32>",
                  "'sched.stage_dot' op has 'tensor<64x32xf32>', expected 'tensor<64x64xf32>'"},
        Departure{"AccumulatorsThatDoNotShareOut", "128 : i64", "256 : i64",
                  "'sched.stage_dot' op gives 64 x 64 accumulators to 256 threads, expected whole "
                  "instructions 'nvidia.wgmma.m64n64k16.f32.bf16' for each group of 128"},
        Departure{"FewerThanNoPendingProducts", "pending 0", "pending -1",
                  "'sched.stage_dot' op leaves -1 groups pending, expected 0 or more"},
        Departure{"FewerThanNoPendingCopies", "sched.await 0", "sched.await -1",
                  "'sched.await' op leaves -1 groups pending, expected 0 or more"},
        Departure{"ViewsThatProgramsWrite", "!tile.view<?x?xbf16, in>",
                  "!tile.view<?x?xbf16, inout>",
                  "'sched.stage_copy' op copies from '!tile.view<?x?xbf16, inout>' at 2 offsets, "
                  "expected a plain in view of two axes"},
        Departure{
            "ViewsOfStridedRows", "!tile.view<?x?xbf16, in>", "!tile.view<?x?xbf16, in, strided>",
            "'sched.stage_copy' op copies from '!tile.view<?x?xbf16, in, strided>' at 2 offsets, "
            "expected a plain in view of two axes"},
        Departure{
            "ViewsOfOtherElements", "!tile.view<?x?xbf16, in>", "!tile.view<?x?xf16, in>",
            "'sched.stage_copy' op copies elements 'f16' to stages for 'tensor<64x64xbf16>'"}),
    [](const testing::TestParamInfo<Departure> &info) { return std::string(info.param.name); });

TEST(Pipelines, DoNotGoAroundLoops) {
  std::string pipeline = "!sched.pipeline<3, tensor<64x64xbf16>>";
  std::string loop = "%n = tile.dim %a, 0 : !tile.view<?x?xbf16, in>\n"
                     "  %other = scf.for %i = %c0 to %n step %c1 iter_args(%r = %right) -> " +
                     pipeline + " {\n  scf.yield %left : " + pipeline +
                     "\n  }\n  sched.stage_copy %b[%c0, %c0] to ";
  std::string text = replaced(kKernel, "sched.stage_copy %b[%c0, %c0] to %right", loop + "%other");
  EXPECT_EQ(scheduling(text, hopper()),
            "'sched.stage_copy' op uses a pipeline that is no result of 'sched.make_pipeline'");
}

TEST(Pipelines, AreReadPlainWhereRegistersMultiply) {
  std::string text =
      replaced(kKernel, "%accumulators = sched.settle %flying : tensor<64x64xf32> ->",
               "%tile = sched.stage_read %left[%i0] : !sched.pipeline<3, "
               "tensor<64x64xbf16>> -> tensor<64x64xbf16>\n  %accumulators = sched.settle "
               "%flying : tensor<64x64xf32> ->");
  EXPECT_EQ(scheduling(text, hopper()),
            "'sched.stage_read' op reads a swizzled pipeline, expected a plain one");
}

// The message for a part that `read` describes of a plain pipeline of 1 x 64 numbers.
std::string partMessage(const std::string &read) {
  return scheduling(R"(
tile.kernel @k(%out: !tile.view<1x64xf32, out>) attributes {sched.threads = 128 : i64} {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %i0 = arith.constant 0 : i32
  tile.grid %c1, %c1, %c1
  %pipeline = sched.make_pipeline : !sched.pipeline<1, tensor<1x64xf32>>
  %zeros = arith.constant dense<0.0> : tensor<1x64xf32>
  sched.stage_store %zeros to %pipeline[%i0] : tensor<1x64xf32>, !sched.pipeline<1, tensor<1x64xf32>>
  %part = sched.stage_read %pipeline[%i0] )" +
                        read + R"(
  tile.store %part, %out[%c0, %c0] : tensor<1x32xf32>, !tile.view<1x64xf32, out>
}
)",
                    {});
}

TEST(Pipelines, PartsOfTilesLieInside) {
  const std::string pipeline = "!sched.pipeline<1, tensor<1x64xf32>> -> ",
                    part = pipeline + "tensor<1x32xf32>";
  EXPECT_EQ(partMessage("from [0, 32] : " + part), "scheduled");
  const std::string expected = "expected a part of 'tensor<1x64xf32>'";
  EXPECT_EQ(partMessage("from [0, 33] : " + part),
            "'sched.stage_read' op reads 'tensor<1x32xf32>' from [0, 33], " + expected);
  EXPECT_EQ(partMessage("from [0, -1] : " + part),
            "'sched.stage_read' op reads 'tensor<1x32xf32>' from [0, -1], " + expected);
  EXPECT_EQ(partMessage("from [0, 9223372036854775807] : " + part),
            "'sched.stage_read' op reads 'tensor<1x32xf32>' from [0, 9223372036854775807], " +
                expected);
  EXPECT_EQ(partMessage("from [0] : " + part),
            "'sched.stage_read' op reads 'tensor<1x32xf32>' from [0], " + expected);
  EXPECT_EQ(partMessage(": " + part),
            "'sched.stage_read' op has 'tensor<1x32xf32>', expected 'tensor<1x64xf32>'");
}

// ---- shared memory ----

TEST(Pipelines, KeepTheirPlacesFromReductionsBesideThem) {
  constexpr int64_t kColumns = 1024;
  Made found = made(R"(
tile.kernel @k(%x: !tile.view<1x1024xf32, in>, %most: !tile.view<1x1xf32, out>,
    %copy: !tile.view<1x1024xf32, out>) attributes {sched.threads = 128 : i64} {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %i0 = arith.constant 0 : i32
  tile.grid %c1, %c1, %c1
  %pipeline = sched.make_pipeline : !sched.pipeline<1, tensor<1x1024xf32>>
  %tile = tile.load %x[%c0, %c0] : !tile.view<1x1024xf32, in> -> tensor<1x1024xf32>
  %negative = arith.negf %tile : tensor<1x1024xf32>
  sched.stage_store %negative to %pipeline[%i0] : tensor<1x1024xf32>, !sched.pipeline<1, tensor<1x1024xf32>>
  %max = tile.reduce max %tile axis 1 : tensor<1x1024xf32> -> tensor<1x1xf32>
  %again = sched.stage_read %pipeline[%i0] : !sched.pipeline<1, tensor<1x1024xf32>> -> tensor<1x1024xf32>
  tile.store %max, %most[%c0, %c0] : tensor<1x1xf32>, !tile.view<1x1xf32, out>
  tile.store %again, %copy[%c0, %c0] : tensor<1x1024xf32>, !tile.view<1x1024xf32, out>
}
)",
                    {});
  ASSERT_EQ(found.message, "scheduled");
  std::vector<float> x(kColumns), most(1), copy(kColumns), expected;
  for (int64_t at = 0; at < kColumns; ++at)
    expected.push_back(-(x[at] = static_cast<float>(1 + at)));
  std::vector<tile::Argument> arguments{tile::HostView::contiguous(x.data(), {1, kColumns}),
                                        tile::HostView::contiguous(most.data(), {1, 1}),
                                        tile::HostView::contiguous(copy.data(), {1, kColumns})};
  auto ran = sched::interpretKernel(found.kernel(), arguments);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(most.front(), kColumns);
  EXPECT_EQ(copy, expected);
}

// ---- accumulators that no register holds ----

constexpr const char *kOpaque = R"(
tile.kernel @k(%a: !tile.view<?x?xbf16, in>, %out: !tile.view<?x?xf32, out>)
    attributes {sched.threads = 128 : i64} {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %i0 = arith.constant 0 : i32
  tile.grid %c1, %c1, %c1
  %pipeline = sched.make_pipeline : !sched.pipeline<2, tensor<64x32xbf16>>
  sched.acc_clear "vulkan.cooperative.16x16x16.f32.bf16" 0 count 4
  %tile = tile.load %a[%c0, %c0] : !tile.view<?x?xbf16, in> -> tensor<64x32xbf16>
  sched.stage_store %tile to %pipeline[%i0] : tensor<64x32xbf16>, !sched.pipeline<2, tensor<64x32xbf16>>
  sched.barrier
  sched.stage_accumulate "vulkan.cooperative.16x16x16.f32.bf16" %pipeline, %pipeline[%i0] to 0
      : !sched.pipeline<2, tensor<64x32xbf16>>, !sched.pipeline<2, tensor<64x32xbf16>>
  sched.barrier
  %accumulators = sched.acc_read "vulkan.cooperative.16x16x16.f32.bf16" 0 : tensor<64x64xf32>
  tile.store %accumulators, %out[%c0, %c0] : tensor<64x64xf32>, !tile.view<?x?xf32, out>
}
)";

SimtFacts cooperative() {
  SimtFacts facts;
  facts.instructions = {"vulkan.cooperative.16x16x16.f32.f16",
                        "vulkan.cooperative.16x16x16.f32.bf16"};
  return facts;
}

std::string opaqueWith(const std::string &from, const std::string &to) {
  return scheduling(replaced(kOpaque, from, to), cooperative());
}

TEST(OpaquePipelines, LeaveSharedMemoryToTheAccumulatorsAfterTheirLastUse) {
  Made found = made(kOpaque, cooperative());
  ASSERT_EQ(found.message, "scheduled");
  EXPECT_EQ(found.kernel()->getAttrOfType<mlir::IntegerAttr>(kSharedName).getInt(),
            2 * 64 * (64 + 16));
}

TEST(OpaquePipelines, AreRefusedWhereTheProductDoesNotFit) {
  const std::string bf16 = "cooperative.16x16x16.f32.bf16";
  EXPECT_EQ(opaqueWith("@k", "@product"), "scheduled");
  EXPECT_EQ(
      opaqueWith(bf16, "cooperative.16x16x16.f32.f16"),
      "'sched.stage_accumulate' op multiplies 'tensor<64x32xbf16>' with 'tensor<64x32xbf16>', "
      "expected plain pipelines of the operands of 'vulkan.cooperative.16x16x16.f32.f16' with "
      "whole steps of 16");
  EXPECT_EQ(
      opaqueWith("64x32xbf16", "64x24xbf16"),
      "'sched.stage_accumulate' op multiplies 'tensor<64x24xbf16>' with 'tensor<64x24xbf16>', "
      "expected plain pipelines of the operands of 'vulkan.cooperative.16x16x16.f32.bf16' with "
      "whole steps of 16");
  EXPECT_EQ(opaqueWith("vulkan." + bf16, "nvidia.mma.m16n8k16.f32.bf16"),
            "'sched.stage_accumulate' op names 'nvidia.mma.m16n8k16.f32.bf16' for accumulators of "
            "64, 64 over 128 "
            "threads, expected an instruction of the processor with opaque accumulators, and whole "
            "fragments for each subgroup");
  EXPECT_EQ(
      opaqueWith("tensor<64x64xf32>", "tensor<64x24xf32>"),
      "'sched.acc_read' op names 'vulkan.cooperative.16x16x16.f32.bf16' for accumulators of 64, 24 "
      "over 128 threads, expected an instruction of the processor with opaque accumulators, and "
      "whole fragments for each subgroup");
}

// ---- a tile in registers with a pipeline ----

constexpr const char *kTileKernel = R"(
tile.kernel @k(%a: !tile.view<?x?xbf16, in>, %b: !tile.view<?x4x?x64xbf16, in>, %out: !tile.view<?x?xf32, out>)
    attributes {sched.threads = 128 : i64} {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %i0 = arith.constant 0 : i32
  %yes = arith.constant true
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  tile.grid %c1, %c1, %c1
  %left = tile.load %a[%c0, %c0] : !tile.view<?x?xbf16, in> -> tensor<64x32xbf16>
  %right = sched.make_pipeline swizzled : !sched.pipeline<2, tensor<32x64xbf16>>
  sched.stage_copy %b[%c0, %c1, %c0, %c0] axes [2, 3] to %right[%i0] when %yes
      : !tile.view<?x4x?x64xbf16, in>, !sched.pipeline<2, tensor<32x64xbf16>>
  sched.commit
  sched.await 0
  %flying = sched.tile_dot "nvidia.wgmma.ra.m64n64k16.f32.bf16" %left, %right[%i0], %zero
      : tensor<64x32xbf16>, !sched.pipeline<2, tensor<32x64xbf16>>, tensor<64x64xf32> -> tensor<64x64xf32>
  %accumulators = sched.settle %flying : tensor<64x64xf32> -> tensor<64x64xf32>
  tile.store %accumulators, %out[%c0, %c0] : tensor<64x64xf32>, !tile.view<?x?xf32, out>
}
)";

TEST(TileDots, MayBeWrittenByHand) {
  EXPECT_EQ(scheduling(kTileKernel, hopper()), "scheduled");
}

// Rows that fill no instruction, and fewer accumulators than a pipeline's panels.
TEST(TileDots, MayHaveRowsAndColumnsToSpare) {
  std::string rows =
      replaced(replaced(kTileKernel, "64x32xbf16", "50x32xbf16"), "64x64xf32", "50x64xf32");
  EXPECT_EQ(scheduling(rows, hopper()), "scheduled");
  EXPECT_EQ(scheduling(replaced(kTileKernel, "64x64xf32", "64x40xf32"), hopper()), "scheduled");
}

class TileDotRefusals : public testing::TestWithParam<Departure> {};
TEST_P(TileDotRefusals, NameWhatWasFoundAndExpected) {
  const Departure &departure = GetParam();
  EXPECT_EQ(scheduling(replaced(kTileKernel, departure.from, departure.to), hopper()),
            departure.message);
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, TileDotRefusals,
    testing::Values(
        Departure{"InstructionsThatReadBoth", "wgmma.ra.", "wgmma.",
                  "'sched.tile_dot' op names 'nvidia.wgmma.m64n64k16.f32.bf16', expected an "
                  "instruction of the processor that reads b in shared memory"},
        Departure{
            "PlainPipelines", "make_pipeline swizzled", "make_pipeline",
            "'sched.tile_dot' op multiplies 'tensor<64x32xbf16>' with "
            "'tensor<32x64xbf16>', expected a tile and a swizzled pipeline with rows of whole "
            "128 bytes of the operands of 'nvidia.wgmma.ra.m64n64k16.f32.bf16'"},
        Departure{
            "TilesOfAnotherDepth", "64x32xbf16", "64x16xbf16",
            "'sched.tile_dot' op multiplies 'tensor<64x16xbf16>' with "
            "'tensor<32x64xbf16>', expected a tile and a swizzled pipeline with rows of whole "
            "128 bytes of the operands of 'nvidia.wgmma.ra.m64n64k16.f32.bf16'"},
        Departure{"AccumulatorsThatDoNotShareOut", "128 : i64", "256 : i64",
                  "'sched.tile_dot' op gives 64 x 64 accumulators to 256 threads, expected whole "
                  "instructions 'nvidia.wgmma.ra.m64n64k16.f32.bf16' for each group of 128"},
        Departure{"ViewsOfMoreAxesThanTold", "axes [2, 3] ", "",
                  "'sched.stage_copy' op copies from '!tile.view<?x4x?x64xbf16, in>' at 4 offsets, "
                  "expected a plain in view of two axes"},
        Departure{
            "AxesInNoOrder", "axes [2, 3]", "axes [3, 2]",
            "'sched.stage_copy' op copies along axes 3, 2 of '!tile.view<?x4x?x64xbf16, in>', "
            "expected two of them, ascending"}),
    [](const testing::TestParamInfo<Departure> &info) { return std::string(info.param.name); });

} // namespace
} // namespace sinter::sched
