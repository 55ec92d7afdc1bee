// Memory of kernels in SIMT IR: who touched which byte in which barrier interval, and what that
// forbids others.
#pragma once

#include "sched/interpreter/simt.h"

#include <vector>

namespace sinter::sched {

/// Counts barrier intervals over the programs of one launch, from 1.
struct ThreadClock {
  uint64_t now = 0;
  uint64_t program = 0; // the first interval of the program that runs
  uint64_t apart = 0;   // the first one since all of its blocks have waited for one another
  void beginProgram() { apart = program = ++now; }
  void barrier() { ++now; }
  void programBarrier() { apart = ++now; }
};

/// One operation on memory, for messages.
struct SimtAccess {
  mlir::Operation &op;
  const tile::Task &task;
  const ThreadClock &clock;
};

/// Who wrote and who read each byte last.
class AccessLog {
public:
  /// In interval 0: nobody.
  struct Entry {
    uint64_t interval = 0;
    int64_t thread = 0;
  };
  /// Bytes that the log takes for each one of memory.
  static constexpr uint64_t kCost = 2 * sizeof(uint64_t);

  explicit AccessLog(uint64_t bytes) : writers_(bytes), readers_(bytes) {}

  Entry writer(uint64_t byte) const;
  /// A reader of the latest interval with one, another one than `thread` if there is.
  Entry reader(uint64_t byte, int64_t thread) const;
  void write(uint64_t byte, int64_t thread, uint64_t interval);
  void read(uint64_t byte, int64_t thread, uint64_t interval);

private:
  std::vector<uint64_t> writers_; // interval, 10 bits of a thread
  std::vector<uint64_t> readers_; // interval, 10 bits of a thread, 10 of another or the same
};

/// Refuses an access of thread `thread` to bytes [at, at + count) of `memory`, which has `size`, if
/// it lies outside or not at a multiple of `align`.
Result<void> checkPlace(const SimtAccess &access, const llvm::Twine &memory, uint64_t size,
                        int64_t thread, int64_t at, int64_t align, uint64_t count);

/// The memory of one view argument; lasts for the launch.
class ViewMemory {
public:
  /// `number` is the argument's. Exhausted: the bookkeeping exceeds the engine's limits.
  static Result<std::unique_ptr<ViewMemory>> make(const SimtAccess &access, const tile::View &view,
                                                  tile::ViewType type, unsigned number);

  Result<void> load(const SimtAccess &access, int64_t thread, int64_t at, int64_t align,
                    llvm::MutableArrayRef<std::byte> out);
  Result<void> store(const SimtAccess &access, int64_t thread, int64_t at, int64_t align,
                     llvm::ArrayRef<std::byte> value);

private:
  ViewMemory(std::byte *data, uint64_t size, unsigned number)
      : data_(data), size_(size), number_(number) {}
  Result<void> findGaps(const SimtAccess &access, const tile::View &view);
  Result<void> check(const SimtAccess &access, int64_t thread, int64_t at, int64_t align,
                     uint64_t count) const;
  Result<void> checkWrite(const SimtAccess &access, int64_t thread, uint64_t byte,
                          std::byte value) const;
  Fail race(const SimtAccess &access, int64_t thread, uint64_t byte, llvm::StringRef verb,
            AccessLog::Entry other, llvm::StringRef otherVerb) const;

  std::byte *data_;
  uint64_t size_;
  unsigned number_;
  uint64_t unit_ = 1;            // bytes of an element or block
  std::vector<bool> elements_;   // which units are elements; empty: all
  std::optional<AccessLog> log_; // of a view that is written
};

} // namespace sinter::sched
