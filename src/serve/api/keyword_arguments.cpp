// Literals of Python become JSON byte by byte; those of JSON are nearly such.
#include "serve/api/argument_forms.h"

#include "grammar/json_text.h"
#include "grammar/schema_view.h"
#include "jinja/input.h"
#include "llm/chat/probe_texts.h"

#include <cctype>

namespace sinter::serve {
namespace {

constexpr size_t kMostWordBytes = 256, kMostDepth = 256;

bool isSpace(char byte) {
  return kMarkSpace.find(byte) != kMarkSpace.npos;
}

bool isHex(char byte) {
  return std::isxdigit(static_cast<unsigned char>(byte)) != 0;
}

class KeywordArguments : public ArgumentReader {
public:
  bool hasBegun() const override { return hasBegun_; }

  ReadState read(std::string_view text, size_t &used, std::string &out) override {
    for (used = 0; used < text.size();) {
      bool isTaken = true; // else the byte is read again, by another part
      const ReadState state = take(text[used], isTaken, out);
      if (state == ReadState::Wrong)
        return state;
      used += isTaken;
      if (state == ReadState::Done)
        return state;
    }
    return ReadState::More;
  }

  void cut(std::string_view /*rest*/, std::string &out) override {
    if (part_ == Part::KeyWord)
      out += '"' + grammar::jsonStringContent(word_) + '"';
    else if (part_ == Part::Word)
      out += jsonOf(word_, grammar::kAllTypes);
  }

private:
  enum class Part : uint8_t { Begin, Key, KeyWord, AfterKey, Value, Word, Text, Escape, After };

  ReadState take(char byte, bool &isTaken, std::string &out) {
    switch (part_) {
    case Part::Begin:
      if (isSpace(byte))
        return ReadState::More;
      return byte == '(' ? open(byte, out) : ReadState::Wrong;
    case Part::Key:
      return takeKey(byte, out);
    case Part::KeyWord:
      return takeKeyWord(byte, isTaken, out);
    case Part::AfterKey:
      if (isSpace(byte))
        return ReadState::More;
      part_ = Part::Value;
      out += ": ";
      return byte == (open_.size() == 1 ? '=' : ':') ? ReadState::More : ReadState::Wrong;
    case Part::Value:
      return takeValue(byte, out);
    case Part::Word:
      return takeWord(byte, isTaken, out);
    case Part::Text:
      return takeText(byte, out);
    case Part::Escape:
      return takeEscape(byte, isTaken, out);
    case Part::After:
      return takeAfter(byte, out);
    }
    return ReadState::Wrong;
  }

  bool inObject() const { return open_.size() == 1 || open_.back() == '{'; }

  ReadState open(char byte, std::string &out) {
    open_ += byte;
    hasBegun_ = true;
    out += inObject() ? '{' : '[';
    part_ = inObject() ? Part::Key : Part::Value;
    isEmpty_ = true;
    return open_.size() > kMostDepth ? ReadState::Wrong : ReadState::More;
  }

  ReadState close(char byte, std::string &out) {
    const char expected = open_.back() == '(' ? ')' : open_.back() == '{' ? '}' : ']';
    if (byte != expected)
      return ReadState::Wrong;
    out += inObject() ? '}' : ']';
    open_.pop_back();
    part_ = Part::After;
    isEmpty_ = false;
    return open_.empty() ? ReadState::Done : ReadState::More;
  }

  static bool isClosing(char byte) { return byte == ')' || byte == '}' || byte == ']'; }

  // A comma goes before what follows it, since Python allows one before a closing bracket.
  void begin(std::string &out) {
    if (!std::exchange(isEmpty_, false))
      out += ", ";
  }

  ReadState takeKey(char byte, std::string &out) {
    if (isSpace(byte))
      return ReadState::More;
    if (isClosing(byte))
      return close(byte, out);
    begin(out);
    isKey_ = true;
    if (byte == '"' || byte == '\'')
      return openText(byte, out);
    word_ = byte;
    part_ = Part::KeyWord;
    return isWordByte(byte) ? ReadState::More : ReadState::Wrong;
  }

  ReadState takeKeyWord(char byte, bool &isTaken, std::string &out) {
    if (isWordByte(byte)) {
      word_ += byte;
      return word_.size() > kMostKeyBytes ? ReadState::Wrong : ReadState::More;
    }
    isTaken = isKey_ = false;
    out += '"' + grammar::jsonStringContent(word_) + '"';
    part_ = Part::AfterKey;
    return ReadState::More;
  }

