// Streams an answer and sums it up.
#include "cli/answer.h"

#include "cli/terminal.h"
#include "llm/detokenizer.h"

#include <cstdio>
#include <unistd.h>

namespace sinter::cli {

Result<Answer> writeAnswer(Session &session, const Tokenizer &tokenizer,
                           std::span<const TokenId> prompt, const GenerateOptions &options) {
  Answer answer;
  Detokenizer detokenizer(tokenizer);
  const bool terminal = stdoutIsTerminal();
  auto write = [&](const std::string &text) {
    answer.text += text;
    return writeStdout(terminal ? withoutControls(text, "\n\t") : text);
  };
  auto generation = session.generate(prompt, options, [&](TokenId token) -> Result<void> {
    SINTER_ASSIGN(const std::string text, detokenizer.push(token));
    return write(text);
  });
  if (!generation)
    return Fail(std::move(generation).error());
  SINTER_TRY(write(detokenizer.finish()));
  answer.generation = std::move(*generation);
  return answer;
}

void sayFigures(const Generation &generation, const SamplerSettings &sampler,
                double firstTokenSeconds, double buildSeconds) {
  std::string line = "time to first token " + fixed(firstTokenSeconds - buildSeconds, 2) + " s";
  if (buildSeconds > 0)
    line += " and once " + fixed(buildSeconds, 1) + " s to build the plan";
  if (generation.decodeSteps > 0 && generation.decodeSeconds > 0)
    line +=
        ", " + fixed(generation.decodeSteps / generation.decodeSeconds, 1) + " tokens per second";
  line += ", peak memory " + bytesText(static_cast<double>(peakMemoryBytes()));
  if (sampler.temperature != 0)
    line += ", seed " + std::to_string(sampler.seed);
  if (generation.reason != StopReason::EndToken)
    line += std::string(" (stopped: ") + stopReasonName(generation.reason) + ")";
  sayOnStderr(line);
}

Result<Sampler> makeSampler(const RunArguments &arguments, const Tokenizer &tokenizer) {
  SamplerSettings settings = arguments.sampler;
  if (arguments.drawsSeed) {
    uint32_t seed = 0; // short enough to be typed again
    if (getentropy(&seed, sizeof seed) != 0)
      return fail(Code::Internal, "the system has no random number for a seed: give one by --seed");
    settings.seed = seed;
  }
  return Sampler::create(std::move(settings), tokenizer.size(), &tokenizer);
}

} // namespace sinter::cli
