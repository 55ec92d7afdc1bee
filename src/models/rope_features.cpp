// RoPE keys: how many elements of which layers rotate, and by which frequencies.
#include "tile/mlir_pch.h"

#include "models/layer_features.h"

#include <cmath>

namespace sinter::models {

// As llama.cpp reads it: a factor without a type is linear, 0 is none, and the attention factor
// counts whatever the type is. Long contexts have factors of their own, as tensors.
static Result<RopeScaling> readScaling(MetadataReader &reader, const DecoderFeatures &f) {
  using Kind = RopeScaling::Kind;
  static constexpr std::string_view kType = "rope.scaling.type", kFactor = "rope.scaling.factor",
                                    kOldFactor = "rope.scale_linear";
  RopeScaling scaling;
  SINTER_ASSIGN(const std::string type, reader.textOr(kType, "linear"));
  if (type != "none" && type != "linear" && type != "yarn" && type != "longrope")
    return fail(Code::Unsupported, "'" + reader.key(kType) + "' is '" + type.substr(0, 64) +
                                       "', expected 'none', 'linear', 'yarn' or 'longrope'");
  const bool isOld = reader.has(kOldFactor) && !reader.has(kFactor);
  SINTER_ASSIGN(scaling.factor, reader.factorOr(isOld ? kOldFactor : kFactor));
  SINTER_ASSIGN(scaling.attentionFactor, reader.positiveOr("rope.scaling.attn_factor", 1e6, 1.0f));
  SINTER_ASSIGN(scaling.originalContext, reader.countOr("rope.scaling.original_context_length",
                                                        kMostContext, f.contextLength));
  SINTER_ASSIGN(scaling.fastTurns,
                reader.positiveOr("rope.scaling.yarn_beta_fast", 1e6, f.family.yarnFastTurns));
  SINTER_ASSIGN(scaling.slowTurns, reader.positiveOr("rope.scaling.yarn_beta_slow", 1e6, 1.0f));
  SINTER_ASSIGN(scaling.logMultiplier,
                reader.amountOr("rope.scaling.yarn_log_multiplier", 1e6, 0.0f));
  if (type == "none" || scaling.factor == 1)
    return scaling;
  scaling.kind = type == "yarn" ? Kind::Yarn : Kind::Linear;
  if (scaling.kind == Kind::Yarn && f.rope.base <= 1)
    return fail(Code::Corrupt, "'" + reader.key("rope.freq_base") + "' is " +
                                   std::to_string(f.rope.base) + ", expected more than 1 for YaRN");
  return scaling;
}

static Result<int64_t> readDims(MetadataReader &reader, std::string_view name, int64_t headDim,
                                int64_t standard) {
  SINTER_ASSIGN(const int64_t dims, reader.countOr(name, kMostExtent, standard));
  if (dims <= headDim && dims % 2 == 0)
    return dims;
  return fail(Code::Corrupt, "'" + reader.key(name) + "' is " + std::to_string(dims) +
                                 ", expected an even number of at most " + std::to_string(headDim));
}

static Result<void> readSections(MetadataReader &reader, DecoderFeatures &f) {
  constexpr std::string_view kName = "rope.dimension_sections";
  if (!f.family.sections || !reader.has(kName))
    return {};
  SINTER_ASSIGN(std::vector<int64_t> sections, reader.integers(kName, 0, kMostExtent));
  if (sections.size() < 2 || sections[0] == 0 || sections[1] == 0)
    return {}; // one axis
  constexpr size_t kAxes = 4;
  sections.resize(kAxes);
  f.sections = std::move(sections);
  f.rotation = Rotation::Halves;
  return {};
}

static Result<std::vector<int64_t>> rotatedLayers(MetadataReader &reader,
                                                  const DecoderFeatures &f) {
  const size_t depth = f.layers.size();
  const bool anyWindow =
      llvm::any_of(f.layers, [](const LayerFeatures &layer) { return layer.windowed; });
  std::vector<int64_t> rotated(depth, 1);
  switch (f.family.rotated) {
  case RotatedLayers::All:
    break;
  case RotatedLayers::Windowed:
    for (size_t i = 0; i < depth && anyWindow; ++i)
      rotated[i] = f.layers[i].windowed;
    break;
  case RotatedLayers::WindowedOrDense:
    for (size_t i = 0; i < depth; ++i)
      rotated[i] = f.layers[i].windowed || f.layers[i].experts.used == 0;
    break;
  case RotatedLayers::ThreeOfFour:
    for (size_t i = 0; i < depth; ++i)
      rotated[i] = (i + 1) % 4 != 0;
    break;
  case RotatedLayers::ByPattern:
    return reader.countsOr("attention.rope_pattern", depth, 1, rotated, 0);
  case RotatedLayers::UnlessDisabled: {
    SINTER_ASSIGN(const bool rotates, reader.flagOr("rope.scaling.finetuned", true));
    rotated.assign(depth, rotates);
    break;
  }
  }
  if (f.family.rotatedDepth && f.family.rotatedDepth != static_cast<int64_t>(depth))
    rotated.assign(depth, 0);
  return rotated;
}

static Result<void> readWindowRope(MetadataReader &reader, DecoderFeatures &f) {
  f.windowRope = f.rope;
  if (f.family.windowRotation == WindowRotation::Plain)
    f.windowRope.scaling = {};
  if (!f.family.windowBaseByKey)
    return {};
  const float standard = f.family.windowBaseDefault > 0 ? f.family.windowBaseDefault : f.rope.base;
  SINTER_ASSIGN(f.windowRope.base, reader.positiveOr("rope.freq_base_swa", 1e12, standard));
  return {};
}

Result<void> readRope(MetadataReader &reader, DecoderFeatures &f) {
  f.rotation = f.family.rotation;
  SINTER_TRY(readSections(reader, f));
  SINTER_ASSIGN(f.rope.base, reader.positiveOr("rope.freq_base", 1e12, 10000.0f));
  if (f.family.fixedRopeBase > 0)
    f.rope.base = f.family.fixedRopeBase;
  if (f.family.alphaScaling) {
    SINTER_ASSIGN(const float alpha, reader.amountOr("rope.scaling.alpha", 1e6, 0));
    const auto dims = static_cast<double>(f.headDim);
    if (alpha > 0 && f.headDim > 2)
      f.rope.base = static_cast<float>(f.rope.base * std::pow(alpha, dims / (dims - 2)));
  }
  SINTER_ASSIGN(f.rope.scaling, readScaling(reader, f));
  SINTER_TRY(readWindowRope(reader, f));
  if (f.rotation == Rotation::None) {
    reader.has("rope.dimension_count");
    return {};
  }
  SINTER_ASSIGN(const int64_t dims, readDims(reader, "rope.dimension_count", f.headDim, f.headDim));
  f.ropeDims = dims / f.family.unwindowedDivisor;
  if (f.ropeDims % 2 != 0)
    return fail(Code::Corrupt, "'" + reader.key("rope.dimension_count") + "' is " +
                                   std::to_string(dims) + ", expected a multiple of " +
                                   std::to_string(2 * f.family.unwindowedDivisor));
  SINTER_ASSIGN(const std::vector<int64_t> rotated, rotatedLayers(reader, f));
  for (size_t i = 0; i < f.layers.size(); ++i) {
    LayerFeatures &layer = f.layers[i];
    if (rotated[i] && layer.windowed) {
      SINTER_ASSIGN(layer.ropeDims,
                    readDims(reader, "rope.dimension_count_swa", layer.headDim, dims));
    } else if (rotated[i]) {
      layer.ropeDims = f.ropeDims;
    }
  }
  return {};
}

} // namespace sinter::models
