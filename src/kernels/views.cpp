// Maps, reductions, folds, iota and gathers over strided views.
#include "kernels/views.h"

#include <limits>
#include <string>

namespace sinter::kernels {

using namespace kernel;

static std::vector<int64_t> dynamicShape(int64_t rank) {
  return std::vector<int64_t>(static_cast<size_t>(rank), dyn);
}

static Element inMemory(const Element &element) {
  return element == I1 ? I8 : element;
}

// A tile as it was loaded, in the operand's elements; blocks are dequantized.
static Tile loaded(const Tile &tile, const Element &element) {
  if (element.isBlock())
    return dequantize(tile);
  return element == I1 ? tile != 0 : tile;
}

// A tile of `from` as it is stored for an operand of `to`.
static Tile stored(const Tile &tile, const Element &from, const Element &to) {
  const Sign sign = from == I1 ? Sign::Unsigned : Sign::Signed;
  if (to == I1)
    return convert(from == I1 ? tile : tile != 0, I8, Sign::Unsigned);
  return from == to ? tile : convert(tile, to, sign);
}

static View inView(KernelBuilder &k, const std::string &name, const ViewOperand &operand,
                   int64_t rank) {
  return k.in(name, inMemory(operand.element), dynamicShape(rank), {.strided = operand.strided});
}

static View outView(KernelBuilder &k, const ViewOperand &operand, int64_t rank) {
  return k.out("out", inMemory(operand.element), dynamicShape(rank), {.strided = operand.strided});
}

namespace {

// The tile of one program: its first element's index along each axis, its extents.
struct Box {
  std::vector<Scalar> offsets;
  std::vector<int64_t> shape;
  int64_t rows = 1, columns = 1;

  std::vector<Operand> at() const { return {offsets.begin(), offsets.end()}; }
};

} // namespace

// Opens a grid of programs over `out`, whose last two axes are cut into blocks.
static Box openBlocks(KernelBuilder &k, const View &out, int64_t rank, int64_t blockRows,
                      int64_t blockColumns) {
  std::vector<Scalar> counts;
  for (int64_t axis = 0; axis < rank; ++axis)
    counts.push_back(out.dim(static_cast<uint32_t>(axis)));
  counts.back() = ceilDiv(counts.back(), blockColumns);
  if (rank > 1)
    counts[rank - 2] = ceilDiv(counts[rank - 2], blockRows);
  Scalar programs = counts[0];
  for (int64_t axis = 1; axis < rank; ++axis)
    programs *= counts[axis];
  k.grid(programs);

  Box box{std::vector<Scalar>(rank), std::vector<int64_t>(rank, 1), rank > 1 ? blockRows : 1,
          blockColumns};
  Scalar rest = k.programId(0);
  for (int64_t axis = rank - 1; axis >= 0; --axis) {
    box.offsets[axis] = axis == 0 ? rest : rest % counts[axis];
    rest = axis == 0 ? rest : rest / counts[axis];
  }
  box.shape.back() = blockColumns;
  box.offsets.back() = box.offsets.back() * blockColumns;
  if (rank > 1) {
    box.shape[rank - 2] = blockRows;
    box.offsets[rank - 2] = box.offsets[rank - 2] * blockRows;
  }
  return box;
}

// ---- maps ----

void mapViews(KernelBuilder &k, const MapViews &p) {
  std::vector<View> views;
  for (size_t i = 0; i < p.operands.size(); ++i)
    views.push_back(inView(k, "in" + std::to_string(i), p.operands[i], p.rank));
  View out = outView(k, p.out, p.rank);
  const Box box = openBlocks(k, out, p.rank, p.blockRows, p.blockColumns);
  std::vector<Tile> tiles;
  for (size_t i = 0; i < views.size(); ++i) {
    const Tile tile = load(views[i], box.at(), box.shape);
    const Element element = p.operands[i].element;
    const std::vector<int64_t> shape = {box.rows, box.columns};
    tiles.push_back(element.isBlock() ? reshape(loaded(tile, element), shape)
                                      : loaded(reshape(tile, shape), element));
  }
  Tile result = p.apply ? p.apply(k, tiles, box.rows, box.columns) : tiles[0];
  const Element first = p.operands.empty() ? p.out.element : p.operands[0].element;
  const Element made = p.apply ? p.out.element : first.isBlock() ? F32 : first;
  store(out, box.at(), reshape(stored(result, made, p.out.element), box.shape));
}

// ---- reductions ----

namespace {
// What a reduction starts from, and what elements outside a view read as.
struct Neutral {
  bool isFloat;
  Combine combine;

