// Threads of the system, without exceptions.
#include "base/joining_thread.h"

#include "base/check.h"

#include <cstring>
#include <utility>

namespace sinter {

static void *runBody(void *argument) {
  const std::unique_ptr<std::function<void()>> body(static_cast<std::function<void()> *>(argument));
  (*body)();
  return nullptr;
}

Result<JoiningThread> JoiningThread::start(const char *name, std::function<void()> body) {
  auto owned = std::make_unique<std::function<void()>>(std::move(body));
  JoiningThread made;
  if (const int error = pthread_create(&made.thread_, nullptr, runBody, owned.get()); error != 0)
    return fail(Code::Exhausted,
                "cannot start the thread '" + std::string(name) + "': " + std::strerror(error));
  (void)owned.release(); // the thread's
  (void)pthread_setname_np(made.thread_, name);
  made.started_ = true;
  return made;
}

JoiningThread::JoiningThread(JoiningThread &&other) noexcept
    : thread_(other.thread_), started_(std::exchange(other.started_, false)) {}

JoiningThread &JoiningThread::operator=(JoiningThread &&other) noexcept {
  if (this != &other) {
    join();
    thread_ = other.thread_;
    started_ = std::exchange(other.started_, false);
  }
  return *this;
}

void JoiningThread::join() {
  if (!std::exchange(started_, false))
    return;
  SINTER_CHECK(pthread_join(thread_, nullptr) == 0);
}

} // namespace sinter
