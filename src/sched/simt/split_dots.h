// Matmuls of few rows of 16-bit numbers: subgroups share K, so that each of b's numbers is read by
// one thread, straight into the fragment of a matrix instruction.
#pragma once

#include "numeric/formats/block_format.h"
#include "sched/simt/depth_tile.h"
#include "sched/simt/facts.h"
#include "sched/simt/layout.h"
#include "sched/simt/matrix_instructions.h"
#include "tile/mlir_pch.h"

namespace sinter::sched {

/// Makes the kernel's only matmul a sched.split_dot, or a sched.group_dot where b is dequantized
/// from words (numeric/formats/word_packing.h), and gives the threads of a block; 0, and nothing is
/// changed, where the kernel has none or more, where it has many rows, and where no instruction
/// takes its operands. Which subgroup multiplies what depends on the format of b and on the length
/// of a step along K, never on rows or columns.
///
/// A matmul by groups of more rows adds up in turn what subgroups of the others share: its loop
/// steps over the units of one share and stands in a loop over shares. Its subgroups share b's
/// rows.
int64_t splitDots(tile::KernelOp kernel, const SimtFacts &facts);

/// Whether splitDots multiplies by groups: few rows, or some more share by share.
bool multipliesGroups(tile::DotOp dot, const SimtFacts &facts);

/// What the instruction for such matmuls of operands of a type multiplies, by groups or else: of
/// the processor's instructions the one of the fewest tokens. None where it has none.
DepthTile depthTile(const SimtFacts &facts, MatrixElement element, bool groups);

/// Where the operands and accumulators of such a matmul lie, and what each bit of the
/// instruction's K is in the tile's. Where an instruction reads tokens in shared memory, it is that
/// one, and a lies as the other one takes it.
struct SplitSimt {
  const MatrixInstruction *instruction = nullptr;
  SimtLayout a, b, accumulators;
  llvm::SmallVector<int64_t> depthBits; // by bit of the instruction's K, which bit of the tile's
  llvm::SmallVector<int64_t> moreBits; // in registers too, one instruction for each of their values
};

SplitSimt splitSimt(SplitDotOp dot);
/// Of a sched.split_dot: how many subgroups, or groups of the lanes of an instruction that reads
/// tokens, share b's rows instead of K, as those of a sched.group_dot do.
inline constexpr llvm::StringLiteral kBesideName = "beside";
int64_t besideOf(SplitDotOp dot);

/// The same of a matmul by groups. Its b is the operand whose rows lie as the accumulators do.
/// Where an instruction reads the tokens in shared memory, it is `split`'s, and its a lies as
/// `sums` takes it.
struct GroupSimt {
  SplitSimt split;                         // its b in elements, not in pairs
  const MatrixInstruction *sums = nullptr; // that adds up tokens
  int weights = 0;                         // b: 0 the instruction's left operand, 1 its right one
  SimtLayout pairs;                        // of b
  SimtLayout scale;                        // and of min
  int64_t group = 0;                       // elements along K
};

GroupSimt groupSimt(GroupDotOp dot);

/// The instruction that can multiply in place of the dot's own and reads all rows of tokens at once
/// in shared memory: in the same order along K, which `order` says for a pipeline's rows, in whole
/// tiles of b's rows. Null where the processor has none.
const MatrixInstruction *readingInstruction(GroupDotOp dot, const SimtFacts &facts);
llvm::SmallVector<int64_t> orderAlongK(GroupDotOp dot);
/// The same of unquantized weights, which it takes as its left operand.
const MatrixInstruction *readingInstruction(SplitDotOp dot, const SimtFacts &facts);
llvm::SmallVector<int64_t> orderAlongK(SplitDotOp dot);

/// Where several subgroups multiply the same tokens, each adds up some of these: its tokens, and
/// sums [groups, tokens] as it makes them and as all of them use them.
struct GroupSumsSimt {
  SimtLayout ownTokens, ownSums, sums;
};

GroupSumsSimt groupSumsSimt(GroupDotOp dot, const GroupSimt &simt);
/// Elements along K that share one scale and one minimum.
int64_t groupAlongK(const BlockFormat &format);
/// Elements along K that one subgroup of a matmul by groups has side by side: a whole block at
/// least, in steps along K of so many elements several of a short one, so that a thread block for
/// many tokens, which takes one such unit at a time, multiplies enough between its barriers.
int64_t leastUnitOfGroups(const BlockFormat &format);
int64_t unitOfGroups(const BlockFormat &format, int64_t step);
/// The same of unquantized weights.
int64_t unitOfUnquantized(const DepthTile &tile, int64_t step);

/// Bits of an element's number along K that one thread should hold in registers: eight neighbours,
/// of a block format (null: of scalars) what shares the bytes of four of them, and at least as many
/// as the instruction of `tile` takes there. With its other bits they are the lowest ones without a
/// gap.
llvm::SmallVector<int64_t> registerBitsAlongK(const BlockFormat *format, const DepthTile &tile);
/// Elements along K that the lanes of one instruction hold so.
int64_t unitAlongK(const BlockFormat *format, const DepthTile &tile);

} // namespace sinter::sched
