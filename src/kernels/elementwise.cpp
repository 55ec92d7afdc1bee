// Elementwise maps in the tile language.
#include "kernels/elementwise.h"

namespace sinter::kernels {

using namespace kernel;

template <class F>
static void map(KernelBuilder &k, const MapBlocks &p, const char *nameA, const char *nameB, F f) {
  View a = k.in(nameA, p.a, {dyn, p.columns}), b = k.in(nameB, p.b, {dyn, p.columns});
  View out = k.out("out", p.out, {dyn, p.columns});
  p.epilogue.open(k);
  k.grid(ceilDiv(out.dim(1), p.blockColumns), ceilDiv(out.dim(0), p.blockRows));
  TilePlace place = {k.programId(1) * p.blockRows, k.programId(0) * p.blockColumns, p.blockRows,
                     p.blockColumns};
  Tile value = f(loadF32(a, p.a, place), loadF32(b, p.b, place));
  storeF32(out, p.out, place, p.epilogue(k, value, place));
}

void add(KernelBuilder &k, const Add &p) {
  map(k, p, "a", "b", [](Tile a, Tile b) { return a + b; });
}

void siluMul(KernelBuilder &k, const SiluMul &p) {
  map(k, p, "gate", "up", [](Tile gate, Tile up) { return gate / (1.0 + exp(-gate)) * up; });
}

static void visitBlocks(MapBlocks &p, FieldVisitor &visitor) {
  visitor.format("a", p.a, "element type of the first operand");
  visitor.format("b", p.b, "element type of the second operand");
  visitor.format("out", p.out, "element type of out");
  visitor.extent("columns", p.columns, "N where it is static");
  visitor.integer("block_rows", p.blockRows, 1, kMaxBlock, "rows of one program");
  visitor.integer("block_columns", p.blockColumns, 1, kMaxBlock, "columns of one program");
}

void visitFields(Add &p, FieldVisitor &visitor) {
  visitBlocks(p, visitor);
}
void visitFields(SiluMul &p, FieldVisitor &visitor) {
  visitBlocks(p, visitor);
}

} // namespace sinter::kernels
