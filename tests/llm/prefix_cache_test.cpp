// The radix tree over pages: what it finds, what it drops, and that nothing is held twice or lost.
#include "llm/prefix_cache.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace sinter {
namespace {

constexpr uint32_t kPageRows = 4;

RunnerLimits limitsOf(uint32_t pages, uint32_t stateSlots = 0) {
  RunnerLimits limits{100, 64, 16, 4, 4, kPageRows, {{pages}}};
  limits.stateSlots = stateSlots;
  limits.phasesAgree = false;
  return limits;
}

// A pool, its cache, and sequences that come and go.
struct Shelf {
  explicit Shelf(const RunnerLimits &limits)
      : pool(*PagePool::create(limits.kvGroups, limits.pageRows, limits.stateSlots)),
        cache(pool, limits) {}

  struct Sequence {
    explicit Sequence(PagePool &pool) : pages(pool) {}
    std::vector<TokenId> tokens;
    uint64_t prefillRows = 0;
    std::string scope = {};
    uint64_t heldRows = 0;
    PrefixCache::Place place = nullptr;
    SequencePages pages;

    PrefixRows rows() const { return {scope, tokens, prefillRows}; }
  };

  // All of its rows, some of the first from the cache.
  std::unique_ptr<Sequence> begin(std::vector<TokenId> tokens, uint64_t prefillRows = UINT64_MAX,
                                  const std::string &scope = {}) {
    auto made = std::make_unique<Sequence>(pool);
    made->tokens = std::move(tokens);
    made->prefillRows = std::min<uint64_t>(prefillRows, made->tokens.size());
    made->scope = scope;
    made->heldRows =
        cache.adopt(made->rows(), 0, made->tokens.size() - 1, made->place, made->pages).rows;
    return made->pages.reserve(made->tokens.size()) ? std::move(made) : nullptr;
  }
  void keep(Sequence &sequence) {
    cache.insert(sequence.rows(), sequence.tokens.size(), sequence.place, sequence.pages);
  }
  // Rows that the cache had of a sequence, which is computed and kept, and goes.
  uint64_t reusedBy(const std::vector<TokenId> &tokens, uint64_t prefillRows = UINT64_MAX,
                    const std::string &scope = {}) {
    const auto made = begin(tokens, prefillRows, scope);
    keep(*made);
    return made->heldRows;
  }

