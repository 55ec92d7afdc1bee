// What `sinter kernel` was asked for.
#pragma once

#include "kernels/registry.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sinter::compiler {

// Row r of a column holds start + step * ((r mod modulus) / each); without a modulus r as it is.
struct FillTerm {
  int64_t start = 0, step = 0, each = 1, modulus = INT64_MAX;
};

// What the command line says of the arguments.
struct ArgumentRequest {
  std::map<std::string, std::vector<int64_t>> shapes; // by argument name
  std::map<std::string, double> scalars;              // by argument name
  std::map<std::string, std::vector<FillTerm>> fills; // by argument name: of each column
  int64_t size = 256;                                 // of every dynamic extent not named
  uint64_t seed = 1;
};

enum class KernelAction { Run, Bench, Emit, Pack, Build, List };

struct KernelOptions {
  KernelAction action = KernelAction::List;
  std::string source;      // of a pack: the list of kernels
  std::string kernel = {}; // of a source with several
  std::vector<std::string> set = {}, shape = {}, scalar = {}, fill = {}; // as given
  int64_t size = 256;
  double floor = 0x1p-16; // of comparisons, as a share of the largest magnitude
  unsigned threads = 0, seconds = 1;
  std::string stages = {}; // to print, comma separated
  std::string target = {}; // empty: the device's
  std::string device = {}; // a driver's name; empty: the target's
  std::string deviceFlags = {};
  bool resources = false;
  std::string output = {};

  // By readValues().
  kernels::Settings settings = {};
  ArgumentRequest request = {};
};

// What to say instead of running a command, and the exit code: help, or a command line that makes
// no sense.
struct KernelUsage {
  int exitCode;
  std::string text;
};

// Splits a command line (argv[0] is "kernel") and reads its values.
tl::expected<KernelOptions, KernelUsage> parseKernelOptions(int argc, const char *const *argv);

// The same before any value is read (kernel_options_adapter.cpp).
tl::expected<KernelOptions, KernelUsage> splitKernelOptions(int argc, const char *const *argv);

// Reads `settings` and `request` from the texts as given. InvalidArgument names the option and what
// it should be.
Result<void> readValues(KernelOptions &options);

} // namespace sinter::compiler
