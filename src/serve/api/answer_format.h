// How an API spells answers: the one thing that its routes differ in once a prompt is made.
#pragma once

#include "llm/sampler/settings.h"
#include "serve/api/answer_parser.h"
#include "serve/api/api_error.h"
#include "serve/worker/job.h"

namespace sinter::serve {

using LikelihoodRows = std::vector<std::vector<TokenLikelihood>>;

// One of the answers that a request asked for, as far as it has come.
struct Choice {
  uint32_t index = 0;
  bool isFirstOfPrompt = true; // several may answer one prompt
  std::string promptText = {}; // where the format shows it
  SamplerSettings sampler = {};
  uint64_t maxTokens = UINT64_MAX;
  AnswerText whole = {}; // so far
  std::vector<TokenId> tokens = {};
  LikelihoodRows likelihoods = {};
  uint64_t reasoningTokens = 0;             // in pieces that were reasoning alone
  AnswerSummary summary = {};               // at its end; its tokens so far
  double loadSeconds = 0, totalSeconds = 0; // at its end

  // "stop", "length" or "tool_calls"
  const char *finishReason() const;
};

// What came since the last bytes of a stream. Rows of likelihoods are in it only when they are
// whole.
struct ChoiceDelta {
  AnswerDelta text;
  std::vector<TokenId> tokens;
  LikelihoodRows likelihoods;
};

// Writes the answer to one request. One call at a time.
class AnswerFormat {
public:
  virtual ~AnswerFormat() = default;

  virtual std::string streamType() const = 0; // its content type

  // The bytes of a stream, in the order of the calls; any may be empty.
  virtual std::string opened(const std::vector<Choice> &choices) = 0;
  virtual std::string delta(const Choice &choice, const ChoiceDelta &delta) = 0;
  virtual std::string ended(const Choice &choice) = 0;
  virtual std::string closed(const std::vector<Choice> &choices) = 0;
  virtual std::string failed(const ApiError &error) = 0; // instead of what is left

  // Without a stream.
  virtual std::string whole(const std::vector<Choice> &choices) = 0;
  virtual HttpResponse error(const ApiError &error) = 0;
};

} // namespace sinter::serve
