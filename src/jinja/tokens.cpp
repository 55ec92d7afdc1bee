// The lexical rules of Jinja 3.1.
#include "jinja/tokens.h"

#include "jinja/characters.h"

#include <algorithm>
#include <charconv>

namespace sinter::jinja {
namespace {

constexpr std::string_view kTwoByteOperators[] = {"//", "**", "==", "!=", ">=", "<="};
constexpr std::string_view kOneByteOperators = "+-/*%~[](){}><=.:|,;";

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}
bool isNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
int digitValue(char c) {
  if (isDigit(c))
    return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 99;
}

// What stands between the quotes of a string, with Python's escapes replaced.
class Unescaper {
public:
  Unescaper(std::string_view text, size_t offset) : text_(text), offset_(offset) {}

  Result<std::string> run() {
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '\\' && at_ < text_.size())
        SINTER_TRY(escape());
      else
        out_ += c;
    }
    return std::move(out_);
  }

private:
  Result<void> escape() {
    constexpr std::string_view kNames = "abfnrtv\\'\"";
    constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\'\"";
    const char c = text_[at_++];
    if (const size_t known = kNames.find(c); known != std::string_view::npos)
      out_ += kMeanings[known];
    else if (c >= '0' && c <= '7')
      return octal(c - '0');
    else if (c == 'x' || c == 'u' || c == 'U')
      return hexadecimal(c == 'x' ? 2 : c == 'u' ? 4 : 8);
    else if (c == 'N')
      return refuse("names a character by '\\N', which is not supported");
    else if (c != '\n')
      (out_ += '\\') += c;
    return {};
  }
  Result<void> octal(int value) {
    for (int digits = 1; digits < 3 && at_ < text_.size(); ++digits, ++at_) {
      if (text_[at_] < '0' || text_[at_] > '7')
        break;
      value = value * 8 + (text_[at_] - '0');
    }
    appendCharacter(out_, static_cast<uint32_t>(value));
    return {};
  }
  Result<void> hexadecimal(size_t digits) {
    uint32_t value = 0;
    for (size_t i = 0; i < digits; ++i, ++at_) {
      const int digit = at_ < text_.size() ? digitValue(text_[at_]) : 99;
      if (digit > 15)
        return refuse("has an escape of fewer than " + std::to_string(digits) + " digits");
      value = value * 16 + static_cast<uint32_t>(digit);
    }
    if (value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
      return refuse("has an escape that is no character");
    appendCharacter(out_, value);
    return {};
  }
  Fail refuse(const std::string &what) const {
    return fail(Code::Corrupt, "the string " + what, offset_ + at_);
  }

  std::string_view text_;
  size_t offset_, at_ = 0;
  std::string out_;
};

class Lexer {
public:
  explicit Lexer(std::string_view source) : source_(source) {}

  Result<std::vector<Token>> run() {
    while (at_ < source_.size())
      SINTER_TRY(addDataAndTag());
    add(Token::Kind::End, "", at_);
    return std::move(tokens_);
  }

private:
  char byteAt(size_t at) const { return at < source_.size() ? source_[at] : '\0'; }
  bool startsWith(size_t at, std::string_view text) const {
    return source_.substr(std::min(at, source_.size())).starts_with(text);
  }
  size_t skipSpaces(size_t at) const {
    while (at < source_.size() && isSpaceCharacter(characterAt(source_, at)))
      at += characterBytes(source_[at]);
    return at;
  }
  Token &add(Token::Kind kind, std::string text, size_t offset) {
    return tokens_.emplace_back(Token{kind, std::move(text), static_cast<uint32_t>(offset)});
  }

  size_t findTag() const {
    for (size_t i = source_.find('{', at_); i != std::string_view::npos;
         i = source_.find('{', i + 1))
      if (std::string_view("{%#").find(byteAt(i + 1)) != std::string_view::npos)
        return i;
    return source_.size();
  }

  // The text up to a tag, stripped as the tag's sign asks for.
  void addData(size_t tag, bool isOutput) {
    std::string_view data = source_.substr(at_, tag - at_);
    const char sign = byteAt(tag + 2);
    if (tag < source_.size() && sign == '-') {
      while (!data.empty()) {
        const size_t last = previousCharacter(data, data.size());
        if (!isSpaceCharacter(characterAt(data, last)))
          break;
        data = data.substr(0, last);
      }
    } else if (tag < source_.size() && sign != '+' && !isOutput) {
      data = withoutIndent(data);
    }
    if (!data.empty())
      add(Token::Kind::Data, std::string(data), at_);
  }
  // Spaces between the start of a line and a block render nothing.
  std::string_view withoutIndent(std::string_view data) const {
    const size_t line = data.rfind('\n') + 1; // 0 where there is none
    const bool startsLine = line > 0 || at_ == 0 || source_[at_ - 1] == '\n';
    return startsLine && stripped(data.substr(line)).empty() ? data.substr(0, line) : data;
  }

