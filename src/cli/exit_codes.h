// What the process's exit status says, as `sinter --help` documents it.
#pragma once

namespace sinter::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;  // of the input or the environment
inline constexpr int kExitUsage = 2;    // the command line makes no sense
inline constexpr int kExitSignal = 128; // plus the number of the signal that ended it
inline constexpr int kExitInterrupted = kExitSignal + 2; // by Ctrl-C, SIGINT

} // namespace sinter::cli
