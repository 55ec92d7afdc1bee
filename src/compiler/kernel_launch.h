// Running one kernel for `sinter kernel run` and `bench`: its arguments, its grid, the device and
// the reference.
#pragma once

#include "compiler/kernel_options.h"
#include "hal/kernel_case.h"
#include "targets/target.h"
#include "tile/interpreter/interpreter.h"
#include <string>
#include <vector>

namespace sinter::compiler {

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

// Contents that the request does not give are those of kernel_defaults.h, else random: normal
// floats, small integers, different ones in an i32 view of one axis. Outputs start as NaN bytes.
// Unsupported names a view that cannot be made up.
Result<std::vector<KernelArgument>> makeArguments(tile::KernelOp kernel,
                                                  const ArgumentRequest &given);

// The grid, evaluated from the arguments.
Result<hal::Grid> evaluateGrid(tile::KernelOp kernel, const std::vector<KernelArgument> &arguments);

// What a device is told of a kernel.
hal::KernelSpec specOf(const targets::EmittedKernel &kernel);

// The launch of kernel `index` of `code` with these arguments, which are filled from `seed` again
// wherever it runs.
Result<hal::KernelCase> makeCase(const targets::CompiledModule &code, const std::string &target,
                                 size_t index, hal::Grid grid, uint64_t seed,
                                 const std::vector<KernelArgument> &arguments);

// Runs the tile interpreter on the arguments in place. InvalidArgument: the outcome depends on the
// order in which programs run.
Result<tile::RunStatistics> interpret(tile::KernelOp kernel,
                                      std::vector<KernelArgument> &arguments);

// Arithmetic of all dots in one launch, tiles counted whole; 0 where a loop's bounds are not
// simple.
double dotOperations(tile::KernelOp kernel, const std::vector<KernelArgument> &arguments,
                     hal::Grid grid);

} // namespace sinter::compiler
