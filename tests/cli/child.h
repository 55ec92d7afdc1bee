// Programs as children of a test: with chosen environment, standard streams and limits, and never
// for longer than their deadline.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <poll.h>
#include <pty.h>
#include <string>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <vector>

namespace sinter {

using Deadline = std::chrono::steady_clock::time_point;
inline Deadline secondsFromNow(int seconds) {
  return std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
}

// Where a child's standard stream leads.
enum class Stream { Pipe, Closed, Null, Full, Terminal };

struct ChildOptions {
  std::map<std::string, std::optional<std::string>> environment; // on top of ours; nothing: unset
  Stream in = Stream::Null, out = Stream::Pipe, err = Stream::Pipe;
  std::string folder;           // to work in
  std::function<void()> before; // called in the child before the program starts
};

// How a child ended, and all that it wrote.
struct Outcome {
  int code = -1;     // exit code, where it ended by itself
  int signal = 0;    // that killed it
  bool late = false; // it was killed at its deadline
  std::string out, err;
};

inline std::ostream &operator<<(std::ostream &stream, const Outcome &o) {
  return stream << "code " << o.code << ", signal " << o.signal << (o.late ? ", too late" : "")
                << "\nout: " << o.out.substr(0, 2000) << "\nerr: " << o.err.substr(0, 2000);
}

// A running child. A terminal carries all of its streams that lead there; `err` stays empty then.
class Child {
public:
  Child(const std::vector<std::string> &command, const ChildOptions &options) {
    open(options.in, 0, in_, childEnds_[0]);
    open(options.out, 1, out_, childEnds_[1]);
    open(options.err, 2, err_, childEnds_[2]);
    pid_ = fork();
    if (pid_ == 0)
      become(command, options);
    for (int &end : childEnds_)
      closeEnd(end);
    closeEnd(slave_);
    if (master_ >= 0)
      fcntl(master_, F_SETFL, O_NONBLOCK);
  }
  ~Child() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    for (int *end : {&in_, &out_, &err_, &master_})
      closeEnd(*end);
  }
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal) const { kill(pid_, signal); }
  // To stdin. A child that does not read it is waited for no longer than the pipe is full.
  void type(std::string_view text) const {
    const int fd = master_ >= 0 ? master_ : in_;
    while (!text.empty()) {
      pollfd watched = {fd, POLLOUT, 0};
      const ssize_t count = poll(&watched, 1, 5000) == 1 ? write(fd, text.data(), text.size()) : -1;
      if (count <= 0)
        return;
      text.remove_prefix(static_cast<size_t>(count));
    }
  }
  void closeStdin() { closeEnd(in_); }
  // Stops it as a shell does, which then has the terminal by lines; goOn() continues it.
  void pause() const {
    termios lines;
    kill(pid_, SIGSTOP);
    waitpid(pid_, nullptr, WUNTRACED);
    if (master_ < 0 || tcgetattr(master_, &lines) != 0)
      return;
    lines.c_lflag |= ICANON | ECHO;
    tcsetattr(master_, TCSANOW, &lines);
  }
  void goOn() const { kill(pid_, SIGCONT); }
  // No one reads what the child writes to stdout from here on.
  void closeStdout() { closeEnd(out_); }

  // Whether `text` appeared in what the child wrote since the last call that found its text.
  bool sees(const std::string &text, Deadline deadline = secondsFromNow(20)) {
    while (true) {
      for (std::string *seen : {&outcome_.out, &outcome_.err}) {
        size_t &from = seen == &outcome_.out ? outSeen_ : errSeen_;
        const size_t at = seen->find(text, from);
        if (at != std::string::npos) {
          from = at + text.size();
          return true;
        }
      }
      if (!take(deadline))
        return false;
    }
  }
  // Whether it wrote more than so many bytes to stdout.
  bool hasOutput(size_t bytes = 0, Deadline deadline = secondsFromNow(20)) {
    while (outcome_.out.size() <= bytes)
      if (!take(deadline))
        return false;
    return true;
  }
  const std::string &output() const { return outcome_.out; }
  const std::string &errors() const { return outcome_.err; }
  // Whether the program took its signals over, so that none ends it as the system would.
  bool takesSignals(Deadline deadline = secondsFromNow(20)) const {
    constexpr std::string_view kBlocked = "SigBlk:";
    // The C library blocks all signals for moments, the program only those that it takes.
    const auto has = [](uint64_t set, int signal) { return (set >> (signal - 1) & 1) != 0; };
    while (std::chrono::steady_clock::now() < deadline) {
      std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
      for (std::string line; std::getline(status, line);) {
        if (!line.starts_with(kBlocked))
          continue;
        const uint64_t set = std::strtoull(line.c_str() + kBlocked.size(), nullptr, 16);
        if (has(set, SIGINT) && !has(set, SIGUSR1))
          return true;
      }
      usleep(1000);
    }
    return false;
  }

  // Waits for the end.
  Outcome wait(int seconds = 60) {
    const Deadline deadline = secondsFromNow(seconds);
    while (take(deadline)) {
    }
    int status = 0;
    while (waitpid(pid_, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() >= deadline) {
        outcome_.late = true;
        kill(pid_, SIGKILL);
      }
      usleep(1000);
    }
    pid_ = -1;
    if (WIFEXITED(status))
      outcome_.code = WEXITSTATUS(status);
    else
      outcome_.signal = WTERMSIG(status);
    return outcome_;
  }

