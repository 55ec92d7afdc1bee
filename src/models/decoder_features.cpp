// Reads and checks a decoder's metadata, key by key.
#include "tile/mlir_pch.h"

#include "format/known_names.h"
#include "models/decoder_features.h"
#include "models/tensor_names.h"

#include <cmath>
#include <set>

namespace sinter::models {

// Bounds beyond any model there is; within them, products of two extents fit 64 bits.
static constexpr int64_t kMostLayers = 4096;
static constexpr int64_t kMostExtent = 1 << 20;
static constexpr int64_t kMostHeads = 4096;
static constexpr int64_t kMostContext = int64_t(1) << 30;

namespace {

// Reads keys of an architecture, and knows in the end which ones nobody read.
class Reader {
public:
  Reader(const ModelSource &source, const DecoderFamily &family)
      : source_(source), prefix_(std::string(family.architecture) + "."),
        read_{"general.architecture"} {}

  std::string key(std::string_view name) const { return prefix_ + std::string(name); }
  bool has(std::string_view name) { return source_.has(read(name)); }

  // A required integer within [1, most].
  Result<int64_t> count(std::string_view name, int64_t most) {
    SINTER_ASSIGN(int64_t value, source_.integer(read(name)));
    return inRange(name, value, most);
  }
  Result<int64_t> countOr(std::string_view name, int64_t most, int64_t fallback) {
    if (!has(name))
      return inRange(name, fallback, most);
    return count(name, most);
  }
  // A required number above 0 and below `below`.
  Result<float> positive(std::string_view name, double below) {
    SINTER_ASSIGN(double value, source_.real(read(name)));
    if (std::isfinite(value) && value > 0 && value < below)
      return static_cast<float>(value);
    return fail(Code::Corrupt, "'" + key(name) + "' is " + std::to_string(value) +
                                   ", expected a number above 0 and below " +
                                   std::to_string(below));
  }
  Result<float> positiveOr(std::string_view name, double below, float fallback) {
    if (!has(name))
      return fallback;
    return positive(name, below);
  }
  // A number by which others are divided; 1 where it is absent or 0, which stands for none.
  Result<double> factorOr(std::string_view name) {
    constexpr double kMost = 1e6;
    if (!has(name))
      return 1.0;
    SINTER_ASSIGN(const double value, source_.real(key(name)));
    if (value == 0)
      return 1.0;
    if (value >= 1 / kMost && value <= kMost)
      return value;
    return fail(Code::Corrupt, "'" + key(name) + "' is " + std::to_string(value) +
                                   ", expected 0 or a number from " + std::to_string(1 / kMost) +
                                   " to " + std::to_string(kMost));
  }
  Result<std::string> textOr(std::string_view name, std::string_view fallback) {
    if (!has(name))
      return std::string(fallback);
    return source_.text(key(name));
  }
  Result<void> expect(std::string_view name, int64_t expected, std::string_view why) {
    if (!has(name))
      return {};
    SINTER_ASSIGN(int64_t value, source_.integer(key(name)));
    if (value == expected)
      return {};
    return fail(Code::Unsupported, "'" + key(name) + "' is " + std::to_string(value) +
                                       ", expected " + std::to_string(expected) + ": " +
                                       std::string(why));
  }
  Result<void> refuseUnread(std::string_view architecture) const;

private:
  std::string read(std::string_view name) { return *read_.insert(key(name)).first; }
  Result<int64_t> inRange(std::string_view name, int64_t value, int64_t most) const {
    if (value >= 1 && value <= most)
      return value;
    return fail(Code::Corrupt, "'" + key(name) + "' is " + std::to_string(value) +
                                   ", expected 1 to " + std::to_string(most));
  }

