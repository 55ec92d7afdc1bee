// Threads that share the points of one launch after another: spinning within a step, parked between
// steps.
#pragma once

#include "base/status.h"

#include <atomic>
#include <memory>
#include <pthread.h>
#include <vector>

namespace sinter::hal {

// One caller at a time; the caller works as thread 0. Nothing but create() allocates or locks.
// Measured on two cores of a Sapphire Rapids: a launch within a step costs well below 1 us beside
// its work, one outside of a step the wake-up of the parked threads (about 20 us) on top.
class ThreadPool {
public:
  // `threads` counts the caller and is at least 1. Exhausted: the system gives no more threads.
  static Result<std::unique_ptr<ThreadPool>> create(uint32_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  uint32_t threads() const { return threads_; }

  // Calls body(context, thread, first, last) for disjoint ranges that cover [0, count), on any
  // threads and in any order, and returns when all calls have returned. `body` must not call the
  // pool.
  using Body = void (*)(void *context, uint32_t thread, int64_t first, int64_t last);
  void run(int64_t count, Body body, void *context);

  // Between the two, idle threads stay awake. Calls nest.
  void enterStep();
  void leaveStep();

private:
  struct Job {
    uint64_t count = 0;
    uint64_t chunk = 1;
    Body body = nullptr;
    void *context = nullptr;
  };
  struct Worker {
    ThreadPool *pool;
    uint32_t index;
    pthread_t handle;
  };

  explicit ThreadPool(uint32_t threads) : threads_(threads), workers_(threads) {}
  void workerLoop(uint32_t thread);
  void work(uint32_t thread);

  const uint32_t threads_;
  uint32_t started_ = 1; // threads that run, the caller among them
  uint32_t stepDepth_ = 0;
  bool stopping_ = false; // read by workers after signal_ told them
  std::vector<Worker> workers_;

  // Bit 0: a step is open. The rest counts jobs; a change of it starts the next one.
  alignas(64) std::atomic<uint32_t> signal_ = 0;
  Job job_; // beside signal_: a worker that sees the signal has the job's line too
  alignas(64) std::atomic<uint64_t> next_ = 0;
  alignas(64) std::atomic<uint32_t> busy_ = 0; // workers that have not finished the job
};

} // namespace sinter::hal
