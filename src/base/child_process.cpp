// posix_spawn, resource limits, and waiting without missing the end.
#include "base/child_process.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern char **environ;

namespace sinter {
namespace {

constexpr int kPollUs = 5000;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kLimitAddressSpace = false;
#else
constexpr bool kLimitAddressSpace = true;
#endif
#else
constexpr bool kLimitAddressSpace = true;
#endif

// What posix_spawn is told beside the program: files, signals and the process group.
class SpawnPlan {
public:
  explicit SpawnPlan(std::span<const int> files) {
    posix_spawn_file_actions_init(&files_);
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    for (size_t i = 0; i < files.size(); ++i)
      posix_spawn_file_actions_adddup2(&files_, files[i], static_cast<int>(i) + 1);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                               POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnPlan() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&files_);
  }
  SpawnPlan(const SpawnPlan &) = delete;
  SpawnPlan &operator=(const SpawnPlan &) = delete;

  int spawn(const std::string &program, char *const *argv, pid_t &pid) const {
    return posix_spawn(&pid, program.c_str(), &files_, &attributes_, argv, environ);
  }

private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

void setLimit(pid_t pid, __rlimit_resource resource, uint64_t most) {
  const rlimit limit{most, most};
  prlimit(pid, resource, &limit, nullptr);
}

} // namespace

std::string signalText(int signal) {
  const char *name = sigabbrev_np(signal);
  return "signal " + std::to_string(signal) + " (SIG" + (name ? name : "?") + ")";
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0)
    stop();
}

Result<void> ChildProcess::start(const std::string &program, std::span<const std::string> arguments,
                                 std::span<const int> files) {
  std::vector<char *> argv = {const_cast<char *>(program.c_str())};
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  const int error = SpawnPlan(files).spawn(program, argv.data(), pid_);
  if (error == 0) {
    setLimit(pid_, RLIMIT_CORE, 0);
    return {};
  }
  pid_ = -1;
  return fail(error == ENOENT ? Code::NotFound : Code::Permission, std::strerror(error));
}

void ChildProcess::limit(const ChildLimits &limits) const {
  if (limits.memoryBytes && kLimitAddressSpace)
    setLimit(pid_, RLIMIT_AS, limits.memoryBytes);
  if (limits.fileBytes)
    setLimit(pid_, RLIMIT_FSIZE, limits.fileBytes);
  if (limits.cpuSeconds)
    setLimit(pid_, RLIMIT_CPU, limits.cpuSeconds);
}

std::optional<ChildEnd> ChildProcess::ended() {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid != pid_)
    return std::nullopt;
  kill(-pid_, SIGKILL); // what it started, while its number is still its own
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFSIGNALED(status) ? ChildEnd{0, WTERMSIG(status)} : ChildEnd{WEXITSTATUS(status), 0};
}

void ChildProcess::stop() {
  kill(-pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

Result<ChildEnd> runChildProcess(const std::string &program, std::span<const std::string> arguments,
                                 std::span<const int> files, const ChildLimits &limits,
                                 uint32_t timeoutMs) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeoutMs);
  ChildProcess child;
  if (Result<void> started = child.start(program, arguments, files); !started)
    return fail(started.error().code, "cannot start '" + program + "': " + started.error().message);
  child.limit(limits);
  while (true) {
    if (const auto ended = child.ended())
      return *ended;
    if (std::chrono::steady_clock::now() >= end)
      return fail(Code::Timeout, "'" + program + "' did not end within " +
                                     std::to_string(timeoutMs / 1000) + " s and was stopped");
    usleep(kPollUs);
  }
}

} // namespace sinter
