// The reference for scheduled kernels: the tile interpreter with scratch memory, register blocks,
// roles and channels, where a deadlock is a message and not a hung device; and for kernels in lane
// form, where a race is one.
#pragma once

#include "sched/simt/facts.h"
#include "tile/interpreter/interpreter.h"

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
  /// What bounds the blocks of a kernel in SIMT IR: subgroups, threads, shared memory.
  SimtFacts lanes;
};

/// Like tile::interpretKernel, for kernels with operations of both dialects. `tile.reduce` combines
/// in the order of tile::treeReduce. Roles take turns in the order of the text. InvalidArgument
/// moreover: stages that verifyStages refuses; a block outside its buffer; a deadlock (every role
/// that has not ended waits), with each role's place and its channel's state; roles that end with
/// tiles left in a channel; scratch read before it is written.
///
/// A kernel in SIMT IR (`sched.threads`) runs block by block, the threads of a block in step:
/// each operation for all threads, then the next one. Numbers are those of the tile interpreter; a
/// matrix instruction takes one f32 fma per step of k, ascending, and exact i32 steps that wrap.
/// InvalidArgument moreover: a kernel that verifySimt refuses; a condition or bound that differs
/// between threads; an access outside its argument or shared memory, misaligned, or of a byte
/// between the elements of a view; shared memory read before it is written; within one barrier
/// interval, a byte that one thread writes and another reads or writes (a view's byte may get the
/// same value twice); a view's byte that one program writes and another reads, or gives another
/// value; copies of one element of a matrix operand that differ.
///
/// What threads need not wait for happens as late as it may: a copy's bytes land with the wait that
/// covers it, a matmul's accumulators come with the wait that passes them. InvalidArgument
/// moreover: bytes touched while a copy to them is on its way, or written while a matmul reads
/// them, until its wait and a barrier; accumulators used in another way than by the next matmul or
/// wait; registers written after the last fence that a matmul adds to; bytes stored that a matmul
/// reads without a copy_wait and a barrier between; operands out of place; anything on its way at a
/// program's end.
Result<tile::RunStatistics> interpretKernel(tile::KernelOp kernel,
                                            llvm::ArrayRef<tile::Argument> arguments,
                                            const InterpreterOptions &options = {});

/// Checks the integer attribute `sched.stage` on operations in the bodies of scf.for: a value flows
/// only to its own stage or later ones, around the loop too. An operation without the attribute
/// belongs to the latest stage of its operands; one with regions uses what its regions use. Memory
/// is not looked at. Emits a diagnostic at the first use that is too early.
mlir::LogicalResult verifyStages(tile::KernelOp kernel);

/// Checks that a kernel with `sched.threads` is in SIMT IR, as sched.td describes it, within what
/// the processor has: only the form's operations on scalars and vectors of one dimension, views
/// that are arguments and whose access allows the operation, shuffles within a subgroup, matrix
/// instructions of the table with its types. Emits a diagnostic at the first that is not.
mlir::LogicalResult verifySimt(tile::KernelOp kernel, const SimtFacts &facts);

} // namespace sinter::sched
