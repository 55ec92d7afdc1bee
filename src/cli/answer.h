// One answer: tokens to text on stdout as they come, and the line of figures after it.
#pragma once

#include "cli/arguments.h"
#include "llm/model.h"
#include "llm/session.h"

namespace sinter::cli {

// Generates and writes each token's text as soon as it is whole. Returns the text too.
struct Answer {
  Generation generation;
  std::string text;
};
Result<Answer> writeAnswer(Session &session, const Tokenizer &tokenizer,
                           std::span<const TokenId> prompt, const GenerateOptions &options);

// "time to first token 0.12 s, 131.4 tokens per second, peak memory 201.3 MiB", on stderr.
// `firstTokenSeconds` is the caller's, since it may count from the process's start;
// `buildSeconds` of it went into building the plan. Where tokens were drawn it names the seed.
void sayFigures(const Generation &generation, const SamplerSettings &sampler,
                double firstTokenSeconds, double buildSeconds);

// The run's sampler, with a seed from the system where it draws tokens and none was given.
Result<Sampler> makeSampler(const RunArguments &arguments, const Tokenizer &tokenizer);

} // namespace sinter::cli
