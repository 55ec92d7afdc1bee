// Conformance of every registered kernel: compiled code equals the scheduled interpreter bit for
// bit and lies near the tile interpreter, on shapes around every edge, at every CPU level of this
// host.
#include "tile/mlir_pch.h"

#include "kernels/registry.h"
#include "target/make_arguments.h"

using namespace mlir;

namespace sinter::target::cpu {
namespace {

// What the tests know of one setting of one kernel.
struct KernelCase {
  std::string label, kernel;
  kernels::Settings settings;
  ViewShapes views;
  std::map<std::string, std::vector<int64_t>> extents;
  Bound bound; // between compiled code and the tile interpreter
  std::function<void(LaunchArguments &, const Extents &, Random &)> prepare = {};
  bool specials = true; // also run on NaN, infinities, subnormals
};

void setScalar(LaunchArguments &arguments, const std::string &name, float value) {
  argumentNamed(arguments, name).scalar = std::bit_cast<int32_t>(value);
}

// Both sum rows with rounding errors of their own; exp is good to a few units in the last place.
const Bound kRows = {4e-6, 4e-6};

KernelCase mapCase(const std::string &kernel, const std::string &a, const std::string &b,
                   const std::string &type, Bound bound) {
  return {kernel + "_" + type,
          kernel,
          {{"a", type}, {"b", type}, {"out", type}, {"block_rows", "2"}, {"block_columns", "48"}},
          {{a, {"M", "N"}}, {b, {"M", "N"}}, {"out", {"M", "N"}}},
          {{"M", oddExtents(2)}, {"N", oddExtents(48)}},
          bound};
}

KernelCase rowsCase(const std::string &kernel, int64_t rows, int64_t columns,
                    const std::string &type) {
  return {kernel + "_" + type + "_" + std::to_string(rows) + "x" + std::to_string(columns),
          kernel,
          {{"in", type},
           {"out", type},
           {"block_rows", std::to_string(rows)},
           {"block_columns", std::to_string(columns)}},
          {{"x", {"M", "N"}}, {"weight", {"1", "N"}}, {"bias", {"1", "N"}}, {"out", {"M", "N"}}},
          {{"M", oddExtents(rows)}, {"N", oddExtents(columns)}},
          kRows};
}

KernelCase gemmCase(const std::string &type, bool transposed, int64_t m, int64_t n, int64_t k) {
  std::string label = "gemm_" + type + (transposed ? "_nt_" : "_nn_") + std::to_string(m) + "x" +
                      std::to_string(n) + "x" + std::to_string(k);
  return {
      label,
      "gemm",
      {{"a", type},
       {"b", type},
       {"transpose_b", transposed ? "true" : "false"},
       {"block_m", std::to_string(m)},
       {"block_n", std::to_string(n)},
       {"block_k", std::to_string(k)}},
      {{"a", {"M", "K"}},
       {"b", transposed ? std::vector<std::string>{"N", "K"} : std::vector<std::string>{"K", "N"}},
       {"out", {"M", "N"}}},
      {{"M", oddExtents(m)}, {"N", oddExtents(n)}, {"K", oddExtents(k)}},
      {0, 0}}; // both take one fma per step of K, ascending
}

std::vector<KernelCase> makeCases() {
  std::vector<KernelCase> cases;
  for (const char *type : {"f32", "f16", "bf16"}) {
    cases.push_back(mapCase("add", "a", "b", type, {0, 0}));
    cases.push_back(mapCase("silu_mul", "gate", "up", type, {1e-6, 1e-37}));
    for (const char *kernel : {"rms_norm", "layer_norm", "softmax"})
      cases.push_back(rowsCase(kernel, 4, 64, type));
    for (bool transposed : {false, true}) {
      cases.push_back(gemmCase(type, transposed, 48, 64, 16));
      cases.push_back(gemmCase(type, transposed, 1, 128, 32));
      cases.push_back(gemmCase(type, transposed, 7, 40, 13));
    }
  }
  for (const char *kernel : {"rms_norm", "layer_norm", "softmax"}) {
    cases.push_back(rowsCase(kernel, 1, 17, "f32"));
    cases.push_back(rowsCase(kernel, 3, 128, "f32"));
  }
  return cases;
}

const std::vector<KernelCase> &allCases() {
  static const std::vector<KernelCase> cases = makeCases();
  return cases;
}

class Conformance : public testing::TestWithParam<std::tuple<size_t, std::string>> {};

TEST_P(Conformance, CompiledEqualsScheduledAndIsNearTheTileInterpreter) {
  const auto &[index, level] = GetParam();
  const KernelCase &c = allCases()[index];
  HostLevel host = hostLevel(level);
  if (!host.missing.empty())
    GTEST_SKIP() << host.missing;
  tile::KernelModule module = tile::KernelModule::build([&](kernel::Module &defined) {
    auto defining = kernels::findKernel(c.kernel)->define(defined, c.kernel, c.settings);
    ASSERT_TRUE(defining.has_value()) << defining.error().message;
  });
  ASSERT_TRUE(module.ok()) << module.diagnosticText();
  auto compiled = CompiledKernels::compile(module.module(), host.facts);
  ASSERT_TRUE(compiled.has_value()) << compiled.error().toString();
  Random random(index);
  for (const Extents &extents : mixExtents(c.extents, 2, random)) {
    std::string trace;
    for (const auto &[name, extent] : extents)
      trace += name + "=" + std::to_string(extent) + " ";
    SCOPED_TRACE(trace);
    for (bool specials : {false, true}) {
      if (specials && !c.specials)
        continue;
      LaunchArguments arguments =
          makeArguments(compiled->kernel(), c.views, extents, random() % 3 * 5, random);
      if (c.prepare)
        c.prepare(arguments, extents, random);
      for (LaunchArgument &a : arguments)
        if (specials && a.view() && a.view().isReadable())
          sprinkleSpecials(a, random);
      SCOPED_TRACE(specials ? "with special values" : "normal values");
      compiled->check(arguments, specials ? Bound{INFINITY, INFINITY} : c.bound);
      if (HasFailure())
        return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Conformance,
                         testing::Combine(testing::Range(size_t(0), allCases().size()),
                                          testing::ValuesIn(levelNames())),
                         [](const auto &info) {
                           return allCases()[std::get<0>(info.param)].label + "_" +
                                  std::get<1>(info.param);
                         });

TEST(ConformanceCases, EveryRegisteredKernelHasOne) {
  for (const kernels::KernelEntry &entry : kernels::kernelRegistry())
    EXPECT_TRUE(
        llvm::any_of(allCases(), [&](const KernelCase &c) { return c.kernel == entry.name; }))
        << "kernel '" << entry.name << "' has no conformance case";
}

} // namespace
} // namespace sinter::target::cpu
