// UTF-8 by the same reader as the automaton's.
#include "grammar/scanner.h"

#include "grammar/utf8_reader.h"

namespace sinter::grammar {
namespace {

std::optional<uint32_t> hexDigit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return std::nullopt;
}

} // namespace

bool Scanner::take(std::string_view token) {
  if (!text_.substr(at_).starts_with(token))
    return false;
  at_ += token.size();
  return true;
}

Result<char32_t> Scanner::code() {
  static const CharacterSet all = CharacterSet::all();
  if (done())
    return error("it ends too early");
  PartialCode partial;
  for (size_t i = at_; i < text_.size(); ++i) {
    const auto read = partial.read(static_cast<uint8_t>(text_[i]), all);
    if (!read)
      break;
    partial = *read;
    if (partial.isWhole()) {
      at_ = i + 1;
      return partial.code();
    }
  }
  return error("it is not UTF-8");
}

Result<char32_t> Scanner::hex(size_t digits) {
  char32_t code = 0;
  for (size_t i = 0; i < digits; ++i, skip()) {
    const std::optional<uint32_t> digit = hexDigit(peek());
    if (!digit)
      return error("expected " + std::to_string(digits) + " hexadecimal digits");
    code = code << 4 | *digit;
  }
  if (code > 0x10FFFF)
    return error("there is no such code point");
  return code;
}

Result<std::optional<uint32_t>> Scanner::count() {
  uint32_t number = 0;
  const size_t begin = at_;
  for (; peek() >= '0' && peek() <= '9'; skip()) {
    number = number * 10 + static_cast<uint32_t>(peek() - '0');
    if (number > kMostCount)
      return error("a count above " + std::to_string(kMostCount));
  }
  return at_ == begin ? std::nullopt : std::optional(number);
}

Result<std::optional<Scanner::Counts>> Scanner::counts() {
  const size_t begin = at_;
  SINTER_ASSIGN(const std::optional<uint32_t> least, count());
  uint32_t most = least.value_or(0);
  if (take(",")) {
    SINTER_ASSIGN(const std::optional<uint32_t> upper, count());
    most = upper.value_or(kUnbounded);
  }
  if (!least || !take("}")) {
    at_ = begin;
    return std::nullopt;
  }
  if (most < *least)
    return error("counts {" + std::to_string(*least) + "," + std::to_string(most) +
                 "} go backwards");
  return Counts{*least, most};
}

} // namespace sinter::grammar
