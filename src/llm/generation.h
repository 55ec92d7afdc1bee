// What generating for one prompt asks for and gives, whoever runs its steps.
#pragma once

#include "llm/step_runner.h"
#include "llm/tokenizer/tokenizer.h"

#include <functional>
#include <span>
#include <vector>

namespace sinter {

enum class StopReason : uint8_t {
  EndToken,    // the model ended its answer
  StopText,    // what was said has a text that ends it
  TokenLimit,  // as many tokens as asked for
  ContextFull, // the context holds no further token
  Cancelled,   // the cancel flag was set
};
// In words: "end token", "stop text", "token limit", "context full", "interrupted".
const char *stopReasonName(StopReason reason);

struct Generation {
  StopReason reason = StopReason::EndToken;
  std::vector<TokenId> tokens; // as given to the sink
  uint64_t promptTokens = 0;
  uint64_t reusedTokens = 0; // of the prompt, already in the KV cache
  uint64_t decodeSteps = 0;  // steps after the first token
  double prefillSeconds = 0; // from the call to the first token; all of it if none came
  double queueSeconds = 0;   // of these: until a scheduler began it
  double decodeSeconds = 0;  // from the first token to the end
};

// Called with each token as soon as it is chosen, end tokens apart; an error ends the generation
// with that error.
using TokenSink = std::function<Result<void>(TokenId)>;

// InvalidArgument, with the numbers: the prompt is empty or longer than the context.
Result<void> checkPrompt(std::span<const TokenId> prompt, uint32_t contextTokens);

// Whether the model ends its answer with this token, which the tokenizer need not know.
bool endsAnswer(const Tokenizer &tokenizer, TokenId token);

} // namespace sinter
