// Sets of code points as sorted ranges.
#include "grammar/grammar.h"

#include <algorithm>

namespace sinter::grammar {
namespace {

constexpr char32_t kLast = 0x10FFFF, kFirstSurrogate = 0xD800, kLastSurrogate = 0xDFFF;

// Calls `add` with what of the range is no surrogate.
template <class Add> void clip(CodeRange range, const Add &add) {
  range.last = std::min(range.last, kLast);
  if (range.first > range.last)
    return;
  if (range.last < kFirstSurrogate || range.first > kLastSurrogate)
    return add(range);
  if (range.first < kFirstSurrogate)
    add(CodeRange{range.first, kFirstSurrogate - 1});
  if (range.last > kLastSurrogate)
    add(CodeRange{kLastSurrogate + 1, range.last});
}

} // namespace

CharacterSet::CharacterSet(std::vector<CodeRange> ranges) {
  std::vector<CodeRange> clipped;
  for (const CodeRange &range : ranges)
    clip(range, [&](CodeRange part) { clipped.push_back(part); });
  std::sort(clipped.begin(), clipped.end(),
            [](const CodeRange &a, const CodeRange &b) { return a.first < b.first; });
  for (const CodeRange &range : clipped) {
    if (!ranges_.empty() && range.first <= ranges_.back().last + 1)
      ranges_.back().last = std::max(ranges_.back().last, range.last);
    else
      ranges_.push_back(range);
  }
}

// The first range that ends at `code` or after it.
static auto firstFrom(std::span<const CodeRange> ranges, char32_t code) {
  return std::lower_bound(ranges.begin(), ranges.end(), code,
                          [](const CodeRange &range, char32_t at) { return range.last < at; });
}

size_t CharacterSet::size() const {
  size_t size = 0;
  for (const CodeRange &range : ranges_)
    size += range.last - range.first + 1;
  return size;
}

bool CharacterSet::meets(char32_t first, char32_t last) const {
  const auto found = firstFrom(ranges(), first);
  return found != ranges().end() && found->first <= last;
}

bool CharacterSet::covers(char32_t first, char32_t last) const {
  const auto found = firstFrom(ranges(), first);
  return found != ranges().end() && found->first <= first && found->last >= last;
}

CharacterSet CharacterSet::complement() const {
  std::vector<CodeRange> gaps;
  char32_t next = 0;
  for (const CodeRange &range : ranges_) {
    if (range.first > next)
      gaps.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLast)
    gaps.push_back({next, kLast});
  return CharacterSet(std::move(gaps));
}

CharacterSet CharacterSet::united(const CharacterSet &other) const {
  std::vector<CodeRange> both = ranges_;
  both.insert(both.end(), other.ranges_.begin(), other.ranges_.end());
  return CharacterSet(std::move(both));
}

CharacterSet CharacterSet::without(const CharacterSet &other) const {
  return complement().united(other).complement();
}

} // namespace sinter::grammar
