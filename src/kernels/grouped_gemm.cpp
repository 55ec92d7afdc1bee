// The grouped GEMM in the tile language: the GEMM's tiles over windows of rows.
#include "kernels/grouped_gemm.h"

namespace sinter::kernels {

using namespace kernel;

namespace {

struct GroupViews {
  View a, b, groups, bias, out;
};

// The rows of a program's group.
struct Group {
  Scalar matrix, first, rows;
};

} // namespace

static GroupViews declareViews(KernelBuilder &k, const GroupedGemm &p) {
  const Gemm &g = p.gemm;
  GroupViews v;
  v.a = k.in("a", g.a, {dyn, g.k});
  v.b = k.in("b", g.b, {dyn, g.k}, {.interleave = g.interleave, .constant = g.constantB});
  v.groups = k.in("groups", I32, {dyn, 3});
  if (p.biased)
    v.bias = k.in("bias", F32, {dyn, g.n});
  if (g.epilogueStore)
    g.epilogueStore.declare(k);
  else
    v.out = k.out("out", g.out, {dyn, g.n});
  g.epilogue.open(k);
  return v;
}

static Group loadGroup(KernelBuilder &k, const View &groups) {
  Scalar id = k.programId(1);
  auto number = [&](int64_t column) {
    return max(convert(loadScalar(groups, {id, column}), Index), 0);
  };
  return {number(0), number(1), number(2)};
}

void groupedGemm(KernelBuilder &k, const GroupedGemm &p) {
  const Gemm &g = p.gemm;
  const GroupViews v = declareViews(k, p);
  Scalar columns = g.epilogueStore ? k.constant(Index, g.n) : v.out.dim(1);
  k.grid(ceilDiv(columns, g.blockN), min(v.groups.dim(0), v.a.dim(0)));
  const Group group = loadGroup(k, v.groups);
  Scalar column = k.programId(0) * g.blockN, depth = v.a.dim(1);
  k.forLoop(0, group.rows, g.blockM, [&](Scalar done) {
    Scalar row = group.first + done, left = group.rows - done;
    View rows = window(v.a, {row, 0}, {left, depth}), out = v.out;
    if (g.epilogueStore)
      g.epilogueStore.cut(k, row, left);
    else
      out = window(v.out, {row, 0}, {left, columns});
    const TilePlace place = {k.constant(Index, 0), column, g.blockM, g.blockN};
    Tile sum = gemmTile(k, g, rows, v.b, place, group.matrix * columns + column);
    if (p.biased)
      sum = sum + load(v.bias, {group.matrix, column}, {1, g.blockN});
    Tile result = g.epilogue(k, sum, place);
    if (g.epilogueStore)
      g.epilogueStore(k, result, place);
    else
      storeF32(out, g.out, place, result);
  });
}

void visitFields(GroupedGemm &p, FieldVisitor &visitor) {
  visitMatmul(p.gemm, visitor);
  visitor.flag("biased", p.biased, "each column of an expert has a bias");
}

} // namespace sinter::kernels
