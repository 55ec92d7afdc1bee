// Members of objects, or slots between marks.
#include "serve/api/call_reader.h"

#include "llm/chat/probe_texts.h"
#include "serve/api/mark_reader.h"

#include <algorithm>
#include <cctype>

namespace sinter::serve {
namespace {

constexpr size_t kMostNameBytes = 256;

bool isSpace(char byte) {
  return kMarkSpace.find(byte) != kMarkSpace.npos;
}

class JsonCallReader : public CallReader {
public:
  explicit JsonCallReader(const CallSyntax &syntax)
      : nameKey_(syntax.nameKey), argumentsKey_(syntax.argumentsKey) {}

  ReadState read(std::string_view text, size_t &used, CallParts &call) override {
    for (used = 0; used < text.size();) {
      if (streams_) {
        size_t taken = 0;
        const ReadState state = arguments_.read(text.substr(used), taken, call.arguments);
        used += taken;
        if (state == ReadState::Done)
          streams_ = false;
        continue;
      }
      const ReadState state = readByte(text[used], call);
      if (state == ReadState::Wrong)
        return state;
      used += !streams_; // its brace is the arguments'
      if (state == ReadState::Done)
        return state;
    }
    return ReadState::More;
  }

private:
  enum class Part : uint8_t {
    Begin,
    Key,
    InKey,
    Colon,
    ValueBegin,
    Text,
    Nested,
    Scalar,
    AfterValue
  };

  ReadState readByte(char byte, CallParts &call) {
    switch (part_) {
    case Part::Begin:
      return expect(byte, '{', Part::Key);
    case Part::Key:
      if (byte == '}' && !hasMember_)
        return end(call);
      raw_ = "\"";
      return expect(byte, '"', Part::InKey);
    case Part::InKey:
      raw_ += byte;
      if (!endsText(byte))
        return ReadState::More;
      return takeKey();
    case Part::Colon:
      raw_.clear();
      return expect(byte, ':', Part::ValueBegin);
    case Part::ValueBegin:
      return beginValue(byte, call);
    case Part::Text:
      raw_ += byte;
      return endsText(byte) ? takeValue(call) : ReadState::More;
    case Part::Nested:
      return readNested(byte, call);
    case Part::Scalar:
      if (byte == ',' || byte == '}' || isSpace(byte)) {
        const ReadState state = takeValue(call);
        return state == ReadState::Wrong ? state : readByte(byte, call);
      }
      raw_ += byte;
      return ReadState::More;
    case Part::AfterValue:
      if (byte == '}')
        return end(call);
      return expect(byte, ',', Part::Key);
    }
    return ReadState::Wrong;
  }

  ReadState expect(char byte, char wanted, Part then) {
    if (byte == wanted)
      part_ = then;
    return byte == wanted || isSpace(byte) ? ReadState::More : ReadState::Wrong;
  }

  // Whether this byte ends a text that is being read.
  bool endsText(char byte) {
    const bool ends = byte == '"' && !isEscaped_;
    isEscaped_ = !isEscaped_ && byte == '\\';
    return ends;
  }

  ReadState takeKey() {
    const auto key = jinja::inputFromJson(raw_);
    if (!key)
      return ReadState::Wrong;
    key_ = *key->text();
    hasMember_ = true;
    part_ = Part::Colon;
    return ReadState::More;
  }

  bool isArguments() const {
    return key_ == argumentsKey_ || key_ == "arguments" || key_ == "parameters";
  }

  ReadState beginValue(char byte, CallParts &call) {
    if (isSpace(byte))
      return ReadState::More;
    if (byte == '{' && isArguments() && hasName_ && !hasArguments_) {
      call.isKnown = hasArguments_ = streams_ = true;
      part_ = Part::AfterValue;
      return ReadState::More;
    }
    if (byte == '{' || byte == '[') {
      nested_ = JsonExtent();
      part_ = Part::Nested;
      return readNested(byte, call);
    }
    raw_ = byte;
    part_ = byte == '"' ? Part::Text : Part::Scalar;
    return ReadState::More;
  }

  ReadState readNested(char byte, CallParts &call) {
    raw_ += byte;
    return nested_.take(byte) ? takeValue(call) : ReadState::More;
  }

  ReadState takeValue(CallParts &call) {
    part_ = Part::AfterValue;
    const auto value = jinja::inputFromJson(raw_);
    if (key_ == nameKey_ || (key_ == "name" && !hasName_)) {
      if (!value || !value->text() || value->text()->empty())
        return ReadState::Wrong;
      call.name = *value->text();
      hasName_ = true;
    } else if (isArguments() && !hasArguments_) {
      const bool isNull = value && std::holds_alternative<std::monostate>(value->content());
      if (!value || !(value->object() || value->text() || isNull))
        return ReadState::Wrong;
      early_ = value->text() ? *value->text() : isNull ? "" : raw_;
      hasArguments_ = true;
    }
    raw_.clear();
    return ReadState::More;
  }

