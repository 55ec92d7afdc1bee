// Recording of commands.
#include "hal/vulkan/batch.h"

#include "base/check.h"

#include <cstring>

namespace sinter::hal::vulkan {
namespace {

constexpr uint64_t kArgumentAlignment = 64;
constexpr uint64_t kZeroBytes = 4096; // that an arena begins with
// 64 dispatches of 100 words, or the largest few.
constexpr uint64_t kArenaBytes = kZeroBytes + (64 << 10);
constexpr std::size_t kGridWords = 6;      // extents and base

constexpr VkPipelineStageFlags kStages =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags kWrites = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
constexpr VkAccessFlags kReads = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;

uint64_t aligned(uint64_t bytes) {
  return (bytes + kArgumentAlignment - 1) / kArgumentAlignment * kArgumentAlignment;
}

} // namespace

Result<std::unique_ptr<CommandPool>> CommandPool::create(Context &context) {
  std::unique_ptr<CommandPool> pool(new CommandPool(context));
  VkCommandPoolCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  info.queueFamilyIndex = context.physical().queueFamily;
  SINTER_TRY(context.check(
      context.vk().vkCreateCommandPool(context.handle(), &info, nullptr, &pool->handle_),
      "vkCreateCommandPool"));
  return pool;
}

CommandPool::~CommandPool() {
  if (handle_ && !context_.abandoned())
    context_.vk().vkDestroyCommandPool(context_.handle(), handle_, nullptr);
}

Result<VkCommandBuffer> CommandPool::allocate() {
  VkCommandBufferAllocateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  info.commandPool = handle_;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  VkCommandBuffer buffer = VK_NULL_HANDLE;
  SINTER_TRY(
      context_.check(context_.vk().vkAllocateCommandBuffers(context_.handle(), &info, &buffer),
                     "vkAllocateCommandBuffers"));
  return buffer;
}

Result<std::unique_ptr<Batch>> Batch::create(Memory &memory, CommandPool &pool) {
  SINTER_ASSIGN(MemoryRange arena, memory.allocate(MemoryUse::Upload, kArenaBytes));
  SINTER_ASSIGN(const VkCommandBuffer handle, pool.allocate());
  std::memset(arena.host(), 0, kZeroBytes);
  return std::unique_ptr<Batch>(new Batch(memory.context(), handle, std::move(arena)));
}

Result<void> Batch::begin(bool repeated) {
  used_ = kZeroBytes;
  commands_ = dispatches_ = 0;
  unordered_ = kStages; // submitted before this batch
  VkCommandBufferBeginInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  info.flags = repeated ? VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT
                        : VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  return context_.check(context_.vk().vkBeginCommandBuffer(handle_, &info), "vkBeginCommandBuffer");
}

Result<void> Batch::end() {
  VkMemoryBarrier barrier = {};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = kWrites;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  context_.vk().vkCmdPipelineBarrier(handle_, kStages, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier,
                                     0, nullptr, 0, nullptr);
  return context_.check(context_.vk().vkEndCommandBuffer(handle_), "vkEndCommandBuffer");
}

bool Batch::hasRoom(uint64_t argumentBytes) const {
  return commands_ < kMaxCommands && aligned(argumentBytes) <= kArenaBytes - used_;
}

uint64_t Batch::argumentBytes(const KernelSpec &spec) {
  return (spec.bufferCount + spec.scalarCount + kGridWords + 1) * sizeof(uint64_t);
}

// The arena's offset of so many bytes.
uint64_t Batch::take(uint64_t bytes) {
  SINTER_CHECK(aligned(bytes) <= kArenaBytes - used_);
  const uint64_t offset = used_;
  used_ += aligned(bytes);
  return offset;
}

void Batch::order(VkPipelineStageFlags next) {
  constexpr VkAccessFlags kCopies = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  const bool copies = (unordered_ | next) & VK_PIPELINE_STAGE_TRANSFER_BIT;
  VkMemoryBarrier barrier = {};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = copies ? kWrites : kWrites & ~kCopies;
  barrier.dstAccessMask = copies ? kReads | kWrites : (kReads | kWrites) & ~kCopies;
  const VkPipelineStageFlags stages = copies ? kStages : VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  context_.vk().vkCmdPipelineBarrier(handle_, stages, stages, 0, 1, &barrier, 0, nullptr, 0,
                                     nullptr);
  unordered_ = next;
}

void Batch::dispatch(const Dispatch &dispatch, bool ordered) {
  const KernelSpec &spec = dispatch.kernel->spec();
  if (ordered)
    order(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
  const uint64_t offset = take(argumentBytes(spec));
  const VkDeviceAddress arguments = arena_.address() + offset;
  uint8_t *out = arena_.host() + offset;
  std::array<uint64_t, kPushWords> pushed = {arguments, arena_.address()};
  std::memcpy(&pushed[2], dispatch.base.data(), sizeof dispatch.base);
  std::size_t next = 2 + dispatch.base.size(); // of the first words, which are pushed too
  const auto put = [&](const void *word) {
    std::memcpy(out, word, sizeof(uint64_t));
    out += sizeof(uint64_t);
    if (next < pushed.size())
      std::memcpy(&pushed[next++], word, sizeof(uint64_t));
  };
  for (const BufferBinding &binding : dispatch.buffers) {
    const uint64_t address =
        static_cast<const VulkanBuffer *>(binding.buffer)->range().address() + binding.offset;
    put(&address);
  }
  for (const int64_t &scalar : dispatch.scalars)
    put(&scalar);
  for (const Grid *words : {&dispatch.grid, &dispatch.base})
    for (const int64_t &word : *words)
      put(&word);
  const VkDeviceAddress constants = dispatch.kernel->constants();
  put(&constants);
  const DeviceFunctions &vk = context_.vk();
  vk.vkCmdBindPipeline(handle_, VK_PIPELINE_BIND_POINT_COMPUTE, dispatch.kernel->pipeline());
  vk.vkCmdPushConstants(handle_, context_.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof pushed,
                        pushed.data());
  vk.vkCmdDispatch(handle_, static_cast<uint32_t>(dispatch.groups[0]),
                   static_cast<uint32_t>(dispatch.groups[1]),
                   static_cast<uint32_t>(dispatch.groups[2]));
  lastSymbol_ = spec.symbol;
  ++dispatches_;
  ++commands_;
}

void Batch::copyRange(VkBuffer dst, uint64_t dstOffset, VkBuffer src, uint64_t srcOffset,
                      uint64_t bytes) {
  if (bytes == 0)
    return;
  const VkBufferCopy region = {srcOffset, dstOffset, bytes};
  context_.vk().vkCmdCopyBuffer(handle_, src, dst, 1, &region);
}

void Batch::copy(const MemoryRange &dst, uint64_t dstOffset, const MemoryRange &src,
                 uint64_t srcOffset, uint64_t bytes) {
  order(VK_PIPELINE_STAGE_TRANSFER_BIT);
  copyRange(dst.buffer(), dst.offset() + dstOffset, src.buffer(), src.offset() + srcOffset, bytes);
  ++commands_;
}

// vkCmdFillBuffer knows whole words only: the bytes before and after them are copied.
void Batch::fill(const MemoryRange &dst, uint64_t offset, uint64_t bytes, uint8_t value) {
  constexpr uint64_t kWord = 4;
  order(VK_PIPELINE_STAGE_TRANSFER_BIT);
  const uint64_t from = dst.offset() + offset, end = from + bytes;
  const uint64_t first = std::min(end, (from + kWord - 1) / kWord * kWord);
  const uint64_t last = std::max(first, end / kWord * kWord);
  if (first != from || last != end) {
    const uint64_t edge = take(kWord);
    std::memset(arena_.host() + edge, value, kWord);
    copyRange(dst.buffer(), from, arena_.buffer(), arena_.offset() + edge, first - from);
    copyRange(dst.buffer(), last, arena_.buffer(), arena_.offset() + edge, end - last);
  }
  if (last != first)
    context_.vk().vkCmdFillBuffer(handle_, dst.buffer(), first, last - first, value * 0x01010101u);
  ++commands_;
}

void Batch::write(const MemoryRange &dst, uint64_t offset, std::span<const uint8_t> bytes) {
  order(VK_PIPELINE_STAGE_TRANSFER_BIT);
  const uint64_t from = take(bytes.size());
  std::memcpy(arena_.host() + from, bytes.data(), bytes.size());
  copyRange(dst.buffer(), dst.offset() + offset, arena_.buffer(), arena_.offset() + from,
            bytes.size());
  ++commands_;
}

void Batch::stamp(const VulkanEvent &event) {
  context_.vk().vkCmdResetQueryPool(handle_, event.pool(), 0, 1);
  context_.vk().vkCmdWriteTimestamp(handle_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, event.pool(), 0);
  ++commands_;
}

} // namespace sinter::hal::vulkan
