// Small graphs as plans: which buffers there are, what is launched, in which order and under which
// condition.
#include "engine/lowered.h"
#include "tile/mlir_pch.h"

#include <gmock/gmock.h>

namespace sinter::engine {
namespace {

using plan::BufferKind;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A norm that is rounded for a product.
constexpr const char *kNormThenMatmul = R"(
  %x = graph.input "x" : !x
  %gain = graph.weight ["gain"] : tensor<64xf32>
  %w = graph.weight ["w"] : tensor<24x64x!tile.block<"q4_1">>
  %n = graph.norm %x, %gain eps 1.0e-5 : !x, tensor<64xf32> -> !x
  %a = graph.quantize %n : !x -> tensor<?x64x!tile.block<"q8a">, #graph.dims<T>>
  %c = graph.dot_general %a, %w : tensor<?x64x!tile.block<"q8a">, #graph.dims<T>>,
      tensor<24x64x!tile.block<"q4_1">> -> tensor<?x24xf32, #graph.dims<T>>
  graph.output "c", %c : tensor<?x24xf32, #graph.dims<T>>
)";

constexpr const char *kResidual = R"(
  %x = graph.input "x" : !x
  %w = graph.weight ["w"] : tensor<64x64xf16>
  %c = graph.dot_general %x, %w : !x, tensor<64x64xf16> -> !x
  %s = graph.map %c, %x : !x, !x -> !x {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %b : f32
    graph.yield %r : f32
  }
  graph.output "s", %s : !x
)";

TEST(Lowering, ValuesBecomeBuffersOfTheirKind) {
  Lowered lowered(kNormThenMatmul);
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  EXPECT_THAT(lowered.buffers(), ElementsAre("input x", "weight gain", StartsWith("temp temp."),
                                             "output c", "weight w interleaved"));
}

TEST(Lowering, StridesThatAllLaunchesOfAKernelGiveAreKnownToIt) {
  Lowered lowered(kNormThenMatmul);
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  EXPECT_THAT(lowered.kernelText(lowered.step<plan::Launch>(0)),
              HasSubstr("tile.name = \"x\", tile.strides = array<i64: 64, 1>"));
}

TEST(Lowering, CompiledCodeReadsNoStridesThatItKnows) {
  const LoweringOptions options{simtProfile()};
  auto target = targets::findTarget("cuda:sm_90a");
  ASSERT_TRUE(target) << target.error().message;
  for (bool known : {true, false}) {
    Lowered lowered(kNormThenMatmul, options);
    ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
    const std::string code = lowered.compiled(**target, /*otherStrides=*/!known);
    EXPECT_EQ(code.find("[rms_norm_0_param_5]") == std::string::npos, known) << code;
  }
}

TEST(Lowering, StridesInWhichLaunchesOfAKernelDifferAreUnknown) {
  Lowered lowered(R"(
    %x = graph.input "x" : !x
    %y = graph.input "y" : tensor<?x16xf32, #graph.dims<T>>
    %part = graph.slice %x from [0, 48] : !x -> tensor<?x16xf32, #graph.dims<T>>
    %g = graph.weight ["g"] : tensor<16xf32>
    %a = graph.norm %part, %g eps 1.0e-5
      : tensor<?x16xf32, #graph.dims<T>>, tensor<16xf32> -> tensor<?x16xf32, #graph.dims<T>>
    %b = graph.norm %y, %g eps 1.0e-5
      : tensor<?x16xf32, #graph.dims<T>>, tensor<16xf32> -> tensor<?x16xf32, #graph.dims<T>>
    graph.output "a", %a : tensor<?x16xf32, #graph.dims<T>>
    graph.output "b", %b : tensor<?x16xf32, #graph.dims<T>>)");
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  EXPECT_EQ(lowered.kernelCount(), 1u);
  EXPECT_THAT(lowered.kernelText(lowered.step<plan::Launch>(0)),
              HasSubstr("tile.name = \"x\", tile.strides = array<i64: -9223372036854775808, 1>"));
}

TEST(Lowering, BuffersHaveTheBytesOfTheirTensors) {
  Lowered lowered(kNormThenMatmul);
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  EXPECT_EQ(lowered.text(lowered.buffer("x").bytes), "256 * T");
  EXPECT_EQ(lowered.text(lowered.plan().buffers[2].bytes), "88 * T"); // two groups of q8a
  EXPECT_EQ(lowered.text(lowered.buffer("c").bytes), "96 * T");
}

TEST(Lowering, PackedRowsArePaddedToWholeGroups) {
  Lowered lowered(kNormThenMatmul);
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  const plan::Buffer &weight = lowered.buffer("w interleaved");
  EXPECT_EQ(weight.bytes.constant(), 32 * 2 * 20);
  EXPECT_THAT(weight.tensors, ElementsAre("w"));
  EXPECT_EQ(weight.pack.mode, plan::PackMode::Interleave);
  EXPECT_EQ(weight.pack.blocksPerRow, 2u);
}

TEST(Lowering, ANormThatIsOnlyRoundedStoresRoundedValues) {
  Lowered lowered(kNormThenMatmul);
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  ASSERT_EQ(lowered.steps().size(), 2u);
  const auto &norm = lowered.step<plan::Launch>(0);
  EXPECT_THAT(lowered.symbolOf(norm), StartsWith("rms_norm"));
  EXPECT_THAT(lowered.kernelText(norm), HasSubstr("block<\"q8a\">, out"));
}

constexpr const char *kTwoNorms = R"(
  %x = graph.input "x" : !x
  %gain = graph.weight ["gain"] : tensor<64xf32>
  %n = graph.norm %x, %gain eps 1.0e-5 : !x, tensor<64xf32> -> !x
  %m = graph.norm %n, %gain eps 1.0e-5 : !x, tensor<64xf32> -> !x
  graph.output "m", %m : !x
)";

