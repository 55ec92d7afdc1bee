// Objects, tagged values, and Gemma's braces.
#include "serve/api/argument_reader.h"

#include "grammar/json_text.h"
#include "grammar/schema_view.h"
#include "llm/chat/probe_texts.h"
#include "serve/api/mark_reader.h"

#include <algorithm>

namespace sinter::serve {
namespace {

constexpr size_t kMostKeyBytes = 1024;

std::string quoted(std::string_view text) {
  return '"' + grammar::jsonStringContent(text) + '"';
}

// What a tagged value is that need not be a text.
std::string valueOf(std::string_view text, uint32_t types) {
  constexpr std::pair<std::string_view, std::string_view> kPython[] = {
      {"True", "true"}, {"False", "false"}, {"None", "null"}};
  std::string_view value = trim(text);
  for (const auto &[python, json] : kPython)
    if (value == python)
      value = json;
  const auto json = jinja::inputFromJson(value);
  if (json && !json->text() && (grammar::typeOf(*json) & types))
    return std::string(value);
  return quoted(text);
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
                    asOther = matchMark(text.substr(at), tags_.otherOpen);
    if (!asText.isWhole() && !asOther.isWhole())
      return asText.isPartial() || asOther.isPartial() ? ReadState::More : ReadState::Wrong;
    const std::string key(trim(text.substr(0, at)));
    const auto known = types_ ? types_->find(key) : ParameterTypes::const_iterator();
    valueTypes_ = types_ && known != types_->end() ? known->second : uint32_t{grammar::kAllTypes};
    if (tags_.tellTexts())
      valueTypes_ = asText.isWhole() ? uint32_t{grammar::kString}
                                     : uint32_t{grammar::kAllTypes & ~grammar::kString};
    out += (std::exchange(isFirst_, false) ? "" : ", ") + quoted(key) + ": ";
    used = at + (asText.isWhole() ? asText.bytes : asOther.bytes);
    part_ = Part::Value;
    atLineEnd_ = tags_.textOpen.ends_with('\n');
    if (isText())
      out += '"';
    return ReadState::Done;
  }

  bool isText() const { return valueTypes_ == grammar::kString; }

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
      out += isText() ? grammar::jsonStringContent(value) + '"' : valueOf(value, valueTypes_);
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

private:
  static constexpr std::string_view kQuote = "<|\"|>";

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
      out += quoted(trim(std::exchange(key_, {})));
      isKey_ = false;
    }
    return readMark(byte, out);
  }

  ReadState readMark(char byte, std::string &out) {
    hasBegun_ = true;
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
  return std::make_unique<JsonArguments>();
}

} // namespace sinter::serve
