// Objects, tagged values, and Gemma's braces.
#include "serve/api/argument_reader.h"

#include "grammar/json_text.h"
#include "grammar/schema_view.h"
#include "llm/chat/probe_texts.h"
#include "serve/api/argument_forms.h"
#include "serve/api/mark_reader.h"

#include <algorithm>

namespace sinter::serve {
namespace {

std::string inQuotes(std::string_view text) {
  return '"' + grammar::jsonStringContent(text) + '"';
}

class TagArguments : public ArgumentReader {
public:
  TagArguments(const CallSyntax &syntax, const ParameterTypes *types)
      : tags_(syntax.tags), types_(types) {
    const auto closes = chunksOf(syntax.close);
    after_ = closes.empty() ? std::string_view() : closes.front();
    valueClose_ = chunksOf(tags_.close).front();
  }

  bool hasBegun() const override { return hasBegun_; }

  ReadState read(std::string_view text, size_t &used, std::string &out) override {
    used = 0;
    for (;;) {
      const std::string_view rest = text.substr(used);
      size_t taken = 0;
      const ReadState state = part_ == Part::Tag   ? readTag(rest, taken, out)
                              : part_ == Part::Key ? readKey(rest, taken, out)
                                                   : readValue(rest, taken, out);
      used += taken;
      if (state != ReadState::Done || isOver_)
        return state;
    }
  }

  void cut(std::string_view rest, std::string &out) override {
    if (part_ == Part::Value)
      out += isText() ? grammar::jsonStringContent(rest) : std::string(rest);
  }

private:
  enum class Part : uint8_t { Tag, Key, Value };

  // A key's tag, or what comes after all of them.
  ReadState readTag(std::string_view text, size_t &used, std::string &out) {
    const MarkMatch open = matchMark(text, tags_.keyOpen);
    if (open.isPartial())
      return ReadState::More;
    if (!open.isWhole() && !hasBegun_) {
      const MarkMatch after = matchMark(text, after_);
      if (!after.isWhole())
        return after.isPartial() ? ReadState::More : ReadState::Wrong;
    }
    if (!std::exchange(hasBegun_, true))
      out += '{';
    if (open.isWhole()) {
      used = open.bytes;
      part_ = Part::Key;
      return ReadState::Done;
    }
    out += '}';
    isOver_ = true;
    return ReadState::Done;
  }

  ReadState readKey(std::string_view text, size_t &used, std::string &out) {
    const std::string_view keyEnd = chunksOf(tags_.textOpen).front();
    const size_t at = text.find(keyEnd);
    if (at == text.npos && text.size() < kMostKeyBytes + keyEnd.size())
      return ReadState::More;
    if (at > kMostKeyBytes) // or nowhere
      return ReadState::Wrong;
    const MarkMatch asText = matchMark(text.substr(at), tags_.textOpen),
                    asOther = matchOther(text.substr(at));
    if (!asText.isWhole() && !asOther.isWhole())
      return asText.isPartial() || asOther.isPartial() ? ReadState::More : ReadState::Wrong;
    const std::string key(trim(text.substr(0, at)));
    const auto known = types_ ? types_->find(key) : ParameterTypes::const_iterator();
    valueTypes_ = types_ && known != types_->end() ? known->second : uint32_t{grammar::kAllTypes};
    if (tags_.tellTexts())
      valueTypes_ = asText.isWhole() ? uint32_t{grammar::kString}
                                     : uint32_t{grammar::kAllTypes & ~grammar::kString};
    out += (std::exchange(isFirst_, false) ? "" : ", ") + inQuotes(key) + ": ";
    used = at + (asText.isWhole() ? asText.bytes : asOther.bytes);
    part_ = Part::Value;
    atLineEnd_ = tags_.textOpen.ends_with('\n');
    if (isText())
      out += '"';
    return ReadState::Done;
  }

  bool isText() const { return valueTypes_ == grammar::kString; }

  // The tag of a value that is no text, by the type that it names.
  MarkMatch matchOther(std::string_view text) const {
    MarkMatch match = matchMark(text, tags_.otherOpen);
    if (!tags_.nameTypes)
      return match;
    for (const char *type : {"integer", "boolean", "null", "array", "object"}) {
      const MarkMatch other = matchMark(text, tags_.openOfType(type));
      if (other.isWhole() || !match.isPartial())
        match = match.isWhole() ? match : other;
    }
    return match;
  }

  ReadState readValue(std::string_view text, size_t &used, std::string &out) {
    if (atLineEnd_ && text.empty())
      return ReadState::More;
    if (std::exchange(atLineEnd_, false) && text.starts_with('\n'))
      used = 1;
    const std::string_view rest = text.substr(used);
    const bool endsLine = tags_.close.starts_with('\n');
    const size_t at = rest.find(valueClose_);
    if (at != rest.npos) {
      std::string_view value = rest.substr(0, at);
      if (endsLine && value.ends_with('\n'))
        value.remove_suffix(1);
      out += isText() ? grammar::jsonStringContent(value) + '"' : jsonOf(value, valueTypes_);
      used += at + valueClose_.size();
      part_ = Part::Tag;
      return ReadState::Done;
    }
    if (!isText())
      return ReadState::More;
    size_t held = heldBytes(rest, valueClose_);
    if (endsLine && held < rest.size() && rest[rest.size() - held - 1] == '\n')
      ++held;
    out += grammar::jsonStringContent(rest.substr(0, rest.size() - held));
    used += rest.size() - held;
    return ReadState::More;
  }

