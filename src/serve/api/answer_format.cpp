// What all formats say in the same way.
#include "serve/api/answer_format.h"

namespace sinter::serve {

const char *Choice::finishReason() const {
  switch (summary.end) {
  case AnswerEnd::TokenLimit:
  case AnswerEnd::ContextFull:
    return "length";
  default:
    return whole.toolCalls.empty() ? "stop" : "tool_calls";
  }
}

} // namespace sinter::serve
