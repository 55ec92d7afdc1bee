// Streams an answer and sums it up.
#include "cli/answer.h"

#include "base/number_text.h"
#include "cli/terminal.h"
#include "llm/tokenizer/detokenizer.h"

#include <chrono>
#include <optional>
#include <unistd.h>

namespace sinter::cli {
namespace {

using Clock = std::chrono::steady_clock;

// A prompt that one step takes is computed before a line about it could be read.
constexpr uint64_t kShownTokens = 512;

// How far the prompt is, on a terminal.
class PrefillProgress {
public:
  void show(uint64_t done, uint64_t total) {
    if (!start_) {
      start_ = Clock::now();
      reused_ = done;
      if (stderrIsTerminal() && total - done > kShownTokens)
        line_.emplace("prefill");
    }
    if (done == total)
      line_.reset();
    if (line_)
      line_->show(done, total, "tokens" + rate(done));
  }

private:
  std::string rate(uint64_t done) const {
    const double seconds = std::chrono::duration<double>(Clock::now() - *start_).count();
    if (done == reused_ || seconds <= 0)
      return "";
    return ", " + fixed(static_cast<double>(done - reused_) / seconds, 0) + " per second";
  }

  std::optional<ProgressLine> line_;
  std::optional<Clock::time_point> start_;
  uint64_t reused_ = 0; // tokens that were there at the start
};

std::string whyStopped(const Answer &answer) {
  const Generation &generation = answer.generation;
  if (!answer.stopText.empty())
    return "stop text '" + withoutControls(answer.stopText) + "'";
  if (generation.reason == StopReason::TokenLimit)
    return "-n " + std::to_string(generation.tokens.size()) + " reached";
  return stopReasonName(generation.reason);
}

} // namespace

Result<Answer> writeAnswer(Session &session, const Tokenizer &tokenizer,
                           std::span<const TokenId> prompt, GenerateOptions options,
                           serve::StopTexts stops) {
  Answer answer;
  PrefillProgress progress;
  options.onPrefill = [&](uint64_t done, uint64_t total) {
    answer.prefilledTokens = done;
    progress.show(done, total);
  };
  Detokenizer detokenizer(tokenizer);
  const bool terminal = stdoutIsTerminal();
  auto write = [&](const std::string &text) {
    answer.text += text;
    return writeStdout(terminal ? withoutControls(text, "\n\t") : text);
  };
  options.isStopped = [&] { return stops.found() != nullptr; };
  auto generation = session.generate(prompt, options, [&](TokenId token) -> Result<void> {
    SINTER_ASSIGN(const std::string text, detokenizer.push(token));
    return write(stops.push(text));
  });
  if (!generation)
    return Fail(std::move(generation).error());
  SINTER_TRY(write(stops.push(detokenizer.finish())));
  if (const std::string *stop = stops.found())
    answer.stopText = *stop;
  else
    SINTER_TRY(write(stops.finish()));
  answer.generation = std::move(*generation);
  return answer;
}

void sayFigures(const Answer &answer, const SamplerSettings &sampler, double firstTokenSeconds,
                double buildSeconds) {
  const Generation &generation = answer.generation;
  if (answer.hasNoToken())
    return sayOnStderr("stopped: interrupted after " + std::to_string(answer.prefilledTokens) +
                       " of " + std::to_string(generation.promptTokens) +
                       " tokens of the prompt, peak memory " +
                       bytesText(static_cast<double>(peakMemoryBytes())));
  std::string line = "time to first token " + fixed(firstTokenSeconds - buildSeconds, 2) + " s";
  if (buildSeconds > 0)
    line += " and once " + fixed(buildSeconds, 1) + " s to build the plan";
  if (generation.decodeSteps > 0 && generation.decodeSeconds > 0)
    line +=
        ", " + fixed(generation.decodeSteps / generation.decodeSeconds, 1) + " tokens per second";
  line += ", peak memory " + bytesText(static_cast<double>(peakMemoryBytes()));
  if (sampler.temperature != 0)
    line += ", seed " + std::to_string(sampler.seed);
  sayOnStderr(line + "; stopped: " + whyStopped(answer));
}

Result<Sampler> makeSampler(const SamplingTexts &texts, SamplerSettings settings,
                            const Tokenizer &tokenizer) {
  if (drawsSeed(texts, settings)) {
    uint32_t seed = 0; // short enough to be typed again
    if (getentropy(&seed, sizeof seed) != 0)
      return fail(Code::Internal, "the system has no random number for a seed: give one by --seed");
    settings.seed = seed;
  }
  return Sampler::create(std::move(settings), tokenizer.size(), &tokenizer);
}

} // namespace sinter::cli
