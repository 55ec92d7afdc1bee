// Sums of squares of groups, and norms from them, in the tile language.
#include "kernels/norm_squares.h"

#include <algorithm>
#include <bit>
#include <map>
#include <memory>

namespace sinter::kernels {

using namespace kernel;

// Sums of groups that a program holds at once. Rows of 8,192 columns have as many.
static constexpr int64_t kMostSums = 512;

// A sum of two has one order in any layout.
Tile sumNeighbours(Tile tile, int64_t rows, int64_t columns, int64_t group) {
  const int64_t groups = columns / group;
  for (int64_t left = columns / 2; left >= groups; left /= 2)
    tile = reduceSum(reshape(tile, {rows, left, 2}), 2);
  return reshape(tile, {rows, groups});
}

void storeSquares(const View &squares, const TilePlace &place, const Tile &tile) {
  store(squares, {place.row, floorDiv(place.column, kSquareColumns)},
        sumNeighbours(tile * tile, place.rows, place.columns, kSquareColumns));
}

// Sums that a step along a row of so many adds up.
static int64_t sumsOfStep(int64_t columns) {
  const int64_t groups = columns == dyn ? kMostSums : columns / kSquareColumns;
  return std::min<int64_t>(kMostSums, std::bit_ceil<uint64_t>(groups));
}

Slot squaresNormSlot(Element weight, int64_t columns) {
  struct State {
    View squares, gain;
    Scalar eps;
    std::map<int64_t, Tile> scales; // by part
  };
  auto state = std::make_shared<State>();
  Slot slot;
  slot.declare = [state, weight, columns](KernelBuilder &k) {
    state->squares =
        k.in("norm_squares", F32, {dyn, columns == dyn ? dyn : columns / kSquareColumns});
    state->gain = k.in("norm_weight", weight, {1, columns});
    state->eps = k.scalar("norm_eps", F32);
  };
  slot.prepare = [state, columns](KernelBuilder &k, const View &x, const TilePlace &place) {
    const int64_t step = sumsOfStep(columns);
    Tile zero = k.zeros(F32, {place.rows, 1});
    Tile total = k.forLoop(0, state->squares.dim(1), step, zero, [&](Scalar first, Tile sum) {
      Tile sums = load(state->squares, {place.row, first}, {place.rows, step});
      return sum + sumNeighbours(sums, place.rows, step, step);
    });
    state->scales[place.part] = rsqrt(total / convert(x.dim(1), F32) + state->eps);
  };
  slot.apply = [state](KernelBuilder &, const Tile &tile, const TilePlace &place) {
    Tile gain = convert(load(state->gain, {0, place.column}, {1, place.columns}), F32);
    return tile * state->scales.at(place.part) * gain;
  };
  return slot;
}

void normGemm(KernelBuilder &k, const NormGemm &p) {
  Gemm with = p.gemm;
  with.prologue = squaresNormSlot(F32, p.gemm.k);
  gemm(k, with);
}

void visitFields(NormGemm &p, FieldVisitor &visitor) {
  visitMatmul(p.gemm, visitor);
}

} // namespace sinter::kernels
