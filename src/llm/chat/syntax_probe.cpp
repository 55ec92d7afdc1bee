// One conversation with a call gives the marks around it; one with two calls tells which of these
// belong to each call.
#include "llm/chat/syntax_probe.h"

#include "llm/chat/known_syntaxes.h"
#include "llm/chat/probed_call.h"

#include <array>

namespace sinter {
namespace {

using jinja::Input;

constexpr std::string_view kQuestion = "Uquestion", kAnswer = "Canswer", kThought = "Rthought",
                           kSystem = "Ssystem";
constexpr ProbeCall kCalls[] = {{"probefirst", "Vone", 4711, "callid001"},
                                {"probesecond", "Vtwo", 4712, "callid002"}};
constexpr std::string_view kLongId = "call_0123456789abcdefghijklmn";

Input textInput(std::string_view text) {
  return Input(std::string(text));
}

Input message(const char *role, std::string_view content, Input::Object more = {}) {
  Input::Object made = {{"role", textInput(role)}, {"content", textInput(content)}};
  made.insert(made.end(), more.begin(), more.end());
  return Input(std::move(made));
}

Input toolOf(const ProbeCall &call) {
  const auto property = [](const char *type) {
    return Input(Input::Object{{"type", textInput(type)}, {"description", textInput("d")}});
  };
  Input parameters(Input::Object{
      {"type", textInput("object")},
      {"properties", Input(Input::Object{{std::string(kProbeKey), property("string")},
                                         {std::string(kProbeNumberKey), property("integer")}})},
      {"required", Input(Input::List{textInput(kProbeKey)})}});
  return Input(
      Input::Object{{"type", textInput("function")},
                    {"function", Input(Input::Object{{"name", textInput(call.name)},
                                                     {"description", textInput("d")},
                                                     {"parameters", std::move(parameters)}})}});
}

Input callInput(const ProbeCall &call, std::string_view id, bool asText) {
  Input arguments(Input::Object{{std::string(kProbeKey), textInput(call.value)},
                                {std::string(kProbeNumberKey), Input(call.number)}});
  if (asText)
    arguments =
        textInput("{\"" + std::string(kProbeKey) + "\": \"" + std::string(call.value) + "\", \"" +
                  std::string(kProbeNumberKey) + "\": " + std::to_string(call.number) + "}");
  return Input(Input::Object{{"id", textInput(id)},
                             {"type", textInput("function")},
                             {"function", Input(Input::Object{{"name", textInput(call.name)},
                                                              {"arguments", arguments}})}});
}

Input::Object thoughts() {
  Input::Object made;
  for (const char *name : {"reasoning_content", "reasoning", "thinking"})
    made.emplace_back(name, textInput(kThought));
  return made;
}

class Prober {
public:
  Prober(const ChatTemplate &chat, const ChatVariables &tokens) : chat_(chat), tokens_(tokens) {}

  AnswerSyntax syntax() {
    AnswerSyntax made;
    prompt_ = render({user()}, true).value_or("");
    content_ = render({user(), message("assistant", kAnswer)}, false).value_or("");
    made.offersTools = prompt_.find(kCalls[0].name) != prompt_.npos;
    const auto system = render({message("system", kSystem), user()}, true);
    made.readsSystem = system && system->find(kSystem) != system->npos;
    if (writesChannels(chat_.source())) {
      made.calls.shape = CallShape::Channels;
      return made;
    }
    made.reasoning = reasoning();
    made.content = contentMarks(made.reasoning);
    for (const bool asText : {false, true}) {
      made.calls = calls(made, asText);
      made.argumentsAsText = asText && made.calls.shape != CallShape::None;
      if (made.calls.shape != CallShape::None)
        break;
    }
    if (made.calls.shape == CallShape::None && !showsCalls())
      made.calls = knownCallSyntax(chat_.source()).value_or(CallSyntax());
    if (made.calls.promptOpens && made.content.isMarked())
      made.content.open = made.calls.open() + made.content.open;
    made.calls.shortIds = !takesId(kLongId, made) && takesId(kCalls[0].id, made);
    return made;
  }

private:
  static Input user() { return message("user", kQuestion); }

