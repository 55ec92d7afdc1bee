// Streams an answer and sums it up.
#include "cli/answer.h"

#include "cli/terminal.h"
#include "llm/detokenizer.h"

#include <cstdio>

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

void sayFigures(const Generation &generation, double firstTokenSeconds, double buildSeconds) {
  std::string line = "time to first token " + fixed(firstTokenSeconds - buildSeconds, 2) + " s";
  if (buildSeconds > 0)
    line += " and once " + fixed(buildSeconds, 1) + " s to build the plan";
  if (generation.decodeSteps > 0 && generation.decodeSeconds > 0)
    line +=
        ", " + fixed(generation.decodeSteps / generation.decodeSeconds, 1) + " tokens per second";
  line += ", peak memory " + bytesText(static_cast<double>(peakMemoryBytes()));
  if (generation.reason != StopReason::EndToken)
    line += std::string(" (stopped: ") + stopReasonName(generation.reason) + ")";
  sayOnStderr(line);
}

} // namespace sinter::cli
