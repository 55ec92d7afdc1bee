// Kernels with states of sequences: causal convolution and the gated delta rule. A program walks
// the rows of one sequence in order, so that a row's bits do not depend on other sequences, nor on
// how a sequence is cut into steps. Kernels of chunks ask that cuts lie between chunks.
#pragma once

#include "kernels/fields.h"
#include "kernels/slots.h"

namespace sinter::kernels {

// A state is read and written in place: on SIMT targets a program's part of it has at least as many
// elements as threads, so that each is one thread's.
//
// `spans` i32 [S, 4] of both: slot of a sequence's state (negative: zeros), slot of its next state,
// first row, rows.

// Row t is the sum of weight j times the row width - 1 - j before t, oldest first. Arguments: rows
// f32 [T, C], weight f32 [width, C], strided, spans, state f32 [slots, width - 1, C], inout, out
// f32 [T, C]. Grid x walks C, y walks S.
struct CausalConv {
  int64_t columns = kernel::dyn; // C where it is static
  int64_t width = 4, blockColumns = 64;
};

// Of each row in order a head's matrix is multiplied by exp(decay) and gains key (beta (value -
// matrix^T key))^T; the result is scale * matrix^T query. Arguments: query and key f32 [T,
// keyHeads, keyDim, 1], value f32 [T, heads, valueDim], decay and beta f32 [T, heads], spans, state
// f32 [slots, heads, keyDim, valueDim], inout, out f32 [T, heads, valueDim], scale f32. Grid x
// walks heads by valueDim, y walks S.
struct DeltaRule {
  int64_t keyHeads = 16, heads = 16, keyDim = 128, valueDim = 128;
  int64_t blockColumns = 16; // of valueDim that a program has
  bool neighbours = false;   // heads that share a key head lie side by side
};

// The same of `chunkRows` rows at a time, by matmuls (Yang et al., 2406.06484 and 2412.06464). The
// changes of a chunk's rows solve a triangular system, and the matrix takes them all at once. Rows
// have other bits than those of deltaRule. Chunks count from the first row of a span: rows have the
// same bits however a sequence is cut into spans of whole chunks. Query and key are f32 [T,
// keyHeads, keyDim].
struct DeltaRuleChunks {
  DeltaRule rule;
  int64_t chunkRows = 16;
};

void causalConv(kernel::KernelBuilder &k, const CausalConv &p);
void deltaRule(kernel::KernelBuilder &k, const DeltaRule &p);
void deltaRuleChunks(kernel::KernelBuilder &k, const DeltaRuleChunks &p);

void visitFields(CausalConv &p, FieldVisitor &visitor);
void visitFields(DeltaRule &p, FieldVisitor &visitor);
void visitFields(DeltaRuleChunks &p, FieldVisitor &visitor);

} // namespace sinter::kernels
