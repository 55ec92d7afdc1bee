// Conformance cases of the generic kernels on views of any rank.
#pragma once

#include "kernels/views.h"
#include "targets/slot_cases.h"

namespace sinter::targets::cpu {

// Names of the extents of a view of that rank, and lists of them: small ones, and odd ones for the
// last two axes.
inline std::vector<std::string> axesOfRank(int64_t rank) {
  std::vector<std::string> names;
  for (int64_t axis = 0; axis < rank; ++axis)
    names.push_back(axis == rank - 1 ? "N" : axis == rank - 2 ? "M" : "A" + std::to_string(axis));
  return names;
}

inline std::map<std::string, std::vector<int64_t>> extentsOfRank(int64_t rank, int64_t rows,
                                                                 int64_t columns) {
  std::map<std::string, std::vector<int64_t>> extents;
  for (const std::string &name : axesOfRank(rank))
    extents[name] = name == "N"   ? oddExtents(columns)
                    : name == "M" ? oddExtents(rows)
                                  : std::vector<int64_t>{0, 1, 3};
  return extents;
}

inline KernelCase copyCase(int64_t rank, const std::string &in, const std::string &out,
                           const std::string &strided) {
  const std::vector<std::string> axes = axesOfRank(rank);
  return {"map_views_" + in + "_to_" + out + "_of_" + std::to_string(rank) + "_axes" +
              (strided.empty() ? "" : "_" + strided),
          "map_views",
          {{"in", in},
           {"out", out},
           {"rank", std::to_string(rank)},
           {"strided", strided.find("in") != std::string::npos ? "true" : "false"},
           {"strided_out", strided.find("out") != std::string::npos ? "true" : "false"},
           {"block_rows", "3"},
           {"block_columns", "32"}},
          {{"in0", axes}, {"out", axes}},
          extentsOfRank(rank, 3, 32),
          {0, 0}};
}

// in0 * in1 + in0, with in1 one row or one column that repeats, or one element.
inline KernelCase broadcastCase(const std::string &repeats) {
  KernelCase c = copyCase(3, "f32", "f32", "");
  c.label = "map_views_broadcasts_" + repeats;
  c.slots = "a broadcast";
  c.views["in1"] = c.views["in0"];
  const bool isColumn = repeats != "rows";
  c.prepare = [repeats](LaunchArguments &arguments, const Extents &, Random &) {
    LaunchArgument &in = argumentNamed(arguments, "in1");
    if (repeats != "columns")
      in.strides[0] = in.strides[1] = 0;
    if (repeats != "rows")
      in.strides[2] = 0;
  };
  c.build = [isColumn](kernel::KernelBuilder &k) {
    kernels::MapViews p;
    p.rank = 3;
    p.blockRows = 3;
    p.blockColumns = 32;
    p.operands = {{}, {kernel::F32, isColumn}};
    p.apply = [](kernel::KernelBuilder &, const std::vector<kernel::Tile> &tiles, int64_t,
                 int64_t) { return tiles[0] * tiles[1] + tiles[0]; };
    kernels::mapViews(k, p);
  };
  return c;
}

// A map of several element types, as comparisons and selections make them.
inline KernelCase selectCase() {
  KernelCase c = copyCase(2, "f32", "f32", "");
  c.label = "map_views_selects";
  c.slots = "a selection";
  c.views["in1"] = c.views["in2"] = c.views["in0"];
  c.build = [](kernel::KernelBuilder &k) {
    kernels::MapViews p;
    p.blockRows = 3;
    p.blockColumns = 32;
    p.operands = {{}, {kernel::I32}, {kernel::I1}};
    p.out = {kernel::I32};
    p.apply = [](kernel::KernelBuilder &k, const std::vector<kernel::Tile> &tiles, int64_t rows,
                 int64_t columns) {
      kernel::Tile zero = k.zeros(kernel::F32, {rows, columns});
      return select(logicalAnd(tiles[0] > zero, tiles[2]), tiles[1] * 3, tiles[1] & 5);
    };
    kernels::mapViews(k, p);
  };
  return c;
}

// Blocks as their floats.
inline KernelCase dequantizeCase(const std::string &format) {
  KernelCase c = copyCase(3, format, "f32", "");
  c.extents["N"] = blockExtents(32);
  return c;
}

inline KernelCase reduceCase(kernels::Combine combine, const std::string &element, int64_t kept,
                             int64_t reduced, bool across) {
  static constexpr const char *kNames[] = {"sum", "product", "max", "min", "all", "any"};
  const int64_t rows = across ? 1 : 3, columns = 32;
  std::vector<std::string> keptAxes, reducedAxes;
  for (int64_t i = 0; i < kept; ++i)
    keptAxes.push_back("K" + std::to_string(i));
  for (int64_t i = 0; i < reduced; ++i)
    reducedAxes.push_back("R" + std::to_string(i));
  std::vector<std::string> in = keptAxes;
  in.insert(across ? in.end() - 1 : in.end(), reducedAxes.begin(), reducedAxes.end());
  KernelCase c{"reduce_views_" + std::string(kNames[static_cast<int>(combine)]) + "_" + element +
                   (across ? "_across" : "_along") + "_" + sizeText({kept, reduced}),
               "reduce_views",
               {{"in", element},
                {"out", element == "f16" ? "f32" : element},
                {"combine", std::to_string(static_cast<int>(combine))},
                {"kept", std::to_string(kept)},
                {"reduced", std::to_string(reduced)},
                {"across", across ? "true" : "false"},
                {"block_rows", std::to_string(rows)},
                {"block_columns", std::to_string(columns)}},
               {{"in", in}, {"out", keptAxes}},
               {},
               element == "f32" || element == "f16" ? kRows : Bound{0, 0}};
  for (const std::string &axis : in)
    c.extents[axis] = {0, 1, 3};
  c.extents[keptAxes.back()] = oddExtents(across ? columns : rows);
  if (!across)
    c.extents[reducedAxes.back()] = oddExtents(columns);
  return c;
}

inline KernelCase foldCase(const std::string &element, int64_t kept, int64_t reduced, bool across) {
  KernelCase c = reduceCase(kernels::Combine::Sum, element, kept, reduced, across);
  c.label =
      "fold_views_" + element + (across ? "_across" : "_along") + "_" + sizeText({kept, reduced});
  c.kernel = "fold_views";
  c.settings.erase("combine");
  c.settings.erase("out");
  c.views["in0"] = c.views["in"];
  c.views["out0"] = c.views["out"];
  c.views.erase("in");
  c.views.erase("out");
  return c;
}

// The largest element, its place, and the parity of truth values beside it.
inline KernelCase argmaxCase(bool across) {
  KernelCase c = foldCase("f32", 2, 1, across);
  c.label = std::string("fold_views_argmax_") + (across ? "across" : "along");
  c.slots = "an argmax";
  c.bound = {0, 0};
  c.views["in1"] = c.views["in2"] = c.views["in0"];
  c.views["out1"] = c.views["out2"] = c.views["out0"];
  c.build = [across](kernel::KernelBuilder &k) {
    kernels::FoldViews p;
    p.kept = 2;
    p.across = across;
    p.blockRows = across ? 1 : 3;
    p.blockColumns = 32;
    p.operands = {{}, {kernel::I32}, {kernel::I1}};
    p.results = {{kernel::F32, -1e3}, {kernel::I32, -1}, {kernel::I1, 1}};
    p.apply = [](kernel::KernelBuilder &, const std::vector<kernel::Tile> &tiles, int64_t,
                 int64_t) {
      const kernel::Tile larger = tiles[3] > tiles[0];
      return std::vector<kernel::Tile>{select(larger, tiles[3], tiles[0]),
                                       select(larger, tiles[4], tiles[1]), tiles[2] ^ tiles[5]};
    };
    kernels::foldViews(k, p);
  };
  return c;
}

inline KernelCase iotaCase(int64_t rank, int64_t axis) {
  KernelCase c = copyCase(rank, "i32", "i32", "");
  c.label = "iota_views_" + sizeText({rank, axis});
  c.kernel = "iota_views";
  c.settings = {
      {"rank", std::to_string(rank)}, {"axis", std::to_string(axis)}, {"block_columns", "32"}};
  c.views.erase("in0");
  c.rounds = 1;
  return c;
}

inline KernelCase gatherCase(const std::string &table, const std::string &out, bool strided,
                             bool batched = false) {
  KernelCase c{"gather_views_" + table + "_to_" + out + (strided ? "_strided" : "") +
                   (batched ? "_batched" : ""),
               "gather_views",
               {{"table", table},
                {"out", out},
                {"strided", strided ? "true" : "false"},
                {"block_columns", "32"}},
               {{"table", {"O", "N", "I"}}, {"index", {"J"}}, {"out", {"O", "J", "I"}}},
               {{"O", {0, 1, 3}}, {"N", {1, 5}}, {"I", oddExtents(32)}, {"J", {0, 1, 7}}},
               {0, 0}};
  if (table.find('_') != std::string::npos)
    c.extents["I"] = blockExtents(32);
  if (batched) {
    c.settings["batched"] = "true";
    c.extents["B"] = {0, 1, 3};
    for (auto &[name, axes] : c.views)
      axes.insert(axes.begin(), "B");
  }
  return c;
}

inline void addViewCases(KernelCases &cases) {
  using kernels::Combine;
  for (int64_t rank = 1; rank <= kernels::kMaxViewRank; ++rank)
    cases.push_back(copyCase(rank, "f32", "f32", ""));
  cases.push_back(copyCase(3, "f32", "f32", "in"));
  cases.push_back(copyCase(2, "f32", "f16", "in_out"));
  cases.push_back(copyCase(3, "bf16", "f32", ""));
  cases.push_back(copyCase(3, "i32", "i32", "in"));
  cases.push_back(copyCase(2, "i1", "i1", ""));
  cases.push_back(copyCase(2, "i32", "f32", ""));
  cases.push_back(dequantizeCase("q8_0"));
  cases.push_back(dequantizeCase("q4_1"));
  for (const char *repeats : {"rows", "columns", "all"})
    cases.push_back(broadcastCase(repeats));
  cases.push_back(selectCase());
  for (Combine combine : {Combine::Sum, Combine::Max, Combine::Min})
    cases.push_back(reduceCase(combine, "f32", 1, 1, false));
  cases.push_back(reduceCase(Combine::Sum, "f16", 2, 2, false));
  cases.push_back(reduceCase(Combine::Sum, "i32", 2, 1, false));
  cases.push_back(reduceCase(Combine::Sum, "f32", 2, 2, true));
  cases.push_back(reduceCase(Combine::Product, "f32", 2, 1, true));
  cases.push_back(reduceCase(Combine::Max, "i32", 2, 1, true));
  cases.push_back(reduceCase(Combine::Product, "f32", 1, 1, false));
  cases.push_back(reduceCase(Combine::All, "i1", 2, 1, true));
  cases.push_back(reduceCase(Combine::Any, "i1", 1, 2, true));
  cases.push_back(foldCase("f32", 1, 1, false));
  cases.push_back(foldCase("f16", 2, 2, true));
  cases.push_back(argmaxCase(false));
  cases.push_back(argmaxCase(true));
  cases.push_back(iotaCase(1, 0));
  cases.push_back(iotaCase(3, 0));
  cases.push_back(iotaCase(3, 1));
  cases.push_back(iotaCase(3, 2));
  cases.push_back(gatherCase("f32", "f32", false));
  cases.push_back(gatherCase("f16", "f32", true));
  cases.push_back(gatherCase("i32", "i32", false));
  cases.push_back(gatherCase("q8_0", "f32", false));
  cases.push_back(gatherCase("f32", "f32", false, true));
  cases.push_back(gatherCase("q4_1", "f32", false, true));
}

} // namespace sinter::targets::cpu
