// One answer: tokens to text on stdout as they come, and the line of figures after it.
#pragma once

#include "cli/arguments.h"
#include "llm/model.h"
#include "llm/sampler/defaults.h"
#include "llm/session.h"
#include "serve/worker/stop_texts.h"

namespace sinter::cli {

// What a stored model adds to every answer.
struct StoredParts {
  std::vector<ChatMessage> opening; // messages before the user's
  serve::StopTexts stops;
};

struct Answer {
  Generation generation;
  std::string text;
  uint64_t prefilledTokens = 0; // of the prompt
  std::string stopText;         // that ended it; empty: none did

  // Cancelled while the prompt was computed.
  bool hasNoToken() const {
    return generation.reason == StopReason::Cancelled && generation.tokens.empty();
  }
};
// Generates and writes each token's text as soon as it is whole. Returns the text too. Shows on a
// terminal's stderr how far a prompt of several steps is. The answer ends before a stop text.
Result<Answer> writeAnswer(Session &session, const Tokenizer &tokenizer,
                           std::span<const TokenId> prompt, GenerateOptions options,
                           serve::StopTexts stops = {});

// "time to first token 0.12 s, 131.4 tokens per second, peak memory 201.3 MiB; stopped: end token",
// on stderr.
// `firstTokenSeconds` is the caller's, since it may count from the process's start;
// `buildSeconds` of it went into building the plan. Where tokens were drawn it names the seed.
void sayFigures(const Answer &answer, const SamplerSettings &sampler, double firstTokenSeconds,
                double buildSeconds);

// How tokens are chosen before the first answer.
struct SamplingChoice {
  SamplerDefaults defaults; // of the model's file
  SamplerSettings settings; // what the command line makes of them
};

// A sampler, with a seed from the system where it draws tokens and none was given.
Result<Sampler> makeSampler(const SamplingTexts &texts, SamplerSettings settings,
                            const Tokenizer &tokenizer);

} // namespace sinter::cli
