// What goes to stdout and stderr, and how.
#pragma once

#include "base/status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sinter::cli {

// With each control character, those in `kept` apart, as text (\x1b), so that what comes from a
// file cannot steer a terminal.
std::string withoutControls(std::string_view text, std::string_view kept = "");

// "sinter: LINE" on stderr, without controls.
void sayOnStderr(std::string_view line);

// Writes all of it to stdout at once. BrokenPipe: nobody reads it any more. Other errors (a full
// disk) name the cause.
Result<void> writeStdout(std::string_view text);
// All of stdin. InvalidArgument: more than `mostBytes`; Internal: it cannot be read.
Result<std::string> readStdin(size_t mostBytes);

bool stdinIsTerminal();
bool stdoutIsTerminal();
bool stderrIsTerminal();

// One line of progress on stderr: drawn over and over on a terminal, otherwise written once when
// the work starts.
class ProgressLine {
public:
  explicit ProgressLine(std::string title);
  ~ProgressLine() { finish(); }
  ProgressLine(const ProgressLine &) = delete;
  ProgressLine &operator=(const ProgressLine &) = delete;

  // `done` is at most `total`.
  void show(uint64_t done, uint64_t total, std::string_view text);
  // Takes the line away from a terminal.
  void finish();

private:
  std::string title_;
  bool terminal_;
  bool drawn_ = false;
};

// This process's largest resident memory so far, VmHWM of /proc/self/status; 0 where the system
// does not say.
uint64_t peakMemoryBytes();
// Seconds since the system started this process (in ticks of 10 ms); 0 where it does not say.
double secondsSinceProcessStart();

} // namespace sinter::cli
