// Rotation and scatter of heads in the tile language.
#include "kernels/qkv_epilogue.h"

#include "kernels/tokens.h"

#include <memory>
#include <optional>

namespace sinter::kernels {

using namespace kernel;

namespace {

// Elements of the blocks that round-to-nearest rounds to.
constexpr int64_t kBlockMultiple = 32;

struct QkvViews {
  View ropeTable, slots, keys, values, q;
};

} // namespace

static QkvViews declareViews(KernelBuilder &k, const QkvEpilogue &p) {
  QkvViews v;
  if (p.heads || p.keys)
    v.ropeTable = k.in("rope_table", F32, {dyn, p.headDim});
  if (p.keys || p.values)
    v.slots = k.in("slots", I32, {dyn});
  if (p.keys)
    v.keys = declareKeyCache(k, p.cache, p.kvHeads, p.headDim, p.pageRows);
  if (p.values)
    v.values = declareValueCache(k, p.cache, p.kvHeads, p.headDim, p.pageRows);
  if (p.heads)
    v.q = k.out("q", p.out, {dyn, p.heads, p.headDim});
  return v;
}

// Stores a head's rows [rows, columns] from column `column` of the head on.
static void storeHead(const View &view, Element element, const Scalar &row, const Scalar &head,
                      const Scalar &column, const Tile &tile, int64_t rows, int64_t columns) {
  store(view, {row, head, column}, fromF32(reshape(tile, {rows, 1, columns}), element));
}

static int64_t groupOf(const QkvEpilogue &p) {
  return p.group ? p.group : p.headDim / 2;
}

namespace {
/// A tile's place among the heads.
struct HeadPlace {
  TilePlace tile;
  Scalar head, column; // within the head
};
} // namespace

// A tile's columns of the first half of a head, or their partners, in the order of the head.
static Tile halfOf(const Tile &tile, int64_t rows, int64_t groups, int64_t group, int64_t which) {
  if (groups == 1)
    return slice(tile, {0, which * group}, {rows, group});
  Tile parts = reshape(tile, {rows, groups, 2, group});
  return reshape(slice(parts, {0, 0, which, 0}, {rows, groups, 1, group}), {rows, groups * group});
}

// Rotates the groups of a tile with their partners and stores both.
static void storeRotated(const QkvEpilogue &p, const QkvViews &v, const View &view, Element element,
                         const HeadPlace &place, const Tile &tile) {
  int64_t group = groupOf(p), rows = place.tile.rows, pairs = place.tile.columns / 2;
  Scalar row = place.tile.row, first = place.column / 2, second = first + p.headDim / 2;
  Tile cosine = load(v.ropeTable, {row, first}, {rows, pairs});
  Tile sine = load(v.ropeTable, {row, second}, {rows, pairs});
  Tile a = halfOf(tile, rows, pairs / group, group, 0);
  Tile b = halfOf(tile, rows, pairs / group, group, 1);
  Tile low = a * cosine - b * sine, high = a * sine + b * cosine;
  if (element.isBlock() && pairs % kBlockMultiple) { // a block of both halves
    storeHead(view, element, row, place.head, place.column, concat({low, high}, 1), rows,
              2 * pairs);
    return;
  }
  storeHead(view, element, row, place.head, first, low, rows, pairs);
  storeHead(view, element, row, place.head, second, high, rows, pairs);
}

static void storeHeads(KernelBuilder &k, const QkvEpilogue &p, const QkvViews &v, const Tile &tile,
                       const TilePlace &place) {
  Scalar head = place.column / p.headDim;
  bool whole = place.columns == p.headDim;
  Scalar column = whole ? k.constant(Index, 0) : place.column - head * p.headDim;
  int64_t first = 0;
  auto of = [&](int64_t count, const std::function<void(const Scalar &)> &storeOwn) {
    Scalar own = head - first;
    first += count;
    if (count)
      k.ifThen(logicalAnd(own >= 0, own < count), [&] { storeOwn(own); });
  };
  of(p.heads,
     [&](const Scalar &own) { storeRotated(p, v, v.q, p.out, {place, own, column}, tile); });
  of(p.keys ? p.kvHeads : 0, [&](const Scalar &own) {
    storeRotated(p, v, gatherRows(v.keys, v.slots), p.cache, {place, own, column}, tile);
  });
  of(p.values ? p.kvHeads : 0, [&](const Scalar &own) {
    storeHead(gatherRows(v.values, v.slots), p.cache, place.row, own, column, tile, place.rows,
              place.columns);
  });
}

EpilogueStore qkvStore(const QkvEpilogue &p) {
  auto views = std::make_shared<QkvViews>();
  return {[p, views](KernelBuilder &k) { *views = declareViews(k, p); },
          [p, views](KernelBuilder &k, const Tile &tile, const TilePlace &place) {
            storeHeads(k, p, *views, tile, place);
          }};
}

void qkvGemm(KernelBuilder &k, const QkvGemm &p) {
  Gemm product = p.gemm;
  product.n = p.heads.allHeads() * p.heads.headDim;
  product.blockN = p.heads.group ? 2 * p.heads.group : p.heads.headDim;
  product.epilogueStore = qkvStore(p.heads);
  gemm(k, product);
}

namespace {
// Heads of one kind in memory, and what each is normalized by.
struct HeadRows {
  std::optional<View> rows, gain;
};
} // namespace

static HeadRows declareRows(KernelBuilder &k, const char *name, int64_t heads, int64_t headDim) {
  if (!heads)
    return {};
  return {k.in(name, F32, {dyn, heads, headDim}), {}};
}

// A head's row [1, headDim], over its root mean square where it has a gain.
static Tile loadHead(const HeadRows &from, const Scalar &row, const Scalar &head, int64_t headDim,
                     const std::optional<Scalar> &eps) {
  Tile tile = reshape(load(*from.rows, {row, head, 0}, {1, 1, headDim}), {1, headDim});
  if (!from.gain)
    return tile;
  Tile scale = rsqrt(reduceSum(tile * tile, 1) / static_cast<double>(headDim) + *eps);
  return tile * scale * load(*from.gain, {0, 0}, {1, headDim});
}

void qkvRows(KernelBuilder &k, const QkvRows &p) {
  const QkvEpilogue &h = p.heads;
  const int64_t keyHeads = h.keys ? h.kvHeads : 0, valueHeads = h.values ? h.kvHeads : 0;
  HeadRows queries = declareRows(k, "queries", h.heads, h.headDim),
           keys = declareRows(k, "keys", keyHeads, h.headDim),
           values = declareRows(k, "values", valueHeads, h.headDim);
  if (p.normQueries && h.heads)
    queries.gain = k.in("q_norm", F32, {1, h.headDim}, {.constant = true});
  if (p.normKeys && h.keys)
    keys.gain = k.in("k_norm", F32, {1, h.headDim}, {.constant = true});
  std::optional<Scalar> eps;
  if (queries.gain || keys.gain)
    eps = k.scalar("norm_eps", F32);
  const QkvViews v = declareViews(k, h);
  k.grid(k.constant(Index, h.allHeads()), (queries.rows ? queries
                                           : keys.rows  ? keys
                                                        : values)
                                              .rows->dim(0));
  Scalar head = k.programId(0), row = k.programId(1), zero = k.constant(Index, 0);
  int64_t first = 0;
  auto of = [&](int64_t count, const HeadRows &from, auto storeOwn) {
    Scalar own = head - first;
    first += count;
    if (count)
      k.ifThen(logicalAnd(own >= 0, own < count),
               [&] { storeOwn(own, loadHead(from, row, own, h.headDim, eps)); });
  };
  const TilePlace place{row, zero, 1, h.headDim};
  of(h.heads, queries, [&](const Scalar &own, const Tile &tile) {
    storeRotated(h, v, v.q, h.out, {place, own, zero}, tile);
  });
  of(keyHeads, keys, [&](const Scalar &own, const Tile &tile) {
    storeRotated(h, v, gatherRows(v.keys, v.slots), h.cache, {place, own, zero}, tile);
  });
  of(valueHeads, values, [&](const Scalar &own, const Tile &tile) {
    storeHead(gatherRows(v.values, v.slots), h.cache, row, own, zero, tile, 1, h.headDim);
  });
}

static void visitHeads(QkvEpilogue &p, FieldVisitor &visitor) {
  visitor.integer("heads", p.heads, 0, kMaxBlock, "heads of queries");
  visitor.integer("kv_heads", p.kvHeads, 1, kMaxBlock, "heads of keys, and of values");
  visitor.integer("head_dim", p.headDim, 2, kMaxBlock, "columns of a head");
  visitor.integer("page_rows", p.pageRows, 1, kMaxBlock, "tokens of a page");
  visitor.format("cache", p.cache, "element type of the KV cache");
  visitor.flag("keys", p.keys, "whether there are keys");
  visitor.flag("values", p.values, "whether there are values");
}

void visitFields(QkvRows &p, FieldVisitor &visitor) {
  visitHeads(p.heads, visitor);
  visitor.flag("norm_queries", p.normQueries, "whether queries are normalized");
  visitor.flag("norm_keys", p.normKeys, "whether keys are normalized");
}

void visitFields(QkvGemm &p, FieldVisitor &visitor) {
  visitMatmul(p.gemm, visitor);
  visitor.integer("heads", p.heads.heads, 0, kMaxBlock, "heads of queries");
  visitor.integer("kv_heads", p.heads.kvHeads, 1, kMaxBlock, "heads of keys, and of values");
  visitor.integer("head_dim", p.heads.headDim, 2, kMaxBlock, "columns of a head");
  visitor.integer("group", p.heads.group, 0, kMaxBlock,
                  "columns beside their partners; 0: half a head");
  visitor.integer("page_rows", p.heads.pageRows, 1, kMaxBlock, "tokens of a page");
  visitor.format("cache", p.heads.cache, "element type of the KV cache");
  visitor.flag("keys", p.heads.keys, "whether the GEMM makes keys");
  visitor.flag("values", p.heads.values, "whether it makes values");
}

} // namespace sinter::kernels