  ReadState end(CallParts &call) {
    if (!hasName_)
      return ReadState::Wrong;
    if (!call.isKnown)
      call.arguments += early_.empty() ? "{}" : early_;
    call.isKnown = true;
    return ReadState::Done;
  }

  const std::string nameKey_, argumentsKey_;
  Part part_ = Part::Begin;
  std::string key_, raw_; // raw_: of the key or value that is being read
  std::string early_;     // arguments that are given at the end
  JsonArguments arguments_;
  JsonExtent nested_;
  bool hasMember_ = false, hasName_ = false, hasArguments_ = false, streams_ = false;
  bool isEscaped_ = false;
};

class NamedCallReader : public CallReader {
public:
  NamedCallReader(const CallSyntax &syntax, const ToolTypes &tools, bool isOpen)
      : syntax_(syntax), tools_(tools), isAfterMark_(isOpen) {}

  ReadState read(std::string_view text, size_t &used, CallParts &call) override {
    used = 0;
    while (part_ < syntax_.parts.size()) {
      size_t taken = 0;
      const ReadState state = isAfterMark_ ? readSlot(text.substr(used), taken, call)
                                           : readMark(text.substr(used), taken);
      used += taken;
      if (state != ReadState::Done)
        return state;
    }
    return ReadState::Done;
  }

  void cut(std::string_view rest, CallParts &call) override {
    if (arguments_)
      arguments_->cut(rest, call.arguments);
  }

private:
  ReadState readMark(std::string_view text, size_t &used) {
    MarkMatch match = matchMark(text, syntax_.parts[part_].before);
    // Ids may be left out.
    if (!match.isWhole() && syntax_.parts[part_].slot == CallSlot::Id &&
        part_ + 1 < syntax_.parts.size()) {
      const MarkMatch next = matchMark(text, syntax_.parts[part_ + 1].before);
      if (next.isWhole())
        ++part_;
      if (next.isWhole() || !match.isPartial())
        match = next;
    }
    if (!match.isWhole())
      return match.isPartial() ? ReadState::More : ReadState::Wrong;
    used = match.bytes;
    isAfterMark_ = true;
    return ReadState::Done;
  }

  ReadState readSlot(std::string_view text, size_t &used, CallParts &call) {
    if (syntax_.parts[part_].slot == CallSlot::Arguments)
      return readArguments(text, used, call);
    const auto isNamePart = [](char byte) {
      return std::isalnum(static_cast<unsigned char>(byte)) || byte == '_' || byte == '-' ||
             byte == '.' || byte == ':' || byte == '/';
    };
    const size_t before = text.size() - trimLeft(text).size();
    const auto end =
        std::find_if_not(text.begin() + static_cast<ptrdiff_t>(before), text.end(), isNamePart);
    const std::string_view name(text.begin() + static_cast<ptrdiff_t>(before), end);
    if (name.size() > kMostNameBytes)
      return ReadState::Wrong;
    if (end == text.end())
      return ReadState::More;
    if (name.empty())
      return ReadState::Wrong;
    take(name, call);
    used = before + name.size();
    next();
    return ReadState::Done;
  }

  void take(std::string_view text, CallParts &call) const {
    constexpr std::string_view kBefore = "functions.";
    if (syntax_.parts[part_].slot == CallSlot::Number)
      return;
    const bool isName = syntax_.parts[part_].slot == CallSlot::Name;
    if (!isName || syntax_.idHoldsName)
      call.id = text;
    if (!isName)
      return;
    if (syntax_.idHoldsName) {
      if (text.starts_with(kBefore))
        text.remove_prefix(kBefore.size());
      text = text.substr(0, text.rfind(':'));
    }
    call.name = text;
  }

  ReadState readArguments(std::string_view text, size_t &used, CallParts &call) {
    if (!arguments_) {
      const auto tool = tools_.find(call.name);
      arguments_ = makeArgumentReader(syntax_, tool == tools_.end() ? nullptr : &tool->second);
    }
    const ReadState state = arguments_->read(text, used, call.arguments);
    call.isKnown |= arguments_->hasBegun();
    if (state == ReadState::Done)
      next();
    return state;
  }

  void next() {
    ++part_;
    isAfterMark_ = false;
  }

  const CallSyntax &syntax_;
  const ToolTypes &tools_;
  std::unique_ptr<ArgumentReader> arguments_;
  size_t part_ = 0;
  bool isAfterMark_;
};

} // namespace

std::unique_ptr<CallReader> makeJsonCallReader(const CallSyntax &syntax) {
  return std::make_unique<JsonCallReader>(syntax);
}

std::unique_ptr<CallReader> makeNamedCallReader(const CallSyntax &syntax, const ToolTypes &tools,
                                                bool isOpen) {
  return std::make_unique<NamedCallReader>(syntax, tools, isOpen);
}

} // namespace sinter::serve
