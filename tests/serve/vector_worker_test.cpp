// Texts of many jobs through a runner that gives made-up embeddings.
#include "format/gguf_writer.h"
#include "llm/batch_memory.h"
#include "llm/embedder.h"
#include "serve/worker/vector_engine.h"

#include <gmock/gmock.h>

#include <future>

namespace sinter::serve {
namespace {

using testing::HasSubstr;
using Got = Result<VectorAnswer>;

constexpr uint32_t kWidth = 3;

// A row is a function of all tokens up to its own.
class RowRunner : public StepRunner {
public:
  RowRunner() {
    limits_.vocabSize = 100;
    limits_.contextTokens = limits_.stepTokens = 64;
    limits_.stepSequences = 8;
    limits_.queryTile = limits_.pageRows = 4;
    limits_.embeddingLength = kWidth;
  }
  const RunnerLimits &limits() const override { return limits_; }
  Result<std::span<const float>> step(const Batch &batch) override {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [&] { return open_; });
    sequences.push_back(batch.sequenceCount());
    if (failAt == std::ssize(sequences) - 1)
      return fail(failure, "the step failed");
    memory_.write(batch);
    rows_.clear();
    for (const int32_t token : batch.logitRows.tokens) {
      const auto tokens = memory_.tokensUpTo(batch, token);
      for (uint32_t i = 0; i < kWidth; ++i) {
        float value = 1;
        for (const TokenId id : tokens)
          value = value * 0.5f + static_cast<float>(id * (i + 1) % 17);
        rows_.push_back(value);
      }
    }
    return std::span<const float>(rows_);
  }
  void setOpen(bool open) {
    const std::lock_guard lock(mutex_);
    open_ = open;
    opened_.notify_all();
  }

  std::vector<int64_t> sequences; // of each step
  int64_t failAt = -1;
  Code failure = Code::Internal;

private:
  RunnerLimits limits_;
  BatchMemory memory_{4};
  std::vector<float> rows_;
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = true;
};

// No dense layers, no ranking head.
VectorHeads plainHeads() {
  const std::vector<uint8_t> none = [] {
    GgufWriter file;
    file.header(0, 1);
    file.text("general.architecture", "none");
    return file.bytes();
  }();
  auto file = GgufFile::parse(none);
  EXPECT_TRUE(file.has_value());
  return {*EmbeddingHead::dense(*file, kWidth), Pooling::Mean,
          fail(Code::NotFound, "no head that ranks"), Pooling::Last};
}

class VectorWorkerTest : public testing::Test {
protected:
  void start(const WorkerOptions &options = {}) {
    engine_ = std::move(*VectorEngine::start(runner_, pool_, plainHeads(), options));
  }
  struct Asked {
    std::shared_ptr<std::promise<Got>> promise = std::make_shared<std::promise<Got>>();
    std::shared_ptr<size_t> stepsAtEnd = std::make_shared<size_t>(0);
    Result<JobId> id;
  };
  Asked ask(VectorJob job) {
    Asked asked{.id = JobId{}};
    job.onEnd = [this, promise = asked.promise, steps = asked.stepsAtEnd](Got got) {
      *steps = runner_.sequences.size();
      promise->set_value(std::move(got));
    };
    asked.id = engine_->submit(std::move(job));
    return asked;
  }
  static Got answer(const Asked &asked) {
    if (!asked.id)
      return Fail(asked.id.error());
    auto future = asked.promise->get_future();
    if (future.wait_for(std::chrono::seconds(60)) != std::future_status::ready)
      return fail(Code::Timeout, "no answer");
    return future.get();
  }
  // The same text by embed() alone.
  static std::vector<float> alone(const TextTokens &text, const VectorJob &job) {
    RowRunner runner;
    PagePool pool = *PagePool::create(64, 4);
    std::vector<float> found;
    const auto done = embed(runner, pool, {&text, 1},
                            {job.pooling.value_or(Pooling::Mean), job.normalize, nullptr},
                            [&](size_t, std::span<const float> rows) -> Result<void> {
                              found.assign(rows.begin(), rows.end());
                              return {};
                            });
    EXPECT_TRUE(done.has_value());
    return found;
  }

