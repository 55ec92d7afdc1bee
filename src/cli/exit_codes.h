// What the process's exit status says, as `sinter --help` documents it.
#pragma once

#include <string>

namespace sinter::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1; // of the input or the environment
inline constexpr int kExitUsage = 2;   // the command line makes no sense
inline constexpr int kExitPartly = 3;  // --keep-going: some of what was asked for could not be made
inline constexpr int kExitSignal = 128; // plus the number of the signal that ended it
inline constexpr int kExitInterrupted = kExitSignal + 2; // by Ctrl-C, SIGINT

// Nothing is to be run: help to show, or a command line that makes no sense.
struct Message {
  int exitCode = kExitUsage;
  std::string text; // where the exit code is 0 the help, for stdout; else one sentence
};

} // namespace sinter::cli
