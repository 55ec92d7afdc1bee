// Paged attention in the tile language.
#include "kernels/attention.h"

#include <limits>
#include <memory>
#include <optional>

namespace sinter::kernels {

using namespace kernel;

namespace {

// Where rows lie in their sequences.
struct RowViews {
  View blocks, lengths, positions;
};

struct AttentionViews {
  View q, keyCache, valueCache, pageTable;
  RowViews rows;
  std::optional<View> slopes;
};

// Where softmax states of partitions lie: at [token, head, partition], as many of each token as the
// longest sequence has, or in slots that a list gives.
enum class PartitionLayout : uint8_t { ByToken, Listed };

// high and total [T, heads, partitions], listed [slots, heads]; acc with valueDim besides.
struct PartitionViews {
  View acc, high, total;
};

// What one program works on.
struct Block {
  Scalar sequence, head, first, rows, length;
};

// Its rows of q: the query tile.
struct Queries {
  Tile numbers;               // [rows, headDim], scaled
  Tile positions;             // [rows, 1]
  Tile ends;                  // [rows, 1]: one past the last position that each row attends to
  std::optional<Tile> slopes; // [rows, 1]
};

// Keys that are taken together: the first of one page, or all of several.
struct Step {
  int64_t keys = 0;
  bool seen = false; // by every row: none is masked
};

// The state of online softmax over some keys: each row's largest score, the sum of the exponentials
// of all scores less that one, and the sum of the values weighted by these.
struct OnlineSoftmax {
  Tile high, total; // [rows, 1]
  Tile acc;         // [rows, valueDim]
};

} // namespace

int64_t stepKeys(const Attention &p) {
  return p.pageRows * p.stepPages;
}

int64_t partitionKeys(const Attention &p) {
  return std::max<int64_t>(1, p.partitionSteps) * stepKeys(p);
}

// Blocks lie along a head, so keys in blocks lie row by row, as values do.
static View declareKeys(KernelBuilder &k, const Attention &p) {
  if (p.cache.isBlock())
    return k.in("k_cache", p.cache, {dyn, p.kvHeads, p.pageRows, p.headDim});
  return k.in("k_cache", p.cache, {dyn, p.kvHeads, p.headDim, p.pageRows});
}

static int64_t valueDimOf(const Attention &p) {
  return p.valueDim ? p.valueDim : p.headDim;
}

static int64_t headsOf(const Attention &p) {
  return p.kvHeads * p.groupHeads;
}

static int64_t rowsOf(const Attention &p) {
  return p.queryTile * p.groupHeads;
}

static View declareList(KernelBuilder &k) {
  return k.in("partitions", I32, {dyn, kPartitionColumns});
}

// Of `blocks`, or of a list whose first columns say the same of partitions.
static RowViews declareRows(KernelBuilder &k, PartitionLayout layout = PartitionLayout::ByToken) {
  RowViews v;
  v.blocks = layout == PartitionLayout::Listed ? declareList(k) : k.in("blocks", I32, {dyn, 3});
  v.lengths = k.in("kv_lengths", I32, {dyn});
  v.positions = k.in("positions", I32, {dyn, 1});
  return v;
}

static AttentionViews declareViews(KernelBuilder &k, const Attention &p,
                                   PartitionLayout layout = PartitionLayout::ByToken) {
  AttentionViews v;
  v.q = k.in("q", p.in, {dyn, headsOf(p), p.headDim});
  v.keyCache = declareKeys(k, p);
  v.valueCache = k.in("v_cache", p.cache, {dyn, p.kvHeads, p.pageRows, valueDimOf(p)});
  v.pageTable = k.in("page_table", I32, {dyn, dyn});
  v.rows = declareRows(k, layout);
  return v;
}

static View declareOut(KernelBuilder &k, const Attention &p) {
  if (p.joinHeads)
    return k.out("out", p.out, {dyn, headsOf(p) * valueDimOf(p)});
  return k.out("out", p.out, {dyn, headsOf(p), valueDimOf(p)});
}

// One number a head.
static View declareHeads(KernelBuilder &k, const Attention &p, const char *name) {
  return k.in(name, F32, {1, headsOf(p)});
}

// Those of a program's rows, [rows, 1].
static Tile numbersOfHeads(const Attention &p, const View &heads, const Block &b) {
  Tile group = load(heads, {0, b.head * p.groupHeads}, {1, p.groupHeads});
  return reshape(broadcast(group, {p.queryTile, p.groupHeads}), {rowsOf(p), 1});
}

// Rows of other sequences are cut off by windows, so a block reads zeros there and writes nothing.
static View rowsOf(const Attention &p, const Block &b, const View &view, int64_t columns) {
  return window(view, {b.first, 0, 0}, {b.rows, headsOf(p), columns});
}

// What a program works on: `axis` of the grid counts blocks of rows, the second axis heads.
static Block loadBlock(KernelBuilder &k, const RowViews &v, int axis = 0) {
  Scalar id = k.programId(axis);
  Block b;
  b.head = k.programId(1);
  b.sequence = loadScalar(v.blocks, {id, 0});
  b.first = convert(loadScalar(v.blocks, {id, 1}), Index);
  b.rows = convert(loadScalar(v.blocks, {id, 2}), Index);
  b.length = loadScalar(v.lengths, {b.sequence});
  return b;
}

// Positions of a window at or before a row's own.
static int64_t windowBack(const Attention &p) {
  return p.causal ? p.window : p.window / 2 + 1;
}

// And at or after it.
static int64_t windowAhead(const Attention &p) {
  return p.causal ? 1 : windowBack(p);
}

// Whether each row sees its whole sequence.
static bool seesAll(const Attention &p) {
  return !p.causal && !p.window;
}

static Queries loadQueries(KernelBuilder &k, const Attention &p, const AttentionViews &v,
                           const Block &b, const Scalar &scale) {
  int64_t rows = rowsOf(p);
  Queries q;
  Tile numbers = load(rowsOf(p, b, v.q, p.headDim), {0, b.head * p.groupHeads, 0},
                      {p.queryTile, p.groupHeads, p.headDim});
  q.numbers = convert(reshape(convert(numbers, F32), {rows, p.headDim}) * scale, p.compute);
  Tile positions =
      load(window(v.rows.positions, {b.first, 0}, {b.rows, 1}), {0, 0}, {p.queryTile, 1});
  q.positions = reshape(broadcast(positions, {p.queryTile, p.groupHeads}), {rows, 1});
  q.ends = seesAll(p) ? k.full(I32, {rows, 1}, 0) + b.length
                      : min(q.positions + windowAhead(p), b.length);
  if (v.slopes)
    q.slopes = numbersOfHeads(p, *v.slopes, b);
  return q;
}

// One past the last position that any row of the block attends to.
static Scalar endOfKeys(const Attention &p, const RowViews &v, const Block &b) {
  Scalar end = b.length;
  if (!seesAll(p))
    end = min(end, loadScalar(v.positions, {b.first + b.rows - 1, 0}) + windowAhead(p));
  return select(b.rows > 0, end, 0);
}

static bool looksBackLess(const Attention &p) {
  return p.window || p.chunk;
}

// The first position that row `row` of q sees.
static Scalar firstSeen(const Attention &p, const RowViews &v, const Scalar &row) {
  Scalar position = loadScalar(v.positions, {row, 0});
  return p.window ? max(position - (windowBack(p) - 1), 0) : floorDiv(position, p.chunk) * p.chunk;
}

// Where the first multiple of `step` positions that any row sees begins. Keys before it add exact
// zeros, so leaving them out changes no bit.
static Scalar startOfKeys(KernelBuilder &k, const Attention &p, const RowViews &v, const Block &b,
                          int64_t step) {
  if (!looksBackLess(p))
    return k.constant(I32, 0);
  return floorDiv(firstSeen(p, v, b.first), step) * step;
}

// Where the first step begins of which every row sees all keys up to its own position.
static Scalar startOfSeen(const Attention &p, const RowViews &v, const Block &b) {
  Scalar first = firstSeen(p, v, b.first + b.rows - 1);
  return floorDiv(first + (stepKeys(p) - 1), stepKeys(p)) * stepKeys(p);
}

// One past the last step whose keys every row sees; steps begin at multiples of their keys.
static Scalar endOfSeen(const Attention &p, const RowViews &v, const Block &b) {
  Scalar end = b.length;
  if (!seesAll(p))
    end = min(end, loadScalar(v.positions, {b.first, 0}) + windowAhead(p));
  return floorDiv(end, stepKeys(p)) * stepKeys(p);
}

// The pages of a step whose first key is `start`; beyond the table, page 0.
static std::vector<Scalar> stepPages(const Attention &p, const AttentionViews &v, const Block &b,
                                     const Step &step, const Scalar &start) {
  std::vector<Scalar> pages;
  Scalar first = floorDiv(start, p.pageRows);
  for (int64_t at = 0; at * p.pageRows < step.keys; ++at)
    pages.push_back(loadScalar(v.pageTable, {b.sequence, at ? first + at : first}));
  return pages;
}

static Tile combined(const std::vector<Tile> &tiles, int64_t axis) {
  return tiles.size() == 1 ? tiles.front() : concat(tiles, axis);
}

// What a pool's tile holds, as numbers.
static Tile numbersOf(const Attention &p, const Tile &tile) {
  return p.cache.isBlock() ? dequantize(tile) : tile;
}

// A head's part of a page, as numbers of `rows` by `columns`.
static Tile headOfPage(const Attention &p, const View &cache, const std::vector<Scalar> &at,
                       int64_t rows, int64_t columns) {
  return reshape(numbersOf(p, load(cache, {at[0], at[1], 0, 0}, {1, 1, rows, columns})),
                 {rows, columns});
}

// [headDim, keys of the step]; of a pool of blocks [keys of the step, headDim]
static Tile stepOfKeys(const Attention &p, const AttentionViews &v, const Block &b,
                       const Step &step, const std::vector<Scalar> &pages) {
  bool byRow = p.cache.isBlock();
  const int64_t keys = std::min(step.keys, p.pageRows);
  std::vector<Tile> tiles;
  for (const Scalar &page : pages)
    tiles.push_back(headOfPage(p, v.keyCache, {page, b.head}, byRow ? keys : p.headDim,
                               byRow ? p.headDim : keys));
  return combined(tiles, byRow ? 0 : 1);
}

// A page's values where its first key is `start`; rows that hold none are zero, since their weights
// of zero would keep a stale infinity.
static View valuesOfPage(const Attention &p, const AttentionViews &v, const Block &b,
                         const Scalar &page, const Scalar &start) {
  Scalar rows = max(convert(b.length, Index) - start, 0);
  return window(v.valueCache, {page, 0, 0, 0}, {1, p.kvHeads, rows, valueDimOf(p)});
}

// [keys of the step, valueDim]
static Tile stepOfValues(KernelBuilder &k, const Attention &p, const AttentionViews &v,
                         const Block &b, const Step &step, const std::vector<Scalar> &pages,
                         const Scalar &start) {
  const int64_t keys = std::min(step.keys, p.pageRows);
  std::vector<Tile> tiles;
  for (size_t at = 0; at < pages.size(); ++at) {
    Scalar first = at ? start + static_cast<int64_t>(at) * p.pageRows : start;
    tiles.push_back(step.seen
                        ? headOfPage(p, v.valueCache, {pages[at], b.head}, keys, valueDimOf(p))
                        : headOfPage(p, valuesOfPage(p, v, b, pages[at], first),
                                     {k.constant(Index, 0), b.head}, keys, valueDimOf(p)));
  }
  return combined(tiles, 0);
}

// Scores of a step's keys, minus infinity where a row does not attend.
static Tile stepScores(KernelBuilder &k, const Attention &p, const Queries &q, const Step &step,
                       const Tile &keys, const Scalar &start) {
  int64_t rows = rowsOf(p);
  Tile scores = dot(q.numbers, convert(keys, p.compute), k.zeros(F32, {rows, step.keys}),
                    /*transposeB=*/p.cache.isBlock());
  scores = p.scores(k, scores, {k.constant(Index, 0), start, rows, step.keys});
  if (step.seen && !q.slopes)
    return scores;
  Tile position = k.iota({1, step.keys}, 1) + convert(start, I32);
  if (q.slopes) {
    Tile distance = q.positions - position;
    scores = scores - convert(p.causal ? distance : abs(distance), F32) * *q.slopes;
  }
  if (step.seen)
    return scores;
  Tile seen = position < q.ends;
  if (p.window)
    seen = logicalAnd(seen, position > q.positions - windowBack(p));
  if (p.chunk)
    seen = logicalAnd(seen, position >= floorDiv(q.positions, p.chunk) * p.chunk);
  return select(seen, scores, -std::numeric_limits<double>::infinity());
}

// Of no keys. The maximum starts finite, so that rows that see none never subtract infinities.
static OnlineSoftmax emptySoftmax(KernelBuilder &k, const Attention &p) {
  int64_t rows = rowsOf(p);
  return {k.full(F32, {rows, 1}, std::numeric_limits<float>::lowest()), k.zeros(F32, {rows, 1}),
          k.zeros(F32, {rows, valueDimOf(p)})};
}

// A loop over positions [start, end) by `step` that carries the softmax state.
template <class Body>
static OnlineSoftmax softmaxLoop(KernelBuilder &k, const Scalar &start, const Scalar &end,
                                 int64_t step, const OnlineSoftmax &from, Body body) {
  auto [high, total, acc] = k.forLoop(start, end, step, std::tuple{from.high, from.total, from.acc},
                                      [&](Scalar at, Tile high, Tile total, Tile acc) {
                                        OnlineSoftmax next =
                                            body(at, OnlineSoftmax{high, total, acc});
                                        return std::tuple{next.high, next.total, next.acc};
                                      });
  return {high, total, acc};
}

static OnlineSoftmax softmaxOfStep(KernelBuilder &k, const Attention &p, const AttentionViews &v,
                                   const Block &b, const Queries &q, const Step &step,
                                   const Scalar &at, const OnlineSoftmax &softmax) {
  std::vector<Scalar> pages = stepPages(p, v, b, step, at);
  Tile keys = stepOfKeys(p, v, b, step, pages), values = stepOfValues(k, p, v, b, step, pages, at);
  Tile scores = stepScores(k, p, q, step, keys, at);
  Tile high = max(softmax.high, reduceMaxAnyNan(scores, 1));
  Tile weights = exp(scores - high), shrink = exp(softmax.high - high);
  values = convert(values, p.compute);
  return OnlineSoftmax{high, softmax.total * shrink + reduceSum(weights, 1),
                       dot(convert(weights, p.compute), values, softmax.acc * shrink)};
}

// The steps of [start, end); `start` is where one begins. Those that are seen whole, those of which
// more is left than a short one has, and a short one are loops of their own where a block has short
// steps.
static OnlineSoftmax softmaxOfKeys(KernelBuilder &k, const Attention &p, const AttentionViews &v,
                                   const Block &b, const Queries &q, const Scalar &start,
                                   const Scalar &end) {
  auto softmaxOf = [&](const Scalar &from, const Scalar &to, const Step &step,
                       const OnlineSoftmax &softmax) {
    return softmaxLoop(k, from, to, stepKeys(p), softmax, [&](Scalar at, OnlineSoftmax before) {
      return softmaxOfStep(k, p, v, b, q, step, at, before);
    });
  };
  const Step whole{stepKeys(p), false};
  if (!p.shortStep)
    return softmaxOf(start, end, whole, emptySoftmax(k, p));
  const int64_t keys = std::min(p.shortStep, p.pageRows);
  OnlineSoftmax softmax = emptySoftmax(k, p);
  Scalar from = start;
  if (looksBackLess(p)) {
    from = max(start, min(startOfSeen(p, v.rows, b), end));
    softmax = softmaxOf(start, from, whole, softmax);
  }
  Scalar seen = max(from, min(endOfSeen(p, v.rows, b), end));
  softmax = softmaxOf(from, seen, {stepKeys(p), true}, softmax);
  from = seen;
  Scalar last =
      from + floorDiv(max(end - from - keys, 0) + (stepKeys(p) - 1), stepKeys(p)) * stepKeys(p);
  return softmaxOf(last, end, {keys, false}, softmaxOf(from, last, whole, softmax));
}

static OnlineSoftmax combined(const OnlineSoftmax &a, const OnlineSoftmax &b) {
  Tile high = max(a.high, b.high);
  Tile ofA = exp(a.high - high), ofB = exp(b.high - high);
  return {high, a.total * ofA + b.total * ofB, a.acc * ofA + b.acc * ofB};
}

// The positions that rows of the query tile see of a partition that begins at `from`.
struct PartitionRange {
  Scalar start, end;
};

static PartitionRange rangeOf(KernelBuilder &k, const Attention &p, const RowViews &v,
                              const Block &b, const Scalar &from) {
  return {max(startOfKeys(k, p, v, b, stepKeys(p)), convert(from, I32)),
          min(endOfKeys(p, v, b), convert(from, I32) + partitionKeys(p))};
}

// Positions of a listed partition of a query tile whose keys end there.
static Scalar keysOfListed(KernelBuilder &k, const Attention &p, const Scalar &end) {
  Scalar least = k.constant(I32, partitionKeys(p));
  if (!p.mostPartitions || looksBackLess(p))
    return least;
  return max(ceilDiv(end, p.mostPartitions * stepKeys(p)) * stepKeys(p), least);
}

// The same of a listed partition.
static PartitionRange rangeOfListed(KernelBuilder &k, const Attention &p, const RowViews &v,
                                    const Block &b, const Scalar &from) {
  Scalar end = endOfKeys(p, v, b);
  return {max(startOfKeys(k, p, v, b, stepKeys(p)), convert(from, I32)),
          min(end, convert(from, I32) + keysOfListed(k, p, end))};
}

// With one more score a row, which has no value.
static OnlineSoftmax withSinks(const OnlineSoftmax &softmax, const Tile &sinks) {
  Tile high = max(softmax.high, sinks), shrink = exp(softmax.high - high);
  return {high, softmax.total * shrink + exp(sinks - high), softmax.acc * shrink};
}

namespace {
// What a program writes, and the sinks that come last.
struct Outcome {
  View out;
  std::optional<View> sinks;
  int64_t columns = 0; // of a value, from `column` on; 0: all
  Operand column = 0;
};
} // namespace

// A row that attends nothing gives zeros. Adding 0 takes the sign of a sum that is -0, as joining
// does.
static void storeResult(const Attention &p, const Block &b, const Outcome &to,
                        OnlineSoftmax softmax) {
  if (to.sinks)
    softmax = withSinks(softmax, numbersOfHeads(p, *to.sinks, b));
  const View &out = to.out;
  Tile result = (softmax.acc + 0) / select(softmax.total > 0, softmax.total, 1);
  if (p.joinHeads) {
    const int64_t columns = p.groupHeads * valueDimOf(p);
    View rows = window(out, {b.first, 0}, {b.rows, p.kvHeads * columns});
    return store(rows, {0, b.head * columns},
                 fromF32(reshape(result, {p.queryTile, columns}), p.out));
  }
  const int64_t columns = to.columns ? to.columns : valueDimOf(p);
  store(rowsOf(p, b, out, valueDimOf(p)), {0, b.head * p.groupHeads, to.column},
        fromF32(reshape(result, {p.queryTile, p.groupHeads, columns}), p.out));
}

void attention(KernelBuilder &k, const Attention &p) {
  AttentionViews v = declareViews(k, p);
  Outcome out{declareOut(k, p), {}};
  Scalar scale = k.scalar("scale", F32);
  if (p.slopes)
    v.slopes = declareHeads(k, p, "slopes");
  if (p.sinks)
    out.sinks = declareHeads(k, p, "sinks");
  p.scores.open(k);
  k.grid(v.rows.blocks.dim(0), p.kvHeads);
  Block b = loadBlock(k, v.rows);
  Queries q = loadQueries(k, p, v, b, scale);
  Scalar start = startOfKeys(k, p, v.rows, b, p.partitionSteps ? partitionKeys(p) : stepKeys(p)),
         end = endOfKeys(p, v.rows, b);
  if (!p.partitionSteps)
    return storeResult(p, b, out, softmaxOfKeys(k, p, v, b, q, start, end));
  auto softmaxOfPartition = [&](const Scalar &from) {
    PartitionRange partition = rangeOf(k, p, v.rows, b, from);
    return softmaxOfKeys(k, p, v, b, q, partition.start, partition.end);
  };
  auto combine = [&](Scalar from, const OnlineSoftmax &softmax) {
    return combined(softmax, softmaxOfPartition(from));
  };
  // Combining the first partition with an empty state would change no bit but the sign of zeros.
  OnlineSoftmax first = softmaxOfPartition(start);
  storeResult(p, b, out,
              softmaxLoop(k, start + partitionKeys(p), end, partitionKeys(p), first, combine));
}

static PartitionViews declarePartitions(KernelBuilder &k, const Attention &p,
                                        PartitionLayout layout, bool stored) {
  auto declare = [&](const char *name, std::initializer_list<int64_t> shape) {
    return stored ? k.out(name, F32, shape) : k.in(name, F32, shape);
  };
  PartitionViews s;
  if (layout == PartitionLayout::Listed) {
    s.acc = declare("acc", {dyn, headsOf(p), valueDimOf(p)});
    s.high = declare("high", {dyn, headsOf(p)});
    s.total = declare("total", {dyn, headsOf(p)});
    return s;
  }
  s.acc = declare("acc", {dyn, headsOf(p), dyn, valueDimOf(p)});
  s.high = declare("high", {dyn, headsOf(p), dyn});
  s.total = declare("total", {dyn, headsOf(p), dyn});
  return s;
}

// The states of the first `rows` rows of the query tile, of so many partitions.
static PartitionViews rowsOf(const Attention &p, const Block &b, const Scalar &rows,
                             const Scalar &partitions, const PartitionViews &s) {
  return {window(s.acc, {b.first, 0, 0, 0}, {rows, headsOf(p), partitions, valueDimOf(p)}),
          window(s.high, {b.first, 0, 0}, {rows, headsOf(p), partitions}),
          window(s.total, {b.first, 0, 0}, {rows, headsOf(p), partitions})};
}

// So many slots from `first` on.
static PartitionViews slotsFrom(const Attention &p, const Scalar &first, const Scalar &count,
                                const PartitionViews &s) {
  return {window(s.acc, {first, 0, 0}, {count, headsOf(p), valueDimOf(p)}),
          window(s.high, {first, 0}, {count, headsOf(p)}),
          window(s.total, {first, 0}, {count, headsOf(p)})};
}

static void storeByToken(const Attention &p, const Block &b, const Scalar &rows,
                         const Scalar &partition, const OnlineSoftmax &softmax,
                         const PartitionViews &partitions) {
  PartitionViews to = rowsOf(p, b, rows, partitions.high.dim(2), partitions);
  Scalar head = b.head * p.groupHeads;
  store(to.acc, {0, head, partition, 0},
        reshape(softmax.acc, {p.queryTile, p.groupHeads, 1, valueDimOf(p)}));
  store(to.high, {0, head, partition}, reshape(softmax.high, {p.queryTile, p.groupHeads, 1}));
  store(to.total, {0, head, partition}, reshape(softmax.total, {p.queryTile, p.groupHeads, 1}));
}

static void storeInSlots(const Attention &p, const Block &b, const Scalar &rows, const Scalar &slot,
                         const OnlineSoftmax &softmax, const PartitionViews &partitions) {
  PartitionViews to = slotsFrom(p, slot, rows, partitions);
  Scalar head = b.head * p.groupHeads;
  store(to.acc, {0, head, 0}, reshape(softmax.acc, {p.queryTile, p.groupHeads, valueDimOf(p)}));
  store(to.high, {0, head}, reshape(softmax.high, {p.queryTile, p.groupHeads}));
  store(to.total, {0, head}, reshape(softmax.total, {p.queryTile, p.groupHeads}));
}

static void partitionsBy(KernelBuilder &k, const Attention &p, PartitionLayout layout) {
  const bool listed = layout == PartitionLayout::Listed;
  AttentionViews v = declareViews(k, p, layout);
  PartitionViews partitions = declarePartitions(k, p, layout, /*stored=*/true);
  Scalar scale = k.scalar("scale", F32);
  if (p.slopes)
    v.slopes = declareHeads(k, p, "slopes");
  p.scores.open(k);
  // Partitions come first: a core goes from one to the next, whose pages it has asked for already.
  if (listed)
    k.grid(v.rows.blocks.dim(0), p.kvHeads);
  else
    k.grid(partitions.high.dim(2), p.kvHeads, v.rows.blocks.dim(0));
  Block b = loadBlock(k, v.rows, /*axis=*/listed ? 0 : 2);
  Scalar id = k.programId(0);
  Scalar from = listed ? loadScalar(v.rows.blocks, {id, kPositionColumn}) : id * partitionKeys(p);
  PartitionRange range =
      listed ? rangeOfListed(k, p, v.rows, b, from) : rangeOf(k, p, v.rows, b, from);
  Queries q = loadQueries(k, p, v, b, scale);
  OnlineSoftmax softmax = softmaxOfKeys(k, p, v, b, q, range.start, range.end);
  // Nobody reads the state of a partition without keys.
  Scalar rows = select(range.start < range.end, b.rows, 0);
  if (!listed)
    return storeByToken(p, b, rows, id, softmax, partitions);
  Scalar slot = convert(loadScalar(v.rows.blocks, {id, kSlotColumn}), Index);
  storeInSlots(p, b, rows, slot, softmax, partitions);
}

void attentionPartitions(KernelBuilder &k, const Attention &p) {
  partitionsBy(k, p, PartitionLayout::ByToken);
}

void attentionPartitionsRagged(KernelBuilder &k, const Attention &p) {
  partitionsBy(k, p, PartitionLayout::Listed);
}

namespace {
// A query tile's partitions as attentionCombine walks them.
struct Combined {
  PartitionLayout layout;
  PartitionViews states; // of its rows; listed: its slots from that of `start` on
  Scalar held;           // one past its last partition, counted as `states` are
  Scalar head, rows;
  Operand column; // the first of this program's columns of a value
};
} // namespace

// The state of one partition; of a row's keys in this program's heads. `p` has the program's
// columns alone.
static OnlineSoftmax stateOfPartition(const Attention &p, const Combined &c,
                                      const Scalar &partition) {
  const int64_t rows = rowsOf(p);
  const PartitionViews &from = c.states;
  Tile high = load(from.high, {0, c.head, partition}, {p.queryTile, p.groupHeads, 1}),
       total = load(from.total, {0, c.head, partition}, {p.queryTile, p.groupHeads, 1}),
       acc = load(from.acc, {0, c.head, partition, c.column},
                  {p.queryTile, p.groupHeads, 1, valueDimOf(p)});
  return {reshape(high, {rows, 1}), reshape(total, {rows, 1}), reshape(acc, {rows, valueDimOf(p)})};
}

// The same of the partition that is so many after the first. In place of rows that its query tile
// lacks stand those of the next partition, which are not stored.
static OnlineSoftmax stateInSlots(const Attention &p, const Combined &c, const Scalar &partition) {
  const int64_t rows = rowsOf(p);
  const PartitionViews &from = c.states;
  Scalar slot = p.queryTile == 1 ? partition : partition * c.rows;
  Tile high = load(from.high, {slot, c.head}, {p.queryTile, p.groupHeads}),
       total = load(from.total, {slot, c.head}, {p.queryTile, p.groupHeads}),
       acc = load(from.acc, {slot, c.head, c.column}, {p.queryTile, p.groupHeads, valueDimOf(p)});
  return {reshape(high, {rows, 1}), reshape(total, {rows, 1}), reshape(acc, {rows, valueDimOf(p)})};
}

// Partitions that a program reads before it combines any: of a single row of one head.
static int64_t readTogether(const Attention &p) {
  return rowsOf(p) == 1 ? p.combinePartitions : 1;
}

// The state of all keys of the partitions from `first` on that are read together. Those that are
// not held are of no keys, and add exact zeros.
static OnlineSoftmax stateOfSeveral(KernelBuilder &k, const Attention &p, const Combined &c,
                                    const Scalar &first) {
  const int64_t count = readTogether(p);
  const bool listed = c.layout == PartitionLayout::Listed;
  auto read = [&](const View &view, int64_t columns, std::initializer_list<Operand> column) {
    std::vector<Operand> at =
        listed ? std::vector<Operand>{first, c.head} : std::vector<Operand>{0, c.head, first};
    std::vector<int64_t> shape =
        listed ? std::vector<int64_t>{count, 1} : std::vector<int64_t>{1, 1, count};
    at.insert(at.end(), column);
    shape.insert(shape.end(), column.size(), columns);
    return reshape(load(view, at, shape), {count, columns});
  };
  // All of it is asked for before any is waited for.
  Tile highs = read(c.states.high, 1, {}), totals = read(c.states.total, 1, {}),
       accs = read(c.states.acc, valueDimOf(p), {c.column});
  Tile held = k.iota({count, 1}, 0) + convert(first, I32) < c.held;
  highs = select(held, highs, std::numeric_limits<float>::lowest());
  Tile high = reduceMaxAnyNan(highs, 0), weights = exp(highs - high);
  return {high, reduceSum(totals * weights, 0), reduceSum(accs * weights, 0)};
}

// The state of the partition `first`, or of the several from there on.
static OnlineSoftmax stateFrom(KernelBuilder &k, const Attention &p, const Combined &c,
                               const Scalar &first) {
  if (readTogether(p) > 1)
    return stateOfSeveral(k, p, c, first);
  return c.layout == PartitionLayout::Listed ? stateInSlots(p, c, first)
                                             : stateOfPartition(p, c, first);
}

// The slots of the query tile's partitions in [start, end): the states, and how many are held.
static void takeSlots(KernelBuilder &k, const Attention &p, const Block &b, const View &list,
                      const PartitionRange &keys, const PartitionViews &partitions, Combined &c) {
  Scalar base = loadScalar(list, {k.programId(0), kBaseColumn});
  Scalar each = keysOfListed(k, p, keys.end), first = floorDiv(keys.start, each);
  c.held = ceilDiv(keys.end, each) - first;
  Scalar slot = max(convert(base, Index) + convert(first, Index) * b.rows, 0);
  c.states = slotsFrom(p, slot, convert(c.held, Index) * b.rows, partitions);
}

// The same of partitions by token.
static void takeByToken(const Attention &p, const Block &b, const PartitionRange &keys,
                        const PartitionViews &partitions, Combined &c) {
  Scalar held = partitions.high.dim(2);
  if (readTogether(p) > 1) { // what follows is not written
    c.held = floorDiv(keys.end + (partitionKeys(p) - 1), partitionKeys(p));
    held = convert(c.held, Index);
  }
  c.states = rowsOf(p, b, b.rows, held, partitions);
}

static void combineBy(KernelBuilder &k, const Attention &p, PartitionLayout layout) {
  const bool listed = layout == PartitionLayout::Listed;
  PartitionViews partitions = declarePartitions(k, p, layout, /*stored=*/false);
  RowViews v = declareRows(k);
  std::optional<View> list = listed ? std::optional(declareList(k)) : std::nullopt;
  Outcome out{declareOut(k, p), {}};
  if (p.sinks)
    out.sinks = declareHeads(k, p, "sinks");
  Attention part = p; // the program's columns
  part.valueDim = p.combineColumns ? p.combineColumns : valueDimOf(p);
  const bool whole = part.valueDim == valueDimOf(p);
  if (whole)
    k.grid(v.blocks.dim(0), p.kvHeads);
  else
    k.grid(v.blocks.dim(0), p.kvHeads, (valueDimOf(p) + part.valueDim - 1) / part.valueDim);
  out.columns = part.valueDim;
  if (!whole)
    out.column = k.programId(2) * part.valueDim;
  Block b = loadBlock(k, v);
  PartitionRange keys{startOfKeys(k, p, v, b, partitionKeys(p)), endOfKeys(p, v, b)};
  Combined c{layout, {}, {}, b.head, b.rows, out.column};
  if (listed)
    takeSlots(k, p, b, *list, keys, partitions, c);
  else
    takeByToken(p, b, keys, partitions, c);
  auto combine = [&](const Scalar &first, const OnlineSoftmax &softmax) {
    c.head = b.head * p.groupHeads;
    return combined(softmax, stateFrom(k, part, c, first));
  };
  const OnlineSoftmax none = emptySoftmax(k, part);
  const int64_t together = readTogether(p);
  if (listed)
    return storeResult(p, b, out,
                       softmaxLoop(k, k.constant(I32, 0), c.held, together, none, combine));
  storeResult(p, b, out,
              softmaxLoop(k, keys.start, keys.end, together * partitionKeys(p), none,
                          [&](Scalar at, const OnlineSoftmax &softmax) {
                            return combine(floorDiv(at, partitionKeys(p)), softmax);
                          }));
}

void attentionCombine(KernelBuilder &k, const Attention &p) {
  combineBy(k, p, PartitionLayout::ByToken);
}

void attentionCombineRagged(KernelBuilder &k, const Attention &p) {
  combineBy(k, p, PartitionLayout::Listed);
}

Slot softCapSlot() {
  auto cap = std::make_shared<Scalar>();
  Slot slot;
  slot.declare = [cap](KernelBuilder &k) { *cap = k.scalar("soft_cap", F32); };
  slot.apply = [cap](KernelBuilder &, const Tile &scores, const TilePlace &) {
    return tanh(scores / *cap) * *cap;
  };
  return slot;
}

void visitFields(Attention &p, FieldVisitor &visitor) {
  visitor.format("in", p.in, "element type of q");
  visitor.format("cache", p.cache, "element type of the KV cache");
  visitor.format("out", p.out, "element type of out");
  visitor.format("compute", p.compute, "element type of the matmuls' operands");
  visitor.integer("kv_heads", p.kvHeads, 1, kMaxBlock, "heads of keys and values");
  visitor.integer("group_heads", p.groupHeads, 1, kMaxBlock, "query heads of one of them");
  visitor.integer("head_dim", p.headDim, 1, kMaxBlock, "elements of a head");
  visitor.integer("page_rows", p.pageRows, 1, kMaxBlock, "positions of a page");
  visitor.integer("step_pages", p.stepPages, 1, kMaxStepPages, "pages that a step takes");
  visitor.integer("short_step", p.shortStep, 0, kMaxBlock, "keys of a last step; 0: a step's");
  visitor.integer("partition_steps", p.partitionSteps, 0, kMaxBlock,
                  "steps of a split-KV partition; 0: all, or one");
  visitor.integer(
      "most_partitions", p.mostPartitions, 0, kMaxBlock,
      "partitions of a sequence in ragged batches, which are longer then; 0: any number");
  visitor.integer("combine_partitions", p.combinePartitions, 1, kMaxCombined,
                  "partitions that attention_combine reads together");
  visitor.integer("combine_columns", p.combineColumns, 0, kMaxBlock,
                  "columns of a value that a program of attention_combine has; 0: all");
  visitor.integer("query_tile", p.queryTile, 1, kMaxBlock, "rows of q of one program");
  visitor.integer("window", p.window, 0, INT32_MAX, "positions a row looks back; 0: all");
  visitor.integer("chunk", p.chunk, 0, INT32_MAX,
                  "rows attend from a multiple of it on; 0: from the first position");
  visitor.integer("value_dim", p.valueDim, 0, kMaxBlock, "elements of a value; 0: of a head");
  visitor.flag("slopes", p.slopes, "scores lose a head's slope for each position between");
  visitor.flag("sinks", p.sinks, "each head has one more score, which has no value");
  visitor.flag("causal", p.causal, "rows attend no later positions");
  visitor.flag("join_heads", p.joinHeads, "out has two axes, a token's heads in one");
}

} // namespace sinter::kernels
