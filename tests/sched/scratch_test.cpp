// Scratch memory in the scheduled interpreter: blocks, bounds, poison, placed buffers that overlap,
// and the order of reductions.
#include "sched/interp_support.h"
#include "tile/interpreter/tree_reduce.h"

#include <cmath>

namespace sinter::sched {
namespace {

constexpr const char *kBuffer = "!sched.buffer<16xf32, strides = [1]>";
std::string alloc(const std::string &name, const std::string &attributes = "") {
  return name + " = sched.alloc " + attributes + " : " + kBuffer + "\n";
}
std::string write(const std::string &value, const std::string &buffer, const std::string &at,
                  int extent = 16) {
  return "sched.write " + value + ", " + buffer + "[" + at + "] : tensor<" +
         std::to_string(extent) + "xf32>, " + kBuffer + "\n";
}
std::string read(const std::string &result, const std::string &buffer, const std::string &at,
                 int extent = 16) {
  return result + " = sched.read " + buffer + "[" + at + "] : " + kBuffer + " -> tensor<" +
         std::to_string(extent) + "xf32>\n";
}
const char *const kStore = "tile.store %r, %y[%c0] : tensor<16xf32>, !tile.view<16xf32, out>\n";

TEST(Scratch, GivesBackWhatWasWritten) {
  auto outcome =
      runAround(alloc("%b") + write("%t", "%b", "%c0") + read("%r", "%b", "%c0") + kStore);
  ASSERT_EQ(outcome.message, "succeeded");
  EXPECT_EQ(outcome.values[11], 11.0f);
}

TEST(Scratch, BlocksLieWhereStridesSay) {
  // Written [4, 4] row by row into a column-major buffer, read through rows of one column.
  auto outcome = runAround(R"(
    %b = sched.alloc : !sched.buffer<4x4xf32, strides = [1, 5]>
    %s = tile.reshape %t : tensor<16xf32> -> tensor<4x4xf32>
    sched.write %s, %b[%c0, %c0] : tensor<4x4xf32>, !sched.buffer<4x4xf32, strides = [1, 5]>
    %q = sched.read %b[%c0, %c1] : !sched.buffer<4x4xf32, strides = [1, 5]> -> tensor<4x1xf32>
    %w = tile.broadcast %q : tensor<4x1xf32> -> tensor<4x4xf32>
    %r = tile.reshape %w : tensor<4x4xf32> -> tensor<16xf32>
  )" + std::string(kStore));
  ASSERT_EQ(outcome.message, "succeeded");
  for (size_t i = 0; i < 16; ++i)
    EXPECT_EQ(outcome.values[i], float(i / 4 * 4 + 1)) << i;
}

TEST(Scratch, PrefetchesReadNothingAndMayReachBeyond) {
  auto outcome = runAround(
      alloc("%b") + "sched.prefetch %b[%c12] [16] : !sched.buffer<16xf32, strides = [1]>\n" +
      write("%t", "%b", "%c0") + "sched.prefetch %x[%c12] [16] : !tile.view<16xf32, in>\n" +
      read("%r", "%b", "%c0") + kStore);
  ASSERT_EQ(outcome.message, "succeeded");
  EXPECT_EQ(outcome.values[11], 11.0f);
}

TEST(Scratch, PrefetchesHaveOneExtentForEachAxis) {
  auto messageWith = [](const std::string &extents) {
    return runAround("sched.prefetch %x[%c0] " + extents + " : !tile.view<16xf32, in>\n" +
                     "%r = arith.addf %t, %t : tensor<16xf32>\n" + kStore)
        .message;
  };
  EXPECT_EQ(messageWith("[4]"), "succeeded");
  EXPECT_EQ(messageWith("[4, 1]"), "the text does not parse");
  EXPECT_EQ(messageWith("[0]"), "the text does not parse");
}

TEST(Scratch, ReadBeforeItIsWrittenIsReported) {
  auto outcome =
      runAround(alloc("%b") + "%h = tile.slice %t [0] : tensor<16xf32> -> tensor<8xf32>\n" +
                write("%h", "%b", "%c0", 8) + read("%r", "%b", "%c0") + kStore);
  EXPECT_EQ(outcome.message,
            "kernel.mlir:11:6: 'sched.read' reads scratch that was never written since its alloc, "
            "at element 8 of its block (in program 0, 0, 0)");
}

TEST(Scratch, ReadBeforeItIsWrittenIsPoisonWhereAskedFor) {
  InterpreterOptions options;
  options.unwritten = UnwrittenReads::Poison;
  auto outcome = runAround(alloc("%b") + read("%r", "%b", "%c0") + kStore, options);
  ASSERT_EQ(outcome.message, "succeeded");
  for (float value : outcome.values)
    EXPECT_TRUE(std::isnan(value));
}

TEST(Scratch, PoisonOfIntegersIsABytePattern) {
  InterpreterOptions options;
  options.unwritten = UnwrittenReads::Poison;
  auto outcome = runAround(R"(
    %b = sched.alloc : !sched.buffer<16xi16, strides = [1]>
    %i = sched.read %b[%c0] : !sched.buffer<16xi16, strides = [1]> -> tensor<16xi16>
    %r = arith.uitofp %i : tensor<16xi16> to tensor<16xf32>
  )" + std::string(kStore),
                           options);
  ASSERT_EQ(outcome.message, "succeeded");
  EXPECT_EQ(outcome.values[3], float(0xcdcd));
}

TEST(Scratch, AnAllocRunAgainForgetsWhatWasWritten) {
  auto outcome =
      runAround("%c2 = arith.constant 2 : index\n"
                "scf.for %i = %c0 to %c2 step %c1 {\n" +
                alloc("%b") + "%first = arith.cmpi eq, %i, %c0 : index\nscf.if %first {\n" +
                write("%t", "%b", "%c0") + "}\n" + read("%r", "%b", "%c0") + kStore + "}\n");
  EXPECT_EQ(outcome.message,
            "kernel.mlir:15:6: 'sched.read' reads scratch that was never written since its alloc, "
            "at element 0 of its block (in program 0, 0, 0)");
}

TEST(Scratch, ABlockPastTheEndIsReported) {
  auto outcome = runAround(alloc("%b") + write("%t", "%b", "%c1"));
  EXPECT_EQ(outcome.message,
            "kernel.mlir:9:1: 'sched.write' touches 16 elements from 1 on axis 0 of scratch that "
            "has 16 (in program 0, 0, 0)");
}

TEST(Scratch, ABlockBeforeTheStartIsReported) {
  auto outcome = runAround("%minus = arith.constant -1 : index\n" + alloc("%b") +
                           read("%r", "%b", "%minus", 4));
  EXPECT_EQ(outcome.message,
            "kernel.mlir:10:6: 'sched.read' touches 4 elements from -1 on axis 0 of scratch that "
            "has 16 (in program 0, 0, 0)");
}

TEST(Scratch, ReadAfterAnOverlappingBufferWasWrittenIsReported) {
  auto outcome =
      runAround(alloc("%a", "{offset = 0 : i64}") + alloc("%b", "{offset = 32 : i64}") +
                write("%t", "%a", "%c0") + write("%t", "%b", "%c0") + read("%r", "%a", "%c0"));
  EXPECT_EQ(outcome.message,
            "kernel.mlir:12:6: 'sched.read' reads scratch that was overwritten through another "
            "alloc, at element 8 of its block (in program 0, 0, 0)");
}

TEST(Scratch, BuffersPlacedSideBySideKeepTheirValues) {
  auto outcome = runAround(alloc("%a", "{offset = 0 : i64}") + alloc("%b", "{offset = 64 : i64}") +
                           write("%t", "%a", "%c0") + write("%t", "%b", "%c0") +
                           read("%r", "%a", "%c0") + kStore);
  ASSERT_EQ(outcome.message, "succeeded");
  EXPECT_EQ(outcome.values[15], 15.0f);
}

TEST(Scratch, BeyondTheMemoryLimitIsRefused) {
  auto outcome =
      runAround("%b = sched.alloc : !sched.buffer<100000x100000xf32, strides = [100000, 1]>\n");
  EXPECT_EQ(outcome.message,
            "kernel.mlir:8:6: 'sched.alloc' needs 200000000000 bytes beside 64 live ones, expected "
            "at most 2147483648 together (in program 0, 0, 0)");
}

TEST(Scratch, WhoseSizeOverflowsIsRefused) {
  auto outcome = runAround("%b = sched.alloc : !sched.buffer<4611686018427387904x4xf32, strides = "
                           "[4611686018427387904, 1]>\n");
  EXPECT_EQ(outcome.message,
            "kernel.mlir:8:6: 'sched.alloc' needs 18446744073709551615 bytes beside 64 live ones, "
            "expected at most 2147483648 together (in program 0, 0, 0)");
}

TEST(Scratch, WithANegativeStrideIsRefused) {
  auto outcome = runAround("%b = sched.alloc : !sched.buffer<4xf32, strides = [-1]>\n");
  EXPECT_EQ(outcome.message,
            "kernel.mlir:8:6: 'sched.alloc' has extent 4 with stride -1, expected a positive "
            "extent and a stride of 0 or more (in program 0, 0, 0)");
}

// ---- reductions ----

TEST(TreeReduce, OfSixLanesFoldsTheTailThenHalves) {
  std::vector<std::string> lanes = {"0", "1", "2", "3", "4", "5"};
  auto order = tile::treeReduce(std::span<std::string>(lanes),
                                [](auto &a, auto &b) { return "(" + a + "+" + b + ")"; });
  EXPECT_EQ(order, "(((0+4)+2)+((1+5)+3))");
}

TEST(TreeReduce, OfOneLaneIsTheLane) {
  std::vector<int> lanes = {7};
  EXPECT_EQ(tile::treeReduce(std::span<int>(lanes), [](int, int) { return 0; }), 7);
}

class TreeSum : public testing::TestWithParam<int> {};

TEST_P(TreeSum, OfARegisterBlockIsBitForBitTheTree) {
  int lanes = GetParam();
  std::string n = std::to_string(lanes);
  std::vector<float> x(lanes), y(1), copy;
  for (int i = 0; i < lanes; ++i)
    x[i] = 1.0f / float(i * i + 1) * (i % 3 ? 1 : -1);
  copy = x;
  std::string text = "tile.kernel @k(%x: !tile.view<" + n +
                     "xf32, in>, %y: !tile.view<1xf32, "
                     "out>) {\n%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
                     "tile.grid %c1, %c1, %c1\n%t = tile.load %x[%c0] : !tile.view<" +
                     n + "xf32, in> -> tensor<" + n +
                     "xf32>\n%s = tile.reduce sum %t axis 0 : tensor<" + n +
                     "xf32> -> tensor<1xf32>\n"
                     "tile.store %s, %y[%c0] : tensor<1xf32>, !tile.view<1xf32, out>\n}";
  auto result = runKernel(text, {tile::HostView::contiguous(x.data(), {lanes}),
                                 tile::HostView::contiguous(y.data(), {1})});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(y[0], tile::treeReduce(std::span<float>(copy), std::plus<float>()));
}
INSTANTIATE_TEST_SUITE_P(Simt, TreeSum, testing::Values(1, 2, 3, 7, 8, 13, 16, 48));

} // namespace
} // namespace sinter::sched
