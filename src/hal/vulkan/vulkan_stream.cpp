// Recording into a ring of batches, submission, and transfers between host and device.
#include "hal/vulkan/vulkan_stream.h"

#include <algorithm>
#include <cstring>

namespace sinter::hal::vulkan {
namespace {

constexpr std::size_t kSlots = 8; // batches under way before the host waits
constexpr uint64_t kStagingBytes = 4 << 20;
constexpr uint64_t kSmallWrite = 4096; // travels with the commands' arguments

const MemoryRange &rangeOf(const Buffer &buffer) {
  return static_cast<const VulkanBuffer &>(buffer).range();
}

} // namespace

Result<std::unique_ptr<VulkanGraph>> VulkanGraph::create(Memory &memory) {
  std::unique_ptr<VulkanGraph> graph(new VulkanGraph(memory));
  SINTER_ASSIGN(graph->pool_, CommandPool::create(memory.context()));
  return graph;
}

VulkanGraph::~VulkanGraph() {
  for (const Use &use : uses_)
    (void)use.timeline->wait(use.number).has_value(); // a lost device has nothing to wait for
}

Result<Batch *> VulkanGraph::batchFor(uint64_t argumentBytes) {
  if (!batches_.empty() && batches_.back()->hasRoom(argumentBytes))
    return batches_.back().get();
  SINTER_TRY(finish());
  SINTER_ASSIGN(auto batch, Batch::create(memory_, *pool_));
  SINTER_TRY(batch->begin(true));
  batches_.push_back(std::move(batch));
  return batches_.back().get();
}

Result<void> VulkanGraph::finish() {
  return batches_.empty() ? Result<void>() : batches_.back()->end();
}

Result<void> VulkanGraph::submit(const std::shared_ptr<Timeline> &timeline) const {
  auto use = std::find_if(uses_.begin(), uses_.end(),
                          [&](const Use &known) { return known.timeline == timeline; });
  if (use == uses_.end())
    use = uses_.insert(uses_.end(), {timeline, 0});
  for (const auto &batch : batches_) {
    SINTER_ASSIGN(use->number,
                  timeline->submit(batch->handle(), batch->dispatches(), batch->lastSymbol()));
  }
  return {};
}

VulkanReadback::~VulkanReadback() {
  if (timeline_)
    (void)timeline_->wait(number_).has_value(); // a lost device has nothing to wait for
}

Result<std::span<const uint8_t>> VulkanReadback::wait() {
  if (timeline_)
    SINTER_TRY(timeline_->wait(number_));
  return std::span<const uint8_t>(memory_.host(), bytes_);
}

Result<std::unique_ptr<VulkanStream>> VulkanStream::create(Memory &memory, const DeviceInfo &info) {
  SINTER_TRY(memory.context().alive());
  std::unique_ptr<VulkanStream> stream(new VulkanStream(memory, info));
  stream->slots_.reserve(kSlots);
  SINTER_ASSIGN(stream->pool_, CommandPool::create(memory.context()));
  SINTER_ASSIGN(stream->timeline_, Timeline::create(memory.context()));
  return stream;
}

VulkanStream::~VulkanStream() {
  if (timeline_)
    (void)timeline_->wait(timeline_->submitted()).has_value(); // said by the call that failed
}

Result<void> VulkanStream::openSlot() {
  for (Slot &slot : slots_) {
    SINTER_ASSIGN(const bool free, timeline_->reached(slot.number));
    if (free) {
      open_ = &slot;
      return open_->batch->begin(false);
    }
  }
  if (slots_.size() < kSlots) {
    SINTER_ASSIGN(auto batch, Batch::create(memory_, *pool_));
    slots_.push_back({std::move(batch), 0});
    open_ = &slots_.back();
    return open_->batch->begin(false);
  }
  Slot &oldest = *std::min_element(slots_.begin(), slots_.end(), [](const Slot &a, const Slot &b) {
    return a.number < b.number;
  });
  SINTER_TRY(timeline_->wait(oldest.number));
  open_ = &oldest;
  return open_->batch->begin(false);
}

Result<Batch *> VulkanStream::batchFor(uint64_t argumentBytes) {
  SINTER_TRY(context_.alive());
  if (capture_)
    return capture_->batchFor(argumentBytes);
  if (open_ && !open_->batch->hasRoom(argumentBytes))
    SINTER_TRY(flush());
  if (!open_)
    SINTER_TRY(openSlot());
  return open_->batch.get();
}

Result<void> VulkanStream::flush() {
  if (!open_)
    return {};
  Slot &slot = *std::exchange(open_, nullptr);
  SINTER_TRY(slot.batch->end());
  SINTER_ASSIGN(slot.number, timeline_->submit(slot.batch->handle(), slot.batch->dispatches(),
                                               slot.batch->lastSymbol()));
  return {};
}

Result<bool> VulkanStream::idle() {
  if (open_)
    return false;
  return timeline_->reached(timeline_->submitted());
}

Result<void> VulkanStream::refuseWhileCapturing(const char *what) const {
  if (!capture_)
    return {};
  return fail(Code::InvalidArgument, std::string(what) + " while commands are captured, expected "
                                                         "endCapture() first");
}

// How many dispatches each extent takes.
Result<std::array<int64_t, 3>> VulkanStream::dispatchCounts(const Kernel &kernel,
                                                            const Grid &grid) const {
  const auto &limits = context_.physical().maxGroups;
  std::array<int64_t, 3> counts;
  int64_t all = 1;
  bool tooMany = false;
  for (std::size_t i = 0; i < 3; ++i) {
    counts[i] = grid[i] / limits[i] + (grid[i] % limits[i] != 0);
    tooMany |= __builtin_mul_overflow(all, counts[i], &all);
  }
  if (tooMany || all > kMaxDispatches)
    return fail(Code::InvalidArgument,
                "launch of '" + kernel.spec().symbol + "' has grid " + std::to_string(grid[0]) +
                    " x " + std::to_string(grid[1]) + " x " + std::to_string(grid[2]) +
                    ", expected at most " + std::to_string(kMaxDispatches) +
                    " times what device '" + info_.name +
                    "' runs at once: " + std::to_string(limits[0]) + " x " +
                    std::to_string(limits[1]) + " x " + std::to_string(limits[2]));
  return counts;
}

Result<void> VulkanStream::launch(const Kernel &kernel, const Grid &grid,
                                  std::span<const BufferBinding> buffers,
                                  std::span<const int64_t> scalars) {
  SINTER_TRY(checkLaunch(kernel, grid, buffers, scalars));
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0)
    return {};
  SINTER_ASSIGN(const auto counts, dispatchCounts(kernel, grid));
  const auto &limits = context_.physical().maxGroups;
  const uint64_t argumentBytes = Batch::argumentBytes(kernel.spec());
  Dispatch dispatch = {static_cast<const VulkanKernel *>(&kernel), grid, {}, {}, buffers, scalars};
  const int64_t all = counts[0] * counts[1] * counts[2];
  for (int64_t i = 0; i < all; ++i) {
    const Grid at = {i % counts[0], i / counts[0] % counts[1], i / counts[0] / counts[1]};
    for (std::size_t d = 0; d < 3; ++d) {
      dispatch.base[d] = at[d] * limits[d];
      dispatch.groups[d] = std::min<int64_t>(limits[d], grid[d] - dispatch.base[d]);
    }
    SINTER_ASSIGN(Batch *const batch, batchFor(argumentBytes));
    batch->dispatch(dispatch, i == 0);
  }
  return {};
}

