// Shared memory of a block in SIMT IR: who touched which byte in which barrier interval, and what
// copies and matmuls that threads need not wait for still do to it.
#pragma once

#include "sched/interpreter/simt_memory.h"

#include <deque>

namespace sinter::sched {

/// Bytes that one asynchronous copy moves at most, the grain in which matmuls in flight are known.
inline constexpr int64_t kPieceBytes = 16;

/// Threads `first` and those after it that do something together.
struct ThreadRange {
  int64_t first = 0, count = 1;
};

/// A matrix instruction that reads shared memory until its group has ended: the threads
/// [firstThread, firstThread + threads) together.
struct MatmulRead {
  int64_t firstThread = 0, threads = 0;
  uint64_t group = 0;
};

/// What threads of one block share. Accesses are a multiple of their size away from its start.
class SharedMemory {
public:
  /// `asynchronous`: whether the kernel has copies or matmuls that threads need not wait for.
  /// `threads` from `firstThread` on are the block's own; others of its program may read.
  SharedMemory(uint64_t bytes, bool asynchronous, int64_t firstThread, int64_t threads);
  void beginProgram();

  /// Whether every byte was written by this program.
  Result<bool> load(const SimtAccess &access, int64_t thread, int64_t at,
                    llvm::MutableArrayRef<std::byte> out);
  Result<void> store(const SimtAccess &access, int64_t thread, int64_t at,
                     llvm::ArrayRef<std::byte> value);

  // Only of a kernel that is asynchronous:

  /// Starts to write a piece, or an aligned part of one; it lands when waitForCopies covers it, and
  /// until then is nobody's.
  Result<void> startCopy(const SimtAccess &access, int64_t thread, int64_t at,
                         llvm::ArrayRef<std::byte> piece);
  void commitCopies() { ++copyGroups_; }
  /// Lands the copies of all groups but the `pending` youngest, as writes of this interval. Orders
  /// stores so far before matmuls that start after a barrier.
  void waitForCopies(const ThreadClock &clock, uint64_t pending);
  /// A copy of this program that has not landed, or null.
  mlir::Operation *copyInFlight() const;

  /// Reads a piece for a matmul; nobody may write it until endMatmuls has passed the matmul's
  /// group. Whether every byte was written by this program.
  Result<bool> readForMatmul(const SimtAccess &access, const MatmulRead &product, int64_t at,
                             llvm::MutableArrayRef<std::byte> piece);
  /// The matmuls of the groups below `ended` have read, in this interval at the latest.
  void endMatmuls(const ThreadClock &clock, uint64_t ended);

private:
  struct Piece {
    mlir::Operation *copy = nullptr;    // that wrote or writes it last, if a copy did
    mlir::Operation *product = nullptr; // that read or reads it last
    MatmulRead read;
    uint64_t readIn = 0;    // the interval in which the matmul ended
    uint64_t orderedIn = 0; // the interval in which stores to it were ordered before matmuls
    uint16_t copying = 0;   // a bit for each byte
    bool isTouched = false, multiplying = false, isStored = false;
  };
  struct Copy {
    mlir::Operation *op;
    int64_t thread;
    uint64_t at, size, group;
    std::array<std::byte, kPieceBytes> piece;

    bool writes(uint64_t byte) const { return byte - at < size && byte >= at; }
  };
  bool isOwn(int64_t thread) const {
    return thread - firstThread_ < threads_ && thread >= firstThread_;
  }
  /// The first interval that no barrier parts from now for these two threads.
  uint64_t since(const ThreadClock &clock, int64_t one, int64_t other) const {
    return isOwn(one) == isOwn(other) ? clock.now : clock.apart;
  }
  // Of bytes in one piece, as bits of Piece::copying.
  static uint16_t maskOf(uint64_t byte, uint64_t size = 1) {
    return static_cast<uint16_t>(((1u << size) - 1) << byte % kPieceBytes);
  }
  Piece *pieceOf(uint64_t byte) { return pieces_.empty() ? nullptr : &pieces_[byte / kPieceBytes]; }
  /// The piece, which the next program finds as new.
  Piece *touch(uint64_t byte);
  std::string writerText(uint64_t byte, int64_t thread);
  std::string readerText(uint64_t byte, int64_t thread, uint64_t interval);
  Result<void> checkLanded(const SimtAccess &access, const ThreadRange &who, llvm::StringRef verb,
                           uint64_t byte);
  Result<void> checkWrite(const SimtAccess &access, int64_t thread, llvm::StringRef verb,
                          uint64_t byte);

  std::vector<std::byte> bytes_;
  int64_t firstThread_, threads_;
  AccessLog log_;
  std::vector<Piece> pieces_;         // empty where nothing is asynchronous
  std::vector<uint64_t> touched_;     // pieces that are not new
  std::vector<uint64_t> multiplying_; // pieces that matmuls read
  std::vector<uint64_t> stored_;      // pieces with stores that are not ordered before matmuls
  std::deque<Copy> copies_;           // in flight, oldest first
  uint64_t copyGroups_ = 0;
  uint64_t oldestMatmul_ = UINT64_MAX; // no piece is read by a matmul of a group below
};

} // namespace sinter::sched
