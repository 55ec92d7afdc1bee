// The step thread of a model that gives embeddings: fills each step with texts of whatever jobs
// wait, the next text that of the queue that was served least.
#pragma once

#include "base/joining_thread.h"
#include "llm/fair_shares.h"
#include "serve/worker/worker.h"

#include <condition_variable>
#include <mutex>

namespace sinter::serve {

// What makes vectors and scores of pooled rows.
struct VectorHeads {
  EmbeddingHead dense;
  Result<Pooling> pooling;       // of vectors; an error is that of jobs that do not name one
  Result<EmbeddingHead> ranking; // an error is that of jobs that rank
  Result<Pooling> rankPooling;

  // As the model's file has them. Errors of EmbeddingHead::dense.
  static Result<VectorHeads> of(const GgufFile &file, const RunnerLimits &limits);
};

class VectorEngine {
public:
  // Borrows runner and pool, which are its thread's until it dies.
  static Result<std::unique_ptr<VectorEngine>>
  start(StepRunner &runner, PagePool &pages, VectorHeads heads, const WorkerOptions &options);
  ~VectorEngine() { stop(); }

  // As ModelWorker's.
  Result<JobId> submit(VectorJob job);
  void cancel(JobId id);
  WorkerState state() const;
  bool isLost() const;
  void stop();

private:
  struct Live {
    uint64_t number = 0;
    VectorJob job;
    EmbeddingOptions options;
    JobClock::time_point submitted = JobClock::now(), began{};
    // The step thread's.
    FairShare *share = nullptr;
    size_t next = 0; // text that goes into a step
    VectorAnswer answer;
    bool isLeft() const { return next < job.texts.size(); }
  };
  using LivePtr = std::unique_ptr<Live>;
  struct Part { // of a step: a text of a job
    Live *job;
    size_t text;
  };

  VectorEngine(StepRunner &runner, PagePool &pages, VectorHeads heads, const WorkerOptions &options)
      : runner_(runner), limits_(runner.limits()), pool_(pages), heads_(std::move(heads)),
        options_(options) {}
  Result<LivePtr> prepare(VectorJob job) const;

  void run();
  bool takeMail();
  std::vector<LivePtr>::iterator find(uint64_t number);
  void endExpired();
  Live *chooseNext(const EmbeddingOptions *like) const;
  void planStep();
  void runStep();
  void end(Live &job, Result<VectorAnswer> result);
  void endAll(const Status &error);
  void publish();

  StepRunner &runner_;
  const RunnerLimits limits_;
  PagePool &pool_;
  const VectorHeads heads_;
  const WorkerOptions options_;

  // The step thread's.
  FairShares queues_;
  std::vector<LivePtr> live_; // in the order of their numbers
  std::vector<LivePtr> takenJobs_;
  std::vector<uint64_t> takenCancels_;
  std::vector<Part> parts_;
  std::vector<TextTokens> texts_; // of the parts
  WorkerState counts_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<LivePtr> mailedJobs_;
  std::vector<uint64_t> mailedCancels_;
  bool stopping_ = false;
  uint64_t nextNumber_ = 1;
  uint64_t waiting_ = 0; // jobs that have not begun
  uint64_t accepted_ = 0, refused_ = 0;
  std::optional<Status> lost_;
  WorkerState state_; // as of the last step
  JoiningThread thread_;
};

} // namespace sinter::serve