  RowRunner runner_;
  PagePool pool_ = *PagePool::create(64, 4);
  std::unique_ptr<VectorEngine> engine_;
};

VectorJob jobOf(size_t texts, TokenId first) {
  VectorJob job;
  for (size_t i = 0; i < texts; ++i)
    job.texts.push_back(TextTokens(1 + i % 5, (first + static_cast<TokenId>(i)) % 100));
  return job;
}

TEST_F(VectorWorkerTest, TextsOfSeveralJobsShareStepsAndGetWhatTheyGetAlone) {
  start();
  runner_.setOpen(false);
  std::vector<VectorJob> jobs;
  std::vector<Asked> asked;
  for (TokenId first = 0; first < 6; ++first) {
    VectorJob job = jobOf(7, first);
    job.normalize = first != 5;
    if (first == 4)
      job.pooling = Pooling::None;
    jobs.push_back(job);
    asked.push_back(ask(job));
  }
  runner_.setOpen(true);
  for (size_t i = 0; i < jobs.size(); ++i) {
    const Got got = answer(asked[i]);
    ASSERT_TRUE(got.has_value()) << got.error().toString();
    ASSERT_EQ(got->rows.size(), 7u);
    for (size_t text = 0; text < 7; ++text)
      EXPECT_EQ(got->rows[text], alone(jobs[i].texts[text], jobs[i]));
  }
  EXPECT_LT(runner_.sequences.size(), 20u);
  EXPECT_EQ(engine_->state().finished, 6u);
  EXPECT_EQ(pool_.freePages(), 64u);
}

TEST_F(VectorWorkerTest, ALargeJobDoesNotKeepASmallOneWaiting) {
  start();
  runner_.setOpen(false);
  VectorJob large = jobOf(500, 1), small = jobOf(2, 3);
  large.queue = "large";
  small.queue = "small";
  const Asked first = ask(large), second = ask(small);
  runner_.setOpen(true);
  ASSERT_TRUE(answer(second).has_value());
  ASSERT_TRUE(answer(first).has_value());
  EXPECT_LE(*second.stepsAtEnd, 3u);
  EXPECT_GT(*first.stepsAtEnd, 50u);
}

TEST_F(VectorWorkerTest, WhatMakesNoSenseIsRefusedWithTheNumbers) {
  start();
  EXPECT_THAT(ask({}).id.error().message, HasSubstr("no text"));
  VectorJob job = jobOf(2, 1);
  job.texts[1] = TextTokens(65, 1);
  EXPECT_THAT(ask(job).id.error().message, HasSubstr("text 2 has 65 tokens"));
  job.texts[1] = {1, 100};
  EXPECT_THAT(ask(job).id.error().message, HasSubstr("token 100, expected one below 100"));
  job = jobOf(1, 1);
  job.ranks = true;
  EXPECT_THAT(ask(job).id.error().message, HasSubstr("no head that ranks"));
  EXPECT_EQ(engine_->state().refused, 4u);
}

TEST_F(VectorWorkerTest, AFailedStepEndsItsJobsAndALostDeviceAll) {
  for (const Code code : {Code::Internal, Code::DeviceLost}) {
    runner_.sequences.clear();
    runner_.failure = code;
    runner_.failAt = 0;
    start();
    runner_.setOpen(false);
    const Asked first = ask(jobOf(2, 1));
    VectorJob other = jobOf(2, 3);
    other.pooling = Pooling::First; // in a step of its own
    const Asked second = ask(other);
    runner_.setOpen(true);
    EXPECT_EQ(answer(first).error().code, code);
    EXPECT_EQ(answer(second).has_value(), code == Code::Internal);
    const Asked third = ask(jobOf(1, 1));
    EXPECT_EQ(third.id.has_value(), code == Code::Internal);
    EXPECT_EQ(answer(third).has_value(), code == Code::Internal); // before the next runner fails
  }
}

TEST_F(VectorWorkerTest, CancelledAndLeftJobsEndSo) {
  start();
  runner_.setOpen(false);
  const Asked running = ask(jobOf(300, 1)), left = ask(jobOf(300, 1));
  engine_->cancel(*running.id);
  runner_.setOpen(true);
  EXPECT_EQ(answer(running).error().code, Code::Cancelled);
  engine_.reset();
  const Got got = answer(left);
  EXPECT_TRUE(got.has_value() || got.error().code == Code::Cancelled);
  EXPECT_EQ(pool_.freePages(), 64u);
}

} // namespace
} // namespace sinter::serve
