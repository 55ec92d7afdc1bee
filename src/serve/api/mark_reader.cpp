// A mark is compared piece by piece.
#include "serve/api/mark_reader.h"

#include "llm/chat/probe_texts.h"

#include <algorithm>

namespace sinter::serve {

std::vector<std::string_view> chunksOf(std::string_view mark) {
  std::vector<std::string_view> chunks;
  for (mark = trimLeft(mark); !mark.empty(); mark = trimLeft(mark)) {
    const size_t size = std::min(mark.find_first_of(kMarkSpace), mark.size());
    chunks.push_back(mark.substr(0, size));
    mark.remove_prefix(size);
  }
  return chunks;
}

MarkMatch matchMark(std::string_view text, std::string_view mark) {
  using Kind = MarkMatch::Kind;
  const std::string_view all = text;
  for (mark = trimLeft(mark); !mark.empty(); mark = trimLeft(mark)) {
    text = trimLeft(text);
    const std::string_view chunk = mark.substr(0, mark.find_first_of(kMarkSpace));
    if (text.size() < chunk.size() && chunk.starts_with(text))
      return {Kind::Partial};
    if (!text.starts_with(chunk))
      return {Kind::No};
    text.remove_prefix(chunk.size());
    mark.remove_prefix(chunk.size());
  }
  return {Kind::Whole, all.size() - text.size()};
}

size_t heldBytes(std::string_view text, std::string_view mark) {
  for (size_t size = std::min(text.size(), mark.size() - 1); size > 0; --size)
    if (mark.starts_with(text.substr(text.size() - size)))
      return size;
  return 0;
}

} // namespace sinter::serve
