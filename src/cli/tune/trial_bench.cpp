// A prompt, some rows after it and a token, each run by every procedure of the plan in turn.
#include "cli/tune/trial_bench.h"

#include "base/check.h"
#include "plan/contract.h"

#include <chrono>
#include <cstring>

namespace sinter::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kPrefillRows = 512, kSomeRows = 8;
constexpr uint32_t kContext = kPrefillRows + kSomeRows;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class TrialBench {
public:
  TrialBench(PlanRunner &runner, PagePool &pool, const TrialEffort &effort,
             const std::atomic<bool> &cancel)
      : runner_(runner), effort_(effort), cancel_(cancel), pages_(pool) {}

  Result<Trials> run();

private:
  const plan::Plan &plan() const { return runner_.executor().plan(); }
  Result<StepTimes> timeStep(const BatchPart &part);
  Result<void> checkBits(std::span<const float> logits);
  Result<void> runRounds(StepTimes &times);
  Result<void> runVariant(uint32_t variant, StepTimes &times);
  Result<void> checkCancelled() const {
    return cancel_.load() ? fail(Code::Cancelled, "interrupted between trials") : Result<void>();
  }

  PlanRunner &runner_;
  const TrialEffort &effort_;
  const std::atomic<bool> &cancel_;
  SequencePages pages_;
  std::vector<std::string> contents_; // of the step's launches, in order
  Trials trials_;
};

Result<Trials> TrialBench::run() {
  const RunnerLimits &limits = runner_.limits();
  const uint32_t some = std::min(kSomeRows, limits.contextTokens / 2);
  const uint32_t prompt = std::min({kPrefillRows, limits.stepTokens, limits.contextTokens - some});
  SINTER_TRY(pages_.reserve(prompt + some));
  std::vector<TokenId> tokens;
  for (uint32_t i = 0; i < prompt; ++i)
    tokens.push_back(static_cast<TokenId>(uint64_t{i} * 7919 % limits.vocabSize));
  const std::span all(tokens);
  const BatchPart parts[] = {
      {all, 0, &pages_, LogitsWanted::Last, Phase::Prefill},
      {all.first(std::min(some, prompt)), prompt, &pages_, LogitsWanted::All, Phase::Prefill},
      {all.first(1), prompt, &pages_, LogitsWanted::Last, Phase::Decode}};
  for (const BatchPart &part : parts) {
    SINTER_ASSIGN(StepTimes times, timeStep(part));
    trials_.steps.push_back(std::move(times));
    pages_.keepCheckpoint(prompt); // later steps begin again and again with the prompt's state
  }
  return std::move(trials_);
}

Result<StepTimes> TrialBench::timeStep(const BatchPart &part) {
  Batch batch;
  SINTER_TRY(buildBatch({&part, 1}, runner_.limits().batchShape(), batch));
  SINTER_ASSIGN(const std::span<const float> logits, runner_.step(batch));
  SINTER_TRY(checkBits(logits));
  StepTimes times{static_cast<uint32_t>(part.tokens.size()), {}};
  SINTER_TRY(runner_.executor().setProfiling(true));
  auto ran = runRounds(times);
  SINTER_TRY(runner_.executor().setProfiling(false));
  SINTER_TRY(ran);
  return times;
}

// Each variant once, which also makes it ready.
Result<void> TrialBench::checkBits(std::span<const float> logits) {
  const std::vector<float> expected(logits.begin(), logits.end());
  std::vector<float> found(expected.size());
  const std::span bytes(reinterpret_cast<uint8_t *>(found.data()), found.size() * sizeof(float));
  for (uint32_t variant = 1; variant < plan().procedures.size(); ++variant) {
    SINTER_TRY(checkCancelled());
    SINTER_TRY(runner_.executor().run(plan::ProcedureId{variant}));
    SINTER_TRY(runner_.executor().readBuffer(contract::kLogits.name, bytes));
    if (std::memcmp(found.data(), expected.data(), bytes.size()) != 0)
      return fail(Code::Internal, "procedure '" + plan().procedures[variant].name +
                                      "' has other logits than '" + plan().procedures[0].name +
                                      "', expected the same bits under every schedule");
  }
  return {};
}

// A step and its variants right after one another, so that all see the same machine; who comes
// first changes from round to round.
Result<void> TrialBench::runRounds(StepTimes &times) {
  const auto count = static_cast<uint32_t>(plan().procedures.size());
  contents_.clear();
  const auto before = Clock::now();
  SINTER_TRY(runner_.executor().run(plan::ProcedureId{0}));
  trials_.stepSeconds += secondsSince(before);
  for (const runtime::LaunchSample &sample : runner_.executor().samples()) {
    contents_.push_back(plan().kernels[sample.launch->kernel.index].content);
    times.kernels[contents_.back()].resize(count);
  }
  const auto start = Clock::now();
  for (uint32_t round = 0;
       round < effort_.leastRounds ||
       (round < effort_.mostRounds && secondsSince(start) < effort_.secondsEach);
       ++round) {
    for (uint32_t i = 0; i < count; ++i) {
      SINTER_TRY(checkCancelled());
      SINTER_TRY(runVariant((round + i) % count, times));
    }
  }
  times.kernels.erase(""); // what has no other schedule
  return {};
}

Result<void> TrialBench::runVariant(uint32_t variant, StepTimes &times) {
  SINTER_TRY(runner_.executor().run(plan::ProcedureId{variant}));
  const auto samples = runner_.executor().samples();
  SINTER_CHECK(samples.size() == contents_.size()); // schedules change no step
  for (size_t i = 0; i < samples.size(); ++i)
    times.kernels[contents_[i]][variant].push_back(static_cast<double>(samples[i].nanoseconds) *
                                                   1e-9);
  return {};
}

} // namespace

Result<Trials> timeTrials(hal::Device &device, const GgufFile &file,
                          std::shared_ptr<const plan::Plan> plan, const TrialEffort &effort,
                          const std::atomic<bool> &cancel) {
  const auto start = Clock::now();
  const auto most = plan->properties.find(contract::kContextLength.name);
  PlanRunnerOptions options;
  options.contextTokens = kContext;
  if (most != plan->properties.end() && most->second > 0)
    options.contextTokens = static_cast<uint32_t>(std::min<int64_t>(kContext, most->second));
  SINTER_ASSIGN(const auto runner, PlanRunner::create(device, file, std::move(plan), options));
  SINTER_ASSIGN(PagePool pool,
                PagePool::create(runner->limits().kvGroups, runner->limits().pageRows,
                                 runner->limits().stateSlots));
  const double loadSeconds = secondsSince(start);
  SINTER_ASSIGN(Trials trials, TrialBench(*runner, pool, effort, cancel).run());
  trials.loadSeconds = loadSeconds;
  return trials;
}

} // namespace sinter::cli
