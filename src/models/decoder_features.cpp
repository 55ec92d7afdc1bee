// Reads and checks a decoder's metadata, key by key.
#include "tile/mlir_pch.h"

#include "models/decoder_features.h"
#include "models/tensor_names.h"

#include <cmath>

namespace sinter::models {

// Bounds beyond any model there is; within them, products of two extents fit 64 bits.
static constexpr int64_t kMostLayers = 4096;
static constexpr int64_t kMostExtent = 1 << 20;
static constexpr int64_t kMostHeads = 4096;
static constexpr int64_t kMostContext = int64_t(1) << 30;

namespace {

class Reader {
public:
  Reader(const ModelSource &source, const DecoderFamily &family)
      : source_(source), prefix_(std::string(family.architecture) + ".") {}

  std::string key(std::string_view name) const { return prefix_ + std::string(name); }

  // A required integer within [1, most].
  Result<int64_t> count(std::string_view name, int64_t most) const {
    SINTER_ASSIGN(int64_t value, source_.integer(key(name)));
    return inRange(name, value, most);
  }
  Result<int64_t> countOr(std::string_view name, int64_t most, int64_t fallback) const {
    if (!source_.has(key(name)))
      return inRange(name, fallback, most);
    return count(name, most);
  }
  // A required number above 0 and below `below`.
  Result<float> positive(std::string_view name, double below) const {
    SINTER_ASSIGN(double value, source_.real(key(name)));
    if (std::isfinite(value) && value > 0 && value < below)
      return static_cast<float>(value);
    return fail(Code::Corrupt, "'" + key(name) + "' is " + std::to_string(value) +
                                   ", expected a number above 0 and below " +
                                   std::to_string(below));
  }
  Result<float> positiveOr(std::string_view name, double below, float fallback) const {
    if (!source_.has(key(name)))
      return fallback;
    return positive(name, below);
  }
  // A feature that must be absent, or have the one value that changes nothing.
  Result<void> refuse(std::string_view name, int64_t harmless) const {
    if (!source_.has(key(name)))
      return {};
    SINTER_ASSIGN(int64_t value, source_.integer(key(name)));
    if (value == harmless)
      return {};
    return fail(Code::Unsupported, "'" + key(name) + "' is " + std::to_string(value) +
                                       ", which this decoder has no form for");
  }
  Result<void> expect(std::string_view name, int64_t expected, std::string_view why) const {
    if (!source_.has(key(name)))
      return {};
    SINTER_ASSIGN(int64_t value, source_.integer(key(name)));
    if (value == expected)
      return {};
    return fail(Code::Unsupported, "'" + key(name) + "' is " + std::to_string(value) +
                                       ", expected " + std::to_string(expected) + ": " +
                                       std::string(why));
  }

private:
  Result<int64_t> inRange(std::string_view name, int64_t value, int64_t most) const {
    if (value >= 1 && value <= most)
      return value;
    return fail(Code::Corrupt, "'" + key(name) + "' is " + std::to_string(value) +
                                   ", expected 1 to " + std::to_string(most));
  }

  const ModelSource &source_;
  std::string prefix_;
};

} // namespace

static Result<DecoderFamily> findFamily(const ModelSource &source) {
  SINTER_ASSIGN(std::string name, source.text("general.architecture"));
  std::string known;
  for (const DecoderFamily &family : kDecoderFamilies) {
    if (family.architecture == name)
      return family;
    known += (known.empty() ? "" : ", ") + std::string(family.architecture);
  }
  return fail(Code::Unsupported,
              "the model's architecture is '" + name + "', expected one of: " + known);
}

static Result<void> readHeads(const Reader &reader, DecoderFeatures &f) {
  SINTER_ASSIGN(f.heads, reader.count("attention.head_count", kMostHeads));
  SINTER_ASSIGN(f.kvHeads, reader.countOr("attention.head_count_kv", kMostHeads, f.heads));
  if (f.heads % f.kvHeads != 0)
    return fail(Code::Corrupt, "'" + reader.key("attention.head_count_kv") + "' is " +
                                   std::to_string(f.kvHeads) + ", expected a divisor of the " +
                                   std::to_string(f.heads) + " heads");
  // Without the key, heads split the row; where they do not, the fallback of 0 is refused.
  int64_t split = f.width % f.heads == 0 ? f.width / f.heads : 0;
  SINTER_ASSIGN(f.headDim, reader.countOr("attention.key_length", kMostExtent, split));
  return reader.expect("attention.value_length", f.headDim, "keys and values of one length");
}

static Result<void> readRope(const ModelSource &source, const Reader &reader, DecoderFeatures &f) {
  SINTER_ASSIGN(f.ropeDims, reader.countOr("rope.dimension_count", kMostExtent, f.headDim));
  if (f.ropeDims > f.headDim || f.ropeDims % 2 != 0)
    return fail(Code::Corrupt,
                "'" + reader.key("rope.dimension_count") + "' is " + std::to_string(f.ropeDims) +
                    ", expected an even number of at most " + std::to_string(f.headDim));
  SINTER_ASSIGN(f.ropeBase, reader.positiveOr("rope.freq_base", 1e12, 10000.0f));
  std::string scaling = reader.key("rope.scaling.type");
  if (!source.has(scaling))
    return {};
  SINTER_ASSIGN(std::string type, source.text(scaling));
  if (type == "none")
    return {};
  return fail(Code::Unsupported, "'" + scaling + "' is '" + type + "', expected 'none'");
}

static Result<void> readVocabulary(const ModelSource &source, const Reader &reader,
                                   DecoderFeatures &f) {
  std::optional<TensorInfo> table = source.tensor(kTokenEmbedding);
  if (!table || table->shape.size() != 2)
    return fail(Code::NotFound, "the model has no matrix '" + std::string(kTokenEmbedding) +
                                    "', expected one row per token");
  f.vocabulary = table->shape[0];
  f.tiedOutput = !source.tensor(kOutput);
  if (f.vocabulary > INT32_MAX)
    return fail(Code::Corrupt, "'" + std::string(kTokenEmbedding) + "' has " +
                                   std::to_string(f.vocabulary) + " rows, expected at most " +
                                   std::to_string(INT32_MAX));
  return reader.expect("vocab_size", f.vocabulary, "the embedding's rows");
}

Result<DecoderFeatures> readDecoder(const ModelSource &source) {
  DecoderFeatures f;
  SINTER_ASSIGN(f.family, findFamily(source));
  Reader reader(source, f.family);
  SINTER_ASSIGN(f.layers, reader.count("block_count", kMostLayers));
  SINTER_ASSIGN(f.width, reader.count("embedding_length", kMostExtent));
  SINTER_ASSIGN(f.feedForward, reader.count("feed_forward_length", kMostExtent));
  SINTER_ASSIGN(f.contextLength, reader.count("context_length", kMostContext));
  SINTER_ASSIGN(f.normEps, reader.positive("attention.layer_norm_rms_epsilon", 1.0));
  SINTER_TRY(readHeads(reader, f));
  SINTER_TRY(readRope(source, reader, f));
  SINTER_TRY(reader.refuse("expert_count", 0));
  SINTER_TRY(reader.refuse("attention.sliding_window", 0));
  SINTER_TRY(readVocabulary(source, reader, f));
  return f;
}

} // namespace sinter::models
