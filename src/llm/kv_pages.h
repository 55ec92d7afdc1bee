// Paged KV cache: a pool of pages with a free list for each KV cache group (plan/contract.h), and
// the pages that one sequence holds. Models with recurrent layers have a state of each sequence
// beside them, in a slot of the pool. Sequences may share pages whose rows none of them writes any
// more, and a keeper (llm/prefix_cache.h) may hold pages that no sequence needs at the moment.
#pragma once

#include "base/status.h"
#include "llm/holder_counts.h"

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

// What the pool keeps for one KV cache group.
struct KvGroupPages {
  uint32_t pages = 1; // in all
  // Of one sequence, which fills them in turn (a ring): its page number n lies where number
  // n - sequencePages lay.
  uint32_t sequencePages = UINT32_MAX;
  uint64_t lookBack = UINT64_MAX; // rows before a step's first that it reads, and their pages

  bool isRing() const { return sequencePages != UINT32_MAX; }
  // The first page of which a step that begins at `row` reads.
  uint64_t firstPage(uint64_t row, uint32_t pageRows) const {
    return row > lookBack ? (row - lookBack) / pageRows : 0;
  }
};

// Holds pages and slots that no sequence needs at the moment, and lets them go where a pool has no
// free ones.
class PageKeeper {
public:
  virtual ~PageKeeper() = default;
  // Drops a page of the first group, or a slot, that it alone holds; there is one.
  virtual void dropPage() = 0;
  virtual void dropState() = 0;
};

// The free pages of a KV cache. It keeps account only; the memory belongs to the executor. For one
// thread.
class PagePool {
public:
  // `pageCount` pages of `pageRows` rows (positions) each, handed out from page 0 up. Both are at
  // least 1, and the rows of all pages fit an i32, as plans number rows so: InvalidArgument
  // otherwise. `stateSlots` is 0 where sequences have no states.
  static Result<PagePool> create(uint32_t pageCount, uint32_t pageRows, uint32_t stateSlots = 0);
  // The same of several groups, of which there is at least one. InvalidArgument also where one
  // after the first has fewer pages than a sequence may hold there.
  static Result<PagePool> create(std::span<const KvGroupPages> groups, uint32_t pageRows,
                                 uint32_t stateSlots = 0);
  // The same, handing out pages in the order of `order`, which names each page below its size once.
  static Result<PagePool> createInOrder(std::span<const PageId> order, uint32_t pageRows,
                                        uint32_t stateSlots = 0);

  // Takes a free page of a group, or one that the keeper drops. Exhausted when sequences hold all
  // of its pages.
  Result<PageId> take(size_t group = 0);
  // One more sequence holds a page that is held.
  void share(PageId page, size_t group = 0) { groups_[group].holders.share(page.index); }
  // Gives back what take() or share() gave. A page that nobody holds is free; the one that became
  // free last is taken next.
  void give(PageId page, size_t group = 0);

  // The same of slots, lowest first.
  Result<StateSlot> takeState();
  void shareState(StateSlot slot) { states_.share(slot.index); }
  void giveState(StateSlot slot);
  uint32_t stateSlots() const { return states_.size(); }
  uint32_t freeStates() const { return freeStates_; }
  // Those that takeState() can give: free ones, and those that the keeper drops for it.
  uint32_t availableStates() const { return freeStates_ + states_.idle(); }
  bool isIdle(StateSlot slot) const { return states_.isIdle(slot.index); }
  // Whether a sequence that begins finds a slot, or needs none.
  bool hasRoomForState() const { return stateSlots() == 0 || availableStates() > 0; }

  // The keeper, of which there is one at a time; null: none. It outlives its being set, keeps what
  // a sequence holds, and drops it at any time.
  void setKeeper(PageKeeper *keeper);
  void keep(PageId page) { groups_[0].holders.keep(page.index); }
  void drop(PageId page);
  void keepState(StateSlot slot) { states_.keep(slot.index); }
  void dropState(StateSlot slot);
  // Whether the keeper alone holds it, and of how many pages that is so.
  bool isIdle(PageId page) const { return groups_[0].holders.isIdle(page.index); }
  uint32_t idlePages() const { return groups_[0].holders.idle(); }

  size_t groupCount() const { return groups_.size(); }
  const KvGroupPages &group(size_t group) const { return groups_[group].shape; }
  uint32_t pageCount(size_t group = 0) const { return groups_[group].shape.pages; }
  uint32_t pageRows() const { return pageRows_; }
  uint32_t freePages(size_t group = 0) const {
    return static_cast<uint32_t>(groups_[group].free.size());
  }
  // Those that take() can give: free ones, and those that the keeper drops for it.
  uint32_t availablePages(size_t group = 0) const {
    return freePages(group) + groups_[group].holders.idle();
  }
  // Pages that `rows` rows of a sequence take.
  uint64_t pagesFor(uint64_t rows, size_t group = 0) const;
  // Whether a sequence of `rows` rows that begins, and that has `shared` pages of the first group
  // already, finds the others, and beside them each of the `sequences` that hold the others one
  // more where it may still grow.
  bool hasRoomFor(uint64_t rows, uint64_t sequences, uint64_t shared = 0) const;

private:
  struct Group {
    KvGroupPages shape;
    std::vector<PageId> free; // taken from the back
    HolderCounts holders;
  };