  std::optional<std::string> render(Input::List messages, bool addPrompt) const {
    ChatInputs inputs;
    inputs.tools = Input(Input::List{toolOf(kCalls[0]), toolOf(kCalls[1])});
    const auto list = messageList(Input(std::move(messages)));
    if (!list)
      return std::nullopt;
    const auto parts = chat_.render(*list, addPrompt, inputs, tokens_);
    return parts ? std::optional(promptText(*parts)) : std::nullopt;
  }

  std::optional<std::string> renderCalls(size_t count, bool asText, Input::Object more = {},
                                         std::string_view content = "") const {
    Input::List calls;
    for (size_t i = 0; i < count; ++i)
      calls.push_back(callInput(kCalls[i], kCalls[i].id, asText));
    more.emplace_back("tool_calls", Input(std::move(calls)));
    return render({user(), message("assistant", content, std::move(more))}, false);
  }

  bool takesId(std::string_view id, const AnswerSyntax &syntax) const {
    Input call = callInput(kCalls[0], id, syntax.argumentsAsText);
    return render({user(),
                   message("assistant", "", {{"tool_calls", Input(Input::List{std::move(call)})}}),
                   message("tool", kAnswer, {{"tool_call_id", textInput(id)}})},
                  true)
        .has_value();
  }

  bool showsCalls() const {
    const auto text = renderCalls(1, false);
    return text && text->find(kCalls[0].value) != text->npos;
  }

  // Where the answer begins in a conversation that has one.
  size_t answerBegin(std::string_view text) const {
    const std::string_view content = std::string_view(content_).substr(0, content_.find(kAnswer));
    return std::max(commonBegin(text, prompt_).size(), commonBegin(text, content).size());
  }

  // Whether a mark stands around questions or after answers, too.
  bool marksOthers(std::string_view mark) const {
    const size_t question = prompt_.find(kQuestion), answer = content_.find(kAnswer);
    return trim(std::string_view(prompt_).substr(0, question)).ends_with(mark) ||
           (answer != content_.npos && content_.find(mark, answer) != content_.npos);
  }

  // The fewest tags that no other message has; empty: there are none.
  template <typename MarkOf> std::string_view ownMark(MarkOf markOf) const {
    constexpr int kMostTags = 3;
    for (int tags = 1; tags <= kMostTags; ++tags)
      if (const std::string_view mark = trim(markOf(tags)); mark.empty() || !marksOthers(mark))
        return mark;
    return {};
  }

  ReasoningSyntax reasoning() const {
    const auto said = render({user(), message("assistant", kAnswer, thoughts())}, false);
    const std::optional<std::string> shown[] = {said, renderCalls(1, false, thoughts())};
    for (const auto &text : shown) {
      const size_t at = text ? text->find(kThought) : std::string::npos;
      if (at == std::string::npos)
        continue;
      const std::string_view before = std::string_view(*text).substr(0, at),
                             after = std::string_view(*text).substr(at + kThought.size());
      const std::string_view open = ownMark([&](int tags) { return lastMark(before, tags); }),
                             close = ownMark([&](int tags) { return firstMark(after, tags); });
      if (!open.empty() && !close.empty())
        return {std::string(open), std::string(close)};
    }
    return knownReasoning(chat_.source());
  }

  // Past the thoughts that end between `begin` and `end`, even empty ones.
  static size_t afterThoughts(std::string_view text, const ReasoningSyntax &reasoning, size_t begin,
                              size_t end) {
    if (reasoning.close.empty() || end == text.npos)
      return begin;
    const size_t close = text.substr(0, end).rfind(reasoning.close);
    return close == text.npos || close < begin ? begin : close + reasoning.close.size();
  }

