// Paged causal attention over ragged batches with grouped query heads, by online softmax.
#pragma once

#include "kernels/fields.h"
#include "kernels/slots.h"

namespace sinter::kernels {

// Arguments of attention:
//   q [T, kvHeads * groupHeads, headDim]
//   k_cache [pages, kvHeads, headDim, pageRows], v_cache [pages, kvHeads, pageRows, headDim]; pools
//     of a block format, whose blocks lie along headDim, are both of the latter shape
//   page_table i32 [S, P]     page of sequence s that holds its positions from p * pageRows
//   blocks i32 [B, 3]         sequence, first row of q, rows (at most queryTile; 0: unused)
//   kv_lengths i32 [S]        positions stored for a sequence, those of this step's rows among them
//   positions i32 [T, 1]      position of each row of q, ascending by one within a block
//   out [T, kvHeads * groupHeads, headDim]; `joinHeads`: [T, kvHeads * groupHeads * headDim]
//   scale f32                 on the scores
// Grid x walks blocks, y key/value heads; a program holds the rows of a block times the group's
// heads. Row t attends positions up to its own (`causal`), not further back than `window` (0: all).
// Keys are taken a step of `stepPages` pages at a time, ascending, so a row's bits do not depend on
// the rest of the batch. Nor do they where a block's last step is a short one, as long as both
// steps are powers of two that compiled code takes in whole registers: what is left out are exact
// zeros, and such sums add them to nothing else. `scores` maps scaled scores, [rows, keys of a
// step] at (row, key position), before they are masked.
//
// Where partitionSteps is not 0, each span of so many steps is summed up by itself and joined to
// the sums of those before it. Then the spans may also be summed up by programs of their own:
// attentionPartitions has in place of `out`
//   acc f32 [T, heads, spans, headDim], high and total f32 [T, heads, spans]
// and grid z walks spans; attentionCombine takes acc, high, total, blocks, kv_lengths, positions
// and out, on the grid of attention. Both together give the bits of attention. Sums of spans in
// which no row of the block sees a key are neither written nor read.
inline constexpr int64_t kMaxStepPages = 64;
struct Attention {
  kernel::Element in = kernel::F32, cache = kernel::F16, out = kernel::F32;
  kernel::Element compute = kernel::F32; // of both products' operands
  int64_t kvHeads = 8, groupHeads = 4, headDim = 64, pageRows = 64;
  int64_t stepPages = 1; // more are on their way together: fewer waits where few rows share them
  int64_t shortStep =
      0; // where so many keys or fewer are left, at most a page's; 0: always a step's
  int64_t partitionSteps =
      0; // 0: attention has one span of all positions, the others spans of a step
  int64_t queryTile = 1;
  int64_t window = 0;
  bool causal = true;
  bool joinHeads = false; // a block format of out may have blocks longer than a head
  Slot scores;
};

void attention(kernel::KernelBuilder &k, const Attention &p);
void attentionPartitions(kernel::KernelBuilder &k, const Attention &p);
void attentionCombine(kernel::KernelBuilder &k, const Attention &p);
// Positions of a step, and of a span of attentionPartitions and attentionCombine.
int64_t stepKeys(const Attention &p);
int64_t partitionKeys(const Attention &p);
void visitFields(Attention &p, FieldVisitor &visitor);

} // namespace sinter::kernels
