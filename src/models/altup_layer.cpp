// Layers that work on one of several streams and predict the others (AltUp, Baykal et al.,
// 2301.13310), with residuals of low rank (LAuReL, 2411.07501).
#include "tile/mlir_pch.h"

#include "models/decoder_layer.h"
#include "models/tensor_names.h"

#include <cmath>

using namespace mlir;

namespace sinter::models {

static constexpr int64_t kStreams = 4; // the first is the one that layers work on

Value LayerBuilder::stream(Value all, int64_t number) {
  return g_.columns(all, number * f_.width, f_.width);
}

Value LayerBuilder::joined(ArrayRef<Value> streams) {
  const int64_t columns = static_cast<int64_t>(streams.size()) * f_.width;
  return graph::ConcatOp::create(g_.b, g_.loc, g_.rowsLike(streams[0], columns), streams, 1);
}

// Along the last axis, which stays as one element.
Value LayerBuilder::sumOfSquares(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<graph::Extent> shape = {graph::symbolOf(type, 0)};
  for (int64_t axis = 1; axis + 1 < type.getRank(); ++axis)
    shape.emplace_back(type.getDimSize(axis));
  shape.emplace_back(int64_t(1));
  Value squares = g_.map({value}, [](ScalarBuilder &s, ValueRange v) { return s.mul(v[0], v[0]); });
  return graph::ReduceOp::create(g_.b, g_.loc, graph::tensorOf(shape, g_.b.getF32Type()),
                                 graph::ReduceKind::Sum, squares, {type.getRank() - 1});
}

// `count` streams with the magnitude of the rows `like`.
Value LayerBuilder::ofMagnitude(Value streams, int64_t count, Value like) {
  Value apart = g_.asHeads(streams, count, f_.width);
  Value wanted = g_.asHeads(sumOfSquares(like), 1, 1);
  return g_.asRows(g_.map({apart, wanted, sumOfSquares(apart)}, [](ScalarBuilder &s, ValueRange v) {
    return s.mul(v[0], s.sqrt(s.div(v[1], v[2])));
  }));
}

Result<Value> LayerBuilder::expandStreams(Value x) {
  if (!family_.altup)
    return x;
  constexpr int64_t kOthers = kStreams - 1;
  SINTER_ASSIGN(Value matrix,
                g_.matrices(std::string(kStreamProjection), kOthers, f_.width, f_.width));
  Value others =
      graph::DotGeneralOp::create(g_.b, g_.loc, g_.rowsLike(x, kOthers * f_.width), x, matrix);
  others = ofMagnitude(others, kOthers, x);
  SmallVector<Value> all = {x};
  for (int64_t i = 0; i < kOthers; ++i)
    all.push_back(stream(others, i));
  return joined(all);
}

Result<Value> LayerBuilder::mergeStreams(Value x) {
  if (!family_.altup)
    return x;
  constexpr int64_t kOthers = kStreams - 1;
  SINTER_ASSIGN(Value matrix,
                g_.matrices(std::string(kStreamUnprojection), kOthers, f_.width, f_.width));
  Value first = stream(x, 0);
  SmallVector<Value> all = {first};
  for (int64_t i = 0; i < kOthers; ++i) {
    Value every = graph::DotGeneralOp::create(g_.b, g_.loc, g_.rowsLike(x, kOthers * f_.width),
                                              stream(x, i + 1), matrix);
    all.push_back(ofMagnitude(stream(every, i), 1, first));
  }
  return g_.map(all, [](ScalarBuilder &s, ValueRange v) {
    Value sum = v[0];
    for (Value other : v.drop_front())
      sum = s.add(sum, other);
    return s.mul(sum, s.number(1.0f / kStreams));
  });
}

// Of a gate's row the part above mean + 1.645 standard deviations, about a twentieth.
Value LayerBuilder::largestOnly(Value gate) {
  constexpr float kDeviations = 1.6448533535003662f;
  const auto count = static_cast<float>(layer().feedForward);
  Value sum = graph::ReduceOp::create(g_.b, g_.loc, g_.rowsLike(gate, 1), graph::ReduceKind::Sum,
                                      gate, {1});
  Value centered = g_.map({gate, sum}, [&](ScalarBuilder &s, ValueRange v) {
    return s.sub(v[0], s.mul(v[1], s.number(1 / count)));
  });
  return g_.map({centered, sumOfSquares(centered)}, [&](ScalarBuilder &s, ValueRange v) {
    Value deviation = s.sqrt(s.mul(v[1], s.number(1 / (count - 1))));
    return s.most(s.sub(v[0], s.mul(deviation, s.number(kDeviations))), s.number(0));
  });
}

Result<Value> LayerBuilder::modalities(Value active) {
  SINTER_ASSIGN(Value n, blockNorm(active, kStreamRouterNorm));
  n = g_.scaled(n, 1.0f / static_cast<float>(f_.width));
  SINTER_ASSIGN(Value routed, g_.linear(n, name(kStreamRouter), kStreams, family_));
  return g_.map({routed}, [](ScalarBuilder &s, ValueRange v) { return s.tanh(v[0]); });
}

// Each stream plus all of them times coefficients of the row.
Result<SmallVector<Value>> LayerBuilder::predicted(Value x) {
  SINTER_ASSIGN(Value routed, modalities(stream(x, 0)));
  SINTER_ASSIGN(Value coefficients,
                g_.linear(routed, name(kStreamPrediction), kStreams * kStreams, family_));
  SmallVector<Value> result;
  for (int64_t i = 0; i < kStreams; ++i) {
    SmallVector<Value> operands = {stream(x, i)};
    for (int64_t k = 0; k < kStreams; ++k) {
      operands.push_back(stream(x, k));
      operands.push_back(g_.columns(coefficients, i * kStreams + k, 1));
    }
    result.push_back(g_.map(operands, [](ScalarBuilder &s, ValueRange v) {
      Value sum = v[0];
      for (size_t k = 1; k < v.size(); k += 2)
        sum = s.add(sum, s.mul(v[k], v[k + 1]));
      return sum;
    }));
  }
  return result;
}

Result<Value> LayerBuilder::laurel(Value n) {
  const std::optional<TensorInfo> left = g_.source().tensor(name(kLaurelLeft) + ".weight");
  const int64_t rank = left && left->shape.size() == 2 ? left->shape[0] : 1;
  SINTER_ASSIGN(Value low, g_.linear(n, name(kLaurelLeft), rank, family_));
  SINTER_ASSIGN(Value rows, g_.linear(low, name(kLaurelRight), f_.width, family_));
  SINTER_ASSIGN(rows, blockNorm(rows, kLaurelNorm));
  return g_.add(n, rows);
}

Result<Value> LayerBuilder::buildAltup(Value x) {
  SINTER_ASSIGN(SmallVector<Value> streams, predicted(x));
  SINTER_ASSIGN(Value n, blockNorm(streams[0], kAttentionNorm));
  for (Value &each : streams)
    each = wantedOnly(each);
  Value attending = wantedOnly(n);
  SINTER_ASSIGN(Value beside, laurel(attending));
  SINTER_ASSIGN(Value attended, attention(n, attending));
  SINTER_ASSIGN(attended, blockNorm(attended, family_.attentionPostNorm));
  Value both = g_.map({attended, streams[0], beside}, [](ScalarBuilder &s, ValueRange v) {
    return s.mul(s.add(s.add(v[0], v[1]), v[2]), s.number(std::sqrt(0.5f)));
  });
  SINTER_ASSIGN(Value fed, blockNorm(both, family_.ffnNorm));
  SINTER_ASSIGN(fed, feedForward(fed));
  SINTER_ASSIGN(fed, blockNorm(fed, kFeedForwardPostNorm));
  Value active = g_.add(both, fed);
  SINTER_ASSIGN(Value routed, modalities(active));
  SINTER_ASSIGN(Value coefficients, g_.linear(routed, name(kStreamCorrection), kStreams, family_));
  const Value before = streams[0];
  for (int64_t i = 0; i < kStreams; ++i)
    streams[static_cast<size_t>(i)] =
        g_.map({streams[static_cast<size_t>(i)], active, before, g_.columns(coefficients, i, 1)},
               [](ScalarBuilder &s, ValueRange v) {
                 Value innovation = s.sub(v[1], v[2]);
                 return s.add(v[0], s.mul(innovation, s.add(v[3], s.number(1))));
               });
  SINTER_ASSIGN(Value scale, g_.weight(name(kStreamScale) + ".weight", {f_.width}));
  SINTER_ASSIGN(Value own,
                layerEmbeddingOf(g_.map({streams[0], scale}, [](ScalarBuilder &s, ValueRange v) {
                  return s.mul(v[0], v[1]);
                })));
  for (Value &other : MutableArrayRef(streams).drop_front())
    other = g_.add(other, own);
  return joined(streams);
}

} // namespace sinter::models