  double number() const {
    const double least =
        isFloat ? -std::numeric_limits<double>::infinity() : std::numeric_limits<int32_t>::min();
    const double most =
        isFloat ? std::numeric_limits<double>::infinity() : std::numeric_limits<int32_t>::max();
    switch (combine) {
    case Combine::Sum:
    case Combine::Any:
      return 0;
    case Combine::Product:
    case Combine::All:
      return 1;
    case Combine::Max:
      return least;
    case Combine::Min:
      return most;
    }
    return 0;
  }
  Operand operand() const {
    return isFloat ? Operand(number()) : Operand(static_cast<int64_t>(number()));
  }
};
} // namespace

static Tile combined(Combine combine, const Tile &a, const Tile &b) {
  switch (combine) {
  case Combine::Sum:
    return a + b;
  case Combine::Product:
    return a * b;
  case Combine::Max:
    return max(a, b);
  case Combine::Min:
    return min(a, b);
  case Combine::All:
    return a & b;
  case Combine::Any:
    return a | b;
  }
  return a;
}

// Products, all and any take one column at a time: tiles have no such reduction.
static bool reducesTiles(Combine combine) {
  return combine == Combine::Sum || combine == Combine::Max || combine == Combine::Min;
}

static Tile reducedColumns(Combine combine, const Tile &tile) {
  if (!reducesTiles(combine))
    return tile;
  return combine == Combine::Max   ? reduceMax(tile, 1)
         : combine == Combine::Min ? reduceMin(tile, 1)
                                   : reduceSum(tile, 1);
}

namespace {
// One program's walk over the reduced axes.
struct Reduction {
  KernelBuilder &k;
  const ReducedAxes &p;
  Box box; // of out

  // The tile of an operand at indices of the reduced axes, [rows, columns].
  Tile tileAt(const View &in, const std::vector<Scalar> &reduced, const Operand &pad) const {
    std::vector<Operand> offsets;
    std::vector<int64_t> shape;
    auto add = [&](const Scalar &offset, int64_t extent) {
      offsets.push_back(offset);
      shape.push_back(extent);
    };
    const int64_t last = p.kept - 1;
    for (int64_t axis = 0; axis < last; ++axis)
      add(box.offsets[axis], 1);
    if (!p.across)
      add(box.offsets[last], box.rows);
    for (int64_t axis = 0; axis < p.reduced; ++axis)
      add(reduced[axis], !p.across && axis == p.reduced - 1 ? p.blockColumns : 1);
    if (p.across)
      add(box.offsets[last], p.blockColumns);
    return reshape(load(in, offsets, shape, pad), {box.rows, p.blockColumns});
  }

