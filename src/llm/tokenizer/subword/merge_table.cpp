// The merge rules of a vocabulary.
#include "llm/tokenizer/subword/merge_table.h"

#include "base/check.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace sinter {
namespace {

struct Pair {
  TokenId left, right;
  Merge merge;
};

std::string resultText(const MergeText &merge, size_t rightPrefix) {
  return std::string(merge.left) +
         std::string(merge.right.substr(std::min(rightPrefix, merge.right.size())));
}

bool isPair(const MergeText &merge) {
  return !merge.left.empty() && !merge.right.empty();
}

std::string shown(const MergeText &merge) {
  return "'" + std::string(merge.left.substr(0, 64)) + " " +
         std::string(merge.right.substr(0, 64)) + "'";
}

} // namespace

void MergeTable::addExtras(std::span<const MergeText> merges, size_t tokenCount,
                           size_t rightPrefix) {
  size_t odd = 0;
  std::string first;
  for (const MergeText &merge : merges) {
    std::vector<std::string> missing;
    if (isPair(merge))
      for (std::string text :
           {std::string(merge.left), std::string(merge.right), resultText(merge, rightPrefix)})
        if (!index_->find(text))
          missing.push_back(std::move(text));
    if (isPair(merge) && missing.empty())
      continue;
    if (++odd == 1)
      first = shown(merge);
    std::ranges::move(missing, std::back_inserter(extraTexts_));
  }
  std::ranges::sort(extraTexts_);
  const auto twins = std::ranges::unique(extraTexts_);
  extraTexts_.erase(twins.begin(), twins.end());
  firstExtra_ = static_cast<TokenId>(tokenCount);
  if (odd > 0)
    oddity_ = std::to_string(odd) + " of " + std::to_string(merges.size()) +
              " merges are no pairs, or name or make a text that is no token, such as " + first;
}

Result<MergeTable> MergeTable::create(std::span<const MergeText> merges, const TextIndex &index,
                                      const Options &options) {
  constexpr size_t kMost = std::numeric_limits<TokenId>::max() / 8; // so that all ids fit
  if (merges.size() >= kMost)
    return fail(Code::Unsupported, "vocabulary has " + std::to_string(merges.size()) +
                                       " merges, expected less than " + std::to_string(kMost));
  MergeTable made;
  made.index_ = &index;
  made.addExtras(merges, options.tokenCount, options.rightPrefix);
  std::vector<Pair> pairs;
  pairs.reserve(merges.size());
  for (size_t i = 0; i < merges.size(); ++i) {
    if (!isPair(merges[i]))
      continue;
    const TokenId result = made.symbolOf(resultText(merges[i], options.rightPrefix));
    const bool isToken = static_cast<size_t>(result) < options.tokenCount;
    if (!isToken || !options.hidden(result))
      pairs.push_back({made.symbolOf(merges[i].left),
                       made.symbolOf(merges[i].right),
                       {static_cast<uint32_t>(i), result}});
  }
  std::ranges::sort(pairs, {},
                    [](const Pair &p) { return std::tuple(p.left, p.right, p.merge.rank); });
  const auto repeats =
      std::ranges::unique(pairs, {}, [](const Pair &p) { return std::tuple(p.left, p.right); });
  pairs.erase(repeats.begin(), repeats.end());

  made.starts_.assign(options.tokenCount + made.extraTexts_.size() + 1, 0);
  made.rules_.reserve(pairs.size());
  for (const Pair &pair : pairs) {
    SINTER_CHECK(pair.left >= 0 && static_cast<size_t>(pair.left) + 1 < made.starts_.size());
    ++made.starts_[static_cast<size_t>(pair.left) + 1];
    made.rules_.push_back({pair.right, pair.merge});
  }
  for (size_t i = 1; i < made.starts_.size(); ++i)
    made.starts_[i] += made.starts_[i - 1];
  return made;
}

TokenId MergeTable::symbolOf(std::string_view text) const {
  if (const auto id = index_->find(text))
    return *id;
  const auto found = std::ranges::lower_bound(extraTexts_, text, std::less<std::string_view>());
  if (found == extraTexts_.end() || *found != text)
    return -1;
  return firstExtra_ + static_cast<TokenId>(found - extraTexts_.begin());
}

std::optional<Merge> MergeTable::find(TokenId left, TokenId right) const {
  if (left < 0 || right < 0 || static_cast<size_t>(left) + 1 >= starts_.size())
    return std::nullopt;
  const auto begin = rules_.begin() + starts_[static_cast<size_t>(left)];
  const auto end = rules_.begin() + starts_[static_cast<size_t>(left) + 1];
  const auto found = std::ranges::lower_bound(begin, end, right, {}, &Rule::right);
  if (found == end || found->right != right)
    return std::nullopt;
  return found->merge;
}

} // namespace sinter
