// What threads of a block do at once: memory, exchanges, and instructions of a subgroup.
#include "sched/interpreter/simt_block.h"
#include "sched/simt/overlap_launches.h"

#include <cstring>

using namespace mlir;
using sinter::tile::Step;
using sinter::tile::Task;
using sinter::tile::Tile;

namespace sinter::sched {

// ---- memory ----

Result<void> SimtExtension::readStride(StrideOp op, Task &task) const {
  const auto &view = *std::get<std::shared_ptr<const tile::View>>(task.lookup(op.getView()));
  int64_t factor = std::max<int64_t>(view.interleave, 1);
  task.bind(op.getResult(), Tile::index(view.axes[op.getAxis()].stride / factor));
  return {};
}

Result<ViewMemory *> SimtExtension::memoryOf(const SimtAccess &access, mlir::Value view,
                                             Task &task) {
  if (!hasAwaited_ && !isConstant(view))
    return task.fail(access.op, Code::InvalidArgument,
                     "touches argument " + Twine(cast<BlockArgument>(view).getArgNumber()) +
                         ", which is not constant, before sched.await_launches");
  std::unique_ptr<ViewMemory> &memory = views_[view];
  if (!memory) {
    SINTER_ASSIGN(memory,
                  ViewMemory::make(access,
                                   *std::get<std::shared_ptr<const tile::View>>(task.lookup(view)),
                                   cast<tile::ViewType>(view.getType()),
                                   cast<BlockArgument>(view).getArgNumber()));
  }
  return memory.get();
}

Result<void> SimtExtension::viewLoad(ViewLoadOp op, Task &task) {
  SimtAccess access{*op, task, clock_};
  SINTER_ASSIGN(ViewMemory * memory, memoryOf(access, op.getView(), task));
  SINTER_ASSIGN(Tile places, expanded(*op, op.getByte(), task));
  SINTER_ASSIGN(Tile when, expanded(*op, op.getWhen(), task));
  SINTER_ASSIGN(Tile other, expanded(*op, op.getOther(), task));
  SINTER_ASSIGN(Tile out, allocate(*op, op.getType(), true, task));
  size_t size = simtWordOf(op.getType())->bytes();
  int64_t align = op.getAlign().value_or(size);
  for (int64_t thread = 0; thread < threads_; ++thread) {
    MutableArrayRef<std::byte> word(out.data() + thread * size, size);
    if (!when.unsignedAt(thread)) {
      std::memcpy(word.data(), other.data() + thread * size, size);
      continue;
    }
    SINTER_TRY(memory->load(access, thread, places.signedAt(thread), align, word));
    task.engine().statistics.bytesLoaded += size;
  }
  task.bind(op.getResult(), std::move(out));
  return {};
}

Result<void> SimtExtension::tableLoad(TableLoadOp op, Task &task) const {
  SINTER_ASSIGN(Tile indices, expanded(*op, op.getIndex(), task));
  SINTER_ASSIGN(Tile out, allocate(*op, op.getType(), true, task));
  ArrayRef<int32_t> table = op.getTable();
  for (int64_t thread = 0; thread < threads_; ++thread) {
    const uint64_t index = indices.unsignedAt(thread);
    if (index >= table.size())
      return task.fail(*op, Code::InvalidArgument,
                       "of thread " + Twine(thread) + " reads word " + Twine(index) +
                           " of a table, which has " + Twine(table.size()));
    out.as<int32_t>()[thread] = table[index];
  }
  task.bind(op.getResult(), std::move(out));
  return {};
}

// Four bytes of eight by a selector's four bits each.
static uint32_t permutedBytes(uint64_t bytes, uint32_t selector) {
  uint32_t result = 0;
  for (uint32_t at = 0; at < 4; ++at) {
    const uint32_t chosen = selector >> (4 * at) & 0xf;
    auto byte = static_cast<uint8_t>(bytes >> (8 * (chosen & 7)));
    if (chosen & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= uint32_t{byte} << (8 * at);
  }
  return result;
}

Result<void> SimtExtension::permuteBytes(PermuteBytesOp op, Task &task) const {
  SINTER_ASSIGN(Tile low, expanded(*op, op.getLow(), task));
  SINTER_ASSIGN(Tile high, expanded(*op, op.getHigh(), task));
  SINTER_ASSIGN(Tile selector, expanded(*op, op.getSelector(), task));
  SINTER_ASSIGN(Tile out, allocate(*op, op.getType(), true, task));
  for (int64_t thread = 0; thread < threads_; ++thread)
    out.as<uint32_t>()[thread] =
        permutedBytes(uint64_t{high.as<uint32_t>()[thread]} << 32 | low.as<uint32_t>()[thread],
                      selector.as<uint32_t>()[thread]);
  task.bind(op.getResult(), std::move(out));
  return {};
}

Result<void> SimtExtension::viewStore(ViewStoreOp op, Task &task) {
  SimtAccess access{*op, task, clock_};
  SINTER_ASSIGN(ViewMemory * memory, memoryOf(access, op.getView(), task));
  SINTER_ASSIGN(Tile places, expanded(*op, op.getByte(), task));
  SINTER_ASSIGN(Tile when, expanded(*op, op.getWhen(), task));
  SINTER_ASSIGN(Tile value, expanded(*op, op.getValue(), task));
  size_t size = simtWordOf(op.getValue().getType())->bytes();
  int64_t align = op.getAlign().value_or(size);
  for (int64_t thread = 0; thread < threads_; ++thread) {
    if (!when.unsignedAt(thread))
      continue;
    SINTER_TRY(memory->store(access, thread, places.signedAt(thread), align,
                             {value.data() + thread * size, size}));
    task.engine().statistics.bytesStored += size;
  }
  return {};
}

Result<void> SimtExtension::loadShared(Operation &op, mlir::Value byte,
                                       function_ref<int64_t(int64_t)> blockOf, Task &task) {
  SimtAccess access{op, task, clock_};
  const Type type = op.getResult(0).getType();
  SINTER_ASSIGN(Tile places, expanded(op, byte, task));
  SINTER_ASSIGN(Tile out, allocate(op, type, true, task));
  size_t size = simtWordOf(type)->bytes();
  for (int64_t thread = 0; thread < threads_; ++thread) {
    MutableArrayRef<std::byte> word(out.data() + thread * size, size);
    SharedMemory &shared = shared_[static_cast<size_t>(blockOf(thread))];
    SINTER_ASSIGN(bool written, shared.load(access, thread, places.signedAt(thread), word));
    if (written)
      continue;
    SINTER_TRY(reportUnwritten(op, thread, places.signedAt(thread), size, task));
    poison(out, thread);
  }
  task.bind(op.getResult(0), std::move(out));
  return {};
}

Result<void> SimtExtension::sharedLoad(SharedLoadOp op, Task &task) {
  return loadShared(*op, op.getByte(), [&](int64_t thread) { return blockOf(thread); }, task);
}

Result<void> SimtExtension::remoteLoad(RemoteLoadOp op, Task &task) {
  SINTER_ASSIGN(Tile blocks, expanded(*op, op.getBlock(), task));
  for (int64_t thread = 0; thread < threads_; ++thread)
    if (const uint64_t block = blocks.unsignedAt(thread); block >= shared_.size())
      return task.fail(*op, Code::InvalidArgument,
                       "reads block " + Twine(block) + " of a program of " + Twine(shared_.size()));
  auto blockOf = [&](int64_t thread) { return static_cast<int64_t>(blocks.unsignedAt(thread)); };
  return loadShared(*op, op.getByte(), blockOf, task);
}

Result<void> SimtExtension::reportUnwritten(Operation &op, int64_t thread, int64_t at, size_t size,
                                            Task &task) const {
  if (options_.unwritten == UnwrittenReads::Poison)
    return {};
  return task.fail(op, Code::InvalidArgument,
                   "of thread " + Twine(thread) + " reads " + Twine(size) + " bytes from byte " +
                       Twine(at) + " of shared memory, which this program has not all written");
}

// Each row is read by the thread that gives its place, and by others: as if by its neighbour.
Result<void> SimtExtension::sharedMatrices(SharedMatricesOp op, Task &task) {
  using Row = std::array<std::byte, kPieceBytes>;
  SimtAccess access{*op, task, clock_};
  SINTER_ASSIGN(Tile places, expanded(*op, op.getByte(), task));
  SINTER_ASSIGN(Tile out, allocate(*op, op.getType(), true, task));
  std::vector<Row> rows(threads_);
  for (int64_t thread = 0; thread < threads_; ++thread) {
    int64_t at = places.signedAt(thread);
    SINTER_ASSIGN(bool written, sharedOf(thread).load(access, thread, at, rows[thread]));
    SINTER_TRY(sharedOf(thread).load(access, thread ^ 1, at, rows[thread]));
    if (written)
      continue;
    SINTER_TRY(reportUnwritten(*op, thread, at, kPieceBytes, task));
    rows[thread].fill(std::byte(0xff)); // NaN
  }
  constexpr int64_t kLanes = 32, kRows = 8, kPair = 4; // bytes of what one thread gets of a row
  for (int64_t thread = 0; thread < threads_; ++thread)
    for (int64_t matrix = 0; matrix < kLanes / kRows; ++matrix) {
      int64_t lane = thread % kLanes;
      const Row &row = rows[thread - lane + matrix * kRows + lane / kPair];
      std::memcpy(out.data() + thread * kPieceBytes + matrix * kPair,
                  row.data() + lane % kPair * kPair, kPair);
    }
  task.bind(op.getResult(), std::move(out));
  return {};
}

// Makes the word of one thread what a kernel must not depend on.
void SimtExtension::poison(Tile &out, int64_t thread) const {
  int64_t count = out.count() / threads_;
  for (int64_t at = thread * count; at < (thread + 1) * count; ++at)
    if (out.element().isInt())
      std::memset(out.data() + at * out.element().bytes, 0xcd, out.element().bytes);
    else
      tile::writeDoubles(out, at, std::numeric_limits<double>::quiet_NaN());
}

Result<void> SimtExtension::sharedStore(SharedStoreOp op, Task &task) {
  SimtAccess access{*op, task, clock_};
  SINTER_ASSIGN(Tile places, expanded(*op, op.getByte(), task));
  SINTER_ASSIGN(Tile when, expanded(*op, op.getWhen(), task));
  SINTER_ASSIGN(Tile value, expanded(*op, op.getValue(), task));
  size_t size = simtWordOf(op.getValue().getType())->bytes();
  for (int64_t thread = 0; thread < threads_; ++thread)
    if (when.unsignedAt(thread))
      SINTER_TRY(sharedOf(thread).store(access, thread, places.signedAt(thread),
                                        {value.data() + thread * size, size}));
  return {};
}

// ---- between threads ----

Result<void> SimtExtension::shuffle(ShuffleOp op, Task &task) const {
  SINTER_ASSIGN(Tile from, expanded(*op, op.getValue(), task));
  SINTER_ASSIGN(Tile out, allocate(*op, op.getType(), true, task));
  for (int64_t thread = 0; thread < threads_; ++thread)
    out.as<uint32_t>()[thread] = from.as<uint32_t>()[thread ^ op.getMask()];
  task.bind(op.getResult(), std::move(out));
  return {};
}

Result<void> SimtExtension::multiply(MatrixOp op, Task &task) {
  const MatrixInstruction *instruction = findMatrixInstruction(op.getInstruction());
  auto unit = units_.try_emplace(instruction, *instruction).first;
  SINTER_TRY(
      task.engine().charge(*op,
                           static_cast<uint64_t>(instruction->m * instruction->n * instruction->k *
                                                 (threads_ / instruction->lanes)),
                           task));
  SINTER_ASSIGN(Tile a, expanded(*op, op.getA(), task));
  SINTER_ASSIGN(Tile b, expanded(*op, op.getB(), task));
  SINTER_ASSIGN(Tile acc, expanded(*op, op.getAcc(), task));
  SINTER_ASSIGN(Tile out, allocate(*op, op.getType(), true, task));
  if (Result<void> done = unit->second.multiply(a, b, acc, out); !done)
    return task.fail(*op, done.error().code, done.error().message);
  task.bind(op.getResult(), std::move(out));
  return {};
}

} // namespace sinter::sched
