// Which instance of which kernel runs a graph operation: block sizes from static extents, from how
// many rows there are, and from what runs a program. All variants of one operation reduce in the
// same order, so that a row's bits do not depend on the choice.
#pragma once

#include "graph/fuse/passes.h"
#include "kernels/attention.h"
#include "kernels/elementwise.h"
#include "kernels/gemm.h"
#include "kernels/rows.h"
#include "kernels/tokens.h"
#include "numeric/formats/activation_format.h"
#include "numeric/precision.h"

namespace sinter::engine {

// How many rows a program of a launch holds. On threads One is for decode tokens, however many.
// Few differs from Many only for products of tasks with scalars.
enum class MBucket { Prefill, Small, One };
// Most rows of Few: as many as read packed weights as they lie (targets/cpu: CpuSchedule).
inline constexpr int64_t kSmallM = 8;

// What one program is: a task that a core goes through, or a thread block.
enum class TargetKind { Cpu, Simt };
// What every processor of threads has for a program to share.
inline constexpr int64_t kLeastSharedBytes = 16 * 1024;
// Of a target's name.
TargetKind targetKindOf(std::string_view target);

// What decides how rows meet weights.
struct MatmulPrecision {
  TargetKind kind = TargetKind::Cpu;
  Activations activations = Activations::Fastest;
  // Activations that share a scale, at most (targets::Target::rowElements).
  int64_t scaleLength = 256;

  // Prefill tokens meet weights of blocks as bf16, not as blocks
  // (targets::Target::dequantizesToBfloat).
  bool bfloatRows = false;
};

kernels::RmsNorm chooseNorm(int64_t columns, kernel::Element out,
                            TargetKind kind = TargetKind::Cpu);
// A stream of [M, columns] f32 through a map region to f32 or a block format.
kernels::QuantizeRows chooseStream(int64_t columns, kernel::Element out,
                                   TargetKind kind = TargetKind::Cpu);
// Of a table whose rows lie so many side by side.
kernels::Embed chooseEmbed(int64_t columns, kernel::Element table, int64_t rowInterleave = 1,
                           TargetKind kind = TargetKind::Cpu);
kernels::Gemm chooseGemm(kernel::Element a, kernel::Element b, int64_t n, int64_t k, MBucket rows,
                         MatmulPrecision rules = {});
// Columns of a product's tile whose sink takes `part` of them at once.
int64_t columnsInParts(const kernels::Gemm &p, int64_t part, TargetKind kind);
// Gives a product of prompts over threads a larger tile where its weights are many; where
// `anyColumns`, a wider one too, of whole multiples of what its sink takes.
void growTile(kernels::Gemm &p, int64_t sharedBytes, bool anyColumns);
// Shortens the steps of a product over threads until its operands fit into what a program shares,
// or of one row what its threads hold; blocks, whose steps have a least length, take fewer rows
// then.
void fitStep(kernels::Gemm &p, int64_t sharedBytes);
// Gives a product of blocks over tasks more rows, where its columns, as they are by now, are
// programs enough.
void joinRows(kernels::Gemm &p);
// What decides how operations become launches.
graph::FuseOptions fuseOptions(TargetKind kind);
kernels::RopeTable chooseRopeTable(int64_t pairs, TargetKind kind);
kernels::Rope chooseRope(int64_t heads, int64_t headDim, bool halves, bool inPlace,
                         TargetKind kind);
kernels::KvAppend chooseKvAppend(graph::KvAppendOp op);

struct AttentionShape {
  int64_t kvHeads = 0, groupHeads = 0, headDim = 0, pageRows = 0;
  kernel::Element cache = kernel::F16;
};
// Whether tasks multiply such heads in bf16, `bfloatDepth` numbers at a time (0: never).
bool attendsInBfloat(int64_t headDim, int64_t stepKeys, int64_t bfloatDepth);
// `queryTile` is the most query rows of a block of many. On threads One is for decode tokens: how
// threads share a page's scores, and so the order of their sums, differs.
kernels::Attention chooseAttention(const AttentionShape &shape, kernel::Element out,
                                   int64_t queryTile, MBucket rows,
                                   TargetKind kind = TargetKind::Cpu, int64_t sharedBytes = 0,
                                   int64_t bfloatDepth = 0);
// The least positions that a program of a single row sums up where there are more. SmolLM2's shape
// after 4096 tokens on an H200: 1,350 tokens per second, 440 with one program for all positions.
inline constexpr int64_t kPartitionKeys = 256;
// The same with its keys in spans. Tasks have them in any case, so that a row has the same bits
// whether its spans are summed up together or apart.
kernels::Attention partitioned(kernels::Attention p);
// Positions of a page of the KV cache, for programs that share so many bytes (0: tasks) and whose
// products from rings have so many rows (0: none; targets::Target).
int64_t choosePageRows(int64_t sharedBytes, int64_t backToBackRows);
// The query rows of a block of many, with `groupHeads` query heads each: as many as fill
// `backToBackRows`.
int64_t chooseQueryTile(int64_t groupHeads, int64_t backToBackRows);

} // namespace sinter::engine