Result<void> VulkanStream::copy(Buffer &dst, uint64_t dstOffset, const Buffer &src,
                                uint64_t srcOffset, uint64_t bytes) {
  SINTER_TRY(checkCopy(dst, dstOffset, src, srcOffset, bytes));
  if (bytes == 0)
    return {};
  SINTER_ASSIGN(Batch *const batch, batchFor(0));
  batch->copy(rangeOf(dst), dstOffset, rangeOf(src), srcOffset, bytes);
  return {};
}

Result<void> VulkanStream::fill(Buffer &dst, uint64_t offset, uint64_t bytes, uint8_t value) {
  SINTER_TRY(checkWritable(dst, "fill"));
  SINTER_TRY(checkRange(dst, offset, bytes, "fill"));
  if (bytes == 0)
    return {};
  SINTER_ASSIGN(Batch *const batch, batchFor(sizeof(uint32_t)));
  batch->fill(rangeOf(dst), offset, bytes, value);
  return {};
}

Result<void> VulkanStream::write(Buffer &dst, uint64_t offset, std::span<const uint8_t> bytes) {
  SINTER_TRY(checkWritable(dst, "write"));
  SINTER_TRY(checkRange(dst, offset, bytes.size(), "write"));
  SINTER_TRY(refuseWhileCapturing("write"));
  if (bytes.empty())
    return {};
  const bool mapped = !dst.host().empty();
  bool direct = false;
  if (mapped) {
    SINTER_ASSIGN(direct, idle());
  }
  if (!direct && bytes.size() <= kSmallWrite) {
    SINTER_ASSIGN(Batch *const batch, batchFor(bytes.size()));
    batch->write(rangeOf(dst), offset, bytes);
    return {};
  }
  if (!mapped)
    return stagedWrite(rangeOf(dst), offset, bytes);
  if (!direct)
    SINTER_TRY(synchronize());
  std::memcpy(dst.host().data() + offset, bytes.data(), bytes.size());
  return {};
}

