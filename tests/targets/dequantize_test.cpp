// Every block format of the table, dequantized in products and as rows by number: compiled code
// equals the interpreters bit for bit at every CPU vector width.
#include "tile/mlir_pch.h"

#include "numeric/formats/dot_packing.h"
#include "targets/conformance_cases.h"

using namespace mlir;

namespace sinter::targets::cpu {
namespace {

std::vector<const BlockFormat *> formatsOfBlocks() {
  std::vector<const BlockFormat *> formats;
  for (const BlockFormat &format : blockFormats())
    if (!format.isPlain())
      formats.push_back(&format);
  return formats;
}

class Dequantizing : public testing::TestWithParam<std::tuple<const BlockFormat *, std::string>> {
protected:
  // Compiles the case and checks it on its extents, with usual and with special scales.
  static void holds(const KernelCase &c, const std::string &level) {
    HostLevel host = hostLevel(level);
    if (!host.missing.empty())
      GTEST_SKIP() << host.missing;
    tile::KernelModule module = buildCase(c);
    ASSERT_TRUE(module.ok()) << module.diagnosticText();
    auto compiled = CompiledKernels::compile(module.module(), host);
    ASSERT_TRUE(compiled.has_value()) << compiled.error().toString();
    Random random(17);
    for (const Extents &extents : mixExtents(c.extents, inFullOr(c.rounds, 1), random))
      for (bool specials : {false, true}) {
        LaunchArguments arguments = caseArguments(c, compiled->kernel(), extents, specials, random);
        SCOPED_TRACE(extentsText(extents));
        compiled->check(arguments, specials ? Bound{INFINITY, INFINITY} : c.bound);
        if (HasFailure())
          return;
      }
  }
  const BlockFormat &format() const { return *std::get<0>(GetParam()); }
  std::string name() const { return llvm::StringRef(format().name).lower(); }
};

TEST_P(Dequantizing, ProductsDequantizeTheirWeights) {
  // Columns of one vector: each weight of a tile is code of its own.
  const int64_t columns = factsFor(std::get<1>(GetParam()))->lanes;
  for (int64_t m : {1, 9}) {
    const bool ofOneRow = static_cast<uint32_t>(format().type) % 2 != 0; // in a sample
    if (!testsInFull() && ofOneRow != (m == 1))
      continue;
    KernelCase c = gemmCase("f32", name(), true, m, inFullOr<int64_t>(24, columns), 256);
    c.settings["activation"] = "f32";
    c.extents = {{"M", {m}}, {"N", {17}}, {"K", {format().blockLength, 0}}};
    c.rounds = 1;
    c.bound = {1e-5, 1e-5};
    holds(c, std::get<1>(GetParam()));
  }
}

TEST_P(Dequantizing, RowsAreTakenByNumber) {
  KernelCase c = embedCase(name(), 512);
  c.extents = {{"T", {3}}, {"V", {7}}, {"K", {3 * format().blockLength, 0}}};
  c.rounds = 1;
  holds(c, std::get<1>(GetParam()));
}

// Formats without a packing are refused, with its reason.
TEST_P(Dequantizing, RowsAreTakenFromPackedOnes) {
  KernelCase c = interleaved(embedCase(name(), 512));
  c.extents = {{"T", {9}}, {"V", {9, 40}}, {"K", {3 * format().blockLength}}};
  c.rounds = 2;
  Result<DotPacking> packing = dotPacking(format());
  if (packing)
    return holds(c, std::get<1>(GetParam()));
  HostLevel host = hostLevel(std::get<1>(GetParam()));
  tile::KernelModule module = buildCase(c);
  ASSERT_TRUE(module.ok()) << module.diagnosticText();
  std::string said;
  ScopedDiagnosticHandler hears(module.module().getContext(), [&](Diagnostic &diagnostic) {
    said += diagnostic.str();
    return success();
  });
  EXPECT_FALSE(CompiledKernels::compile(module.module(), host).has_value());
  EXPECT_NE(said.find("reads packed rows: " + packing.error().message), std::string::npos) << said;
}

INSTANTIATE_TEST_SUITE_P(Formats, Dequantizing,
                         testing::ValuesIn(formatsAtLevels(formatsOfBlocks(), vectorLevelNames())),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param)->name) + "_" +
                                  std::get<1>(info.param);
                         });

} // namespace
} // namespace sinter::targets::cpu
