// The compiler as a child process: started, watched, limited, and its end put in one sentence.
#pragma once

#include "base/status.h"

#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace sinter::host {

// The compiler program: $SINTER_COMPILER, else `sinter-compiler` in the folder of this program.
// NotFound or Permission where it cannot be started.
Result<std::string> findCompiler();

// A line `progress DONE TOTAL TEXT` of the compiler's stdout.
struct CompilerProgress {
  uint64_t done = 0;
  uint64_t total = 0;
  std::string text;
};
using ProgressSink = std::function<void(const CompilerProgress &)>;

// Where the child finds the file that is its output.
inline constexpr const char *kCompilerOutput = "/proc/self/fd/3";

struct CompilerLimits {
  uint64_t memoryBytes = uint64_t(16) << 30; // of address space
  uint32_t timeoutMs = 600'000;
};

// The default, with the time of $SINTER_COMPILE_SECONDS; InvalidArgument where that is none.
Result<CompilerLimits> compilerLimits();

// Runs `program` with `arguments` (argv[1] on) to its end; stdin is empty and kCompilerOutput is
// the open file `output`. What it writes to stderr becomes the error's message when it fails.
// Unsupported: it ended with status 1, which says that it cannot do what it was asked for;
// InvalidArgument: with status 2, its arguments make no sense, such as a schedule that does not
// fit; Internal: it was killed by a signal, said nothing or ended with another status; Timeout: it
// was stopped after limits.timeoutMs; Cancelled: `cancel` was set and it was stopped; NotFound,
// Permission: it could not be started.
Result<void> runCompiler(const std::string &program, std::span<const std::string> arguments,
                         int output, const CompilerLimits &limits, const std::atomic<bool> &cancel,
                         const ProgressSink &progress);

// Reads a progress line; nothing where it is none.
std::optional<CompilerProgress> parseProgress(std::string_view line);

} // namespace sinter::host
