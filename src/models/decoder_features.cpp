// Reads and checks a decoder's metadata, key by key, as its family says.
#include "tile/mlir_pch.h"

#include "base/nearest.h"
#include "models/decoder_features.h"
#include "models/layer_features.h"
#include "models/metadata_reader.h"
#include "models/tensor_names.h"

#include <cmath>

namespace sinter::models {

static constexpr double kMostScale = 1e6;
static constexpr int64_t kAltupLayerWidth = 256; // of each layer's embedding, where no key says

static Result<DecoderFamily> findFamily(const ModelSource &source) {
  SINTER_ASSIGN(const std::string name, source.text("general.architecture"));
  if (const DecoderFamily *family = findDecoderFamily(name))
    return *family;
  const std::vector<std::string> known = architectures();
  return fail(Code::Unsupported, "the model's architecture is '" + name.substr(0, 64) + "'" +
                                     nearestHint(name, known) + ", expected one of the " +
                                     std::to_string(known.size()) +
                                     " that `sinter-compiler architectures` lists");
}

// Windows of tokens that see both ways are symmetric, and no others are.
static Result<void> readDirection(MetadataReader &reader, DecoderFeatures &f) {
  SINTER_ASSIGN(const bool causal, reader.flagOr("attention.causal", !f.family.encoder));
  f.bothWays = !causal;
  const bool windowed =
      llvm::any_of(f.layers, [](const LayerFeatures &layer) { return layer.window > 0; });
  if (!windowed || f.family.symmetricWindow == f.bothWays)
    return {};
  return fail(Code::Unsupported, "'" + reader.key("attention.causal") + "' is " +
                                     (causal ? "true" : "false") + ", expected " +
                                     (causal ? "false" : "true") + " with the windows of '" +
                                     std::string(f.family.architecture) + "'");
}

// Of llama.cpp's names for gated activations those that encoders have.
static Result<void> readActivation(MetadataReader &reader, DecoderFeatures &f) {
  constexpr std::string_view kName = "hidden_activation";
  if (!f.family.activationByKey || !reader.has(kName))
    return {};
  SINTER_ASSIGN(const std::string name, reader.textOr(kName, ""));
  if (name == "silu" || name == "swish" || name == "swiglu")
    f.family.activation = Activation::Silu;
  else if (name != "gelu" && name != "geglu")
    return fail(Code::Unsupported, "'" + reader.key(kName) + "' is '" + name.substr(0, 64) +
                                       "', expected gelu, geglu, silu, swish or swiglu");
  return {};
}

static Result<void> readNorms(MetadataReader &reader, DecoderFeatures &f) {
  constexpr float kQkEpsilon = 1e-5f; // of layer norms in decoders whose other norms are not
  if (f.family.normKindByKey) {
    SINTER_ASSIGN(const float rms, reader.amountOr("attention.layer_norm_rms_epsilon", 1.0, 0));
    f.family.norm = rms > 0 ? NormKind::Rms : NormKind::Layer;
  }
  const bool rms = f.family.norm == NormKind::Rms;
  SINTER_ASSIGN(f.normEps, reader.amount(rms ? "attention.layer_norm_rms_epsilon"
                                             : "attention.layer_norm_epsilon",
                                         1.0));
  f.qkNormEps = f.family.qkNormKind == f.family.norm ? f.normEps : kQkEpsilon;
  if (f.family.placeByKey) {
    SINTER_ASSIGN(f.normsAfter, reader.flagOr("swin_norm", false));
  }
  f.parallel = f.family.parallel == Parallel::Yes;
  if (f.family.parallel == Parallel::ByKey) {
    SINTER_ASSIGN(f.parallel, reader.flagOr("use_parallel_residual", true));
  }
  return {};
}

static Result<void> readScales(MetadataReader &reader, DecoderFeatures &f) {
  const DecoderFamily &family = f.family;
  const auto width = static_cast<float>(f.width);
  const auto orOne = [](float value) { return value == 0 ? 1.0f : value; };
  if (family.embeddingScale == EmbeddingScale::RootOfWidth)
    f.embeddingScale = std::sqrt(width);
  if (family.embeddingScale == EmbeddingScale::Key) {
    const float standard = family.scalesByDepth ? 12.0f : family.embeddingScaleDefault;
    SINTER_ASSIGN(f.embeddingScale, reader.amountOr("embedding_scale", kMostScale, standard));
    f.embeddingScale = orOne(f.embeddingScale);
  }
  if (family.residualScale) {
    const auto depth = static_cast<float>(f.layers.size());
    const float standard = family.scalesByDepth ? 1.4f / std::sqrt(depth) : 1.0f;
    SINTER_ASSIGN(f.residualScale, reader.amountOr("residual_scale", kMostScale, standard));
    f.residualScale = orOne(f.residualScale);
  }
  if (family.logitScale != LogitScale::None) {
    const float standard = family.scalesByDepth ? 256.0f / width : family.logitScaleDefault;
    SINTER_ASSIGN(f.logitScale, reader.amountOr("logit_scale", kMostScale, standard));
    f.logitScale = orOne(f.logitScale);
  }
  if (family.logitScale == LogitScale::Divides)
    f.logitScale = 1.0f / f.logitScale;
  return {};
}

static Result<void> readAttention(MetadataReader &reader, DecoderFeatures &f) {
  const DecoderFamily &family = f.family;
  const auto depth = static_cast<int64_t>(f.layers.size());
  if (family.alibi > 0 && (family.alibiDepth == 0 || family.alibiDepth == depth))
    f.alibi = family.alibi;
  if (family.alibiByKey) {
    SINTER_ASSIGN(f.alibi, reader.amountOr("attention.max_alibi_bias", 1e3, 0));
  }
  if (family.clampsQkv) {
    SINTER_ASSIGN(f.clampQkv, reader.amountOr("attention.clamp_kqv", kMostScale, 0));
  }
  if (family.attentionScaleByKey) {
    SINTER_ASSIGN(f.attentionScale, reader.amountOr("attention.scale", kMostScale, 0));
  }
  if (family.attentionScaleOne)
    f.attentionScale = 1;
  if (family.outputScaleDefault > 0) {
    SINTER_ASSIGN(f.attentionScale, reader.positiveOr("attention.output_scale", kMostScale,
                                                      family.outputScaleDefault));
  }
  if (family.valueScale) {
    SINTER_ASSIGN(f.valueScale, reader.amountOr("attention.value_scale", kMostScale, 0));
    f.valueScale = f.valueScale == 0 ? 1 : f.valueScale;
  }
  if (family.perLayerEmbedding) {
    SINTER_ASSIGN(f.perLayerWidth, reader.countOr("embedding_length_per_layer_input", kMostExtent,
                                                  family.altup ? kAltupLayerWidth : 0, 0));
  }
  if (family.attentionScaleLinear)
    f.attentionScale = 1.0f / static_cast<float>(f.headDim);
  if (family.attentionScaleOfWidth == depth && f.heads > 0)
    f.attentionScale = 1.0f / std::sqrt(static_cast<float>(f.width / f.heads));
  if (family.attentionSoftCap > 0) {
    SINTER_ASSIGN(f.attentionSoftCap,
                  reader.amountOr("attn_logit_softcapping", kMostScale, family.attentionSoftCap));
  }
  if (family.logitSoftCap) {
    SINTER_ASSIGN(f.logitSoftCap, reader.amountOr("final_logit_softcapping", kMostScale,
                                                  family.logitSoftCapDefault));
  }
  f.positions.length = static_cast<float>(f.rope.scaling.originalContext);
  if (family.positionScale == PositionScale::Key) {
    SINTER_ASSIGN(f.positions.scale, reader.amountOr("attention.temperature_scale", kMostScale, 0));
  } else if (family.positionScale == PositionScale::Unrotated) {
    f.positions = {.scale = 0.1f, .offset = 1, .length = 8192};
  }
  if (family.qkNormlessExperts && f.experts.count == family.qkNormlessExperts)
    f.family.qkNorm = QkNorm::None;
  return {};
}

static Result<void> readVocabulary(MetadataReader &reader, DecoderFeatures &f) {
  const ModelSource &source = reader.source();
  const std::optional<TensorInfo> table = source.tensor(kTokenEmbedding);
  if (!table || table->shape.size() != 2)
    return fail(Code::NotFound, "the model has no matrix '" + std::string(kTokenEmbedding) +
                                    "', expected one row per token");
  f.vocabulary = table->shape[0];
  f.tiedOutput = f.family.tied || !source.tensor(kOutput);
  if (f.vocabulary > INT32_MAX)
    return fail(Code::Corrupt, "'" + std::string(kTokenEmbedding) + "' has " +
                                   std::to_string(f.vocabulary) + " rows, expected at most " +
                                   std::to_string(INT32_MAX));
  return reader.expect("vocab_size", f.vocabulary, "the embedding's rows");
}

bool DecoderFeatures::hasWindowGroup() const {
  const auto anyLayer = [&](bool lessBack) {
    return llvm::any_of(layers, [&](const LayerFeatures &layer) {
      return layer.attends() && looksBackLess(layer) == lessBack;
    });
  };
  return !bothWays && anyLayer(true) && anyLayer(false);
}

Result<DecoderFeatures> readDecoder(const ModelSource &source) {
  DecoderFeatures f;
  SINTER_ASSIGN(f.family, findFamily(source));
  MetadataReader reader(source, f.family.architecture);
  SINTER_ASSIGN(f.width, reader.count("embedding_length", kMostExtent));
  SINTER_ASSIGN(f.contextLength, reader.count("context_length", kMostContext));
  SINTER_TRY(readLayers(reader, f));
  SINTER_TRY(readDirection(reader, f));
  SINTER_TRY(readActivation(reader, f));
  SINTER_TRY(readNorms(reader, f));
  SINTER_TRY(readRope(reader, f));
  SINTER_TRY(readScales(reader, f));
  SINTER_TRY(readAttention(reader, f));
  SINTER_TRY(readVocabulary(reader, f));
  f.unusedKeys = reader.unread(f.family.architecture);
  return f;
}

} // namespace sinter::models
