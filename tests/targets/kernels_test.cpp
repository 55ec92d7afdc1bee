// Conformance of every registered kernel: compiled code equals the scheduled interpreter bit for
// bit and lies near the tile interpreter, on shapes around every edge, at every CPU level.
#include "tile/mlir_pch.h"

#include "targets/conformance_cases.h"

using namespace mlir;

namespace sinter::targets::cpu {
namespace {

// Checks one shape, with normal and with special values.
void checkExtents(const KernelCase &c, const Extents &extents, CompiledKernels &compiled,
                  Random &random) {
  for (bool specials : {false, true}) {
    LaunchArguments arguments = caseArguments(c, compiled.kernel(), extents, specials, random);
    SCOPED_TRACE(extentsText(extents) + (specials ? " with special values" : ""));
    compiled.check(arguments, specials ? Bound{INFINITY, INFINITY} : c.bound);
    if (testing::Test::HasFailure())
      return;
  }
}

class Conformance : public testing::TestWithParam<std::tuple<size_t, std::string>> {};

TEST_P(Conformance, Holds) {
  const auto &[index, level] = GetParam();
  KernelCase c = conformanceCases()[index];
  HostLevel host = hostLevel(level);
  if (host.facts.instructions.bfloatDot && c.multipliesBfloats())
    c.bound = inAnotherOrder(c.bound);
  if (!host.missing.empty())
    GTEST_SKIP() << host.missing;
  tile::KernelModule module = buildCase(c);
  ASSERT_TRUE(module.ok()) << module.diagnosticText();
  auto compiled = CompiledKernels::compile(module.module(), host);
  ASSERT_TRUE(compiled.has_value()) << compiled.error().toString();
  Random random(index);
  for (Extents &extents : mixExtents(c.extents, inFullOr(c.rounds, 1), random)) {
    if (c.derive)
      c.derive(extents);
    checkExtents(c, extents, *compiled, random);
    if (HasFailure())
      return;
  }
}

std::vector<std::string> levelsOf(const KernelCase &c) {
  if (c.multipliesBlocks())
    return blockLevelNames();
  std::vector<std::string> levels = vectorLevelNames();
  if (c.multipliesBfloats())
    levels.push_back("avx512bf16");
  return levels;
}

// Every case on every width of vectors; products of blocks or bf16 with every instruction for them.
std::vector<std::tuple<size_t, std::string>> casesAndLevels() {
  std::vector<std::tuple<size_t, std::string>> all;
  for (const auto &[index, c] : llvm::enumerate(conformanceCases()))
    for (const std::string &level : levelsOf(c))
      all.emplace_back(index, level);
  return sampled(all, [](const auto &one) {
    const KernelCase &c = conformanceCases()[std::get<0>(one)];
    std::vector<std::string> properties = propertiesOf(c, std::get<1>(one));
    properties.push_back(c.label); // each case at one level
    return properties;
  });
}

std::string caseName(const testing::TestParamInfo<std::tuple<size_t, std::string>> &info) {
  return conformanceCases()[std::get<0>(info.param)].label + "_" + std::get<1>(info.param);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Conformance, testing::ValuesIn(casesAndLevels()), caseName);

TEST(ConformanceCases, EveryRegisteredKernelHasOne) {
  for (const kernels::KernelEntry &entry : kernels::kernelRegistry())
    EXPECT_TRUE(llvm::any_of(conformanceCases(),
                             [&](const KernelCase &c) { return c.kernel == entry.name; }))
        << "kernel '" << entry.name << "' has no conformance case";
}

} // namespace
} // namespace sinter::targets::cpu
