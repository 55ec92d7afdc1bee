// matmul -> queries, keys and values, or some of these in that order -> RoPE -> KV cache. Each head
// is rotated where it is made. Saves up to four launches, and writing and reading all heads;
// repeats nothing, since columns that rotate together are packed into one program's tile.
#include "tile/mlir_pch.h"

#include "graph/fuse/launch.h"
#include "graph/fuse/matmul_heads.h"
#include "graph/fuse/pair_order.h"
#include "graph/fuse/passes.h"
#include "graph/fuse/row_order.h"

#include <vector>

using namespace mlir;

namespace sinter::graph {

namespace {
struct Candidate {
  LaunchOp matmul;
  MatmulHeads heads;
  int64_t group = 0;
  SmallVector<RowPart> order = {};
};
} // namespace

static bool fits(const MatmulHeads &heads) {
  return fitsTile(heads.headDim()) && !heads.norm() && (heads.rope() || heads.append());
}

static LaunchOp launchOf(Operation *op) {
  return cast<LaunchOp>(op->getParentOp());
}

// Slices, reshapes, RoPE, appends: in the order of a body.
static SmallVector<Piece> piecesOf(const Candidate &candidate) {
  SmallVector<Piece> pieces = {{candidate.matmul, {}}};
  ArrayRef<HeadPart> parts = candidate.heads.parts;
  for (HeadPart part : parts)
    if (part.slice)
      pieces.push_back({part.slice, kEpilogue});
  for (HeadPart part : parts)
    pieces.push_back({part.reshape, kEpilogue});
  for (HeadPart part : parts)
    if (part.rope)
      pieces.push_back({launchOf(part.rope), kEpilogue});
  for (HeadPart part : parts)
    if (part.append)
      pieces.push_back({launchOf(part.append), kStore});
  return pieces;
}

static int64_t groupOf(const MatmulHeads &heads, const FuseOptions &options) {
  KvAppendOp append = heads.append();
  const bool blocks = append && isa<tile::BlockType>(append.getPool().getType().getElementType());
  const int64_t group = blocks ? options.groupColumnsOfBlocks : options.groupColumns;
  return group && hasGroups(heads, 2 * group) ? group : 0;
}

static std::optional<Candidate> match(LaunchOp matmul, const FuseOptions &options) {
  if (!isPlainMatmul(matmul))
    return std::nullopt;
  std::optional<MatmulHeads> heads = matmulHeadsOf(matmul.getResult(0));
  if (!heads || !fits(*heads))
    return std::nullopt;
  Candidate candidate{matmul, std::move(*heads)};
  candidate.group = groupOf(candidate.heads, options);
  candidate.order = headOrder(candidate.heads, candidate.group);
  if (candidate.order.size() > kMostRowParts || !operandsPrecede(piecesOf(candidate), matmul))
    return std::nullopt; // or the RoPE table is made after the matmul
  return candidate;
}

static void fuseQkv(const Candidate &candidate) {
  const int64_t headDim = candidate.heads.headDim();
  LaunchOp launch = merge(piecesOf(candidate), candidate.matmul);
  Builder b(launch.getContext());
  setRowOrder(launch, candidate.order);
  launch.setHeadColumnsAttr(b.getI64IntegerAttr(headDim));
  launch.setColumnsAttr(b.getI64IntegerAttr(candidate.group ? 2 * candidate.group : headDim));
}

void fuseQkvEpilogue(ModuleOp module, const FuseOptions &options) {
  if (!pays({.launchesSaved = 1}, options))
    return;
  std::vector<Candidate> candidates;
  PairOrder pairs(module);
  for (LaunchOp matmul : launchesOf<DotGeneralOp>(module))
    if (std::optional<Candidate> found = match(matmul, options)) {
      if (!options.keepsPairs)
        for (HeadPart &part : found->heads.parts)
          pairs.add(part.rope);
      candidates.push_back(std::move(*found));
    }
  // A matmul that is left takes its RoPE from those that may be fused, and so others.
  for (bool changed = true; changed;) {
    pairs.keepConsistent();
    changed = llvm::any_of(candidates, [&](Candidate &candidate) {
      return llvm::any_of(candidate.heads.parts, [&](HeadPart &part) {
               return part.rope && !pairs.contains(part.rope);
             }) &&
             llvm::any_of(candidate.heads.parts,
                          [&](HeadPart &part) { return part.rope && pairs.remove(part.rope); });
    });
  }
  for (const Candidate &candidate : candidates)
    if (RopeOp rope = candidate.heads.rope(); !rope || pairs.contains(rope))
      fuseQkv(candidate);
}

} // namespace sinter::graph
