// Host time of a step: planning it, building its batch, taking its tokens. The runner computes
// nothing, and one token is the likeliest by a vocabulary of one word, so that no time of choosing
// is counted.
#include "llm/scheduler.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace {

using namespace sinter;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kSteps = 2000;
constexpr uint32_t kPrompt = 512;

class IdleRunner : public StepRunner {
public:
  explicit IdleRunner(const RunnerLimits &limits)
      : limits_(limits), logits_(size_t{limits.stepTokens} * limits.vocabSize) {}
  const RunnerLimits &limits() const override { return limits_; }
  Result<std::span<const float>> step(const Batch &batch) override {
    return std::span<const float>(logits_).first(batch.logitRows.count());
  }

private:
  RunnerLimits limits_;
  std::vector<float> logits_;
};

struct Case {
  uint32_t sequences, context, waiting;
};

double percentile(std::vector<double> &times, double share) {
  std::sort(times.begin(), times.end());
  return times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))];
}

void print(const char *what, std::vector<double> &times) {
  const double middle = percentile(times, 0.5), late = percentile(times, 0.99);
  std::printf("  %s %6.1f (99 %%: %6.1f)", what, middle, late);
}

void measure(const Case &one, const Tokenizer &tokenizer) {
  const uint32_t pages = one.context / 64 * one.sequences;
  IdleRunner runner({1, one.context, 512, 512, 16, 64, {{pages}}});
  PagePool pool = *PagePool::create(pages, 64);
  Scheduler scheduler(runner, pool, tokenizer,
                      {.sequences = one.sequences, .waiting = one.sequences + one.waiting});
  uint64_t taken = 0;
  const std::vector<TokenId> prompt(kPrompt, 0);
  for (uint32_t i = 0; i < one.sequences + one.waiting; ++i)
    (void)scheduler.submit({.prompt = prompt,
                            .maxTokens = kSteps + 2 * one.sequences * kPrompt / 128,
                            .ignoreEndTokens = true,
                            .onToken = [&](TokenId) -> Result<void> {
                              ++taken;
                              return {};
                            }});
  std::vector<double> prompts, generated;
  while (generated.size() < kSteps) {
    const auto before = scheduler.counters();
    const Clock::time_point start = Clock::now();
    if (!scheduler.step())
      break;
    const double time = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    const auto &after = scheduler.counters();
    if (after.prefillSteps > before.prefillSteps)
      prompts.push_back(time);
    else if (after.rows - before.rows == one.sequences)
      generated.push_back(time);
  }
  if (prompts.empty() || generated.empty())
    return;
  std::printf("%4u sequences of at most %6u tokens, %4u waiting:", one.sequences, one.context,
              one.waiting);
  print("generated", generated);
  print(" prompts", prompts);
  std::printf("\n");
}

} // namespace

int main() {
  VocabularyData words;
  words.tokens = {"a"};
  words.types = {1};
  words.pre = "gpt-2";
  const auto tokenizer = Tokenizer::create(words);
  if (!tokenizer) {
    std::fprintf(stderr, "%s\n", tokenizer.error().toString().c_str());
    return 1;
  }
  std::printf("microseconds a step: median of the host's time\n");
  for (const Case &one : {Case{1, 8192, 0}, Case{8, 8192, 0}, Case{64, 8192, 0}, Case{256, 8192, 0},
                          Case{256, 8192, 1024}, Case{256, 131072, 0}})
    measure(one, *tokenizer);
}
