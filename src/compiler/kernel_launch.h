// Running one kernel for `sinter kernel run` and `bench`: its arguments, its grid, the device and
// the reference.
#pragma once

#include "hal/kernel_case.h"
#include "target/target.h"
#include "tile/interpreter.h"
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

// One argument with its memory.
struct KernelArgument {
  std::string name;
  mlir::Type type;
  bool written = false;
  std::vector<int64_t> shape, strides; // views
  std::vector<uint8_t> bytes;          // views
  bool filled = false;                 // as the command line says
  double scalar = 0;                   // scalars
};

// Random contents (normal floats, small integers) where the request fills none; outputs start as
// NaN bytes. Unsupported names a view that cannot be made up.
Result<std::vector<KernelArgument>> makeArguments(tile::KernelOp kernel,
                                                  const ArgumentRequest &request);

// The grid, evaluated from the arguments.
Result<hal::Grid> evaluateGrid(tile::KernelOp kernel, const std::vector<KernelArgument> &arguments);

// What a device is told of a kernel.
hal::KernelSpec specOf(const target::EmittedKernel &kernel);

// The launch of kernel `index` of `code` with these arguments, which are filled from `seed` again
// wherever it runs.
Result<hal::KernelCase> makeCase(const target::CompiledModule &code, const std::string &target,
                                 size_t index, hal::Grid grid, uint64_t seed,
                                 const std::vector<KernelArgument> &arguments);

// Runs the tile interpreter on the arguments in place.
Result<tile::RunStatistics> interpret(tile::KernelOp kernel,
                                      std::vector<KernelArgument> &arguments);

// Arithmetic of all dots in one launch, tiles counted whole; 0 where a loop's bounds are not
// simple.
double dotOperations(tile::KernelOp kernel, const std::vector<KernelArgument> &arguments,
                     hal::Grid grid);

} // namespace sinter::compiler
