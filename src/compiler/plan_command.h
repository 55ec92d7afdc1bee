// `sinter-compiler plan MODEL -o FILE`: a model file in, a plan file out.
#pragma once

namespace sinter::compiler {

// Runs the command; argv[1] is "plan". Progress goes to stdout as lines `progress DONE TOTAL TEXT`.
// Returns the process's exit status: 0, 1 (failure, one line on stderr), 2 (usage).
int planCommand(int argc, char **argv);

} // namespace sinter::compiler