  ReadState takeValue(char byte, std::string &out) {
    if (isSpace(byte))
      return ReadState::More;
    if (!inObject() && isClosing(byte))
      return close(byte, out);
    if (!inObject())
      begin(out);
    if (byte == '{' || byte == '[' || byte == '(')
      return open(byte, out);
    if (byte == '"' || byte == '\'')
      return openText(byte, out);
    word_ = byte;
    part_ = Part::Word;
    return isWordByte(byte) ? ReadState::More : ReadState::Wrong;
  }

  static bool isWordByte(char byte) {
    return std::isalnum(static_cast<unsigned char>(byte)) || byte == '_' || byte == '-' ||
           byte == '+' || byte == '.' || static_cast<unsigned char>(byte) >= 0x80;
  }

  ReadState takeWord(char byte, bool &isTaken, std::string &out) {
    if (isWordByte(byte)) {
      word_ += byte;
      return word_.size() > kMostWordBytes ? ReadState::Wrong : ReadState::More;
    }
    isTaken = false;
    out += jsonOf(word_, grammar::kAllTypes);
    part_ = Part::After;
    return ReadState::More;
  }

  ReadState openText(char byte, std::string &out) {
    quote_ = byte;
    part_ = Part::Text;
    out += '"';
    return ReadState::More;
  }

  ReadState takeText(char byte, std::string &out) {
    if (byte == quote_) {
      out += '"';
      part_ = std::exchange(isKey_, false) ? Part::AfterKey : Part::After;
    } else if (byte == '\\') {
      word_.clear();
      part_ = Part::Escape;
    } else {
      out += grammar::jsonStringContent(std::string_view(&byte, 1));
    }
    return ReadState::More;
  }

  // What follows a backslash: what JSON has, \' and \xNN; another one is the text's own.
  ReadState takeEscape(char byte, bool &isTaken, std::string &out) {
    constexpr std::string_view kSame = "\"\\/bfnrt";
    word_ += byte;
    const bool isUnicode = word_.front() == 'u', isByte = word_.front() == 'x';
    const size_t digits = isUnicode ? 4 : isByte ? 2 : 0;
    if (digits > 0 && (word_.size() == 1 || isHex(byte))) {
      if (word_.size() <= digits)
        return ReadState::More;
      out += (isUnicode ? "\\u" : "\\u00") + word_.substr(1);
    } else if (digits > 0) { // no digit follows
      isTaken = false;
      out += "\\\\" + word_.substr(0, word_.size() - 1);
    } else if (kSame.find(byte) != kSame.npos) {
      out += std::string("\\") + byte;
    } else if (byte != '\n') { // which continues the line
      out += (byte == '\'' ? "" : "\\\\") + grammar::jsonStringContent(std::string_view(&byte, 1));
    }
    part_ = Part::Text;
    return ReadState::More;
  }

  ReadState takeAfter(char byte, std::string &out) {
    if (isSpace(byte))
      return ReadState::More;
    if (isClosing(byte))
      return close(byte, out);
    part_ = inObject() ? Part::Key : Part::Value;
    return byte == ',' ? ReadState::More : ReadState::Wrong;
  }

  Part part_ = Part::Begin;
  std::string open_; // brackets
  std::string word_; // that is being read, or the escape
  char quote_ = 0;
  bool hasBegun_ = false, isEmpty_ = true, isKey_ = false;
};

} // namespace

std::unique_ptr<ArgumentReader> makeKeywordReader() {
  return std::make_unique<KeywordArguments>();
}

std::string jsonOf(std::string_view text, uint32_t types) {
  constexpr std::pair<std::string_view, std::string_view> kPython[] = {
      {"True", "true"}, {"False", "false"}, {"None", "null"}};
  std::string_view value = trim(text);
  for (const auto &[python, json] : kPython)
    if (value == python)
      value = json;
  std::string made(value);
  if (value.starts_with('{') || value.starts_with('[')) { // of either language
    KeywordArguments reader;
    std::string out;
    size_t used = 0;
    const std::string call = "(v=" + made + ")";
    constexpr std::string_view kBefore = "{\"v\": ";
    if (reader.read(call, used, out) == ReadState::Done && used == call.size())
      made = out.substr(kBefore.size(), out.size() - kBefore.size() - 1);
  }
  const auto json = jinja::inputFromJson(made);
  if (json && !json->text() && (grammar::typeOf(*json) & types))
    return made;
  return '"' + grammar::jsonStringContent(text) + '"';
}

} // namespace sinter::serve
