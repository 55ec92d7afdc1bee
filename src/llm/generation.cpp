// Names of stop reasons, and the checks that all who generate share.
#include "llm/generation.h"

namespace sinter {

const char *stopReasonName(StopReason reason) {
  switch (reason) {
  case StopReason::EndToken:
    return "end token";
  case StopReason::StopText:
    return "stop text";
  case StopReason::TokenLimit:
    return "token limit";
  case StopReason::ContextFull:
    return "context full";
  case StopReason::Cancelled:
    return "interrupted";
  }
  return "unknown";
}

Result<void> checkPrompt(std::span<const TokenId> prompt, uint32_t contextTokens) {
  if (prompt.empty())
    return fail(Code::InvalidArgument, "the prompt has no tokens, expected at least 1");
  if (prompt.size() > contextTokens)
    return fail(Code::InvalidArgument, "the prompt has " + std::to_string(prompt.size()) +
                                           " tokens, the context holds " +
                                           std::to_string(contextTokens));
  return {};
}

bool endsAnswer(const Tokenizer &tokenizer, TokenId token) {
  return tokenizer.contains(token) && tokenizer.endsGeneration(token);
}

} // namespace sinter
