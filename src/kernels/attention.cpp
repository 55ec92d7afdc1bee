// Paged attention in the tile language.
#include "kernels/attention.h"

#include <limits>

namespace sinter::kernels {

using namespace kernel;

namespace {

struct AttentionViews {
  View q, keyPool, valuePool, pageTable, blocks, lengths, positions, out;
  Scalar scale;
};

// What one program works on.
struct Block {
  Scalar sequence, head, first, rows, length;
  Tile queries;   // [rows, headDim], scaled
  Tile positions; // [rows, 1]
  Tile ends;      // [rows, 1]: one past the last position that each row attends to
};

} // namespace

static int64_t stepKeys(const Attention &p) {
  return p.pageRows * p.stepPages;
}

// Blocks lie along a head, so keys in blocks lie row by row, as values do.
static View declareKeys(KernelBuilder &k, const Attention &p) {
  if (p.pool.isBlock())
    return k.in("k_pool", p.pool, {dyn, p.kvHeads, p.pageRows, p.headDim});
  return k.in("k_pool", p.pool, {dyn, p.kvHeads, p.headDim, p.pageRows});
}

static AttentionViews declareViews(KernelBuilder &k, const Attention &p) {
  int64_t heads = p.kvHeads * p.groupHeads;
  AttentionViews v;
  v.q = k.in("q", p.in, {dyn, heads, p.headDim});
  v.keyPool = declareKeys(k, p);
  v.valuePool = k.in("v_pool", p.pool, {dyn, p.kvHeads, p.pageRows, p.headDim});
  v.pageTable = k.in("page_table", I32, {dyn, dyn});
  v.blocks = k.in("blocks", I32, {dyn, 3});
  v.lengths = k.in("kv_lengths", I32, {dyn});
  v.positions = k.in("positions", I32, {dyn, 1});
  v.out = k.out("out", p.out, {dyn, heads, p.headDim});
  v.scale = k.scalar("scale", F32);
  p.scores.open(k);
  k.grid(v.blocks.dim(0), p.kvHeads);
  return v;
}

// Rows of queries of other sequences are cut off by windows, so a block reads zeros there and
// writes nothing.
static View rowsOf(const Attention &p, const Block &b, const View &view) {
  return window(view, {b.first, 0, 0}, {b.rows, p.kvHeads * p.groupHeads, p.headDim});
}

static Block loadBlock(KernelBuilder &k, const Attention &p, const AttentionViews &v) {
  Scalar id = k.programId(0);
  Block b;
  b.head = k.programId(1);
  b.sequence = loadScalar(v.blocks, {id, 0});
  b.first = convert(loadScalar(v.blocks, {id, 1}), Index);
  b.rows = convert(loadScalar(v.blocks, {id, 2}), Index);
  b.length = loadScalar(v.lengths, {b.sequence});
  int64_t rows = p.blockQueries * p.groupHeads;
  Tile queries = load(rowsOf(p, b, v.q), {0, b.head * p.groupHeads, 0},
                      {p.blockQueries, p.groupHeads, p.headDim});
  b.queries = convert(reshape(convert(queries, F32), {rows, p.headDim}) * v.scale, p.compute);
  Tile positions =
      load(window(v.positions, {b.first, 0}, {b.rows, 1}), {0, 0}, {p.blockQueries, 1});
  b.positions = reshape(broadcast(positions, {p.blockQueries, p.groupHeads}), {rows, 1});
  b.ends = p.causal ? min(b.positions + 1, b.length) : k.full(I32, {rows, 1}, 0) + b.length;
  return b;
}

// One past the last position that any row of the block attends to.
static Scalar endOfKeys(const Attention &p, const AttentionViews &v, const Block &b) {
  Scalar end = b.length;
  if (p.causal)
    end = min(end, loadScalar(v.positions, {b.first + b.rows - 1, 0}) + 1);
  return select(b.rows > 0, end, 0);
}

// Where the first step that any row sees begins. Keys before it add exact zeros, so leaving them
// out changes no bit.
static Scalar startOfKeys(KernelBuilder &k, const Attention &p, const AttentionViews &v,
                          const Block &b) {
  if (!p.window)
    return k.constant(I32, 0);
  Scalar first = loadScalar(v.positions, {b.first, 0}) - (p.window - 1);
  return floorDiv(max(first, 0), stepKeys(p)) * stepKeys(p);
}

// The pages of a step whose first key is `start`; beyond the table, page 0.
static std::vector<Scalar> stepPages(const Attention &p, const AttentionViews &v, const Block &b,
                                     const Scalar &start) {
  std::vector<Scalar> pages;
  Scalar first = floorDiv(start, p.pageRows);
  for (int64_t at = 0; at < p.stepPages; ++at)
    pages.push_back(loadScalar(v.pageTable, {b.sequence, at ? first + at : first}));
  return pages;
}

static Tile joined(const std::vector<Tile> &tiles, int64_t axis) {
  return tiles.size() == 1 ? tiles.front() : concat(tiles, axis);
}

// What a pool's tile holds, as numbers.
static Tile numbersOf(const Attention &p, const Tile &tile) {
  return p.pool.isBlock() ? decode(tile) : tile;
}

// A head's part of a page, as numbers of `rows` by `columns`.
static Tile headOfPage(const Attention &p, const View &pool, const std::vector<Scalar> &at,
                       int64_t rows, int64_t columns) {
  return reshape(numbersOf(p, load(pool, {at[0], at[1], 0, 0}, {1, 1, rows, columns})),
                 {rows, columns});
}

// [headDim, keys of the step]; of a pool of blocks [keys of the step, headDim]
static Tile stepOfKeys(const Attention &p, const AttentionViews &v, const Block &b,
                       const std::vector<Scalar> &pages) {
  bool byRow = p.pool.isBlock();
  std::vector<Tile> tiles;
  for (const Scalar &page : pages)
    tiles.push_back(headOfPage(p, v.keyPool, {page, b.head}, byRow ? p.pageRows : p.headDim,
                               byRow ? p.headDim : p.pageRows));
  return joined(tiles, byRow ? 0 : 1);
}

// [keys of the step, headDim]; rows that hold none are zero, since their weights of zero would keep
// a stale infinity.
static Tile stepOfValues(KernelBuilder &k, const Attention &p, const AttentionViews &v,
                         const Block &b, const std::vector<Scalar> &pages, const Scalar &start) {
  std::vector<Tile> tiles;
  Scalar left = convert(b.length, Index) - start;
  for (size_t at = 0; at < pages.size(); ++at) {
    Scalar rows = at ? max(left - static_cast<int64_t>(at) * p.pageRows, 0) : left;
    View stored = window(v.valuePool, {pages[at], 0, 0, 0}, {1, p.kvHeads, rows, p.headDim});
    tiles.push_back(headOfPage(p, stored, {k.constant(Index, 0), b.head}, p.pageRows, p.headDim));
  }
  return joined(tiles, 0);
}

// Scores of a step's keys, minus infinity where a row does not attend.
static Tile stepScores(KernelBuilder &k, const Attention &p, const Block &b, const Tile &keys,
                       const Scalar &start) {
  int64_t rows = p.blockQueries * p.groupHeads;
  Tile scores = dot(b.queries, convert(keys, p.compute), k.zeros(F32, {rows, stepKeys(p)}),
                    /*transposeB=*/p.pool.isBlock());
  scores = p.scores(k, scores, {k.constant(Index, 0), start, rows, stepKeys(p)});
  Tile position = k.iota({1, stepKeys(p)}, 1) + convert(start, I32);
  Tile seen = position < b.ends;
  if (p.window)
    seen = logicalAnd(seen, position > b.positions - p.window);
  return select(seen, scores, -std::numeric_limits<double>::infinity());
}

void attention(KernelBuilder &k, const Attention &p) {
  AttentionViews v = declareViews(k, p);
  Block b = loadBlock(k, p, v);
  int64_t rows = p.blockQueries * p.groupHeads;
  // The running maximum starts finite, so that a fully masked page never subtracts infinities.
  Tile lowest = k.full(F32, {rows, 1}, std::numeric_limits<float>::lowest());
  auto step = [&](Scalar start, Tile high, Tile total, Tile acc) {
    std::vector<Scalar> pages = stepPages(p, v, b, start);
    Tile keys = stepOfKeys(p, v, b, pages), values = stepOfValues(k, p, v, b, pages, start);
    Tile scores = stepScores(k, p, b, keys, start);
    Tile next = max(high, reduceMax(scores, 1));
    Tile weights = exp(scores - next), shrink = exp(high - next);
    values = convert(values, p.compute);
    return std::tuple{next, total * shrink + reduceSum(weights, 1),
                      dot(convert(weights, p.compute), values, acc * shrink)};
  };
  auto [high, total, acc] =
      k.forLoop(startOfKeys(k, p, v, b), endOfKeys(p, v, b), stepKeys(p),
                std::tuple{lowest, k.zeros(F32, {rows, 1}), k.zeros(F32, {rows, p.headDim})}, step);
  // A row that attends nothing gives zeros.
  Tile result = acc / select(total > 0, total, 1);
  store(rowsOf(p, b, v.out), {0, b.head * p.groupHeads, 0},
        fromF32(reshape(result, {p.blockQueries, p.groupHeads, p.headDim}), p.out));
}

void visitFields(Attention &p, FieldVisitor &visitor) {
  visitor.format("in", p.in, "element type of q");
  visitor.format("pool", p.pool, "element type of the pools");
  visitor.format("out", p.out, "element type of out");
  visitor.format("compute", p.compute, "element type of the products' operands");
  visitor.integer("kv_heads", p.kvHeads, 1, kMaxBlock, "heads of keys and values");
  visitor.integer("group_heads", p.groupHeads, 1, kMaxBlock, "query heads of one of them");
  visitor.integer("head_dim", p.headDim, 1, kMaxBlock, "elements of a head");
  visitor.integer("page_rows", p.pageRows, 1, kMaxBlock, "positions of a page");
  visitor.integer("step_pages", p.stepPages, 1, kMaxStepPages, "pages that a step takes");
  visitor.integer("block_queries", p.blockQueries, 1, kMaxBlock, "rows of q of one program");
  visitor.integer("window", p.window, 0, INT32_MAX, "positions a row looks back; 0: all");
  visitor.flag("causal", p.causal, "rows attend no later positions");
}

} // namespace sinter::kernels
