// Heads of messages up to <|message|>, then their texts up to a mark that ends them.
#include "serve/api/channel_parser.h"

#include "jinja/input.h"
#include "llm/chat/probe_texts.h"
#include "serve/api/mark_reader.h"

#include <algorithm>
#include <array>

namespace sinter::serve {
namespace {

constexpr std::string_view kMessage = "<|message|>", kChannel = "<|channel|>", kStart = "<|start|>";
constexpr std::array<std::string_view, 5> kEnds = {"<|end|>", "<|return|>", "<|call|>", kStart,
                                                   kChannel};
constexpr size_t kMostHeadBytes = 4096;

// What follows a word in a head, up to white space or a mark.
std::string_view wordAfter(std::string_view head, std::string_view before) {
  const size_t at = head.find(before);
  if (at == head.npos)
    return {};
  const std::string_view rest = head.substr(at + before.size());
  return rest.substr(0, std::min(rest.find_first_of(" \t\r\n<"), rest.size()));
}

class ChannelParser : public AnswerParser {
public:
  explicit ChannelParser(const AnswerStyle &style) : style_(style) {}

  AnswerDelta push(std::string_view text) override {
    AnswerDelta delta;
    held_ += text;
    while (step(delta)) {
    }
    return delta;
  }

  AnswerDelta finish() override {
    AnswerDelta delta = push("");
    if (part_ == Part::Head) {
      delta.content += held_; // no head: it has no message
    } else {
      say(delta, held_);
      endMessage(delta);
    }
    held_.clear();
    return delta;
  }

private:
  enum class Part : uint8_t { Head, Text };
  enum class To : uint8_t { Content, Reasoning, Call };

  bool step(AnswerDelta &delta) { return part_ == Part::Head ? stepHead() : stepText(delta); }

  // Text that is no head is content: a model may answer without channels.
  bool stepHead() {
    constexpr std::array<std::string_view, 4> kBegins = {kStart, kChannel, "to=", "assistant"};
    const std::string_view text = held_, begin = trimLeft(text);
    const bool mayBeHead = std::ranges::any_of(kBegins, [&](std::string_view each) {
      return begin.starts_with(each) || each.starts_with(begin);
    });
    const size_t end = mayBeHead ? text.find(kMessage) : text.npos;
    if (mayBeHead && end == text.npos && text.size() < kMostHeadBytes + kMessage.size())
      return false;
    part_ = Part::Text;
    if (end > kMostHeadBytes) {
      to_ = To::Content;
      return true;
    }
    readHead(text.substr(0, end));
    held_.erase(0, end + kMessage.size());
    return true;
  }

  void readHead(std::string_view head) {
    constexpr std::string_view kFunctions = "functions.";
    const std::string_view channel = wordAfter(head, kChannel), to = wordAfter(head, "to=");
    to_ = channel == "analysis" ? To::Reasoning : To::Content;
    if (!style_.readsCalls || to.empty() || to == "user" || to == "assistant")
      return;
    to_ = To::Call;
    name_ = to.starts_with(kFunctions) ? to.substr(kFunctions.size()) : to;
    arguments_.clear();
    isSaid_ = false;
  }

  bool stepText(AnswerDelta &delta) {
    size_t first = held_.npos, held = 0;
    std::string_view mark;
    for (const std::string_view each : kEnds) {
      held = std::max(held, heldBytes(held_, each));
      if (const size_t at = held_.find(each); at < first) {
        first = at;
        mark = each;
      }
    }
    const size_t free = first != held_.npos ? first : held_.size() - held;
    say(delta, std::string_view(held_).substr(0, free));
    held_.erase(0, free);
    if (first == held_.npos)
      return false;
    endMessage(delta);
    held_.erase(0, mark == kStart || mark == kChannel ? 0 : mark.size()); // a head's own
    part_ = Part::Head;
    return true;
  }

  void say(AnswerDelta &delta, std::string_view text) {
    if (to_ == To::Content) {
      delta.content += text;
    } else if (to_ == To::Reasoning) {
      delta.reasoning += text;
    } else if (style_.wholeCalls) {
      arguments_ += text;
    } else {
      arguments_ += text;
      if (isSaid_ || !trim(arguments_).empty())
        sayCall(delta, std::exchange(arguments_, {}));
    }
  }

  void sayCall(AnswerDelta &delta, std::string arguments) {
    const bool isNew = !std::exchange(isSaid_, true);
    calls_ += isNew;
    if ((style_.oneCall && calls_ > 1) || (!isNew && arguments.empty()))
      return;
    ToolCallDelta made{calls_ - 1, {{}, {}, std::move(arguments)}};
    if (isNew) {
      made.call.id = randomId("call_");
      made.call.name = name_;
    }
    delta.calls.push_back(std::move(made));
  }

  // A call without arguments has none to say before.
  void endMessage(AnswerDelta &delta) {
    if (to_ != To::Call)
      return;
    to_ = To::Content;
    if (!style_.wholeCalls) {
      if (!isSaid_)
        sayCall(delta, "{}");
      return;
    }
    const std::string text = trim(arguments_).empty() ? "{}" : arguments_;
    const auto json = jinja::inputFromJson(text);
    if (json && json->object())
      sayCall(delta, text);
    else
      delta.content += text;
  }

  const AnswerStyle style_;
  Part part_ = Part::Head;
  To to_ = To::Content;
  std::string held_, name_, arguments_;
  bool isSaid_ = false;
  size_t calls_ = 0;
};

} // namespace

std::unique_ptr<AnswerParser> makeChannelParser(const AnswerStyle &style) {
  return std::make_unique<ChannelParser>(style);
}

} // namespace sinter::serve
