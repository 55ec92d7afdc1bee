// Causal convolution and the gated delta rule in the tile language. The state of a sequence stays
// in tiles from its first row to its last one.
#include "kernels/recurrence.h"

namespace sinter::kernels {

using namespace kernel;

static constexpr int64_t kLanes = 32; // tiles along a head have whole multiples

namespace {

// The rows of the program's sequence, and its slots.
struct SequenceSpan {
  Scalar from, to, first, count;

  SequenceSpan(const View &spans, const Scalar &sequence)
      : from(column(spans, sequence, 0)), to(column(spans, sequence, 1)),
        first(column(spans, sequence, 2)), count(column(spans, sequence, 3)) {}

  Scalar end() const { return first + count; }

private:
  static Scalar column(const View &spans, const Scalar &sequence, int64_t number) {
    return convert(loadScalar(spans, {sequence, number}), Index);
  }
};

// Where a program's part of a matrix lies.
struct MatrixPart {
  Scalar head, keyHead, column;

  MatrixPart(KernelBuilder &k, const DeltaRule &p) {
    const int64_t blocks = blocksOf(p);
    head = k.programId(0) / blocks;
    column = k.programId(0) % blocks * p.blockColumns;
    keyHead = p.neighbours ? head / (p.heads / p.keyHeads) : head % p.keyHeads;
  }
  // Of one head.
  static int64_t blocksOf(const DeltaRule &p) {
    return (p.valueDim + p.blockColumns - 1) / p.blockColumns;
  }
};

} // namespace

static int64_t wideOf(const DeltaRule &p) {
  return (p.keyDim + kLanes - 1) / kLanes * kLanes;
}

void causalConv(KernelBuilder &k, const CausalConv &p) {
  View rows = k.in("rows", F32, {dyn, p.columns});
  View weight = k.in("weight", F32, {p.width, p.columns}, {.strided = true, .constant = true});
  View spans = k.in("spans", I32, {dyn, 4});
  View state = k.inout("state", F32, {dyn, p.width - 1, p.columns});
  View out = k.out("out", F32, {dyn, p.columns});
  k.grid(ceilDiv(out.dim(1), p.blockColumns), spans.dim(0));
  const SequenceSpan span(spans, k.programId(1));
  Scalar column = k.programId(0) * p.blockColumns;
  const auto at = static_cast<size_t>(p.width - 1);
  std::vector<Tile> taps;
  std::vector<Value> held;
  for (int64_t j = 0; j < p.width; ++j)
    taps.push_back(load(weight, {j, column}, {1, p.blockColumns}));
  for (int64_t j = 0; j + 1 < p.width; ++j)
    held.push_back(
        reshape(load(state, {span.from, j, column}, {1, 1, p.blockColumns}), {1, p.blockColumns}));
  const std::vector<Value> last = k.forLoop(
      span.first, span.end(), 1, held, [&](const Scalar &row, std::span<const Value> before) {
        Tile now = load(rows, {row, column}, {1, p.blockColumns});
        Tile sum = Tile(before[0]) * taps[0];
        for (size_t j = 1; j < at; ++j)
          sum = sum + Tile(before[j]) * taps[j];
        store(out, {row, column}, sum + now * taps[at]);
        std::vector<Value> next(before.begin() + 1, before.end());
        next.push_back(now);
        return next;
      });
  for (int64_t j = 0; j + 1 < p.width; ++j)
    store(state, {span.to, j, column},
          reshape(Tile(last[static_cast<size_t>(j)]), {1, 1, p.blockColumns}));
}

void deltaRule(KernelBuilder &k, const DeltaRule &p) {
  View query = k.in("query", F32, {dyn, p.keyHeads, p.keyDim, 1});
  View key = k.in("key", F32, {dyn, p.keyHeads, p.keyDim, 1});
  View value = k.in("value", F32, {dyn, p.heads, p.valueDim});
  View decay = k.in("decay", F32, {dyn, p.heads}), beta = k.in("beta", F32, {dyn, p.heads});
  View spans = k.in("spans", I32, {dyn, 4});
  View state = k.inout("state", F32, {dyn, p.heads, p.keyDim, p.valueDim});
  View out = k.out("out", F32, {dyn, p.heads, p.valueDim});
  Scalar scale = k.scalar("scale", F32);
  const int64_t wide = wideOf(p);
  k.grid(p.heads * MatrixPart::blocksOf(p), spans.dim(0));
  const SequenceSpan span(spans, k.programId(1));
  const auto [head, keyHead, column] = MatrixPart(k, p);
  const auto alongKey = [&](const View &view, const Scalar &row) {
    return reshape(load(view, {row, keyHead, 0, 0}, {1, 1, wide, 1}), {wide, 1});
  };
  const auto ofHead = [&](const View &view, const Scalar &row) {
    return load(view, {row, head}, {1, 1});
  };
  Tile before = reshape(load(state, {span.from, head, 0, column}, {1, 1, wide, p.blockColumns}),
                        {wide, p.blockColumns});
  Tile after = k.forLoop(span.first, span.end(), 1, before, [&](Scalar row, Tile matrix) {
    Tile keys = alongKey(key, row);
    Tile decayed = matrix * exp(ofHead(decay, row));
    Tile values =
        reshape(load(value, {row, head, column}, {1, 1, p.blockColumns}), {1, p.blockColumns});
    Tile change = (values - reduceSum(decayed * keys, 0)) * ofHead(beta, row);
    Tile next = decayed + keys * change;
    Tile result = reduceSum(next * alongKey(query, row), 0) * scale;
    store(out, {row, head, column}, reshape(result, {1, 1, p.blockColumns}));
    return next;
  });
  store(state, {span.to, head, 0, column}, reshape(after, {1, 1, wide, p.blockColumns}));
}

namespace {

// What deltaRuleChunks reads of a sequence's rows: rows that it does not have are zeros, which
// leave a matrix as it is.
struct ChunkViews {
  View query, key, value, decay, beta, out;

