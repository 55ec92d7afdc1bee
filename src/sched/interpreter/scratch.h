// Scratch memory of the scheduled interpreter: bytes that know which alloc last wrote them.
#pragma once

#include "sched/interpreter/interpreter.h"
#include "sched/sched.h"
#include "tile/interpreter/engine.h"

#include <vector>

namespace sinter::sched {

/// Memory that one or several buffers share. Counts its bytes on the meter while it lives.
class Arena {
public:
  explicit Arena(tile::MemoryMeter &meter) : meter_(meter) {}
  ~Arena() { meter_.live -= bytes_.size() * kCost; }
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;

  /// Bytes of bookkeeping and data per byte of scratch.
  static constexpr uint64_t kCost = 1 + sizeof(uint32_t);

  void grow(uint64_t size);
  uint64_t size() const { return bytes_.size(); }
  std::byte *at(uint64_t offset) { return bytes_.data() + offset; }
  uint32_t *writers(uint64_t offset) { return writers_.data() + offset; }

private:
  tile::MemoryMeter &meter_;
  std::vector<std::byte> bytes_;
  std::vector<uint32_t> writers_; // the buffer that last wrote each byte; 0: none
};

/// One executed sched.alloc.
class Buffer : public tile::Object {
public:
  /// Where one call's block lies: its offsets and, for messages, the call.
  struct Access {
    mlir::Operation &op;
    const tile::Task &task;
    llvm::ArrayRef<int64_t> offsets;
  };

  /// Poisons its bytes [base, base + span) of the arena. `id` is not 0 and unique in the program.
  Buffer(BufferType type, tile::Element element, std::shared_ptr<Arena> arena, uint64_t base,
         uint32_t id);

  Result<void> read(tile::Tile &block, const Access &access, UnwrittenReads unwritten);
  Result<void> write(const tile::Tile &block, const Access &access);

private:
  Result<void> checkBounds(const tile::Tile &block, const Access &access) const;
  /// Bytes from the arena's start of element `index`, in row-major order, of the block.
  uint64_t place(const tile::Tile &block, const Access &access, int64_t index) const;
  void poison();

  llvm::SmallVector<int64_t, 4> shape_, strides_;
  uint64_t span_; // elements
  tile::Element element_;
  std::shared_ptr<Arena> arena_;
  uint64_t base_;
  uint32_t id_;
};

} // namespace sinter::sched
