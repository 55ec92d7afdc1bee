// A thread that reads signals from a descriptor.
#include "cli/interrupts.h"

#include "cli/exit_codes.h"
#include "cli/terminal.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace sinter::cli {
namespace {

bool isIgnored(int signal) {
  struct sigaction action;
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// In the background the terminal is another process's, and setting it up would stop this one.
void setTerminal(const termios &modes) {
  if (tcgetpgrp(STDIN_FILENO) == getpgrp())
    tcsetattr(STDIN_FILENO, TCSANOW, &modes);
}

} // namespace

Result<std::unique_ptr<Interrupts>> Interrupts::create() {
  std::unique_ptr<Interrupts> made(new Interrupts());
  sigset_t taken;
  sigemptyset(&taken);
  // A blocked signal is delivered even where the shell or nohup had it ignored.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGTSTP})
    if (!isIgnored(signal))
      sigaddset(&taken, signal);
  sigset_t blocked = taken;
  sigaddset(&blocked, SIGCONT); // the line editor's thread alone lets it through
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  made->signals_ = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
  made->stop_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (made->signals_ < 0 || made->stop_ < 0)
    return fail(Code::Exhausted, std::string("cannot watch for signals: ") + std::strerror(errno));
  termios terminal;
  if (tcgetattr(STDIN_FILENO, &terminal) == 0)
    made->terminal_ = terminal;
  // std::thread has no way but to throw where there is no memory for one.
  pthread_t thread;
  const auto run = [](void *self) -> void * {
    static_cast<Interrupts *>(self)->watch();
    return nullptr;
  };
  if (const int error = pthread_create(&thread, nullptr, run, made.get()); error != 0)
    return fail(Code::Exhausted, std::string("cannot start the thread that watches for signals: ") +
                                     std::strerror(error));
  made->thread_ = thread;
  return made;
}

Interrupts::~Interrupts() {
  if (thread_) {
    const uint64_t one = 1;
    // An eventfd takes a first value always.
    (void)!write(stop_, &one, sizeof one);
    pthread_join(*thread_, nullptr);
  }
  for (const int fd : {signals_, stop_})
    if (fd >= 0)
      close(fd);
}

void Interrupts::leave(int signal) {
  if (terminal_)
    setTerminal(*terminal_);
  // What is drawn there may be half a line.
  if (stderrIsTerminal())
    (void)!write(STDERR_FILENO, "\n", 1);
  _exit(kExitSignal + signal);
}

// This thread alone lets the signal through, whose default action stops all of them.
void Interrupts::pause() {
  termios ours;
  const bool known = terminal_ && tcgetattr(STDIN_FILENO, &ours) == 0;
  if (known)
    setTerminal(*terminal_);
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  pthread_kill(pthread_self(), SIGTSTP);
  pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  if (known)
    setTerminal(ours);
}

void Interrupts::watch() {
  pollfd watched[] = {{signals_, POLLIN, 0}, {stop_, POLLIN, 0}};
  while (true) {
    if (poll(watched, 2, -1) < 0 && errno != EINTR)
      return;
    if (watched[1].revents)
      return;
    signalfd_siginfo info;
    if (read(signals_, &info, sizeof info) != sizeof info)
      continue;
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGTSTP)
      pause();
    else if (!isFlag(signal) || flag_.exchange(true))
      leave(signal);
    else
      flag_.notify_all();
  }
}

bool Interrupts::isFlag(int signal) const {
  return ends_ > 0 || (signal == SIGINT && guards_ > 0);
}

} // namespace sinter::cli
