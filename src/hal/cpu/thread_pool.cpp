// The pool's fork and join, and the threads' waiting.
#include "hal/cpu/thread_pool.h"

#include "base/check.h"

#include <algorithm>
#include <pthread.h>
#include <string>
#include <unistd.h>

namespace sinter::hal {
namespace {

// Points go out in units where there are more than a share can count.
int64_t pointsOfUnit(int64_t count) {
  return (count - 1) / WorkShare::kMostUnits + 1;
}

// A binding that the system refuses costs speed at most.
void bindTo(pthread_t thread, const NumaNode &node) {
  cpu_set_t *set = CPU_ALLOC(node.back() + 1);
  if (!set)
    return;
  const size_t bytes = CPU_ALLOC_SIZE(node.back() + 1);
  CPU_ZERO_S(bytes, set);
  for (const uint32_t cpu : node)
    CPU_SET_S(cpu, bytes, set);
  (void)pthread_setaffinity_np(thread, bytes, set);
  CPU_FREE(set);
}

// What a waiting thread fetches stays in its own cache until it is read.
uint64_t mostFetchedBytes() {
  const long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return cache > 0 ? static_cast<uint64_t>(cache) / 2 : uint64_t(128) << 10;
}

} // namespace

ThreadPool::ThreadPool(uint32_t threads, size_t nodes)
    : threads_(threads), workers_(threads), nodes_(nodes), ahead_(mostFetchedBytes()) {}

Result<std::unique_ptr<ThreadPool>> ThreadPool::create(uint32_t threads,
                                                       const std::vector<NumaNode> &nodes) {
  SINTER_CHECK(threads >= 1);
  std::unique_ptr<ThreadPool> pool(new ThreadPool(threads, std::max<size_t>(nodes.size(), 1)));
  SINTER_TRY(pool->start(nodes));
  return pool;
}

Result<void> ThreadPool::start(const std::vector<NumaNode> &nodes) {
  const std::vector<uint32_t> counts =
      nodes.empty() ? std::vector<uint32_t>{threads_} : threadsOfNodes(nodes, threads_);
  for (size_t i = 0; i < nodes_.size(); ++i)
    nodes_[i].lastThread = (i ? nodes_[i - 1].lastThread : 0) + counts[i];
  placeAhead();
  for (uint32_t i = 1; i < threads_; ++i) {
    Worker &worker = workers_[i];
    worker.pool = this;
    worker.index = i;
    auto body = [](void *argument) -> void * {
      auto *self = static_cast<Worker *>(argument);
      self->pool->workerLoop(self->index);
      return nullptr;
    };
    if (pthread_create(&worker.handle, nullptr, body, &worker) != 0)
      return fail(Code::Exhausted, "the system gave " + std::to_string(i) + " threads, expected " +
                                       std::to_string(threads_));
    started_ = i + 1;
    if (nodes.size() > 1)
      bindTo(worker.handle, nodes[nodeOf(i)]);
  }
  return {};
}

// Each thread's first piece of a job, where they come in their order.
void ThreadPool::placeAhead() {
  uint32_t thread = 0;
  for (const Node &node : nodes_) {
    WorkShare share;
    const auto part = [&](uint32_t threads) {
      return static_cast<uint32_t>(uint64_t{WorkShare::kMostUnits} * threads / threads_);
    };
    share.open(0, part(thread), part(node.lastThread));
    for (uint64_t seen = share.look(); thread < node.lastThread; ++thread, seen = share.look()) {
      const WorkShare::Piece piece = WorkShare::pieceOf(seen, threads_);
      share.take(seen, piece);
      constexpr uint32_t kShare = UINT32_MAX / WorkShare::kMostUnits;
      workers_[thread].ahead.from = piece.first * kShare;
      workers_[thread].ahead.to = piece.last * kShare;
    }
  }
}

ThreadPool::~ThreadPool() {
  signal_.setBits(kStopping);
  signal_.wake(threads_);
  for (uint32_t i = 1; i < started_; ++i)
    pthread_join(workers_[i].handle, nullptr);
}

size_t ThreadPool::nodeOf(uint32_t thread) const {
  size_t node = 0;
  while (thread >= nodes_[node].lastThread)
    ++node;
  return node;
}

void ThreadPool::enterStep() {
  if (stepDepth_++ > 0 || threads_ == 1)
    return;
  signal_.setBits(kStepOpen);
  signal_.wake(threads_);
}

void ThreadPool::leaveStep() {
  SINTER_CHECK(stepDepth_ > 0);
  if (--stepDepth_ == 0)
    signal_.clearBits(kStepOpen);
}

void ThreadPool::run(int64_t count, Body body, void *context) {
  if (count <= 0)
    return;
  if (threads_ == 1 || count == 1)
    return body(context, 0, 0, count);
  enterStep();
  post(count, body, context);
  work(0);
  await();
  leaveStep();
}

// Nobody holds a piece of the job before, so nobody who still reads it will get one.
void ThreadPool::post(int64_t count, Body body, void *context) {
  const int64_t unit = pointsOfUnit(count);
  const auto units = static_cast<uint32_t>((count - 1) / unit + 1);
  job_.count.store(count, std::memory_order_relaxed);
  job_.unit.store(unit, std::memory_order_relaxed);
  job_.body.store(body, std::memory_order_relaxed);
  job_.context.store(context, std::memory_order_relaxed);
  left_.store(units);
  ++generation_;
  uint32_t first = 0;
  for (Node &node : nodes_) {
    const auto end = static_cast<uint32_t>(uint64_t{units} * node.lastThread / threads_);
    node.share.open(generation_, first, end);
    first = end;
  }
  signal_.add(kJob);
  signal_.wake(units - 1);
}

void ThreadPool::await() {
  bool slept = false;
  for (uint32_t left; (left = left_.load()) != 0;)
    if (!ahead_.fetchSome(workers_[0].ahead) && !patience_.spin()) {
      left_.sleepWhile(left);
      slept = true;
    }
  slept ? patience_.endedAsleep() : patience_.endedAwake();
}

// The node's own part first, then what others have left.
void ThreadPool::work(uint32_t thread) {
  const size_t own = nodeOf(thread);
  for (size_t i = 0; i < nodes_.size(); ++i)
    work(thread, nodes_[(own + i) % nodes_.size()].share);
}

void ThreadPool::work(uint32_t thread, WorkShare &share) {
  for (uint64_t seen = share.look();;) {
    const WorkShare::Piece piece = WorkShare::pieceOf(seen, threads_);
    if (piece.empty())
      return;
    const int64_t count = job_.count.load(std::memory_order_relaxed);
    const int64_t unit = job_.unit.load(std::memory_order_relaxed);
    const Body body = job_.body.load(std::memory_order_relaxed);
    void *context = job_.context.load(std::memory_order_relaxed);
    if (!share.take(seen, piece))
      continue;
    body(context, thread, piece.first * unit, std::min(piece.last * unit, count));
    if (left_.subtract(piece.units()) == piece.units())
      left_.wake(1);
    seen = share.look();
  }
}

void ThreadPool::workerLoop(uint32_t thread) {
  uint32_t seen = 0;
  Patience patience;
  bool slept = false;
  for (;;) {
    const uint32_t signal = signal_.load();
    if (signal & kStopping)
      return;
    if (signal / kJob != seen) {
      seen = signal / kJob;
      slept ? patience.endedAsleep() : patience.endedAwake();
      slept = false;
      work(thread);
    } else if (!(signal & kStepOpen)) {
      signal_.sleepWhile(signal); // there is nothing to learn between steps
      patience.forget();
      slept = false;
    } else if (!ahead_.fetchSome(workers_[thread].ahead) && !patience.spin()) {
      signal_.sleepWhile(signal);
      slept = true;
    }
  }
}

} // namespace sinter::hal
