// Sums up a plan's buffers by kind.
#include "runtime/memory_need.h"

#include "base/checked.h"
#include "plan/lifetime.h"
#include "runtime/arena.h"

namespace sinter::runtime {

static Result<uint64_t> bytesOf(const plan::Buffer &buffer, std::span<const int64_t> symbols) {
  const auto bytes = plan::evaluate(buffer.bytes, symbols);
  if (bytes && *bytes >= 0)
    return static_cast<uint64_t>(*bytes);
  return fail(Code::InvalidArgument,
              "size of buffer '" + buffer.name +
                  "': " + (bytes ? std::to_string(*bytes) + " bytes" : bytes.error().message));
}

static uint64_t *partOf(MemoryNeed &need, plan::BufferKind kind) {
  switch (kind) {
  case plan::BufferKind::Weight:
    return &need.weights;
  case plan::BufferKind::Constant:
    return &need.constants;
  case plan::BufferKind::State:
    return &need.state;
  case plan::BufferKind::Input:
  case plan::BufferKind::Output:
    return &need.inputsAndOutputs;
  case plan::BufferKind::Temp:
    return nullptr;
  }
  return nullptr;
}

Result<MemoryNeed> memoryNeed(const plan::Plan &plan, plan::ProcedureId procedure,
                              std::span<const int64_t> symbolValues) {
  MemoryNeed need;
  std::vector<uint64_t> sizes;
  CheckedSize all(0);
  for (const plan::Buffer &buffer : plan.buffers) {
    SINTER_ASSIGN(const uint64_t bytes, bytesOf(buffer, symbolValues));
    sizes.push_back(bytes);
    all = all + bytes;
    if (!all.valid())
      return fail(Code::InvalidArgument, "the plan's buffers exceed 64 bits together");
    if (uint64_t *part = partOf(need, buffer.kind))
      *part += bytes;
  }
  std::vector<ArenaItem> items;
  for (const plan::Lifetime &life : plan::computeLifetimes(plan, procedure))
    items.push_back({sizes[life.buffer.index], life.first, life.last});
  SINTER_ASSIGN(const ArenaLayout layout, placeInArena(items));
  need.temporary = layout.bytes;
  return need;
}

} // namespace sinter::runtime
