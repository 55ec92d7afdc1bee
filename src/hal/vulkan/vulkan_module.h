// Loaded SPIR-V and the pipelines made of it.
#pragma once

#include "hal/vulkan/context.h"
#include "hal/vulkan/spirv_code.h"

namespace sinter::hal::vulkan {

class VulkanKernel final : public Kernel {
public:
  VulkanKernel(KernelSpec spec, Context &context, VkPipeline pipeline)
      : Kernel(std::move(spec)), context_(context), pipeline_(pipeline) {}
  ~VulkanKernel() override;

  VkPipeline pipeline() const { return pipeline_; }

private:
  Context &context_;
  VkPipeline pipeline_;
};

class VulkanModule final : public Module {
public:
  // Unsupported: the target or a capability is not the device's. Corrupt: readSpirv().
  static Result<std::unique_ptr<VulkanModule>> load(Context &context, const DeviceInfo &info,
                                                    std::string_view target,
                                                    std::span<const uint8_t> code);
  ~VulkanModule() override;

  Result<std::unique_ptr<Kernel>> kernel(const KernelSpec &spec) override;

private:
  VulkanModule(Context &context, const DeviceInfo &info, SpirvCode code)
      : context_(context), info_(info), code_(std::move(code)) {}
  Result<void> checkSpec(const KernelSpec &spec) const;
  Result<void> checkLocalSize(const KernelSpec &spec, const EntryPoint &entry) const;
  Result<VkPipeline> createPipeline(const KernelSpec &spec, const EntryPoint &entry);

  Context &context_;
  const DeviceInfo &info_;
  SpirvCode code_;
  VkShaderModule shader_ = VK_NULL_HANDLE;
};

} // namespace sinter::hal::vulkan
