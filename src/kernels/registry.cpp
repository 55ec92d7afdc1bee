// The kernel table, and setting parameter structs from text.
#include "kernels/registry.h"

#include "kernels/attention.h"
#include "kernels/elementwise.h"
#include "kernels/gemm.h"
#include "kernels/grouped_gemm.h"
#include "kernels/guesses.h"
#include "kernels/norm_squares.h"
#include "kernels/qkv_epilogue.h"
#include "kernels/recurrence.h"
#include "kernels/routing.h"
#include "kernels/rows.h"
#include "kernels/selection.h"
#include "kernels/tokens.h"
#include "kernels/views.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace sinter::kernels {

using kernel::dyn;
using kernel::Element;

static std::string extentText(int64_t extent) {
  return extent == dyn ? "dyn" : std::to_string(extent);
}

static std::string formatText(const Element &element) {
  std::string name = element.name();
  return element.isBlock() ? name.substr(6, name.size() - 7) : name;
}

// Lists the fields of a struct with the values they have.
class Describer : public FieldVisitor {
public:
  explicit Describer(std::vector<ParamInfo> &params) : params_(params) {}
  void integer(std::string_view name, int64_t &value, int64_t low, int64_t high,
               std::string_view help) override {
    add(name, ParamKind::Integer, std::to_string(value), help);
    params_.back().low = low;
    params_.back().high = high;
  }
  void extent(std::string_view name, int64_t &value, std::string_view help) override {
    add(name, ParamKind::Extent, extentText(value), help);
  }
  void format(std::string_view name, Element &value, std::string_view help) override {
    add(name, ParamKind::Format, formatText(value), help);
  }
  void flag(std::string_view name, bool &value, std::string_view help) override {
    add(name, ParamKind::Flag, value ? "true" : "false", help);
  }

private:
  void add(std::string_view name, ParamKind kind, std::string standard, std::string_view help) {
    params_.push_back({std::string(name), kind, std::move(standard), std::string(help)});
  }
  std::vector<ParamInfo> &params_;
};

// Sets the fields that settings name, and keeps the first complaint.
class Setter : public FieldVisitor {
public:
  explicit Setter(const Settings &settings) : settings_(settings) {}
  void integer(std::string_view name, int64_t &value, int64_t low, int64_t high,
               std::string_view) override {
    if (const std::string *text = find(name); text && !parse(*text, low, high, value))
      complain(name, *text,
               "an integer from " + std::to_string(low) + " to " + std::to_string(high));
  }
  void extent(std::string_view name, int64_t &value, std::string_view) override {
    const std::string *text = find(name);
    if (!text)
      return;
    if (*text == "dyn")
      value = dyn;
    else if (!parse(*text, 1, INT64_MAX, value))
      complain(name, *text, "a positive integer or dyn");
  }
  void format(std::string_view name, Element &value, std::string_view) override {
    constexpr std::array kPlain = {"f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2",
                                   "i1",  "i8",  "i16", "i32",  "i64",    "index"};
    const std::string *text = find(name);
    if (!text)
      return;
    bool plain = std::find(kPlain.begin(), kPlain.end(), *text) != kPlain.end();
    value = plain ? Element(*text) : kernel::block(*text);
  }
  void flag(std::string_view name, bool &value, std::string_view) override {
    const std::string *text = find(name);
    if (!text)
      return;
    if (*text != "true" && *text != "false")
      complain(name, *text, "true or false");
    value = *text == "true";
  }

  // After the visit: the first complaint, or that a setting names no field.
  Result<void> finish(const std::string &kernel) const {
    if (complaint_)
      return tl::unexpected(*complaint_);
    for (const auto &[name, text] : settings_)
      if (std::find(seen_.begin(), seen_.end(), name) == seen_.end())
        return fail(Code::InvalidArgument, "kernel '" + kernel + "' has no parameter '" + name +
                                               "', expected one of: " + known());
    return {};
  }

private:
  std::string known() const {
    std::string names;
    for (const std::string &name : seen_)
      names += (names.empty() ? "" : ", ") + name;
    return names;
  }
  const std::string *find(std::string_view name) {
    seen_.emplace_back(name);
    auto found = settings_.find(seen_.back());
    return found == settings_.end() ? nullptr : &found->second;
  }
  static bool parse(const std::string &text, int64_t low, int64_t high, int64_t &value) {
    int64_t number = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < low || number > high)
      return false;
    value = number;
    return true;
  }
  void complain(std::string_view name, const std::string &text, const std::string &expected) {
    if (!complaint_)
      complaint_ = Status{Code::InvalidArgument, "parameter '" + std::string(name) + "' is '" +
                                                     text + "', expected " + expected};
  }

  const Settings &settings_;
  std::vector<std::string> seen_;
  std::optional<Status> complaint_;
};

