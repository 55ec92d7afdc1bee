// What the process's exit status says, as `sinter --help` documents it.
#pragma once

namespace sinter::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;       // of the input or the environment
inline constexpr int kExitUsage = 2;         // the command line makes no sense
inline constexpr int kExitInterrupted = 130; // by Ctrl-C

} // namespace sinter::cli
