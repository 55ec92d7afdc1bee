// Layers of linear attention by the gated delta rule (Yang et al., 2412.06464).
#include "tile/mlir_pch.h"

#include "models/decoder_layer.h"
#include "models/tensor_names.h"

#include <cmath>

using namespace mlir;

namespace sinter::models {

// Heads [tokens, heads, size], and numbers of heads [tokens, heads].
struct LayerBuilder::DeltaInputs {
  Value query, key, value, decay, beta;
};

Result<LayerBuilder::DeltaInputs> LayerBuilder::deltaInputs(Value n) {
  const RecurrentFeatures &r = f_.recurrent;
  const int64_t keys = r.keyHeads * r.keyDim, values = r.valueHeads * r.valueDim;
  SINTER_ASSIGN(Value rows, g_.linear(n, name(kQkv), 2 * keys + values, family_));
  SINTER_ASSIGN(Value beta, g_.linear(n, name(kDeltaBeta), r.valueHeads, family_));
  SINTER_ASSIGN(Value alpha, g_.linear(n, name(kDeltaAlpha), r.valueHeads, family_));
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
  SINTER_ASSIGN(const DeltaInputs in, deltaInputs(n));
  Value before = state("matrices", {r.valueHeads, r.keyDim, r.valueDim});
  // Queries lack their norm's 1 / sqrt(size), and scores are over that too.
  const float scale = 1 / static_cast<float>(r.keyDim);
  Value heads = graph::DeltaRuleOp::create(g_.b, g_.loc, in.value.getType(), before.getType(),
                                           in.query, in.key, in.value, in.decay, in.beta,
                                           at_.stateSpans, before, APFloat(scale),
                                           /*neighbours=*/false)
                    .getResult();
  if (isLast())
    heads = g_.asHeads(wantedOnly(g_.asRows(heads)), r.valueHeads, r.valueDim);
  SINTER_ASSIGN(Value gain, g_.weight(name(kDeltaNorm) + ".weight", {r.valueDim}));
  Value normed = g_.asRows(g_.norm(heads, NormKind::Rms, gain, {}, f_.normEps));
  SINTER_ASSIGN(Value gate,
                g_.linear(attending, name(kAttentionGate), r.valueHeads * r.valueDim, family_));
  Value mixed = g_.map({normed, gate},
                       [](ScalarBuilder &s, ValueRange v) { return s.mul(v[0], s.silu(v[1])); });
  return g_.linear(mixed, name(kDeltaOut), f_.width, family_);
}

} // namespace sinter::models
