// Pages whose rows later sequences can use: a radix tree, one node a page. A node's key is its
// parent and its page's tokens; where phases differ in bits, also which of the rows prefill
// computed. So a page stands for rows of the same bits, whoever computed them.
//
//   scope "" --- [7 1 9 4] --- [2 2 8 5] --- [3 3 3 1]      pages of 4 rows
//                         \--- [2 6 0 1]
//
// The tree holds its pages beside the sequences that use them, so they survive these. Where the
// block pool runs out of free pages, the least recently used leaf goes that no sequence holds.
// A sequence that holds a page of the tree holds all of those before it, so leaves suffice.
//
// A page of a model with states helps only beside the state of the rows up to its end. So nodes of
// such models may keep a state, at the rows where a prefill step was made to end.
#pragma once

#include "llm/kv_pages.h"
#include "llm/step_runner.h"

#include <map>
#include <memory>
#include <set>
#include <string>

namespace sinter {

// What decides the bits of a sequence's rows.
struct PrefixRows {
  std::string_view scope;          // rows of another scope are never shared
  std::span<const TokenId> tokens; // one a row
  uint64_t prefillRows = 0;        // first rows, that prefill computes
};

// Borrows the pool, whose keeper it is. For the pool's thread.
class PrefixCache : private PageKeeper {
public:
  struct Node;
  // The last page of a sequence that is in the tree, with those before it; none: null. Valid while
  // the sequence holds these pages.
  using Place = Node *;

  // Unsupported: pages of layers with a window are filled in turn, so no later sequence finds them.
  static Result<void> check(const RunnerLimits &limits);
  // Of a runner that passes check().
  PrefixCache(PagePool &pool, const RunnerLimits &limits);
  ~PrefixCache() override;
  PrefixCache(const PrefixCache &) = delete;
  PrefixCache &operator=(const PrefixCache &) = delete;

  struct Found {
    uint64_t rows = 0;     // that the sequence has now
    uint64_t treeRows = 0; // that the tree has pages for, with or without a state at their end
  };
  // Gives a sequence the pages that follow its place, and the state at their end: at most
  // `mostRows` rows in all. Nothing changes where that is not more than `heldRows`, which the
  // sequence has.
  Found adopt(const PrefixRows &rows, uint64_t heldRows, uint64_t mostRows, Place &place,
              SequencePages &pages);
  // Puts whole pages of the first `heldRows` rows into the tree. A page that is there already takes
  // the place of the sequence's own.
  void insert(const PrefixRows &rows, uint64_t heldRows, Place &place, SequencePages &pages);
  // Keeps the state of a sequence whose last row is the last of its place, unless there is one or
  // no slot for it.
  void keepState(Place place, SequencePages &pages);
  // Whether the next page is the same for both, so that the second one can have it once prefill has
  // computed it for the first.
  bool sharesNextPage(const PrefixRows &first, Place firstPlace, const PrefixRows &second,
                      Place secondPlace) const;
  // Lets go all that no sequence holds.
  void clear();

  // Rows at whose multiples a sequence can go on from the tree.
  uint64_t unitRows() const { return unitRows_; }
  uint64_t pages() const { return pages_; }     // in the tree
  uint64_t evicted() const { return evicted_; } // pages, since it was made
  uint64_t rowsOf(Place place) const;

private:
  struct KeyView {
    uint64_t prefillRows; // of the page's rows
    std::span<const TokenId> tokens;
  };
  struct Key {
    uint64_t prefillRows;
    std::vector<TokenId> tokens;
    operator KeyView() const { return {prefillRows, tokens}; }
  };
  struct Less {
    using is_transparent = void;
    bool operator()(const KeyView &a, const KeyView &b) const;
  };
  using Children = std::map<Key, std::unique_ptr<Node>, Less>;
  using Used = std::set<std::pair<uint64_t, Node *>>; // the least recently used first

  void dropPage() override;
  void dropState() override;
  KeyView keyOf(const PrefixRows &rows, uint64_t page) const;
  Node *find(const PrefixRows &rows, uint64_t page, Place parent) const;
  Node *add(const PrefixRows &rows, uint64_t page, Place parent, PageId id);
  bool canAdoptState(const Node &node, const SequencePages &pages) const;
  void setUsed(Node &node, uint64_t when);
  void loseState(Node &node);
  void remove(Node &leaf);

  PagePool &pool_;
  const uint64_t pageRows_;
  const bool phasesAgree_, hasStates_;
  uint64_t unitRows_;
  std::map<std::string, std::unique_ptr<Node>, std::less<>> roots_; // by scope; without a page
  Used leaves_, states_;
  uint64_t clock_ = 0;
  uint64_t pages_ = 0, evicted_ = 0;
};

} // namespace sinter
