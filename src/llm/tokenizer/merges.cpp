// Byte-pair encoding of one word.
#include "llm/tokenizer/merges.h"

#include "base/check.h"

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>

namespace sinter {
namespace {

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
constexpr TokenId kConsumed = -2; // a symbol that its left neighbour has swallowed

struct Pair {
  TokenId left, right;
  MergeTable::Merge merge;
};

Result<Pair> resolve(std::string_view text, uint32_t rank, const TextIndex &index) {
  auto corrupt = [&](const std::string &why) {
    return fail(Code::Corrupt, "merge " + std::to_string(rank) + " '" +
                                   std::string(text.substr(0, 64)) + "' " + why);
  };
  // The left side may itself start with a space, where a vocabulary is not byte-level.
  size_t space = text.find(' ', 1);
  if (space == std::string_view::npos || space + 1 == text.size())
    return corrupt("is not a pair, expected two tokens with a space between");
  std::string_view left = text.substr(0, space), right = text.substr(space + 1);
  auto leftId = index.find(left), rightId = index.find(right);
  if (!leftId || !rightId)
    return corrupt("names '" + std::string((leftId ? right : left).substr(0, 64)) +
                   "', which is not a token");
  auto result = index.find(std::string(left) + std::string(right));
  if (!result)
    return corrupt("makes '" + std::string(left.substr(0, 64)) + std::string(right.substr(0, 64)) +
                   "', which is not a token");
  return Pair{*leftId, *rightId, {rank, *result}};
}

} // namespace

Result<MergeTable> MergeTable::create(std::span<const std::string_view> merges,
                                      const TextIndex &index, size_t tokenCount,
                                      const std::function<bool(TokenId)> &hidden) {
  if (merges.size() >= kNone)
    return fail(Code::Unsupported, "vocabulary has " + std::to_string(merges.size()) +
                                       " merges, expected less than 4294967295");
  std::vector<Pair> pairs;
  pairs.reserve(merges.size());
  for (size_t i = 0; i < merges.size(); ++i) {
    SINTER_ASSIGN(Pair pair, resolve(merges[i], static_cast<uint32_t>(i), index));
    if (!hidden(pair.merge.result))
      pairs.push_back(pair);
  }
  std::ranges::sort(pairs, {},
                    [](const Pair &p) { return std::tuple(p.left, p.right, p.merge.rank); });
  auto repeats =
      std::ranges::unique(pairs, {}, [](const Pair &p) { return std::tuple(p.left, p.right); });
  pairs.erase(repeats.begin(), repeats.end());

  MergeTable made;
  made.starts_.assign(tokenCount + 1, 0);
  made.rules_.reserve(pairs.size());
  for (const Pair &pair : pairs) {
    SINTER_CHECK(static_cast<size_t>(pair.left) < tokenCount);
    ++made.starts_[static_cast<size_t>(pair.left) + 1];
    made.rules_.push_back({pair.right, pair.merge});
  }
  for (size_t i = 1; i < made.starts_.size(); ++i)
    made.starts_[i] += made.starts_[i - 1];
  return made;
}

std::optional<MergeTable::Merge> MergeTable::find(TokenId left, TokenId right) const {
  if (left < 0 || right < 0 || static_cast<size_t>(left) + 1 >= starts_.size())
    return std::nullopt;
  auto begin = rules_.begin() + starts_[static_cast<size_t>(left)];
  auto end = rules_.begin() + starts_[static_cast<size_t>(left) + 1];
  auto found = std::ranges::lower_bound(begin, end, right, {}, &Rule::right);
  if (found == end || found->right != right)
    return std::nullopt;
  return found->merge;
}

void WordMerger::consider(const MergeTable &table, const std::vector<TokenId> &symbols,
                          uint32_t left) {
  if (left == kNone || next_[left] == kNone)
    return;
  TokenId leftId = symbols[left], rightId = symbols[next_[left]];
  if (auto merge = table.find(leftId, rightId))
    queue_.push({merge->rank, left, leftId, rightId, merge->result});
}

void WordMerger::merge(const MergeTable &table, std::vector<TokenId> &symbols) {
  SINTER_CHECK(symbols.size() < kNone);
  auto count = static_cast<uint32_t>(symbols.size());
  previous_.resize(count);
  next_.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    previous_[i] = i ? i - 1 : kNone;
    next_[i] = i + 1 < count ? i + 1 : kNone;
  }
  for (uint32_t i = 0; i + 1 < count; ++i)
    consider(table, symbols, i);
  while (!queue_.empty()) {
    Candidate best = queue_.top();
    queue_.pop();
    uint32_t right = next_[best.left];
    // Either side may have been merged with another neighbour since the candidate was queued.
    if (symbols[best.left] != best.leftId || right == kNone || symbols[right] != best.rightId)
      continue;
    symbols[best.left] = best.result;
    symbols[right] = kConsumed;
    next_[best.left] = next_[right];
    if (next_[right] != kNone)
      previous_[next_[right]] = best.left;
    consider(table, symbols, previous_[best.left]);
    consider(table, symbols, best.left);
  }
  std::erase(symbols, kConsumed);
}

} // namespace sinter
