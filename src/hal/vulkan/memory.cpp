// Blocks of device memory and the free ranges in them.
#include "hal/vulkan/memory.h"

#include <algorithm>
#include <utility>

namespace sinter::hal::vulkan {

namespace {

constexpr uint64_t kAlignment = 256; // of the strictest known device's storage buffers
// 4,096 allocations, the least that a device must allow, make 256 GiB of such blocks.
constexpr uint64_t kBlockBytes = 64 << 20;
// Types that bypass the device's caches, for debugging; they want a feature that is not turned on.
constexpr VkMemoryPropertyFlags kUncached =
    VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD | VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD;
constexpr uint64_t kSmallBlockBytes = 4
                                      << 20; // where the host's view of device memory may be small

uint64_t blockBytes(MemoryUse use) {
  return use == MemoryUse::Device ? kBlockBytes : kSmallBlockBytes;
}

// Ordered wishes: the first that a memory type fulfils is taken.
std::vector<VkMemoryPropertyFlags> wishes(MemoryUse use, bool mapped) {
  constexpr VkMemoryPropertyFlags kDevice = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  constexpr VkMemoryPropertyFlags kHost =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  switch (use) {
  case MemoryUse::Device:
    return mapped ? std::vector{kDevice | kHost | kCached, kDevice | kHost} : std::vector{kDevice};
  case MemoryUse::Upload:
    return {kDevice | kHost, kHost};
  case MemoryUse::Staging:
    return {kHost | kCached, kHost};
  }
  return {};
}

// First fit; the rest of the free range stays.
std::optional<uint64_t> takeFrom(MemoryBlock &block, uint64_t bytes) {
  for (auto it = block.free.begin(); it != block.free.end(); ++it) {
    const auto [offset, room] = *it;
    if (room < bytes)
      continue;
    block.free.erase(it);
    if (room > bytes)
      block.free.emplace(offset + bytes, room - bytes);
    return offset;
  }
  return std::nullopt;
}

void giveTo(MemoryBlock &block, uint64_t offset, uint64_t bytes) {
  auto next = block.free.lower_bound(offset);
  if (next != block.free.end() && offset + bytes == next->first) {
    bytes += next->second;
    next = block.free.erase(next);
  }
  if (next != block.free.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  block.free.emplace(offset, bytes);
}

} // namespace

MemoryRange::~MemoryRange() {
  if (memory_)
    memory_->release(*this);
}

void MemoryRange::swap(MemoryRange &other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(block_, other.block_);
  std::swap(buffer_, other.buffer_);
  std::swap(offset_, other.offset_);
  std::swap(bytes_, other.bytes_);
  std::swap(address_, other.address_);
  std::swap(host_, other.host_);
}

Memory::~Memory() {
  for (auto &block : blocks_)
    destroyBlock(*block);
}

Fail Memory::exhausted(uint64_t bytes) const {
  const PhysicalDevice &device = context_.physical();
  return fail(Code::Exhausted, "cannot allocate " + std::to_string(bytes) + " bytes: device '" +
                                   device.name + "' has " + std::to_string(device.memoryBytes) +
                                   " bytes of memory and gives at most " +
                                   std::to_string(device.maxAllocationBytes) +
                                   " at once; this program holds " + std::to_string(takenBytes_));
}

Result<MemoryRange> Memory::allocate(MemoryUse use, uint64_t bytes) {
  SINTER_TRY(context_.alive());
  const PhysicalDevice &device = context_.physical();
  if (bytes > device.memoryBytes || bytes > UINT64_MAX - kAlignment)
    return exhausted(bytes);
  const uint64_t rounded = std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (rounded > device.maxAllocationBytes)
    return exhausted(bytes);
  const bool own = rounded > blockBytes(use) / 4;
  if (!own)
    for (auto &block : blocks_)
      if (block->use == use)
        if (const auto offset = takeFrom(*block, rounded))
          return rangeOf(*block, *offset, rounded);
  auto block = createBlock(use, own ? rounded : blockBytes(use));
  if (!block && block.error().code == Code::Exhausted && !own)
    block = createBlock(use, rounded);
  if (!block)
    return block.error().code == Code::Exhausted ? exhausted(bytes)
                                                 : Fail(std::move(block.error()));
  return rangeOf(**block, *takeFrom(**block, rounded), rounded);
}

MemoryRange Memory::rangeOf(MemoryBlock &block, uint64_t offset, uint64_t bytes) {
  MemoryRange range;
  range.memory_ = this;
  range.block_ = &block;
  range.buffer_ = block.buffer;
  range.offset_ = offset;
  range.bytes_ = bytes;
  range.address_ = block.address + offset;
  range.host_ = block.host ? block.host + offset : nullptr;
  return range;
}

// An empty block goes back to the device, unless it is the last of its use: a buffer that comes and
// goes would take and give a whole block each time.
void Memory::release(MemoryRange &range) {
  MemoryBlock &block = *range.block_;
  giveTo(block, range.offset_, range.bytes_);
  if (block.free.begin()->second != block.bytes)
    return;
  const bool shared = block.bytes == blockBytes(block.use);
  const auto others = std::count_if(blocks_.begin(), blocks_.end(), [&](const auto &other) {
    return other->use == block.use && other->bytes == block.bytes;
  });
  if (shared && others == 1)
    return;
  destroyBlock(block);
  std::erase_if(blocks_, [&](const auto &known) { return known.get() == &block; });
}

Result<MemoryBlock *> Memory::createBlock(MemoryUse use, uint64_t bytes) {
  auto block = std::make_unique<MemoryBlock>();
  if (auto filled = fillBlock(*block, use, bytes); !filled) {
    destroyBlock(*block);
    return Fail(std::move(filled.error()));
  }
  blocks_.push_back(std::move(block));
  return blocks_.back().get();
}

Result<void> Memory::fillBlock(MemoryBlock &block, MemoryUse use, uint64_t bytes) {
  const DeviceFunctions &vk = context_.vk();
  const VkDevice device = context_.handle();
  VkBufferCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
               VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  SINTER_TRY(
      context_.check(vk.vkCreateBuffer(device, &info, nullptr, &block.buffer), "vkCreateBuffer"));
  VkMemoryRequirements needed = {};
  vk.vkGetBufferMemoryRequirements(device, block.buffer, &needed);
  SINTER_TRY(context_.check(takeMemory(block, use, needed), "vkAllocateMemory"));
  block.use = use;
  block.bytes = bytes;
  block.free.emplace(0, bytes);
  takenBytes_ += bytes;
  SINTER_TRY(context_.check(vk.vkBindBufferMemory(device, block.buffer, block.memory, 0),
                            "vkBindBufferMemory"));
  VkBufferDeviceAddressInfo address = {};
  address.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
  address.buffer = block.buffer;
  block.address = vk.vkGetBufferDeviceAddress(device, &address);
  if (use == MemoryUse::Device && !context_.mapped())
    return {};
  void *host = nullptr;
  SINTER_TRY(context_.check(vk.vkMapMemory(device, block.memory, 0, VK_WHOLE_SIZE, 0, &host),
                            "vkMapMemory"));
  block.host = static_cast<uint8_t *>(host);
  return {};
}

VkResult Memory::takeMemory(MemoryBlock &block, MemoryUse use, const VkMemoryRequirements &needed) {
  VkMemoryAllocateFlagsInfo flags = {};
  flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  info.pNext = &flags;
  info.allocationSize = needed.size;
  const VkPhysicalDeviceMemoryProperties &memory = context_.physical().memory;
  VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
  for (VkMemoryPropertyFlags wish : wishes(use, context_.mapped()))
    for (uint32_t type = 0; type < memory.memoryTypeCount; ++type) {
      const VkMemoryType &offered = memory.memoryTypes[type];
      if ((offered.propertyFlags & wish) != wish || (offered.propertyFlags & kUncached) ||
          !(needed.memoryTypeBits >> type & 1) ||
          needed.size > memory.memoryHeaps[offered.heapIndex].size)
        continue;
      info.memoryTypeIndex = type;
      result = context_.vk().vkAllocateMemory(context_.handle(), &info, nullptr, &block.memory);
      if (result != VK_ERROR_OUT_OF_DEVICE_MEMORY)
        return result;
    }
  return result;
}

void Memory::destroyBlock(MemoryBlock &block) {
  takenBytes_ -= block.bytes;
  if (context_.abandoned())
    return;
  if (block.buffer)
    context_.vk().vkDestroyBuffer(context_.handle(), block.buffer, nullptr);
  if (block.memory)
    context_.vk().vkFreeMemory(context_.handle(), block.memory, nullptr);
}

} // namespace sinter::hal::vulkan
