// What `sinter-compiler graph` was asked for.
#pragma once

#include "base/status.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sinter::compiler {

struct GraphOptions {
  std::string file;
  std::string function;                      // empty: the only one
  std::string evaluate = "f32";              // the evaluator's precision
  std::map<std::string, std::string> inputs; // .npy files of inputs, states and weights by name
  std::map<std::string, int64_t> sizes;      // of symbols that no file binds
  uint64_t seed = 1;
  std::string target;   // compile and execute; empty: evaluate
  bool compare = false; // with the evaluator
  std::string output;   // a folder for .npy files; empty: print
};

// What to say instead, and the exit code: help, or a command line that makes no sense.
struct GraphUsage {
  int exitCode;
  std::string text;
};

// argv[0] is "graph" (graph_options_adapter.cpp).
tl::expected<GraphOptions, GraphUsage> parseGraphOptions(int argc, const char *const *argv);

} // namespace sinter::compiler
