// How a layer's parts follow one another.
#include "tile/mlir_pch.h"

#include "models/decoder_layer.h"
#include "models/tensor_names.h"

#include <cmath>

using namespace mlir;

namespace sinter::models {

std::string LayerBuilder::name(std::string_view part) const {
  return layerName(layer().block, part);
}

Result<Value> LayerBuilder::blockNorm(Value x, std::string_view part, bool isPostNorm) {
  const bool own = isPostNorm && family_.postNormEpsilon > 0;
  const float eps = own ? family_.postNormEpsilon : f_.normEps;
  if (!family_.normWeights)
    return g_.norm(x, family_.norm, {}, {}, eps);
  return g_.norm(x, family_.norm, name(part), eps);
}

Gating LayerBuilder::gating() const {
  if (family_.gating != Gating::ByTensors)
    return family_.gating;
  if (g_.has(name(kGate) + ".weight"))
    return Gating::Gated;
  const std::optional<TensorInfo> up = g_.source().tensor(name(kUp) + ".weight");
  const bool both = up && !up->shape.empty() && up->shape[0] == 2 * layer().feedForward;
  return both ? Gating::Fused : Gating::None;
}

// activation(gate) * up, or of one matrix alone.
Result<Value> LayerBuilder::activated(Value n) {
  const int64_t hidden = layer().feedForward;
  const auto activate = [&](ScalarBuilder &s, Value x) {
    Value activated = family_.activation == Activation::Gelu ? s.gelu(x) : s.silu(x);
    const float clamp = layer().experts.sharedClamp;
    return clamp > 0 ? s.least(activated, s.number(clamp)) : activated;
  };
  Value gate, up;
  const Gating gates = gating();
  if (gates == Gating::Fused) {
    SINTER_ASSIGN(Value both, g_.linear(n, name(kUp), 2 * hidden, family_, true));
    gate = g_.columns(both, 0, hidden);
    up = g_.columns(both, hidden, hidden);
  } else if (gates == Gating::Gated) {
    SINTER_ASSIGN(gate, g_.linear(n, name(kGate), hidden, family_, true));
    if (layer().block < family_.sparseLayers)
      gate = largestOnly(gate);
    SINTER_ASSIGN(up, g_.linear(n, name(kUp), hidden, family_, true));
  } else {
    SINTER_ASSIGN(up, g_.linear(n, name(kUp), hidden, family_, true));
  }
  if (gate)
    return g_.map({gate, up}, [&](ScalarBuilder &s, ValueRange v) {
      return s.mul(activate(s, v[0]), s.within(v[1], layer().experts.sharedClamp));
    });
  const auto &xielu = layer().xielu;
  const auto softplus = [](float x) { return std::log1p(std::exp(x)); };
  return g_.map({up}, [&](ScalarBuilder &s, ValueRange v) -> Value {
    if (family_.activation == Activation::Silu || family_.activation == Activation::Gelu)
      return activate(s, v[0]);
    Value zero = s.number(0);
    Value positive = s.most(v[0], zero);
    if (family_.activation == Activation::Relu2)
      return s.mul(positive, positive);
    // Of negative numbers n: (exp(n) - 1 - n) a + b n.
    Value negative = s.least(v[0], zero);
    Value curve = s.sub(s.sub(s.exp(negative), s.number(1)), negative);
    Value squares = s.mul(s.mul(positive, positive), s.number(softplus(xielu.alphaPositive)));
    Value curves = s.mul(curve, s.number(xielu.beta + softplus(xielu.alphaNegative)));
    return s.add(s.add(squares, curves), s.mul(v[0], s.number(xielu.beta)));
  });
}

Result<Value> LayerBuilder::feedForward(Value n) {
  return layer().experts.used ? mixture(n) : denseFeedForward(n);
}

Result<Value> LayerBuilder::denseFeedForward(Value n) {
  SINTER_ASSIGN(Value hidden, activated(n));
  SINTER_ASSIGN(Value divisors,
                g_.optionalWeight(name(kActivationScales) + ".scales", {layer().feedForward}));
  if (divisors)
    hidden = g_.map({hidden, divisors},
                    [](ScalarBuilder &s, ValueRange v) { return s.div(v[0], v[1]); });
  if (family_.subNorms) {
    SINTER_ASSIGN(hidden, blockNorm(hidden, kFeedForwardSubNorm));
  }
  return g_.linear(hidden, name(kDown), f_.width, family_, true);
}

// (the token's embedding of all layers + a projection of its embedding) / sqrt(2)
Result<void> LayerBuilder::keepEmbedding(Value rows, Value tokens) {
  embedding_ = rows;
  const int64_t width = f_.perLayerWidth, all = width * static_cast<int64_t>(f_.layers.size());
  if (width == 0)
    return {};
  SINTER_ASSIGN(Value table, g_.weight(std::string(kLayerEmbedding), {f_.vocabulary, all}));
  SINTER_ASSIGN(Value matrix, g_.weight(std::string(kLayerProjection), {all, f_.width}));
  Value own = graph::GatherOp::create(g_.b, g_.loc, g_.rowsLike(tokens, all), table, tokens);
  Value projected = graph::DotGeneralOp::create(g_.b, g_.loc, g_.rowsLike(rows, all), rows, matrix);
  projected = g_.scaled(projected, 1.0f / std::sqrt(static_cast<float>(f_.width)));
  Value apart = g_.asHeads(projected, static_cast<int64_t>(f_.layers.size()), width);
  SINTER_ASSIGN(apart,
                g_.norm(apart, NormKind::Rms, std::string(kLayerProjectionNorm), f_.normEps));
  const float scale = std::sqrt(static_cast<float>(width)), half = std::sqrt(0.5f);
  layerEmbeddings_ = g_.map({g_.asRows(apart), own}, [&](ScalarBuilder &s, ValueRange v) {
    return s.mul(s.add(v[0], s.mul(v[1], s.number(scale))), s.number(half));
  });
  return {};
}

// What the layer's embedding adds.
Result<Value> LayerBuilder::layerEmbeddingOf(Value x) {
  const int64_t width = f_.perLayerWidth;
  SINTER_ASSIGN(Value gate, g_.linear(x, name(kLayerInputGate), width, family_));
  Value own = g_.columns(layerEmbeddings_, layer().block * width, width);
  Value gated = g_.map({gate, wantedOnly(own)},
                       [](ScalarBuilder &s, ValueRange v) { return s.mul(s.gelu(v[0]), v[1]); });
  SINTER_ASSIGN(Value projected, g_.linear(gated, name(kLayerInputProjection), f_.width, family_));
  return blockNorm(projected, kLayerInputNorm);
}

// What some families do with a layer's result.
Result<Value> LayerBuilder::finish(Value x) {
  if (layerEmbeddings_) {
    SINTER_ASSIGN(Value own, layerEmbeddingOf(x));
    x = g_.add(x, own);
  }
  if (family_.outputScale) {
    SINTER_ASSIGN(Value scale, g_.optionalWeight(name(kLayerScale) + ".weight", {1}));
    if (scale)
      x = g_.map({x, scale}, [](ScalarBuilder &s, ValueRange v) { return s.mul(v[0], v[1]); });
  }
  if (family_.embeddingSkip) {
    SINTER_ASSIGN(Value scale, g_.weight(name(kLayerScale) + ".weight", {1}));
    x = g_.map({x, wantedOnly(embedding_), scale},
               [](ScalarBuilder &s, ValueRange v) { return s.add(v[0], s.mul(v[1], v[2])); });
  }
  if (layer().normsResult && family_.normWeights) {
    SINTER_ASSIGN(x, g_.norm(x, family_.norm, std::string(family_.outputNorm), f_.normEps));
  } else if (layer().normsResult) {
    x = g_.norm(x, family_.norm, {}, {}, f_.normEps);
  }
  if (layer().stack != Stack::None)
    (layer().stack == Stack::Low ? low_ : high_) = x;
  return x;
}

// The first stack reads the embedding and what the low stack's result begins with.
Result<Value> LayerBuilder::enterStack(Value x) {
  if (!layer().beginsStack)
    return x;
  if (!high_)
    high_ = x;
  if (!low_) {
    SINTER_ASSIGN(low_, g_.weight(std::string(kLowStackStart), {f_.width}));
  }
  return g_.add(high_, low_);
}

// Norms are of sums: of what a block adds and what it read.
Result<Value> LayerBuilder::buildSummed(Value x) {
  Value attending = wantedOnly(x);
  SINTER_ASSIGN(Value attended, attention(x, attending));
  SINTER_ASSIGN(Value sum, blockNorm(g_.add(attended, attending), kAttentionSumNorm));
  if (g_.has(name(kSecondAttentionNorm) + ".weight")) {
    SINTER_ASSIGN(sum, blockNorm(g_.add(sum, attending), kSecondAttentionNorm));
  }
  SINTER_ASSIGN(Value fed, feedForward(sum));
  return blockNorm(g_.add(fed, sum), kLayerSumNorm);
}

static Fail noHeads(size_t layer) {
  return fail(Code::Unsupported, "layer " + std::to_string(layer) +
                                     " has no attention heads, expected some beside its parallel "
                                     "feed-forward");
}

Result<Value> LayerBuilder::build(Value x, size_t number) {
  number_ = number;
  if (family_.altup)
    return buildAltup(x);
  SINTER_ASSIGN(x, enterStack(x));
  if (layer().feedForward == 0 && layer().experts.used == 0)
    return x; // a layer that the model leaves out
  if (family_.place == NormPlace::OfSum)
    return buildSummed(x);
  const bool before = family_.place != NormPlace::After && !f_.normsAfter;
  const bool after = family_.place != NormPlace::Before;
  const auto normed = [&](Value rows, std::string_view part) {
    return before ? blockNorm(rows, part) : Result<Value>(rows);
  };
  const bool ownNorm = g_.has(name(kSecondAttentionNorm) + ".weight");
  Value attended, ffnInput;
  const auto attend = [&]() -> Result<void> {
    const std::string_view part = ownNorm ? kSecondAttentionNorm : kAttentionNorm;
    const bool bare = family_.firstNormOptional && number_ == 0 && !g_.has(name(part) + ".weight");
    const auto read = [&](Value rows) { return bare ? Result<Value>(rows) : normed(rows, part); };
    SINTER_ASSIGN(Value n, read(x));
    Value attending = n;
    if (isLast()) {
      x = wantedOnly(x);
      SINTER_ASSIGN(attending, read(x));
    }
    layerInput_ = x;
    ffnInput = attending;
    SINTER_ASSIGN(attended, attention(n, attending));
    if (after) {
      SINTER_ASSIGN(attended, blockNorm(attended, family_.attentionPostNorm, true));
    } else if (f_.normsAfter) {
      SINTER_ASSIGN(attended, blockNorm(attended, kAttentionNorm));
    }
    return {};
  };
  const bool hasFfnNorm = !family_.normWeights || g_.has(name(family_.ffnNorm) + ".weight") ||
                          family_.parallel != Parallel::WithoutFfnNorm;
  const bool parallel = f_.parallel || !hasFfnNorm;
  const bool attends = layer().heads > 0 || layer().hasState();
  if (parallel && !attends)
    return noHeads(number_);
  if (attends) {
    SINTER_TRY(attend());
    if (!parallel)
      x = g_.add(x, attended, f_.residualScale);
  } else {
    x = wantedOnly(x);
    layerInput_ = x;
  }
  residual_ = x;
  if (parallel && family_.parallel == Parallel::ByKey) {
    SINTER_ASSIGN(ffnInput, blockNorm(x, family_.ffnNorm));
  } else if (parallel && ownNorm) {
    SINTER_ASSIGN(ffnInput, blockNorm(x, kAttentionNorm));
  } else if (!parallel) {
    SINTER_ASSIGN(ffnInput, normed(x, family_.ffnNorm));
  }
  if (parallel)
    x = g_.add(x, attended);
  SINTER_ASSIGN(Value fed, feedForward(ffnInput));
  if (after) {
    const bool named = g_.has(name(family_.ffnPostNorm) + ".weight");
    SINTER_ASSIGN(fed, blockNorm(fed, named ? family_.ffnPostNorm : kFeedForwardPostNorm, true));
  } else if (f_.normsAfter) {
    SINTER_ASSIGN(fed, blockNorm(fed, family_.ffnNorm));
  }
  return finish(g_.add(x, fed, f_.residualScale));
}

} // namespace sinter::models
