// The free list of KV pages, and the pages of a sequence.
#include "llm/kv_pages.h"

#include "base/check.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace sinter {

Result<void> PagePool::addGroup(const KvGroupPages &shape) {
  if (pageRows_ == 0 || shape.pages == 0 ||
      uint64_t{shape.pages} * pageRows_ > uint64_t{std::numeric_limits<int32_t>::max()})
    return fail(Code::InvalidArgument,
                "a block pool of " + std::to_string(shape.pages) + " pages of " +
                    std::to_string(pageRows_) +
                    " rows, expected at least 1 of each and less than 2^31 rows in all");
  if (!groups_.empty() && shape.isRing() && shape.pages < shape.sequencePages)
    return fail(Code::InvalidArgument, "a block pool of " + std::to_string(shape.pages) +
                                           " pages for layers with a window, expected the " +
                                           std::to_string(shape.sequencePages) +
                                           " that one sequence may hold");
  Group group{shape, {}, HolderCounts(shape.pages)};
  group.free.reserve(shape.pages);
  for (uint32_t left = shape.pages; left > 0; --left)
    group.free.push_back(PageId{left - 1});
  groups_.push_back(std::move(group));
  return {};
}

Result<PagePool> PagePool::create(uint32_t pageCount, uint32_t pageRows, uint32_t stateSlots) {
  const KvGroupPages group{pageCount};
  return create({&group, 1}, pageRows, stateSlots);
}

Result<PagePool> PagePool::create(std::span<const KvGroupPages> groups, uint32_t pageRows,
                                  uint32_t stateSlots) {
  SINTER_CHECK(!groups.empty());
  PagePool pool(pageRows);
  for (const KvGroupPages &group : groups)
    SINTER_TRY(pool.addGroup(group));
  pool.states_ = HolderCounts(stateSlots);
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
    pool.groups_[0].free[order.size() - 1 - i] = order[i];
  }
  return pool;
}

Result<PageId> PagePool::take(size_t group) {
  auto &[shape, free, holders] = groups_[group];
  if (free.empty() && holders.idle() > 0)
    keeper_->dropPage();
  if (free.empty())
    return fail(Code::Exhausted,
                "all " + std::to_string(shape.pages) + " pages of the KV cache are in use");
  const PageId page = free.back();
  free.pop_back();
  holders.take(page.index);
  return page;
}

void PagePool::give(PageId page, size_t group) {
  if (groups_[group].holders.give(page.index))
    groups_[group].free.push_back(page);
}

void PagePool::setKeeper(PageKeeper *keeper) {
  SINTER_CHECK(!keeper || !keeper_);
  keeper_ = keeper;
}

void PagePool::drop(PageId page) {
  if (groups_[0].holders.drop(page.index))
    groups_[0].free.push_back(page);
}

uint64_t PagePool::pagesFor(uint64_t rows, size_t group) const {
  return std::min<uint64_t>(rows / pageRows_ + (rows % pageRows_ != 0),
                            groups_[group].shape.sequencePages);
}

bool PagePool::hasRoomFor(uint64_t rows, uint64_t sequences, uint64_t shared) const {
  for (size_t i = 0; i < groups_.size(); ++i) {
    const KvGroupPages &shape = groups_[i].shape;
    const uint64_t held = shape.pages - availablePages(i), most = sequences * shape.sequencePages;
    const uint64_t spare = std::min(sequences, most - std::min(most, held));
    if (pagesFor(rows, i) + spare > availablePages(i) + (i == 0 ? shared : 0))
      return false;
  }
  return true;
}

Result<StateSlot> PagePool::takeState() {
  if (freeStates_ == 0 && states_.idle() > 0)
    keeper_->dropState();
  for (uint32_t i = 0; i < stateSlots() && freeStates_ > 0; ++i)
    if (states_.holders(i) == 0) {
      states_.take(i);
      --freeStates_;
      return StateSlot{i};
    }
  return fail(Code::Exhausted,
              "all " + std::to_string(stateSlots()) + " slots for states of sequences are in use");
}

void PagePool::giveState(StateSlot slot) {
  freeStates_ += states_.give(slot.index);
}

void PagePool::dropState(StateSlot slot) {
  freeStates_ += states_.drop(slot.index);
}

// The other one stays a sequence without pages.
SequencePages::SequencePages(SequencePages &&other) noexcept
    : pool_(other.pool_), pages_(other.pages_.size()) {
  *this = std::move(other);
}

SequencePages &SequencePages::operator=(SequencePages &&other) noexcept {
  if (this != &other) {
    resizeDown(0);
    std::swap(pool_, other.pool_);
    std::swap(pages_, other.pages_);
    mostRows_ = std::exchange(other.mostRows_, 0);
    state_ = std::exchange(other.state_, {});
    resumed_ = std::exchange(other.resumed_, {});
    checkpoints_ = std::exchange(other.checkpoints_, {});
  }
  return *this;
}

