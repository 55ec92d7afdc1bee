// Rounds of a prompt and some tokens, with and without a clock at each launch.
#include "cli/step_samples.h"

#include "base/check.h"
#include "cli/made_up_prompts.h"
#include "cli/terminal.h"
#include "llm/batch.h"

#include <algorithm>
#include <chrono>

namespace sinter::cli {
namespace {

using Clock = std::chrono::steady_clock;

// Medians of fewer rounds are not safe from what else the machine does.
constexpr int kLeastRounds = 5, kMostRounds = 15;
constexpr double kEnoughSeconds = 3;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Steps of one sequence, whose tokens have no meaning.
class SampledSequence {
public:
  SampledSequence(Model &model, std::vector<TokenId> tokens)
      : runner_(model.runner()), pages_(model.pages()), tokens_(std::move(tokens)) {}

  // The next `count` tokens.
  Result<void> step(uint32_t count, Phase phase, LogitsWanted wanted, SampledStep &sample) {
    SINTER_TRY(pages_.reserve(uint64_t{position_} + count));
    const BatchPart part{std::span(tokens_).subspan(position_, count), position_, &pages_, wanted,
                         phase};
    SINTER_TRY(buildBatch({&part, 1}, runner_.limits().batchShape(), batch_));
    const auto start = Clock::now();
    const auto rows = runner_.step(batch_);
    const double taken = secondsSince(start);
    if (!rows)
      return Fail(rows.error());
    pages_.stateWritten();
    position_ += count;
    addTimes(sample, taken);
    return {};
  }
  // Goes back to the first `depth` tokens, or to fewer where what follows them is gone.
  void goBack(uint32_t depth) {
    const uint32_t held = std::min(depth, position_);
    position_ = held == 0 ? 0 : static_cast<uint32_t>(pages_.resumeAt(held));
    pages_.shrink(position_);
  }
  uint32_t position() const { return position_; }
  void keep(uint32_t depth) { pages_.keepCheckpoint(depth); }

private:
  void addTimes(SampledStep &step, double taken) {
    const runtime::Executor &executor = runner_.executor();
    if (!executor.profiling()) {
      step.wholeSeconds.push_back(taken);
      step.asGraph = executor.ranAsGraph();
      return;
    }
    const auto samples = executor.samples();
    if (step.launches.empty())
      for (const runtime::LaunchSample &sample : samples)
        step.launches.push_back(
            {sample.launch, sample.grid, sample.bytesMoved, sample.operations, {}});
    SINTER_CHECK(step.launches.size() == samples.size());
    for (size_t i = 0; i < samples.size(); ++i)
      step.launches[i].seconds.push_back(static_cast<double>(samples[i].nanoseconds) * 1e-9);
  }

  PlanRunner &runner_;
  SequencePages pages_;
  std::vector<TokenId> tokens_;
  uint32_t position_ = 0;
  Batch batch_;
};

// The first tokens. What is still held of them from the round before stays.
Result<void> fill(SampledSequence &sequence, uint32_t depth, uint32_t most) {
  sequence.goBack(depth);
  if (sequence.position() == depth)
    return {};
  while (sequence.position() < depth) {
    SampledStep untold;
    SINTER_TRY(sequence.step(std::min(most, depth - sequence.position()), Phase::Prefill,
                             LogitsWanted::None, untold));
  }
  sequence.keep(depth);
  return {};
}

// A prompt, and tokens after it where the model decodes.
Result<void> runRound(SampledSequence &sequence, SampledSteps &steps, uint32_t most, bool decodes) {
  SINTER_TRY(fill(sequence, steps.prompt.depth, most));
  SINTER_TRY(sequence.step(steps.prompt.tokens, Phase::Prefill,
                           decodes ? LogitsWanted::Last : LogitsWanted::All, steps.prompt));
  for (uint32_t i = 0; decodes && i < kSampledTokens; ++i)
    SINTER_TRY(sequence.step(1, Phase::Decode, LogitsWanted::Last, steps.decode));
  return {};
}

std::vector<TokenId> tokensFor(const Model &model, uint32_t vocabulary, uint32_t count) {
  return model.file().hasTokenizer() ? madeUpPrompts(model.tokenizer(), 1, count).front()
                                     : madeUpTokens(vocabulary, count);
}

} // namespace

Result<SampledSteps> sampleSteps(Model &model, uint32_t depth, uint32_t promptTokens) {
  PlanRunner &runner = model.runner();
  const bool decodes = runner.limits().embeddingLength == 0;
  SampledSteps steps;
  steps.prompt.tokens = promptTokens;
  steps.prompt.depth = depth;
  steps.decode.tokens = decodes ? 1 : 0;
  steps.decode.depth = depth + promptTokens;
  SampledSequence sequence(
      model, tokensFor(model, runner.limits().vocabSize, depth + promptTokens + kSampledTokens));
  ProgressLine progress("measuring");
  const uint32_t most = runner.limits().stepTokens;
  SampledSteps first = steps;
  SINTER_TRY(runRound(sequence, first, most, decodes)); // takes memory and prepares the sizes
  const auto start = Clock::now();
  for (int round = 0;
       round < kLeastRounds || (round < kMostRounds && secondsSince(start) < kEnoughSeconds);
       ++round) {
    progress.show(static_cast<uint64_t>(round), kMostRounds, "rounds");
    for (const bool profiling : {true, false}) {
      SINTER_TRY(runner.executor().setProfiling(profiling));
      SINTER_TRY(runRound(sequence, steps, most, decodes));
    }
  }
  return steps;
}

} // namespace sinter::cli