template <class P>
static KernelEntry entry(std::string name, std::string summary,
                         void (*build)(kernel::KernelBuilder &, const P &)) {
  KernelEntry entry;
  entry.name = name;
  entry.summary = std::move(summary);
  P standard;
  Describer describer(entry.params);
  visitFields(standard, describer);
  entry.define = [name, build](kernel::Module &module, const std::string &as,
                               const Settings &settings) -> Result<void> {
    P params;
    Setter setter(settings);
    visitFields(params, setter);
    SINTER_TRY(setter.finish(name));
    module.kernel(as, [&](kernel::KernelBuilder &k) { build(k, params); });
    return {};
  };
  return entry;
}

std::vector<KernelEntry> kernelRegistry() {
  return {
      entry<Add>("add", "a + b", add),
      entry<SiluMul>("silu_mul", "silu(gate) * up", siluMul),
      entry<RmsNorm>("rms_norm", "rows over their root mean square, times a weight", rmsNorm),
      entry<LayerNorm>("layer_norm", "rows to mean 0 and variance 1, weight and bias", layerNorm),
      entry<Softmax>("softmax", "rows to exponentials of sum 1", softmax),
      entry<Gemm>("gemm", "GEMM with f32 accumulators", gemm),
      entry<NormGemm>("gemm_norm", "GEMM of rows that it normalizes by sums of squares", normGemm),
      entry<QkvGemm>("gemm_qkv", "GEMM with the QKV epilogue: RoPE and KV-cache append", qkvGemm),
      entry<QkvRows>("qkv_rows", "norms, RoPE and KV cache appends of heads in memory", qkvRows),
      entry<QuantizeRows>("quantize_rows", "rows to a block format", quantizeRows),
      entry<Embed>("embed", "rows of a table by token id", embed),
      entry<RopeTable>("rope_table", "cosines and sines of positions, for rope", ropeTable),
      entry<Rope>("rope", "rotary positions on query or key heads", rope),
      entry<KvAppend>("kv_append", "keys or values into the pages of a KV cache", kvAppend),
      entry<Attention>("attention", "paged causal attention, ragged, grouped heads", attention),
      entry<Attention>("attention_partitions",
                       "partial attention, one result a partition of the keys",
                       attentionPartitions),
      entry<Attention>("attention_combine", "attention from its partitions' partial results",
                       attentionCombine),
      entry<Attention>("attention_partitions_ragged",
                       "partial attention, one result a partition of a list",
                       attentionPartitionsRagged),
      entry<Attention>("attention_combine_ragged", "attention from the partial results of a list",
                       attentionCombineRagged),
      entry<MapViews>("map_views", "elements of strided views: copies, broadcasts", mapViews),
      entry<ReduceViews>("reduce_views", "sums, products, extremes along axes", reduceViews),
      entry<FoldViews>("fold_views", "accumulators along axes, by a region", foldViews),
      entry<IotaViews>("iota_views", "indices along an axis", iotaViews),
      entry<GatherViews>("gather_views", "slices of a table by index", gatherViews),
      entry<GroupTops>("group_tops", "the largest key of each group of a row", groupTops),
      entry<RankElements>("rank_elements", "how many elements of its row come before each",
                          rankElements),
      entry<SpreadGroups>("spread_groups", "elements of the groups of least rank", spreadGroups),
      entry<ChooseRanked>("choose_ranked", "elements in the order of their ranks", chooseRanked),
      entry<GuessTokens>("guess_tokens", "a sampler's draw from the largest logits", guessTokens),
      entry<TakeGuesses>("take_guesses", "guesses of the step before as a step's tokens",
                         takeGuesses),
      entry<Route>("route", "experts of tokens and their weights", route),
      entry<CountRows>("count_rows", "how often choices name each expert", countRows),
      entry<PlaceRows>("place_rows", "rows of choices, side by side by expert", placeRows),
      entry<SpreadRows>("spread_rows", "rows of tokens to the rows of their choices", spreadRows),
      entry<CombineRows>("combine_rows", "weighted sums of the rows of choices", combineRows),
      entry<GroupedGemm>("grouped_gemm", "GEMM of rows in groups, by a matrix of each group",
                         groupedGemm),
      entry<CausalConv>("causal_conv", "convolution along rows of sequences, with a state",
                        causalConv),
      entry<DeltaRule>("delta_rule", "linear attention by the gated delta rule, with a state",
                       deltaRule),
      entry<DeltaRuleChunks>("delta_rule_chunks",
                             "the gated delta rule for several rows at a time, by matmuls",
                             deltaRuleChunks),
  };
}

Result<KernelEntry> findKernel(std::string_view name) {
  std::string names;
  for (KernelEntry &entry : kernelRegistry()) {
    if (entry.name == name)
      return std::move(entry);
    names += (names.empty() ? "" : ", ") + entry.name;
  }
  return fail(Code::NotFound,
              "no kernel is named '" + std::string(name) + "', expected one of: " + names);
}

} // namespace sinter::kernels