private:
  static void closeEnd(int &fd) {
    if (fd >= 0)
      close(fd);
    fd = -1;
  }

  void open(Stream kind, int number, int &ours, int &childs) {
    int ends[2];
    if (kind == Stream::Pipe && pipe2(ends, O_CLOEXEC) == 0) {
      ours = ends[number == 0 ? 1 : 0];
      childs = ends[number == 0 ? 0 : 1];
      if (number != 0)
        fcntl(ours, F_SETFL, O_NONBLOCK);
    } else if (kind == Stream::Null || kind == Stream::Full) {
      childs = ::open(kind == Stream::Null ? "/dev/null" : "/dev/full", O_RDWR | O_CLOEXEC);
    } else if (kind == Stream::Terminal) {
      if (master_ < 0) {
        winsize size = {24, 100, 0, 0};
        EXPECT_EQ(openpty(&master_, &slave_, nullptr, nullptr, &size), 0);
        fcntl(master_, F_SETFD, FD_CLOEXEC);
      }
      childs = fcntl(slave_, F_DUPFD_CLOEXEC, 3);
    }
  }

  [[noreturn]] void become(const std::vector<std::string> &command, const ChildOptions &options) {
    setsid();
    if (slave_ >= 0)
      ioctl(slave_, TIOCSCTTY, 0);
    for (int i = 0; i < 3; ++i)
      childEnds_[i] >= 0 ? dup2(childEnds_[i], i) : close(i);
    if (slave_ > 2)
      close(slave_);
    // What a test's own parent ignores or blocks is none of the child's business.
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
      std::signal(signal, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const auto &[name, value] : options.environment)
      value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
    if (!options.folder.empty() && chdir(options.folder.c_str()) != 0)
      _exit(126);
    if (options.before)
      options.before();
    std::vector<char *> argv;
    for (const std::string &word : command)
      argv.push_back(const_cast<char *>(word.c_str()));
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(127);
  }

  // Takes what is there, waiting for it; false at the end of all streams or the deadline.
  bool take(Deadline deadline) {
    pollfd watched[] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}, {master_, POLLIN, 0}};
    if (out_ < 0 && err_ < 0 && master_ < 0)
      return false;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0 || poll(watched, 3, static_cast<int>(left.count())) <= 0) {
      outcome_.late = true;
      return false;
    }
    takeFrom(out_, outcome_.out);
    takeFrom(err_, outcome_.err);
    takeFrom(master_, outcome_.out);
    return true;
  }
  static void takeFrom(int &fd, std::string &into) {
    char bytes[65536];
    const ssize_t count = fd >= 0 ? read(fd, bytes, sizeof bytes) : -1;
    if (count > 0)
      into.append(bytes, static_cast<size_t>(count));
    // A terminal whose last user left reads as an error.
    else if (fd >= 0 && (count == 0 || errno != EAGAIN))
      closeEnd(fd);
  }

  pid_t pid_ = -1;
  int in_ = -1, out_ = -1, err_ = -1; // our ends
  int childEnds_[3] = {-1, -1, -1};
  int master_ = -1, slave_ = -1;
  size_t outSeen_ = 0, errSeen_ = 0;
  Outcome outcome_;
};

// Runs a program to its end with `input` as its whole stdin.
inline Outcome runChild(const std::vector<std::string> &command, ChildOptions options = {},
                        const std::optional<std::string> &input = std::nullopt, int seconds = 60) {
  if (input)
    options.in = Stream::Pipe;
  std::signal(SIGPIPE, SIG_IGN);
  Child child(command, options);
  if (input)
    child.type(*input);
  child.closeStdin();
  return child.wait(seconds);
}

} // namespace sinter
