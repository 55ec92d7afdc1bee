// A layer's feed-forward with experts: what router and experts read, and what is beside them.
#include "tile/mlir_pch.h"

#include "models/decoder_layer.h"
#include "models/experts.h"
#include "models/tensor_names.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace sinter::models {

Result<Value> LayerBuilder::routerInput(Value n) {
  switch (f_.experts.family.routerInput) {
  case RouterInput::Rows:
    return n;
  case RouterInput::LayerInput:
    return layerInput_;
  case RouterInput::OwnNorm:
    break;
  }
  SINTER_ASSIGN(Value gain, g_.weight(name(kRouter) + ".scale", {f_.width}));
  Value normed = g_.norm(residual_, NormKind::Rms, {}, {}, f_.normEps);
  const float scale = 1.0f / std::sqrt(static_cast<float>(f_.width));
  return g_.map({normed, gain}, [&](ScalarBuilder &s, ValueRange v) {
    return s.mul(s.mul(v[0], s.number(scale)), v[1]);
  });
}

Result<Value> LayerBuilder::expertInput(Value n) {
  if (f_.experts.family.beside == DenseBeside::Residual)
    return blockNorm(layerInput_, kExpertNorm);
  if (f_.experts.family.beside == DenseBeside::OwnNorms)
    return blockNorm(residual_, kExpertPreNorm);
  return n;
}

Result<Value> LayerBuilder::mixture(Value n) {
  const DenseBeside beside = f_.experts.family.beside;
  const bool hasDense = g_.has(name(kUp) + ".weight");
  SINTER_ASSIGN(Value input, expertInput(n));
  SINTER_ASSIGN(Value routed, beside == DenseBeside::Residual ? input : routerInput(n));
  SINTER_ASSIGN(Value sum, buildExperts(g_, f_, layer(), {input, routed}));
  if (beside == DenseBeside::None && f_.experts.family.byTensor)
    for (std::string_view part : {kGate, kUp, kDown}) // llama.cpp loads and does not use them
      for (const char *kind : {".weight", ".scale"})
        g_.leaveOut(name(part) + kind);
  if (beside == DenseBeside::None || (beside == DenseBeside::Optional && !hasDense))
    return sum;
  SINTER_ASSIGN(Value dense, denseFeedForward(n));
  if (beside == DenseBeside::Optional)
    return g_.scaled(g_.add(dense, sum), std::numbers::sqrt2_v<float> / 2);
  if (beside == DenseBeside::OwnNorms) {
    SINTER_ASSIGN(dense, blockNorm(dense, kDensePostNorm));
    SINTER_ASSIGN(sum, blockNorm(sum, kExpertPostNorm));
  }
  return g_.add(dense, sum);
}

} // namespace sinter::models
