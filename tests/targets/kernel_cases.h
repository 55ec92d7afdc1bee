// What the conformance test knows of one kernel instance, and the cases of elementwise, row and
// matrix kernels.
#pragma once

#include "kernels/registry.h"
#include "sampling.h"
#include "targets/make_arguments.h"

namespace sinter::targets::cpu {

// One instance of one kernel.
struct KernelCase {
  std::string label, kernel;
  kernels::Settings settings;
  ViewShapes views;
  std::map<std::string, std::vector<int64_t>> extents;
  Bound bound; // between compiled code and the tile interpreter
  // Adds extents that follow from others.
  std::function<void(Extents &)> derive = {};
  // Sets what random numbers would not make sense of.
  std::function<void(LaunchArguments &, const Extents &, Random &)> prepare = {};
  // Instead of the registry's entry with `settings`: an instance with slots.
  std::function<void(kernel::KernelBuilder &)> build = {};
  bool small = false;     // special values are small: formats with an F16 scale hold no others
  int rounds = 2;         // how often each extent has each of its values
  std::string slots = {}; // what fills them, where some are filled

  bool multipliesBfloats() const {
    return label.ends_with("_in_bf16") || label.starts_with("gemm_bf16_");
  }
  bool multipliesBlocks() const { return label.starts_with("gemm_q8a_"); }
};
using KernelCases = std::vector<KernelCase>;

// What a case shows, for samples: its kernel with each setting, and what fills its slots.
inline std::vector<std::string> propertiesOf(const KernelCase &c) {
  const auto rows = c.settings.find("block_m");
  const bool oneRow = rows != c.settings.end() && rows->second == "1";
  std::vector<std::string> properties = {c.kernel + " with " + c.slots +
                                         (oneRow ? " of a row" : "")};
  for (const auto &[name, value] : c.settings)
    properties.push_back(c.kernel + " " + name + "=" + value);
  return properties;
}

// The kernel and each of its element types, in one of several ways to run it.
inline std::vector<std::string> typesIn(const KernelCase &c, const std::string &way) {
  std::vector<std::string> properties = {c.kernel + " by " + way};
  for (const char *name : {"a", "b", "in", "out", "cache", "table", "compute"})
    if (const auto set = c.settings.find(name); set != c.settings.end())
      properties.push_back(c.kernel + " " + name + "=" + set->second + " by " + way);
  return properties;
}

// Both.
inline std::vector<std::string> propertiesOf(const KernelCase &c, const std::string &way) {
  std::vector<std::string> properties = propertiesOf(c);
  for (std::string &more : typesIn(c, way))
    properties.push_back(std::move(more));
  return properties;
}

// What a case takes, roughly, of a family that mostly compiles: code grows with a program's tiles.
inline double costOf(const KernelCase &c) {
  constexpr double kSmallTile = 4096;
  double elements = 1;
  for (const char *name : {"block_m", "block_n", "block_k", "block_rows", "block_columns",
                           "group_heads", "head_dim", "page_rows", "query_tile"}) {
    int64_t length = 1;
    if (const auto set = c.settings.find(name); set != c.settings.end())
      llvm::StringRef(set->second).getAsInteger(10, length);
    elements *= static_cast<double>(std::max<int64_t>(1, length));
  }
  return 1 + elements / kSmallTile;
}

// Each case in each way, as the numbers of both, in full; else a sample. `wayNames` tell ways
// apart.
inline std::vector<std::tuple<size_t, size_t>>
casesInWays(const KernelCases &cases, const std::vector<std::string> &wayNames) {
  std::vector<std::tuple<size_t, size_t>> all;
  for (size_t i = 0; i < cases.size(); ++i)
    for (size_t way = 0; way < wayNames.size(); ++way)
      all.emplace_back(i, way);
  return sampled(all, [&](const auto &one) {
    return propertiesOf(cases[std::get<0>(one)], wayNames[std::get<1>(one)]);
  });
}

// Both sum rows with rounding errors of their own; exp is good to a few units in the last place.
inline constexpr Bound kRows = {4e-6, 4e-6};

// The bound where compiled code sums up a product in another order than the interpreter: either
// side rounds partial sums near 16 some hundred times.
inline Bound inAnotherOrder(Bound bound) {
  return {std::max(bound.relative, 4e-6), std::max(bound.absolute, 2e-5)};
}

// The bound where programs are thread blocks, which sum a product of one row in parts.
inline Bound boundOnThreads(const KernelCase &c) {
  auto rows = c.settings.find("block_m");
  if (rows == c.settings.end() || rows->second != "1")
    return c.bound;
  return inAnotherOrder(c.bound);
}

// Extents along an axis that holds whole blocks.
inline std::vector<int64_t> blockExtents(int64_t tile) {
  std::vector<int64_t> extents = {0, 32, 7 * 32, tile - 32, tile, tile + 32};
  llvm::erase_if(extents, [](int64_t e) { return e < 0; });
  return extents;
}

inline std::string sizeText(std::initializer_list<int64_t> sizes) {
  std::string text;
  for (int64_t size : sizes)
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

// ---- elementwise and row kernels ----

inline KernelCase mapCase(const std::string &kernel, const std::string &a, const std::string &b,
                          const std::string &type, Bound bound) {
  return {kernel + "_" + type,
          kernel,
          {{"a", type}, {"b", type}, {"out", type}, {"block_rows", "2"}, {"block_columns", "48"}},
          {{a, {"M", "N"}}, {b, {"M", "N"}}, {"out", {"M", "N"}}},
          {{"M", oddExtents(2)}, {"N", oddExtents(48)}},
          bound};
}

inline KernelCase rowsCase(const std::string &kernel, int64_t rows, int64_t columns,
                           const std::string &type) {
  return {kernel + "_" + type + "_" + sizeText({rows, columns}),
          kernel,
          {{"in", type},
           {"out", type},
           {"block_rows", std::to_string(rows)},
           {"block_columns", std::to_string(columns)}},
          {{"x", {"M", "N"}}, {"weight", {"1", "N"}}, {"bias", {"1", "N"}}, {"out", {"M", "N"}}},
          {{"M", oddExtents(rows)}, {"N", oddExtents(columns)}},
          kRows};
}

// A row kernel that rounds its result to the activation format.
inline KernelCase quantizedRowsCase(const std::string &kernel, int64_t rows, int64_t columns,
                                    Bound bound, const std::string &out) {
  KernelCase c = rowsCase(kernel, rows, columns, "f32");
  c.label = kernel + "_" + out + "_" + sizeText({rows, columns});
  c.settings["out"] = out;
  c.extents["N"] = blockExtents(columns);
  c.bound = bound;
  return c;
}

// Heads of a row, each normalised by itself.
inline KernelCase headNormCase(const std::string &kernel, int64_t columns, int64_t heads) {
  KernelCase c = rowsCase(kernel, 1, columns, "f32");
  c.label = kernel + "_heads_" + sizeText({heads, columns});
  c.settings["columns"] = std::to_string(columns);
  c.settings["parts"] = std::to_string(heads);
  const std::string all = std::to_string(heads * columns), one = std::to_string(columns);
  c.views = {{"x", {"M", all}}, {"weight", {"1", one}}, {"bias", {"1", one}}, {"out", {"M", all}}};
  c.extents = {{"M", {1, 3}}};
  return c;
}

// Rows of one number that is as small or as large as can be, or none, and rows that begin with it.
// Some lie beside the least of which an inverse of a scale is made.
inline KernelCase extremeRowsCase(const std::string &out, int64_t columns) {
  static constexpr double kNumbers[] = {0,        1e-41,   1e-37, 3.7e-37, 3.8e-37,  1.0e-28,
                                        1.01e-28, 1.2e-28, 3e38,  NAN,     INFINITY, -INFINITY};
  KernelCase c = quantizedRowsCase("quantize_rows", 2, columns, {0, 0}, out);
  c.label = "quantize_rows_" + out + "_extreme";
  c.extents = {{"M", {2 * std::size(kNumbers)}}, {"N", {columns}}};
  c.prepare = [columns](LaunchArguments &arguments, const Extents &, Random &) {
    LaunchArgument &x = argumentNamed(arguments, "x");
    forEachElement(x, [&](int64_t at, int64_t number) {
      const int64_t row = number / columns;
      const bool isExtreme = row % 2 == 0 || number % columns == 0;
      setElement(x.view().getElementType(), x.bytes, at, isExtreme ? kNumbers[row / 2] : 0.5);
    });
  };
  return c;
}

// Rows of numbers that lie near each other and far from zero: what a maximum is rounded by must be
// the same in all passes over a row.
inline KernelCase farRowsCase() {
  static constexpr double kFrom[] = {1e3, -1e6, 1e10, -3.4028234e38, 3.3e38};
  constexpr int64_t kColumns = 200;
  KernelCase c = rowsCase("softmax", 3, 64, "f32");
  c.label = "softmax_f32_far";
  c.extents = {{"M", {std::size(kFrom)}}, {"N", {kColumns}}};
  c.prepare = [](LaunchArguments &arguments, const Extents &, Random &random) {
    LaunchArgument &x = argumentNamed(arguments, "x");
    forEachElement(x, [&](int64_t at, int64_t number) {
      setElement(x.view().getElementType(), x.bytes, at,
                 kFrom[number / kColumns] + static_cast<double>(random() % 8));
    });
  };
  return c;
}

// With rows that are rounded to `activation`.
inline void addRowCases(KernelCases &cases, const std::string &activation) {
  for (const char *type : {"f32", "f16", "bf16"}) {
    cases.push_back(mapCase("add", "a", "b", type, {0, 0}));
    cases.push_back(mapCase("silu_mul", "gate", "up", type, {1e-6, 1e-37}));
    for (const char *kernel : {"rms_norm", "layer_norm", "softmax"})
      cases.push_back(rowsCase(kernel, 4, 64, type));
  }
  for (const char *kernel : {"rms_norm", "layer_norm", "softmax"}) {
    cases.push_back(rowsCase(kernel, 1, 17, "f32"));
    cases.push_back(rowsCase(kernel, 3, 128, "f32"));
    cases.push_back(quantizedRowsCase(kernel, 3, 64, kRows, activation));
  }
  cases.push_back(headNormCase("rms_norm", 64, 3));
  cases.push_back(headNormCase("layer_norm", 80, 2));
  cases.push_back(quantizedRowsCase("quantize_rows", 2, 64, {0, 0}, activation));
  cases.push_back(quantizedRowsCase("quantize_rows", 1, 160, {0, 0}, activation));
  cases.push_back(extremeRowsCase(activation, 64));
  cases.push_back(quantizedRowsCase("quantize_rows", 7, 32, {0, 0}, activation));
  cases.push_back(farRowsCase());
  KernelCase narrow = quantizedRowsCase("quantize_rows", 1, 96, {0, 0}, activation);
  narrow.label = "quantize_rows_" + activation + "_from_f16";
  narrow.settings["in"] = "f16";
  cases.push_back(narrow);
}

// ---- matrix products ----

// One fma per step of K, ascending, on both sides: equal bits.
inline KernelCase gemmCase(const std::string &a, const std::string &b, bool transposed, int64_t m,
                           int64_t n, int64_t k) {
  std::string types = a == b ? a : a + "_" + b;
  return {
      "gemm_" + types + (transposed ? "_nt_" : "_nn_") + sizeText({m, n, k}),
      "gemm",
      {{"a", a},
       {"b", b},
       {"transpose_b", transposed ? "true" : "false"},
       {"block_m", std::to_string(m)},
       {"block_n", std::to_string(n)},
       {"block_k", std::to_string(k)}},
      {{"a", {"M", "K"}},
       {"b", transposed ? std::vector<std::string>{"N", "K"} : std::vector<std::string>{"K", "N"}},
       {"out", {"M", "N"}}},
      {{"M", oddExtents(m)}, {"N", oddExtents(n)}, {"K", oddExtents(k)}},
      {0, 0}};
}

// The same product of a as [K, M].
inline KernelCase turned(KernelCase c) {
  c.label += "_a_turned";
  c.settings["transpose_a"] = "true";
  c.views["a"] = {"K", "M"};
  return c;
}

// A batch of the same.
inline KernelCase batched(KernelCase c) {
  c.label += "_batched";
  c.settings["batched"] = "true";
  for (const char *view : {"a", "b", "out"})
    c.views[view].insert(c.views[view].begin(), "B");
  c.extents["B"] = {0, 1, 3};
  return c;
}

inline KernelCase interleaved(KernelCase c) {
  c.label += "_packed";
  c.settings["interleave"] = "16";
  return c;
}

inline KernelCase blockGemmCase(const std::string &a, const std::string &b, int64_t m, int64_t n,
                                int64_t k) {
  KernelCase c = gemmCase(a, b, true, m, n, k);
  c.extents["K"] = blockExtents(k);
  return interleaved(c);
}

inline void addGemmCases(KernelCases &cases, const std::string &activation) {
  for (const char *type : {"f32", "f16", "bf16"})
    for (bool transposed : {false, true})
      for (const auto &[m, n, k] : {std::tuple{48, 64, 16}, {1, 128, 32}, {7, 40, 13}}) {
        cases.push_back(gemmCase(type, type, transposed, m, n, k));
        cases.back().rounds = std::string_view(type) == "f32" ? 2 : 1; // shapes go the same ways
      }
  for (bool transposed : {false, true}) {
    cases.push_back(turned(gemmCase("f32", "f32", transposed, 24, 64, 16)));
    cases.push_back(turned(gemmCase("bf16", "bf16", transposed, 64, 64, 32)));
    cases.push_back(batched(gemmCase("f32", "f32", transposed, 24, 64, 16)));
    cases.push_back(batched(gemmCase("f16", "f16", transposed, 64, 64, 32)));
  }
  cases.push_back(batched(turned(gemmCase("f16", "f16", true, 64, 64, 32))));
  for (const char *type : {"f32", "f16", "bf16"}) {
    cases.push_back(interleaved(gemmCase("f32", type, true, 36, 64, 32)));
    cases.push_back(interleaved(gemmCase("f32", type, true, 1, 64, 64)));
  }
  for (const char *format : {"q4_0", "q4_1", "q8_0"}) {
    cases.push_back(blockGemmCase(activation, format, 24, 32, 64));
    cases.push_back(blockGemmCase(activation, format, 1, 64, 128));
    cases.push_back(blockGemmCase(activation, format, 7, 48, 32));
  }
}

} // namespace sinter::targets::cpu