  Result<void> addDataAndTag() {
    const size_t tag = findTag();
    const char kind = byteAt(tag + 1);
    addData(tag, kind == '{');
    at_ = tag;
    if (tag == source_.size())
      return {};
    if (const size_t raw = rawBegin(tag); raw > 0)
      return addRaw(raw);
    at_ = tag + 2;
    if (byteAt(at_) == '-' || byteAt(at_) == '+')
      ++at_;
    if (kind == '#')
      return skipComment(tag);
    add(kind == '{' ? Token::Kind::OutputBegin : Token::Kind::BlockBegin, "", tag);
    return addTag(tag, kind == '{');
  }

  // Where the end of a block or comment that stands at `at` ends; 0 where none stands there.
  size_t endOfClosing(size_t at, std::string_view closing, bool isOutput) const {
    if (startsWith(at, closing))
      return at + 2 + (!isOutput && byteAt(at + 2) == '\n');
    if (byteAt(at) == '-' && startsWith(at + 1, closing))
      return skipSpaces(at + 3);
    if (!isOutput && byteAt(at) == '+' && startsWith(at + 1, closing))
      return at + 3;
    return 0;
  }

  Result<void> skipComment(size_t tag) {
    for (size_t at = at_; at < source_.size(); ++at)
      if (const size_t end = endOfClosing(at, "#}", false); end > 0) {
        at_ = end;
        return {};
      }
    return fail(Code::Corrupt, "a comment does not end, expected '#}'", tag);
  }

  // Where a raw block's text begins, if a raw block does at `tag`.
  size_t rawBegin(size_t tag) const {
    if (byteAt(tag + 1) != '%')
      return 0;
    size_t at = tag + 2;
    at += byteAt(at) == '-' || byteAt(at) == '+';
    at = skipSpaces(at);
    if (!startsWith(at, "raw"))
      return 0;
    at = skipSpaces(at + 3);
    if (startsWith(at, "%}"))
      return at + 2;
    return startsWith(at, "-%}") ? skipSpaces(at + 3) : 0;
  }
  Result<void> addRaw(size_t begin) {
    const size_t tag = at_;
    at_ = begin;
    for (size_t open = source_.find("{%", begin); open != std::string_view::npos;
         open = source_.find("{%", open + 1)) {
      size_t at = open + 2;
      at += byteAt(at) == '-' || byteAt(at) == '+';
      at = skipSpaces(at);
      if (!startsWith(at, "endraw"))
        continue;
      const size_t end = endOfClosing(skipSpaces(at + 6), "%}", false);
      if (end == 0)
        continue;
      addData(open, false);
      at_ = end;
      return {};
    }
    return fail(Code::Corrupt, "a raw block does not end, expected '{% endraw %}'", tag);
  }

  Result<void> addTag(size_t tag, bool isOutput) {
    const std::string_view closing = isOutput ? "}}" : "%}";
    while (at_ < source_.size()) {
      if (open_.empty()) {
        if (const size_t end = endOfClosing(at_, closing, isOutput); end > 0) {
          add(isOutput ? Token::Kind::OutputEnd : Token::Kind::BlockEnd, "", at_);
          at_ = end;
          return {};
        }
      }
      if (const size_t next = skipSpaces(at_); next > at_)
        at_ = next;
      else
        SINTER_TRY(addToken());
    }
    return fail(Code::Corrupt, "a tag does not end, expected '" + std::string(closing) + "'", tag);
  }

  Result<void> addToken() {
    const char c = source_[at_];
    if (isDigit(c))
      return addNumber();
    if (isNameStart(c)) {
      const size_t begin = at_;
      while (at_ < source_.size() && (isNameStart(source_[at_]) || isDigit(source_[at_])))
        ++at_;
      add(Token::Kind::Name, std::string(source_.substr(begin, at_ - begin)), begin);
      return {};
    }
    if (c == '\'' || c == '"')
      return addString();
    return addOperator();
  }

