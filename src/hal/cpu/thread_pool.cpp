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

// So many parts at most have the threads of a node: whoever posts a job writes to each, and whoever
// ends its own looks at all.
constexpr uint32_t kMostPartsOfNode = 16;

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

ThreadPool::ThreadPool(uint32_t threads)
    : threads_(threads), workers_(threads), ahead_(mostFetchedBytes()) {}

Result<std::unique_ptr<ThreadPool>> ThreadPool::create(uint32_t threads,
                                                       const std::vector<NumaNode> &nodes) {
  SINTER_CHECK(threads >= 1);
  std::unique_ptr<ThreadPool> pool(new ThreadPool(threads));
  SINTER_TRY(pool->start(nodes));
  return pool;
}

void ThreadPool::divide(const std::vector<NumaNode> &nodes) {
  const std::vector<uint32_t> counts =
      nodes.empty() ? std::vector<uint32_t>{threads_} : threadsOfNodes(nodes, threads_);
  uint32_t first = 0;
  for (size_t node = 0; node < counts.size(); ++node) {
    const uint32_t parts = std::min(counts[node], kMostPartsOfNode);
    for (uint32_t part = 0; part < parts; ++part)
      parts_.emplace_back(node, first + counts[node] * part / parts,
                          first + counts[node] * (part + 1) / parts);
    first += counts[node];
  }
}

Result<void> ThreadPool::start(const std::vector<NumaNode> &nodes) {
  divide(nodes);
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
      bindTo(worker.handle, nodes[parts_[partOf(i)].node]);
  }
  return {};
}

// Each thread's first piece of a job, where they come in their order.
void ThreadPool::placeAhead() {
  const auto unitsOf = [&](uint32_t threads) {
    return static_cast<uint32_t>(uint64_t{WorkShare::kMostUnits} * threads / threads_);
  };
  for (const Part &part : parts_) {
    WorkShare share;
    share.open(0, unitsOf(part.firstThread), unitsOf(part.lastThread));
    for (uint32_t thread = part.firstThread; thread < part.lastThread; ++thread) {
      uint64_t seen = share.look();
      const WorkShare::Piece piece = WorkShare::pieceOf(seen, part.threads());
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

size_t ThreadPool::partOf(uint32_t thread) const {
  size_t part = 0;
  while (thread >= parts_[part].lastThread)
    ++part;
  return part;
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
  work(0, generation_);
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
  for (Part &part : parts_) {
    const auto end = static_cast<uint32_t>(uint64_t{units} * part.lastThread / threads_);
    part.share.open(generation_, first, end);
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

// Its own part first, then what others have left: those of its node before those of others.
void ThreadPool::work(uint32_t thread, uint32_t generation) {
  const size_t own = partOf(thread);
  for (const bool near : {true, false})
    for (size_t i = 0; i < parts_.size(); ++i) {
      Part &part = parts_[(own + i) % parts_.size()];
      if ((part.node == parts_[own].node) == near)
        work(thread, generation, part);
    }
}

// Whoever still looks when the next job is posted leaves it to those whose parts these are.
void ThreadPool::work(uint32_t thread, uint32_t generation, Part &part) {
  WorkShare &share = part.share;
  for (uint64_t seen = share.look(); WorkShare::isOf(seen, generation);) {
    const uint32_t most = left_.load() / (2 * threads_);
    const WorkShare::Piece piece = WorkShare::pieceOf(seen, part.threads(), most);
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
      work(thread, seen);
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