  // What stands between the place where answers begin and a plain one, and after it.
  ContentSyntax contentMarks(const ReasoningSyntax &reasoning) const {
    const std::string_view text = content_;
    const size_t at = text.find(kAnswer);
    if (prompt_.empty() || at == text.npos)
      return {};
    const size_t begin = afterThoughts(text, reasoning, commonBegin(text, prompt_).size(), at);
    ContentSyntax marks;
    marks.open = trimLeft(text.substr(begin, at - std::min(begin, at)));
    if (marks.open.empty() || marksOthers(trim(marks.open)))
      return {};
    const std::string_view after = text.substr(at + kAnswer.size());
    std::string_view close = firstMark(after);
    for (const bool asText : {false, true})
      if (const auto both = renderCalls(1, asText, {}, kAnswer)) {
        const size_t said = both->find(kAnswer);
        if (said == both->npos)
          continue;
        close = commonBegin(after, std::string_view(*both).substr(said + kAnswer.size()));
        break;
      }
    marks.close = trim(close);
    if (!isOfContent(marks, reasoning))
      return {};
    const std::string_view rest = after.substr(close.size());
    marks.turnEnd = trim(firstMark(rest));
    if (!marks.turnEnd.empty() && marks.close.find(marks.turnEnd) != std::string::npos)
      marks.turnEnd = trim(firstMark(rest, 2));
    return marks;
  }

  // Whether calls come without the marks, or with nothing between them; else they are a head that
  // every answer has.
  bool isOfContent(const ContentSyntax &marks, const ReasoningSyntax &reasoning) const {
    for (const bool asText : {false, true}) {
      const auto one = renderCalls(1, asText);
      const size_t name =
          one ? one->find(kCalls[0].name, commonBegin(*one, prompt_).size()) : std::string::npos;
      if (name == std::string::npos)
        continue;
      const std::string_view text = *one;
      const size_t begin = afterThoughts(text, reasoning, commonBegin(text, prompt_).size(), name);
      const std::string_view rest = trimLeft(text.substr(begin));
      return !rest.starts_with(marks.open) ||
             (!marks.close.empty() &&
              trimLeft(rest.substr(marks.open.size())).starts_with(marks.close));
    }
    return false;
  }

  CallSyntax calls(const AnswerSyntax &syntax, bool asText) const {
    const auto one = renderCalls(1, asText);
    if (!one)
      return {};
    ProbedAnswer answer{.text = *one, .begin = answerBegin(*one)};
    answer.begin = afterThoughts(*one, syntax.reasoning, answer.begin,
                                 one->find(kCalls[0].name, answer.begin));
    // What is said may be empty and still have its marks.
    for (const std::string &mark : {syntax.content.open, syntax.content.close}) {
      const std::string_view rest = trimLeft(std::string_view(*one).substr(answer.begin));
      if (!syntax.content.close.empty() && rest.starts_with(mark))
        answer.begin = one->size() - rest.size() + mark.size();
    }
    const auto two = renderCalls(2, asText);
    if (two && two->starts_with(answer.text.substr(0, answer.begin)))
      answer.textOfTwo = *two;
    answer.turnEnd = turnEnd(*one);
    return callSyntaxOf(answer, kCalls);
  }

  // What a template writes after an answer, where this text ends with it.
  std::string_view turnEnd(std::string_view text) const {
    const size_t at = content_.find(kAnswer);
    const std::string_view end = at == content_.npos
                                     ? std::string_view()
                                     : std::string_view(content_).substr(at + kAnswer.size());
    return text.ends_with(end) ? end : std::string_view();
  }

  const ChatTemplate &chat_;
  const ChatVariables &tokens_;
  std::string prompt_;  // that asks for an answer
  std::string content_; // with a plain answer
};

} // namespace

AnswerSyntax probeAnswerSyntax(const ChatTemplate &chat, const ChatVariables &tokens) {
  return Prober(chat, tokens).syntax();
}

} // namespace sinter
