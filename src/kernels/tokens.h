// Kernels on rows of tokens: quantize_rows, embed, rope_table, rope, kv_append.
#pragma once

#include "kernels/fields.h"
#include "kernels/slots.h"

namespace sinter::kernels {

// Quantizes rows to a block format. Arguments: x [M, K], out [M, K] of `out`. Grid x walks K, y
// walks M. `prologue` maps the loaded f32 values.
struct QuantizeRows {
  kernel::Element in = kernel::F32, out = kernel::block("q8a"); // which every target makes
  int64_t columns = kernel::dyn;
  int64_t blockRows = 1, blockColumns = 512;
  Slot prologue;
};

// Rows of a table by token id; an id outside the table gives what a row of zero bits would.
// Arguments: ids i32 [T], table [V, K] of any format, out [T, K]. A row-interleaved table has
// groups of 16 rows, of a format that numeric/formats/dot_packing.h packs or unquantized. Grid x
// walks K, y walks T.
struct Embed {
  kernel::Element table = kernel::F32, out = kernel::F32;
  int64_t columns = kernel::dyn;
  int64_t interleave = 0; // rows of the table in a row-interleaved group; 0: it is not packed
  int64_t blockColumns = 512;
  Slot epilogue;
};

// The RoPE table: cosines, then sines, of position * frequency. Arguments: positions i32 [T, 1],
// frequencies f32 [at most pairs] in radians per position, 0 beyond them, out f32 [T, 2, pairs].
// With `divided` divisors f32 [pairs] of the frequencies come next, with `scaled` then magnitudes
// f32 [pairs] that multiply cosines and sines. Grid x walks T.
struct RopeTable {
  int64_t pairs = 32; // half of the elements that rotate
  int64_t blockRows = 1;
  bool divided = false, scaled = false;
};

// Rotates pairs of elements of each head: (a, b) to (a cos - b sin, a sin + b cos). Arguments: x
// [T, heads, pairs, 2] ([T, heads, 2, pairs] with `halves`), rotations f32 [T, 2, pairs] as of
// RopeTable, out like x. With `inPlace` x is inout and there is no out. With `rest` the elements of
// each head that do not rotate are copied: x_rest and out_rest [T, heads, rest] follow. Grid x
// walks heads, y walks T.
struct Rope {
  kernel::Element in = kernel::F32, out = kernel::F32;
  int64_t heads = kernel::dyn;
  int64_t pairs = 32; // half of the elements that rotate
  int64_t rest = 0;
  int64_t blockRows = 1, blockHeads = 8;
  bool halves = false; // pair (i, i + pairs), not (2i, 2i + 1)
  bool inPlace = false;
};

// Appends the keys or the values of tokens to the pages of a KV cache. Arguments: rows [T, kvHeads,
// headDim], slots i32 [T] (page * pageRows + row; negative: the token is not stored), pool [pages,
// pageRows, kvHeads, headDim], inout; with `strided` a head's elements may lie apart, as those of
// keys do. Grid x walks T.
struct KvAppend {
  kernel::Element in = kernel::F32, cache = kernel::F16;
  int64_t kvHeads = 8, headDim = 64, pageRows = 64;
  bool strided = false;
};

// The KV cache of one layer as programs write to it, by slot through gatherRows.
kernel::View declareKeyCache(kernel::KernelBuilder &k, kernel::Element element, int64_t kvHeads,
                             int64_t headDim, int64_t pageRows);
kernel::View declareValueCache(kernel::KernelBuilder &k, kernel::Element element, int64_t kvHeads,
                               int64_t headDim, int64_t pageRows);

void quantizeRows(kernel::KernelBuilder &k, const QuantizeRows &p);
void embed(kernel::KernelBuilder &k, const Embed &p);
void ropeTable(kernel::KernelBuilder &k, const RopeTable &p);
void rope(kernel::KernelBuilder &k, const Rope &p);
void kvAppend(kernel::KernelBuilder &k, const KvAppend &p);

void visitFields(QuantizeRows &p, FieldVisitor &visitor);
void visitFields(Embed &p, FieldVisitor &visitor);
void visitFields(RopeTable &p, FieldVisitor &visitor);
void visitFields(Rope &p, FieldVisitor &visitor);
void visitFields(KvAppend &p, FieldVisitor &visitor);

} // namespace sinter::kernels