Result<void> SequencePages::checkFree(uint64_t rows) const {
  for (size_t group = 0; group < pages_.size(); ++group) {
    const uint64_t wanted = pool_->pagesFor(rows, group), held = pages_[group].size();
    if (wanted > held + pool_->availablePages(group))
      return fail(Code::Exhausted, "a sequence of " + std::to_string(rows) + " tokens needs " +
                                       std::to_string(wanted - held) + " more KV pages" +
                                       (group ? " of layers with a window" : "") + ", and " +
                                       std::to_string(pool_->availablePages(group)) + " of " +
                                       std::to_string(pool_->pageCount(group)) + " are free");
  }
  return {};
}

Result<void> SequencePages::reserve(uint64_t rows) {
  SINTER_TRY(checkFree(rows));
  if (pool_->stateSlots() > 0 && !state_ && rows > 0) {
    SINTER_ASSIGN(state_, pool_->takeState());
  }
  for (size_t group = 0; group < pages_.size(); ++group)
    while (pages_[group].size() < pool_->pagesFor(rows, group)) {
      SINTER_ASSIGN(const PageId page, pool_->take(group));
      pages_[group].push_back(page);
    }
  mostRows_ = std::max(mostRows_, rows);
  return {};
}

void SequencePages::shrink(uint64_t rows) {
  resizeDown(rows);
}

void SequencePages::adopt(uint64_t number, PageId page) {
  std::vector<PageId> &pages = pages_[0];
  SINTER_CHECK(number <= pages.size());
  pool_->share(page);
  if (number < pages.size())
    pool_->give(std::exchange(pages[number], page));
  else
    pages.push_back(page);
  mostRows_ = std::max(mostRows_, (number + 1) * pool_->pageRows());
}

uint64_t SequencePages::capacity() const {
  uint64_t rows = UINT64_MAX;
  for (size_t group = 0; group < pages_.size(); ++group)
    if (pages_[group].size() < pool_->group(group).sequencePages)
      rows = std::min(rows, uint64_t{pages_[group].size()} * pool_->pageRows());
  return rows;
}

PageId SequencePages::page(uint64_t number, size_t group) const {
  const std::vector<PageId> &pages = pages_[group];
  return pages[number < pages.size() ? number : number % pool_->group(group).sequencePages];
}

int32_t SequencePages::slot(uint64_t row, size_t group) const {
  SINTER_CHECK(row < capacity());
  const uint32_t pageRows = pool_->pageRows();
  return static_cast<int32_t>(page(row / pageRows, group).index * pageRows + row % pageRows);
}

// From the last page back, so that the pages are taken again in their order.
void SequencePages::resizeDown(uint64_t rows) {
  for (size_t group = 0; group < pages_.size(); ++group)
    for (; pages_[group].size() > pool_->pagesFor(rows, group); pages_[group].pop_back())
      pool_->give(pages_[group].back(), group);
  if (rows > 0)
    return;
  mostRows_ = 0;
  dropStates();
}

// Whether no page that a step reads which begins at `row` was filled again since.
bool SequencePages::holdsRowsBefore(uint64_t row) const {
  const uint32_t pageRows = pool_->pageRows();
  for (size_t group = 0; group < pages_.size(); ++group) {
    const KvGroupPages &shape = pool_->group(group);
    if (shape.isRing() && shape.firstPage(row, pageRows) + shape.sequencePages <
                              (mostRows_ + pageRows - 1) / pageRows)
      return false;
  }
  return true;
}

uint64_t SequencePages::resumeAt(uint64_t rows) {
  const uint64_t resumed = resumeState(rows);
  if (holdsRowsBefore(resumed))
    return resumed;
  dropResumed();
  return 0;
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

void SequencePages::dropResumed() {
  if (resumed_)
    pool_->giveState(*std::exchange(resumed_, {}));
}

void SequencePages::adoptState(StateSlot slot) {
  pool_->shareState(slot);
  dropResumed();
  resumed_ = slot;
}

std::optional<StateSlot> SequencePages::splitState() {
  SINTER_CHECK(!resumed_); // the slot has the state of the last step's end
  if (!state_ || !pool_->hasRoomForState())
    return std::nullopt;
  resumed_ = std::exchange(state_, *pool_->takeState());
  return resumed_;
}

void SequencePages::dropStates() {
  while (!checkpoints_.empty())
    dropCheckpoint(checkpoints_.size() - 1);
  dropResumed();
  if (state_)
    pool_->giveState(*std::exchange(state_, {}));
}

void SequencePages::keepCheckpoint(uint64_t rows) {
  if (!state_ || (!checkpoints_.empty() && checkpoints_.back().rows == rows))
    return;
  if (!checkpoints_.empty() &&
      (checkpoints_.size() == kMostCheckpoints || !pool_->hasRoomForState()))
    dropCheckpoint(0);
  if (const auto slot = splitState()) {
    pool_->shareState(*slot);
    checkpoints_.push_back({rows, *slot});
  }
}

uint64_t SequencePages::resumeState(uint64_t rows) {
  if (pool_->stateSlots() == 0)
    return rows;
  while (!checkpoints_.empty() && checkpoints_.back().rows > rows)
    dropCheckpoint(checkpoints_.size() - 1);
  dropResumed();
  if (checkpoints_.empty())
    return 0;
  adoptState(checkpoints_.back().slot);
  return checkpoints_.back().rows;
}

} // namespace sinter