  ChunkViews(KernelBuilder &k, const DeltaRule &p)
      : query(k.in("query", F32, {dyn, p.keyHeads, p.keyDim})),
        key(k.in("key", F32, {dyn, p.keyHeads, p.keyDim})),
        value(k.in("value", F32, {dyn, p.heads, p.valueDim})),
        decay(k.in("decay", F32, {dyn, p.heads})), beta(k.in("beta", F32, {dyn, p.heads})) {}

  void clip(const DeltaRule &p, const SequenceSpan &span) {
    for (View *heads : {&query, &key})
      *heads = window(*heads, {span.first, 0, 0}, {span.count, p.keyHeads, p.keyDim});
    for (View *heads : {&value, &out})
      *heads = window(*heads, {span.first, 0, 0}, {span.count, p.heads, p.valueDim});
    for (View *numbers : {&decay, &beta})
      *numbers = window(*numbers, {span.first, 0}, {span.count, p.heads});
  }
};

// A chunk's numbers of rows by numbers of columns, [C, C].
class ChunkSquare {
public:
  ChunkSquare(KernelBuilder &k, int64_t rows)
      : k_(k), size_(rows), row_(k.iota({rows, rows}, 0)), column_(k.iota({rows, rows}, 1)) {}

  Tile upTo(const Tile &tile) const { return select(column_ <= row_, spread(tile), 0.0); }
  Tile below(const Tile &tile) const { return select(column_ < row_, spread(tile), 0.0); }
  Tile above(const Tile &tile) const { return select(column_ > row_, spread(tile), 0.0); }
  Tile ones() const { return k_.full(F32, {size_, size_}, 1.0); }
  Tile zeros() const { return k_.zeros(F32, {size_, size_}); }

  // (I + lower)^-1 of a strictly lower triangle, by inverses of twice as many rows each time: that
  // of two blocks and what is below the first is theirs, and what is below becomes
  // -second lower first.
  Tile inverse(const Tile &lower) const {
    Tile result = select(column_ == row_, ones(), 0.0);
    for (int64_t half = 1; half < size_; half *= 2) {
      Tile between = select(
          logicalAnd((row_ ^ column_) < 2 * half, (row_ & half) > (column_ & half)), lower, 0.0);
      result = half == 1 ? result - between : dot(result, -dot(between, result, zeros()), result);
    }
    return result;
  }

private:
  Tile spread(const Tile &tile) const { return broadcast(tile, {size_, size_}); }

  KernelBuilder &k_;
  int64_t size_;
  Tile row_, column_;
};

// What a chunk's rows keep of what was there before, as products of their decays.
struct ChunkDecays {
  Tile since; // [C, C]: to each row from each one up to it
  Tile first; // [C, 1]: to each row from before the first
  Tile last;  // [C, 1]: from each row to the last
  Tile whole; // [1, 1]

