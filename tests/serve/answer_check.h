// What must hold of whatever text an answer is; shared by the fuzzer and the test that replays its
// corpus.
#pragma once

#include "chat_families.h"
#include "grammar/schema_view.h"
#include "llm/chat/syntax_probe.h"
#include "serve/api/answer_parser.h"

#include <algorithm>
#include <map>
#include <random>

namespace sinter::serve {

// Of one tool, with parameters of several types.
inline ToolTypes someTools() {
  return {{"f",
           {{"x", grammar::kInteger},
            {"s", grammar::kString},
            {"m", grammar::kString | grammar::kInteger},
            {"o", grammar::kObject}}}};
}

inline std::shared_ptr<const AnswerSyntax> familySyntax(const ChatFamily &family) {
  static std::map<const ChatFamily *, std::shared_ptr<const AnswerSyntax>> known;
  auto &found = known[&family];
  if (!found)
    found = std::make_shared<const AnswerSyntax>(
        probeAnswerSyntax(*ChatTemplate::parse(templateOf(family)), {}));
  return found;
}

// In pieces of next() bytes each.
template <typename Next>
AnswerText parsedAnswer(const AnswerStyle &style, std::string_view text, Next next) {
  const auto parser = makeAnswerParser(style);
  AnswerText all;
  while (!text.empty()) {
    const size_t count = std::min<size_t>(next(), text.size());
    all.add(parser->push(text.substr(0, count)));
    text.remove_prefix(count);
  }
  all.add(parser->finish());
  return all;
}

inline std::string difference(const AnswerText &whole, const AnswerText &parts) {
  if (whole.content != parts.content || whole.reasoning != parts.reasoning ||
      whole.toolCalls.size() != parts.toolCalls.size())
    return "pieces give another answer than the whole";
  for (size_t i = 0; i < whole.toolCalls.size(); ++i)
    if (whole.toolCalls[i].name != parts.toolCalls[i].name ||
        whole.toolCalls[i].arguments != parts.toolCalls[i].arguments)
      return "pieces give another call than the whole";
  return "";
}

// The first byte chooses the family and the tools, the second the style and the pieces, the rest is
// the text. Empty: pieces give what the whole gives, and whole calls have objects as arguments.
inline std::string answerInconsistencyOf(std::string_view bytes) {
  if (bytes.size() < 2)
    return "";
  const auto family = static_cast<uint8_t>(bytes[0]), flags = static_cast<uint8_t>(bytes[1]);
  AnswerStyle style;
  style.syntax = familySyntax(kChatFamilies[family % std::size(kChatFamilies)]);
  style.startsInReasoning = (flags & 1) && !style.syntax->reasoning.close.empty();
  style.readsCalls = !(flags & 2);
  style.wholeCalls = flags & 4;
  style.oneCall = flags & 8;
  if (family / std::size(kChatFamilies) % 2 != 0)
    style.tools = someTools();
  const std::string_view text = bytes.substr(2);
  const AnswerText whole = parsedAnswer(style, text, [&] { return text.size(); });
  const size_t pieceBytes = 1 + (flags >> 4);
  std::string wrong = difference(whole, parsedAnswer(style, text, [&] { return pieceBytes; }));
  std::minstd_rand random(static_cast<uint32_t>(std::hash<std::string_view>()(bytes)));
  if (wrong.empty())
    wrong = difference(whole, parsedAnswer(style, text, [&] { return 1 + random() % 16; }));
  if (!wrong.empty() || !style.wholeCalls)
    return wrong;
  for (const ToolCall &call : whole.toolCalls)
    if (const auto json = jinja::inputFromJson(call.arguments); !json || !json->object())
      return "a whole call has no object as arguments: " + call.arguments;
  return "";
}

} // namespace sinter::serve
