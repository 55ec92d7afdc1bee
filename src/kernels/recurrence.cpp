// Causal convolution and the gated delta rule in the tile language. The state of a sequence stays
// in tiles from its first row to its last one.
#include "kernels/recurrence.h"

namespace sinter::kernels {

using namespace kernel;

static constexpr int64_t kLanes = 32; // tiles along a head have whole multiples

namespace {

// The rows of the program's sequence, and its slots.
struct SequenceSpan {
  Scalar from, to, first, end;

  SequenceSpan(const View &spans, const Scalar &sequence)
      : from(column(spans, sequence, 0)), to(column(spans, sequence, 1)),
        first(column(spans, sequence, 2)), end(first + column(spans, sequence, 3)) {}

private:
  static Scalar column(const View &spans, const Scalar &sequence, int64_t number) {
    return convert(loadScalar(spans, {sequence, number}), Index);
  }
};

} // namespace

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
      span.first, span.end, 1, held, [&](const Scalar &row, std::span<const Value> before) {
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
  const int64_t blocks = (p.valueDim + p.blockColumns - 1) / p.blockColumns;
  const int64_t wide = (p.keyDim + kLanes - 1) / kLanes * kLanes;
  k.grid(p.heads * blocks, spans.dim(0));
  const SequenceSpan span(spans, k.programId(1));
  Scalar head = k.programId(0) / blocks, column = k.programId(0) % blocks * p.blockColumns;
  Scalar keyHead = p.neighbours ? head / (p.heads / p.keyHeads) : head % p.keyHeads;
  const auto alongKey = [&](const View &view, const Scalar &row) {
    return reshape(load(view, {row, keyHead, 0, 0}, {1, 1, wide, 1}), {wide, 1});
  };
  const auto ofHead = [&](const View &view, const Scalar &row) {
    return load(view, {row, head}, {1, 1});
  };
  Tile before = reshape(load(state, {span.from, head, 0, column}, {1, 1, wide, p.blockColumns}),
                        {wide, p.blockColumns});
  Tile after = k.forLoop(span.first, span.end, 1, before, [&](Scalar row, Tile matrix) {
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

} // namespace sinter::kernels
