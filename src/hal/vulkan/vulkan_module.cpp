// Checking of modules and kernels against the device, and creation of pipelines.
#include "hal/vulkan/vulkan_module.h"

#include "hal/vulkan/batch.h"

#include <algorithm>
#include <cstring>

namespace sinter::hal::vulkan {
namespace {

Fail exceeds(const KernelSpec &spec, uint64_t found, const char *what, uint64_t limit) {
  return fail(Code::Exhausted, "kernel '" + spec.symbol + "' needs " + std::to_string(found) + " " +
                                   what + ", the device has at most " + std::to_string(limit));
}

uint32_t spirvVersionOf(uint32_t apiVersion) {
  return apiVersion >= VK_API_VERSION_1_3 ? 0x00010600 : 0x00010500;
}

} // namespace

VulkanKernel::~VulkanKernel() {
  if (!context_.abandoned())
    context_.vk().vkDestroyPipeline(context_.handle(), pipeline_, nullptr);
}

Result<std::unique_ptr<VulkanModule>> VulkanModule::load(Memory &memory, const DeviceInfo &info,
                                                         std::string_view target,
                                                         std::span<const uint8_t> code) {
  Context &context = memory.context();
  SINTER_TRY(context.alive());
  SINTER_ASSIGN(const TargetText needed, parseTarget(target));
  SINTER_TRY(checkTarget(needed, context.physical().target));
  SINTER_ASSIGN(SpirvCode spirv, readSpirv(code));
  if (spirv.version > spirvVersionOf(context.physical().apiVersion))
    return fail(Code::Unsupported, "code is of SPIR-V 1." +
                                       std::to_string(spirv.version >> 8 & 255) +
                                       ", newer than device '" + info.name + "' knows");
  for (uint32_t capability : spirv.capabilities)
    SINTER_TRY(checkCapability(context.physical(), capability));
  std::unique_ptr<VulkanModule> module(new VulkanModule(memory, info, std::move(spirv)));
  VkShaderModuleCreateInfo create = {};
  create.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  create.codeSize = module->code_.words.size() * sizeof(uint32_t);
  create.pCode = module->code_.words.data();
  SINTER_TRY(context.check(
      context.vk().vkCreateShaderModule(context.handle(), &create, nullptr, &module->shader_),
      "vkCreateShaderModule"));
  return module;
}

VulkanModule::~VulkanModule() {
  if (shader_ && !context_.abandoned())
    context_.vk().vkDestroyShaderModule(context_.handle(), shader_, nullptr);
}

Result<std::unique_ptr<Kernel>> VulkanModule::kernel(const KernelSpec &spec) {
  SINTER_TRY(context_.alive());
  SINTER_TRY(checkSpec(spec));
  const auto &entries = code_.entryPoints;
  const auto entry = std::find_if(entries.begin(), entries.end(), [&](const EntryPoint &known) {
    return known.name == spec.symbol;
  });
  if (entry == entries.end())
    return fail(Code::NotFound, "code has no kernel '" + spec.symbol + "'");
  SINTER_TRY(checkLocalSize(spec, *entry));
  SINTER_ASSIGN(MemoryRange constants, constantsOf(spec.symbol));
  SINTER_ASSIGN(const VkPipeline pipeline, createPipeline(spec, *entry));
  return std::make_unique<VulkanKernel>(spec, context_, pipeline, std::move(constants));
}

Result<MemoryRange> VulkanModule::constantsOf(const std::string &symbol) {
  const auto found = code_.constants.find(symbol);
  if (found == code_.constants.end())
    return MemoryRange();
  const std::vector<uint32_t> &words = found->second;
  SINTER_ASSIGN(MemoryRange range,
                memory_.allocate(MemoryUse::Upload, words.size() * sizeof(uint32_t)));
  std::memcpy(range.host(), words.data(), words.size() * sizeof(uint32_t));
  return range;
}

Result<void> VulkanModule::checkSpec(const KernelSpec &spec) const {
  const TargetText &target = context_.physical().target;
  if (spec.bufferCount > kMaxBindings || spec.scalarCount > kMaxScalars)
    return fail(Code::InvalidArgument,
                "kernel '" + spec.symbol + "' takes " + std::to_string(spec.bufferCount) +
                    " buffers and " + std::to_string(spec.scalarCount) +
                    " scalars, expected at most " + std::to_string(kMaxBindings) + " and " +
                    std::to_string(kMaxScalars));
  if (spec.scratchBytes != 0)
    return unsupported(info_, Feature::Scratch);
  if (spec.threads > target.threads)
    return exceeds(spec, spec.threads, "threads", target.threads);
  if (spec.sharedBytes > target.shared)
    return exceeds(spec, spec.sharedBytes, "bytes of shared memory", target.shared);
  return {};
}

Result<void> VulkanModule::checkLocalSize(const KernelSpec &spec, const EntryPoint &entry) const {
  const auto &limits = context_.physical().maxGroupSize;
  uint64_t threads = 1;
  std::string text;
  for (std::size_t i = 0; i < 3; ++i) {
    if (entry.localSize[i] > limits[i])
      return exceeds(spec, entry.localSize[i], "threads along one dimension", limits[i]);
    threads *= entry.localSize[i];
    text += (i ? " x " : "") + std::to_string(entry.localSize[i]);
  }
  if (threads != spec.threads)
    return fail(Code::InvalidArgument, "kernel '" + spec.symbol + "' has a workgroup of " + text +
                                           ", expected " + std::to_string(spec.threads) +
                                           " threads");
  return {};
}

Result<VkPipeline> VulkanModule::createPipeline(const KernelSpec &spec, const EntryPoint &entry) {
  const PhysicalDevice &device = context_.physical();
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroup = {};
  subgroup.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
  subgroup.requiredSubgroupSize = device.target.subgroup;
  VkComputePipelineCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.pNext = device.pinSubgroup ? &subgroup : nullptr;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = shader_;
  info.stage.pName = spec.symbol.c_str();
  // Lanes may only be counted on where every subgroup is full.
  if (device.abilities.fullSubgroups && entry.localSize[0] % device.target.subgroup == 0)
    info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  info.layout = context_.layout();
  VkPipeline pipeline = VK_NULL_HANDLE;
  SINTER_TRY(context_.check(context_.vk().vkCreateComputePipelines(
                                context_.handle(), context_.cache(), 1, &info, nullptr, &pipeline),
                            "vkCreateComputePipelines"));
  return pipeline;
}

} // namespace sinter::hal::vulkan
