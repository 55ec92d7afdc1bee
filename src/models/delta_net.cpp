// Layers of linear attention by the gated delta rule (Yang et al., 2412.06464).
#include "tile/mlir_pch.h"

#include "models/decoder_layer.h"
#include "models/tensor_names.h"

#include <cmath>
#include <numeric>

using namespace mlir;

namespace sinter::models {

// Heads [tokens, heads, size], and numbers of heads [tokens, heads].
struct LayerBuilder::DeltaInputs {
  Value query, key, value, decay, beta;
  Value gate; // rows of those that are wanted
};

// Rows of the parts of each key head's columns, of so many columns each.
SmallVector<Value> LayerBuilder::partsOfKeyHeads(Value rows, ArrayRef<int64_t> sizes) {
  const int64_t heads = f_.recurrent.keyHeads;
  Value whole = g_.asHeads(rows, heads, std::accumulate(sizes.begin(), sizes.end(), int64_t(0)));
  const graph::Extent count = graph::symbolOf(cast<RankedTensorType>(rows.getType()), 0);
  SmallVector<Value> parts;
  int64_t first = 0;
  for (int64_t size : sizes) {
    auto type = graph::tensorOf({count, heads, size}, g_.b.getF32Type());
    parts.push_back(g_.asRows(graph::SliceOp::create(
        g_.b, g_.loc, type, whole, ArrayRef<int64_t>{0, 0, first}, DenseI64ArrayAttr())));
    first += size;
  }
  return parts;
}

// What is convolved, then the gate. Older files have one matrix of both, by key head.
Result<std::pair<Value, Value>> LayerBuilder::deltaRows(Value n, Value attending) {
  const RecurrentFeatures &r = f_.recurrent;
  const int64_t keys = r.keyHeads * r.keyDim, values = r.valueHeads * r.valueDim;
  if (!family_.jointDelta || g_.has(name(kQkv) + ".weight")) {
    for (const char *kind : {".weight", ".scale"})
      g_.leaveOut(name(kDeltaIn) + kind);
    SINTER_ASSIGN(Value rows, g_.linear(n, name(kQkv), 2 * keys + values, family_));
    SINTER_ASSIGN(Value gate, g_.linear(attending, name(kAttentionGate), values, family_));
    return std::pair(rows, gate);
  }
  const int64_t shared = values / r.keyHeads;
  SINTER_ASSIGN(Value all, g_.linear(n, name(kDeltaIn), 2 * keys + 2 * values, family_));
  SmallVector<Value> parts = partsOfKeyHeads(all, {r.keyDim, r.keyDim, shared, shared});
  Value rows = graph::ConcatOp::create(g_.b, g_.loc, g_.rowsLike(n, 2 * keys + values),
                                       ValueRange(ArrayRef<Value>(parts).drop_back()), 1);
  return std::pair(rows, wantedOnly(parts.back()));
}

Result<LayerBuilder::DeltaInputs> LayerBuilder::deltaInputs(Value n, Value attending) {
  const RecurrentFeatures &r = f_.recurrent;
  const int64_t keys = r.keyHeads * r.keyDim, values = r.valueHeads * r.valueDim;
  SINTER_ASSIGN(const auto projected, deltaRows(n, attending));
  const auto &[rows, gate] = projected;
  Value beta, alpha;
  if (family_.jointDelta) {
    const int64_t shared = r.valueHeads / r.keyHeads;
    SINTER_ASSIGN(Value both, g_.linear(n, name(kDeltaBetaAlpha), 2 * r.valueHeads, family_));
    SmallVector<Value> parts = partsOfKeyHeads(both, {shared, shared});
    beta = parts[0];
    alpha = parts[1];
  } else {
    SINTER_ASSIGN(beta, g_.linear(n, name(kDeltaBeta), r.valueHeads, family_));
    SINTER_ASSIGN(alpha, g_.linear(n, name(kDeltaAlpha), r.valueHeads, family_));
  }
  SINTER_ASSIGN(Value step, g_.weight(name(kDeltaStep), {r.valueHeads}));
  SINTER_ASSIGN(Value rate, g_.weight(name(kDeltaRate), {r.valueHeads}));
  SINTER_ASSIGN(Value mixed, causalConv(rows, kDeltaConv));
  mixed = g_.map({mixed}, [](ScalarBuilder &s, ValueRange v) { return s.silu(v[0]); });
  // Over the root of the sum of squares, which is that of the mean over the root of their number.
  const auto size = static_cast<float>(r.keyDim);
  const auto normed = [&](int64_t first) {
    Value heads = g_.asHeads(g_.columns(mixed, first, keys), r.keyHeads, r.keyDim);
    return g_.norm(heads, NormKind::Rms, {}, {}, f_.normEps / size);
  };
  DeltaInputs in;
  in.gate = gate;
  in.query = normed(0);
  in.key =
      g_.asHeads(g_.scaled(g_.asRows(normed(keys)), 1 / std::sqrt(size)), r.keyHeads, r.keyDim);
  in.value = g_.asHeads(g_.columns(mixed, 2 * keys, values), r.valueHeads, r.valueDim);
  in.beta = g_.map({beta}, [](ScalarBuilder &s, ValueRange v) { return s.sigmoid(v[0]); });
  in.decay = g_.map({alpha, step, rate}, [](ScalarBuilder &s, ValueRange v) {
    return s.mul(s.softplus(s.add(v[0], v[1])), v[2]);
  });
  return in;
}

Result<Value> LayerBuilder::deltaNet(Value n, Value attending) {
  const RecurrentFeatures &r = f_.recurrent;
  SINTER_ASSIGN(const DeltaInputs in, deltaInputs(n, attending));
  Value before = state("matrices", {r.valueHeads, r.keyDim, r.valueDim});
  // Queries lack their norm's 1 / sqrt(size), and scores are over that too.
  const float scale = 1 / static_cast<float>(r.keyDim);
  Value heads = graph::DeltaRuleOp::create(
                    g_.b, g_.loc, in.value.getType(), before.getType(), in.query, in.key, in.value,
                    in.decay, in.beta, at_.stateSpans, before, APFloat(scale), family_.jointDelta)
                    .getResult();
  if (isLast())
    heads = g_.asHeads(wantedOnly(g_.asRows(heads)), r.valueHeads, r.valueDim);
  SINTER_ASSIGN(Value gain, g_.weight(name(kDeltaNorm) + ".weight", {r.valueDim}));
  Value normed = g_.asRows(g_.norm(heads, NormKind::Rms, gain, {}, f_.normEps));
  Value mixed = g_.map({normed, in.gate},
                       [](ScalarBuilder &s, ValueRange v) { return s.mul(v[0], s.silu(v[1])); });
  return g_.linear(mixed, name(kDeltaOut), f_.width, family_);
}

} // namespace sinter::models