TEST(Lowering, WeightsAndInputsThatNothingWritesAreConstantViews) {
  Lowered lowered(kNormThenMatmul);
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  const auto &norm = lowered.step<plan::Launch>(0);
  EXPECT_THAT(lowered.constantViews(lowered.plan(), norm), ElementsAre("x", "weight"));
  const auto *few = std::get_if<plan::If>(&lowered.steps().at(1).op);
  ASSERT_TRUE(few);
  EXPECT_THAT(
      lowered.constantViews(lowered.plan(), std::get<plan::Launch>(few->thenSteps.at(0).op)),
      ElementsAre("b"));
}

TEST(Lowering, AnInputThatALaunchWritesIsNoConstantView) {
  Lowered lowered(kNormThenMatmul);
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  plan::Plan plan = lowered.plan();
  auto &norm = std::get<plan::Launch>(plan.procedures[0].steps[0].op);
  norm.buffers.back() = norm.buffers.front(); // out is x
  EXPECT_THAT(lowered.constantViews(plan, norm), ElementsAre("weight"));
}

TEST(Lowering, AnInputThatACopyWritesIsNoConstantView) {
  Lowered lowered(kNormThenMatmul);
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  plan::Plan plan = lowered.plan();
  const plan::BufferId x = *plan::findBuffer(plan, "x"), c = *plan::findBuffer(plan, "c");
  plan.procedures[0].steps.push_back({plan::Copy{c, 0, x, 0, 4}});
  EXPECT_THAT(lowered.constantViews(plan, lowered.step<plan::Launch>(0)), ElementsAre("weight"));
}

// Its second launch reads what the first has written.
TEST(Lowering, AViewIsConstantIfItIsInAllLaunchesOfItsKernel) {
  Lowered lowered(kTwoNorms);
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  ASSERT_EQ(lowered.kernelCount(), 1u);
  EXPECT_THAT(lowered.constantViews(lowered.plan(), lowered.step<plan::Launch>(0)),
              ElementsAre("weight"));
}

// The launch that a step is for so many rows.
static const plan::Launch &launchOf(const plan::Step &step, int64_t rows) {
  const plan::Step *at = &step;
  while (const auto *branch = std::get_if<plan::If>(&at->op)) {
    const int64_t symbols[] = {rows, 1, 1, 1, 1, 1};
    at = *plan::evaluate(branch->condition, symbols) ? &branch->thenSteps.at(0)
                                                     : &branch->elseSteps.at(0);
  }
  return std::get<plan::Launch>(at->op);
}

// The kernels of a norm and a matmul with weights [n, k] for one decode token, on a SIMT target.
std::vector<std::string> decodeKernels(int64_t n, int64_t k) {
  const std::string columns = std::to_string(k), weights = std::to_string(n) + "x" + columns;
  const std::string x = "tensor<?x" + columns + "xf32, #graph.dims<T>>",
                    quantized = "tensor<?x" + columns + "xbf16, #graph.dims<T>>",
                    gain = "tensor<" + columns + "xf32>",
                    w = "tensor<" + weights + "x!tile.block<\"q8_0\">>",
                    c = "tensor<?x" + std::to_string(n) + "xf32, #graph.dims<T>>";
  LoweringOptions options{simtProfile()};
  options.profile.besideQuantized = targets::ActivationPrecision::BF16;
  Lowered lowered("%x = graph.input \"x\" : " + x + "\n%g = graph.weight [\"g\"] : " + gain +
                      "\n%w = graph.weight [\"w\"] : " + w +
                      "\n%n = graph.norm %x, %g eps 1.0e-5 : " + x + ", " + gain + " -> " + x +
                      "\n%a = graph.quantize %n : " + x + " -> " + quantized +
                      "\n%c = graph.dot_general %a, %w : " + quantized + ", " + w + " -> " + c +
                      "\ngraph.output \"c\", %c : " + c,
                  options);
  EXPECT_TRUE(lowered.result()) << lowered.result().error().message;
  std::vector<std::string> kernels;
  for (const plan::Step &step : lowered.step<plan::If>(0).thenSteps)
    kernels.push_back(lowered.kernelText(launchOf(step, 1)));
  return kernels;
}

// What reads x, 24 x 64 and the 28672 x 4096 of an 8B model: 3 programs and 3584.
TEST(Lowering, ProductsOfGeneratedRowsMakeTheirNormWhereFewProgramsRepeatIt) {
  EXPECT_THAT(decodeKernels(24, 64), ElementsAre(HasSubstr("tile.name = \"norm_weight\"")));
  EXPECT_THAT(decodeKernels(28672, 4096),
              ElementsAre(AllOf(HasSubstr("@rms_norm"), HasSubstr("tile.name = \"out\""),
                                Not(HasSubstr("bf16"))), // as exact as its own
                          AllOf(HasSubstr("@gemm"), Not(HasSubstr("norm_weight")))));
}