  // Sums of logarithms over the rows between, as differences of sums over all rows before would
  // lose weak decays beside strong ones. A decay of e^-10000 is 0, and no infinity meets a 0.
  ChunkDecays(const ChunkSquare &square, const Tile &logarithms, int64_t rows) {
    Tile down = max(logarithms, -1e4), along = reshape(down, {1, rows});
    since = square.upTo(exp(dot(square.upTo(square.ones()), square.below(down), square.zeros())));
    first = exp(reduceSum(square.upTo(along), 1));
    last = exp(reduceSum(square.above(along), 1));
    whole = exp(reduceSum(along, 1));
  }
};

} // namespace

void deltaRuleChunks(KernelBuilder &k, const DeltaRuleChunks &chunks) {
  const DeltaRule &p = chunks.rule;
  const int64_t rows = chunks.chunkRows, columns = p.blockColumns, wide = wideOf(p);
  ChunkViews views(k, p);
  View spans = k.in("spans", I32, {dyn, 4});
  View state = k.inout("state", F32, {dyn, p.heads, p.keyDim, p.valueDim});
  views.out = k.out("out", F32, {dyn, p.heads, p.valueDim});
  Scalar scale = k.scalar("scale", F32);
  k.grid(p.heads * MatrixPart::blocksOf(p), spans.dim(0));
  const SequenceSpan span(spans, k.programId(1));
  const MatrixPart part(k, p);
  views.clip(p, span);
  const ChunkSquare square(k, rows);
  Tile before = reshape(load(state, {span.from, part.head, 0, part.column}, {1, 1, wide, columns}),
                        {wide, columns});
  Tile after = k.forLoop(0, span.count, rows, before, [&](Scalar at, Tile matrix) {
    const auto ofKeyHead = [&](const View &view) {
      return reshape(load(view, {at, part.keyHead, 0}, {rows, 1, wide}), {rows, wide});
    };
    Tile keys = ofKeyHead(views.key);
    Tile values = reshape(load(views.value, {at, part.head, part.column}, {rows, 1, columns}),
                          {rows, columns});
    Tile beta = load(views.beta, {at, part.head}, {rows, 1});
    const ChunkDecays decays(square, load(views.decay, {at, part.head}, {rows, 1}), rows);
    // Of keys, then of queries: what they see of one another and of the matrix.
    Tile both = concat({keys, ofKeyHead(views.query)}, 0);
    Tile scores = dot(both, keys, k.zeros(F32, {2 * rows, rows}), true);
    Tile seen = dot(both, matrix, k.zeros(F32, {2 * rows, columns}));
    Tile lower = square.below(slice(scores, {0, 0}, {rows, rows}) * decays.since * beta);
    Tile wanted = (values - slice(seen, {0, 0}, {rows, columns}) * decays.first) * beta;
    Tile changes = dot(square.inverse(lower), wanted, k.zeros(F32, {rows, columns}));
    Tile result = dot(slice(scores, {rows, 0}, {rows, rows}) * decays.since, changes,
                      slice(seen, {rows, 0}, {rows, columns}) * decays.first);
    store(views.out, {at, part.head, part.column}, reshape(result * scale, {rows, 1, columns}));
    return dot(permute(keys * decays.last, {1, 0}), changes, matrix * decays.whole);
  });
  store(state, {span.to, part.head, 0, part.column}, reshape(after, {1, 1, wide, columns}));
}

void visitFields(CausalConv &p, FieldVisitor &visitor) {
  visitor.extent("columns", p.columns, "C where it is static");
  visitor.integer("width", p.width, 2, 64, "rows that a sum is of");
  visitor.integer("block_columns", p.blockColumns, 1, kMaxBlock, "columns of one program");
}

void visitFields(DeltaRule &p, FieldVisitor &visitor) {
  visitor.integer("key_heads", p.keyHeads, 1, kMaxBlock, "heads of queries and keys");
  visitor.integer("heads", p.heads, 1, kMaxBlock, "heads of values");
  visitor.integer("key_dim", p.keyDim, 1, 512, "elements of a key");
  visitor.integer("value_dim", p.valueDim, 1, kMaxBlock, "elements of a value");
  visitor.integer("block_columns", p.blockColumns, 1, 512, "elements of a value in one program");
  visitor.flag("neighbours", p.neighbours, "heads that share a key head lie side by side");
}

void visitFields(DeltaRuleChunks &p, FieldVisitor &visitor) {
  visitFields(p.rule, visitor);
  visitor.integer("chunk_rows", p.chunkRows, 2, 128, "rows that are taken at once");
}

} // namespace sinter::kernels