  // step(carried, indices) for all indices of the reduced axes of `in`, from axis `axis` on.
  template <class Step>
  std::vector<Value> walk(const View &in, const std::vector<Scalar> &reduced, int64_t axis,
                          const std::vector<Value> &carried, const Step &step) const {
    if (axis == p.reduced)
      return step(carried, reduced);
    const uint32_t first = static_cast<uint32_t>(p.across ? p.kept - 1 : p.kept);
    const int64_t stride = !p.across && axis == p.reduced - 1 ? p.blockColumns : 1;
    return k.forLoop(0, in.dim(first + static_cast<uint32_t>(axis)), stride, carried,
                     [&](Scalar at, std::span<Value> inner) {
                       std::vector<Scalar> more = reduced;
                       more.push_back(at);
                       return walk(in, more, axis + 1, {inner.begin(), inner.end()}, step);
                     });
  }
};
} // namespace

// Out's last axis is cut into the program's rows, or columns across.
static Reduction openReduction(KernelBuilder &k, const ReducedAxes &p, const View &out) {
  Box box = openBlocks(k, out, p.kept, 1, p.across ? p.blockColumns : p.blockRows);
  box.rows = p.across ? 1 : p.blockRows;
  return {k, p, box};
}

void reduceViews(KernelBuilder &k, const ReduceViews &asked) {
  ReduceViews p = asked;
  if (!p.across && !reducesTiles(p.combine))
    p.blockColumns = 1;
  View in = inView(k, "in", p.in, p.kept + p.reduced);
  View out = outView(k, {p.out, true}, p.kept);
  const bool isFloat = p.in.element.isFloat();
  const Reduction reduction = openReduction(k, p, out);
  const Box &box = reduction.box;
  const Element computed = isFloat ? F32 : inMemory(p.in.element); // bits of bytes
  const int64_t columns = p.across ? p.blockColumns : 1;
  const Neutral neutral{isFloat, p.combine};
  const double start = neutral.number();
  Tile first = isFloat ? k.full(computed, {box.rows, columns}, start)
                       : k.full(computed, {box.rows, columns}, static_cast<int64_t>(start));
  const std::vector<Value> sums = reduction.walk(
      in, {}, 0, {first}, [&](const std::vector<Value> &carried, const std::vector<Scalar> &at) {
        Tile tile = reduction.tileAt(in, at, neutral.operand());
        tile = inMemory(p.in.element) == computed ? tile : convert(tile, computed);
        return std::vector<Value>{combined(p.combine, Tile(carried[0]),
                                           p.across ? tile : reducedColumns(p.combine, tile))};
      });
  const Tile sum(sums[0]);
  store(out, box.at(), reshape(computed == inMemory(p.out) ? sum : convert(sum, p.out), box.shape));
}

// ---- folds ----

// Accumulators of truth values are bytes in loops, as in memory.
static Tile firstOf(KernelBuilder &k, const FoldViews::Accumulator &accumulator,
                    const std::vector<int64_t> &shape) {
  if (accumulator.element.isFloat())
    return k.full(accumulator.element, shape, accumulator.from);
  return k.full(inMemory(accumulator.element), shape, static_cast<int64_t>(accumulator.from));
}

void foldViews(KernelBuilder &k, const FoldViews &asked) {
  FoldViews p = asked;
  if (!p.across)
    p.blockColumns = 1;
  std::vector<View> ins, outs;
  for (size_t i = 0; i < p.operands.size(); ++i)
    ins.push_back(inView(k, "in" + std::to_string(i), p.operands[i], p.kept + p.reduced));
  for (size_t i = 0; i < p.results.size(); ++i)
    outs.push_back(k.out("out" + std::to_string(i), inMemory(p.results[i].element),
                         dynamicShape(p.kept), {.strided = true}));
  const Reduction reduction = openReduction(k, p, outs[0]);
  const Box &box = reduction.box;
  const int64_t rows = box.rows, columns = p.blockColumns;
  std::vector<Value> first;
  for (const FoldViews::Accumulator &accumulator : p.results)
    first.push_back(firstOf(k, accumulator, {rows, columns}));
  auto step = [&](const std::vector<Value> &carried, const std::vector<Scalar> &at) {
    std::vector<Tile> tiles;
    for (size_t i = 0; i < p.results.size(); ++i)
      tiles.push_back(loaded(Tile(carried[i]), p.results[i].element));
    for (size_t i = 0; i < ins.size(); ++i) {
      const Element element = p.operands[i].element;
      const Operand pad = element.isFloat() ? Operand(0.0) : Operand(int64_t(0));
      tiles.push_back(loaded(reduction.tileAt(ins[i], at, pad), element));
    }
    const std::vector<Tile> made =
        p.apply ? p.apply(k, tiles, rows, columns)
                : std::vector<Tile>{tiles[0] + toF32(tiles[1], p.operands[0].element)};
    std::vector<Value> next;
    for (size_t i = 0; i < made.size(); ++i)
      next.push_back(stored(made[i], p.results[i].element, p.results[i].element));
    return next;
  };
  const std::vector<Value> sums = reduction.walk(ins[0], {}, 0, first, step);
  for (size_t i = 0; i < outs.size(); ++i)
    store(outs[i], box.at(), reshape(Tile(sums[i]), box.shape));
}

// ---- iota, gather ----

void iotaViews(KernelBuilder &k, const IotaViews &p) {
  View out = outView(k, {I32, false}, p.rank);
  const Box box = openBlocks(k, out, p.rank, 1, p.blockColumns);
  const std::vector<int64_t> shape = {1, p.blockColumns};
  Tile index = splat(convert(box.offsets[p.axis], I32), shape);
  if (p.axis == p.rank - 1)
    index = index + k.iota(shape, 1);
  store(out, box.at(), reshape(index, box.shape));
}

void gatherViews(KernelBuilder &k, const GatherViews &p) {
  const int64_t batch = p.batched ? 1 : 0, rank = 3 + batch;
  View table = inView(k, "table", p.table, rank);
  View index = k.in("index", I32, dynamicShape(1 + batch));
  View out = outView(k, {p.out, false}, rank);
  const Box box = openBlocks(k, out, rank, 1, p.blockColumns);
  std::vector<Operand> at = box.at();
  const Scalar found = p.batched ? loadScalar(index, {box.offsets[0], box.offsets[2]})
                                 : loadScalar(index, {box.offsets[1]});
  at[1 + batch] = convert(found, Index);
  Tile tile = load(table, at, box.shape);
  const Element from = p.table.element;
  store(out, box.at(), from == p.out ? tile : fromF32(toF32(tile, from), p.out));
}

// ---- fields ----

static void visitBlocks(ViewBlocks &p, FieldVisitor &visitor) {
  visitor.integer("rank", p.rank, 1, kMaxViewRank, "axes of the views");
  visitor.integer("block_rows", p.blockRows, 1, kMaxBlock, "rows of one program");
  visitor.integer("block_columns", p.blockColumns, 1, kMaxBlock, "columns of one program");
}

void visitFields(MapViews &p, FieldVisitor &visitor) {
  ViewOperand none;
  ViewOperand &first = p.operands.empty() ? none : p.operands[0];
  visitBlocks(p, visitor);
  visitor.format("in", first.element, "element type of in0");
  visitor.format("out", p.out.element, "element type of out");
  visitor.flag("strided", first.strided, "in0's innermost stride is given at launch");
  visitor.flag("strided_out", p.out.strided, "out's innermost stride is given at launch");
}

static void visitReduced(ReducedAxes &p, ViewOperand &in, FieldVisitor &visitor) {
  visitor.integer("kept", p.kept, 1, kMaxViewRank - 1, "axes that stay");
  visitor.integer("reduced", p.reduced, 1, kMaxViewRank - 1, "axes that are combined");
  visitor.flag("across", p.across, "the last axis of the operands stays");
  visitor.flag("strided", in.strided, "the innermost stride of the first is given at launch");
  visitor.integer("block_rows", p.blockRows, 1, kMaxBlock, "results of one program, along");
  visitor.integer("block_columns", p.blockColumns, 1, kMaxBlock, "columns of one step");
}

void visitFields(ReduceViews &p, FieldVisitor &visitor) {
  visitor.format("in", p.in.element, "element type of in");
  visitor.format("out", p.out, "element type of out");
  int64_t combine = static_cast<int64_t>(p.combine);
  visitor.integer("combine", combine, 0, 5, "0 sum, 1 product, 2 max, 3 min, 4 all, 5 any");
  p.combine = static_cast<Combine>(combine);
  visitReduced(p, p.in, visitor);
}

void visitFields(FoldViews &p, FieldVisitor &visitor) {
  ViewOperand none;
  ViewOperand &first = p.operands.empty() ? none : p.operands[0];
  visitor.format("in", first.element, "element type of in0");
  visitReduced(p, first, visitor);
}

void visitFields(IotaViews &p, FieldVisitor &visitor) {
  visitor.integer("rank", p.rank, 1, kMaxViewRank, "axes of out");
  visitor.integer("block_columns", p.blockColumns, 1, kMaxBlock, "columns of one program");
  visitor.integer("axis", p.axis, 0, p.rank - 1, "the axis that is counted");
}

void visitFields(GatherViews &p, FieldVisitor &visitor) {
  visitor.format("table", p.table.element, "element type of table");
  visitor.format("out", p.out, "element type of out");
  visitor.flag("batched", p.batched, "the first axis of all arguments is a batch axis");
  visitor.flag("strided", p.table.strided, "table's innermost stride is given at launch");
  visitor.integer("block_columns", p.blockColumns, 1, kMaxBlock, "columns of one program");
}

} // namespace sinter::kernels
