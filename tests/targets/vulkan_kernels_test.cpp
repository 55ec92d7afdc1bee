// Conformance of registered kernels on Vulkan: SPIR-V that the validator takes, and on the software
// device with each width of its subgroups, results near the tile interpreter's.
#include "tile/mlir_pch.h"

#include "targets/conformance_cases.h"
#include "targets/device_launch.h"
#include "targets/vulkan_device.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

#include <gmock/gmock.h>

using namespace mlir;

namespace sinter::targets::vulkan {
namespace {

using namespace cpu;

constexpr const char *kAllFeatures = "+float16+int16+int8";

std::string caseName(size_t index) {
  return conformanceCases()[index].label;
}

// ---- the binary ----

// What spirv-val says of a module; empty where it is valid.
std::string complaintOf(const std::vector<uint8_t> &code, StringRef program) {
  SmallString<64> input, output;
  int file = -1;
  if (llvm::sys::fs::createTemporaryFile("kernel", "spv", file, input) ||
      llvm::sys::fs::createTemporaryFile("kernel", "txt", output))
    return "no temporary file";
  {
    llvm::raw_fd_ostream out(file, true);
    out.write(reinterpret_cast<const char *>(code.data()), code.size());
  }
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(output), StringRef(output)};
  int result = llvm::sys::ExecuteAndWait(
      program, {program, "--target-env", "vulkan1.3", StringRef(input)}, std::nullopt, redirects);
  auto said = llvm::MemoryBuffer::getFile(output);
  std::string text = said ? (*said)->getBuffer().str() : "";
  llvm::sys::fs::remove(input);
  llvm::sys::fs::remove(output);
  return result == 0 ? "" : "status " + std::to_string(result) + ": " + text;
}

class VulkanBinary : public testing::TestWithParam<std::tuple<size_t, size_t>> {};

TEST_P(VulkanBinary, IsValid) {
  const auto &[index, plain] = GetParam();
  const char *features = plain ? "" : kAllFeatures;
  const KernelCase &c = conformanceCases()[index];
  auto program = llvm::sys::findProgramByName("spirv-val");
  if (!program)
    GTEST_SKIP() << "there is no spirv-val (package spirv-tools)";
  tile::KernelModule module = buildCase(c);
  ASSERT_TRUE(module.ok()) << module.diagnosticText();
  auto target = findTarget(plainTarget(32, features));
  ASSERT_TRUE(target) << target.error().toString();
  auto code = compileKernels(**target, module.module());
  ASSERT_TRUE(code) << code.error().toString();
  EXPECT_EQ(complaintOf(code->code, *program), "");
}

INSTANTIATE_TEST_SUITE_P(Kernels, VulkanBinary,
                         testing::ValuesIn(casesInWays(conformanceCases(),
                                                       {"all_types", "plain_types"})),
                         [](const auto &info) {
                           return caseName(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "_plain_types" : "_all_types");
                         });

// ---- the device ----

void checkExtents(const KernelCase &c, const Extents &extents, DeviceKernel &kernel,
                  Random &random) {
  SCOPED_TRACE(extentsText(extents));
  LaunchArguments arguments = caseArguments(c, kernel.source(), extents, false, random);
  auto found = kernel.launch(arguments);
  ASSERT_TRUE(found) << found.error().toString();
  EXPECT_EQ(firstBeyond(*found, interpreted(arguments, kernel.source(), false), boundOnThreads(c)),
            "");
}

// Subgroups of the device, and whether code uses all types that it computes with.
struct DeviceKind {
  int64_t subgroup;
  bool allTypes;
};

class VulkanConformance : public testing::TestWithParam<std::tuple<size_t, DeviceKind>> {};

TEST_P(VulkanConformance, Holds) {
  const auto &[index, kind] = GetParam();
  const KernelCase &c = conformanceCases()[index];
  auto device = softwareDevice(kind.subgroup);
  if (!device)
    GTEST_SKIP() << device.error().toString();
  tile::KernelModule module = buildCase(c);
  ASSERT_TRUE(module.ok()) << module.diagnosticText();
  auto target = kind.allTypes ? findTarget((*device)->info().target)
                              : findTarget(plainTarget(kind.subgroup, "+float64"));
  ASSERT_TRUE(target) << target.error().toString();
  auto kernel = DeviceKernel::load(module.module(), **target, **device);
  ASSERT_TRUE(kernel) << kernel.error().toString();
  Random random(index);
  for (Extents &extents : mixExtents(c.extents, 1, random)) {
    if (c.derive)
      c.derive(extents);
    checkExtents(c, extents, *kernel, random);
    if (HasFailure())
      return;
  }
}

// Rows in one program have the bits of rows in programs of their own, by sums of each thread and by
// sums of each step.
class VulkanRowTiles : public testing::TestWithParam<const char *> {};

TEST_P(VulkanRowTiles, HaveTheBitsOfRowsAlone) {
  auto device = softwareDevice(8);
  if (!device)
    GTEST_SKIP() << device.error().toString();
  auto target = findTarget(plainTarget(8, GetParam()));
  ASSERT_TRUE(target) << target.error().toString();
  KernelCase c = gemmCase("f32", "q8_0", true, 1, 8, 256);
  c.settings["activation"] = "f32";
  std::optional<LaunchArguments> arguments, alone;
  std::vector<tile::KernelModule> modules; // whose types the arguments have
  Random random(3);
  for (const char *rows : {"1", "4", "8"}) {
    c.settings["row_tiles"] = rows;
    tile::KernelModule &module = modules.emplace_back(buildCase(c));
    ASSERT_TRUE(module.ok()) << module.diagnosticText();
    auto kernel = DeviceKernel::load(module.module(), **target, **device);
    ASSERT_TRUE(kernel) << kernel.error().toString();
    if (!arguments)
      arguments =
          caseArguments(c, kernel->source(), {{"M", 13}, {"N", 20}, {"K", 544}}, false, random);
    auto found = kernel->launch(*arguments);
    ASSERT_TRUE(found) << found.error().toString();
    if (!alone)
      alone = *found;
    EXPECT_EQ(firstDifference(*found, *alone), "") << rows << " rows";
  }
}
INSTANTIATE_TEST_SUITE_P(Subgroups8, VulkanRowTiles, testing::Values("", "+float64"),
                         [](const auto &info) {
                           return std::string(*info.param ? "of_steps" : "of_threads");
                         });

const DeviceKind kKinds[] = {{16, true}, {8, true}, {8, false}, {4, true}};

// The cases of the kinds with these subgroups: a process has subgroups of one width. A sample shows
// each kernel in each width, and its types with and without all types.
std::vector<std::tuple<size_t, DeviceKind>> casesOfWidth(int64_t subgroup) {
  std::vector<std::tuple<size_t, DeviceKind>> all, list;
  for (size_t index = 0; index < conformanceCases().size(); ++index)
    for (const DeviceKind &kind : kKinds)
      all.emplace_back(index, kind);
  auto properties = [](const auto &one) {
    const auto &[index, kind] = one;
    const KernelCase &c = conformanceCases()[index];
    std::vector<std::string> properties =
        propertiesOf(c, kind.allTypes ? "all types" : "plain types");
    properties.push_back(c.kernel + " in subgroups of " + std::to_string(kind.subgroup));
    return properties;
  };
  // Narrow subgroups make long code.
  auto cost = [](const auto &one) {
    const auto &[index, kind] = one;
    return costOf(conformanceCases()[index]) * 16 / static_cast<double>(kind.subgroup);
  };
  for (const auto &one : sampled(all, properties, cost))
    if (std::get<1>(one).subgroup == subgroup)
      list.push_back(one);
  return list;
}

std::string nameOf(const testing::TestParamInfo<std::tuple<size_t, DeviceKind>> &info) {
  return caseName(std::get<0>(info.param)) +
         (std::get<1>(info.param).allTypes ? "" : "_plain_types");
}

INSTANTIATE_TEST_SUITE_P(Subgroups4, VulkanConformance, testing::ValuesIn(casesOfWidth(4)), nameOf);
INSTANTIATE_TEST_SUITE_P(Subgroups8, VulkanConformance, testing::ValuesIn(casesOfWidth(8)), nameOf);
INSTANTIATE_TEST_SUITE_P(Subgroups16, VulkanConformance, testing::ValuesIn(casesOfWidth(16)),
                         nameOf);

} // namespace
} // namespace sinter::targets::vulkan
