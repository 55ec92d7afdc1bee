// Conformance cases of kernels that choose the largest elements of rows.
#pragma once

#include "kernels/guesses.h"
#include "kernels/selection.h"
#include "targets/token_cases.h"

namespace sinter::targets::cpu {

// Each row's ranks or numbers: those below `count`, shuffled, of which a row has the first.
inline std::vector<int32_t> shuffledRows(int64_t rows, int64_t columns, int64_t count,
                                         Random &random) {
  std::vector<int32_t> all(count), values;
  std::iota(all.begin(), all.end(), 0);
  for (int64_t row = 0; row < rows; ++row) {
    std::shuffle(all.begin(), all.end(), random);
    values.insert(values.end(), all.begin(), all.begin() + columns);
  }
  return values;
}

inline KernelCase selectionCase(const std::string &kernel, bool keys, ViewShapes views) {
  KernelCase c{kernel + (keys ? "_of_keys" : "_of_values"),
               kernel,
               {{"in", keys ? "i32" : "f32"}},
               std::move(views),
               {{"M", {0, 2}}, {"N", {1, 17, 513}}},
               {0, 0}};
  if (keys && kernel != "group_tops")
    c.settings["numbered"] = "true";
  return c;
}

inline int64_t groupsOf(int64_t elements) {
  return (elements + kernels::kGroupElements - 1) / kernels::kGroupElements;
}

inline KernelCase groupTopsCase(bool keys) {
  KernelCase c = selectionCase("group_tops", keys, {{"in", {"M", "N"}}, {"tops", {"M", "G"}}});
  c.extents["N"] = {1, 17, 2049};
  c.derive = [](Extents &extents) { extents["G"] = groupsOf(extents.at("N")); };
  return c;
}

inline KernelCase rankCase(bool keys) {
  KernelCase c = selectionCase(
      "rank_elements", keys, {{"in", {"M", "N"}}, {"numbers", {"M", "N"}}, {"ranks", {"M", "N"}}});
  c.prepare = [keys](LaunchArguments &arguments, const Extents &extents, Random &random) {
    const int64_t rows = extents.at("M"), columns = extents.at("N");
    if (keys)
      setIntegers(arguments, "numbers", shuffledRows(rows, columns, columns, random));
  };
  return c;
}

// A row's groups, or as many candidates as there are groups.
inline KernelCase spreadGroupsCase(bool keys) {
  KernelCase c = selectionCase("spread_groups", keys,
                               {{"in", {"M", "N"}},
                                {"ranks", {"M", "G"}},
                                {"numbers", {"M", "G"}},
                                {"keys", {"M", "48"}},
                                {"indices", {"M", "48"}}});
  c.settings["choices"] = "3";
  c.derive = [](Extents &extents) { extents["G"] = groupsOf(extents.at("N")); };
  c.prepare = [keys](LaunchArguments &arguments, const Extents &extents, Random &random) {
    const int64_t rows = extents.at("M"), groups = extents.at("G");
    setIntegers(arguments, "ranks", shuffledRows(rows, groups, groups, random));
    if (keys)
      setIntegers(arguments, "numbers", shuffledRows(rows, groups, groups, random));
  };
  return c;
}

inline KernelCase chooseRankedCase(bool keys) {
  KernelCase c = selectionCase("choose_ranked", keys,
                               {{"in", {"M", "N"}},
                                {"ranks", {"M", "N"}},
                                {"numbers", {"M", "N"}},
                                {"largest", {"M", "17"}},
                                {"indices", {"M", "17"}}});
  c.settings["choices"] = "17";
  c.extents["N"] = {17, 513};
  c.prepare = [keys](LaunchArguments &arguments, const Extents &extents, Random &random) {
    const int64_t rows = extents.at("M"), columns = extents.at("N");
    setIntegers(arguments, "ranks", shuffledRows(rows, columns, columns, random));
    if (keys)
      setIntegers(arguments, "numbers", shuffledRows(rows, columns, columns, random));
  };
  return c;
}

inline void setFloats(LaunchArguments &arguments, const std::string &name,
                      const std::vector<float> &values) {
  LaunchArgument &a = argumentNamed(arguments, name);
  forEachElement(a, [&](int64_t at, int64_t number) {
    setElement(a.view().getElementType(), a.bytes, at, values.at(number));
  });
}

// Sorted logits with ties, of distinct tokens, and rules with each step on and off.
inline void prepareGuesses(LaunchArguments &arguments, int64_t rows, int64_t choices,
                           Random &random) {
  const auto uniform = [&] { return float(random() % 4096) / 4096; };
  std::vector<float> logits, rules;
  for (int64_t row = 0; row < rows; ++row) {
    float logit = 4 * uniform();
    for (int64_t i = 0; i < choices; ++i, logit -= random() % 3 ? uniform() / 4 : 0)
      logits.push_back(logit);
    for (const float column : {float(random() % (choices + 1)), random() % 2 ? uniform() : 2.0f,
                               random() % 2 ? -3 * uniform() : -1e30f,
                               random() % 2 ? uniform() / 4 : 2.0f, uniform() + 0.1f, uniform()})
      rules.push_back(column);
  }
  setFloats(arguments, "logits", logits);
  setFloats(arguments, "rules", rules);
  setIntegers(arguments, "tokens", shuffledRows(rows, choices, 2 * choices, random));
}

inline KernelCase guessTokensCase(int64_t choices) {
  const std::string count = std::to_string(choices);
  KernelCase c{"guess_tokens_of_" + count,
               "guess_tokens",
               {{"choices", count}},
               {{"logits", {"M", count}},
                {"tokens", {"M", count}},
                {"rules", {"M", "6"}},
                {"guesses", {"M", "1"}}},
               {{"M", {0, 1, 9}}},
               {0, 0}};
  c.prepare = [choices](LaunchArguments &arguments, const Extents &extents, Random &random) {
    prepareGuesses(arguments, extents.at("M"), choices, random);
  };
  return c;
}

inline KernelCase takeGuessesCase() {
  KernelCase c{"take_guesses",
               "take_guesses",
               {},
               {{"sources", {"T", "1"}}, {"guesses", {"G", "1"}}, {"tokens", {"T", "1"}}},
               {{"T", {0, 1, 9}}, {"G", {1, 12}}},
               {0, 0}};
  c.prepare = [](LaunchArguments &arguments, const Extents &extents, Random &random) {
    std::vector<int32_t> sources(extents.at("T"));
    for (int32_t &source : sources)
      source = static_cast<int32_t>(random() % uint32_t(extents.at("G") + 1)) - 1;
    setIntegers(arguments, "sources", sources);
  };
  return c;
}

inline void addSelectionCases(KernelCases &cases) {
  for (const int64_t choices : {1, 40, 128})
    cases.push_back(guessTokensCase(choices));
  cases.push_back(takeGuessesCase());
  for (bool keys : {false, true}) {
    cases.push_back(groupTopsCase(keys));
    cases.push_back(rankCase(keys));
    cases.push_back(spreadGroupsCase(keys));
    cases.push_back(chooseRankedCase(keys));
  }
}

} // namespace sinter::targets::cpu
