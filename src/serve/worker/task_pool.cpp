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

uint64_t TaskPool::waiting() const {
  const std::lock_guard lock(mutex_);
  return tasks_.size();
}

void TaskPool::run() {
  for (;;) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      hasTask_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
      if (tasks_.empty())
        return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

} // namespace sinter::serve
