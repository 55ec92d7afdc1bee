// The reference for scheduled kernels: the tile interpreter with scratch memory, register blocks,
// roles and channels, where a deadlock is a message and not a hung device.
#pragma once

#include "tile/interpreter.h"

namespace sinter::sched {

/// What reading scratch that nothing has written since its alloc does.
enum class UnwrittenReads : uint8_t {
  Report, // is an error
  Poison, // gives NaN, or bytes 0xCD for integers
};

struct InterpreterOptions : tile::InterpreterOptions {
  UnwrittenReads unwritten = UnwrittenReads::Report;
  /// Operations that a role runs before the next role's turn; 0: until it waits or ends. Results of
  /// a correct kernel do not depend on it.
  uint64_t quantum = 0;
};

/// Like tile::interpretKernel, for kernels with operations of both dialects. `tile.reduce` combines
/// in the order of tile::treeReduce. Roles take turns in the order of the text. InvalidArgument
/// moreover: stages that verifyStages refuses; a block outside its buffer; a deadlock (every role
/// that has not ended waits), with each role's place and its channel's state; roles that end with
/// tiles left in a channel; scratch read before it is written.
Result<tile::RunStatistics> interpretKernel(tile::KernelOp kernel,
                                            llvm::ArrayRef<tile::Argument> arguments,
                                            const InterpreterOptions &options = {});

/// Checks the integer attribute `sched.stage` on operations in the bodies of scf.for: a value flows
/// only to its own stage or later ones, around the loop too. An operation without the attribute
/// belongs to the latest stage of its operands; one with regions uses what its regions use. Memory
/// is not looked at. Emits a diagnostic at the first use that is too early.
mlir::LogicalResult verifyStages(tile::KernelOp kernel);

} // namespace sinter::sched
