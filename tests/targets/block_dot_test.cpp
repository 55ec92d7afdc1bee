// Integer dots of every block format that has a packing: compiled code equals the interpreters bit
// for bit at every CPU level.
#include "tile/mlir_pch.h"

#include "targets/conformance_cases.h"

using namespace mlir;

namespace sinter::targets::cpu {
namespace {

std::vector<const BlockFormat *> formatsOfDots() {
  std::vector<const BlockFormat *> formats;
  for (const BlockFormat &format : blockFormats())
    if (dotPacking(format))
      formats.push_back(&format);
  return formats;
}

using Parameters = std::tuple<const BlockFormat *, std::string>;

class BlockDots : public testing::TestWithParam<Parameters> {
protected:
  static std::string lower(std::string_view name) { return llvm::StringRef(name).lower(); }
  const BlockFormat &format() const { return *std::get<0>(GetParam()); }
  std::string activation() const { return activation(format().blockLength); }
  // With a scale for each 32 elements.
  std::string narrow() const { return activation(kActivationLength); }
  std::string activation(uint64_t length) const {
    return lower(activationFormatFor(dotPacking(format())->groupLength, length).name);
  }
  // Columns of so many vectors, in whole groups of packed rows: more would be more of the same
  // code.
  int64_t columns(int64_t vectors) const {
    return static_cast<int64_t>(
        llvm::alignTo(vectors * factsFor(std::get<1>(GetParam()))->lanes, kInterleavedRows));
  }
  KernelCase matmulOf(int64_t m, int64_t n, int64_t blocks) const {
    return matmulOf(activation(), m, n, blocks);
  }
  KernelCase matmulOf(const std::string &rows, int64_t m, int64_t n, int64_t blocks) const {
    KernelCase c = blockGemmCase(rows, lower(format().name), m, n, blocks * format().blockLength);
    c.extents["K"] = {format().blockLength * (2 * blocks + 1), 0, format().blockLength};
    c.rounds = 1;
    return c;
  }
  // Compiles the case and checks it on its extents, with usual and with special scales.
  void holds(const KernelCase &c) const {
    HostLevel host = hostLevel(std::get<1>(GetParam()));
    if (!host.missing.empty())
      GTEST_SKIP() << host.missing;
    tile::KernelModule module = buildCase(c);
    ASSERT_TRUE(module.ok()) << module.diagnosticText();
    auto compiled = CompiledKernels::compile(module.module(), host);
    ASSERT_TRUE(compiled.has_value()) << compiled.error().toString();
    Random random(29);
    for (const Extents &extents : mixExtents(c.extents, c.rounds, random))
      for (bool specials : {false, true}) {
        LaunchArguments arguments = caseArguments(c, compiled->kernel(), extents, specials, random);
        SCOPED_TRACE(extentsText(extents));
        compiled->check(arguments, specials ? Bound{INFINITY, INFINITY} : c.bound);
        if (HasFailure())
          return;
      }
  }
};

TEST_P(BlockDots, OfManyRowsEqualTheInterpreters) {
  holds(matmulOf(13, columns(3), 1)); // two vectors of columns, and one
}

TEST_P(BlockDots, OfOneRowEqualTheInterpreters) {
  holds(matmulOf(1, columns(4), 2));
}

// What does not depend on how a level multiplies, at some levels.
class DotVariants : public BlockDots {
protected:
  // Some, and one. A sample takes turns by format: each level has formats of both.
  std::vector<int64_t> numbersOfRows() const {
    if (testsInFull())
      return {13, 1};
    return {static_cast<uint32_t>(format().type) % 2 == 0 ? 13 : 1};
  }
};

// Where a scale spans several blocks of weights.
TEST_P(DotVariants, OfScalesForSeveralBlocksEqualTheInterpreters) {
  const ActivationFormat &wide = activationFormatFor(dotPacking(format())->groupLength, 256);
  if (format().blockLength % wide.scaleLength == 0)
    return; // the cases above
  const auto blocks = static_cast<int64_t>(wide.scaleLength / format().blockLength);
  for (int64_t rows : numbersOfRows()) {
    KernelCase c = matmulOf(lower(wide.name), rows, columns(3), blocks);
    c.extents["K"] = {3 * wide.scaleLength, 0, wide.scaleLength};
    holds(c);
  }
}

TEST_P(DotVariants, OfScalesForEachBlockEqualTheInterpreters) {
  if (narrow() == activation())
    return; // the cases above
  for (int64_t rows : numbersOfRows())
    holds(matmulOf(narrow(), rows, columns(rows == 1 ? 4 : 3), rows == 1 ? 2 : 1));
}

// K in one step leaves no loop: sums end where they are stored. Rows that a does not have are zero.
TEST_P(DotVariants, OfStaticDepthAndFewerRowsEqualTheInterpreters) {
  const auto depth = static_cast<int64_t>(format().blockLength);
  for (int64_t rows : numbersOfRows()) {
    KernelCase c = matmulOf(rows, columns(3), 1);
    c.settings["k"] = std::to_string(depth);
    c.views["a"][0] = "rows of a";
    c.extents = {{"M", {14, 27}}, {"rows of a", {0, 2, 14, 20}}, {"N", {64, 72}}, {"K", {depth}}};
    holds(c);
  }
}

std::string nameOf(const testing::TestParamInfo<Parameters> &info) {
  return std::string(std::get<0>(info.param)->name) + "_" + std::get<1>(info.param);
}

INSTANTIATE_TEST_SUITE_P(Formats, BlockDots,
                         testing::ValuesIn(formatsAtLevels(formatsOfDots(), blockLevelNames())),
                         nameOf);

// Of the levels that are emulated nearly everywhere, which takes long, one.
INSTANTIATE_TEST_SUITE_P(Formats, DotVariants,
                         testing::ValuesIn(formatsAtLevels(formatsOfDots(),
                                                           {"avx2", "avxvnni", "avx512",
                                                            "avx512vnni", "dotprod"})),
                         nameOf);

class QuantizedRows : public testing::TestWithParam<std::string> {};

std::string outOf(const ActivationFormat &format) {
  return llvm::StringRef(format.name).lower();
}

// Sums of halves stand beside those of whole blocks. Heads side by side are rounded together.
TEST_P(QuantizedRows, HaveTheSumsOfTheirFormat) {
  HostLevel host = hostLevel(GetParam());
  if (!host.missing.empty())
    GTEST_SKIP() << host.missing;
  for (const ActivationFormat &format : activationFormats()) {
    if (format.scaleLength > host.facts.accumulatorBudget() * host.facts.lanes)
      continue;
    SCOPED_TRACE(format.name);
    int64_t length = format.scaleLength;
    KernelCase rows = quantizedRowsCase("quantize_rows", 2, 2 * length, {0, 0}, outOf(format));
    rows.extents["N"] = {5 * length, 0, length};
    expectNear(rows, host);
    expectNear(extremeRowsCase(outOf(format), 2 * length), host);
    for (const char *kernel : {"attention", "attention_combine"})
      expectNear(attentionCase({.kernel = kernel,
                                .out = outOf(format),
                                .groupHeads = length / 16,
                                .headDim = 32,
                                .queryTile = 3,
                                .joinHeads = true}),
                 host);
  }
}

// Rows are rounded alike at all levels of one width of vectors.
INSTANTIATE_TEST_SUITE_P(Levels, QuantizedRows,
                         testing::ValuesIn(testsInFull() ? blockLevelNames() : vectorLevelNames()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace sinter::targets::cpu
