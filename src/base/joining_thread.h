// A thread that may fail to start, which std::thread can only say by throwing.
#pragma once

#include "base/status.h"

#include <functional>
#include <memory>
#include <pthread.h>

namespace sinter {

// Joins when it dies. Movable.
class JoiningThread {
public:
  JoiningThread() = default; // no thread
  // `name` is what debuggers and `top` show, at most 15 bytes. Exhausted: the system gives no
  // further thread.
  static Result<JoiningThread> start(const char *name, std::function<void()> body);
  JoiningThread(JoiningThread &&other) noexcept;
  JoiningThread &operator=(JoiningThread &&other) noexcept;
  ~JoiningThread() { join(); }

  // Waits for the end of the body, if there is one that was not waited for.
  void join();
  bool joinable() const { return started_; }

private:
  pthread_t thread_{};
  bool started_ = false;
};

} // namespace sinter
