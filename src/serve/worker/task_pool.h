// Threads for what must not run on an I/O thread: templates, tokenizers, large JSON.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace sinter::serve {

// All calls are safe from any thread; none but drain() and the destructor waits.
class TaskPool {
public:
  using Task = std::function<void()>;

  TaskPool(uint32_t threads, uint32_t mostWaiting);
  // Runs what waits, then ends. Not on a thread of the pool.
  ~TaskPool();
  TaskPool(const TaskPool &) = delete;
  TaskPool &operator=(const TaskPool &) = delete;

  // False: as many wait as may, and the task was not taken.
  [[nodiscard]] bool post(Task task);
  // For what must happen, such as giving a model back, however many wait.
  void postAlways(Task task);

  // Waits until no task waits or runs. Not on a thread of the pool.
  void drain();

private:
  void run();

  std::mutex mutex_;
  std::condition_variable hasTask_, isIdle_;
  std::deque<Task> tasks_;
  const uint32_t mostWaiting_;
  uint32_t running_ = 0;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

} // namespace sinter::serve