TEST(Lowering, AProductBranchesOnWhetherThereIsMoreThanOneRow) {
  Lowered lowered(kNormThenMatmul);
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  auto of = [&](int64_t rows) { return launchOf(lowered.steps()[1], rows); };
  EXPECT_NE(of(2).kernel.index, of(1).kernel.index);
  for (int64_t rows : {2, 17, 512})
    EXPECT_EQ(lowered.arguments(of(rows)), lowered.arguments(of(1))) << rows;
}

// Few rows read scalars as they lie; of blocks one kernel is for all that are several.
TEST(Lowering, AProductWithScalarsBranchesOnFewRowsToo) {
  auto kernels = [](const std::string &text, size_t step) {
    Lowered lowered(text);
    EXPECT_TRUE(lowered.result()) << lowered.result().error().message;
    std::vector<uint32_t> of;
    for (int64_t rows :
         {int64_t{1}, int64_t{2}, kSmallBucketRows, kSmallBucketRows + 1, int64_t{512}})
      of.push_back(launchOf(lowered.steps().at(step), rows).kernel.index);
    return of;
  };
  const std::vector<uint32_t> scalars = kernels(kResidual, 0), blocks = kernels(kNormThenMatmul, 1);
  EXPECT_EQ(std::set(scalars.begin(), scalars.end()).size(), 3u);
  EXPECT_EQ(scalars[1], scalars[2]);
  EXPECT_EQ(scalars[3], scalars[4]);
  EXPECT_EQ(std::set(blocks.begin(), blocks.end()).size(), 2u);
  EXPECT_EQ(blocks[1], blocks[4]);
}

TEST(Lowering, LabelsAreTheNamesThatLocationsCarry) {
  Lowered lowered(R"(
    %x = graph.input "x" : !x
    %gain = graph.weight ["gain"] : tensor<64xf32>
    %n = graph.norm %x, %gain eps 1.0e-5 : !x, tensor<64xf32> -> !x loc("layer 3: norm")
    %m = graph.norm %n, %gain eps 1.0e-5 : !x, tensor<64xf32> -> !x
    graph.output "m", %m : !x
  )");
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  EXPECT_EQ(lowered.step<plan::Launch>(0).label, "layer 3: norm");
  EXPECT_EQ(lowered.step<plan::Launch>(1).label, "norm");
  EXPECT_EQ(lowered.kernelCount(), 1u);
}

TEST(Lowering, AMapThatAloneReadsAProductIsItsEpilogue) {
  Lowered lowered(kResidual);
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  ASSERT_EQ(lowered.steps().size(), 1u);
  const auto &branch = lowered.step<plan::If>(0);
  EXPECT_THAT(lowered.arguments(std::get<plan::Launch>(branch.thenSteps[0].op)),
              ElementsAre("x", "w interleaved", "s", "x"));
  EXPECT_THAT(lowered.buffers(), ElementsAre("input x", "output s", "weight w interleaved"));
}

TEST(Lowering, AMapOfAProductThatIsAnOutputStaysALaunch) {
  std::string text = kResidual;
  Lowered lowered(text + "graph.output \"c\", %c : !x");
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  ASSERT_EQ(lowered.steps().size(), 2u);
  EXPECT_THAT(lowered.symbolOf(lowered.step<plan::Launch>(1)), StartsWith("map"));
  EXPECT_EQ(lowered.buffer("c").kind, BufferKind::Output);
}

TEST(Lowering, MapsWithOtherWorkAreOtherKernels) {
  std::string map = R"(
    %M = graph.map %x, %x : !x, !x -> !x {
    ^bb0(%a: f32, %b: f32):
      %r = arith.OP %a, %b : f32
      graph.yield %r : f32
    }
    graph.output "M", %M : !x
  )";
  auto with = [&](std::string name, const std::string &op) {
    std::string text = map;
    text.replace(text.find("OP"), 2, op);
    for (size_t at = 0; (at = text.find('M', at)) != std::string::npos; at += name.size())
      text.replace(at, 1, name);
    return text;
  };
  Lowered lowered("%x = graph.input \"x\" : !x\n" + with("p", "addf") + with("q", "mulf") +
                  with("r", "addf"));
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  EXPECT_EQ(lowered.steps().size(), 3u);
  EXPECT_EQ(lowered.kernelCount(), 2u);
}

TEST(Lowering, SlicesAreTheirValuesMemoryAtAnOffset) {
  Lowered lowered(R"(
    %x = graph.input "x" : !x
    %a = graph.slice %x from [0, 48] : !x -> tensor<?x16xf32, #graph.dims<T>>
    %m = graph.map %a : tensor<?x16xf32, #graph.dims<T>> -> tensor<?x16xf32, #graph.dims<T>> {
    ^bb0(%v: f32):
      %r = arith.negf %v : f32
      graph.yield %r : f32
    }
    graph.output "m", %m : tensor<?x16xf32, #graph.dims<T>>
  )");
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  const auto &launch = lowered.step<plan::Launch>(0);
  EXPECT_THAT(lowered.arguments(launch), ElementsAre("x+192", "m"));
  EXPECT_EQ(lowered.text(launch.scalars.at(2)), "64"); // the row stride is still x's
}

