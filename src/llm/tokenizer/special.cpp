// The search for special tokens: a sorted list, narrowed byte by byte.
#include "llm/tokenizer/special.h"

#include <algorithm>

namespace sinter {

Result<SpecialTokens> SpecialTokens::create(std::vector<Entry> entries) {
  std::erase_if(entries, [](const Entry &entry) { return entry.text.empty(); });
  for (const Entry &entry : entries)
    if (entry.text.size() > kMaxTextBytes)
      return fail(Code::Unsupported, "special token " + std::to_string(entry.id) + " has " +
                                         std::to_string(entry.text.size()) +
                                         " bytes, expected at most " +
                                         std::to_string(kMaxTextBytes));
  std::ranges::sort(entries, {}, &Entry::text);
  SpecialTokens made;
  made.entries_ = std::move(entries);
  for (size_t i = 0; i < made.entries_.size(); ++i) {
    Candidates &bucket = made.byFirstByte_[static_cast<uint8_t>(made.entries_[i].text[0])];
    if (bucket.begin == bucket.end)
      bucket.begin = i;
    bucket.end = i + 1;
  }
  return made;
}

std::optional<SpecialTokens::Match> SpecialTokens::next(std::string_view text, size_t from,
                                                        std::span<const Range> markup) const {
  auto range = markup.begin();
  for (size_t at = from; at < text.size(); ++at) {
    const Candidates &bucket = byFirstByte_[static_cast<uint8_t>(text[at])];
    if (bucket.begin == bucket.end)
      continue;
    while (range != markup.end() && range->end <= at)
      ++range;
    bool inMarkup = range != markup.end() && range->begin <= at;
    if (auto found = longestAt(text, at, inMarkup ? range->end : at))
      return found;
  }
  return std::nullopt;
}

std::optional<SpecialTokens::Match> SpecialTokens::longestAt(std::string_view text, size_t at,
                                                             size_t markupEnd) const {
  auto [low, high] = byFirstByte_[static_cast<uint8_t>(text[at])];
  std::optional<Match> longest;
  for (size_t length = 1; low < high; ++length) {
    // All of [low, high) share the first `length` bytes of the text; an exact one sorts first.
    const Entry &first = entries_[low];
    if (first.text.size() == length) {
      if (!first.markup || at + length <= markupEnd)
        longest = Match{{at, at + length}, first.id};
      ++low;
    }
    if (at + length >= text.size())
      break;
    auto byteAt = [length](const Entry &entry) { return static_cast<uint8_t>(entry.text[length]); };
    auto same = std::ranges::equal_range(entries_.begin() + static_cast<ptrdiff_t>(low),
                                         entries_.begin() + static_cast<ptrdiff_t>(high),
                                         static_cast<uint8_t>(text[at + length]), {}, byteAt);
    low = static_cast<size_t>(same.begin() - entries_.begin());
    high = static_cast<size_t>(same.end() - entries_.begin());
  }
  return longest;
}

} // namespace sinter
