// A queue under a lock: a task takes far longer than the lock is held.
#include "serve/worker/task_pool.h"

namespace sinter::serve {

TaskPool::TaskPool(uint32_t threads, uint32_t mostWaiting) : mostWaiting_(mostWaiting) {
  for (uint32_t i = 0; i < threads; ++i)
    threads_.emplace_back([this] { run(); });
}

TaskPool::~TaskPool() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  hasTask_.notify_all();
  for (std::thread &thread : threads_)
    thread.join();
}

bool TaskPool::post(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (tasks_.size() >= mostWaiting_)
      return false;
    tasks_.push_back(std::move(task));
  }
  hasTask_.notify_one();
  return true;
}

void TaskPool::postAlways(Task task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  hasTask_.notify_one();
}

void TaskPool::drain() {
  std::unique_lock lock(mutex_);
  isIdle_.wait(lock, [this] { return tasks_.empty() && running_ == 0; });
}

void TaskPool::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    hasTask_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
    if (tasks_.empty())
      return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    ++running_;
    lock.unlock();
    task();
    task = nullptr; // what it holds goes without the lock
    lock.lock();
    --running_;
    if (tasks_.empty() && running_ == 0)
      isIdle_.notify_all();
  }
}

} // namespace sinter::serve