  const ArgumentTags tags_;
  const ParameterTypes *types_;
  std::string after_, valueClose_;
  Part part_ = Part::Tag;
  uint32_t valueTypes_ = grammar::kAllTypes;
  bool hasBegun_ = false, isFirst_ = true, isOver_ = false, atLineEnd_ = false;
};

// Keys without quotes, texts between marks of their own.
class BraceArguments : public ArgumentReader {
public:
  bool hasBegun() const override { return hasBegun_; }

  ReadState read(std::string_view text, size_t &used, std::string &out) override {
    used = 0;
    for (;;) {
      const std::string_view rest = text.substr(used);
      if (rest.empty() || (kQuote.starts_with(rest) && rest.size() < kQuote.size()))
        return ReadState::More;
      size_t taken = 1;
      const ReadState state = rest.starts_with(kQuote) ? (taken = kQuote.size(), readQuote(out))
                                                       : readByte(rest.front(), out);
      if (state == ReadState::Wrong)
        return state;
      used += taken;
      if (state == ReadState::Done)
        return state;
    }
  }

  void cut(std::string_view /*rest*/, std::string &out) override {
    if (!key_.empty())
      out += inQuotes(key_);
  }

private:
  static constexpr std::string_view kQuote = kBraceQuote;

  ReadState readQuote(std::string &out) {
    if (open_.empty())
      return ReadState::Wrong;
    isText_ = !isText_;
    if (!isKey_)
      out += '"';
    return ReadState::More;
  }

  ReadState readByte(char byte, std::string &out) {
    if (isText_) {
      (isKey_ ? key_ : out) +=
          isKey_ ? std::string(1, byte) : grammar::jsonStringContent(std::string_view(&byte, 1));
      return ReadState::More;
    }
    if (open_.empty() && byte != '{')
      return kMarkSpace.find(byte) == kMarkSpace.npos ? ReadState::Wrong : ReadState::More;
    if (isKey_ && byte != ':' && byte != '}') {
      key_ += byte;
      return key_.size() > kMostKeyBytes ? ReadState::Wrong : ReadState::More;
    }
    if (isKey_ && byte == ':') {
      out += inQuotes(trim(std::exchange(key_, {})));
      isKey_ = false;
    }
    return readMark(byte, out);
  }

  ReadState readMark(char byte, std::string &out) {
    hasBegun_ = true;
    if (byte == '}' && !trim(key_).empty()) // it has no value
      out += inQuotes(trim(key_));
    out += byte;
    if (byte == '{' || byte == '[')
      open_ += byte;
    if ((byte == '}' || byte == ']')) {
      key_.clear();
      open_.pop_back();
    }
    isKey_ = !open_.empty() && open_.back() == '{' && (byte == '{' || byte == ',');
    return open_.empty() ? ReadState::Done : ReadState::More;
  }

  std::string open_; // brackets
  std::string key_;
  bool isText_ = false, isKey_ = false, hasBegun_ = false;
};

} // namespace

bool JsonExtent::take(char byte) {
  hasBegun_ = true;
  if (isText_) {
    isText_ = isEscaped_ || byte != '"';
    isEscaped_ = !isEscaped_ && byte == '\\';
    return false;
  }
  isText_ = byte == '"';
  depth_ += byte == '{' || byte == '[';
  return (byte == '}' || byte == ']') && --depth_ == 0;
}

ReadState JsonArguments::read(std::string_view text, size_t &used, std::string &out) {
  for (used = 0; used < text.size();) {
    const char byte = text[used];
    const bool isSpace = kMarkSpace.find(byte) != kMarkSpace.npos;
    if (!extent_.hasBegun() && byte != '{' && !isSpace)
      return ReadState::Wrong;
    ++used;
    if (!extent_.hasBegun() && isSpace)
      continue;
    out += byte;
    if (extent_.take(byte))
      return ReadState::Done;
  }
  return ReadState::More;
}

std::unique_ptr<ArgumentReader> makeArgumentReader(const CallSyntax &syntax,
                                                   const ParameterTypes *types) {
  if (syntax.arguments == ArgumentForm::Tags)
    return std::make_unique<TagArguments>(syntax, types);
  if (syntax.arguments == ArgumentForm::Braces)
    return std::make_unique<BraceArguments>();
  if (syntax.arguments == ArgumentForm::Keywords)
    return makeKeywordReader();
  if (syntax.arguments == ArgumentForm::Elements)
    return makeElementReader(syntax, types);
  return std::make_unique<JsonArguments>();
}

} // namespace sinter::serve
