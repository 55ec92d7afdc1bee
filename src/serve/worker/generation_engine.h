// The step thread of a model that generates: takes jobs from its mailbox into a scheduler, runs
// steps while there is something to do, and hands what each gave to the delivery thread.
#pragma once

#include "serve/worker/delivery.h"
#include "serve/worker/task_pool.h"
#include "serve/worker/worker.h"

#include <unordered_map>

namespace sinter::serve {

class GenerationEngine {
public:
  // Borrows all that it is given. What is for one thread belongs to the engine's until it dies.
  static Result<std::unique_ptr<GenerationEngine>> start(StepRunner &runner, PagePool &pages,
                                                         const Tokenizer &tokenizer,
                                                         const WorkerOptions &options);
  ~GenerationEngine() { stop(); }

  // As ModelWorker's.
  Result<JobId> submit(GenerationJob job);
  uint32_t retrySeconds(const std::string &queue) const;
  void cancel(JobId id);
  WorkerState state() const;
  bool isLost() const;
  void stop();

private:
  struct NewJob {
    std::unique_ptr<LiveJob> job;
    Request request;
  };
  struct Mail {
    std::vector<NewJob> jobs;
    std::vector<uint64_t> cancelled; // numbers of jobs, some of which have ended
    bool empty() const { return jobs.empty() && cancelled.empty(); }
  };

  GenerationEngine(StepRunner &runner, PagePool &pages, const Tokenizer &tokenizer,
                   const WorkerOptions &options);
  Result<NewJob> prepare(GenerationJob &job) const;
  Result<Request> requestOf(GenerationJob &job) const;
  Result<void> checkFits(const Request &request) const;

  void run();
  bool takeMail();
  void readMail();
  void accept(NewJob added);
  void connect(Request &request, LiveJob &job);
  void end(LiveJob &job, Result<Generation> result);
  void endAll();
  void publish();
  void measureStep(double seconds);

  const RunnerLimits limits_;
  const PagePool &pool_;
  const Tokenizer &tokenizer_;
  const WorkerOptions options_;
  // Makes the masks of constraints while steps run.
  mutable TaskPool maskTasks_{1, UINT32_MAX};

  // The step thread's.
  Scheduler scheduler_;
  std::unordered_map<uint64_t, std::unique_ptr<LiveJob>> live_;
  Mail taken_;
  uint64_t promptTokens_ = 0;
  uint64_t measuredTokens_ = 0; // of steps so far

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  Mail mail_;
  bool stopping_ = false;
  uint64_t nextNumber_ = 1;
  Admission admission_; // of jobs that have not begun
  std::optional<Status> lost_;
  WorkerState state_; // but for what the delivery thread counts

  std::unique_ptr<Delivery> delivery_;
  JoiningThread thread_;
};

} // namespace sinter::serve
