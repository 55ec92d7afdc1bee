// One automaton a stop text (Knuth, Morris and Pratt, 1977).
#include "serve/worker/stop_texts.h"

#include "llm/tokenizer/unicode.h"

#include <algorithm>
#include <utility>

namespace sinter::serve {
namespace {

Result<void> checkText(const std::string &text, size_t number) {
  const std::string who = "stop text " + std::to_string(number + 1);
  if (text.empty())
    return fail(Code::InvalidArgument, who + " is empty");
  if (text.size() > StopTexts::kMostBytes)
    return fail(Code::InvalidArgument, who + " has " + std::to_string(text.size()) +
                                           " bytes, expected at most " +
                                           std::to_string(StopTexts::kMostBytes));
  if (const size_t valid = validUtf8Prefix(text); valid < text.size())
    return fail(Code::InvalidArgument, who + " is not UTF-8", valid);
  return {};
}

std::vector<size_t> bordersOf(std::string_view text) {
  std::vector<size_t> borders(text.size() + 1, 0);
  for (size_t length = 2, border = 0; length <= text.size(); ++length) {
    while (border > 0 && text[border] != text[length - 1])
      border = borders[border];
    border += text[border] == text[length - 1];
    borders[length] = border;
  }
  return borders;
}

} // namespace

Result<StopTexts> StopTexts::create(std::vector<std::string> texts) {
  if (texts.size() > kMost)
    return fail(Code::InvalidArgument, std::to_string(texts.size()) +
                                           " stop texts were given, expected at most " +
                                           std::to_string(kMost));
  StopTexts made;
  for (size_t i = 0; i < texts.size(); ++i) {
    SINTER_TRY(checkText(texts[i], i));
    std::vector<size_t> borders = bordersOf(texts[i]);
    made.stops_.push_back({std::move(texts[i]), std::move(borders)});
  }
  return made;
}

// Whether the stream ends with the text now.
bool StopTexts::Stop::advance(char byte) {
  while (matched > 0 && text[matched] != byte)
    matched = borders[matched];
  matched += text[matched] == byte;
  return matched == text.size();
}

std::string StopTexts::push(std::string_view piece) {
  if (found_)
    return {};
  if (stops_.empty())
    return std::string(piece);
  for (const char byte : piece) {
    held_ += byte;
    for (size_t i = 0; i < stops_.size(); ++i)
      if (stops_[i].advance(byte) &&
          (!found_ || stops_[i].text.size() > stops_[*found_].text.size()))
        found_ = i;
    if (found_) {
      held_.resize(held_.size() - stops_[*found_].text.size());
      return std::exchange(held_, {});
    }
  }
  size_t open = 0;
  for (const Stop &stop : stops_)
    open = std::max(open, stop.matched);
  std::string ready = held_.substr(0, held_.size() - open);
  held_.erase(0, ready.size());
  return ready;
}

std::string StopTexts::finish() {
  return std::exchange(held_, {});
}

} // namespace sinter::serve
