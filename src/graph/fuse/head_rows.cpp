// heads [T, heads, D] -> norm of each head -> RoPE, or RoPE -> norm, or one of them -> KV cache: one
// launch for queries, keys and values of one matmul. A head's norm needs the whole head before any
// of it is rotated, which a matmul's tile does not hold on every target. Saves up to five launches
// and what they write and read; repeats nothing.
#include "tile/mlir_pch.h"

#include "graph/fuse/launch.h"
#include "graph/fuse/matmul_heads.h"
#include "graph/fuse/passes.h"

using namespace mlir;

namespace sinter::graph {

// The launch is for the first RoPE or, without any, for the first norm.
static SmallVector<Piece> piecesOf(const MatmulHeads &heads) {
  SmallVector<Piece> pieces;
  const bool rotates = heads.rope() != nullptr;
  StringRef slot;
  auto add = [&](Operation *op, StringRef to) {
    if (op)
      pieces.push_back({op->getParentOp(), to});
  };
  auto addMain = [&](Operation *op) {
    if (!op)
      return;
    add(op, slot);
    slot = kEpilogue;
  };
  for (HeadPart part : heads.parts)
    rotates ? add(part.before, kPrologue) : addMain(part.before);
  for (HeadPart part : heads.parts)
    addMain(part.rope);
  for (HeadPart part : heads.parts)
    add(part.after, kEpilogue);
  for (HeadPart part : heads.parts)
    add(part.append, kStore);
  return pieces;
}

// The last of the pieces in the block, before which all that they read is there.
static Operation *lastOf(ArrayRef<Piece> pieces) {
  Operation *last = pieces.front().op;
  for (const Piece &piece : pieces)
    if (last->isBeforeInBlock(piece.op))
      last = piece.op;
  return last;
}

// Whether what others read of the pieces is read after `at`.
static bool readersFollow(ArrayRef<Piece> pieces, Operation *at) {
  for (const Piece &piece : pieces)
    for (Operation *user : piece.op->getUsers())
      if (user != at && !at->isBeforeInBlock(user) &&
          llvm::none_of(pieces, [&](const Piece &other) { return other.op == user; }))
        return false;
  return true;
}

// Queries that nothing is done with are read where they lie.
static void dropIdle(MatmulHeads &heads) {
  llvm::erase_if(heads.parts, [](const HeadPart &part) { return part.operations().empty(); });
}

static void fuseHeads(LaunchOp matmul, bool normed, const FuseOptions &options) {
  std::optional<MatmulHeads> heads;
  if (matmul.getNumResults() == 1)
    heads = matmulHeadsOf(matmul.getResult(0));
  if (!heads || (heads->norm() != nullptr) != normed || (!heads->norm() && !heads->rope()))
    return;
  dropIdle(*heads);
  SmallVector<Piece> pieces = piecesOf(*heads);
  const auto saved = static_cast<int64_t>(pieces.size()) - 1;
  if (!saved || !pays({.launchesSaved = saved}, options))
    return;
  Operation *at = lastOf(pieces);
  if (operandsPrecede(pieces, at) && readersFollow(pieces, at))
    merge(pieces, at);
}

void fuseHeadRows(ModuleOp module, const FuseOptions &options) {
  for (LaunchOp matmul : launchesOf<DotGeneralOp>(module))
    fuseHeads(matmul, /*normed=*/true, options);
}

void fuseOtherHeadRows(ModuleOp module, const FuseOptions &options) {
  for (LaunchOp matmul : launchesOf<DotGeneralOp>(module))
    fuseHeads(matmul, /*normed=*/false, options);
}

} // namespace sinter::graph
