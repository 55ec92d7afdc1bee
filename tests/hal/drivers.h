// The one list of drivers that the conformance suite runs over: what each lacks, and the code that
// it loads.
#pragma once

#include "hal/chaos/chaos_driver.h"
#include "hal/cpu/cpu_driver.h"
#include "hal/cuda/cuda_driver.h"
#include "hal/null/null_driver.h"

#include "hal/fake_cuda.h"
#include "hal/kernels_ptx.h"
#include "hal/test_kernels.h"
#include "hal/vulkan_cases.h"

#include <set>

namespace sinter::hal {

struct DriverCase {
  const char *name;
  const char *driver; // as the registry knows it
  Result<void> (*add)(DriverRegistry &);
  uint32_t threads;        // of a cpu device; 0 where the hardware says how many units there are
  uint32_t programThreads; // KernelSpec::threads of the kernels
  std::set<Feature> unsupported;
  const char *target; // of `kernels`; the device's own target begins with `driver` or with this
  std::vector<uint8_t> (*kernels)(); // those of tests/hal/kernels.c
  bool onHardware = false; // the suite skips, with the driver's reason, where there is no device
};

inline void PrintTo(const DriverCase &driver, std::ostream *out) {
  *out << driver.name;
}

// The cpu driver under a chaos driver that injects nothing.
inline Result<void> addCalmChaos(DriverRegistry &registry) {
  DriverRegistry inner;
  SINTER_TRY(addCpuDriver(inner));
  return addChaosDriver(registry, std::move(inner), {});
}

inline Result<void> addDefaultCuda(DriverRegistry &registry) {
  return addCudaDriver(registry);
}

// Those of tests/hal/kernels.c for NVIDIA devices.
inline std::vector<uint8_t> ptxKernels() {
  const std::string_view text = kTestKernelsPtx;
  return {text.begin(), text.end()};
}

inline const DriverCase kDrivers[] = {
    {"CpuWithOneThread",
     "cpu",
     addCpuDriver,
     1,
     1,
     {Feature::CapturedGraph},
     kTestTarget,
     testKernels},
    {"CpuWithTwoThreads",
     "cpu",
     addCpuDriver,
     2,
     1,
     {Feature::CapturedGraph},
     kTestTarget,
     testKernels},
    {"CpuWithFiveThreads",
     "cpu",
     addCpuDriver,
     5,
     1,
     {Feature::CapturedGraph},
     kTestTarget,
     testKernels},
    {"Null",
     "null",
     addNullDriver,
     1,
     1,
     {Feature::Execute, Feature::Timing},
     kTestTarget,
     testKernels},
    {"Chaos", "chaos", addCalmChaos, 2, 1, {Feature::CapturedGraph}, kTestTarget, testKernels},
    {"CudaOnAFakeLibrary",
     "cuda",
     fake::addFakeCuda,
     0,
     32,
     {Feature::HostVisible, Feature::WrapMemory, Feature::Scratch},
     "cuda:sm_80",
     ptxKernels},
    {"Cuda",
     "cuda",
     addDefaultCuda,
     0,
     32,
     {Feature::HostVisible, Feature::WrapMemory, Feature::Scratch},
     "cuda:sm_80",
     ptxKernels,
     true},
    {"VulkanMapped",
     "vulkan",
     addMappedVulkan,
     0,
     kVulkanTestThreads,
     {Feature::WrapMemory, Feature::Scratch},
     kVulkanTestTarget,
     vulkanKernels,
     true},
    {"VulkanStaged",
     "vulkan",
     addStagedVulkan,
     0,
     kVulkanTestThreads,
     {Feature::HostVisible, Feature::WrapMemory, Feature::Scratch},
     kVulkanTestTarget,
     vulkanKernels,
     true},
    {"VulkanValidatedMapped",
     "vulkan",
     addValidatedMappedVulkan,
     0,
     kVulkanTestThreads,
     {Feature::WrapMemory, Feature::Scratch},
     kVulkanTestTarget,
     vulkanKernels,
     true},
    {"VulkanValidatedStaged",
     "vulkan",
     addValidatedStagedVulkan,
     0,
     kVulkanTestThreads,
     {Feature::HostVisible, Feature::WrapMemory, Feature::Scratch},
     kVulkanTestTarget,
     vulkanKernels,
     true},
};

} // namespace sinter::hal
