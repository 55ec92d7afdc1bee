// Takes the text of an answer apart: what is said, what was thought, which tools are called.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::serve {

struct ToolCall {
  std::string id; // "call_..."
  std::string name;
  std::string arguments; // a JSON object as text
};

// What a piece of text adds.
struct AnswerDelta {
  std::string content = {}, reasoning = {};
  std::vector<ToolCall> toolCalls = {}; // each whole

  bool empty() const { return content.empty() && reasoning.empty() && toolCalls.empty(); }
};

// How a model writes calls of tools.
enum class ToolCallStyle : uint8_t {
  None,    // its calls are not read back: content
  Tagged,  // <tool_call>{"name": ..., "arguments": {...}}</tool_call>
  Bare,    // the whole answer is {"name": ..., "parameters": {...}}, maybe after <|python_tag|>
  Bracket, // [TOOL_CALLS][{"name": ..., "arguments": {...}}], or [TOOL_CALLS]name[ARGS]{...}
};

struct AnswerStyle {
  bool separatesReasoning = false; // <think>...</think>
  bool startsInReasoning = false;  // the prompt ends with <think>
  ToolCallStyle toolCalls = ToolCallStyle::None;
  bool oneCall = false; // further calls are dropped
};

// How a model with this template answers; `callsTools`: tools were offered.
AnswerStyle answerStyleOf(std::string_view templateSource, std::string_view promptEnd,
                          bool callsTools);

// The state of one answer. Text that may be the start of a tag is held back until that is known,
// so no delta has a part of one. White space between a tag and what follows or precedes it is
// dropped.
class AnswerParser {
public:
  virtual ~AnswerParser() = default;
  virtual AnswerDelta push(std::string_view text) = 0;
  // The end of the answer: what was held back. A call that is not whole is content, as it stands.
  virtual AnswerDelta finish() = 0;
};

std::unique_ptr<AnswerParser> makeAnswerParser(const AnswerStyle &style);

// 24 letters and digits that nobody can guess, after the prefix.
std::string randomId(std::string_view prefix);

} // namespace sinter::serve
