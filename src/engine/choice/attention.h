// Attention and the KV cache: pages, query tiles, steps of keys, partitions.
#pragma once

#include "engine/choice/m_bucket.h"
#include "engine/choice/precision.h"
#include "kernels/attention.h"

namespace sinter::engine {

struct AttentionShape {
  int64_t kvHeads = 0, groupHeads = 0, headDim = 0, pageRows = 0;
  kernel::Element cache = kernel::F16;
  int64_t valueDim = 0; // 0: headDim
};
// Whether tasks multiply such heads in bf16.
bool attendsInBfloat(int64_t headDim, int64_t stepKeys, const TargetProfile &profile);
// `queryTile` is the most query rows of a query tile of many. On SIMT targets One is for decode
// tokens: how threads share a page's scores, and so the order of their sums, differs. With
// `mayRound` tasks multiply in bf16 where the target does that faster.
kernels::Attention chooseAttention(const AttentionShape &shape, kernel::Element out,
                                   int64_t queryTile, MBucket rows, const TargetProfile &profile,
                                   bool mayRound = false);
// The least positions that a program of a single row sums up where there are more. SmolLM2's shape
// after 4096 tokens on an H200: 1,350 tokens per second, 440 with one program for all positions.
inline constexpr int64_t kPartitionKeys = 256;
// The same with its keys in partitions. Tasks have them in any case, so that a row has the same
// bits whether its partitions are summed up together or apart.
kernels::Attention partitioned(kernels::Attention p);
// The same for a decode token in programs of a whole group's rows, whose matmuls read multistage
// pipelines; most rows are padding, since keys and values limit the speed. As it is where the
// target has no such instruction for these heads.
kernels::Attention pipelined(kernels::Attention p, const TargetProfile &profile);
// The same with longer partitions for sequences so long that usual ones are more than the device
// runs at once. Only a sequence's own positions decide, so its bits do not depend on the batch.
// Unchanged where kernels read no multistage pipelines, and with a window.
kernels::Attention lengthened(kernels::Attention p, const TargetProfile &profile);
// What combines these partitions. Where threads share programs, each has columns of one head and
// reads several partitions at once: an H200 took 62 us for 128 partitions one after another, at any
// head count, and 18 us for 16 at once of whole heads.
kernels::Attention combining(kernels::Attention p, const TargetProfile &profile);
// Up to so many partitions of a single row one program sums up, one after another.
int64_t partitionsOfOneProgram(const TargetProfile &profile);
// Whether the runtime lists the partitions of a step, instead of as many of each row as the longest
// sequence has.
bool listsPartitions(const TargetProfile &profile);
// Whether a program stores the heads side by side that share keys.
bool joinsHeads(const TargetProfile &profile);

// Rows that a program should have, with heads of so many numbers, for its matmuls to read
// multistage pipelines (sched/simt/pipeline_back_to_back); 0: there are none of such heads.
int64_t backToBackRows(int64_t headDim, const BlockFormat &cache, const TargetProfile &profile);
// Positions of a page of the KV cache, for programs of so many back-to-back rows.
int64_t choosePageRows(int64_t backToBackRows, const TargetProfile &profile);
// The query rows of a query tile of many, with `groupHeads` query heads each: as many as fill
// `backToBackRows`.
int64_t chooseQueryTile(int64_t groupHeads, int64_t backToBackRows);

} // namespace sinter::engine
