// Conformance cases of kernels of experts: choices, rows by expert, grouped matmuls.
#pragma once

#include "targets/token_cases.h"

namespace sinter::targets::cpu {

// Scores of both differ in their last bits, so logits are apart.
inline void prepareLogits(LaunchArguments &arguments, const Extents &, Random &random) {
  LaunchArgument &logits = argumentNamed(arguments, "logits");
  std::vector<int64_t> order(logits.shape[1]);
  forEachElement(logits, [&](int64_t at, int64_t number) {
    const auto column = static_cast<size_t>(number) % order.size();
    if (column == 0) {
      std::iota(order.begin(), order.end(), int64_t(0));
      std::shuffle(order.begin(), order.end(), random);
    }
    setElement(logits.view().getElementType(), logits.bytes, at,
               static_cast<double>(order[column]) / 8.0 - 2);
  });
  setScalar(arguments, "scale", 2.5f);
}

inline KernelCase routeCase(const std::string &label, kernels::Settings settings, int64_t experts,
                            int64_t choices) {
  const std::string e = std::to_string(experts), k = std::to_string(choices);
  settings["experts"] = e;
  settings["choices"] = k;
  KernelCase c{
      "route_" + label,
      "route",
      std::move(settings),
      {{"logits", {"T", e}}, {"bias", {"1", e}}, {"weights", {"T", k}}, {"chosen", {"T", k}}},
      {{"T", {0, 1, 5}}},
      kRows};
  c.prepare = prepareLogits;
  return c;
}

// Experts of all choices, some of which are none.
inline void prepareChosen(LaunchArguments &arguments, const Extents &extents, Random &random) {
  const auto experts = static_cast<uint32_t>(extents.at("E"));
  std::vector<int32_t> chosen(extents.at("A"));
  for (int32_t &expert : chosen)
    expert = static_cast<int32_t>(random() % (experts + 2)) - 1;
  setIntegers(arguments, "chosen", chosen);
  for (LaunchArgument &argument : arguments)
    if (argument.name == "chosen_row")
      setIntegers(arguments, "chosen_row", chosen);
    else if (argument.name == "counts" && argument.view().isReadable()) {
      const int64_t programs = extents.at("P"), width = extents.at("E");
      std::vector<int32_t> counts(programs * 2 * width);
      for (size_t at = 0; at < chosen.size(); ++at)
        for (int64_t e = std::max(0, chosen[at]); chosen[at] >= 0 && e < width; ++e)
          ++counts[(static_cast<int64_t>(at) / 128 * 2 + (e > chosen[at])) * width + e];
      setIntegers(arguments, "counts", counts);
    }
}

inline KernelCase rowsByExpertCase(const std::string &kernel, int64_t experts) {
  const std::string e = std::to_string(experts);
  KernelCase c{kernel + "_" + e,
               kernel,
               {{"experts", e}},
               {{"chosen", {"A", "1"}},
                {"chosen_row", {"1", "A"}},
                {"counts", {"P", "2", e}},
                {"places", {"A", "1"}},
                {"groups", {e, "3"}}},
               {{"A", {1, 6, 128, 300}}, {"E", {experts}}},
               {0, 0}};
  c.derive = [](Extents &extents) { extents["P"] = (extents.at("A") + 127) / 128; };
  c.prepare = prepareChosen;
  return c;
}

// A row of its own for each choice, but for the first, which has none.
inline void preparePlaces(LaunchArguments &arguments, const Extents &extents, Random &random) {
  const LaunchArgument &places = argumentNamed(arguments, "places");
  const int64_t count = places.shape.size() == 1 ? places.shape[0] : extents.at("T") * 3;
  std::vector<int32_t> rows(count);
  std::iota(rows.begin(), rows.end(), 0);
  std::shuffle(rows.begin(), rows.end(), random);
  if (!rows.empty())
    rows.front() = -1;
  setIntegers(arguments, "places", rows);
}

inline KernelCase spreadRowsCase(const std::string &type) {
  KernelCase c{"spread_rows_" + type,
               "spread_rows",
               {{"element", type}, {"choices", "3"}, {"block_columns", "32"}},
               {{"rows", {"T", "N"}}, {"places", {"A"}}, {"out", {"A", "1", "N"}}},
               {{"T", {0, 1, 4}}, {"N", oddExtents(32)}},
               {0, 0}};
  c.derive = [](Extents &extents) { extents["A"] = extents.at("T") * 3; };
  c.prepare = preparePlaces;
  return c;
}

inline KernelCase combineRowsCase() {
  KernelCase c{
      "combine_rows",
      "combine_rows",
      {{"choices", "3"}, {"block_columns", "32"}},
      {{"rows", {"A", "N"}}, {"places", {"T", "3"}}, {"weights", {"T", "3"}}, {"out", {"T", "N"}}},
      {{"T", {0, 1, 4}}, {"N", oddExtents(32)}},
      {0, 1e-6}};
  c.derive = [](Extents &extents) { extents["A"] = extents.at("T") * 3; };
  c.prepare = preparePlaces;
  return c;
}

// Groups of rows of several experts, in any order, then none; their rows are all rows of a.
inline void prepareGroups(LaunchArguments &arguments, const Extents &extents, Random &random) {
  const int64_t experts = extents.at("E"), rows = extents.at("R");
  std::vector<int32_t> groups(experts * 3, 0), matrices(experts);
  std::iota(matrices.begin(), matrices.end(), 0);
  std::shuffle(matrices.begin(), matrices.end(), random);
  const int64_t used = std::min(experts, rows);
  int64_t first = 0;
  for (int64_t group = 0; group < used; ++group) {
    const int64_t left = rows - first - (used - group - 1);
    const int64_t own = group + 1 == used ? left : 1 + static_cast<int64_t>(random()) % 2 % left;
    groups[group * 3] = matrices[group];
    groups[group * 3 + 1] = static_cast<int32_t>(first);
    groups[group * 3 + 2] = static_cast<int32_t>(std::max<int64_t>(1, own));
    first += std::max<int64_t>(1, own);
  }
  setIntegers(arguments, "groups", groups);
}

// One fma per step of K on both sides, as of the GEMM.
inline KernelCase groupedGemmCase(const std::string &a, const std::string &b, int64_t m, int64_t n,
                                  int64_t k, bool interleaved, bool biased = false) {
  const int64_t width = 3 * n / 2 / 16 * 16;
  const std::string columns = std::to_string(width);
  KernelCase c{
      "grouped_gemm_" + (a == b ? a : a + "_" + b) + "_" + sizeText({m, n, k}) +
          (interleaved ? "_packed" : "") + (biased ? "_biased" : ""),
      "grouped_gemm",
      {{"a", a},
       {"b", b},
       {"n", columns},
       {"biased", biased ? "true" : "false"},
       {"block_m", std::to_string(m)},
       {"block_n", std::to_string(n)},
       {"block_k", std::to_string(k)}},
      {{"a", {"R", "K"}},
       {"b", {"B", "K"}},
       {"groups", {"E", "3"}},
       {"bias", {"E", columns}},
       {"out", {"R", columns}}},
      {{"R", {1, 5, m + 3}}, {"E", {3}}, {"K", a.front() == 'q' ? blockExtents(k) : oddExtents(k)}},
      {0, 0}};
  if (interleaved)
    c.settings["interleave"] = "16";
  c.derive = [width](Extents &extents) { extents["B"] = extents.at("E") * width; };
  c.prepare = prepareGroups;
  return c;
}

inline void addRoutingCases(KernelCases &cases, const std::string &activation) {
  cases.push_back(routeCase("softmax", {{"normalized", "true"}}, 60, 4));
  cases.push_back(routeCase("sharing", {{"sharing", "4"}, {"normalized", "true"}}, 60, 4));
  cases.push_back(routeCase("chosen", {{"scores", "2"}}, 32, 4));
  cases.push_back(routeCase(
      "groups", {{"scores", "1"}, {"groups", "8"}, {"used_groups", "3"}, {"biased", "true"}}, 64,
      6));
  for (int64_t experts : {7, 64})
    for (const char *kernel : {"count_rows", "place_rows"})
      cases.push_back(rowsByExpertCase(kernel, experts));
  cases.push_back(spreadRowsCase("f32"));
  cases.push_back(spreadRowsCase("f16"));
  cases.push_back(combineRowsCase());
  cases.push_back(groupedGemmCase("f32", "f32", 24, 48, 16, false, true));
  for (int64_t rows : {1, 12}) {
    cases.push_back(groupedGemmCase("f32", "f16", rows, 64, 32, true));
    cases.push_back(groupedGemmCase(activation, "q4_1", rows, 64, 64, true, true));
  }
}

} // namespace sinter::targets::cpu
