// Which layers have states of sequences, and of what shape, read from metadata.
#include "tile/mlir_pch.h"

#include "models/layer_features.h"

namespace sinter::models {

static constexpr int64_t kMostConvWidth = 64;

static Result<void> setMixers(const std::vector<int64_t> &recurrent, Mixer mixer,
                              DecoderFeatures &f) {
  for (size_t i = 0; i < f.layers.size(); ++i)
    if (recurrent[i]) {
      f.layers[i].mixer = mixer;
      f.layers[i].heads = f.layers[i].kvHeads = 0;
    }
  return {};
}

static Result<void> readShortConv(MetadataReader &reader, DecoderFeatures &f) {
  std::vector<int64_t> recurrent;
  for (LayerFeatures &layer : f.layers)
    recurrent.push_back(layer.kvHeads == 0);
  reader.has("attention.recurrent_layers"); // what counts of key heads say too
  SINTER_ASSIGN(f.recurrent.convWidth, reader.count("shortconv.l_cache", kMostConvWidth, 2));
  return setMixers(recurrent, Mixer::ShortConv, f);
}

static Result<std::vector<int64_t>> deltaLayers(MetadataReader &reader, const DecoderFeatures &f) {
  constexpr int64_t kStandardInterval = 4;
  const size_t depth = f.layers.size();
  SINTER_ASSIGN(const int64_t interval,
                reader.countOr("full_attention_interval", kMostLayers, kStandardInterval));
  std::vector<int64_t> recurrent;
  for (size_t i = 0; i < depth; ++i)
    recurrent.push_back((static_cast<int64_t>(i) + 1) % interval != 0);
  return reader.countsOr("attention.recurrent_layers", depth, 1, recurrent, 0);
}

static Result<void> readDeltaNet(MetadataReader &reader, DecoderFeatures &f) {
  constexpr int64_t kMostKeyDim = 512;
  RecurrentFeatures &r = f.recurrent;
  SINTER_ASSIGN(r.convWidth, reader.count("ssm.conv_kernel", kMostConvWidth, 2));
  SINTER_ASSIGN(r.keyDim, reader.count("ssm.state_size", kMostKeyDim));
  SINTER_ASSIGN(r.keyHeads, reader.count("ssm.group_count", kMostHeads));
  SINTER_ASSIGN(r.valueHeads, reader.count("ssm.time_step_rank", kMostHeads));
  if (r.valueHeads % r.keyHeads != 0)
    return fail(Code::Corrupt, "'" + reader.key("ssm.time_step_rank") + "' is " +
                                   std::to_string(r.valueHeads) + ", expected a multiple of the " +
                                   std::to_string(r.keyHeads) + " of '" +
                                   reader.key("ssm.group_count") + "'");
  r.valueDim = r.keyDim;
  SINTER_TRY(reader.expect("ssm.inner_size", r.valueHeads * r.valueDim,
                           "heads of values times their size"));
  SINTER_ASSIGN(const std::vector<int64_t> recurrent, deltaLayers(reader, f));
  return setMixers(recurrent, Mixer::DeltaNet, f);
}

Result<void> readRecurrence(MetadataReader &reader, DecoderFeatures &f) {
  switch (f.family.recurrence) {
  case Recurrence::None:
    return {};
  case Recurrence::ShortConv:
    return readShortConv(reader, f);
  case Recurrence::DeltaNet:
    return readDeltaNet(reader, f);
  }
  return {};
}

bool DecoderFeatures::hasStates() const {
  return llvm::any_of(layers, [](const LayerFeatures &layer) { return layer.hasState(); });
}

int64_t DecoderFeatures::stateBytes() const {
  const RecurrentFeatures &r = recurrent;
  const int64_t heads = 2 * r.keyHeads * r.keyDim + r.valueHeads * r.valueDim;
  int64_t elements = 0;
  for (const LayerFeatures &layer : layers)
    if (layer.mixer == Mixer::ShortConv)
      elements += (r.convWidth - 1) * width;
    else if (layer.mixer == Mixer::DeltaNet)
      elements += (r.convWidth - 1) * heads + r.valueHeads * r.keyDim * r.valueDim;
  return elements * int64_t(sizeof(float));
}

} // namespace sinter::models
