// The graph command: runs a textual graph.
#pragma once

namespace sinter::compiler {

// Runs `graph ...`; argv[0] is "graph". Returns the exit code.
int graphCommand(int argc, char **argv);

} // namespace sinter::compiler