constexpr const char *kRope = R"(
  %p = graph.input "p" : !t
  %x = graph.input "x" : !x
  %w = graph.weight ["w"] : tensor<64x64xf32>
  %c = graph.dot_general %x, %w : !x, tensor<64x64xf32> -> !x
  %h = graph.reshape %c : !x -> tensor<?x4x16xf32, #graph.dims<T>>
  %s = graph.rope_table %p dims 16 base 1.0e4 : !t -> tensor<?x16xf32, #graph.dims<T>>
  %r = graph.rope neighbours %h, %s
      : tensor<?x4x16xf32, #graph.dims<T>>, tensor<?x16xf32, #graph.dims<T>>
      -> tensor<?x4x16xf32, #graph.dims<T>>
  %f = graph.reshape %r : tensor<?x4x16xf32, #graph.dims<T>> -> !x
  %m = graph.map %f : !x -> !x {
  ^bb0(%v: f32):
    %n = arith.negf %v : f32
    graph.yield %n : f32
  }
  graph.output "m", %m : !x
)";

TEST(Lowering, RotationsReadTheFrequenciesOfTheirBase) {
  Lowered lowered(kRope);
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  const auto &rotations = lowered.step<plan::Launch>(1);
  EXPECT_THAT(lowered.arguments(rotations),
              ElementsAre("p", StartsWith("frequencies.16."), StartsWith("temp.")));
  EXPECT_EQ(lowered.buffer(lowered.arguments(rotations)[1]).data.size(), 8 * sizeof(float));
}

// A graph whose rotations have more to say.
std::string ropeWith(const std::string &over, const std::string &attributes) {
  std::string text = kRope;
  const std::string plain = "%s = graph.rope_table %p dims 16 base 1.0e4 : !t ";
  const std::string type = over.empty() ? "" : "over tensor<8xf32> ";
  text.replace(text.find(plain), plain.size(),
               "%d = graph.weight [\"divisors\"] : tensor<8xf32>\n  %s = graph.rope_table %p " +
                   over + " dims 16 base 1.0e4 " + attributes + " : !t " + type);
  return text;
}

TEST(Lowering, ScalesOfRotationsAreInTheirFrequencies) {
  Lowered lowered(
      ropeWith("", "{scales = array<f32: 1.0, 1.0, 1.0, 1.0, 0.75, 0.5, 0.25, 0.125>}"));
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  const auto names = lowered.arguments(lowered.step<plan::Launch>(1));
  ASSERT_THAT(names, ElementsAre("p", StartsWith("frequencies.16."), StartsWith("temp.")));
  const std::vector<float> found = floatsOf(lowered.buffer(names[1]));
  const double scales[] = {1, 1, 1, 1, 0.75, 0.5, 0.25, 0.125};
  for (size_t i = 0; i < 8; ++i)
    EXPECT_FLOAT_EQ(found[i], static_cast<float>(scales[i] / std::pow(10, i / 2.0)));
}

TEST(Lowering, RotationsReadTheirDivisorsAndMagnitudes) {
  Lowered lowered(ropeWith("over %d", "{magnitude = 5.0e-1 : f32}"));
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  const auto names = lowered.arguments(lowered.step<plan::Launch>(1));
  ASSERT_THAT(names, ElementsAre("p", StartsWith("frequencies.16."), "divisors",
                                 StartsWith("magnitudes.8."), StartsWith("temp.")));
  EXPECT_EQ(floatsOf(lowered.buffer(names[3])), std::vector<float>(8, 0.5f));
}

TEST(Lowering, RopeOfAPartOfHeadsCopiesTheirOtherElements) {
  Lowered lowered(R"(
    %p = graph.input "p" : !t
    %x = graph.input "x" : !x
    %s = graph.slice %x from [0, 32] : !x -> tensor<?x32xf32, #graph.dims<T>>
    %h = graph.reshape %s : tensor<?x32xf32, #graph.dims<T>> -> tensor<?x2x16xf32, #graph.dims<T>>
    %q = graph.rope_table %p dims 12 base 1.0e4 {magnitude = 5.0e-1 : f32}
        : !t -> tensor<?x12xf32, #graph.dims<T>>
    %r = graph.rope halves %h, %q dims 12
        : tensor<?x2x16xf32, #graph.dims<T>>, tensor<?x12xf32, #graph.dims<T>>
        -> tensor<?x2x16xf32, #graph.dims<T>>
    graph.output "r", %r : tensor<?x2x16xf32, #graph.dims<T>>
  )");
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  const auto names = lowered.arguments(lowered.step<plan::Launch>(0));
  EXPECT_EQ(floatsOf(lowered.buffer(names[2])), std::vector<float>(6, 0.5f));
  EXPECT_THAT(lowered.arguments(lowered.step<plan::Launch>(1)),
              ElementsAre("x+128", StartsWith("temp."), "r", "x+176", "r+48"));
}

