// Counts, heads, hidden rows and windows, layer by layer.
#include "tile/mlir_pch.h"

#include "models/layer_features.h"

#include <numeric>

namespace sinter::models {
namespace {

// Head sizes of layers without and with a window.
struct HeadSizes {
  int64_t key = 0, value = 0;
};

} // namespace

// The file's layers that the step runs: those that predict further tokens are left out.
static Result<size_t> readDepth(MetadataReader &reader, DecoderFeatures &f) {
  SINTER_ASSIGN(f.blocks, reader.count("block_count", kMostLayers));
  SINTER_ASSIGN(const int64_t further, reader.countOr("nextn_predict_layers", f.blocks - 1, 0, 0));
  return static_cast<size_t>(f.blocks - further);
}

static Result<void> readHeadCounts(MetadataReader &reader, DecoderFeatures &f) {
  const size_t depth = f.layers.size();
  SINTER_ASSIGN(const auto heads, reader.counts("attention.head_count", depth, kMostHeads, 0));
  SINTER_ASSIGN(const auto kvHeads,
                reader.countsOr("attention.head_count_kv", depth, kMostHeads, heads, 0));
  for (size_t i = 0; i < depth; ++i) {
    LayerFeatures &layer = f.layers[i];
    layer.heads = heads[i];
    layer.kvHeads = kvHeads[i];
    if (layer.attends() && layer.heads % layer.kvHeads != 0)
      return fail(Code::Corrupt, "'" + reader.key("attention.head_count_kv") + "' is " +
                                     std::to_string(layer.kvHeads) +
                                     ", expected a divisor of the " + std::to_string(layer.heads) +
                                     " heads");
    f.heads = std::max(f.heads, layer.heads);
    f.kvHeads = std::max(f.kvHeads, layer.kvHeads);
  }
  if (f.heads > 0 && f.kvHeads > 0)
    return {};
  return fail(Code::Corrupt,
              "'" + reader.key(f.heads > 0 ? "attention.head_count_kv" : "attention.head_count") +
                  "' is 0 for each layer, expected at least one with attention");
}

static Result<HeadSizes> readHeadSizes(MetadataReader &reader, const std::string &suffix,
                                       HeadSizes standard) {
  HeadSizes sizes;
  SINTER_ASSIGN(sizes.key,
                reader.countOr("attention.key_length" + suffix, kMostExtent, standard.key));
  SINTER_ASSIGN(sizes.value,
                reader.countOr("attention.value_length" + suffix, kMostExtent, standard.value));
  return sizes;
}

static Result<void> readHeads(MetadataReader &reader, DecoderFeatures &f) {
  SINTER_TRY(readHeadCounts(reader, f));
  // Without the key, heads split the row; where they do not, the fallback of 0 is refused. As for
  // llama.cpp, the first layer's heads do.
  const int64_t first = f.layers[0].heads ? f.layers[0].heads : f.heads;
  const int64_t split = f.width % first == 0 ? f.width / first : 0;
  SINTER_ASSIGN(const HeadSizes full, readHeadSizes(reader, "", {split, split}));
  SINTER_ASSIGN(const HeadSizes windowed, readHeadSizes(reader, "_swa", full));
  f.headDim = full.key;
  for (LayerFeatures &layer : f.layers) {
    const HeadSizes &sizes = layer.windowed ? windowed : full;
    layer.headDim = sizes.key;
    layer.valueDim = sizes.value;
  }
  return {};
}

// Models whose layers all have experts need no such key.
static Result<void> readHidden(MetadataReader &reader, DecoderFeatures &f) {
  constexpr std::string_view kName = "feed_forward_length";
  const ExpertFamily *experts = findExpertFamily(f.family.architecture);
  std::vector<int64_t> hidden(f.layers.size(), 0);
  if (reader.has(kName) || !experts || experts->optional) {
    SINTER_ASSIGN(hidden, reader.counts(kName, f.layers.size(), kMostExtent, 0));
  }
  for (size_t i = 0; i < f.layers.size(); ++i) {
    if (hidden[i] % f.family.hiddenDivisor != 0)
      return fail(Code::Corrupt, "'" + reader.key("feed_forward_length") + "' is " +
                                     std::to_string(hidden[i]) + ", expected a multiple of " +
                                     std::to_string(f.family.hiddenDivisor));
    f.layers[i].feedForward = hidden[i] / f.family.hiddenDivisor;
  }
  return {};
}

static Result<void> checkLastLayer(const MetadataReader &reader, const DecoderFeatures &f) {
  if (f.layers.back().feedForward > 0 || f.layers.back().experts.used > 0)
    return {};
  return fail(Code::Unsupported, "'" + reader.key("feed_forward_length") +
                                     "' is 0 for the last layer, expected a feed-forward there");
}

// Which layers have a window: the file's array, or all but the last of each `pattern`.
static Result<std::vector<int64_t>> readPattern(MetadataReader &reader, const DecoderFeatures &f) {
  constexpr std::string_view kName = "attention.sliding_window_pattern";
  const size_t depth = f.layers.size();
  int64_t pattern = f.family.windowPattern;
  if (reader.has(kName)) {
    SINTER_ASSIGN(const auto values, reader.integers(kName, 0, kMostLayers));
    if (values.size() > 1 || (depth == 1 && !reader.source().integer(reader.key(kName))))
      return reader.counts(kName, depth, 1, 0);
    pattern = values[0];
  } else if (f.family.window == WindowRule::Required && !pattern) {
    return fail(Code::NotFound, "no key '" + reader.key(kName) + "'");
  }
  std::vector<int64_t> windowed;
  for (int64_t i = 0; i < static_cast<int64_t>(depth); ++i)
    windowed.push_back(pattern == 0 ||
                       (f.family.windowsFollow ? i % pattern != 0 : i % pattern < pattern - 1));
  return windowed;
}

static Result<void> readWindows(MetadataReader &reader, DecoderFeatures &f) {
  constexpr std::string_view kName = "attention.sliding_window";
  const DecoderFamily &family = f.family;
  if (family.window == WindowRule::None)
    return {};
  const bool required = family.window == WindowRule::Required;
  const int64_t least = family.window == WindowRule::NeverNone ? 1 : 0;
  SINTER_ASSIGN(int64_t window,
                required ? reader.count(kName, kMostContext)
                         : reader.countOr(kName, kMostContext, family.windowDefault, least));
  const auto depth = static_cast<int64_t>(f.layers.size());
  if (window == 0 || (family.windowedDepth && family.windowedDepth != depth))
    return {};
  if (family.windowFixed)
    window = family.windowFixed;
  SINTER_ASSIGN(const std::vector<int64_t> windowed, readPattern(reader, f));
  for (size_t i = 0; i < f.layers.size(); ++i)
    if (windowed[i]) {
      f.layers[i].windowed = true;
      (family.chunked ? f.layers[i].chunk : f.layers[i].window) = window;
    }
  return {};
}

static Result<void> readXielu(MetadataReader &reader, DecoderFeatures &f) {
  if (f.family.activation != Activation::Xielu)
    return {};
  const size_t depth = f.layers.size();
  SINTER_ASSIGN(const auto negative, reader.reals("xielu.alpha_n", depth));
  SINTER_ASSIGN(const auto positive, reader.reals("xielu.alpha_p", depth));
  SINTER_ASSIGN(const auto beta, reader.reals("xielu.beta", depth));
  SINTER_ASSIGN(const auto epsilon, reader.reals("xielu.eps", depth));
  for (size_t i = 0; i < depth; ++i)
    f.layers[i].xielu = {negative[i], positive[i], beta[i], epsilon[i]};
  return {};
}

// The stack again and again, each time with keys and values of its own.
static Result<void> readLoops(MetadataReader &reader, DecoderFeatures &f) {
  if (!f.family.loops)
    return {};
  SINTER_ASSIGN(
      const int64_t loops,
      reader.countOr("num_loops", kMostLayers / static_cast<int64_t>(f.layers.size()), 1));
  SINTER_ASSIGN(const bool skips, reader.flagOr("skip_loop_final_norm", false));
  const std::vector<LayerFeatures> once = f.layers;
  for (int64_t i = 1; i < loops; ++i) {
    f.layers.back().normsResult = !skips;
    f.layers.insert(f.layers.end(), once.begin(), once.end());
  }
  return {};
}

// Cycles of both stacks, each time with keys and values of its own. block_count counts all of them.
static Result<void> readCycles(MetadataReader &reader, DecoderFeatures &f) {
  if (!f.family.cycles)
    return {};
  const auto depth = static_cast<int64_t>(f.layers.size());
  SINTER_ASSIGN(const int64_t length, reader.count("hrm.layers_per_stack", kMostLayers));
  SINTER_ASSIGN(const int64_t high, reader.count("hrm.h_cycles", kMostLayers));
  SINTER_ASSIGN(const int64_t low, reader.count("hrm.l_cycles", kMostLayers));
  const int64_t expected = length * high * (low + 1);
  if (depth != expected)
    return fail(Code::Corrupt, "'" + reader.key("block_count") + "' is " + std::to_string(depth) +
                                   ", expected " + std::to_string(expected) + ": " +
                                   std::to_string(high) + " cycles of " + std::to_string(low) +
                                   " + 1 stacks of " + std::to_string(length) + " layers");
  for (int64_t i = 0; i < depth; ++i) {
    LayerFeatures &layer = f.layers[static_cast<size_t>(i)];
    layer.stack = i / length % (low + 1) == low ? Stack::High : Stack::Low;
    layer.block = i % length + (layer.stack == Stack::High ? length : 0);
    layer.beginsStack = i % length == 0;
    layer.normsResult = i % length == length - 1;
  }
  f.blocks = 2 * length;
  return {};
}

// The last layers read the keys and values of the last layer of their kind that has its own.
static Result<void> readSharedKv(MetadataReader &reader, DecoderFeatures &f) {
  constexpr std::string_view kName = "attention.shared_kv_layers";
  const auto depth = static_cast<int64_t>(f.layers.size());
  const int64_t standard =
      f.family.ownKvLayers ? std::max<int64_t>(0, depth - f.family.ownKvLayers) : 0;
  if (!f.family.sharedKv && standard == 0)
    return {};
  SINTER_ASSIGN(const int64_t shared, reader.countOr(kName, depth - 1, standard, 0));
  const int64_t own = depth - shared;
  for (int64_t i = own; i < depth; ++i) {
    LayerFeatures &layer = f.layers[static_cast<size_t>(i)];
    layer.kvOf = own - (layer.windowed ? 2 : 1);
    const bool alike = layer.kvOf >= 0 &&
                       f.layers[static_cast<size_t>(layer.kvOf)].windowed == layer.windowed &&
                       f.layers[static_cast<size_t>(layer.kvOf)].kvHeads == layer.kvHeads;
    if (!alike)
      return fail(Code::Corrupt, "'" + reader.key(kName) + "' is " + std::to_string(shared) +
                                     ", so that layer " + std::to_string(i) +
                                     " would read the keys of layer " + std::to_string(layer.kvOf) +
                                     ", expected one like it");
  }
  return {};
}

Result<void> readLayers(MetadataReader &reader, DecoderFeatures &f) {
  SINTER_ASSIGN(const size_t depth, readDepth(reader, f));
  f.layers.resize(depth);
  for (size_t i = 0; i < depth; ++i)
    f.layers[i].block = static_cast<int64_t>(i);
  SINTER_TRY(readWindows(reader, f));
  SINTER_TRY(readHidden(reader, f));
  SINTER_TRY(readExperts(reader, f));
  SINTER_TRY(checkLastLayer(reader, f));
  SINTER_TRY(readHeads(reader, f));
  SINTER_TRY(readRecurrence(reader, f));
  SINTER_TRY(readXielu(reader, f));
  SINTER_TRY(readSharedKv(reader, f));
  SINTER_TRY(readCycles(reader, f));
  return readLoops(reader, f);
}

} // namespace sinter::models
