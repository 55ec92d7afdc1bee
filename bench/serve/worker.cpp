// What a model worker costs beside the steps it runs: the host's time of a step over a runner that
// computes nothing, and jobs of a model through a worker beside the scheduler alone.
//
// usage: bench_worker [MODEL [JOBS PROMPT ANSWER REPEAT]]
#include "host/device_choice.h"
#include "host/model_store.h"
#include "serve/worker/generation_engine.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace {

using namespace sinter;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kSteps = 3000;

double median(std::vector<double> values, double share = 0.5) {
  std::ranges::sort(values);
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

// Notes how long its caller took between two decode steps of all sequences.
class IdleRunner : public StepRunner {
public:
  explicit IdleRunner(const RunnerLimits &limits)
      : limits_(limits), logits_(size_t{limits.stepTokens} * limits.vocabSize) {}
  const RunnerLimits &limits() const override { return limits_; }
  Result<std::span<const float>> step(const Batch &batch) override {
    const bool full = batch.sequenceCount() == limits_.stepSequences;
    if (full && wasFull_)
      micros.push_back(std::chrono::duration<double, std::micro>(Clock::now() - ended_).count());
    wasFull_ = full;
    ended_ = Clock::now();
    return std::span<const float>(logits_).first(batch.logitRows.count() * limits_.vocabSize);
  }
  std::vector<double> micros;

private:
  RunnerLimits limits_;
  std::vector<float> logits_;
  Clock::time_point ended_;
  bool wasFull_ = false;
};

class CountingSink : public serve::AnswerSink {
public:
  explicit CountingSink(std::atomic<uint32_t> &left) : left_(left) {}
  bool onPiece(serve::AnswerPiece) override { return true; }
  void onEnd(Result<serve::AnswerSummary> end) override {
    if (!end)
      std::fprintf(stderr, "%s\n", end.error().toString().c_str());
    left_.fetch_sub(1);
    left_.notify_one();
  }

private:
  std::atomic<uint32_t> &left_;
};

void waitForNone(const std::atomic<uint32_t> &left) {
  for (uint32_t now = left.load(); now > 0; now = left.load())
    left.wait(now);
}

// Logits of 16 tokens, so that hardly any time of choosing is counted.
void measureStep(const Tokenizer &tokenizer, uint32_t sequences, uint32_t waiting) {
  RunnerLimits limits;
  limits.vocabSize = 16;
  limits.contextTokens = 8192;
  limits.stepTokens = 512;
  limits.stepSequences = sequences;
  limits.queryTile = 16;
  limits.pageRows = 64;
  IdleRunner runner(limits);
  PagePool pool = *PagePool::create(sequences * 128, 64);
  auto engine = serve::GenerationEngine::start(runner, pool, tokenizer, {.waiting = 4096});
  if (!engine)
    return;
  std::atomic<uint32_t> left = sequences + waiting;
  for (uint32_t i = 0; i < sequences + waiting; ++i) {
    serve::GenerationJob job{.prompt = std::vector<TokenId>(64, 1),
                             .maxTokens = i < sequences ? kSteps : 1,
                             .ignoreEndTokens = true,
                             .queue = std::to_string(i % 7),
                             .sink = std::make_shared<CountingSink>(left)};
    if (auto id = (*engine)->submit(std::move(job)); !id)
      std::fprintf(stderr, "%s\n", id.error().toString().c_str());
  }
  waitForNone(left);
  if (runner.micros.size() > 10)
    std::printf("%u sequences, %u waiting: %.1f us of the host between two steps (99 %%: %.1f)\n",
                sequences, waiting, median(runner.micros), median(runner.micros, 0.99));
}

struct Load {
  uint32_t jobs = 16, prompt = 128, answer = 128, repeat = 5;
};

std::vector<TokenId> promptOf(const Tokenizer &tokenizer, const Load &load, uint32_t number) {
  std::vector<TokenId> prompt;
  for (uint32_t i = 0; i < load.prompt; ++i)
    prompt.push_back(static_cast<TokenId>((1000 + number * 977 + i * 131) % tokenizer.size()));
  return prompt;
}

Result<host::OpenedModel> open(const std::string &name, const Load &load,
                               host::Observer &observer) {
  SINTER_ASSIGN(ModelFile file, host::openModelFile(name, observer));
  SINTER_ASSIGN(host::DeviceChoice choice, host::openDevice(std::nullopt, 0));
  host::ModelRequest request;
  request.context = std::max(1024u, load.prompt + load.answer);
  request.sequences = load.jobs;
  return host::openModel(std::move(file), std::move(choice.device), request, observer);
}

// With all prompts first, as whoever waits for all answers wants it, or in turns with decoding.
Result<double> secondsOfScheduler(Model &model, const Load &load, bool prefillFirst) {
  Scheduler scheduler(model.runner(), model.pages(), model.tokenizer(),
                      {.waiting = load.jobs, .prefillFirst = prefillFirst});
  const auto start = Clock::now();
  for (uint32_t i = 0; i < load.jobs; ++i)
    SINTER_TRY(scheduler.submit({.prompt = promptOf(model.tokenizer(), load, i),
                                 .maxTokens = load.answer,
                                 .ignoreEndTokens = true}));
  while (scheduler.step())
    ;
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Result<double> secondsOfWorker(serve::ModelWorker &worker, const Load &load) {
  std::atomic<uint32_t> left = load.jobs;
  const auto start = Clock::now();
  for (uint32_t i = 0; i < load.jobs; ++i)
    SINTER_TRY(worker.submit({.prompt = promptOf(worker.file().tokenizer(), load, i),
                              .maxTokens = load.answer,
                              .ignoreEndTokens = true,
                              .sink = std::make_shared<CountingSink>(left)}));
  waitForNone(left);
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class SilentObserver : public host::Observer {
public:
  void note(const std::string &) override {}
  const std::atomic<bool> &cancel() const override { return cancel_; }

private:
  std::atomic<bool> cancel_ = false;
};

Result<void> measureModel(const std::string &name, const Load &load) {
  SilentObserver observer;
  SINTER_ASSIGN(const host::OpenedModel alone, open(name, load, observer));
  SINTER_ASSIGN(host::OpenedModel served, open(name, load, observer));
  SINTER_ASSIGN(const auto worker, serve::ModelWorker::create(std::move(served)));
  const double tokens = double(load.jobs) * (load.prompt + load.answer);
  std::vector<double> first, turns, worked;
  for (uint32_t i = 0; i < load.repeat + 1; ++i) {
    SINTER_ASSIGN(const double ofFirst, secondsOfScheduler(*alone.model, load, true));
    SINTER_ASSIGN(const double ofTurns, secondsOfScheduler(*alone.model, load, false));
    SINTER_ASSIGN(const double ofWorker, secondsOfWorker(*worker, load));
    if (i == 0) // takes memory and prepares sizes
      continue;
    first.push_back(tokens / ofFirst);
    turns.push_back(tokens / ofTurns);
    worked.push_back(tokens / ofWorker);
  }
  std::printf("%u jobs of %u + %u tokens, tokens/s: scheduler with prefill first %.1f, in turns "
              "%.1f, worker %.1f\n",
              load.jobs, load.prompt, load.answer, median(first), median(turns), median(worked));
  return {};
}

VocabularyData letters() {
  VocabularyData data;
  constexpr std::string_view kLetters = "abcdefghijklmnop";
  for (size_t i = 0; i < kLetters.size(); ++i) {
    data.tokens.push_back(kLetters.substr(i, 1));
    data.types.push_back(1);
  }
  data.pre = "gpt-2";
  return data;
}

} // namespace

int main(int argc, char **argv) {
  const auto tokenizer = Tokenizer::create(letters());
  if (!tokenizer) {
    std::fprintf(stderr, "%s\n", tokenizer.error().toString().c_str());
    return 1;
  }
  for (const auto &[sequences, waiting] : {std::pair(16u, 0u), {256u, 0u}, {256u, 1024u}})
    measureStep(*tokenizer, sequences, waiting);
  if (argc < 2)
    return 0;
  Load load;
  uint32_t *const numbers[] = {&load.jobs, &load.prompt, &load.answer, &load.repeat};
  for (int i = 2; i < std::min(argc, 6); ++i)
    *numbers[i - 2] = std::max(1u, static_cast<uint32_t>(std::strtoul(argv[i], nullptr, 10)));
  if (const auto done = measureModel(argv[1], load); !done) {
    std::fprintf(stderr, "%s\n", done.error().toString().c_str());
    return 1;
  }
  return 0;
}