TEST(Lowering, ARotationOfMemoryThatNobodyElseReadsIsInPlace) {
  Lowered lowered(kRope);
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  EXPECT_THAT(lowered.arguments(lowered.step<plan::Launch>(2)),
              ElementsAre(StartsWith("temp."), StartsWith("temp.")));
}

TEST(Lowering, ARotationOfMemoryThatIsReadAgainIsNot) {
  std::string text = kRope;
  Lowered lowered(text + "graph.output \"c\", %c : !x");
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  EXPECT_THAT(lowered.arguments(lowered.step<plan::Launch>(2)),
              ElementsAre("c", StartsWith("temp."), StartsWith("temp.")));
}

TEST(Lowering, ARotationOfAPartOfAnInputIsNotInPlace) {
  Lowered lowered(R"(
    %p = graph.input "p" : !t
    %x = graph.input "x" : !x
    %s = graph.slice %x from [0, 32] : !x -> tensor<?x32xf32, #graph.dims<T>>
    %h = graph.reshape %s : tensor<?x32xf32, #graph.dims<T>> -> tensor<?x2x16xf32, #graph.dims<T>>
    %q = graph.rope_table %p dims 16 base 1.0e4 : !t -> tensor<?x16xf32, #graph.dims<T>>
    %r = graph.rope neighbours %h, %q
        : tensor<?x2x16xf32, #graph.dims<T>>, tensor<?x16xf32, #graph.dims<T>>
        -> tensor<?x2x16xf32, #graph.dims<T>>
    graph.output "r", %r : tensor<?x2x16xf32, #graph.dims<T>>
  )");
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  EXPECT_THAT(lowered.arguments(lowered.step<plan::Launch>(1)),
              ElementsAre("x+128", StartsWith("temp."), "r"));
}

TEST(Lowering, ARotationByWhatIsMadeAfterTheProductIsALaunchOfItsOwn) {
  Lowered lowered(R"(
    %p = graph.input "p" : !t
    %x = graph.input "x" : !x
    %w = graph.weight ["w"] : tensor<64x64xf16>
    %c = graph.dot_general %x, %w : !x, tensor<64x64xf16> -> !x
    %h = graph.reshape %c : !x -> tensor<?x1x64xf32, #graph.dims<T>>
    %s = graph.rope_table %p dims 64 base 1.0e4 : !t -> !x
    %r = graph.rope halves %h, %s : tensor<?x1x64xf32, #graph.dims<T>>, !x
        -> tensor<?x1x64xf32, #graph.dims<T>>
    graph.output "r", %r : tensor<?x1x64xf32, #graph.dims<T>>
  )");
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  EXPECT_EQ(lowered.step<plan::Launch>(lowered.steps().size() - 1).covers.front(), "rope");
}

TEST(Lowering, StatesAreUpdatedWhereTheyLie) {
  Lowered lowered(R"(
    %k = graph.input "k" : tensor<?x2x16xf32, #graph.dims<T>>
    %i = graph.input "i" : !t
    %ks = graph.state "keys" : tensor<?x2x16x32xf16, #graph.dims<N>>
    %vs = graph.state "values" : tensor<?x2x32x16xf16, #graph.dims<N>>
    %a = graph.kv_append keys %k at %i into %ks
        : tensor<?x2x16xf32, #graph.dims<T>>, !t into tensor<?x2x16x32xf16, #graph.dims<N>>
        -> tensor<?x2x16x32xf16, #graph.dims<N>>
    %b = graph.kv_append values %k at %i into %vs
        : tensor<?x2x16xf32, #graph.dims<T>>, !t into tensor<?x2x32x16xf16, #graph.dims<N>>
        -> tensor<?x2x32x16xf16, #graph.dims<N>>
  )");
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  EXPECT_THAT(lowered.buffers(), ElementsAre("input k", "input i", "state keys", "state values"));
  EXPECT_THAT(lowered.arguments(lowered.step<plan::Launch>(0)), ElementsAre("k", "i", "keys"));
  EXPECT_THAT(lowered.arguments(lowered.step<plan::Launch>(1)), ElementsAre("k", "i", "values"));
  EXPECT_EQ(lowered.text(lowered.buffer("keys").bytes), "2048 * N");
}

