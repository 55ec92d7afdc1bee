// Conformance of every registered kernel: compiled code equals the scheduled interpreter bit for
// bit and lies near the tile interpreter, on shapes around every edge, at every CPU level of this
// host.
#include "tile/mlir_pch.h"

#include "target/slot_cases.h"

using namespace mlir;

namespace sinter::target::cpu {
namespace {

KernelCases makeCases() {
  KernelCases cases;
  addRowCases(cases);
  addGemmCases(cases);
  addTokenCases(cases);
  addSlotCases(cases);
  return cases;
}

const KernelCases &allCases() {
  static const KernelCases cases = makeCases();
  return cases;
}

tile::KernelModule buildCase(const KernelCase &c) {
  return tile::KernelModule::build([&](kernel::Module &defined) {
    if (c.build)
      return defined.kernel(c.kernel, c.build);
    auto defining = kernels::findKernel(c.kernel)->define(defined, c.kernel, c.settings);
    ASSERT_TRUE(defining.has_value()) << defining.error().message;
  });
}

void sprinkleInputs(LaunchArguments &arguments, Random &random) {
  for (LaunchArgument &a : arguments)
    if (a.view() && a.view().isReadable())
      sprinkleSpecials(a, random);
}

// Checks one shape, with normal and with special values.
void checkExtents(const KernelCase &c, const Extents &extents, CompiledKernels &compiled,
                  Random &random) {
  std::string trace;
  for (const auto &[name, extent] : extents)
    trace += name + "=" + std::to_string(extent) + " ";
  for (bool specials : {false, true}) {
    LaunchArguments arguments =
        makeArguments(compiled.kernel(), c.views, extents, random() % 3 * 5, random);
    if (c.prepare)
      c.prepare(arguments, extents, random);
    if (specials)
      sprinkleInputs(arguments, random);
    SCOPED_TRACE(trace + (specials ? "with special values" : ""));
    compiled.check(arguments, specials ? Bound{INFINITY, INFINITY} : c.bound);
    if (testing::Test::HasFailure())
      return;
  }
}

class Conformance : public testing::TestWithParam<std::tuple<size_t, std::string>> {};

TEST_P(Conformance, Holds) {
  const auto &[index, level] = GetParam();
  const KernelCase &c = allCases()[index];
  HostLevel host = hostLevel(level);
  if (!host.missing.empty())
    GTEST_SKIP() << host.missing;
  tile::KernelModule module = buildCase(c);
  ASSERT_TRUE(module.ok()) << module.diagnosticText();
  auto compiled = CompiledKernels::compile(module.module(), host.facts);
  ASSERT_TRUE(compiled.has_value()) << compiled.error().toString();
  Random random(index);
  for (Extents &extents : mixExtents(c.extents, c.rounds, random)) {
    if (c.derive)
      c.derive(extents);
    checkExtents(c, extents, *compiled, random);
    if (HasFailure())
      return;
  }
}

std::string caseName(const testing::TestParamInfo<std::tuple<size_t, std::string>> &info) {
  return allCases()[std::get<0>(info.param)].label + "_" + std::get<1>(info.param);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Conformance,
                         testing::Combine(testing::Range(size_t(0), allCases().size()),
                                          testing::ValuesIn(levelNames())),
                         caseName);

TEST(ConformanceCases, EveryRegisteredKernelHasOne) {
  for (const kernels::KernelEntry &entry : kernels::kernelRegistry())
    EXPECT_TRUE(
        llvm::any_of(allCases(), [&](const KernelCase &c) { return c.kernel == entry.name; }))
        << "kernel '" << entry.name << "' has no conformance case";
}

} // namespace
} // namespace sinter::target::cpu
