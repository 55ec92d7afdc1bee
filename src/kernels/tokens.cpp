// Token row kernels in the tile language.
#include "kernels/tokens.h"

#include <optional>

namespace sinter::kernels {

using namespace kernel;

void quantizeRows(KernelBuilder &k, const QuantizeRows &p) {
  View x = k.in("x", p.in, {dyn, p.columns});
  View out = k.out("out", p.out, {dyn, p.columns});
  p.prologue.open(k);
  k.grid(ceilDiv(out.dim(1), p.blockColumns), ceilDiv(out.dim(0), p.blockRows));
  TilePlace place = {k.programId(1) * p.blockRows, k.programId(0) * p.blockColumns, p.blockRows,
                     p.blockColumns};
  if (p.prologue.prepare)
    p.prologue.begin(k, x, place);
  storeF32(out, p.out, place, p.prologue(k, loadF32(x, p.in, place), place));
}

void embed(KernelBuilder &k, const Embed &p) {
  View ids = k.in("ids", I32, {dyn});
  View table = k.in("table", p.table, {dyn, p.columns}, {.interleave = p.interleave});
  View out = k.out("out", p.out, {dyn, p.columns});
  p.epilogue.open(k);
  k.grid(ceilDiv(out.dim(1), p.blockColumns), out.dim(0));
  TilePlace to = {k.programId(1), k.programId(0) * p.blockColumns, 1, p.blockColumns}, from = to;
  from.row = convert(loadScalar(ids, {to.row}), Index);
  storeF32(out, p.out, to, p.epilogue(k, loadF32(table, p.table, from), to));
}

void ropeTable(KernelBuilder &k, const RopeTable &p) {
  View positions = k.in("positions", I32, {dyn, 1});
  View frequencies = k.in("frequencies", F32, {dyn});
  std::optional<View> divisors, magnitudes;
  if (p.divided)
    divisors = k.in("divisors", F32, {dyn});
  if (p.scaled)
    magnitudes = k.in("magnitudes", F32, {dyn});
  View out = k.out("out", F32, {dyn, 2, p.pairs});
  k.grid(ceilDiv(out.dim(0), p.blockRows));
  Scalar row = k.programId(0) * p.blockRows;
  auto ofPairs = [&](const View &view) {
    return reshape(load(view, {0}, {p.pairs}), {1, p.pairs});
  };
  Tile position = convert(load(positions, {row, 0}, {p.blockRows, 1}), F32);
  Tile frequency = ofPairs(frequencies);
  if (divisors)
    frequency = frequency / ofPairs(*divisors);
  Tile angle = position * frequency;
  auto storeHalf = [&](int64_t which, Tile values) {
    if (magnitudes)
      values = values * ofPairs(*magnitudes);
    store(out, {row, which, 0}, reshape(values, {p.blockRows, 1, p.pairs}));
  };
  storeHalf(0, cos(angle));
  storeHalf(1, sin(angle));
}

void rope(KernelBuilder &k, const Rope &p) {
  std::vector<int64_t> shape = p.halves ? std::vector<int64_t>{dyn, p.heads, 2, p.pairs}
                                        : std::vector<int64_t>{dyn, p.heads, p.pairs, 2};
  std::vector<int64_t> half = p.halves
                                  ? std::vector<int64_t>{p.blockRows, p.blockHeads, 1, p.pairs}
                                  : std::vector<int64_t>{p.blockRows, p.blockHeads, p.pairs, 1};
  View x = p.inPlace ? k.inout("x", p.in, shape) : k.in("x", p.in, shape);
  View ropeTable = k.in("rope_table", F32, {dyn, 2, p.pairs});
  View out = p.inPlace ? x : k.out("out", p.out, shape);
  std::optional<View> restOfX, restOfOut;
  if (p.rest) {
    restOfX = k.in("x_rest", p.in, {dyn, p.heads, p.rest});
    restOfOut = k.out("out_rest", p.out, {dyn, p.heads, p.rest});
  }
  Element outElement = p.inPlace ? p.in : p.out;
  k.grid(ceilDiv(x.dim(1), p.blockHeads), ceilDiv(x.dim(0), p.blockRows));
  Scalar row = k.programId(1) * p.blockRows, head = k.programId(0) * p.blockHeads;

  auto rotation = [&](int64_t which) {
    return reshape(load(ropeTable, {row, which, 0}, {p.blockRows, 1, p.pairs}),
                   {p.blockRows, 1, half[2], half[3]});
  };
  Tile cosine = rotation(0), sine = rotation(1);
  int64_t second = p.halves ? 0 : 1;
  Tile a = convert(load(x, {row, head, 0, 0}, half), F32);
  Tile b = convert(load(x, {row, head, 1 - second, second}, half), F32);
  store(out, {row, head, 0, 0}, convert(a * cosine - b * sine, outElement));
  store(out, {row, head, 1 - second, second}, convert(a * sine + b * cosine, outElement));
  if (p.rest)
    store(*restOfOut, {row, head, 0},
          convert(load(*restOfX, {row, head, 0}, {p.blockRows, p.blockHeads, p.rest}), p.out));
}

// Blocks know no gaps otherwise.
static constexpr ViewOptions kStrided{.strided = true};

View declareKeyCache(KernelBuilder &k, Element element, int64_t kvHeads, int64_t headDim,
                     int64_t pageRows) {
  return k.inout("k_cache", element, {dyn, pageRows, kvHeads, headDim}, kStrided);
}

View declareValueCache(KernelBuilder &k, Element element, int64_t kvHeads, int64_t headDim,
                       int64_t pageRows) {
  return k.inout("v_cache", element, {dyn, pageRows, kvHeads, headDim},
                 element.isBlock() ? kStrided : ViewOptions());
}

void kvAppend(KernelBuilder &k, const KvAppend &p) {
  View rows = k.in("rows", p.in, {dyn, p.kvHeads, p.headDim});
  View slots = k.in("slots", I32, {dyn});
  View cache = k.inout("cache", p.cache, {dyn, p.pageRows, p.kvHeads, p.headDim},
                       p.strided || p.cache.isBlock() ? kStrided : ViewOptions());
  k.grid(slots.dim(0));
  Scalar token = k.programId(0);

  Tile row = load(rows, {token, 0, 0}, {1, p.kvHeads, p.headDim});
  store(gatherRows(cache, slots), {token, 0, 0},
        p.cache.isBlock() ? fromF32(convert(row, F32), p.cache) : convert(row, p.cache));
}

void visitFields(QuantizeRows &p, FieldVisitor &visitor) {
  visitor.format("in", p.in, "element type of x");
  visitor.format("out", p.out, "block format of out");
  visitor.extent("columns", p.columns, "K where it is static");
  visitor.integer("block_rows", p.blockRows, 1, kMaxBlock, "rows of one program");
  visitor.integer("block_columns", p.blockColumns, 1, kMaxBlock, "columns of one program");
}

void visitFields(Embed &p, FieldVisitor &visitor) {
  visitor.format("table", p.table, "element type of the table");
  visitor.format("out", p.out, "element type of out");
  visitor.extent("columns", p.columns, "K where it is static");
  visitor.integer("interleave", p.interleave, 0, 64,
                  "rows of the table in a row-interleaved group; 0: not packed");
  visitor.integer("block_columns", p.blockColumns, 1, kMaxBlock, "columns of one program");
}

void visitFields(RopeTable &p, FieldVisitor &visitor) {
  visitor.integer("pairs", p.pairs, 1, kMaxBlock, "half of the elements that rotate");
  visitor.integer("block_rows", p.blockRows, 1, kMaxBlock, "tokens of one program");
  visitor.flag("divided", p.divided, "frequencies have divisors");
  visitor.flag("scaled", p.scaled, "cosines and sines have magnitudes");
}

void visitFields(Rope &p, FieldVisitor &visitor) {
  visitor.format("in", p.in, "element type of x");
  visitor.format("out", p.out, "element type of out");
  visitor.extent("heads", p.heads, "heads where they are static");
  visitor.integer("pairs", p.pairs, 1, kMaxBlock, "half of the elements that rotate");
  visitor.integer("rest", p.rest, 0, kMaxBlock, "elements of a head that are copied");
  visitor.integer("block_rows", p.blockRows, 1, kMaxBlock, "tokens of one program");
  visitor.integer("block_heads", p.blockHeads, 1, kMaxBlock, "heads of one program");
  visitor.flag("halves", p.halves, "pair (i, i + pairs) instead of (2i, 2i + 1)");
  visitor.flag("in_place", p.inPlace, "x is inout and there is no out");
}

void visitFields(KvAppend &p, FieldVisitor &visitor) {
  visitor.format("in", p.in, "element type of the rows");
  visitor.format("cache", p.cache, "element type of the pool");
  visitor.integer("kv_heads", p.kvHeads, 1, kMaxBlock, "heads of a row");
  visitor.integer("head_dim", p.headDim, 1, kMaxBlock, "elements of a head");
  visitor.integer("page_rows", p.pageRows, 1, kMaxBlock, "tokens of a page");
  visitor.flag("strided", p.strided, "elements of a head in the pool may lie apart");
}

} // namespace sinter::kernels