  const ModelSource &source_;
  std::string prefix_;
  std::set<std::string, std::less<>> read_;
};

} // namespace

// "is 4096, expected 0: no support for windowed attention in 'llama'"
static Fail unsupported(const std::string &key, const KnownName &row,
                        const std::vector<std::string> &values, std::string_view architecture) {
  constexpr size_t kMostBytes = 64;
  std::string neutral(row.neutral);
  for (size_t bar; (bar = neutral.find('|')) != std::string::npos;)
    neutral.replace(bar, 1, " or ");
  const std::string value = values.size() == 1 ? values[0].substr(0, kMostBytes) : "an array";
  return fail(Code::Unsupported, "'" + key + "' is " + value + ", expected " +
                                     (neutral.empty() ? "no such key" : neutral) + ": " +
                                     "no support for " + std::string(row.what) + " in '" +
                                     std::string(architecture) + "'");
}

// What the tokenizer's keys say is for those to check who read them.
Result<void> Reader::refuseUnread(std::string_view architecture) const {
  for (const std::string &key : source_.keys()) {
    const KnownName *row = findKnownKey(key, architecture);
    if (!row || row->effect == NameEffect::Harmless || read_.contains(key) ||
        key.starts_with("tokenizer."))
      continue;
    const std::vector<std::string> values = source_.texts(key);
    if (!areNeutral(*row, values))
      return unsupported(key, *row, values, architecture);
  }
  return {};
}

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

static Result<void> readHeads(Reader &reader, DecoderFeatures &f) {
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

// As llama.cpp reads it: a factor without a type is linear, 0 is none, and the attention factor
// counts whatever the type is.
static Result<RopeScaling> readRopeScaling(Reader &reader, const DecoderFeatures &f) {
  using Kind = RopeScaling::Kind;
  static constexpr std::string_view kType = "rope.scaling.type", kFactor = "rope.scaling.factor",
                                    kOldFactor = "rope.scale_linear";
  RopeScaling scaling;
  SINTER_ASSIGN(const std::string type, reader.textOr(kType, "linear"));
  if (type != "none" && type != "linear" && type != "yarn")
    return fail(Code::Unsupported, "'" + reader.key(kType) + "' is '" + type.substr(0, 64) +
                                       "', expected 'none', 'linear' or 'yarn'");
  const bool isOld = reader.has(kOldFactor) && !reader.has(kFactor);
  SINTER_ASSIGN(scaling.factor, reader.factorOr(isOld ? kOldFactor : kFactor));
  SINTER_ASSIGN(scaling.attentionFactor, reader.positiveOr("rope.scaling.attn_factor", 1e6, 1.0f));
  if (type == "none" || scaling.factor == 1)
    return scaling;
  scaling.kind = type == "yarn" ? Kind::Yarn : Kind::Linear;
  SINTER_ASSIGN(scaling.originalContext, reader.countOr("rope.scaling.original_context_length",
                                                        kMostContext, f.contextLength));
  if (scaling.kind == Kind::Yarn && f.ropeBase <= 1)
    return fail(Code::Corrupt, "'" + reader.key("rope.freq_base") + "' is " +
                                   std::to_string(f.ropeBase) + ", expected more than 1 for YaRN");
  return scaling;
}

static Result<void> readRope(Reader &reader, DecoderFeatures &f) {
  SINTER_ASSIGN(f.ropeDims, reader.countOr("rope.dimension_count", kMostExtent, f.headDim));
  if (f.ropeDims > f.headDim || f.ropeDims % 2 != 0)
    return fail(Code::Corrupt,
                "'" + reader.key("rope.dimension_count") + "' is " + std::to_string(f.ropeDims) +
                    ", expected an even number of at most " + std::to_string(f.headDim));
  SINTER_ASSIGN(f.ropeBase, reader.positiveOr("rope.freq_base", 1e12, 10000.0f));
  SINTER_ASSIGN(f.ropeScaling, readRopeScaling(reader, f));
  return {};
}

static Result<void> readVocabulary(const ModelSource &source, Reader &reader, DecoderFeatures &f) {
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
  SINTER_TRY(readRope(reader, f));
  SINTER_TRY(readVocabulary(source, reader, f));
  SINTER_TRY(reader.refuseUnread(f.family.architecture));
  return f;
}

} // namespace sinter::models