// Heads of keys that something else reads too are stored by a launch of their own.
TEST(Lowering, KeysThatAreReadElsewhereAreScatteredByTheirOwnLaunch) {
  const auto scatters = [](const std::string &more) {
    Lowered lowered(R"(
    %x = graph.input "x" : !x
    %p = graph.input "p" : !t
    %i = graph.input "i" : !t
    %wk = graph.weight ["wk"] : tensor<64x64xf16>
    %wv = graph.weight ["wv"] : tensor<64x64xf32>
    %ks = graph.state "keys" : tensor<?x1x64x32xf16, #graph.dims<N>>
    %vs = graph.state "values" : tensor<?x1x32x64xf16, #graph.dims<N>>
    %r = graph.rope_table %p dims 64 base 1.0e4 : !t -> !x
    %kc = graph.dot_general %x, %wk : !x, tensor<64x64xf16> -> !x
    %kh = graph.reshape %kc : !x -> tensor<?x1x64xf32, #graph.dims<T>>
    %k = graph.rope halves %kh, %r
        : tensor<?x1x64xf32, #graph.dims<T>>, !x -> tensor<?x1x64xf32, #graph.dims<T>>
    %vc = graph.dot_general %x, %wv : !x, tensor<64x64xf32> -> !x
    %v = graph.reshape %vc : !x -> tensor<?x1x64xf32, #graph.dims<T>>
    %a = graph.kv_append keys %k at %i into %ks
        : tensor<?x1x64xf32, #graph.dims<T>>, !t into tensor<?x1x64x32xf16, #graph.dims<N>>
        -> tensor<?x1x64x32xf16, #graph.dims<N>>
    %b = graph.kv_append values %v at %i into %vs
        : tensor<?x1x64xf32, #graph.dims<T>>, !t into tensor<?x1x32x64xf16, #graph.dims<N>>
        -> tensor<?x1x32x64xf16, #graph.dims<N>>
)" + more);
    EXPECT_TRUE(lowered.result()) << lowered.result().error().message;
    int count = 0;
    for (const plan::Step &step : lowered.steps())
      if (const auto *launch = std::get_if<plan::Launch>(&step.op))
        count += launch->covers.front() == "kv_append";
    return count;
  };
  EXPECT_EQ(scatters(""), 0);
  EXPECT_EQ(scatters(R"(
    %again = graph.rope halves %k, %r
        : tensor<?x1x64xf32, #graph.dims<T>>, !x -> tensor<?x1x64xf32, #graph.dims<T>>
    graph.output "again", %again : tensor<?x1x64xf32, #graph.dims<T>>
)"),
            1);
}

// Values of the symbols that attention depends on; the others are 1.
std::vector<int64_t> symbolsOf(const plan::Plan &plan, int64_t tokens, int64_t blocks,
                               int64_t longest) {
  std::vector<int64_t> values;
  for (const plan::Symbol &symbol : plan.symbols)
    values.push_back(symbol.name == "T"   ? tokens
                     : symbol.name == "B" ? blocks
                     : symbol.name == "L" ? longest
                                          : 1);
  return values;
}

TEST(Lowering, SingleRowsAfterManyKeysAttendInSpans) {
  Lowered lowered(kAttend);
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  const auto &rows = lowered.step<plan::If>(0);
  const auto &single = std::get<plan::If>(rows.thenSteps.at(0).op);
  const auto &several = std::get<plan::If>(single.thenSteps.at(0).op);
  auto holds = [&](const plan::If &branch, int64_t tokens, int64_t blocks, int64_t longest) {
    return *plan::evaluate(branch.condition, symbolsOf(lowered.plan(), tokens, blocks, longest)) !=
           0;
  };
  EXPECT_TRUE(holds(rows, 1, 1, 1));
  EXPECT_TRUE(holds(rows, 8, 8, 1));
  EXPECT_FALSE(holds(rows, 9, 8, 1));
  EXPECT_FALSE(holds(rows, 8, 9, 1)); // with unused blocks
  EXPECT_FALSE(holds(rows, 512, 32, 4096));
  for (int64_t longest : {0, 1, 256, 1024})
    EXPECT_FALSE(holds(single, 1, 1, longest)) << longest;
  for (int64_t longest : {1025, 2048, 4096})
    EXPECT_TRUE(holds(single, 1, 1, longest)) << longest;
  EXPECT_TRUE(holds(several, 8, 8, 1 << 18));
  EXPECT_FALSE(holds(several, 9, 9, 1 << 18)); // rows enough, and too many sums
  ASSERT_EQ(several.thenSteps.size(), 2u);
  ASSERT_EQ(several.elseSteps.size(), 1u);
  ASSERT_EQ(single.elseSteps.size(), 1u);
  ASSERT_EQ(rows.elseSteps.size(), 1u);
  const auto &partitions = std::get<plan::Launch>(several.thenSteps[0].op);
  EXPECT_EQ(*plan::evaluate(partitions.grid[0], symbolsOf(lowered.plan(), 1, 1, 4096)), 16);
  EXPECT_EQ(lowered.arguments(std::get<plan::Launch>(several.thenSteps[1].op)).back(), "o");
}

TEST(Lowering, SumsOfSpansHaveMemoryWhereRowsAreSingle) {
  Lowered lowered(kAttend);
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  auto bytes = [&](int64_t tokens, int64_t blocks, int64_t longest) {
    int64_t all = 0;
    for (const plan::Buffer &buffer : lowered.plan().buffers)
      if (buffer.kind == BufferKind::Temp)
        all += *plan::evaluate(buffer.bytes, symbolsOf(lowered.plan(), tokens, blocks, longest));
    return all;
  };
  EXPECT_EQ(bytes(3, 3, 4096), 3 * 4 * 16 * (64 + 1 + 1) * 4); // rows, heads, spans, sums, bytes
  EXPECT_EQ(bytes(512, 32, 4096), 0);
  EXPECT_EQ(bytes(512, 512, 256), 0);
  EXPECT_EQ(bytes(512, 512, 1 << 20), 0);
}

// Attention whose joined heads are rounded for a product.
std::string blockOf(const std::string &format) {
  return "!tile.block<\"" + format + "\">";
}

