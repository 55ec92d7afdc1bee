// The pool's fork and join on two atomics, and the threads' waiting.
#include "hal/cpu/thread_pool.h"

#include "base/check.h"

#include <algorithm>
#include <sched.h>
#include <string>

namespace sinter::hal {
namespace {

// Pauses before a waiting thread offers its core to others: some 20 us, longer than the gap between
// two launches of a step and far shorter than a time slice of whoever took the core of the thread
// that is waited for.
constexpr uint32_t kSpins = 500;

// Chunks for each thread: enough to even out threads that lose their core for a while.
constexpr uint64_t kChunksPerThread = 4;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

// One wait of a loop on an atomic.
class Backoff {
public:
  void wait() {
    if (spins_ < kSpins) {
      ++spins_;
      pause();
    } else {
      sched_yield();
    }
  }

private:
  uint32_t spins_ = 0;
};

} // namespace

Result<std::unique_ptr<ThreadPool>> ThreadPool::create(uint32_t threads) {
  SINTER_CHECK(threads >= 1);
  std::unique_ptr<ThreadPool> pool(new ThreadPool(threads));
  for (uint32_t i = 1; i < threads; ++i) {
    Worker &worker = pool->workers_[i];
    worker.pool = pool.get();
    worker.index = i;
    auto body = [](void *argument) -> void * {
      auto *self = static_cast<Worker *>(argument);
      self->pool->workerLoop(self->index);
      return nullptr;
    };
    if (pthread_create(&worker.handle, nullptr, body, &worker) != 0)
      return fail(Code::Exhausted, "the system gave " + std::to_string(i) + " threads, expected " +
                                       std::to_string(threads));
    pool->started_ = i + 1;
  }
  return pool;
}

ThreadPool::~ThreadPool() {
  stopping_ = true;
  signal_.fetch_add(2, std::memory_order_release);
  signal_.notify_all();
  for (uint32_t i = 1; i < started_; ++i)
    pthread_join(workers_[i].handle, nullptr);
}

void ThreadPool::enterStep() {
  if (stepDepth_++ > 0 || threads_ == 1)
    return;
  signal_.fetch_or(1, std::memory_order_release);
  signal_.notify_all();
}

void ThreadPool::leaveStep() {
  SINTER_CHECK(stepDepth_ > 0);
  if (--stepDepth_ == 0)
    signal_.fetch_and(~uint32_t(1), std::memory_order_release);
}

void ThreadPool::run(int64_t count, Body body, void *context) {
  if (count <= 0)
    return;
  if (threads_ == 1 || count == 1)
    return body(context, 0, 0, count);
  enterStep();
  const auto total = static_cast<uint64_t>(count);
  job_ = {total, std::max<uint64_t>(1, total / (threads_ * kChunksPerThread)), body, context};
  next_.store(job_.chunk * threads_, std::memory_order_relaxed);
  busy_.store(threads_ - 1, std::memory_order_relaxed);
  signal_.fetch_add(2, std::memory_order_release);
  work(0);
  for (Backoff backoff; busy_.load(std::memory_order_acquire) != 0;)
    backoff.wait();
  leaveStep();
}

void ThreadPool::work(uint32_t thread) {
  const Job job = job_;
  for (uint64_t first = thread * job.chunk; first < job.count;) {
    const uint64_t last = std::min(first + job.chunk, job.count);
    job.body(job.context, thread, static_cast<int64_t>(first), static_cast<int64_t>(last));
    first = next_.fetch_add(job.chunk, std::memory_order_relaxed);
  }
}

void ThreadPool::workerLoop(uint32_t thread) {
  uint32_t seen = 0;
  Backoff backoff;
  for (;;) {
    const uint32_t signal = signal_.load(std::memory_order_acquire);
    if (signal >> 1 != seen) {
      if (stopping_)
        return;
      seen = signal >> 1;
      work(thread);
      busy_.fetch_sub(1, std::memory_order_release);
      backoff = Backoff();
    } else if ((signal & 1) == 0) {
      signal_.wait(signal, std::memory_order_acquire);
      backoff = Backoff();
    } else {
      backoff.wait();
    }
  }
}

} // namespace sinter::hal
