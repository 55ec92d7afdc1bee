// Tables of schemes, exceptions and stand-ins. Names, numbers and layers are ggml's, so that files
// are what users expect by the same name.
#include "host/quantize/scheme.h"

#include "numeric/quantize/block_fit.h"

#include <algorithm>
#include <charconv>
#include <strings.h>

namespace sinter::host {
namespace {

using enum TensorType;

constexpr std::string_view kOutput = "output.weight", kEmbedding = "token_embd.weight";

constexpr SchemeException kQ4KS[] = {{kOutput, LayerSet::All, Q6_K},
                                     {"attn_v.weight", LayerSet::FirstFour, Q5_K},
                                     {"ffn_down", LayerSet::FirstEighth, Q5_K}};
constexpr SchemeException kQ4KM[] = {{kOutput, LayerSet::All, Q6_K},
                                     {"attn_v.weight", LayerSet::MoreBits, Q6_K},
                                     {"attn_qkv.weight", LayerSet::All, Q5_K},
                                     {"ffn_down", LayerSet::MoreBits, Q6_K}};
constexpr SchemeException kQ5KS[] = {{kOutput, LayerSet::All, Q6_K}};
constexpr SchemeException kQ5KM[] = {{kOutput, LayerSet::All, Q6_K},
                                     {"attn_v.weight", LayerSet::MoreBits, Q6_K},
                                     {"attn_qkv.weight", LayerSet::All, Q6_K},
                                     {"ffn_down", LayerSet::MoreBits, Q6_K}};

constexpr QuantizeScheme kSchemes[] = {
    {"F32", F32, 0},
    {"F16", F16, 1},
    {"BF16", BF16, 32},
    {"Q4_0", Q4_0, 2},
    {"Q4_1", Q4_1, 3},
    {"Q5_0", Q5_0, 8},
    {"Q5_1", Q5_1, 9},
    {"Q8_0", Q8_0, 7},
    {"Q2_K", Q2_K, 10},
    {"Q3_K", Q3_K, 11},
    {"Q4_K", Q4_K, 14},
    {"Q5_K", Q5_K, 16},
    {"Q6_K", Q6_K, 18},
    {"IQ4_NL", IQ4_NL, 25},
    {"IQ4_XS", IQ4_XS, 30},
    {"MXFP4", MXFP4, 38},
    {"NVFP4", NVFP4, 39},
    {"TQ2_0", TQ2_0, 37},
    {"Q1_0", Q1_0, 40},
    {"Q2_0", Q2_0, 41},
    {"Q4_K_S", Q4_K, 14, kQ4KS},
    {"Q4_K_M", Q4_K, 15, kQ4KM},
    {"Q5_K_S", Q5_K, 16, kQ5KS},
    {"Q5_K_M", Q5_K, 17, kQ5KM},
};

// For rows that are no whole blocks.
struct StandIn {
  TensorType wanted;
  TensorType type;
};
constexpr StandIn kStandIns[] = {
    {Q2_K, Q4_0},  {Q3_K, Q4_0},     {Q4_K, Q5_0},  {Q5_K, Q5_1}, {Q6_K, Q8_0},
    {TQ2_0, Q4_0}, {IQ4_XS, IQ4_NL}, {NVFP4, Q4_0}, {Q1_0, Q4_0}, {Q2_0, Q4_0},
};

// Parts of names of matrices that keep their type.
constexpr std::string_view kKept[] = {"_norm.weight",
                                      "ffn_gate_inp",
                                      "position_embd.weight",
                                      "token_types.weight",
                                      "ssm_conv1d",
                                      "shortconv.conv",
                                      "altup",
                                      "laurel",
                                      "per_layer_model_proj"};

bool sameName(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

bool holds(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

bool isQuantizable(const GgufTensor &tensor) {
  const BlockFormat &format = *tensor.format;
  const bool integers = format.isPlain() && format.code.number == Number::Signed;
  const bool kept =
      std::ranges::any_of(kKept, [&](std::string_view part) { return holds(tensor.name, part); });
  return tensor.rank > 1 && tensor.name.ends_with("weight") && !integers && !kept;
}

// Of "blk.7.attn_v.weight" 7.
std::optional<uint32_t> layerOf(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  uint32_t layer = 0;
  if (!name.starts_with(kPrefix))
    return std::nullopt;
  const char *end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + kPrefix.size(), end, layer);
  return parsed.ec == std::errc() ? std::optional(layer) : std::nullopt;
}

bool isIn(LayerSet set, std::optional<uint32_t> layer, uint64_t layers) {
  if (set == LayerSet::All)
    return true;
  if (!layer)
    return false;
  const uint64_t eighth = layers / 8;
  switch (set) {
  case LayerSet::FirstFour:
    return *layer < 4;
  case LayerSet::FirstEighth:
    return *layer < eighth;
  default:
    return *layer < eighth || *layer >= 7 * layers / 8 || (*layer - eighth) % 3 == 2;
  }
}

class Chooser {
public:
  Chooser(const GgufFile &model, const QuantizeTypes &types)
      : types_(types), tied_(!model.findTensor(kOutput)) {
    for (const GgufTensor &tensor : model.tensors())
      if (const auto layer = layerOf(tensor.name))
        layers_ = std::max(layers_, uint64_t{*layer} + 1);
  }

  TensorChoice choose(const GgufTensor &tensor) const {
    if (!isQuantizable(tensor))
      return {tensor.format, nullptr};
    const BlockFormat &wanted = this->wanted(tensor.name);
    const BlockFormat &fitting = fit(wanted, tensor.dims[0]);
    return {&fitting, &fitting == &wanted ? nullptr : &wanted};
  }

private:
  const BlockFormat &wanted(std::string_view name) const {
    if (name == kEmbedding && types_.embedding)
      return *types_.embedding;
    // An embedding that is the output matrix too is treated as that.
    const std::string_view as = name == kEmbedding && tied_ ? kOutput : name;
    if (as == kOutput && types_.output)
      return *types_.output;
    for (const SchemeException &exception : types_.scheme->exceptions)
      if (holds(as, exception.part) && isIn(exception.layers, layerOf(name), layers_))
        return blockFormat(exception.type);
    return blockFormat(types_.scheme->type);
  }

  static const BlockFormat &fit(const BlockFormat &wanted, uint64_t rowLength) {
    if (wanted.rowBytes(rowLength))
      return wanted;
    for (const StandIn &standIn : kStandIns)
      if (standIn.wanted == wanted.type && blockFormat(standIn.type).rowBytes(rowLength))
        return blockFormat(standIn.type);
    return blockFormat(F16);
  }

  const QuantizeTypes &types_;
  const bool tied_;
  uint64_t layers_ = 0;
};

void append(std::string &list, std::string_view name) {
  list += (list.empty() ? "" : ", ") + std::string(name);
}

} // namespace

const QuantizeScheme *findScheme(std::string_view name) {
  const auto *found = std::ranges::find_if(
      kSchemes, [&](const QuantizeScheme &scheme) { return sameName(scheme.name, name); });
  return found != std::end(kSchemes) ? found : nullptr;
}

const BlockFormat *findFittedFormat(std::string_view name) {
  for (const BlockFormat &format : blockFormats())
    if (sameName(format.name, name) && canFit(format))
      return &format;
  return nullptr;
}

std::string schemeNames() {
  std::string list;
  for (const QuantizeScheme &scheme : kSchemes)
    append(list, scheme.name);
  return list;
}

std::string fittedFormatNames() {
  std::string list;
  for (const BlockFormat &format : blockFormats())
    if (canFit(format))
      append(list, format.name);
  return list;
}

std::vector<TensorChoice> chooseTypes(const GgufFile &model, const QuantizeTypes &types) {
  const Chooser chooser(model, types);
  std::vector<TensorChoice> choices;
  for (const GgufTensor &tensor : model.tensors())
    choices.push_back(chooser.choose(tensor));
  return choices;
}

} // namespace sinter::host
