// Layouts of matmuls: where accumulators and operands lie, and the matrix instruction.
#pragma once

#include "sched/simt/facts.h"
#include "sched/simt/layout.h"
#include "sched/simt/matrix_instructions.h"
#include "tile/mlir_pch.h"

namespace sinter::sched {

/// The attribute of a tile.dot that names its matrix instruction.
inline constexpr llvm::StringLiteral kInstruction = "sched.instruction";

/// Whether a matmul has so small an M that reading its operands bounds it.
bool hasSmallM(tile::DotOp dot);

struct DotLayouts {
  const MatrixInstruction *instruction =
      nullptr; // null: each thread multiplies for its own accumulators
  SimtLayout accumulators;
  SimtLayout a, b; // of the operand tiles, b as it stands (transposed or not); for an instruction
};

/// The first of the processor's instructions that takes the operands' elements, or one of fewer rows
/// for few of them, on accumulators shared out in squares among subgroups; without one, square
/// shares of about as many rows as columns.
DotLayouts chooseDotLayouts(tile::DotOp dot, int64_t threads, const SimtFacts &facts);

/// Whether an instruction multiplies this matmul's operands from registers.
bool hasInstruction(tile::DotOp dot, const SimtFacts &facts);

/// The instruction that multiplies this matmul's operands from shared memory; null where the
/// processor has none, or none for these tiles.
const MatrixInstruction *findSharedInstruction(tile::DotOp dot, int64_t threads,
                                               const SimtFacts &facts);

/// The same for an instruction with opaque accumulators.
const MatrixInstruction *findOpaqueInstruction(tile::DotOp dot, int64_t threads,
                                               const SimtFacts &facts);

/// Whether an instruction with opaque accumulators takes the operands' elements.
bool takesOpaqueInstruction(tile::DotOp dot, const SimtFacts &facts);

/// Fragments of such an instruction that each subgroup has of `shape`, down and across.
std::array<int64_t, 2> fragmentCounts(const MatrixInstruction &instruction,
                                      llvm::ArrayRef<int64_t> shape, int64_t threads);

/// Columns of 16-bit elements in shared memory for so many: whole rows of 128 bytes.
int64_t wholePanels(int64_t columns);

/// The instruction that multiplies a tile in registers with b [k, n] in shared memory, its rows
/// alone shared out among groups of subgroups; null likewise. b has whole panels there, the last
/// instruction may have rows to spare.
const MatrixInstruction *findTileInstruction(tile::DotOp dot, int64_t threads,
                                             const SimtFacts &facts);
/// Threads in as many groups as have rows of their own; 0 without such an instruction.
int64_t backToBackThreadsOf(tile::DotOp dot, const SimtFacts &facts);
/// The layout of that tile, of `shape`, for accumulators of the shape `accumulators`.
SimtLayout tileOperand(const MatrixInstruction &instruction, llvm::ArrayRef<int64_t> shape,
                       llvm::ArrayRef<int64_t> accumulators, int64_t threads);

/// Accumulators of such an instruction over `threads` threads.
SimtLayout sharedAccumulators(const MatrixInstruction &instruction, llvm::ArrayRef<int64_t> shape,
                              int64_t threads);

} // namespace sinter::sched