  PagePool pool;
  PrefixCache cache;
};

std::vector<TokenId> counted(TokenId first, size_t count) {
  std::vector<TokenId> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

TEST(PrefixCache, WholePagesBeforeADivergenceWithinAPageAreShared) {
  Shelf shelf(limitsOf(16));
  EXPECT_EQ(shelf.reusedBy(counted(0, 14)), 0u);
  std::vector<TokenId> other = counted(0, 14);
  other[10] = 99;
  EXPECT_EQ(shelf.reusedBy(other), 8u);
  EXPECT_EQ(shelf.cache.pages(), 4u) << "two shared pages and one of each";
}

TEST(PrefixCache, TheLastTokenIsLeftToCompute) {
  Shelf shelf(limitsOf(16));
  shelf.reusedBy(counted(0, 8));
  EXPECT_EQ(shelf.reusedBy(counted(0, 8)), 4u);
  EXPECT_EQ(shelf.reusedBy(counted(0, 9)), 8u);
}

TEST(PrefixCache, RowsOfAnotherPhaseAreOtherRowsWherePhasesDiffer) {
  Shelf shelf(limitsOf(16));
  shelf.reusedBy(counted(0, 16), 6);
  EXPECT_EQ(shelf.reusedBy(counted(0, 16), 16), 4u);
  EXPECT_EQ(shelf.reusedBy(counted(0, 16), 6), 12u);
}

TEST(PrefixCache, RowsOfAnyPhaseAreSharedWherePhasesAgree) {
  RunnerLimits limits = limitsOf(16);
  limits.phasesAgree = true;
  Shelf shelf(limits);
  shelf.reusedBy(counted(0, 16), 6);
  EXPECT_EQ(shelf.reusedBy(counted(0, 16), 16), 12u);
}

TEST(PrefixCache, AnotherScopeSharesNothing) {
  Shelf shelf(limitsOf(16));
  shelf.reusedBy(counted(0, 9), 9, "ana");
  EXPECT_EQ(shelf.reusedBy(counted(0, 9), 9, "bob"), 0u);
  EXPECT_EQ(shelf.reusedBy(counted(0, 9), 9, "ana"), 8u);
}

TEST(PrefixCache, TwoThatComputedTheSameKeepOneOfTheirPages) {
  Shelf shelf(limitsOf(16));
  const auto first = shelf.begin(counted(0, 9)), second = shelf.begin(counted(0, 9));
  shelf.keep(*first);
  shelf.keep(*second);
  EXPECT_EQ(second->pages.page(1), first->pages.page(1));
  EXPECT_NE(second->pages.page(2), first->pages.page(2));
  EXPECT_EQ(shelf.pool.freePages(), 12u);
}

TEST(PrefixCache, AFullPoolDropsTheLeastRecentlyUsedLeaf) {
  Shelf shelf(limitsOf(6));
  shelf.reusedBy(counted(0, 8));
  shelf.reusedBy(counted(20, 8));
  EXPECT_EQ(shelf.reusedBy(counted(0, 9)), 8u); // used since; takes a page, and gives it back
  EXPECT_EQ(shelf.pool.freePages(), 2u);
  EXPECT_NE(shelf.begin(counted(40, 12)), nullptr);
  EXPECT_EQ(shelf.cache.evicted(), 1u);
  EXPECT_EQ(shelf.begin(counted(20, 9))->heldRows, 4u) << "its first page was no leaf";
  EXPECT_EQ(shelf.begin(counted(0, 9))->heldRows, 8u);
}

TEST(PrefixCache, PagesOfSequencesStay) {
  Shelf shelf(limitsOf(4));
  const auto running = shelf.begin(counted(0, 9));
  shelf.keep(*running);
  EXPECT_EQ(shelf.pool.availablePages(), 1u);
  EXPECT_EQ(shelf.begin(counted(20, 5)), nullptr);
  EXPECT_EQ(shelf.cache.pages(), 2u);
}

TEST(PrefixCache, AStateIsFoundWhereItWasKeptAndNowhereElse) {
  Shelf shelf(limitsOf(16, 3));
  auto first = shelf.begin(counted(0, 8));
  shelf.keep(*first);
  EXPECT_EQ(shelf.begin(counted(0, 12))->heldRows, 0u) << "no state was kept";
  shelf.cache.keepState(first->place, first->pages);
  const int32_t kept = first->pages.stateToRead();
  EXPECT_NE(first->pages.stateToWrite(), kept);
  first = nullptr;
  const auto second = shelf.begin(counted(0, 12));
  EXPECT_EQ(second->heldRows, 8u);
  EXPECT_EQ(second->pages.stateToRead(), kept);
}

TEST(PrefixCache, AStateGoesWhereASequenceNeedsItsSlot) {
  Shelf shelf(limitsOf(16, 2));
  auto first = shelf.begin(counted(0, 8));
  shelf.keep(*first);
  shelf.cache.keepState(first->place, first->pages);
  first = nullptr;
  const auto one = shelf.begin(counted(40, 4));
  EXPECT_EQ(shelf.begin(counted(0, 12))->heldRows, 0u) << "a state is read and another written";
  EXPECT_NE(shelf.begin(counted(50, 4)), nullptr);
}

TEST(PrefixCache, WindowsAreRefusedAndSaidWhy) {
  RunnerLimits limits = limitsOf(16);
  limits.kvGroups.push_back({16, 3, 8});
  const auto checked = PrefixCache::check(limits);
  ASSERT_FALSE(checked.has_value());
  EXPECT_EQ(checked.error().code, Code::Unsupported);
  EXPECT_NE(checked.error().message.find("window"), std::string::npos);
}

// Every page is free, idle in the tree, or held by sequences, whatever they do.
TEST(PrefixCache, CountsAreThoseOfWhatIsHeldAndAllComesBack) {
  std::mt19937 random(7);
  const auto dice = [&](size_t below) { return static_cast<size_t>(random() % below); };
  for (const uint32_t slots : {0u, 5u}) {
    Shelf shelf(limitsOf(24, slots));
    std::vector<std::unique_ptr<Shelf::Sequence>> sequences;
    for (int round = 0; round < 4000; ++round) {
      if (sequences.size() < 5 && dice(2) == 0) {
        std::vector<TokenId> tokens(1 + dice(24));
        for (TokenId &token : tokens)
          token = static_cast<TokenId>(dice(2));
        if (auto made = shelf.begin(std::move(tokens), dice(24)))
          sequences.push_back(std::move(made));
      } else if (!sequences.empty()) {
        const size_t at = dice(sequences.size());
        if (dice(3) > 0)
          shelf.keep(*sequences[at]);
        sequences[at]->pages.stateWritten();
        if (slots > 0 && dice(2) == 0)
          shelf.cache.keepState(sequences[at]->place, sequences[at]->pages);
        if (dice(2) == 0)
          sequences.erase(sequences.begin() + static_cast<ptrdiff_t>(at));
      }
      std::set<PageId> held;
      for (const auto &sequence : sequences)
        held.insert(sequence->pages.pages().begin(), sequence->pages.pages().end());
      ASSERT_EQ(shelf.pool.freePages() + shelf.pool.idlePages() + held.size(), 24u) << round;
      ASSERT_GE(shelf.cache.pages(), shelf.pool.idlePages());
    }
    EXPECT_GT(shelf.cache.evicted(), 100u);
    sequences.clear();
    EXPECT_EQ(shelf.pool.availablePages(), 24u);
    EXPECT_EQ(shelf.pool.availableStates(), slots);
    shelf.cache.clear();
    EXPECT_EQ(shelf.pool.freePages(), 24u);
    EXPECT_EQ(shelf.pool.freeStates(), slots);
    EXPECT_EQ(shelf.cache.pages(), 0u);
  }
}

} // namespace
} // namespace sinter
