// What the tests of workers share: sinks that note what they hear, and an engine over a runner
// without a model.
#pragma once

#include "llm/hash_runner.h"
#include "llm/token_test_data.h"
#include "serve/worker/generation_engine.h"

#include <gmock/gmock.h>

#include <condition_variable>
#include <mutex>

namespace sinter::serve {

// Any thread may wait for its end.
class NotingSink : public AnswerSink {
public:
  explicit NotingSink(size_t mostPieces = SIZE_MAX) : mostPieces_(mostPieces) {}

  bool onPiece(AnswerPiece piece) override {
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(end_.has_value()) << "a piece after the end";
    if (pieces_.size() == mostPieces_)
      return false;
    pieces_.push_back(std::move(piece));
    changed_.notify_all();
    return true;
  }
  void onEnd(Result<AnswerSummary> end) override {
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(end_.has_value()) << "ended twice";
    end_ = std::move(end);
    changed_.notify_all();
  }

  const Result<AnswerSummary> &waitForEnd() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, std::chrono::seconds(60), [&] { return end_.has_value(); }));
    if (!end_)
      end_ = fail(Code::Timeout, "the job has not ended");
    return *end_;
  }
  void waitForPiece() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60),
                                  [&] { return end_.has_value() || !pieces_.empty(); }));
  }
  // After the end.
  std::string text() const {
    std::string all;
    for (const AnswerPiece &piece : pieces_)
      all += piece.text;
    return all;
  }
  std::vector<TokenId> tokens() const {
    std::vector<TokenId> all;
    for (const AnswerPiece &piece : pieces_)
      all.insert(all.end(), piece.tokens.begin(), piece.tokens.end());
    return all;
  }
  const std::vector<AnswerPiece> &pieces() const { return pieces_; }

private:
  const size_t mostPieces_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<AnswerPiece> pieces_;
  std::optional<Result<AnswerSummary>> end_;
};

// A HashRunner whose steps wait at a gate, and that an engine's thread may use.
class GatedRunner : public HashRunner {
public:
  using HashRunner::HashRunner;
  Result<std::span<const float>> step(const Batch &batch) override {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [&] { return open_; });
    lock.unlock();
    return HashRunner::step(batch);
  }
  void setOpen(bool open) {
    const std::lock_guard lock(mutex_);
    open_ = open;
    opened_.notify_all();
  }

private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = true;
};

// 9 tokens as smallVocabulary() has them, a context of 64, steps of 8 rows and 4 sequences.
inline RunnerLimits smallLimits() {
  RunnerLimits limits{9, 64, 8, 4, 4, 4, {{64}}};
  limits.phasesAgree = true;
  return limits;
}

class WorkerDesk {
public:
  explicit WorkerDesk(const RunnerLimits &limits = smallLimits(), const WorkerOptions &options = {})
      : runner(limits),
        pool(*PagePool::create(limits.kvGroups, limits.pageRows, limits.stateSlots)),
        engine(std::move(*GenerationEngine::start(runner, pool, tokenizer, options))) {}

  struct Submitted {
    std::shared_ptr<NotingSink> sink;
    Result<JobId> id;
  };
  Submitted submit(GenerationJob job, size_t mostPieces = SIZE_MAX) {
    auto sink = std::make_shared<NotingSink>(mostPieces);
    job.sink = sink;
    return {sink, engine->submit(std::move(job))};
  }
  std::shared_ptr<NotingSink> mustSubmit(GenerationJob job) {
    Submitted submitted = submit(std::move(job));
    EXPECT_TRUE(submitted.id.has_value()) << submitted.id.error().toString();
    return submitted.sink;
  }

  Tokenizer tokenizer = *Tokenizer::create(smallVocabulary());
  GatedRunner runner;
  PagePool pool;
  std::unique_ptr<GenerationEngine> engine;
};

} // namespace sinter::serve
