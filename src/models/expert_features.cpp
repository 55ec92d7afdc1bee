// Reads and checks what metadata says of experts.
#include "tile/mlir_pch.h"

#include "models/decoder_features.h"
#include "models/metadata_reader.h"
#include "models/tensor_names.h"

namespace sinter::models {

static constexpr int64_t kMostShared = 64;

static Fail wrong(MetadataReader &reader, std::string_view key, int64_t value,
                  const std::string &expected) {
  return fail(Code::Corrupt,
              "'" + reader.key(key) + "' is " + std::to_string(value) + ", expected " + expected);
}

// llama.cpp's numbers; 0 is what the family does.
static Result<void> readRouter(MetadataReader &reader, ExpertFeatures &experts) {
  constexpr int64_t kFunctions = 3;
  experts.router = experts.family.router;
  if (experts.family.routerByKey) {
    SINTER_ASSIGN(const int64_t function, reader.countOr("expert_gating_func", kFunctions, 0, 0));
    if (function > 0)
      experts.router = static_cast<graph::RouterKind>(function - 1);
  }
  experts.normalized = experts.family.normalized == Normalized::Yes;
  if (experts.family.normalized == Normalized::ByKey) {
    SINTER_ASSIGN(experts.normalized, reader.flagOr("expert_weights_norm", false));
  }
  if (experts.family.scaled) {
    SINTER_ASSIGN(experts.scale, reader.amountOr("expert_weights_scale", 1e6, 0));
    experts.scale = experts.scale == 0 ? 1 : experts.scale;
  }
  return {};
}

static Result<void> readGroups(MetadataReader &reader, ExpertFeatures &experts) {
  constexpr std::string_view kGroups = "expert_group_count", kUsed = "expert_group_used_count";
  SINTER_ASSIGN(experts.groups, reader.countOr(kGroups, experts.count, 0, 0));
  experts.groups = std::max<int64_t>(1, experts.groups);
  if (experts.count % experts.groups != 0)
    return wrong(reader, kGroups, experts.groups,
                 "a divisor of the " + std::to_string(experts.count) + " experts");
  if (experts.groups == 1) {
    SINTER_TRY(reader.countOr(kUsed, experts.count, 0, 0));
    return {};
  }
  SINTER_ASSIGN(experts.usedGroups, reader.count(kUsed, experts.groups));
  return {};
}

// Which layers have experts, and how many a token passes.
static Result<void> readUsed(MetadataReader &reader, DecoderFeatures &f) {
  constexpr std::string_view kUsed = "expert_used_count", kLeading = "leading_dense_block_count",
                             kStep = "interleave_moe_layer_step", kEvery = "moe_every_n_layers";
  const ExpertFeatures &experts = f.experts;
  const size_t depth = f.layers.size();
  int64_t leading = 0, step = 1;
  if (experts.family.leadingDense) {
    SINTER_ASSIGN(leading, reader.countOr(kLeading, static_cast<int64_t>(depth), 0, 0));
  }
  if (experts.family.byStep) {
    SINTER_ASSIGN(step, reader.count(kStep, kMostLayers));
  }
  int64_t every = 0;
  if (experts.family.second) {
    SINTER_ASSIGN(every, reader.countOr(kEvery, kMostLayers, 0, 0));
  }
  const int64_t most = experts.count / experts.groups * experts.usedGroups;
  SINTER_ASSIGN(const auto used, reader.counts(kUsed, depth, kMostExperts, 1));
  const auto routed = [&](int64_t layer) {
    return !experts.family.byTensor ||
           reader.source().tensor(layerName(layer, kRouter) + ".weight").has_value();
  };
  for (size_t i = 0; i < depth; ++i) {
    if (used[i] > most)
      return wrong(reader, kUsed, used[i],
                   "at most the " + std::to_string(most) + " experts to choose from");
    const auto number = static_cast<int64_t>(i);
    const bool among = !experts.family.second || (every > 0 && number % every == 1);
    if (among && number >= leading && (number + 1) % step == 0 && routed(number))
      f.layers[i].experts.used = used[i];
  }
  return {};
}

static Result<void> readHidden(MetadataReader &reader, DecoderFeatures &f) {
  constexpr std::string_view kHidden = "expert_feed_forward_length", kAll = "feed_forward_length";
  const ExpertHidden rule = f.experts.family.hidden;
  std::vector<int64_t> hidden(f.layers.size(), 0);
  if (rule == ExpertHidden::Required) {
    SINTER_ASSIGN(hidden, reader.counts(kHidden, f.layers.size(), kMostExtent, 1));
  } else if (rule != ExpertHidden::Whole) {
    SINTER_ASSIGN(hidden, reader.countsOr(kHidden, f.layers.size(), kMostExtent, hidden, 0));
  }
  for (size_t i = 0; i < f.layers.size(); ++i) {
    LayerFeatures &layer = f.layers[i];
    if (layer.experts.used == 0)
      continue;
    const int64_t share = rule == ExpertHidden::Shared ? layer.experts.used : 1;
    layer.experts.hidden = hidden[i] ? hidden[i] : layer.feedForward / share;
    if (layer.experts.hidden == 0)
      return wrong(reader, kAll, layer.feedForward, "a hidden row for each expert");
    if (f.experts.family.beside == DenseBeside::Residual)
      layer.feedForward = f.width;
  }
  return {};
}

static Result<void> readShared(MetadataReader &reader, DecoderFeatures &f) {
  constexpr std::string_view kCount = "expert_shared_count",
                             kLength = "expert_shared_feed_forward_length";
  ExpertFeatures &experts = f.experts;
  const SharedExpert rule = experts.family.shared;
  if (rule == SharedExpert::None)
    return {};
  int64_t hidden = 0, feedForward = 0, length = 0;
  for (const LayerFeatures &layer : f.layers) {
    hidden = std::max(hidden, layer.experts.hidden);
    feedForward = std::max(feedForward, layer.feedForward);
  }
  if (rule != SharedExpert::One) {
    SINTER_ASSIGN(length, reader.countOr(kLength, kMostExtent, 0, 0));
  }
  if (rule == SharedExpert::Count) {
    SINTER_ASSIGN(const int64_t count, reader.count(kCount, kMostShared, 0));
    experts.sharedHidden = count * (length ? length : hidden);
    return {};
  }
  SINTER_ASSIGN(const int64_t count,
                reader.countOr(kCount, kMostShared, experts.family.sharedCount, 0));
  if (rule == SharedExpert::LengthOrCount)
    experts.sharedHidden = length && count ? length : count * hidden;
  else if (rule == SharedExpert::OptionalLength)
    experts.sharedHidden = length;
  else if (length)
    experts.sharedHidden = length;
  else
    experts.sharedHidden = rule == SharedExpert::Length ? feedForward : hidden;
  return {};
}

// As wide as a head where the file does not say.
static Result<void> readChunks(MetadataReader &reader, DecoderFeatures &f) {
  constexpr std::string_view kSharing = "experts_per_group";
  ExpertFeatures &experts = f.experts;
  if (!experts.family.chunks)
    return {};
  SINTER_ASSIGN(experts.sharing, reader.count(kSharing, experts.count));
  SINTER_ASSIGN(experts.chunkScale, reader.amount("expert_group_scale", 1e6));
  SINTER_ASSIGN(experts.chunkHidden,
                reader.countOr("expert_chunk_feed_forward_length", kMostExtent, 0, 0));
  for (const LayerFeatures &layer : f.layers)
    if (experts.count % experts.sharing != 0 ||
        layer.experts.used > experts.count / experts.sharing)
      return wrong(reader, kSharing, experts.sharing,
                   "a divisor of the " + std::to_string(experts.count) +
                       " experts that leaves as many as a token uses");
  if (experts.groups > 1)
    return fail(Code::Unsupported, "'" + reader.key("expert_group_count") + "' is " +
                                       std::to_string(experts.groups) + ", expected 1 in '" +
                                       std::string(f.family.architecture) + "'");
  return {};
}

// An array for all layers, or one number; 0 where the file has none.
static Result<void> readClamps(MetadataReader &reader, DecoderFeatures &f) {
  constexpr float kLeast = 1e-6f; // smaller ones are none, as for llama.cpp
  const auto clamps = [&](std::string_view name, float LayerExperts::*clamp) -> Result<void> {
    if (!reader.has(name))
      return {};
    SINTER_ASSIGN(const auto values, reader.reals(reader.key(name), f.layers.size()));
    for (size_t i = 0; i < f.layers.size(); ++i)
      f.layers[i].experts.*clamp = values[i] > kLeast ? values[i] : 0;
    return {};
  };
  if (!f.experts.family.clamped)
    return {};
  SINTER_TRY(clamps("swiglu_clamp_exp", &LayerExperts::clamp));
  return clamps("swiglu_clamp_shexp", &LayerExperts::sharedClamp);
}

// Families without experts ignore the count of a file that has none, as llama.cpp does.
static Result<void> checkNone(const MetadataReader &reader, const DecoderFeatures &f,
                              std::string_view key, int64_t count) {
  const auto isRouter = [](const std::string &name) {
    return name.ends_with("." + std::string(kRouter) + ".weight");
  };
  if (count <= 1 || !llvm::any_of(reader.source().tensorNames(), isRouter))
    return {};
  return fail(Code::Unsupported, "'" + reader.key(key) + "' is " + std::to_string(count) +
                                     ", expected 0: no support for experts in '" +
                                     std::string(f.family.architecture) + "'");
}

Result<void> readExperts(MetadataReader &reader, DecoderFeatures &f) {
  constexpr std::string_view kCount = "expert_count";
  const ExpertFamily *family = findExpertFamily(f.family.architecture);
  SINTER_ASSIGN(const int64_t count, reader.countOr(kCount, kMostExtent, 0, 0));
  if (!family)
    return checkNone(reader, f, kCount, count);
  if (family->optional && count <= 1)
    return {};
  if (count < 1 || count > kMostExperts)
    return wrong(reader, kCount, count, "1 to " + std::to_string(kMostExperts) + " experts");
  f.experts.family = *family;
  f.experts.count = count;
  SINTER_TRY(readRouter(reader, f.experts));
  SINTER_TRY(readGroups(reader, f.experts));
  SINTER_TRY(readUsed(reader, f));
  SINTER_TRY(readHidden(reader, f));
  SINTER_TRY(readClamps(reader, f));
  SINTER_TRY(readChunks(reader, f));
  return readShared(reader, f);
}

} // namespace sinter::models
