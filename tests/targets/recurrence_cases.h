// Conformance cases of kernels with states of sequences.
#pragma once

#include "targets/token_cases.h"

namespace sinter::targets::cpu {

// Rows of S sequences one after another. Some begin without a state, some continue the slot that
// they write, some that of a checkpoint.
inline void prepareSpans(LaunchArguments &arguments, const Extents &extents, Random &random) {
  const auto sequences = static_cast<int32_t>(extents.at("S")),
             rows = static_cast<int32_t>(extents.at("T"));
  std::vector<int32_t> spans;
  for (int32_t i = 0, first = 0; i < sequences; ++i) {
    const int32_t left = rows - first, count = i + 1 == sequences ? left : left / 2;
    const int32_t sources[] = {-1, i, sequences + i};
    spans.insert(spans.end(), {sources[random() % 3], i, first, count});
    first += count;
  }
  setIntegers(arguments, "spans", spans);
}

inline void addSlots(Extents &extents) {
  extents["Z"] = 2 * extents.at("S");
}

inline KernelCase causalConvCase(int64_t width, int64_t columns) {
  const std::string w = std::to_string(width), held = std::to_string(width - 1);
  KernelCase c{"causal_conv_" + sizeText({width, columns}),
               "causal_conv",
               {{"width", w}, {"block_columns", std::to_string(columns)}},
               {{"rows", {"T", "C"}},
                {"weight", {w, "C"}},
                {"spans", {"S", "4"}},
                {"state", {"Z", held, "C"}},
                {"out", {"T", "C"}}},
               {{"T", {0, 1, 7}}, {"S", {0, 1, 3}}, {"C", oddExtents(columns)}},
               kRows};
  c.derive = addSlots;
  c.prepare = prepareSpans;
  c.rounds = 1;
  return c;
}

// Keys of length near 1 and decays below 1, as models have them: others grow without bound.
inline void prepareDelta(LaunchArguments &arguments, const Extents &extents, Random &random) {
  prepareSpans(arguments, extents, random);
  std::uniform_real_distribution<float> unit(0, 1);
  const LaunchArgument &key = argumentNamed(arguments, "key");
  const auto length = static_cast<float>(std::sqrt(std::max<int64_t>(key.shape[2], 1)));
  const auto fill = [&](const char *name, float low, float high) {
    LaunchArgument &a = argumentNamed(arguments, name);
    forEachElement(a, [&](int64_t at, int64_t) {
      setElement(a.view().getElementType(), a.bytes, at, low + (high - low) * unit(random));
    });
  };
  fill("key", -1 / length, 1 / length);
  fill("decay", -1, 0);
  fill("beta", 0, 1);
  setScalar(arguments, "scale", 0.25f);
}

// Of rows one by one, or in chunks of so many.
inline KernelCase deltaRuleCase(int64_t keyHeads, int64_t heads, int64_t keyDim, int64_t valueDim,
                                int64_t columns, bool neighbours, int64_t chunkRows = 0) {
  const std::string kh = std::to_string(keyHeads), h = std::to_string(heads),
                    d = std::to_string(keyDim), e = std::to_string(valueDim);
  const std::string kernel = chunkRows ? "delta_rule_chunks" : "delta_rule";
  KernelCase c{kernel + "_" + sizeText({keyHeads, heads, keyDim, valueDim}) +
                   (neighbours ? "_neighbours" : ""),
               kernel,
               {{"key_heads", kh},
                {"heads", h},
                {"key_dim", d},
                {"value_dim", e},
                {"block_columns", std::to_string(columns)},
                {"neighbours", neighbours ? "true" : "false"}},
               {{"query", {"T", kh, d, "1"}},
                {"key", {"T", kh, d, "1"}},
                {"value", {"T", h, e}},
                {"decay", {"T", h}},
                {"beta", {"T", h}},
                {"spans", {"S", "4"}},
                {"state", {"Z", h, d, e}},
                {"out", {"T", h, e}}},
               {{"T", {0, 1, 7}}, {"S", {0, 1, 3}}},
               {1e-5, 1e-5}};
  if (chunkRows) {
    c.settings["chunk_rows"] = std::to_string(chunkRows);
    for (const char *name : {"query", "key"})
      c.views[name].pop_back(); // of columns
    c.extents = {{"T", {0, 1, chunkRows + 3}}, {"S", {0, 1, 3}}};
  }
  c.derive = addSlots;
  c.prepare = prepareDelta;
  c.rounds = 1;
  c.small = true; // infinite states have sums that depend on their order
  return c;
}

inline void addRecurrenceCases(KernelCases &cases) {
  cases.push_back(causalConvCase(3, 64));
  cases.push_back(causalConvCase(4, 128));
  cases.push_back(deltaRuleCase(1, 2, 17, 5, 32, false));
  cases.push_back(deltaRuleCase(2, 4, 64, 48, 32, true));
  cases.push_back(deltaRuleCase(1, 2, 17, 5, 32, false, 4));
  cases.push_back(deltaRuleCase(2, 4, 32, 24, 32, true, 8));
}

} // namespace sinter::targets::cpu
