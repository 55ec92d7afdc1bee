// The clean-up of spaces before punctuation.
#include "llm/tokenizer/space_cleaning.h"

#include <algorithm>

namespace sinter {
namespace {

// Whether the space before `rest` goes.
bool losesSpace(std::string_view rest) {
  constexpr std::string_view kBegins[] = {"?", "!", ".", ",", "'s", "'m", "'re", "'ve"};
  return std::ranges::any_of(kBegins,
                             [rest](std::string_view begin) { return rest.starts_with(begin); });
}

} // namespace

std::string cleanedSpaces(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with(" ' ")) {
      out += '\'';
      at += 2;
    } else if (text[at] != ' ' || !losesSpace(rest.substr(1))) {
      out += text[at];
    }
  }
  return out;
}

} // namespace sinter
