// `sinter kernel run|bench|emit|build|list`: one kernel at a time, from source to figures.
#pragma once

namespace sinter::compiler {

// Runs the command; argv[0] is "kernel". Returns the process's exit status: 0, 1 (failure), 2
// (usage).
int kernelCommand(int argc, char **argv);

} // namespace sinter::compiler