// `rounded`: an element type.
std::string attendThenMatmulOf(const std::string &quantized) {
  const std::string attend = kAttend;
  return attend.substr(0, attend.find("graph.output")) + R"(
    %j = graph.reshape %o : tensor<?x4x64xf32, #graph.dims<T>> -> tensor<?x256xf32, #graph.dims<T>>
    %w = graph.weight ["w"] : tensor<32x256x!tile.block<"q8_0">>
    %a = graph.quantize %j : tensor<?x256xf32, #graph.dims<T>>
        -> tensor<?x256x)" +
         quantized + R"(, #graph.dims<T>>
    %c = graph.dot_general %a, %w : tensor<?x256x)" +
         quantized + R"(, #graph.dims<T>>, tensor<32x256x!tile.block<"q8_0">>
        -> tensor<?x32xf32, #graph.dims<T>>
    graph.output "c", %c : tensor<?x32xf32, #graph.dims<T>>
)";
}

std::string attendThenMatmul(const std::string &quantized) {
  return attendThenMatmulOf(blockOf(quantized));
}

// On tasks the two heads of a group lie side by side, so that scales may span them.
TEST(Lowering, HeadsThatShareKeysAreRoundedTogetherOnTasks) {
  auto outOf = [](const std::string &quantized, const TargetProfile &profile) {
    const LoweringOptions options{profile};
    Lowered lowered(attendThenMatmulOf(quantized), options);
    EXPECT_TRUE(lowered.result()) << lowered.result().error().message;
    const auto &many = lowered.step<plan::If>(0).elseSteps.at(0);
    std::string text = lowered.kernelText(std::get<plan::Launch>(many.op));
    const size_t end = text.find(", out>");
    const size_t begin = text.rfind("!tile.view<", end);
    return text.substr(begin, end - begin);
  };
  EXPECT_EQ(outOf(blockOf("q8a"), cpuProfile()), "!tile.view<?x256x!tile.block<\"q8a\">");
  EXPECT_EQ(outOf(blockOf("q8a_256"), cpuProfile()), "!tile.view<?x4x64xf32"); // of two groups
  EXPECT_EQ(outOf(blockOf("q8a"), simtProfile()), "!tile.view<?x4x64x!tile.block<\"q8a\">");
  EXPECT_EQ(outOf("bf16", simtProfile()), "!tile.view<?x4x64xbf16");
}

// Rows of two and of eight blocks of 44 bytes have four and twelve on threads: an odd number of the
// 16 bytes that they read of a row at once.
TEST(Lowering, RowsOfActivationsBeginInDifferentBanksOnThreads) {
  auto temporaries = [](const std::string &graph, const TargetProfile &profile) {
    const LoweringOptions options{profile};
    Lowered lowered(graph, options);
    EXPECT_TRUE(lowered.result()) << lowered.result().error().message;
    std::set<std::string> bytes;
    for (const plan::Buffer &buffer : lowered.plan().buffers)
      if (buffer.kind == plan::BufferKind::Temp)
        bytes.insert(lowered.text(buffer.bytes));
    return bytes;
  };
  EXPECT_THAT(temporaries(kNormThenMatmul, cpuProfile()), testing::Contains("88 * T"));
  EXPECT_THAT(temporaries(kNormThenMatmul, simtProfile()),
              testing::Contains(StartsWith("T * 176 * ")));
  EXPECT_THAT(temporaries(attendThenMatmul("q8a"), cpuProfile()), testing::Contains("352 * T"));
  EXPECT_THAT(temporaries(attendThenMatmul("q8a"), simtProfile()),
              testing::Contains(StartsWith("T * 528 * ")));
}

// ---- what runs on the tiles of a product ----

// A gated feed-forward's first half, whose weights are joined: gate then up, `n` columns each.
std::string gated(int64_t n, const std::string &more = {}) {
  std::string text = R"(
    %x = graph.input "x" : !x
    %w = graph.weight ["gate", "up"] : tensor<WIDExq4_1>
    %a = graph.quantize %x : !x -> !quantized
    %c = graph.dot_general %a, %w : !quantized, tensor<WIDExq4_1> -> tensor<?xBOTHxf32, #graph.dims<T>>
    %g = graph.slice %c from [0, 0] : tensor<?xBOTHxf32, #graph.dims<T>> -> !half
    %u = graph.slice %c from [0, ONE] : tensor<?xBOTHxf32, #graph.dims<T>> -> !half
    %m = graph.map %g, %u : !half, !half -> !half {
    ^bb0(%p: f32, %q: f32):
      %r = arith.mulf %p, %q : f32
      graph.yield %r : f32
    }
    graph.output "m", %m : !half
  )" + more;
  const std::pair<std::string, std::string> words[] = {
      {"WIDExq4_1", std::to_string(2 * n) + "x64x!tile.block<\"q4_1\">"},
      {"BOTH", std::to_string(2 * n)},
      {"ONE", std::to_string(n)},
      {"!half", "tensor<?x" + std::to_string(n) + "xf32, #graph.dims<T>>"},
      {"!quantized", "tensor<?x64x!tile.block<\"q8a\">, #graph.dims<T>>"}};
  for (const auto &[word, meaning] : words)
    for (size_t at; (at = text.find(word)) != std::string::npos;)
      text.replace(at, word.size(), meaning);
  return text;
}

