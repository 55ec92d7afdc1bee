// sinter-compiler: the compiler's own process, so that its crash, memory and time never touch the
// caller.
#include "compiler/cpp_source.h"
#include "compiler/graph_command.h"
#include "compiler/kernel_command.h"
#include "compiler/plan_command.h"
#include "models/decoder_family.h"

#include <cstdio>
#include <string_view>

static int listArchitectures() {
  for (const std::string &name : sinter::models::architectures())
    std::puts(name.c_str());
  return std::fflush(stdout) == 0 ? 0 : 1;
}

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
  if (command == "architectures")
    return listArchitectures();
  std::fprintf(stderr,
               "sinter-compiler: expected kernel, plan, graph or architectures; found '%s'\n",
               argc > 1 ? argv[1] : "nothing");
  return 2;
}
