// The vulkan driver in processes of their own: other loaders and drivers, other subgroups, and
// devices that hang, which no process gets rid of.
#include "hal/vulkan_cases.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <gmock/gmock.h>
#include <unistd.h>

namespace sinter::hal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Ends a child process with what was found on standard error.
[[noreturn]] void leave(bool good, const std::string &found) {
  std::fprintf(stderr, "%s\n", found.c_str());
  _exit(good ? 0 : 1);
}

std::string textOf(const Status &status) {
  return std::string(codeName(status.code)) + ": " + status.message;
}

// The first software device, whose driver reads the variables that these tests set.
Result<uint32_t> softwareDevice(Driver &driver) {
  SINTER_ASSIGN(const auto devices, driver.devices());
  for (uint32_t i = 0; i < devices.size(); ++i)
    if (devices[i].name.find("llvmpipe") != std::string::npos)
      return i;
  return fail(Code::NotFound, "there is no llvmpipe");
}

Status openingStatus(const VulkanOptions &options) {
  DriverRegistry registry;
  if (!addVulkanDriver(registry, options))
    return {Code::Internal, "the driver was not added"};
  auto device = (*registry.find("vulkan"))->open(0, {});
  return device ? Status{Code::Cancelled, "it was opened"} : device.error();
}

class VulkanProcess : public ::testing::Test {
protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    DriverRegistry registry;
    ASSERT_TRUE(addVulkanDriver(registry).has_value());
    if (auto found = softwareDevice(**registry.find("vulkan")); !found)
      GTEST_SKIP() << found.error().toString();
  }
};

TEST(VulkanLoader, AMissingLoaderIsSaid) {
  const Status status = openingStatus({.loader = "libvulkan-of-nowhere.so.1"});
  EXPECT_EQ(status.code, Code::NotFound);
  EXPECT_THAT(status.message,
              AllOf(HasSubstr("no Vulkan loader"), HasSubstr("libvulkan-of-nowhere.so.1")));
}

TEST(VulkanLoader, ALibraryThatIsNoLoaderIsSaid) {
  const Status status = openingStatus({.loader = "libm.so.6"});
  EXPECT_EQ(status.code, Code::Unsupported);
  EXPECT_THAT(status.message, HasSubstr("'libm.so.6' has no vkGetInstanceProcAddr"));
}

TEST_F(VulkanProcess, ALoaderWithoutADriverIsSaid) {
  EXPECT_EXIT(
      {
        setenv("VK_DRIVER_FILES", "/nowhere/driver.json", 1);
        setenv("VK_ICD_FILENAMES", "/nowhere/driver.json", 1);
        leave(true, textOf(openingStatus({})));
      },
      ::testing::ExitedWithCode(0), "not-found: .*no installed driver fits the loader");
}

// Loads a module with another memory model than the one whose capability it declares, which is not
// for the driver to see, and ends with the layer's first message.
void loadInvalidModule() {
  auto code = vulkanKernels();
  const uint32_t memoryModel = 3u << 16 | 14, simple = 0;
  const auto *first = reinterpret_cast<const uint8_t *>(&memoryModel);
  const auto at = std::search(code.begin(), code.end(), first, first + sizeof memoryModel);
  if (code.end() - at < 12)
    leave(false, "the module has no memory model");
  std::memcpy(&at[8], &simple, sizeof simple);
  DriverRegistry registry;
  VulkanOptions options;
  options.onValidation = [](const char *message) { leave(true, message); };
  (void)addVulkanDriver(registry, options).has_value();
  auto device = (*registry.find("vulkan"))->open(0, {});
  (void)(*device)->loadModule(kVulkanTestTarget, code).has_value();
  leave(false, "the layer said nothing");
}

