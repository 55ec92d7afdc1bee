// Generic kernels on views of any rank, of which strides say how elements lie: broadcasts (stride
// 0), transposes, slices, parts of a concatenation. What no fusion takes runs as one of these.
//
// One program makes a tile of the last two axes (or of the last kept and the last reduced one).
// Grid x counts all programs, columns fastest. Bits depend on shapes along reduced axes and on
// blocks only.
#pragma once

#include "kernels/fields.h"
#include "kernels/slots.h"

#include <vector>

namespace sinter::kernels {

inline constexpr int64_t kMaxViewRank = 6;

// One operand: its elements, and whether its innermost stride may be other than 1. Elements of I1
// lie in memory as bytes of I8, 0 or 1.
struct ViewOperand {
  kernel::Element element = kernel::F32;
  bool strided = false;
};

struct ViewBlocks {
  int64_t rank = 2;
  int64_t blockRows = 1, blockColumns = 512; // of the tile; rows are 1 where the rank is 1
};

// out = apply(operands), elementwise, or without `apply` the first operand, converted. Arguments:
// in0, in1, ..., out, all of out's shape; an operand that broadcasts has stride 0 there. Operands
// of a block format are dequantized; columns of a tile are whole blocks.
struct MapViews : ViewBlocks {
  std::vector<ViewOperand> operands = {{}};
  ViewOperand out;
  // Maps [rows, columns] tiles of the operands' elements to one of out's.
  std::function<Tile(KernelBuilder &, const std::vector<Tile> &, int64_t rows, int64_t columns)>
      apply;
};

enum class Combine { Sum, Product, Max, Min, All, Any };

// How a reduction walks. `kept` axes K and `reduced` axes R, 1 or more each and kMaxViewRank in
// all. Along: an operand is [K0, K1, ..., R0, R1, ...], a program takes blockRows of the last K and
// steps of blockColumns of the last R. Across: an operand is [K0, ..., R0, R1, ..., Kn], a program
// takes blockColumns of Kn and steps of one element. Results are [K0, K1, ...].
struct ReducedAxes {
  int64_t kept = 1, reduced = 1;
  bool across = false;
  int64_t blockRows = 1, blockColumns = 512;
};

// Combines elements along axes. Arguments: in, out. Products, all and any take steps of one
// element. Sums of f16 and bf16 are f32. Elements of out are those of in, or f32 from floats.
struct ReduceViews : ReducedAxes {
  ViewOperand in;
  kernel::Element out = kernel::F32;
  Combine combine = Combine::Sum;
};

// Accumulators that take elements one after another, in row-major order of the reduced axes.
// Arguments: in0, in1, ..., out0, out1, ... Accumulators are of F32, I32 or I1.
struct FoldViews : ReducedAxes {
  struct Accumulator {
    kernel::Element element = kernel::F32;
    double from = 0;
  };
  std::vector<ViewOperand> operands = {{}};
  std::vector<Accumulator> results = {{}};
  // Maps [rows, columns] tiles of the accumulators and the operands to the next accumulators.
  // Without it the one accumulator is a sum of the first operand's floats.
  std::function<std::vector<Tile>(KernelBuilder &, const std::vector<Tile> &, int64_t rows,
                                  int64_t columns)>
      apply;
};

// Each element is its index along `axis`. Arguments: out, of I32.
struct IotaViews {
  int64_t rank = 1, axis = 0, blockColumns = 512;
};

// out[o, j, i] = table[o, index[j], i], zero where the index is outside. Arguments: table [O, N,
// I], index [J] of I32, out [O, J, I], of the table's elements or f32 from floats and blocks.
// Batched: all three have one more axis, the first.
struct GatherViews {
  ViewOperand table;
  bool batched = false;
  kernel::Element out = kernel::F32;
  int64_t blockColumns = 512;
};

void mapViews(kernel::KernelBuilder &k, const MapViews &p);
void reduceViews(kernel::KernelBuilder &k, const ReduceViews &p);
void foldViews(kernel::KernelBuilder &k, const FoldViews &p);
void iotaViews(kernel::KernelBuilder &k, const IotaViews &p);
void gatherViews(kernel::KernelBuilder &k, const GatherViews &p);

void visitFields(MapViews &p, FieldVisitor &visitor);
void visitFields(ReduceViews &p, FieldVisitor &visitor);
void visitFields(FoldViews &p, FieldVisitor &visitor);
void visitFields(IotaViews &p, FieldVisitor &visitor);
void visitFields(GatherViews &p, FieldVisitor &visitor);

} // namespace sinter::kernels
