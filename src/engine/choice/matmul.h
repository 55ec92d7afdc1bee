// Tiles of matmuls. All variants of one matmul reduce in the same order, so that a row's bits do
// not depend on the choice.
#pragma once

#include "engine/choice/m_bucket.h"
#include "engine/choice/precision.h"
#include "engine/choice/schedule_space.h"
#include "graph/fuse/passes.h"
#include "kernels/gemm.h"

namespace sinter::engine {

// What every SIMT processor has for a thread block to share.
inline constexpr int64_t kLeastSharedBytes = 16 * 1024;
// Columns of a thread block that has one row.
inline constexpr int64_t kSimtColumnsOfOne = graph::kSimtDecodeColumns;

kernels::Gemm chooseGemm(kernel::Element a, kernel::Element b, int64_t n, int64_t k, MBucket rows,
                         MatmulPrecision rules = {});
// Columns of a product's tile whose sink takes `part` of them at once.
int64_t columnsInParts(const kernels::Gemm &p, int64_t part, const TargetProfile &profile);
// Gives a prefill GEMM of a SIMT target a larger tile where its weights are many; with `anyColumns`
// a wider one too, in whole multiples of what its epilogue store takes. `readsShared`: whether an
// instruction multiplies bf16 from shared memory.
void growTile(kernels::Gemm &p, int64_t sharedBytes, bool anyColumns, bool readsShared = false);
// Shortens the steps of a product over threads until its operands fit into what a program shares,
// or of one row what its threads hold; blocks, whose steps have a least length, take fewer rows
// then.
void fitStep(kernels::Gemm &p, int64_t sharedBytes);
// Gives a CPU GEMM of quantized operands more rows where its columns alone are programs enough.
void joinRows(kernels::Gemm &p);
// A tile, from how many tokens on, and what it decides about its schedule.
struct TokenGemm {
  int64_t leastTokens;
  kernels::Gemm gemm;
  Freedom::Decisions decided = {};
};
// Prompts of so many tokens at most have tiles of fewer rows.
inline constexpr int64_t kShortPrompt = 128;
// The tile of such prompts on a SIMT target, where that of longer ones has more rows, or as many
// and an instruction reads shared memory; a row's bits are the same in both. `anyColumns` as of
// growTile; then columns are whole multiples of `multiple`.
std::optional<TokenGemm> tileOfShortPrompts(const kernels::Gemm &p, bool anyColumns,
                                            int64_t multiple, const TargetProfile &profile);
// The last step of a choice, once the epilogue has decided the tile's columns: growTile and fitStep
// for thread blocks, joinRows for tasks. `anyColumns` as of growTile.
void finishTile(kernels::Gemm &p, bool anyColumns, const TargetProfile &profile);

} // namespace sinter::engine