TEST(Lowering, AMapOfEqualPartsOfAProductRunsOnItsTiles) {
  Lowered lowered(gated(96));
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  ASSERT_EQ(lowered.steps().size(), 2u); // rounding, product
  const auto &branch = lowered.step<plan::If>(1);
  const auto &launch = std::get<plan::Launch>(branch.thenSteps[0].op);
  ASSERT_EQ(launch.buffers.size(), 3u);
  EXPECT_EQ(lowered.arguments(launch)[2], "m");
  EXPECT_EQ(lowered.text(lowered.buffer("m").bytes), "384 * T");
}

TEST(Lowering, PartsOfAProductLieSideBySideInItsWeight) {
  Lowered lowered(gated(96));
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  for (const plan::Buffer &buffer : lowered.plan().buffers) {
    if (buffer.kind != BufferKind::Weight)
      continue;
    EXPECT_THAT(buffer.tensors, ElementsAre("gate", "up"));
    EXPECT_FALSE(buffer.pack.rowOrder.empty());
  }
}

TEST(Lowering, PartsThatAreNoWholeGroupsStayALaunch) {
  Lowered lowered(gated(80));
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  ASSERT_EQ(lowered.steps().size(), 3u); // rounding, product, map
  EXPECT_THAT(lowered.symbolOf(lowered.step<plan::Launch>(2)), StartsWith("map"));
}

TEST(Lowering, PartsThatAreReadAgainStayALaunch) {
  Lowered lowered(gated(96, "graph.output \"c\", %c : tensor<?xBOTHxf32, #graph.dims<T>>"));
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  EXPECT_EQ(lowered.steps().size(), 3u);
  EXPECT_EQ(lowered.buffer("c").kind, BufferKind::Output);
}

// ---- weights ----

std::string embedded(const std::string &headWeight) {
  return R"(
  %table = graph.weight ["table"] : tensor<100x64x!tile.block<"q8_0">>
  %head = graph.weight ["head"] : tensor<100x64x!tile.block<"q8_0">>
  %i = graph.input "i" : !t
  %x = graph.gather %table, %i : tensor<100x64x!tile.block<"q8_0">>, !t -> !x
  %a = graph.quantize %x : !x -> tensor<?x64x!tile.block<"q8a">, #graph.dims<T>>
  %c = graph.dot_general %a, )" +
         headWeight + R"( : tensor<?x64x!tile.block<"q8a">, #graph.dims<T>>,
      tensor<100x64x!tile.block<"q8_0">> -> tensor<?x100xf32, #graph.dims<T>>
  graph.output "c", %c : tensor<?x100xf32, #graph.dims<T>>
)";
}

TEST(Lowering, ATableThatIsMultipliedTooIsPackedOnce) {
  Lowered lowered(embedded("%table"));
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  EXPECT_THAT(lowered.arguments(lowered.step<plan::Launch>(0)),
              ElementsAre("i", "table interleaved", StartsWith("temp.")));
  EXPECT_THAT(lowered.buffers(), Contains("weight table interleaved"));
  EXPECT_THAT(lowered.buffers(), Not(Contains("weight table")));
}

TEST(Lowering, ATableOfItsOwnStaysAsTheFileHasIt) {
  Lowered lowered(embedded("%head"));
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  EXPECT_THAT(lowered.arguments(lowered.step<plan::Launch>(0)),
              ElementsAre("i", "table", StartsWith("temp.")));
  EXPECT_THAT(lowered.buffers(), Contains("weight head interleaved"));
}

// ---- refusals ----

std::string refusalOf(const std::string &body) {
  Lowered lowered(body);
  EXPECT_FALSE(lowered.result());
  EXPECT_EQ(lowered.result().error().code, Code::Unsupported);
  return lowered.result().error().message;
}

TEST(Lowering, AnOutputThatNothingComputesIsRefused) {
  EXPECT_EQ(refusalOf("%x = graph.input \"x\" : !x\ngraph.output \"x2\", %x : !x"),
            "output 'x2' is no computed tensor, which has no form");
}

TEST(Lowering, AStateOfAnotherElementIsRefused) {
  EXPECT_EQ(refusalOf(R"(
    %k = graph.input "k" : tensor<?x2x16xf32, #graph.dims<T>>
    %i = graph.input "i" : !t
    %ks = graph.state "keys" : tensor<?x2x16x32xf32, #graph.dims<N>>
    %vs = graph.state "values" : tensor<?x2x32x16xf32, #graph.dims<N>>
    %a = graph.kv_append keys %k at %i into %ks
        : tensor<?x2x16xf32, #graph.dims<T>>, !t into tensor<?x2x16x32xf32, #graph.dims<N>>
        -> tensor<?x2x16x32xf32, #graph.dims<N>>
    %b = graph.kv_append values %k at %i into %vs
        : tensor<?x2x16xf32, #graph.dims<T>>, !t into tensor<?x2x32x16xf32, #graph.dims<N>>
        -> tensor<?x2x32x16xf32, #graph.dims<N>>
  )"),
            "the KV cache is f32, expected f16, bf16 or whole blocks that kernels round to");
}

} // namespace
} // namespace sinter::engine
