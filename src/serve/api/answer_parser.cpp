// A scanner for a few tags, and the JSON of calls between them.
#include "serve/api/answer_parser.h"

#include "jinja/input.h"
#include "serve/api/json_text.h"

#include <algorithm>
#include <optional>
#include <random>

namespace sinter::serve {
namespace {

using jinja::Input;

constexpr std::string_view kThink = "<think>", kEndThink = "</think>";
constexpr std::string_view kCall = "<tool_call>", kEndCall = "</tool_call>";
constexpr std::string_view kBracket = "[TOOL_CALLS]", kArguments = "[ARGS]";
constexpr std::string_view kPython = "<|python_tag|>";
constexpr std::string_view kSpace = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == text.npos)
    return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

// {"name": ..., "arguments" or "parameters": {...} or the text of such}
std::optional<ToolCall> callOf(const Input &json) {
  const Input *name = json.find("name");
  const Input *arguments = json.find("arguments");
  if (!arguments)
    arguments = json.find("parameters");
  if (!name || !name->text() || name->text()->empty())
    return std::nullopt;
  ToolCall call{randomId("call_"), *name->text(), "{}"};
  if (arguments && arguments->object())
    call.arguments = jsonText(jsonOf(*arguments));
  else if (arguments && arguments->text())
    call.arguments = *arguments->text();
  else if (arguments)
    return std::nullopt;
  return call;
}

// One call, or a list of calls.
std::vector<ToolCall> callsOfJson(std::string_view text) {
  const auto json = jinja::inputFromJson(trimmed(text));
  if (!json)
    return {};
  std::vector<ToolCall> calls;
  const auto add = [&](const Input &item) {
    if (auto call = callOf(item))
      calls.push_back(std::move(*call));
    return !calls.empty();
  };
  if (!json->list())
    add(*json);
  else if (!std::ranges::all_of(*json->list(), add))
    return {};
  return calls;
}

// What follows [TOOL_CALLS]: a list, or name[ARGS]{...} and more of them, each after a
// [TOOL_CALLS].
std::vector<ToolCall> callsOfBracket(std::string_view text) {
  if (text.find(kArguments) == text.npos)
    return callsOfJson(text);
  std::vector<ToolCall> calls;
  while (!text.empty()) {
    const size_t next = std::min(text.find(kBracket), text.size());
    const std::string_view one = text.substr(0, next);
    const size_t at = one.find(kArguments);
    if (at == one.npos)
      return {};
    const std::string_view arguments = trimmed(one.substr(at + kArguments.size()));
    const auto json = jinja::inputFromJson(arguments);
    if (!json || !json->object())
      return {};
    calls.push_back(
        {randomId("call_"), std::string(trimmed(one.substr(0, at))), std::string(arguments)});
    text.remove_prefix(std::min(next + kBracket.size(), text.size()));
  }
  return calls;
}

// The longest end of the text that begins a tag, in bytes.
size_t heldBytes(std::string_view text, std::string_view tag) {
  for (size_t size = std::min(text.size(), tag.size() - 1); size > 0; --size)
    if (tag.starts_with(text.substr(text.size() - size)))
      return size;
  return 0;
}

class TagParser : public AnswerParser {
public:
  explicit TagParser(const AnswerStyle &style)
      : style_(style), part_(style.startsInReasoning ? Part::Reasoning : Part::Content),
        afterTag_(style.startsInReasoning) {}

  AnswerDelta push(std::string_view text) override {
    AnswerDelta delta;
    held_ += text;
    while (step(delta)) {
    }
    return delta;
  }

  AnswerDelta finish() override {
    AnswerDelta delta = push("");
    if (part_ == Part::Tail || part_ == Part::Call) {
      endCalls(delta, held_);
    } else {
      say(delta, held_);
      out(delta) += spaces_;
    }
    held_.clear();
    spaces_.clear();
    return delta;
  }

private:
  enum class Part : uint8_t {
    Content,
    Reasoning,
    Call, // after <tool_call>
    Tail, // all that follows is calls
  };
  struct Tag {
    std::string_view text;
    Part then;
  };

  std::vector<Tag> tags() const {
    if (part_ == Part::Reasoning)
      return {{kEndThink, Part::Content}};
    std::vector<Tag> found;
    if (style_.separatesReasoning)
      found.push_back({kThink, Part::Reasoning});
    if (style_.toolCalls == ToolCallStyle::Tagged)
      found.push_back({kCall, Part::Call});
    if (style_.toolCalls == ToolCallStyle::Bracket)
      found.push_back({kBracket, Part::Tail});
    if (style_.toolCalls == ToolCallStyle::Bare)
      found.push_back({kPython, Part::Tail});
    return found;
  }

