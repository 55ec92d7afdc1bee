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

// A sequence, whose tokens have no meaning.
class SampledSequence {
public:
  SampledSequence(Model &model, std::vector<TokenId> tokens)
      : pages_(model.pages()), tokens_(std::move(tokens)) {}

  // The next `count` tokens, for which it takes pages. The sequence must not move before the step.
  Result<BatchPart> next(uint32_t count, Phase phase, LogitsWanted wanted) {
    SINTER_TRY(pages_.reserve(uint64_t{position_} + count));
    return BatchPart{std::span(tokens_).subspan(position_, count), position_, &pages_, wanted,
                     phase};
  }
  void wrote(uint32_t count) {
    pages_.stateWritten();
    position_ += count;
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
  SequencePages pages_;
  std::vector<TokenId> tokens_;
  uint32_t position_ = 0;
};

void addTimes(const runtime::Executor &executor, double taken, SampledStep &step) {
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

// The next `count` tokens of each of the sequences.
Result<void> runStep(PlanRunner &runner, std::span<SampledSequence> sequences, uint32_t count,
                     Phase phase, LogitsWanted wanted, SampledStep &sample) {
  std::vector<BatchPart> parts;
  for (SampledSequence &sequence : sequences) {
    SINTER_ASSIGN(const BatchPart part, sequence.next(count, phase, wanted));
    parts.push_back(part);
  }
  Batch batch;
  SINTER_TRY(buildBatch(parts, runner.limits().batchShape(), batch));
  const auto start = Clock::now();
  const auto rows = runner.stepToChoose(batch);
  const double taken = secondsSince(start);
  if (!rows)
    return Fail(rows.error());
  for (SampledSequence &sequence : sequences)
    sequence.wrote(count);
  addTimes(runner.executor(), taken, sample);
  return {};
}

// The first `depth` tokens. What is still held of them from the round before stays.
Result<void> fill(PlanRunner &runner, SampledSequence &sequence, uint32_t depth) {
  sequence.goBack(depth);
  if (sequence.position() == depth)
    return {};
  const uint32_t most = runner.limits().stepTokens;
  while (sequence.position() < depth) {
    SampledStep untold;
    SINTER_TRY(runStep(runner, {&sequence, 1}, std::min(most, depth - sequence.position()),
                       Phase::Prefill, LogitsWanted::None, untold));
  }
  sequence.keep(depth);
  return {};
}

// The first sequence's prompt, and tokens after all the prompts where the model decodes.
Result<void> runRound(PlanRunner &runner, std::span<SampledSequence> sequences,
                      SampledSteps &steps) {
  const bool decodes = steps.decode.tokens > 0;
  for (SampledSequence &sequence : sequences.subspan(1))
    SINTER_TRY(fill(runner, sequence, steps.decode.depth));
  SINTER_TRY(fill(runner, sequences.front(), steps.prompt.depth));
  SINTER_TRY(runStep(runner, sequences.first(1), steps.prompt.tokens, Phase::Prefill,
                     decodes ? LogitsWanted::Last : LogitsWanted::All, steps.prompt));
  for (uint32_t i = 0; decodes && i < kSampledTokens; ++i)
    SINTER_TRY(runStep(runner, sequences, 1, Phase::Decode, LogitsWanted::Last, steps.decode));
  return {};
}

std::vector<SampledSequence> makeSequences(Model &model, uint32_t count, uint32_t tokens) {
  std::vector<std::vector<TokenId>> texts;
  if (model.file().hasTokenizer())
    texts = madeUpPrompts(model.tokenizer(), count, tokens);
  else
    texts.assign(count, madeUpTokens(model.runner().limits().vocabSize, tokens));
  std::vector<SampledSequence> sequences;
  for (std::vector<TokenId> &text : texts)
    sequences.emplace_back(model, std::move(text));
  return sequences;
}

} // namespace

Result<SampledSteps> sampleSteps(Model &model, uint32_t depth, uint32_t promptTokens,
                                 uint32_t sequenceCount) {
  PlanRunner &runner = model.runner();
  const bool decodes = runner.limits().embeddingLength == 0;
  SampledSteps steps;
  steps.prompt.tokens = promptTokens;
  steps.prompt.depth = depth;
  steps.decode.tokens = decodes ? sequenceCount : 0;
  steps.decode.depth = depth + promptTokens;
  std::vector<SampledSequence> sequences =
      makeSequences(model, sequenceCount, depth + promptTokens + kSampledTokens);
  ProgressLine progress("measuring");
  SampledSteps first = steps;
  SINTER_TRY(runRound(runner, sequences, first)); // takes memory and prepares the sizes
  const auto start = Clock::now();
  for (int round = 0;
       round < kLeastRounds || (round < kMostRounds && secondsSince(start) < kEnoughSeconds);
       ++round) {
    progress.show(static_cast<uint64_t>(round), kMostRounds, "rounds");
    for (const bool profiling : {true, false}) {
      SINTER_TRY(runner.executor().setProfiling(profiling));
      SINTER_TRY(runRound(runner, sequences, steps));
    }
  }
  return steps;
}

} // namespace sinter::cli