  Result<void> addString() {
    size_t end = at_ + 1;
    for (; end < source_.size() && source_[end] != source_[at_]; ++end)
      if (source_[end] == '\\')
        ++end;
    if (end >= source_.size())
      return fail(Code::Corrupt, "a string does not end", at_);
    SINTER_ASSIGN(std::string text,
                  Unescaper(source_.substr(at_ + 1, end - at_ - 1), at_ + 1).run());
    add(Token::Kind::String, std::move(text), at_);
    at_ = end + 1;
    return {};
  }

  // Digits of a base, single underscores between them; where they end.
  size_t digitsEnd(size_t at, int base) const {
    const auto isOne = [&](size_t i) { return digitValue(byteAt(i)) < base; };
    while (isOne(at) || (byteAt(at) == '_' && at > at_ && isOne(at + 1)))
      ++at;
    return at;
  }
  static std::string withoutUnderscores(std::string_view text) {
    std::string out(text);
    std::erase(out, '_');
    return out;
  }

  Result<void> addNumber() {
    const size_t whole = digitsEnd(at_, 10);
    const bool followsDot = at_ > 0 && source_[at_ - 1] == '.';
    size_t end = whole;
    if (byteAt(end) == '.' && isDigit(byteAt(end + 1)))
      end = digitsEnd(end + 1, 10);
    if ((byteAt(end) | 0x20) == 'e') {
      const size_t sign = byteAt(end + 1) == '-' || byteAt(end + 1) == '+';
      if (isDigit(byteAt(end + 1 + sign)))
        end = digitsEnd(end + 1 + sign, 10);
    }
    if (end == whole || followsDot)
      return addInteger(whole);
    const std::string text = withoutUnderscores(source_.substr(at_, end - at_));
    Token &token = add(Token::Kind::Float, text, at_);
    std::from_chars(text.data(), text.data() + text.size(), token.real);
    at_ = end;
    return {};
  }

  Result<void> addInteger(size_t end) {
    const char mark = static_cast<char>(byteAt(at_ + 1) | 0x20);
    int base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
    size_t begin = at_;
    if (source_[at_] == '0' && base != 10 && digitValue(byteAt(at_ + 2)) < base) {
      begin += 2;
      end = digitsEnd(begin, base);
    } else {
      base = 10;
      if (source_[at_] == '0') // zeros alone: other digits are the next token
        end = std::min(end, source_.find_first_not_of("0_", at_));
    }
    const std::string text = withoutUnderscores(source_.substr(begin, end - begin));
    Token &token = add(Token::Kind::Integer, text, at_);
    const auto read = std::from_chars(text.data(), text.data() + text.size(), token.integer, base);
    if (read.ec != std::errc())
      return fail(Code::Unsupported, "a whole number beyond 64 bits: " + text.substr(0, 32), at_);
    at_ = end;
    return {};
  }

  Result<void> addOperator() {
    for (const std::string_view two : kTwoByteOperators)
      if (startsWith(at_, two)) {
        add(Token::Kind::Operator, std::string(two), at_);
        at_ += two.size();
        return {};
      }
    const char c = source_[at_];
    if (kOneByteOperators.find(c) == std::string_view::npos)
      return fail(Code::Corrupt,
                  "'" + std::string(source_.substr(at_, characterBytes(c))) + "' begins no token",
                  at_);
    SINTER_TRY(balance(c));
    add(Token::Kind::Operator, std::string(1, c), at_);
    ++at_;
    return {};
  }
  Result<void> balance(char c) {
    constexpr std::string_view kOpening = "([{", kClosing = ")]}";
    if (const size_t kind = kOpening.find(c); kind != std::string_view::npos)
      open_ += kClosing[kind];
    else if (kClosing.find(c) != std::string_view::npos) {
      if (open_.empty() || open_.back() != c)
        return fail(Code::Corrupt,
                    std::string("'") + c + "' has no partner" +
                        (open_.empty() ? "" : std::string(", expected '") + open_.back() + "'"),
                    at_);
      open_.pop_back();
    }
    return {};
  }

  std::string_view source_;
  size_t at_ = 0;
  std::string open_; // the closing brackets that are due in this tag
  std::vector<Token> tokens_;
};

} // namespace

std::string withPlainNewlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    const bool isReturn = source[i] == '\r';
    if (isReturn && i + 1 < source.size() && source[i + 1] == '\n')
      ++i;
    out += isReturn ? '\n' : source[i];
  }
  if (out.ends_with('\n'))
    out.pop_back();
  return out;
}

Result<std::vector<Token>> tokensOf(std::string_view source) {
  return Lexer(source).run();
}

} // namespace sinter::jinja
