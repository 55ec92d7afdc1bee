// An argument is read when its tag is closed, a text while it comes.
#include "serve/api/argument_forms.h"

#include "grammar/json_text.h"
#include "grammar/schema_view.h"
#include "llm/chat/probe_texts.h"
#include "serve/api/mark_reader.h"

namespace sinter::serve {
namespace {

constexpr std::string_view kItem = "item"; // of lists

std::string inQuotes(std::string_view text) {
  return '"' + grammar::jsonStringContent(text) + '"';
}

// Makes JSON of elements within elements.
class Elements {
public:
  Elements(const ArgumentTags &tags, const ParameterTypes *types) : tags_(tags), types_(types) {}

  // Of the text within the element that `path` leads to. Where tags do not match, it is a text.
  std::string json(std::string_view text, const std::string &path) {
    open_ = {{.path = path}};
    for (size_t at = 0; at < text.size();) {
      const size_t tag = std::min(text.find(tags_.keyOpen, at), text.size());
      const size_t close = std::min(text.find(tags_.close, at), text.size());
      open_.back().text += text.substr(at, std::min(tag, close) - at);
      at = std::min(tag, close);
      if (at < text.size() && !takeTag(text, at, at == close))
        return inQuotes(text);
    }
    return open_.size() == 1 ? valueOf(open_.back()) : inQuotes(text);
  }

private:
  struct Element {
    std::string name = {}, path = {}, text = {}, parts = {};
    bool isList = false;
  };

  bool takeTag(std::string_view text, size_t &at, bool isClose) {
    const size_t begin = at + (isClose ? tags_.close : tags_.keyOpen).size();
    const size_t end = text.find(tags_.textOpen, begin);
    if (end == text.npos)
      return false;
    const std::string name(text.substr(begin, end - begin));
    at = end + tags_.textOpen.size();
    if (!isClose) {
      Element &outer = open_.back();
      outer.isList |= outer.parts.empty() && name == kItem;
      open_.push_back({.name = name, .path = outer.path + "/" + name});
      return true;
    }
    if (open_.size() == 1 || open_.back().name != name)
      return false;
    const std::string value = valueOf(open_.back());
    open_.pop_back();
    Element &outer = open_.back();
    outer.parts += outer.parts.empty() ? "" : ", ";
    outer.parts += outer.isList ? value : inQuotes(name) + ": " + value;
    return true;
  }

  std::string valueOf(const Element &element) const {
    if (!element.parts.empty())
      return element.isList ? "[" + element.parts + "]" : "{" + element.parts + "}";
    const auto found = types_ ? types_->find(element.path) : ParameterTypes::const_iterator();
    const uint32_t types =
        types_ && found != types_->end() ? found->second : uint32_t{grammar::kAllTypes};
    if (trim(element.text).empty() && (types == grammar::kObject || types == grammar::kArray))
      return types == grammar::kObject ? "{}" : "[]";
    return types == grammar::kString ? inQuotes(element.text) : jsonOf(element.text, types);
  }

  const ArgumentTags &tags_;
  const ParameterTypes *types_;
  std::vector<Element> open_;
};

class ElementArguments : public ArgumentReader {
public:
  ElementArguments(const CallSyntax &syntax, const ParameterTypes *types)
      : tags_(syntax.tags), types_(types) {
    const auto closes = chunksOf(syntax.close);
    after_ = closes.empty() ? std::string_view() : closes.front();
  }

  bool hasBegun() const override { return hasBegun_; }

  ReadState read(std::string_view text, size_t &used, std::string &out) override {
    used = 0;
    for (;;) {
      size_t taken = 0;
      const std::string_view rest = text.substr(used);
      const ReadState state = isInValue_ ? readValue(rest, taken, out) : readTag(rest, taken, out);
      used += taken;
      if (state != ReadState::Done || isOver_)
        return state;
    }
  }

  void cut(std::string_view rest, std::string &out) override {
    if (isInValue_)
      out += isText_ ? grammar::jsonStringContent(rest) : std::string(rest);
  }

private:
  // The tag of an argument, or what comes after all of them.
  ReadState readTag(std::string_view text, size_t &used, std::string &out) {
    const MarkMatch open = matchMark(text, tags_.keyOpen);
    if (open.isPartial() || (open.isWhole() && open.bytes == text.size()))
      return ReadState::More;
    const bool isKey = open.isWhole() && text[open.bytes] != '/';
    if (!isKey && !hasBegun_) {
      const MarkMatch after = matchMark(text, after_);
      if (!after.isWhole())
        return after.isPartial() ? ReadState::More : ReadState::Wrong;
    }
    const size_t end = isKey ? text.find(tags_.textOpen, open.bytes) : 0;
    if (isKey && end == text.npos)
      return text.size() > kMostKeyBytes ? ReadState::Wrong : ReadState::More;
    if (!std::exchange(hasBegun_, true))
      out += '{';
    if (!isKey) {
      out += '}';
      isOver_ = true;
      return ReadState::Done;
    }
    key_ = text.substr(open.bytes, end - open.bytes);
    out += (std::exchange(isFirst_, false) ? "" : ", ") + inQuotes(key_) + ": ";
    const auto known = types_ ? types_->find(key_) : ParameterTypes::const_iterator();
    isText_ = types_ && known != types_->end() && known->second == grammar::kString;
    if (isText_)
      out += '"';
    used = end + tags_.textOpen.size();
    isInValue_ = true;
    return ReadState::Done;
  }

  ReadState readValue(std::string_view text, size_t &used, std::string &out) {
    const std::string close = tags_.close + key_ + tags_.textOpen;
    const size_t at = isText_ ? text.find(close) : outerClose(text, close);
    if (at != text.npos) {
      const std::string_view value = text.substr(0, at);
      out += isText_ ? grammar::jsonStringContent(value) + '"'
                     : Elements(tags_, types_).json(value, key_);
      used = at + close.size();
      isInValue_ = false;
      return ReadState::Done;
    }
    if (isText_) {
      used = text.size() - heldBytes(text, close);
      out += grammar::jsonStringContent(text.substr(0, used));
    }
    return ReadState::More;
  }

  // The tag that closes the argument, and no part of it that has the same name.
  size_t outerClose(std::string_view text, std::string_view close) const {
    const std::string open = tags_.keyOpen + key_ + tags_.textOpen;
    size_t depth = 1, at = 0;
    for (;;) {
      const size_t end = text.find(close, at);
      if (end == text.npos)
        return end;
      for (size_t inner = text.find(open, at); inner < end; inner = text.find(open, inner + 1))
        ++depth;
      if (--depth == 0)
        return end;
      at = end + close.size();
    }
  }

  const ArgumentTags tags_;
  const ParameterTypes *types_;
  std::string after_, key_;
  bool hasBegun_ = false, isFirst_ = true, isOver_ = false, isInValue_ = false, isText_ = false;
};

} // namespace

std::unique_ptr<ArgumentReader> makeElementReader(const CallSyntax &syntax,
                                                  const ParameterTypes *types) {
  return std::make_unique<ElementArguments>(syntax, types);
}

} // namespace sinter::serve
