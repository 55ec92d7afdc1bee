// The search for special tokens: a sorted list, narrowed byte by byte.
#include "llm/tokenizer/special.h"

#include "llm/tokenizer/unicode.h"
#include "llm/tokenizer/unicode_properties.h"

#include <algorithm>

namespace sinter {
namespace {

// The character that ends at `end`, which is greater than 0: where it starts.
size_t startOfLast(std::string_view text, size_t end) {
  size_t at = end - 1;
  while (at > 0 && end - at < 4 && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80)
    --at;
  return at;
}

bool hasAt(std::string_view text, size_t at, bool (*property)(uint32_t)) {
  const Utf8Step step = decodeUtf8(text, at);
  return step.kind == Utf8Step::Kind::Character && property(step.codePoint);
}

bool isInsideWord(std::string_view text, SpecialTokens::Range range) {
  return (range.begin > 0 && hasAt(text, startOfLast(text, range.begin), isWordCharacter)) ||
         (range.end < text.size() && hasAt(text, range.end, isWordCharacter));
}

SpecialTokens::Range withSpaces(std::string_view text, SpecialTokens::Range range, size_t from,
                                const TokenTraits &traits) {
  while (traits.stripsLeft && range.begin > from) {
    const size_t at = startOfLast(text, range.begin);
    if (at < from || !hasAt(text, at, isWhiteSpace))
      break;
    range.begin = at;
  }
  while (traits.stripsRight && range.end < text.size() && hasAt(text, range.end, isWhiteSpace))
    range.end += decodeUtf8(text, range.end).length;
  return range;
}

} // namespace

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
    const Entry *found = longestAt(text, at, inMarkup ? range->end : at);
    if (!found)
      continue;
    const Range bare{at, at + found->text.size()};
    if (!found->traits.wholeWord || !isInsideWord(text, bare))
      return Match{withSpaces(text, bare, from, found->traits), found->id};
  }
  return std::nullopt;
}

const SpecialTokens::Entry *SpecialTokens::longestAt(std::string_view text, size_t at,
                                                     size_t markupEnd) const {
  auto [low, high] = byFirstByte_[static_cast<uint8_t>(text[at])];
  const Entry *longest = nullptr;
  for (size_t length = 1; low < high; ++length) {
    // All of [low, high) share the first `length` bytes of the text; an exact one sorts first.
    const Entry &first = entries_[low];
    if (first.text.size() == length) {
      if (!first.markup || at + length <= markupEnd)
        longest = &first;
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
