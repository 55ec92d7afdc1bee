// Conformance cases of kernels that choose the largest elements of rows.
#pragma once

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

inline void addSelectionCases(KernelCases &cases) {
  for (bool keys : {false, true}) {
    cases.push_back(groupTopsCase(keys));
    cases.push_back(rankCase(keys));
    cases.push_back(spreadGroupsCase(keys));
    cases.push_back(chooseRankedCase(keys));
  }
}

} // namespace sinter::targets::cpu
