// Accesses of kernels in SIMT IR against bounds, alignment and what other threads did.
#include "tile/mlir_pch.h"

#include "base/checked.h"
#include "sched/interpreter/simt_memory.h"

#include <cstring>

using namespace mlir;

namespace sinter::sched {

// ---- who touched what ----

static constexpr int kThreadBits = 10; // blocks have at most 1024 threads
static constexpr uint64_t kThreadMask = (uint64_t(1) << kThreadBits) - 1;

AccessLog::Entry AccessLog::writer(uint64_t byte) const {
  uint64_t packed = writers_[byte];
  return {packed >> kThreadBits, static_cast<int64_t>(packed & kThreadMask)};
}

AccessLog::Entry AccessLog::reader(uint64_t byte, int64_t thread) const {
  uint64_t packed = readers_[byte];
  auto first = static_cast<int64_t>(packed >> kThreadBits & kThreadMask);
  auto second = static_cast<int64_t>(packed & kThreadMask);
  return {packed >> 2 * kThreadBits, first == thread ? second : first};
}

void AccessLog::write(uint64_t byte, int64_t thread, uint64_t interval) {
  writers_[byte] = interval << kThreadBits | static_cast<uint64_t>(thread);
}

void AccessLog::read(uint64_t byte, int64_t thread, uint64_t interval) {
  uint64_t packed = readers_[byte], number = static_cast<uint64_t>(thread);
  if (packed >> 2 * kThreadBits != interval)
    packed = interval << 2 * kThreadBits | number << kThreadBits | number;
  else if ((packed >> kThreadBits & kThreadMask) != number)
    packed = (packed & ~kThreadMask) | number;
  readers_[byte] = packed;
}

// ---- bounds ----

static Fail fail(const SimtAccess &access, const Twine &message) {
  return access.task.fail(access.op, Code::InvalidArgument, message);
}

Result<void> checkPlace(const SimtAccess &access, const Twine &memory, uint64_t size,
                        int64_t thread, int64_t at, int64_t align, uint64_t count) {
  if (at < 0 || count > size || static_cast<uint64_t>(at) > size - count)
    return fail(access, "of thread " + Twine(thread) + " touches " + Twine(count) +
                            " bytes from byte " + Twine(at) + " of " + memory + ", which has " +
                            Twine(size));
  if (at % align != 0)
    return fail(access, "of thread " + Twine(thread) + " touches byte " + Twine(at) + " of " +
                            memory + ", expected a multiple of " + Twine(align));
  return {};
}

// ---- views ----

// Elements from the first to the last; interleaved rows come in whole groups. The arguments' binder
// has seen to it that the bytes fit 63 bits.
static uint64_t spanOf(const tile::View &view) {
  int64_t factor = std::max<int64_t>(view.interleave, 1);
  uint64_t span = 0;
  for (auto [at, axis] : llvm::enumerate(view.axes)) {
    if (axis.high == 0)
      return 0;
    int64_t steps = (at == 0 && view.interleave ? llvm::divideCeil(axis.high, factor) : axis.high);
    span += static_cast<uint64_t>(steps - 1) * static_cast<uint64_t>(axis.stride);
  }
  return span + static_cast<uint64_t>(factor);
}

Result<std::unique_ptr<ViewMemory>> ViewMemory::make(const SimtAccess &access,
                                                     const tile::View &view, tile::ViewType type,
                                                     unsigned number) {
  uint64_t unit = view.element.bytes;
  uint64_t size = spanOf(view) / view.element.length * unit;
  std::unique_ptr<ViewMemory> memory(new ViewMemory(view.data, size, number));
  memory->unit_ = unit;
  SINTER_TRY(memory->findGaps(access, view));
  if (type.isWritable()) {
    CheckedSize cost = CheckedSize(size) * CheckedSize(AccessLog::kCost);
    uint64_t bytes = cost.value().value_or(UINT64_MAX);
    tile::Engine &engine = access.task.engine();
    SINTER_TRY(engine.reserve(access.op, bytes, access.task));
    engine.meter.live += bytes;
    memory->log_.emplace(size);
  }
  return memory;
}

// Marks the units of each line along the last axis; an axis without stride repeats what is marked.
Result<void> ViewMemory::findGaps(const SimtAccess &access, const tile::View &view) {
  if (view.interleave || size_ == 0 || view.rank() == 0)
    return {};
  uint64_t length = view.element.length;
  SmallVector<uint64_t, 6> extents, strides, at;
  CheckedSize count(1);
  for (const tile::View::Axis &axis : view.axes) {
    extents.push_back(axis.stride ? static_cast<uint64_t>(axis.high) : 1);
    strides.push_back(static_cast<uint64_t>(axis.stride) / length);
    at.push_back(0);
  }
  if (view.element.isBlock()) {
    extents.back() = static_cast<uint64_t>(view.axes.back().high) / length;
    strides.back() = 1;
  }
  for (uint64_t extent : extents)
    count = count * CheckedSize(extent);
  uint64_t units = size_ / unit_;
  if (count.value() == units)
    return {};
  tile::Engine &engine = access.task.engine();
  SINTER_TRY(engine.charge(access.op, count.value().value_or(UINT64_MAX), access.task));
  SINTER_TRY(engine.reserve(access.op, units / 8 + 1, access.task));
  engine.meter.live += units / 8 + 1;
  elements_.resize(units);
  uint64_t place = 0;
  for (size_t axis = 0; axis < extents.size();) {
    elements_[place] = true;
    for (axis = 0; axis < extents.size(); ++axis) {
      place += strides[axis];
      if (++at[axis] < extents[axis])
        break;
      place -= strides[axis] * extents[axis];
      at[axis] = 0;
    }
  }
  return {};
}

Result<void> ViewMemory::check(const SimtAccess &access, int64_t thread, int64_t at, int64_t align,
                               uint64_t count) const {
  SINTER_TRY(checkPlace(access, "argument " + Twine(number_), size_, thread, at, align, count));
  if (elements_.empty())
    return {};
  uint64_t first = static_cast<uint64_t>(at);
  for (uint64_t unit = first / unit_; unit <= (first + count - 1) / unit_; ++unit)
    if (!elements_[unit])
      return fail(access, "of thread " + Twine(thread) + " touches byte " +
                              Twine(std::max(first, unit * unit_)) + " of argument " +
                              Twine(number_) + ", which lies between the view's elements");
  return {};
}

Fail ViewMemory::race(const SimtAccess &access, int64_t thread, uint64_t byte, StringRef verb,
                      AccessLog::Entry other, StringRef otherVerb) const {
  bool sameProgram = other.interval >= access.clock.program;
  std::string who = sameProgram ? "thread " + std::to_string(other.thread) : "another program";
  return fail(access, "of thread " + Twine(thread) + " " + verb + " byte " + Twine(byte) +
                          " of argument " + Twine(number_) + ", which " + who + " " + otherVerb +
                          (sameProgram ? " in the same barrier interval" : ""));
}

// Whether an entry's access is ordered with one of `thread` now: by a barrier of its program, or as
// its own.
static bool isOrdered(const ThreadClock &clock, AccessLog::Entry entry, int64_t thread) {
  if (entry.interval == clock.now)
    return entry.thread == thread;
  return entry.interval == 0 || entry.interval >= clock.program;
}

Result<void> ViewMemory::load(const SimtAccess &access, int64_t thread, int64_t at, int64_t align,
                              MutableArrayRef<std::byte> out) {
  SINTER_TRY(check(access, thread, at, align, out.size()));
  if (log_)
    for (uint64_t byte = at; byte < at + out.size(); ++byte) {
      AccessLog::Entry writer = log_->writer(byte);
      if (!isOrdered(access.clock, writer, thread))
        return race(access, thread, byte, "reads", writer, "writes");
      log_->read(byte, thread, access.clock.now);
    }
  std::memcpy(out.data(), data_ + at, out.size());
  return {};
}

Result<void> ViewMemory::checkWrite(const SimtAccess &access, int64_t thread, uint64_t byte,
                                    std::byte value) const {
  AccessLog::Entry writer = log_->writer(byte), reader = log_->reader(byte, thread);
  if (!isOrdered(access.clock, writer, thread) && data_[byte] != value)
    return race(access, thread, byte, "writes", writer, "writes with another value");
  if (!isOrdered(access.clock, reader, thread))
    return race(access, thread, byte, "writes", reader, "reads");
  return {};
}

Result<void> ViewMemory::store(const SimtAccess &access, int64_t thread, int64_t at, int64_t align,
                               ArrayRef<std::byte> value) {
  SINTER_TRY(check(access, thread, at, align, value.size()));
  for (auto [index, part] : llvm::enumerate(value)) {
    uint64_t byte = static_cast<uint64_t>(at) + index;
    SINTER_TRY(checkWrite(access, thread, byte, part));
    log_->write(byte, thread, access.clock.now);
  }
  std::memcpy(data_ + at, value.data(), value.size());
  return {};
}

} // namespace sinter::sched
