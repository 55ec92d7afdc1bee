// Handlers of the operations that contract: tile.reduce and tile.dot.
#include "tile/mlir_pch.h"

#include "numeric/bfloat_pairs.h"
#include "tile/interpreter/engine.h"
#include "tile/interpreter/tree_reduce.h"

#include <cmath>

using namespace mlir;

namespace sinter::tile {

// ---- reduce ----

namespace {

// Elements along the reduced axis and how they lie in a tile [outer, length, inner].
struct Lanes {
  int64_t outer = 1, length = 1, inner = 1;

  Lanes(const Tile &tile, int64_t axis) : length(tile.shape()[axis]) {
    for (int64_t extent : tile.shape().take_front(axis))
      outer *= extent;
    for (int64_t extent : tile.shape().drop_front(axis + 1))
      inner *= extent;
  }
};

} // namespace

static double largerFloat(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) ? a : b;
  return a == b ? (std::signbit(a) ? b : a) : std::max(a, b);
}

template <typename T, typename Combine>
static T reduceLane(MutableArrayRef<T> lane, ReduceOrder order, Combine combine) {
  if (order == ReduceOrder::Tree)
    return treeReduce(std::span<T>(lane.data(), lane.size()), combine);
  T result = lane[0];
  for (T next : lane.drop_front())
    result = combine(result, next);
  return result;
}

// Reduces every lane of `values` with `combine` and hands the results to `store` in order.
template <typename T, typename Combine, typename Store>
static void reduceLanes(ArrayRef<T> values, const Lanes &lanes, ReduceOrder order, Combine combine,
                        Store store) {
  SmallVector<T, 0> lane(lanes.length);
  for (int64_t outer = 0; outer < lanes.outer; ++outer)
    for (int64_t inner = 0; inner < lanes.inner; ++inner) {
      for (int64_t i = 0; i < lanes.length; ++i)
        lane[i] = values[(outer * lanes.length + i) * lanes.inner + inner];
      store(outer * lanes.inner + inner, reduceLane<T>(lane, order, combine));
    }
}

static void reduceFloats(OpCall &call, ReduceKind kind, const Lanes &lanes) {
  const Tile &from = call.tile(0);
  Element element = from.element();
  SmallVector<double, 0> values(from.count());
  readDoubles(from, 0, values);
  auto store = [&](int64_t at, double value) { writeDoubles(call.out(), at, value); };
  auto run = [&](auto combine) {
    reduceLanes<double>(values, lanes, call.engine().reduceOrder, combine, store);
  };
  if (kind == ReduceKind::Sum)
    run([element](double a, double b) { return roundTo(element, a + b); });
  else if (kind == ReduceKind::MaxAnyNan && call.engine().reduceOrder == ReduceOrder::Tree)
    run([](double a, double b) { return b > a ? b : a; });
  else if (isMax(kind))
    run(largerFloat);
  else
    run([](double a, double b) { return -largerFloat(-a, -b); });
}

static void reduceInts(OpCall &call, ReduceKind kind, const Lanes &lanes) {
  const Tile &from = call.tile(0);
  unsigned bits = from.element().bits;
  SmallVector<uint64_t, 0> values(from.count());
  readInts(from, 0, values);
  auto store = [&](int64_t at, uint64_t value) { writeInts(call.out(), at, value); };
  auto run = [&](auto combine) {
    reduceLanes<uint64_t>(values, lanes, call.engine().reduceOrder, combine, store);
  };
  auto less = [bits](uint64_t a, uint64_t b) { return signExtend(a, bits) < signExtend(b, bits); };
  if (kind == ReduceKind::Sum)
    run([](uint64_t a, uint64_t b) { return a + b; });
  else if (isMax(kind))
    run([less](uint64_t a, uint64_t b) { return less(a, b) ? b : a; });
  else
    run([less](uint64_t a, uint64_t b) { return less(b, a) ? b : a; });
}

