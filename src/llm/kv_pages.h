// Paged KV cache: a pool of equal pages with a free list, and the pages that one sequence holds.
#pragma once

#include "base/status.h"

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

namespace sinter {

// A page of the pool, below its pageCount().
struct PageId {
  uint32_t index = UINT32_MAX;
  friend constexpr auto operator<=>(const PageId &, const PageId &) = default;
};

// The free pages of one KV pool. It keeps account only; the memory belongs to the executor. For one
// thread.
class PagePool {
public:
  // `pageCount` pages of `pageRows` rows (positions) each, handed out from page 0 up. Both are at
  // least 1, and the rows of all pages fit an i32, as plans number rows so: InvalidArgument
  // otherwise.
  static Result<PagePool> create(uint32_t pageCount, uint32_t pageRows);
  // The same, handing out pages in the order of `order`, which names each page below its size once.
  static Result<PagePool> createInOrder(std::span<const PageId> order, uint32_t pageRows);

  // Takes a free page. Exhausted when all pages are held.
  Result<PageId> take();
  // Gives back a page that take() handed out. The page given back last is taken next.
  void give(PageId page);

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
};

// The pages of one sequence in order: row r lies in pages()[r / pageRows]. Owns its pages and gives
// them back when it dies; borrows the pool, which must outlive it and stay where it is. Move-only.
class SequencePages {
public:
  explicit SequencePages(PagePool &pool) : pool_(&pool) {}
  SequencePages(SequencePages &&other) noexcept;
  SequencePages &operator=(SequencePages &&other) noexcept;
  ~SequencePages() { resizeDown(0); }

  // Takes pages until `rows` rows fit. Exhausted, with the numbers, when the pool has too few; then
  // nothing changes.
  Result<void> reserve(uint64_t rows);
  // Gives back the pages beyond those that `rows` rows take.
  void shrink(uint64_t rows);

  std::span<const PageId> pages() const { return pages_; }
  uint64_t capacity() const { return uint64_t{pages_.size()} * pool_->pageRows(); }
  // The pool's row that holds row `row` of the sequence; `row` is below capacity().
  int32_t slot(uint64_t row) const;

private:
  void resizeDown(size_t count);

  PagePool *pool_;
  std::vector<PageId> pages_;
};

} // namespace sinter
