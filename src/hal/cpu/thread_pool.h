// Threads that share the points of one launch after another: awake within a step, parked between
// steps.
#pragma once

#include "base/status.h"
#include "hal/cpu/numa.h"
#include "hal/cpu/read_ahead.h"
#include "hal/cpu/waiting.h"
#include "hal/cpu/work_share.h"

#include <deque>
#include <memory>
#include <pthread.h>
#include <vector>

namespace sinter::hal {

// One caller at a time; the caller works as thread 0. Nothing but create() allocates or locks.
//
// Each thread, or a few neighbours of many, has a part of every job's points, and takes of others'
// when its own is done: the same part each time, so that what a job wrote lies in the caches, and
// in the memory, of those who read it in the same order. On two cores of a Zen 4 that share a cache
// 512 rows that the job before wrote are read and written in 0.98 of the time that they take where
// threads come as they may.
// Pieces shrink with what the whole job has left, whosever part they are of.
// A job is done when its points are, whoever did them: a thread that has lost its core delays a job
// by the piece that it holds, and not at all where it holds none. Whoever waits longer than others
// usually take sleeps, so that its core is free for the thread that it waits for.
// Measured on two cores of a Sapphire Rapids: bench/results/thread_pool.json.
class ThreadPool {
public:
  // `threads` counts the caller and is at least 1. With several nodes, each has its part of the
  // threads, which but for the caller are bound to its processors. Exhausted: the system gives no
  // more threads.
  static Result<std::unique_ptr<ThreadPool>> create(uint32_t threads,
                                                    const std::vector<NumaNode> &nodes = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  uint32_t threads() const { return threads_; }

  // Calls body(context, thread, first, last) for disjoint ranges that cover [0, count), on any
  // threads and in any order, and returns when all calls have returned. `body` must not call the
  // pool.
  using Body = void (*)(void *context, uint32_t thread, int64_t first, int64_t last);
  void run(int64_t count, Body body, void *context);

  // A job to come reads these bytes in the order of its points: threads that wait for others or for
  // a job fetch some. Only advice.
  void expect(std::span<const uint8_t> bytes) { ahead_.expect(bytes); }

  // Between the two, idle threads stay awake. Calls nest.
  void enterStep();
  void leaveStep();

private:
  // What WorkShare lets threads read while it may be overwritten.
  struct Job {
    std::atomic<int64_t> count = 0;
    std::atomic<int64_t> unit = 1; // points of a unit
    std::atomic<Body> body = nullptr;
    std::atomic<void *> context = nullptr;
  };
  struct alignas(64) Worker {
    ThreadPool *pool;
    uint32_t index;
    pthread_t handle;
    ReadAhead::Place ahead;
  };
  // Threads [firstThread, lastThread) of a node and their part of jobs.
  struct Part {
    size_t node;
    uint32_t firstThread, lastThread;
    WorkShare share;

    Part(size_t node, uint32_t firstThread, uint32_t lastThread)
        : node(node), firstThread(firstThread), lastThread(lastThread) {}
    uint32_t threads() const { return lastThread - firstThread; }
  };

  explicit ThreadPool(uint32_t threads);
  Result<void> start(const std::vector<NumaNode> &nodes);
  void divide(const std::vector<NumaNode> &nodes);
  void post(int64_t count, Body body, void *context);
  void await();
  void workerLoop(uint32_t thread);
  void placeAhead();
  void work(uint32_t thread, uint32_t generation);
  void work(uint32_t thread, uint32_t generation, Part &part);
  size_t partOf(uint32_t thread) const;

  const uint32_t threads_;
  uint32_t started_ = 1; // threads that run, the caller among them
  uint32_t stepDepth_ = 0;
  uint32_t generation_ = 0;
  Patience patience_; // the caller's
  std::vector<Worker> workers_;
  std::deque<Part> parts_; // by thread

  // Whether a step is open, whether the pool stops, and jobs counted.
  static constexpr uint32_t kStepOpen = 1, kStopping = 2, kJob = 4;
  alignas(64) WaitWord signal_;
  Job job_;                   // beside signal_: who sees the signal has the job's line too
  alignas(64) WaitWord left_; // units of the job that are not done
  alignas(64) ReadAhead ahead_;
};

} // namespace sinter::hal