static Result<void> reduce(OpCall &call) {
  auto op = cast<ReduceOp>(call.op);
  const Tile &from = call.tile(0);
  SINTER_TRY(call.engine().charge(call.op, from.count(), call.task));
  SINTER_TRY(call.engine().reserve(call.op, uint64_t(from.count()) * sizeof(uint64_t), call.task));
  Lanes lanes(from, op.getAxis());
  if (from.element().isInt())
    reduceInts(call, op.getKind(), lanes);
  else
    reduceFloats(call, op.getKind(), lanes);
  return {};
}

// ---- dot ----

namespace {

// Extents of a dot and the strides of b for k and n.
struct DotShape {
  int64_t m, n, k, strideK, strideN;

  DotShape(const Tile &a, const Tile &acc, bool transposed)
      : m(acc.shape()[0]), n(acc.shape()[1]), k(a.shape()[1]), strideK(transposed ? 1 : n),
        strideN(transposed ? k : 1) {}
};

} // namespace

// k outside n: each accumulator still meets its products in ascending k.
template <typename T, typename Sum, typename Step>
static void contract(const DotShape &shape, const T *a, const T *b, Sum *acc, Step step) {
  for (int64_t i = 0; i < shape.m; ++i)
    for (int64_t k = 0; k < shape.k; ++k) {
      T left = a[i * shape.k + k];
      const T *row = b + k * shape.strideK;
      Sum *to = acc + i * shape.n;
      for (int64_t j = 0; j < shape.n; ++j)
        to[j] = step(left, row[j * shape.strideN], to[j]);
    }
}

static Result<void> dot(OpCall &call) {
  auto op = cast<DotOp>(call.op);
  const Tile &a = call.tile(0), &b = call.tile(1), &acc = call.tile(2);
  Element left = a.element(), right = b.element();
  if (left.isBlock())
    return blockDot(call);
  bool bytes = left.isInt() && right.isInt() && left.bits == 8 && right.bits == 8;
  bool floats = !left.isInt() && !right.isInt() && left.bytes <= 4 && right.bytes <= 4;
  bool pairs = left.isInt() && right.isInt() && left.bits == 32 && right.bits == 32;
  if (!((floats || pairs) && !acc.element().isInt()) && !(bytes && acc.element().isInt()))
    return call.fail(Code::Unsupported, "multiplies these element types into this accumulator, "
                                        "expected floats of at most 32 bits, or words of two bf16, "
                                        "into f32, or i8 into i32");
  DotShape shape(a, acc, op.getTransposeB());
  uint64_t operands = uint64_t(a.count()) + uint64_t(b.count());
  SINTER_TRY(call.engine().reserve(call.op, operands * sizeof(float), call.task));
  // An extent of each operand is positive and their product fits memory, so only k could overflow.
  SINTER_TRY(call.engine().charge(call.op, uint64_t(acc.count()) * uint64_t(shape.k), call.task));
  std::copy_n(acc.data(), acc.byteCount(), call.out().data());
  if (floats) {
    SmallVector<float, 0> x = toFloats(a), y = toFloats(b);
    contract(shape, x.data(), y.data(), call.out().as<float>(),
             [](float u, float v, float sum) { return std::fma(u, v, sum); });
    return {};
  }
  if (pairs) {
    contract(shape, a.as<uint32_t>(), b.as<uint32_t>(), call.out().as<float>(), addBfloatPair);
    return {};
  }
  SmallVector<uint32_t, 0> x, y;
  for (int64_t i = 0; i < a.count(); ++i)
    x.push_back(static_cast<uint32_t>(a.signedAt(i)));
  for (int64_t i = 0; i < b.count(); ++i)
    y.push_back(static_cast<uint32_t>(b.signedAt(i)));
  contract(shape, x.data(), y.data(), call.out().as<uint32_t>(),
           [](uint32_t u, uint32_t v, uint32_t sum) { return u * v + sum; });
  return {};
}

void addReduceHandlers(Handlers &handlers) {
  handlers.add<ReduceOp>(reduce);
  handlers.add<DotOp>(dot);
}

} // namespace sinter::tile
