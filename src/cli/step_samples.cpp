// Rounds of a prompt and some tokens, with and without a clock at each launch.
#include "cli/step_samples.h"

#include "base/check.h"
#include "cli/made_up_prompts.h"
#include "cli/terminal.h"
#include "llm/session.h"

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

// Passes steps on to the model's runner and keeps what those after the first `depth` tokens took.
class SamplingRunner final : public StepRunner {
public:
  SamplingRunner(PlanRunner &runner, uint32_t depth)
      : runner_(runner), limits_(runner.limits()), depth_(static_cast<int32_t>(depth)) {
    limits_.stateSlots = 0; // a checkpoint would cut the prompt into two steps
  }

  const RunnerLimits &limits() const override { return limits_; }
  Result<std::span<const float>> step(const Batch &batch) override {
    if (batch.positions.front() < depth_)
      return runner_.step(batch);
    SampledStep &step = batch.phase == Phase::Decode ? steps.decode : steps.prompt;
    const auto start = Clock::now();
    auto logits = runner_.step(batch);
    const double taken = secondsSince(start);
    if (!logits)
      return logits;
    if (runner_.executor().profiling()) {
      addTimes(step);
    } else {
      step.wholeSeconds.push_back(taken);
      step.asGraph = runner_.executor().ranAsGraph();
    }
    return logits;
  }

  SampledSteps steps;

private:
  void addTimes(SampledStep &step) {
    const auto samples = runner_.executor().samples();
    if (step.launches.empty())
      for (const runtime::LaunchSample &sample : samples)
        step.launches.push_back(
            {sample.launch, sample.grid, sample.bytesMoved, sample.operations, {}});
    SINTER_CHECK(step.launches.size() == samples.size());
    for (size_t i = 0; i < samples.size(); ++i)
      step.launches[i].seconds.push_back(static_cast<double>(samples[i].nanoseconds) * 1e-9);
  }

  PlanRunner &runner_;
  RunnerLimits limits_;
  int32_t depth_;
};

Result<void> ignoreToken(TokenId) {
  return {};
}

// What the KV cache holds of the first `depth` tokens stays from round to round, but for the last.
Result<void> runRound(Session &session, std::span<const TokenId> prompt, uint32_t depth) {
  if (depth == 0)
    session.clear();
  else
    SINTER_TRY(session.generate(prompt.first(depth), {.maxTokens = 0}, ignoreToken));
  SINTER_TRY(session.generate(prompt, {.maxTokens = kSampledTokens + 1, .ignoreEndTokens = true},
                              ignoreToken));
  return {};
}

} // namespace

Result<SampledSteps> sampleSteps(Model &model, uint32_t depth, uint32_t promptTokens) {
  SamplingRunner runner(model.runner(), depth);
  Session session(runner, model.pages(), model.tokenizer());
  const std::vector<TokenId> prompt =
      madeUpPrompts(model.tokenizer(), 1, depth + promptTokens).front();
  ProgressLine progress("measuring");
  SINTER_TRY(runRound(session, prompt, depth)); // takes memory and prepares the sizes
  runner.steps = {};
  const auto start = Clock::now();
  for (int round = 0;
       round < kLeastRounds || (round < kMostRounds && secondsSince(start) < kEnoughSeconds);
       ++round) {
    progress.show(static_cast<uint64_t>(round), kMostRounds, "rounds");
    for (const bool profiling : {true, false}) {
      SINTER_TRY(model.runner().executor().setProfiling(profiling));
      SINTER_TRY(runRound(session, prompt, depth));
    }
  }
  runner.steps.prompt.tokens = promptTokens;
  runner.steps.prompt.depth = depth;
  runner.steps.decode.tokens = 1;
  runner.steps.decode.depth = depth + promptTokens;
  return std::move(runner.steps);
}

} // namespace sinter::cli