  explicit PagePool(uint32_t pageRows) : pageRows_(pageRows) {}
  Result<void> addGroup(const KvGroupPages &shape);

  uint32_t pageRows_;
  std::vector<Group> groups_;
  HolderCounts states_;
  uint32_t freeStates_ = 0;
  PageKeeper *keeper_ = nullptr;
};

// Checkpoints that one sequence keeps at most: states of long conversations are large.
inline constexpr uint32_t kMostCheckpoints = 3;
// Tokens between a prompt's last checkpoint and its end: more than templates put before an answer.
inline constexpr uint64_t kTokensAfterCheckpoint = 16;

// The pages of one sequence in order: row r lies in page number r / pageRows. Owns its pages and
// gives them back when it dies; borrows the pool, which must outlive it and stay where it is.
// Move-only. In a group whose layers do not look back to the first row, pages whose rows no later
// step reads are filled again with later rows.
//
// Where the pool has slots, the sequence also owns that of its state, from its first page to its
// last. A step reads the state of all rows before it and writes that of its own last row.
// Checkpoints keep states of fewer rows, so that a sequence can go back to them.
class SequencePages {
public:
  explicit SequencePages(PagePool &pool) : pool_(&pool), pages_(pool.groupCount()) {}
  SequencePages(SequencePages &&other) noexcept;
  SequencePages &operator=(SequencePages &&other) noexcept;
  ~SequencePages() { resizeDown(0); }

  // Takes pages until `rows` rows fit, and a slot. Exhausted, with the numbers, when the pool has
  // too few; then nothing changes.
  Result<void> reserve(uint64_t rows);
  // Gives back the pages beyond those that `rows` rows take.
  void shrink(uint64_t rows);

  // Page number `number` of the first group is `page` from now on, with the rows that it has; the
  // sequence shares it and gives back the page that was there. It is none beyond the next one.
  void adopt(uint64_t number, PageId page);

  const PagePool &pool() const { return *pool_; }
  // In the order in which the first rows fill them.
  std::span<const PageId> pages(size_t group = 0) const { return pages_[group]; }
  // Rows from the first on that have a place in all groups; UINT64_MAX: any number.
  uint64_t capacity() const;
  // Where page number `number` lies.
  PageId page(uint64_t number, size_t group = 0) const;
  // The pool's row that holds row `row` of the sequence; `row` is below capacity().
  int32_t slot(uint64_t row, size_t group = 0) const;

  bool hasState() const { return state_.has_value(); }
  // The slots that the next step reads, but for a sequence's first one, and writes. Of a sequence
  // that has a state.
  int32_t stateToRead() const;
  int32_t stateToWrite() const;
  // After a step: the next one reads what this one wrote.
  void stateWritten() { dropResumed(); }
  // The next step reads this slot, which the sequence shares until then.
  void adoptState(StateSlot slot);
  // After a step: the slot of the state as it is now. It stays so: the next step reads it and
  // writes another one, and whoever shares it until then may keep it. None where there is no other
  // slot.
  std::optional<StateSlot> splitState();
  // Keeps the state, which is of the first `rows` rows, as a checkpoint: the next step writes
  // another slot. The oldest checkpoint goes where there are too many or no slot is free.
  void keepCheckpoint(uint64_t rows);
  // The most rows, but at most `rows`, after which steps can go on: those of the last checkpoint
  // where the pool has states, whose later checkpoints are dropped, and 0 where there is none or
  // rows that the next step reads are gone.
  uint64_t resumeAt(uint64_t rows);

private:
  struct Checkpoint {
    uint64_t rows;
    StateSlot slot;
  };

  Result<void> checkFree(uint64_t rows) const;
  void resizeDown(uint64_t rows);
  bool holdsRowsBefore(uint64_t row) const;
  uint64_t resumeState(uint64_t rows);
  void dropCheckpoint(size_t number);
  void dropResumed();
  void dropStates();

  PagePool *pool_;
  std::vector<std::vector<PageId>> pages_; // of each group
  uint64_t mostRows_ = 0;                  // that were ever reserved since it had no pages
  std::optional<StateSlot> state_;
  std::optional<StateSlot> resumed_;    // that the next step reads instead; shared
  std::vector<Checkpoint> checkpoints_; // by ascending rows
};

} // namespace sinter
