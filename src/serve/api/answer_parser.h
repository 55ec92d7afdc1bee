// Takes the text of an answer apart: what is said, what was thought, which tools are called.
#pragma once

#include "llm/chat/answer_syntax.h"
#include "llm/chat/tool_types.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::serve {

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments; // a JSON object as text
};

// A part of a call. The first one of a call has its id and name, the others add to its arguments.
struct ToolCallDelta {
  size_t index = 0;
  ToolCall call;
};

// What a piece of text adds.
struct AnswerDelta {
  std::string content = {}, reasoning = {};
  std::vector<ToolCallDelta> calls = {};

  bool empty() const { return content.empty() && reasoning.empty() && calls.empty(); }
};

// All that deltas added.
struct AnswerText {
  std::string content = {}, reasoning = {};
  std::vector<ToolCall> toolCalls = {};

  void add(const AnswerDelta &delta);
};

struct AnswerStyle {
  std::shared_ptr<const AnswerSyntax> syntax = {}; // null: the answer is content as it stands
  bool startsInReasoning = false;                  // the prompt opened it
  bool startsInCall = false;                       // the prompt has the mark of a first call
  bool readsCalls = false;                         // tools were offered
  bool oneCall = false;                            // further calls are dropped
  // A call comes in one delta, when it is whole and its arguments are JSON; else it is content.
  bool wholeCalls = false;
  ToolTypes tools = {};
};

// The state of one answer. Text that may be the start of a mark is held back until that is known,
// so no delta has a part of one. White space between a mark and what follows or precedes it is
// dropped. A call's name comes when it is known that arguments follow, these as they are written.
class AnswerParser {
public:
  virtual ~AnswerParser() = default;
  virtual AnswerDelta push(std::string_view text) = 0;
  // The end of the answer: what was held back. What began as a call and has no name yet is content.
  virtual AnswerDelta finish() = 0;
};

std::unique_ptr<AnswerParser> makeAnswerParser(const AnswerStyle &style);

// 24 letters and digits that nobody can guess, after the prefix.
std::string randomId(std::string_view prefix, size_t letters = 24);

} // namespace sinter::serve
