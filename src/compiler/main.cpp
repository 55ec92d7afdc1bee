// sinter-compiler: the compiler's own process, so that its crash, memory and time never touch the
// caller.
#include "compiler/cpp_source.h"
#include "compiler/graph_command.h"
#include "compiler/kernel_command.h"
#include "compiler/plan_command.h"

#include <cstdio>
#include <string_view>

int main(int argc, char **argv) {
  std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "kernel")
    return sinter::compiler::kernelCommand(argc - 1, argv + 1);
  if (command == "graph")
    return sinter::compiler::graphCommand(argc - 1, argv + 1);
  if (command == "plan")
    return sinter::compiler::planCommand(argc, argv);
  if (command == "define-kernels")
    return sinter::compiler::defineKernels(argc - 1, argv + 1);
  std::fprintf(stderr, "sinter-compiler: expected kernel, plan or graph; found '%s'\n",
               argc > 1 ? argv[1] : "nothing");
  return 2;
}
