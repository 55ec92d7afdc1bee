// Numbers and ranges of headers.
#include "store/http_head.h"

#include <algorithm>
#include <charconv>

namespace sinter::store {
namespace {

constexpr uint64_t kMostRetrySeconds = 3600;

std::optional<uint64_t> numberOf(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

// `lower` is in lower case.
bool isName(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower, [](char c, char wanted) {
    return (c >= 'A' && c <= 'Z' ? static_cast<char>(c + 0x20) : c) == wanted;
  });
}

// "bytes 0-99/200"
void readContentRange(std::string_view text, HttpHead &head) {
  if (!text.starts_with("bytes "))
    return;
  text.remove_prefix(6);
  const size_t dash = text.find('-'), slash = text.find('/');
  if (dash == text.npos || slash == text.npos || dash > slash)
    return;
  const auto first = numberOf(text.substr(0, dash));
  const auto last = numberOf(text.substr(dash + 1, slash - dash - 1));
  if (first && last && *first <= *last && *last < UINT64_MAX)
    head.range = ByteRange{*first, *last + 1};
  head.wholeBytes = numberOf(text.substr(slash + 1));
}

} // namespace

void readHeadLine(std::string_view line, HttpHead &head) {
  if (line.starts_with("HTTP/")) {
    head = {};
    return;
  }
  const size_t colon = line.find(':');
  if (colon == line.npos)
    return;
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (isName(name, "content-length"))
    head.bytes = numberOf(value);
  else if (isName(name, "content-range"))
    readContentRange(value, head);
  else if (isName(name, "retry-after"))
    head.retryAfter =
        static_cast<uint32_t>(std::min(numberOf(value).value_or(0), kMostRetrySeconds));
}

} // namespace sinter::store
