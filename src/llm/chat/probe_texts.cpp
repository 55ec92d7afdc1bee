// Tags are what lies between angle or square brackets.
#include "llm/chat/probe_texts.h"

#include <algorithm>

namespace sinter {
namespace {

// The place before `end` at which a tag begins that is open there; `end` where none is.
size_t openTagBefore(std::string_view text, size_t end) {
  const std::string_view before = text.substr(0, end);
  const size_t angle = before.rfind('<'), square = before.rfind('[');
  size_t cut = end;
  if (angle != before.npos && before.find('>', angle) == before.npos)
    cut = std::min(cut, angle);
  if (square != before.npos && before.find(']', square) == before.npos && end < text.size() &&
      std::isalpha(static_cast<unsigned char>(before.substr(square).size() > 1 ? before[square + 1]
                                                                               : text[end])))
    cut = std::min(cut, square);
  return cut;
}

} // namespace

std::string_view trimLeft(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(kMarkSpace), text.size()));
}

std::string_view trim(std::string_view text) {
  text = trimLeft(text);
  return text.substr(0, text.find_last_not_of(kMarkSpace) + 1);
}

std::string_view commonBegin(std::string_view a, std::string_view b) {
  const size_t most = std::min(a.size(), b.size());
  const auto end = std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(most), b.begin());
  const auto size = static_cast<size_t>(end.first - a.begin());
  if (size == a.size() && size == b.size())
    return a;
  return a.substr(0, std::min(openTagBefore(a, size), openTagBefore(b, size)));
}

std::string_view commonEnd(std::string_view a, std::string_view b) {
  size_t size = 0;
  while (size < a.size() && size < b.size() && a[a.size() - 1 - size] == b[b.size() - 1 - size])
    ++size;
  std::string_view end = a.substr(a.size() - size);
  if (size == a.size() || size == b.size())
    return end;
  // Within a tag the end begins after it.
  const size_t close = end.find('>'), open = end.find('<');
  if (close != end.npos && (open == end.npos || close < open))
    end.remove_prefix(close + 1);
  return end;
}

static std::string_view firstTag(std::string_view text) {
  constexpr std::string_view kFence = "```";
  const std::string_view rest = trimLeft(text);
  const size_t before = text.size() - rest.size();
  size_t size = 0;
  if (rest.starts_with(kFence))
    size = kFence.size();
  else if (rest.starts_with('<'))
    size = rest.find('>') + 1; // 0: there is none
  else if (rest.starts_with('['))
    size = rest.find(']') + 1;
  return text.substr(0, size > 0 ? before + size : 0);
}

std::string_view firstMark(std::string_view text, int tags) {
  size_t size = firstTag(text).size();
  for (int i = 1; i < tags && size > 0; ++i) {
    const size_t next = std::min(text.find_first_of("<[\n", size), text.size());
    const size_t more = firstTag(text.substr(next)).size();
    size = more == 0 || text[next] == '\n' ? 0 : next + more;
  }
  return text.substr(0, size);
}

std::string_view lastMark(std::string_view text, int tags) {
  text = trim(text);
  const size_t line = text.find_last_of('\n') + 1; // 0: there is one line
  const std::string_view last = text.substr(line);
  size_t open = last.size();
  for (int i = 0; i < tags && open != last.npos; ++i)
    open = open == 0 ? last.npos : last.find_last_of("<[", open - 1);
  if (open == last.npos)
    return tags == 1 ? last : std::string_view();
  return last.substr(open);
}

std::optional<std::string_view> bracketed(std::string_view text, size_t at) {
  size_t depth = 0;
  bool isText = false;
  for (size_t i = at; i < text.size(); ++i) {
    const char byte = text[i];
    if (isText) {
      i += byte == '\\';
      isText = byte != '"';
    } else if (byte == '"') {
      isText = true;
    } else if (byte == '{' || byte == '[') {
      ++depth;
    } else if ((byte == '}' || byte == ']') && --depth == 0) {
      return text.substr(at, i + 1 - at);
    }
  }
  return std::nullopt;
}

} // namespace sinter
