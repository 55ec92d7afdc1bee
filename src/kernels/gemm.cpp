// The matrix product in the tile language.
#include "kernels/gemm.h"

namespace sinter::kernels {

using namespace kernel;

// The tile of a as the product takes it.
static Tile loadA(KernelBuilder &k, const Gemm &p, const View &a, const TilePlace &place) {
  Tile tile = load(a, {place.row, place.column}, {place.rows, place.columns});
  Element element = p.a;
  if (p.prologue.apply) {
    tile = p.prologue(k, toF32(tile, element), place);
    element = F32;
  }
  if (p.b.isBlock() && p.activation.isBlock())
    return element.isBlock() ? tile : quantize(convert(tile, F32), p.activation);
  return element == p.b ? tile : toF32(tile, element);
}

// The tile of b as the product takes it; `place` is in (K, N).
static Tile loadB(const Gemm &p, const View &b, const TilePlace &place) {
  Tile tile = p.transposeB ? load(b, {place.column, place.row}, {place.columns, place.rows})
                           : load(b, {place.row, place.column}, {place.rows, place.columns});
  if (p.b.isBlock())
    return p.activation.isBlock() ? tile : decode(tile);
  bool same = !p.prologue.apply ? p.a == p.b : p.b == F32;
  return same ? tile : convert(tile, F32);
}

void gemm(KernelBuilder &k, const Gemm &p) {
  View a = k.in("a", p.a, {dyn, p.k});
  ViewOptions ofB{.interleave = p.interleave, .constant = p.constantB};
  View b = p.transposeB ? k.in("b", p.b, {p.n, p.k}, ofB) : k.in("b", p.b, {p.k, p.n}, ofB);
  View out;
  if (p.sink)
    p.sink.declare(k);
  else
    out = k.out("out", p.out, {dyn, p.n});
  p.prologue.open(k);
  p.epilogue.open(k);
  Scalar columns = p.sink ? b.dim(p.transposeB ? 0 : 1) : out.dim(1);
  k.grid(ceilDiv(columns, p.blockN), ceilDiv(p.sink ? a.dim(0) : out.dim(0), p.blockM));
  TilePlace place = {k.programId(1) * p.blockM, k.programId(0) * p.blockN, p.blockM, p.blockN};

  p.prologue.begin(k, a, {place.row, k.constant(Index, 0), p.blockM, p.blockK});
  Tile zero = k.zeros(F32, {p.blockM, p.blockN});
  Tile sum = k.forLoop(0, a.dim(1), p.blockK, zero, [&](Scalar step, Tile acc) {
    Tile left = loadA(k, p, a, {place.row, step, p.blockM, p.blockK});
    return dot(left, loadB(p, b, {step, place.column, p.blockK, p.blockN}), acc, p.transposeB);
  });
  Tile result = p.epilogue(k, sum, place);
  if (p.sink)
    p.sink.store(k, result, place);
  else
    storeF32(out, p.out, place, result);
}

void visitFields(Gemm &p, FieldVisitor &visitor) {
  visitor.format("a", p.a, "element type of a");
  visitor.format("b", p.b, "element type of b");
  visitor.format("out", p.out, "element type of out");
  visitor.format("activation", p.activation,
                 "block format of a where b is a block format, or f32: b is decoded");
  visitor.flag("transpose_b", p.transposeB, "b is [N, K]");
  visitor.flag("constant_b", p.constantB, "b is the same in every launch");
  visitor.extent("n", p.n, "N where it is static");
  visitor.extent("k", p.k, "K where it is static");
  visitor.integer("block_m", p.blockM, 1, kMaxBlock, "rows of one program");
  visitor.integer("block_n", p.blockN, 1, kMaxBlock, "columns of one program");
  visitor.integer("block_k", p.blockK, 1, kMaxBlock, "contracted extent of one step");
  visitor.integer("interleave", p.interleave, 0, 64, "rows of b packed side by side");
}

} // namespace sinter::kernels
