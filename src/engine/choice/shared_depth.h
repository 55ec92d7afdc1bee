// Decode matmuls that read weights once for up to 16 tokens: a matrix instruction multiplies all of
// them while subgroups share K. The choice depends on the instruction, N, K and types alone.
#pragma once

#include "engine/choice/matmul.h"
#include "graph/graph.h"
#include "kernels/gemm.h"

#include <optional>
#include <vector>

namespace sinter::engine {

// Tokens of a program that dequantizes its weights from words where they are more than one
// instruction takes: it has no more to multiply and to add up than these. A token's bits are the
// same in both.
inline constexpr int64_t kManyTokens = 16;
// Whether a matmul dequantizes its weights from words, by groups (sched/simt/split_dots.h).
bool readsWords(const kernels::Gemm &p);
// Whether such a matmul is one; then `p` becomes that, with a of the type `a`. `columns` are those
// that a program must have (0: any), of `parts` side by side (kernels::Gemm).
bool shareDepth(kernels::Gemm &p, kernel::Element a, int64_t columns, int64_t parts,
                const MatmulPrecision &rules);
// The same for a launch of a matmul in decode, whose epilogue is known and which makes no norm but
// from sums of squares. The matmul then reads its rows quantized.
bool shareDepth(kernels::Gemm &p, graph::LaunchOp launch, const MatmulPrecision &rules);
// Its tile for few tokens; nothing where it does not share K.
std::optional<kernels::Gemm> sharedGemm(graph::LaunchOp launch, const MatmulPrecision &rules);
bool sharesDepth(graph::LaunchOp launch, const MatmulPrecision &rules);
// Tiles of more tokens than an instruction's for such a matmul from words, by ascending numbers:
// a program dequantizes weights once for all of its tokens, and its subgroups share columns instead
// of K. A token's bits are those of `p`. `columns` as above; else whole multiples of `multiple`.
// Where programs are few, shares of K have blocks of their own, if the target can. None where
// programs are fewer, or shares of K do not come out even.
std::vector<TokenGemm> tilesOfTokens(const kernels::Gemm &p, int64_t columns, int64_t multiple,
                                     const TargetProfile &profile);
// The tiles of a matmul with tile `p`, which shareDepth() made where `shares`, from the fewest
// tokens on. `headColumns` are those of a head where a program must have them, else 0; else columns
// are whole multiples of `multiple`.
std::vector<TokenGemm> tilesByTokens(const kernels::Gemm &p, MBucket rows, bool shares,
                                     int64_t headColumns, int64_t multiple,
                                     const TargetProfile &profile);

} // namespace sinter::engine
