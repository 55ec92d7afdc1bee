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
  if ((p.heads || p.keys) && p.rotating())
    v.ropeTable = k.in("rope_table", F32, {dyn, p.rotating()});
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
  return p.group ? p.group : p.rotating() / 2;
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

namespace {
// Columns of a head that rotate: first elements of pairs, then second ones.
struct Rotated {
  Tile low, high; // [rows, pairs]
};
} // namespace

// Those of a tile in groups, where the head's pairs begin at `first` and the table's sines of them
// at `second`.
static Rotated rotated(const QkvViews &v, const Scalar &row, const Scalar &first,
                       const Scalar &second, const Tile &tile, int64_t rows, int64_t pairs,
                       int64_t group) {
  Tile cosine = load(v.ropeTable, {row, first}, {rows, pairs});
  Tile sine = load(v.ropeTable, {row, second}, {rows, pairs});
  Tile a = halfOf(tile, rows, pairs / group, group, 0);
  Tile b = halfOf(tile, rows, pairs / group, group, 1);
  Tile low = a * cosine - b * sine, high = a * sine + b * cosine;
  return {low, high};
}

// Rotates the groups of a tile with their partners and stores both; in a tile of a whole head other
// columns follow.
static void storeRotated(const QkvEpilogue &p, const QkvViews &v, const View &view, Element element,
                         const HeadPlace &place, const Tile &tile) {
  const int64_t rows = place.tile.rows, rest = place.tile.columns == p.headDim ? p.rest : 0,
                pairs = (place.tile.columns - rest) / 2;
  Scalar row = place.tile.row, first = place.column / 2, second = first + p.rotating() / 2;
  Tile turning = rest ? slice(tile, {0, 0}, {rows, 2 * pairs}) : tile;
  Rotated both = rotated(v, row, first, second, turning, rows, pairs, groupOf(p));
  std::optional<Tile> others;
  if (rest)
    others = slice(tile, {0, 2 * pairs}, {rows, rest});
  if (element.isBlock() && pairs % kBlockMultiple) { // a block of both halves
    std::vector<Tile> all = {both.low, both.high};
    if (others)
      all.push_back(*others);
    storeHead(view, element, row, place.head, place.column, concat(all, 1), rows, 2 * pairs + rest);
    return;
  }
  storeHead(view, element, row, place.head, first, both.low, rows, pairs);
  storeHead(view, element, row, place.head, second, both.high, rows, pairs);
  if (others)
    storeHead(view, element, row, place.head, place.column + 2 * pairs, *others, rows, rest);
}

