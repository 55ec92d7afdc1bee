// A program as a child of this one, with limits of its own.
#pragma once

#include "base/status.h"

#include <span>
#include <string>
#include <sys/types.h>

namespace sinter {

// 0: no limit. A file that grows beyond `fileBytes` and more than `cpuSeconds` of processor time
// end the child with a signal; memory beyond `memoryBytes` is refused to it. Sanitizers reserve
// terabytes of address space: under them there is no limit of memory.
struct ChildLimits {
  uint64_t memoryBytes = 0; // of address space
  uint64_t fileBytes = 0;   // of any file that it writes
  uint32_t cpuSeconds = 0;
};

// How a child ended: by itself with a code, or by a signal.
struct ChildEnd {
  int code = 0;
  int signal = 0;

  bool good() const { return code == 0 && signal == 0; }
};

// "signal 6 (SIGABRT)"
std::string signalText(int signal);

// Owns a child until it was waited for; a forgotten one is killed with all that it started. Move
// it to no other thread.
class ChildProcess {
public:
  ChildProcess() = default;
  ChildProcess(const ChildProcess &) = delete;
  ChildProcess &operator=(const ChildProcess &) = delete;
  ~ChildProcess();

  // Starts `program`, a path, with `arguments` (argv[1] on). Its standard input is empty;
  // descriptor files[i] of ours is its descriptor i + 1. It leads a process group, takes signals as
  // a fresh program does and leaves no core. NotFound, Permission: it cannot be started; the
  // message is the system's.
  Result<void> start(const std::string &program, std::span<const std::string> arguments,
                     std::span<const int> files);
  // Of the child from now on: not of its first moments.
  void limit(const ChildLimits &limits) const;

  // How it ended, once it has; what it started and left running is killed then.
  std::optional<ChildEnd> ended();
  // Kills it with all that it started.
  void stop();

private:
  pid_t pid_ = -1;
};

// Runs `program` to its end, for at most `timeoutMs`. Timeout: it was stopped then.
Result<ChildEnd> runChildProcess(const std::string &program, std::span<const std::string> arguments,
                                 std::span<const int> files, const ChildLimits &limits,
                                 uint32_t timeoutMs);

} // namespace sinter
