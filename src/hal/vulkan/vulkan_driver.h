// The vulkan driver: SPIR-V compute kernels on any device of Vulkan 1.2 or later with buffer
// addresses, timeline semaphores, the Vulkan memory model at device scope, 64-bit integers, and 8-
// and 16-bit storage. The loader is opened at run time.
//
// What a kernel is: an entry point of execution model GLCompute, named by KernelSpec::symbol, whose
// LocalSize has KernelSpec::threads invocations in all. It has no descriptors and one push constant
// of 8 bytes: the device address of its argument block, 64-byte aligned 64-bit words in this order:
//   two words of zero, which loads outside of a tile read
//   one device address for each buffer, its binding's offset added
//   one word for each scalar
//   the extents x, y, z of the launch's grid
//   the base x, y, z of this dispatch
//   the device address of the kernel's constants (spirv_code.h), zero where it has none
// One workgroup runs one point of the grid, at WorkgroupId + base. A grid with an extent beyond the
// device's limit (65,535 on many) runs as several dispatches, at most kMaxDispatches of them.
// Memory that the invocations share is the module's own: KernelSpec::scratchBytes must be 0.
//
// The watchdog of DeviceOptions bounds each submission, of at most 64 dispatches. A device that it
// gave up is lost: every later call fails, and what the device held is never freed.
#pragma once

#include "hal/hal.h"

namespace sinter::hal {

namespace vulkan {
inline constexpr int64_t kMaxDispatches = 4096; // of one launch
} // namespace vulkan

struct VulkanOptions {
  enum class Mapping : uint8_t {
    WhereUnified, // buffers are host-visible on devices that share the host's memory
    Never,        // buffers are reached through staging on every device
    Always,       // devices whose memory the host cannot see are refused
  };
  Mapping mapping = Mapping::WhereUnified;
  const char *loader = "libvulkan.so.1";
  // Where given, VK_LAYER_KHRONOS_validation is loaded and its warnings and errors go here, from
  // any thread. NotFound, when devices are asked for, where that layer is not installed.
  void (*onValidation)(const char *message) = nullptr;
};

// Adds the driver; the loader is opened when devices are asked for, and its absence said then.
Result<void> addVulkanDriver(DriverRegistry &registry, const VulkanOptions &options = {});

} // namespace sinter::hal
