// Ctrl-C as a flag where something can be stopped in order, and as the end of the process
// elsewhere; SIGTERM and SIGHUP as an end that leaves the terminal in order, Ctrl-Z as a pause that
// does.
#pragma once

#include "base/status.h"

#include <atomic>
#include <memory>
#include <optional>
#include <pthread.h>
#include <termios.h>

namespace sinter::cli {

// Takes SIGINT, SIGTERM, SIGHUP and SIGTSTP over from the process, those apart that it was started
// to ignore: one thread waits for them, so nothing runs in a signal handler. Make one before any
// other thread, which then inherit the blocked signals. While a Guard lives SIGINT sets the flag,
// and a second one before the flag was cleared ends the process; without a Guard the first one
// does, as SIGTERM and SIGHUP always do, with exit code 128 + signal and the terminal as it was
// found. While an EndGuard lives all three set the flag, and the second of them ends the process.
// SIGTSTP stops the process with the terminal as it was found; continued in the foreground, the
// process has its own settings of the terminal again.
class Interrupts {
public:
  // Exhausted: the system has no descriptors, threads or memory left.
  static Result<std::unique_ptr<Interrupts>> create();
  ~Interrupts();
  Interrupts(const Interrupts &) = delete;
  Interrupts &operator=(const Interrupts &) = delete;

  class Guard {
  public:
    explicit Guard(Interrupts &interrupts) : interrupts_(interrupts) { ++interrupts_.guards_; }
    ~Guard() { --interrupts_.guards_; }
    Guard(const Guard &) = delete;
    Guard &operator=(const Guard &) = delete;

  private:
    Interrupts &interrupts_;
  };

  class EndGuard {
  public:
    explicit EndGuard(Interrupts &interrupts) : interrupts_(interrupts) { ++interrupts_.ends_; }
    ~EndGuard() { --interrupts_.ends_; }
    EndGuard(const EndGuard &) = delete;
    EndGuard &operator=(const EndGuard &) = delete;

  private:
    Interrupts &interrupts_;
  };

  const std::atomic<bool> &flag() const { return flag_; }
  bool pending() const { return flag_.load(); }
  void clear() { flag_ = false; }
  // Returns when the flag is set.
  void wait() const { flag_.wait(false); }

private:
  Interrupts() = default;
  void watch();
  void pause();
  bool isFlag(int signal) const; // rather than an end
  [[noreturn]] void leave(int signal);

  int signals_ = -1; // signalfd
  int stop_ = -1;    // eventfd: the thread is to end
  std::optional<termios> terminal_;
  std::atomic<int> guards_ = 0, ends_ = 0;
  std::atomic<bool> flag_ = false;
  std::optional<pthread_t> thread_;
};

} // namespace sinter::cli
