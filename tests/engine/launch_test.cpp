// Launches: buffers, scalars and grids in the order and with the formulas that a kernel asks for.
#include "engine/launch.h"
#include "tile/front/front.h"
#include "tile/mlir_pch.h"

#include <bit>
#include <gtest/gtest.h>

namespace sinter::engine {
namespace {

using plan::Expr;

const std::vector<std::string> kNames = {"M", "N"};
const Expr kM = plan::symbol({0}), kN = plan::symbol({1});

std::vector<std::string> texts(const std::vector<Expr> &exprs) {
  std::vector<std::string> result;
  for (const Expr &expr : exprs)
    result.push_back(plan::toString(expr, kNames));
  return result;
}

// Built kernels and the one that a test looks at.
struct Built {
  explicit Built(const std::string &text)
      : module(*tile::KernelModule::parse("tile.kernel @k" + text, "test")) {}
  tile::KernelOp kernel() { return *module.module().getOps<tile::KernelOp>().begin(); }
  tile::KernelModule module;
};

constexpr const char *kTwoViews = R"((%x: !tile.view<?x64xf32, in>,
    %s: f32, %out: !tile.view<?x?xf32, out, strided>, %n: index) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %rows = tile.dim %x, 0 : !tile.view<?x64xf32, in>
  %columns = tile.dim %out, 1 : !tile.view<?x?xf32, out, strided>
  %gx = arith.ceildivsi %columns, %c8 : index
  %gy = arith.addi %rows, %n : index
  tile.grid %gx, %gy, %c1
})";

BoundView denseView(uint32_t buffer, std::vector<Expr> extents) {
  BoundView view{plan::BufferId{buffer}, Expr(0), extents, packedStrides(extents)};
  return view;
}

plan::Launch twoViews() {
  Built built(kTwoViews);
  BoundView out = denseView(7, {kM, kN});
  out.byteOffset = plan::mul(kN, Expr(4));
  return makeLaunch(built.kernel(), plan::KernelId{3},
                    {denseView(5, {kM, Expr(64)}), f32Scalar(-2.5f), out, BoundScalar{kN}}, "two");
}

TEST(Launch, BuffersFollowTheViewsWithTheirOffsets) {
  plan::Launch launch = twoViews();
  EXPECT_EQ(launch.kernel.index, 3u);
  EXPECT_EQ(launch.label, "two");
  ASSERT_EQ(launch.buffers.size(), 2u);
  EXPECT_EQ(launch.buffers[0].buffer.index, 5u);
  EXPECT_EQ(launch.buffers[0].byteOffset.constant(), 0);
  EXPECT_EQ(launch.buffers[1].buffer.index, 7u);
  EXPECT_EQ(plan::toString(launch.buffers[1].byteOffset, kNames), "N * 4");
}

TEST(Launch, ScalarsAreExtentsStridesAndValuesInArgumentOrder) {
  std::string bits = std::to_string(std::bit_cast<uint32_t>(-2.5f));
  EXPECT_EQ(texts(twoViews().scalars),
            (std::vector<std::string>{"M", "64", "64", bits, "M", "N", "N", "1", "N"}));
}

TEST(Launch, InnermostStrideIsPassedForStridedViewsOnly) {
  Built built(R"((%x: !tile.view<?xf32, in>, %y: !tile.view<?xf32, in, strided>) {
    %c1 = arith.constant 1 : index
    tile.grid %c1, %c1, %c1
  })");
  BoundView strided{plan::BufferId{1}, Expr(0), {kM}, {kN}};
  plan::Launch launch = makeLaunch(built.kernel(), {}, {denseView(0, {kM}), strided}, "");
  EXPECT_EQ(texts(launch.scalars), (std::vector<std::string>{"M", "M", "N"}));
}

TEST(Launch, GridIsTheKernelsFormula) {
  std::array<Expr, 3> grid = twoViews().grid;
  const int64_t values[] = {5, 17};
  EXPECT_EQ(*plan::evaluate(grid[0], values), 3);
  EXPECT_EQ(*plan::evaluate(grid[1], values), 22);
  EXPECT_EQ(grid[2].constant(), 1);
}

TEST(Launch, PackedStridesMultiplyInnerExtents) {
  EXPECT_EQ(texts(packedStrides({kM, Expr(3), kN, Expr(2)})),
            (std::vector<std::string>{"2 * N * 3", "2 * N", "2", "1"}));
  EXPECT_EQ(texts(packedStrides({kM})), (std::vector<std::string>{"1"}));
}

TEST(Launch, FloatScalarsAreTheirBitsWithoutSignExtension) {
  EXPECT_EQ(f32Scalar(-0.0f).bits.constant(), int64_t(0x80000000));
  EXPECT_EQ(f32Scalar(1.0f).bits.constant(), int64_t(0x3f800000));
}

} // namespace
} // namespace sinter::engine