// A tile of queries or keys, which rotate unless it has columns after those that do.
static void storeTurned(KernelBuilder &k, const QkvEpilogue &p, const QkvViews &v, const View &view,
                        Element element, const HeadPlace &place, const Tile &tile) {
  auto storePlain = [&] {
    storeHead(view, element, place.tile.row, place.head, place.column, tile, place.tile.rows,
              place.tile.columns);
  };
  if (!p.rotating())
    return storePlain();
  if (!p.rest || place.tile.columns == p.headDim)
    return storeRotated(p, v, view, element, place, tile);
  k.ifThen(place.column < p.rotating(),
           [&] { storeRotated(p, v, view, element, place, tile); });
  k.ifThen(place.column >= p.rotating(), storePlain);
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
     [&](const Scalar &own) { storeTurned(k, p, v, v.q, p.out, {place, own, column}, tile); });
  of(p.keys ? p.kvHeads : 0, [&](const Scalar &own) {
    storeTurned(k, p, v, gatherRows(v.keys, v.slots), p.cache, {place, own, column}, tile);
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

// A head's row [1, headDim] over its root mean square, times its gain.
static Tile normed(const HeadRows &from, const Tile &tile, int64_t headDim, const Scalar &eps) {
  Tile scale = rsqrt(reduceSum(tile * tile, 1) / static_cast<double>(headDim) + eps);
  return tile * scale * load(*from.gain, {0, 0}, {1, headDim});
}

// A head's row with its pairs rotated where they are.
static Tile turned(KernelBuilder &k, const QkvRows &p, const QkvViews &v, const Scalar &row,
                   const Tile &tile) {
  const int64_t pairs = p.heads.rotating() / 2, rest = p.heads.rest;
  const Scalar zero = k.constant(Index, 0), half = k.constant(Index, pairs);
  Tile turning = rest ? slice(tile, {0, 0}, {1, 2 * pairs}) : tile;
  Rotated both = rotated(v, row, zero, half, turning, 1, pairs, p.halves ? pairs : 1);
  std::vector<Tile> all = {both.low, both.high};
  if (!p.halves)
    all = {reshape(concat({reshape(both.low, {pairs, 1}), reshape(both.high, {pairs, 1})}, 1),
                   {1, 2 * pairs})};
  if (rest)
    all.push_back(slice(tile, {0, 2 * pairs}, {1, rest}));
  return all.size() == 1 ? all.front() : concat(all, 1);
}

// Stores a head's row as it is normalized and rotated. Halves that no norm follows are stored as
// they come.
static void storeRow(KernelBuilder &k, const QkvRows &p, const QkvViews &v, const HeadRows &from,
                     const View &to, Element element, const HeadPlace &place,
                     const std::optional<Scalar> &eps) {
  const QkvEpilogue &h = p.heads;
  Scalar row = place.tile.row;
  Tile tile = reshape(load(*from.rows, {row, place.head, 0}, {1, 1, h.headDim}), {1, h.headDim});
  if (from.gain && !p.normsFollow)
    tile = normed(from, tile, h.headDim, *eps);
  if (p.halves && !p.normsFollow)
    return storeTurned(k, h, v, to, element, place, tile);
  if (h.rotating())
    tile = turned(k, p, v, row, tile);
  if (from.gain && p.normsFollow)
    tile = normed(from, tile, h.headDim, *eps);
  storeHead(to, element, row, place.head, place.column, tile, 1, h.headDim);
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
  const TilePlace place{row, zero, 1, h.headDim};
  int64_t first = 0;
  auto of = [&](int64_t count, auto storeOwn) {
    Scalar own = head - first;
    first += count;
    if (count)
      k.ifThen(logicalAnd(own >= 0, own < count), [&] { storeOwn(HeadPlace{place, own, zero}); });
  };
  of(h.heads, [&](const HeadPlace &at) { storeRow(k, p, v, queries, v.q, h.out, at, eps); });
  of(keyHeads, [&](const HeadPlace &at) {
    storeRow(k, p, v, keys, gatherRows(v.keys, v.slots), h.cache, at, eps);
  });
  of(valueHeads, [&](const HeadPlace &at) {
    Tile tile = reshape(load(*values.rows, {row, at.head, 0}, {1, 1, h.headDim}), {1, h.headDim});
    storeHead(gatherRows(v.values, v.slots), h.cache, row, at.head, zero, tile, 1, h.headDim);
  });
}

static void visitHeads(QkvEpilogue &p, FieldVisitor &visitor) {
  visitor.integer("heads", p.heads, 0, kMaxBlock, "heads of queries");
  visitor.integer("kv_heads", p.kvHeads, 1, kMaxBlock, "heads of keys, and of values");
  visitor.integer("head_dim", p.headDim, 2, kMaxBlock, "columns of a head");
  visitor.integer("rest", p.rest, 0, kMaxBlock, "the last of them, which do not rotate");
  visitor.integer("page_rows", p.pageRows, 1, kMaxBlock, "tokens of a page");
  visitor.format("cache", p.cache, "element type of the KV cache");
  visitor.flag("keys", p.keys, "whether there are keys");
  visitor.flag("values", p.values, "whether there are values");
}

void visitFields(QkvRows &p, FieldVisitor &visitor) {
  visitHeads(p.heads, visitor);
  visitor.flag("norm_queries", p.normQueries, "whether queries are normalized");
  visitor.flag("norm_keys", p.normKeys, "whether keys are normalized");
  visitor.flag("norms_follow", p.normsFollow, "norms come after RoPE");
  visitor.flag("halves", p.halves, "pair (i, i + pairs) instead of (2i, 2i + 1)");
}

void visitFields(QkvGemm &p, FieldVisitor &visitor) {
  visitMatmul(p.gemm, visitor);
  visitHeads(p.heads, visitor);
  visitor.integer("group", p.heads.group, 0, kMaxBlock,
                  "columns beside their partners; 0: half of those that rotate");
}

} // namespace sinter::kernels