  // Takes one thing from what is held. False: more text is needed.
  bool step(AnswerDelta &delta) {
    if (part_ == Part::Tail)
      return false;
    if (part_ == Part::Call)
      return stepInCall(delta);
    if (startsBareCall())
      return enter(delta, 0, {"", Part::Tail});
    size_t first = held_.npos, held = 0;
    Tag tag{};
    for (const Tag &each : tags()) {
      held = std::max(held, heldBytes(held_, each.text));
      if (const size_t at = held_.find(each.text); at < first) {
        first = at;
        tag = each;
      }
    }
    if (first != held_.npos)
      return enter(delta, first, tag);
    const size_t free = held_.size() - held;
    say(delta, std::string_view(held_).substr(0, free));
    held_.erase(0, free);
    return false;
  }

  // A brace that is the first thing said.
  bool startsBareCall() const {
    const size_t at = held_.find_first_not_of(kSpace);
    return style_.toolCalls == ToolCallStyle::Bare && part_ == Part::Content && !saidContent_ &&
           at != held_.npos && held_[at] == '{';
  }

  bool enter(AnswerDelta &delta, size_t at, const Tag &tag) {
    say(delta, std::string_view(held_).substr(0, at));
    held_.erase(0, at + tag.text.size());
    spaces_.clear();
    opened_ = tag.text;
    part_ = tag.then;
    afterTag_ = true;
    return true;
  }

  bool stepInCall(AnswerDelta &delta) {
    const size_t end = held_.find(kEndCall);
    if (end == held_.npos)
      return false;
    const std::string inside = held_.substr(0, end);
    held_.erase(0, end + kEndCall.size());
    if (!addCalls(delta, callsOfJson(inside)))
      delta.content += std::string(kCall) + inside + std::string(kEndCall);
    part_ = Part::Content;
    afterTag_ = true;
    return true;
  }

  // What was left open at the end.
  void endCalls(AnswerDelta &delta, const std::string &inside) {
    auto calls =
        style_.toolCalls == ToolCallStyle::Bracket ? callsOfBracket(inside) : callsOfJson(inside);
    if (!addCalls(delta, std::move(calls)))
      delta.content += std::string(opened_) + inside;
  }

  bool addCalls(AnswerDelta &delta, std::vector<ToolCall> calls) {
    if (calls.empty())
      return false;
    for (ToolCall &call : calls) {
      if (style_.oneCall && calls_ > 0)
        break;
      delta.toolCalls.push_back(std::move(call));
      ++calls_;
    }
    return true;
  }

  std::string &out(AnswerDelta &delta) const {
    return part_ == Part::Reasoning ? delta.reasoning : delta.content;
  }

  // White space at the end waits for what comes after it.
  void say(AnswerDelta &delta, std::string_view text) {
    if (afterTag_) {
      text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
      if (text.empty())
        return;
      afterTag_ = false;
    }
    const size_t end = text.find_last_not_of(kSpace) + 1; // 0: there is nothing else
    if (end > 0) {
      out(delta) += spaces_;
      out(delta) += text.substr(0, end);
      spaces_.clear();
      saidContent_ |= part_ == Part::Content;
    }
    spaces_ += text.substr(end);
  }

  const AnswerStyle style_;
  Part part_;
  bool afterTag_;
  bool saidContent_ = false;
  std::string held_, spaces_;
  std::string_view opened_; // the tag that began the part
  size_t calls_ = 0;
};

class PlainParser : public AnswerParser {
public:
  AnswerDelta push(std::string_view text) override { return {.content = std::string(text)}; }
  AnswerDelta finish() override { return {}; }
};

ToolCallStyle callStyleOf(std::string_view source) {
  const auto has = [&](std::string_view text) { return source.find(text) != source.npos; };
  if (has(kCall))
    return ToolCallStyle::Tagged;
  if (has(kBracket))
    return ToolCallStyle::Bracket;
  if (has(kPython) || has("\"parameters\": "))
    return ToolCallStyle::Bare;
  return ToolCallStyle::None;
}

} // namespace

AnswerStyle answerStyleOf(std::string_view templateSource, std::string_view promptEnd,
                          bool callsTools) {
  AnswerStyle style;
  style.startsInReasoning = trimmed(promptEnd).ends_with(kThink);
  style.separatesReasoning =
      style.startsInReasoning || templateSource.find(kEndThink) != templateSource.npos;
  if (callsTools)
    style.toolCalls = callStyleOf(templateSource);
  return style;
}

std::unique_ptr<AnswerParser> makeAnswerParser(const AnswerStyle &style) {
  if (!style.separatesReasoning && style.toolCalls == ToolCallStyle::None)
    return std::make_unique<PlainParser>();
  return std::make_unique<TagParser>(style);
}

std::string randomId(std::string_view prefix) {
  constexpr std::string_view kLetters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::random_device device;
  std::string id(prefix);
  for (int i = 0; i < 24; ++i)
    id += kLetters[device() % kLetters.size()];
  return id;
}

} // namespace sinter::serve