Result<void> VulkanStream::read(const Buffer &src, uint64_t offset, std::span<uint8_t> bytes) {
  SINTER_TRY(checkRange(src, offset, bytes.size(), "read"));
  SINTER_TRY(refuseWhileCapturing("read"));
  if (bytes.empty())
    return {};
  if (src.host().empty())
    return stagedRead(rangeOf(src), offset, bytes);
  SINTER_TRY(synchronize());
  std::memcpy(bytes.data(), src.host().data() + offset, bytes.size());
  return {};
}

Result<void> VulkanStream::beginRead(const Buffer &src, uint64_t offset, uint64_t bytes,
                                     Readback &into, uint64_t at) {
  auto &readback = static_cast<VulkanReadback &>(into);
  SINTER_TRY(checkBeginRead(src, offset, bytes, readback.bytes(), at));
  SINTER_TRY(refuseWhileCapturing("read"));
  if (bytes == 0)
    return {};
  SINTER_ASSIGN(Batch *const batch, batchFor(0));
  batch->copy(readback.memory(), at, rangeOf(src), offset, bytes);
  SINTER_TRY(flush());
  readback.note(timeline_);
  return {};
}

Result<void> VulkanStream::ensureStaging() {
  for (MemoryRange &half : staging_)
    if (!half.host()) {
      SINTER_ASSIGN(half, memory_.allocate(MemoryUse::Staging, kStagingBytes));
    }
  return {};
}

// The host fills one half while the device empties the other.
Result<void> VulkanStream::stagedWrite(const MemoryRange &dst, uint64_t offset,
                                       std::span<const uint8_t> bytes) {
  SINTER_TRY(ensureStaging());
  for (std::size_t half = 0; !bytes.empty(); half ^= 1) {
    const auto piece = bytes.first(std::min<std::size_t>(bytes.size(), kStagingBytes));
    SINTER_TRY(timeline_->wait(stagingUse_[half]));
    std::memcpy(staging_[half].host(), piece.data(), piece.size());
    SINTER_ASSIGN(Batch *const batch, batchFor(0));
    batch->copy(dst, offset, staging_[half], 0, piece.size());
    SINTER_TRY(flush());
    stagingUse_[half] = timeline_->submitted();
    bytes = bytes.subspan(piece.size());
    offset += piece.size();
  }
  return {};
}

// The device fills one half while the host empties the other.
Result<void> VulkanStream::stagedRead(const MemoryRange &src, uint64_t offset,
                                      std::span<uint8_t> bytes) {
  SINTER_TRY(ensureStaging());
  std::size_t asked = 0, taken = 0;
  for (std::size_t half = 0; taken < bytes.size(); half ^= 1) {
    while (asked < bytes.size() && asked < taken + 2 * kStagingBytes) {
      const std::size_t into = asked / kStagingBytes % 2;
      const std::size_t count = std::min<std::size_t>(bytes.size() - asked, kStagingBytes);
      SINTER_ASSIGN(Batch *const batch, batchFor(0));
      batch->copy(staging_[into], 0, src, offset + asked, count);
      SINTER_TRY(flush());
      stagingUse_[into] = timeline_->submitted();
      asked += count;
    }
    SINTER_TRY(timeline_->wait(stagingUse_[half]));
    const std::size_t count = std::min<std::size_t>(bytes.size() - taken, kStagingBytes);
    std::memcpy(bytes.data() + taken, staging_[half].host(), count);
    taken += count;
  }
  return {};
}

Result<void> VulkanStream::record(Event &event) {
  auto &stamp = static_cast<VulkanEvent &>(event);
  if (!stamp.pool())
    return {};
  SINTER_ASSIGN(Batch *const batch, batchFor(0));
  batch->stamp(stamp);
  stamp.noteRecorded();
  return {};
}

Result<void> VulkanStream::synchronize() {
  SINTER_TRY(context_.alive());
  SINTER_TRY(refuseWhileCapturing("synchronize"));
  SINTER_TRY(flush());
  return timeline_->wait(timeline_->submitted());
}

// The device starts on what the step holds; an error shows in the next call.
void VulkanStream::endStep() {
  if (!capture_)
    (void)flush().has_value();
}

Result<void> VulkanStream::beginCapture() {
  SINTER_TRY(context_.alive());
  SINTER_TRY(refuseWhileCapturing("beginCapture"));
  SINTER_ASSIGN(capture_, VulkanGraph::create(memory_));
  return {};
}

Result<std::unique_ptr<Graph>> VulkanStream::endCapture() {
  if (!capture_)
    return fail(Code::InvalidArgument, "endCapture without beginCapture");
  auto graph = std::exchange(capture_, nullptr);
  SINTER_TRY(graph->finish());
  return graph;
}

Result<void> VulkanStream::submit(const Graph &graph) {
  SINTER_TRY(context_.alive());
  SINTER_TRY(refuseWhileCapturing("submit"));
  SINTER_TRY(flush());
  return static_cast<const VulkanGraph &>(graph).submit(timeline_);
}

} // namespace sinter::hal::vulkan
