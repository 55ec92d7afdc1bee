// What must hold of whatever text an answer is; shared by the fuzzer and the test that replays its
// corpus.
#pragma once

#include "chat_families.h"
#include "llm/chat/syntax_probe.h"
#include "serve/api/answer_parser.h"

#include <map>

namespace sinter::serve {

inline std::shared_ptr<const AnswerSyntax> familySyntax(const ChatFamily &family) {
  static std::map<const ChatFamily *, std::shared_ptr<const AnswerSyntax>> known;
  auto &found = known[&family];
  if (!found)
    found = std::make_shared<const AnswerSyntax>(
        probeAnswerSyntax(*ChatTemplate::parse(templateOf(family)), {}));
  return found;
}

// In pieces of that many bytes.
inline AnswerText parsedAnswer(const AnswerStyle &style, std::string_view text, size_t pieceBytes) {
  const auto parser = makeAnswerParser(style);
  AnswerText all;
  for (size_t at = 0; at < text.size(); at += pieceBytes)
    all.add(parser->push(text.substr(at, pieceBytes)));
  all.add(parser->finish());
  return all;
}

// The first byte chooses the family, the second the style and the pieces, the rest is the text.
// Empty: pieces give what the whole gives, and whole calls have objects as arguments.
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
  const std::string_view text = bytes.substr(2);
  const AnswerText whole = parsedAnswer(style, text, text.size() + 1);
  const AnswerText parts = parsedAnswer(style, text, 1 + (flags >> 4));
  if (whole.content != parts.content || whole.reasoning != parts.reasoning ||
      whole.toolCalls.size() != parts.toolCalls.size())
    return "pieces give another answer than the whole";
  for (size_t i = 0; i < whole.toolCalls.size(); ++i) {
    const ToolCall &call = whole.toolCalls[i];
    if (call.name != parts.toolCalls[i].name || call.arguments != parts.toolCalls[i].arguments)
      return "pieces give another call than the whole";
    const auto json = jinja::inputFromJson(call.arguments);
    if (style.wholeCalls && !(json && json->object()))
      return "a whole call has no object as arguments: " + call.arguments;
  }
  return "";
}

} // namespace sinter::serve
