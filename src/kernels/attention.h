// Paged attention over ragged batches with grouped query heads, by online softmax.
#pragma once

#include "kernels/fields.h"
#include "kernels/slots.h"

namespace sinter::kernels {

// Arguments of attention (T tokens, S sequences, P pages of a sequence, B query tiles):
//   q [T, kvHeads * groupHeads, headDim]
//   k_cache [pages, kvHeads, headDim, pageRows], v_cache [pages, kvHeads, pageRows, valueDim]; of a
//     block format, whose quantization blocks lie along a head, k_cache is [pages, kvHeads,
//     pageRows, headDim]
//   page_table i32 [S, P]     page of sequence s that holds its positions from p * pageRows
//   blocks i32 [B, 3]         query tiles: sequence, first row of q, rows (at most queryTile; 0:
//     unused)
//   kv_lengths i32 [S]        positions in the KV cache of a sequence, this step's included
//   positions i32 [T, 1]      position of each row of q, ascending by one within a query tile
//   out [T, kvHeads * groupHeads, valueDim]; `joinHeads`: [T, kvHeads * groupHeads * valueDim]
//   scale f32                 on the scores
//   slopes f32 [1, heads]     with `slopes`: what a score loses for each position between query and
//     key (ALiBi)
//   sinks f32 [1, heads]      with `sinks`: a score of each head that has no value
// Grid x walks query tiles, grid y key/value heads. A program instance holds the rows of one query
// tile times the heads of the group. Row t attends positions up to its own (`causal`), at most
// `window` of them (0: all), with `chunk` those from its last multiple of `chunk` on; without
// `causal` its whole sequence, with `window` those at most window / 2 away. `scores` maps
// scaled scores, [rows, keys of a step] at (row, key position), before slopes and the mask.
//
// A step takes `stepPages` pages of keys, in ascending order, so a row's bits do not depend on the
// rest of the batch. A short last step changes no bit either if both step sizes are powers of two
// that compiled code takes in whole registers: it leaves out exact zeros only.
//
// Split-KV: if partitionSteps is not 0, each partition of so many steps has its own softmax state,
// which is combined with that of the partitions before it. attentionPartitions and attentionCombine
// do the same in two kernels, with the same bits. attentionPartitions has in place of `out`
//   acc f32 [T, heads, partitions, valueDim], high and total f32 [T, heads, partitions]
// and no sinks, and grid z walks partitions. attentionCombine takes acc, high, total, blocks,
// kv_lengths, positions, out and sinks, on attention's grid, with parts of a value's columns along
// z; heads are alike to it, so kvHeads may be all heads and groupHeads 1. A partition in which no
// row of the query tile sees a key is neither written nor read.
//
// Ragged batches: attentionPartitionsRagged has a program for each partition of a list instead, and
// the list in place of `blocks`; attentionCombineRagged takes the list before `out`.
//   partitions i32 [W, 6]     row w, of a partition: sequence, first row of q, rows (0: unused),
//     position of its first key, its first slot. Last column of row b, of query tile b: the first
//     slot of the sequence's partition 0, if it had one
//   acc f32 [slots, heads, valueDim], high and total f32 [slots, heads]: a partition has a slot for
//     each row of its query tile, partitions of a query tile follow one another
inline constexpr int64_t kMaxStepPages = 64, kMaxCombined = 64;
// Columns of a list of partitions beside those of `blocks`.
inline constexpr int64_t kPositionColumn = 3, kSlotColumn = 4, kBaseColumn = 5,
                         kPartitionColumns = 6;
struct Attention {
  kernel::Element in = kernel::F32, cache = kernel::F16, out = kernel::F32;
  kernel::Element compute = kernel::F32; // of the operands of both matmuls
  int64_t kvHeads = 8, groupHeads = 4, headDim = 64, pageRows = 64;
  int64_t stepPages = 1; // more pages prefetch together: fewer waits in decode
  // Keys of a short last step, at most a page's, if no more are left; 0: all steps are whole.
  int64_t shortStep = 0;
  // Steps of a partition; 0: one partition in attention, one step in the other two kernels.
  int64_t partitionSteps = 0;
  // Ragged batches without window and chunk: a query tile whose last row sees more positions than
  // so many partitions hold has longer ones, of ceil(positions / (mostPartitions * step)) steps. 0:
  // it has not.
  int64_t mostPartitions = 0;
  // Partitions of a single row of one head whose states attentionCombine reads before it combines
  // any: one wait for all, and a sum over them.
  int64_t combinePartitions = 1;
  // Columns of a value that a program of attentionCombine has, by grid z; 0: all.
  int64_t combineColumns = 0;
  int64_t queryTile = 1;
  int64_t window = 0, chunk = 0; // at most one of them
  int64_t valueDim = 0;          // elements of a value; 0: headDim
  bool slopes = false, sinks = false;
  bool causal = true;
  bool joinHeads = false; // a block format of out may have blocks longer than a head
  Slot scores;
};

void attention(kernel::KernelBuilder &k, const Attention &p);
void attentionPartitions(kernel::KernelBuilder &k, const Attention &p);
void attentionCombine(kernel::KernelBuilder &k, const Attention &p);
void attentionPartitionsRagged(kernel::KernelBuilder &k, const Attention &p);
void attentionCombineRagged(kernel::KernelBuilder &k, const Attention &p);
// For `scores`: s becomes cap * tanh(s / cap), of an argument soft_cap f32.
Slot softCapSlot();
// Positions of a step, and of a partition of attentionPartitions and attentionCombine.
int64_t stepKeys(const Attention &p);
int64_t partitionKeys(const Attention &p);
void visitFields(Attention &p, FieldVisitor &visitor);

} // namespace sinter::kernels
