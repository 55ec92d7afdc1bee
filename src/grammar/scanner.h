// Reading a pattern or a grammar: code points, numbers, and errors that say where.
#pragma once

#include "grammar/grammar.h"

#include <optional>

namespace sinter::grammar {

// A repetition's counts are at most this.
inline constexpr uint32_t kMostCount = 100'000;

class Scanner {
public:
  // `what` names the text in messages: "grammar", "pattern".
  Scanner(std::string_view text, std::string_view what) : text_(text), what_(what) {}

  size_t at() const { return at_; }
  bool done() const { return at_ == text_.size(); }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  void skip(size_t bytes = 1) { at_ += bytes; }
  // Skips `token` where it comes next.
  bool take(std::string_view token);
  // The next code point. InvalidArgument: it is no UTF-8, or the text ends.
  Result<char32_t> code();
  // Exactly `digits` hexadecimal digits.
  Result<char32_t> hex(size_t digits);
  // Decimal digits, at most kMostCount; nothing where there are none.
  Result<std::optional<uint32_t>> count();
  // The counts of "{n}", "{n,}" and "{n,m}" from behind the brace on; nothing where it is no such
  // thing, and then nothing is read.
  struct Counts {
    uint32_t least, most;
  };
  Result<std::optional<Counts>> counts();

  Fail error(std::string message, Code code = Code::InvalidArgument) const {
    return fail(code, std::string(what_) + ": " + std::move(message), at_);
  }

private:
  std::string_view text_, what_;
  size_t at_ = 0;
};

} // namespace sinter::grammar
