// A procedure at fixed symbol values: a flat list of launches and copies with every size, grid and
// address known.
#pragma once

#include "hal/hal.h"
#include "plan/plan.h"

namespace sinter::runtime {

// A weight that a launch reads from here to its end.
struct WeightRead {
  hal::BufferBinding from;
  uint64_t bytes = 0;
};

// One launch, or one copy when `launch` is null.
struct Command {
  const plan::Launch *launch = nullptr; // the plan's step
  plan::KernelId kernel;
  hal::Grid grid = {0, 0, 0};
  uint32_t firstBuffer = 0; // into CommandList::buffers; a copy has two, source and destination
  uint32_t bufferCount = 0;
  uint32_t firstScalar = 0; // into CommandList::scalars
  uint32_t scalarCount = 0;
  uint64_t copyBytes = 0;
  WeightRead weight;      // the largest, where it is read as a whole
  WeightRead expected;    // the next one to be read by a command after this one; of 0 bytes: none
  int64_t bytesMoved = 0; // for explain, as is `operations`
  int64_t operations = 0;
};

struct CommandList {
  std::vector<Command> commands;
  std::vector<hal::BufferBinding> buffers;
  std::vector<int64_t> scalars;
};

// What a procedure is instantiated with. All are indexed by the plan's ids.
struct CommandContext {
  std::span<const int64_t> symbols; // within their bounds
  std::span<const uint64_t> bufferBytes;
  std::span<const hal::BufferBinding> placements; // where each buffer begins
  uint64_t maxSteps = 0;                          // steps, iterations and arguments to go through
};

// Decides branches, unrolls loops, inlines calls and evaluates every size. Launches with an empty
// grid and copies of nothing are left out. The plan satisfies validate(). InvalidArgument, naming
// the step: a size that cannot be computed, is negative or lies outside of its buffer, a loop
// beyond its symbol's bounds. Exhausted: above maxSteps.
Result<CommandList> instantiate(const plan::Plan &plan, plan::ProcedureId procedure,
                                const CommandContext &context);

} // namespace sinter::runtime
