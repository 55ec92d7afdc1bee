// What `sinter kernel` was asked for.
#pragma once

#include "compiler/kernel_launch.h"
#include "kernels/registry.h"

#include <string>
#include <vector>

namespace sinter::compiler {

enum class KernelAction { Run, Bench, Emit, Pack, Build, List };

struct KernelOptions {
  KernelAction action;
  std::string source; // of a pack: the list of kernels
  std::vector<std::string> set = {}, shape = {}, scalar = {}, fill = {};
  int64_t size = 256;
  double floor = 0x1p-16; // of comparisons, as a share of the largest magnitude
  unsigned threads = 0, seconds = 1;
  std::string stages = {}; // to print, comma separated
  std::string target = {}; // empty: the device's
  std::string device = {}; // a driver's name; empty: the target's
  std::string deviceFlags = {};
  bool resources = false;
  std::string output = {};
};

// Reads the options and calls `act` with them; its result, or another, is the exit status. LLVM's
// registry of options refers to those read here until `act` returns: linking in process resets
// them.
int withKernelOptions(int argc, char **argv, llvm::function_ref<int(const KernelOptions &)> act);

// InvalidArgument names the option and what it should be.
Result<kernels::Settings> parseSettings(const std::vector<std::string> &list);
Result<ArgumentRequest> parseRequest(const KernelOptions &options);

} // namespace sinter::compiler
