// What OpenAI's routes share.
#pragma once

#include "serve/api/answer_format.h"
#include "serve/api/generation.h"
#include "serve/api/json_text.h"
#include "serve/api/request_tasks.h"

namespace sinter::serve::openai {

// What every object of an answer repeats.
struct AnswerHead {
  std::string id;
  int64_t created = 0; // seconds since 1970
  std::string model;
  std::string fingerprint; // of what computes answers: this build
  bool isVerbose = false;  // the answer shows its prompt, as llama-server's do
};
AnswerHead makeHead(const ApiContext &context, const std::string &idPrefix, std::string model);

// The fields that completions of all kinds have in common: sampling, stops, n, max_tokens, stream,
// and what is refused by its name.
struct StreamWishes {
  bool streams = false, includesUsage = false;
  bool countsOn = false; // each piece has the usage so far, as vLLM's continuous_usage_stats

  // Of a piece of this choice; null before the end unless it is counted on.
  Json usageSoFar(const Choice &choice) const;
};
StreamWishes readCommon(const RequestReader &body, GenerationWishes &wishes);

// {"prompt_tokens", "completion_tokens", ...} of all choices.
Json usageOf(const std::vector<Choice> &choices);

// One token as chat completions list it: {"token", "logprob", "bytes"}.
Json tokenLogprob(const TokenLikelihood &token);
// {"content": [...]}; null where there are no rows.
Json chatLogprobs(const LikelihoodRows &rows);

inline constexpr const char *kEventStream = "text/event-stream";

} // namespace sinter::serve::openai
