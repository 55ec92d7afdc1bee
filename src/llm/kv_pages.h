// Paged KV cache: a pool of equal pages with a free list, and the pages that one sequence holds.
// Models with recurrent layers have a state of each sequence beside them, in a slot of the pool.
#pragma once

#include "base/status.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sinter {

// A page of the pool, below its pageCount().
struct PageId {
  uint32_t index = UINT32_MAX;
  friend constexpr auto operator<=>(const PageId &, const PageId &) = default;
};

// Place of one sequence's state, below the pool's stateSlots().
struct StateSlot {
  uint32_t index = UINT32_MAX;
  friend constexpr auto operator<=>(const StateSlot &, const StateSlot &) = default;
};

// The free pages of one KV pool. It keeps account only; the memory belongs to the executor. For one
// thread.
class PagePool {
public:
  // `pageCount` pages of `pageRows` rows (positions) each, handed out from page 0 up. Both are at
  // least 1, and the rows of all pages fit an i32, as plans number rows so: InvalidArgument
  // otherwise. `stateSlots` is 0 where sequences have no states.
  static Result<PagePool> create(uint32_t pageCount, uint32_t pageRows, uint32_t stateSlots = 0);
  // The same, handing out pages in the order of `order`, which names each page below its size once.
  static Result<PagePool> createInOrder(std::span<const PageId> order, uint32_t pageRows,
                                        uint32_t stateSlots = 0);

  // Takes a free page. Exhausted when all pages are held.
  Result<PageId> take();
  // Gives back a page that take() handed out. The page given back last is taken next.
  void give(PageId page);

  // The same of slots, lowest first.
  Result<StateSlot> takeState();
  void giveState(StateSlot slot);
  uint32_t stateSlots() const { return static_cast<uint32_t>(heldStates_.size()); }
  uint32_t freeStates() const { return freeStates_; }
  // Whether a sequence that begins finds a slot, or needs none.
  bool hasRoomForState() const { return stateSlots() == 0 || freeStates_ > 0; }

  uint32_t pageCount() const { return static_cast<uint32_t>(held_.size()); }
  uint32_t pageRows() const { return pageRows_; }
  uint32_t freePages() const { return static_cast<uint32_t>(free_.size()); }
  // Pages that `rows` rows take.
  uint64_t pagesFor(uint64_t rows) const { return rows / pageRows_ + (rows % pageRows_ != 0); }

private:
  explicit PagePool(uint32_t pageRows) : pageRows_(pageRows) {}

  uint32_t pageRows_;
  std::vector<PageId> free_; // taken from the back
  std::vector<bool> held_;
  std::vector<bool> heldStates_;
  uint32_t freeStates_ = 0;
};

// Checkpoints that one sequence keeps at most: states of long conversations are large.
inline constexpr uint32_t kMostCheckpoints = 3;

// The pages of one sequence in order: row r lies in pages()[r / pageRows]. Owns its pages and gives
// them back when it dies; borrows the pool, which must outlive it and stay where it is. Move-only.
//
// Where the pool has slots, the sequence also owns that of its state, from its first page to its
// last. A step reads the state of all rows before it and writes that of its own last row.
// Checkpoints keep states of fewer rows, so that a sequence can go back to them.
class SequencePages {
public:
  explicit SequencePages(PagePool &pool) : pool_(&pool) {}
  SequencePages(SequencePages &&other) noexcept;
  SequencePages &operator=(SequencePages &&other) noexcept;
  ~SequencePages() { resizeDown(0); }

  // Takes pages until `rows` rows fit, and a slot. Exhausted, with the numbers, when the pool has
  // too few; then nothing changes.
  Result<void> reserve(uint64_t rows);
  // Gives back the pages beyond those that `rows` rows take.
  void shrink(uint64_t rows);

  std::span<const PageId> pages() const { return pages_; }
  uint64_t capacity() const { return uint64_t{pages_.size()} * pool_->pageRows(); }
  // The pool's row that holds row `row` of the sequence; `row` is below capacity().
  int32_t slot(uint64_t row) const;

  bool hasState() const { return state_.has_value(); }
  // The slots that the next step reads, but for a sequence's first one, and writes. Of a sequence
  // that has a state.
  int32_t stateToRead() const;
  int32_t stateToWrite() const;
  // After a step: the next one reads what this one wrote.
  void stateWritten() { resumed_.reset(); }
  // Keeps the state, which is of the first `rows` rows, as a checkpoint: the next step writes
  // another slot. The oldest checkpoint goes where there are too many or no slot is free.
  void keepCheckpoint(uint64_t rows);
  // Goes back to the last checkpoint of at most `rows` rows and drops later ones. Returns its rows:
  // 0 where there is none, and `rows` where the pool has no states.
  uint64_t resumeAt(uint64_t rows);

private:
  struct Checkpoint {
    uint64_t rows;
    StateSlot slot;
  };

  void resizeDown(size_t count);
  void dropCheckpoint(size_t number);
  void dropStates();

  PagePool *pool_;
  std::vector<PageId> pages_;
  std::optional<StateSlot> state_;
  std::optional<StateSlot> resumed_;    // a checkpoint's slot that the next step reads
  std::vector<Checkpoint> checkpoints_; // by ascending rows
};

} // namespace sinter
