// The free list of KV pages, and the pages of a sequence.
#include "llm/kv_pages.h"

#include "base/check.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace sinter {

Result<PagePool> PagePool::create(uint32_t pageCount, uint32_t pageRows, uint32_t stateSlots) {
  if (pageRows == 0 || pageCount == 0 ||
      uint64_t{pageCount} * pageRows > uint64_t{std::numeric_limits<int32_t>::max()})
    return fail(Code::InvalidArgument,
                "a block pool of " + std::to_string(pageCount) + " pages of " +
                    std::to_string(pageRows) +
                    " rows, expected at least 1 of each and less than 2^31 rows in all");
  PagePool pool(pageRows);
  pool.free_.reserve(pageCount);
  for (uint32_t left = pageCount; left > 0; --left)
    pool.free_.push_back(PageId{left - 1});
  pool.held_.assign(pageCount, false);
  pool.heldStates_.assign(stateSlots, false);
  pool.freeStates_ = stateSlots;
  return pool;
}

Result<PagePool> PagePool::createInOrder(std::span<const PageId> order, uint32_t pageRows,
                                         uint32_t stateSlots) {
  if (order.size() > uint64_t{std::numeric_limits<int32_t>::max()})
    return fail(Code::InvalidArgument, "a block pool of 2^31 or more pages");
  SINTER_ASSIGN(PagePool pool, create(static_cast<uint32_t>(order.size()), pageRows, stateSlots));
  std::vector<bool> seen(order.size(), false);
  for (size_t i = 0; i < order.size(); ++i) {
    const uint32_t index = order[i].index;
    if (index >= order.size() || seen[index])
      return fail(Code::InvalidArgument, "the order of " + std::to_string(order.size()) +
                                             " pages names page " + std::to_string(index) +
                                             ", expected each page once");
    seen[index] = true;
    pool.free_[order.size() - 1 - i] = order[i];
  }
  return pool;
}

Result<PageId> PagePool::take() {
  if (free_.empty())
    return fail(Code::Exhausted,
                "all " + std::to_string(pageCount()) + " pages of the KV cache are in use");
  const PageId page = free_.back();
  free_.pop_back();
  held_[page.index] = true;
  return page;
}

void PagePool::give(PageId page) {
  SINTER_CHECK(page.index < held_.size() && held_[page.index]);
  held_[page.index] = false;
  free_.push_back(page);
}

Result<StateSlot> PagePool::takeState() {
  const auto found = std::ranges::find(heldStates_, false);
  if (found == heldStates_.end())
    return fail(Code::Exhausted, "all " + std::to_string(stateSlots()) +
                                     " slots for states of sequences are in use");
  *found = true;
  --freeStates_;
  return StateSlot{static_cast<uint32_t>(found - heldStates_.begin())};
}

void PagePool::giveState(StateSlot slot) {
  SINTER_CHECK(slot.index < heldStates_.size() && heldStates_[slot.index]);
  heldStates_[slot.index] = false;
  ++freeStates_;
}

SequencePages::SequencePages(SequencePages &&other) noexcept
    : pool_(other.pool_), pages_(std::exchange(other.pages_, {})),
      state_(std::exchange(other.state_, {})), resumed_(std::exchange(other.resumed_, {})),
      checkpoints_(std::exchange(other.checkpoints_, {})) {}

SequencePages &SequencePages::operator=(SequencePages &&other) noexcept {
  if (this != &other) {
    resizeDown(0);
    pool_ = other.pool_;
    pages_ = std::exchange(other.pages_, {});
    state_ = std::exchange(other.state_, {});
    resumed_ = std::exchange(other.resumed_, {});
    checkpoints_ = std::exchange(other.checkpoints_, {});
  }
  return *this;
}

Result<void> SequencePages::reserve(uint64_t rows) {
  const uint64_t wanted = pool_->pagesFor(rows);
  if (wanted <= pages_.size())
    return {};
  const uint64_t missing = wanted - pages_.size();
  if (missing > pool_->freePages())
    return fail(Code::Exhausted, "a sequence of " + std::to_string(rows) + " tokens needs " +
                                     std::to_string(missing) + " more KV pages, and " +
                                     std::to_string(pool_->freePages()) + " of " +
                                     std::to_string(pool_->pageCount()) + " are free");
  if (pool_->stateSlots() > 0 && !state_) {
    SINTER_ASSIGN(state_, pool_->takeState());
  }
  while (pages_.size() < wanted) {
    SINTER_ASSIGN(const PageId page, pool_->take());
    pages_.push_back(page);
  }
  return {};
}

void SequencePages::shrink(uint64_t rows) {
  resizeDown(pool_->pagesFor(rows));
}

int32_t SequencePages::slot(uint64_t row) const {
  SINTER_CHECK(row < capacity());
  const uint32_t pageRows = pool_->pageRows();
  return static_cast<int32_t>(pages_[row / pageRows].index * pageRows + row % pageRows);
}

// From the last page back, so that the pages are taken again in their order.
void SequencePages::resizeDown(size_t count) {
  for (; pages_.size() > count; pages_.pop_back())
    pool_->give(pages_.back());
  if (count == 0)
    dropStates();
}

// ---- states ----

int32_t SequencePages::stateToRead() const {
  return static_cast<int32_t>(resumed_ ? resumed_->index : state_->index);
}

int32_t SequencePages::stateToWrite() const {
  return static_cast<int32_t>(state_->index);
}

void SequencePages::dropCheckpoint(size_t number) {
  pool_->giveState(checkpoints_[number].slot);
  checkpoints_.erase(checkpoints_.begin() + static_cast<ptrdiff_t>(number));
}

void SequencePages::dropStates() {
  while (!checkpoints_.empty())
    dropCheckpoint(checkpoints_.size() - 1);
  resumed_.reset();
  if (state_)
    pool_->giveState(*std::exchange(state_, {}));
}

void SequencePages::keepCheckpoint(uint64_t rows) {
  if (!state_ || (!checkpoints_.empty() && checkpoints_.back().rows == rows))
    return;
  SINTER_CHECK(!resumed_); // the slot has the state of these rows
  if (!checkpoints_.empty() &&
      (checkpoints_.size() == kMostCheckpoints || pool_->freeStates() == 0))
    dropCheckpoint(0);
  if (pool_->freeStates() == 0)
    return;
  checkpoints_.push_back({rows, *state_});
  resumed_ = state_;
  state_ = *pool_->takeState();
}

uint64_t SequencePages::resumeAt(uint64_t rows) {
  if (pool_->stateSlots() == 0)
    return rows;
  while (!checkpoints_.empty() && checkpoints_.back().rows > rows)
    dropCheckpoint(checkpoints_.size() - 1);
  resumed_.reset();
  if (checkpoints_.empty())
    return 0;
  resumed_ = checkpoints_.back().slot;
  return checkpoints_.back().rows;
}

} // namespace sinter
