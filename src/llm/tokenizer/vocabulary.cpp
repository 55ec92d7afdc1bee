// The index from text to token.
#include "llm/tokenizer/vocabulary.h"

#include <algorithm>

namespace sinter {
namespace {

uint64_t prefixOf(std::string_view text) {
  uint64_t prefix = 0;
  for (size_t i = 0; i < 8; ++i)
    prefix = prefix << 8 | (i < text.size() ? static_cast<uint8_t>(text[i]) : 0u);
  return prefix;
}

} // namespace

MergeText::MergeText(std::string_view both) {
  const size_t space = both.find(' ', 1);
  if (space == std::string_view::npos || space + 1 == both.size())
    return;
  left = both.substr(0, space);
  right = both.substr(space + 1);
}

TextIndex::TextIndex(std::vector<Entry> entries) {
  keys_.reserve(entries.size());
  for (const Entry &entry : entries)
    keys_.push_back({prefixOf(entry.text), entry.text, entry.id});
  std::ranges::sort(keys_, [](const Key &a, const Key &b) {
    if (a.prefix != b.prefix)
      return a.prefix < b.prefix;
    int order = a.text.compare(b.text);
    return order ? order < 0 : a.id < b.id;
  });
}

std::optional<TokenId> TextIndex::find(std::string_view text) const {
  uint64_t prefix = prefixOf(text);
  auto found = std::partition_point(keys_.begin(), keys_.end(), [&](const Key &key) {
    return key.prefix != prefix ? key.prefix < prefix : key.text < text;
  });
  if (found == keys_.end() || found->text != text)
    return std::nullopt;
  return found->id;
}

std::optional<std::pair<TokenId, TokenId>> TextIndex::duplicate() const {
  auto found = std::ranges::adjacent_find(
      keys_, [](const Key &a, const Key &b) { return a.text == b.text; });
  if (found == keys_.end())
    return std::nullopt;
  return std::pair(found->id, (found + 1)->id);
}

} // namespace sinter
