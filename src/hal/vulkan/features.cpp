// Which features of a device are turned on, and which SPIR-V capabilities they allow.
#include "hal/vulkan/physical_device.h"

namespace sinter::hal::vulkan {
namespace {

struct Capability {
  uint32_t value;
  const char *name;
  bool (*allowed)(const Abilities &);
};

template <bool Abilities::*member> bool has(const Abilities &a) {
  return a.*member;
}
template <VkSubgroupFeatureFlagBits bit> bool hasSubgroup(const Abilities &a) {
  return (a.subgroupOperations & bit) != 0;
}
bool always(const Abilities &) {
  return true;
}

constexpr Capability kCapabilities[] = {
    {0, "Matrix", always},
    {1, "Shader", always},
    {9, "Float16", has<&Abilities::float16>},
    {10, "Float64", has<&Abilities::float64>},
    {11, "Int64", has<&Abilities::int64>},
    {22, "Int16", has<&Abilities::int16>},
    {39, "Int8", has<&Abilities::int8>},
    {61, "GroupNonUniform", hasSubgroup<VK_SUBGROUP_FEATURE_BASIC_BIT>},
    {62, "GroupNonUniformVote", hasSubgroup<VK_SUBGROUP_FEATURE_VOTE_BIT>},
    {63, "GroupNonUniformArithmetic", hasSubgroup<VK_SUBGROUP_FEATURE_ARITHMETIC_BIT>},
    {64, "GroupNonUniformBallot", hasSubgroup<VK_SUBGROUP_FEATURE_BALLOT_BIT>},
    {65, "GroupNonUniformShuffle", hasSubgroup<VK_SUBGROUP_FEATURE_SHUFFLE_BIT>},
    {66, "GroupNonUniformShuffleRelative", hasSubgroup<VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT>},
    {67, "GroupNonUniformClustered", hasSubgroup<VK_SUBGROUP_FEATURE_CLUSTERED_BIT>},
    {68, "GroupNonUniformQuad", hasSubgroup<VK_SUBGROUP_FEATURE_QUAD_BIT>},
    {4433, "StorageBuffer16BitAccess", has<&Abilities::storage16>},
    {4448, "StorageBuffer8BitAccess", has<&Abilities::storage8>},
    {4464, "DenormPreserve", has<&Abilities::denormPreserve>},
    {4466, "SignedZeroInfNanPreserve", has<&Abilities::signedZeroInfNan>},
    {4467, "RoundingModeRTE", has<&Abilities::roundToEven>},
    {5116, "BFloat16TypeKHR", has<&Abilities::bfloat16>},
    {5117, "BFloat16DotProductKHR", has<&Abilities::bfloat16Dot>},
    {5118, "BFloat16CooperativeMatrixKHR", has<&Abilities::bfloat16Cooperative>},
    {5345, "VulkanMemoryModel", has<&Abilities::memoryModel>},
    {5346, "VulkanMemoryModelDeviceScope", has<&Abilities::deviceScope>},
    {5347, "PhysicalStorageBufferAddresses", has<&Abilities::bufferAddress>},
    {6016, "DotProductInputAll", has<&Abilities::dot>},
    {6017, "DotProductInput4x8Bit", has<&Abilities::dot>},
    {6018, "DotProductInput4x8BitPacked", has<&Abilities::dot>},
    {6019, "DotProduct", has<&Abilities::dot>},
    {6022, "CooperativeMatrixKHR", has<&Abilities::cooperative>},
};

} // namespace

Features::Features(uint32_t apiVersion, bool hasCooperativeMatrix, bool hasBfloat16) {
  core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  core.pNext = &v11;
  v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  v11.pNext = &v12;
  v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
  void **next = &v12.pNext;
  if (apiVersion >= VK_API_VERSION_1_3) {
    *next = &v13;
    next = &v13.pNext;
  }
  if (hasCooperativeMatrix) {
    *next = &cooperative;
    next = &cooperative.next;
  }
  if (hasBfloat16)
    *next = &bfloat16;
}

void enableFeatures(const Abilities &abilities, Features &features) {
  features.core.features.shaderInt64 = abilities.int64;
  features.core.features.shaderInt16 = abilities.int16;
  features.core.features.shaderFloat64 = abilities.float64;
  features.v11.storageBuffer16BitAccess = abilities.storage16;
  features.v12.storageBuffer8BitAccess = abilities.storage8;
  features.v12.shaderInt8 = abilities.int8;
  features.v12.shaderFloat16 = abilities.float16;
  features.v12.scalarBlockLayout = abilities.scalarLayout;
  features.v12.shaderSubgroupExtendedTypes = abilities.subgroupTypes;
  features.v12.bufferDeviceAddress = abilities.bufferAddress;
  features.v12.timelineSemaphore = abilities.timeline;
  features.v12.vulkanMemoryModel = abilities.memoryModel;
  features.v12.vulkanMemoryModelDeviceScope = abilities.deviceScope;
  features.v12.hostQueryReset = abilities.hostQueryReset;
  features.v13.subgroupSizeControl = abilities.subgroupControl;
  features.v13.computeFullSubgroups = abilities.fullSubgroups;
  features.v13.shaderIntegerDotProduct = abilities.dot;
  features.v13.maintenance4 = abilities.maintenance4;
  features.cooperative.cooperativeMatrix = abilities.cooperative;
  features.bfloat16.type16 = abilities.bfloat16;
  features.bfloat16.dotProduct = abilities.bfloat16Dot;
  features.bfloat16.cooperativeMatrix = abilities.bfloat16Cooperative;
}

std::vector<const char *> extensionsOf(const Abilities &abilities) {
  std::vector<const char *> names;
  if (abilities.cooperative)
    names.push_back("VK_KHR_cooperative_matrix");
  if (abilities.bfloat16)
    names.push_back("VK_KHR_shader_bfloat16");
  return names;
}

Result<void> checkCapability(const PhysicalDevice &device, uint32_t capability) {
  for (const Capability &known : kCapabilities) {
    if (known.value != capability)
      continue;
    if (known.allowed(device.abilities))
      return {};
    return fail(Code::Unsupported, std::string("code needs the SPIR-V capability ") + known.name +
                                       ", which device '" + device.name + "' lacks");
  }
  return fail(Code::Unsupported, "code needs the SPIR-V capability " + std::to_string(capability) +
                                     ", which the vulkan driver does not offer");
}

} // namespace sinter::hal::vulkan
