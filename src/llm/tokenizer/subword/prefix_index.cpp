// The list behind a search for prefixes.
#include "llm/tokenizer/subword/prefix_index.h"

#include <algorithm>

namespace sinter {

PrefixIndex::PrefixIndex(std::vector<Entry> entries) : entries_(std::move(entries)) {
  std::erase_if(entries_, [](const Entry &entry) { return entry.text.empty(); });
  std::ranges::sort(entries_, [](const Entry &a, const Entry &b) {
    const int order = a.text.compare(b.text);
    return order ? order < 0 : a.id < b.id;
  });
  const auto twins = std::ranges::unique(entries_, {}, &Entry::text);
  entries_.erase(twins.begin(), twins.end());
  for (size_t i = 0; i < entries_.size(); ++i) {
    Range &bucket = byFirstByte_[static_cast<uint8_t>(entries_[i].text[0])];
    if (bucket.begin == bucket.end)
      bucket.begin = i;
    bucket.end = i + 1;
  }
}

PrefixIndex::Range PrefixIndex::narrowed(Range range, size_t at, uint8_t byte) const {
  const auto byteAt = [at](const Entry &entry) { return static_cast<uint8_t>(entry.text[at]); };
  const auto same = std::ranges::equal_range(entries_.begin() + static_cast<ptrdiff_t>(range.begin),
                                             entries_.begin() + static_cast<ptrdiff_t>(range.end),
                                             byte, {}, byteAt);
  return {static_cast<size_t>(same.begin() - entries_.begin()),
          static_cast<size_t>(same.end() - entries_.begin())};
}

} // namespace sinter