TEST_F(VulkanProcess, TheValidationLayerIsHeard) {
  DriverRegistry registry;
  ASSERT_TRUE(addValidatedMappedVulkan(registry).has_value());
  if (auto devices = (*registry.find("vulkan"))->devices(); !devices)
    GTEST_SKIP() << devices.error().toString();
  EXPECT_EXIT(loadInvalidModule(), ::testing::ExitedWithCode(0), "SPIR-V");
}

// What subgroup_size writes.
std::string subgroups() {
  DriverRegistry registry;
  (void)addMappedVulkan(registry).has_value();
  Driver &driver = **registry.find("vulkan");
  auto device = driver.open(*softwareDevice(driver), {});
  auto stream = (*device)->createStream();
  auto module = (*device)->loadModule(kVulkanTestTarget, vulkanKernels());
  auto kernel = (*module)->kernel({"subgroup_size", 1, 0, 0, kVulkanTestThreads});
  auto out = (*device)->allocate(8);
  const BufferBinding bindings[] = {{out->get(), 0}};
  if (!(*stream)->launch(**kernel, {1, 1, 1}, bindings, {}) || !(*stream)->synchronize())
    return "it did not run";
  const std::string target = (*device)->info().target;
  return target.substr(0, target.find("+", target.find("+") + 1)) + " has " +
         std::to_string((*out)->host()[0]);
}

TEST_F(VulkanProcess, SubgroupsFollowTheWidthOfTheSoftwareDevice) {
  // The device's library reads it once, when the child that inherits it looks for devices.
  const auto expect = [](const char *bits, const char *said) {
    setenv("LP_NATIVE_VECTOR_WIDTH", bits, 1);
    EXPECT_EXIT(leave(true, subgroups()), ::testing::ExitedWithCode(0), said);
  };
  expect("128", "subgroup4 has 4");
  expect("256", "subgroup8 has 8");
  expect("512", "subgroup16 has 16");
  unsetenv("LP_NATIVE_VECTOR_WIDTH");
}

// Launches a kernel that does not end, under a watchdog, and says what each call then answers.
void hang(const VulkanOptions &options) {
  DriverRegistry registry;
  (void)addVulkanDriver(registry, options).has_value();
  Driver &driver = **registry.find("vulkan");
  std::string said;
  bool lost = true;
  const auto note = [&](const auto &result) {
    lost &= !result && result.error().code == Code::DeviceLost;
    said = result ? "a call on a lost device succeeded" : result.error().message;
  };
  {
    auto device = driver.open(*softwareDevice(driver), {.watchdogSeconds = 0.2});
    auto module = (*device)->loadModule(kVulkanTestTarget, vulkanKernels());
    auto kernel = (*module)->kernel({"spin", 1, 1, 0, kVulkanTestThreads});
    auto stop = (*device)->allocate(16);
    auto stream = (*device)->createStream();
    const BufferBinding bindings[] = {{stop->get(), 0}};
    const Grid grid = {65535, 65535, 1};
    if (!(*stream)->launch(**kernel, grid, bindings, {{INT64_MAX}}))
      leave(false, "the launch failed");
    note((*stream)->synchronize());
    note((*stream)->launch(**kernel, grid, bindings, {{1}}));
    note((*stream)->synchronize());
    note((*device)->allocate(8));
    note((*device)->createStream());
    note((*device)->createEvent());
    note((*module)->kernel({"spin", 1, 1, 0, kVulkanTestThreads}));
  }
  leave(lost, said);
}

TEST_F(VulkanProcess, AKernelThatHangsLosesTheDeviceInOneSentence) {
  constexpr const char *kSentence = "llvmpipe.*1 dispatch of 'spin' did not end within 0.2 s";
  EXPECT_EXIT(hang({.mapping = VulkanOptions::Mapping::Always}), ::testing::ExitedWithCode(0),
              kSentence);
  EXPECT_EXIT(hang({.mapping = VulkanOptions::Mapping::Never}), ::testing::ExitedWithCode(0),
              kSentence);
}

} // namespace
} // namespace sinter::hal
