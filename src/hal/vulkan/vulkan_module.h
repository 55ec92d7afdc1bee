// Loaded SPIR-V and the pipelines made of it.
#pragma once

#include "hal/vulkan/context.h"
#include "hal/vulkan/memory.h"
#include "hal/vulkan/spirv_code.h"

namespace sinter::hal::vulkan {

class VulkanKernel final : public Kernel {
public:
  VulkanKernel(KernelSpec spec, Context &context, VkPipeline pipeline, MemoryRange constants)
      : Kernel(std::move(spec)), context_(context), pipeline_(pipeline),
        constants_(std::move(constants)) {}
  ~VulkanKernel() override;

  VkPipeline pipeline() const { return pipeline_; }
  VkDeviceAddress constants() const { return constants_.address(); } // 0 where there are none

private:
  Context &context_;
  VkPipeline pipeline_;
  MemoryRange constants_;
};

class VulkanModule final : public Module {
public:
  // Unsupported: the target or a capability is not the device's. Corrupt: readSpirv().
  static Result<std::unique_ptr<VulkanModule>> load(Memory &memory, const DeviceInfo &info,
                                                    std::string_view target,
                                                    std::span<const uint8_t> code);
  ~VulkanModule() override;

  Result<std::unique_ptr<Kernel>> kernel(const KernelSpec &spec) override;

private:
  VulkanModule(Memory &memory, const DeviceInfo &info, SpirvCode code)
      : memory_(memory), context_(memory.context()), info_(info), code_(std::move(code)) {}
  Result<void> checkSpec(const KernelSpec &spec) const;
  Result<void> checkLocalSize(const KernelSpec &spec, const EntryPoint &entry) const;
  Result<VkPipeline> createPipeline(const KernelSpec &spec, const EntryPoint &entry);
  Result<MemoryRange> constantsOf(const std::string &symbol);

  Memory &memory_;
  Context &context_;
  const DeviceInfo &info_;
  SpirvCode code_;
  VkShaderModule shader_ = VK_NULL_HANDLE;
};

} // namespace sinter::hal::vulkan
