// heads [T, heads, D] -> norm of each head -> RoPE -> KV cache: one launch for queries, keys and
// values of one matmul. A head's norm needs the whole head before any of it is rotated, which a
// matmul's tile does not hold on every target. Saves up to five launches and what they write and
// read; repeats nothing.
#include "tile/mlir_pch.h"

#include "graph/fuse/launch.h"
#include "graph/fuse/passes.h"

using namespace mlir;

namespace sinter::graph {

namespace {
// What follows a part of a matmul's columns; null where it is absent.
struct HeadsPart {
  LaunchOp norm, rope, append;
};
} // namespace

static bool isHeadNorm(LaunchOp norm) {
  auto op = norm ? mainOf<NormOp>(norm) : NormOp();
  return op && op.isRmsOfRows() && op.getValue().getType().getRank() == 3 &&
         inSlot(norm, kStore).empty();
}

static HeadsPart partOf(Value heads) {
  HeadsPart part;
  if (LaunchOp norm = onlyLaunch<NormOp>(heads); isHeadNorm(norm)) {
    part.norm = norm;
    heads = norm.getResult(0);
  }
  if ((part.rope = onlyLaunch<RopeOp>(heads)))
    heads = part.rope.getResult(0);
  part.append = onlyLaunch<KvAppendOp>(heads);
  return part;
}

static KvPart poolOf(LaunchOp append) {
  return mainOf<KvAppendOp>(append).getPart();
}

static bool isHalves(LaunchOp launch) {
  auto rope = mainOf<RopeOp>(launch);
  return rope.getPairing() == Pairing::Halves && rotatesWholeHeads(rope);
}

static bool fits(const HeadsPart &part) {
  if (!part.rope) // values
    return part.append && !part.norm && poolOf(part.append) == KvPart::Values &&
           canStore(mainOf<KvAppendOp>(part.append));
  return isHalves(part.rope) && (!part.append || (poolOf(part.append) == KvPart::Keys &&
                                                  canStore(mainOf<KvAppendOp>(part.append))));
}

// The parts of a matmul's result: queries, keys, values, or some of them in that order.
static SmallVector<HeadsPart> partsOf(Value result) {
  SmallVector<Value> columns;
  for (SliceOp slice : columnSlices(result))
    columns.push_back(slice.getResult());
  if (columns.empty())
    columns.push_back(result);
  SmallVector<HeadsPart> parts;
  for (Value part : columns) {
    auto reshape = onlyUser<ReshapeOp>(part);
    if (!reshape || !reshape.keepsRows() || reshape.getResult().getType().getRank() != 3)
      return {};
    parts.push_back(partOf(reshape.getResult()));
    if (!fits(parts.back()))
      return {};
  }
  return parts;
}

// Each kind at most once, rotated by one table, appended at the same slots; norms have one epsilon.
static bool agree(ArrayRef<HeadsPart> parts) {
  int queries = 0, keys = 0, values = 0;
  Value table, slots;
  std::optional<llvm::APFloat> eps;
  auto same = [](Value &known, Value value) {
    const bool agrees = !known || known == value;
    known = value;
    return agrees;
  };
  for (const HeadsPart &part : parts) {
    (!part.rope ? values : part.append ? keys : queries) += 1;
    LaunchOp rope = part.rope, append = part.append, norm = part.norm;
    if ((rope && !same(table, rope.getOperand(1))) ||
        (append && !same(slots, append.getOperand(1))))
      return false;
    if (norm) {
      const llvm::APFloat own = mainOf<NormOp>(norm).getEps();
      if (eps && *eps != own)
        return false;
      eps = own;
    }
  }
  return queries <= 1 && keys <= 1 && values <= 1;
}

static SmallVector<Piece> piecesOf(ArrayRef<HeadsPart> parts) {
  SmallVector<Piece> pieces;
  for (const HeadsPart &part : parts)
    if (part.norm)
      pieces.push_back({part.norm, kPrologue});
  StringRef slot; // of the first RoPE, which the launch is for
  for (const HeadsPart &part : parts)
    if (part.rope) {
      pieces.push_back({part.rope, slot});
      slot = kEpilogue;
    }
  for (const HeadsPart &part : parts)
    if (part.append)
      pieces.push_back({part.append, kStore});
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

void fuseHeadRows(ModuleOp module, const FuseOptions &options) {
  for (LaunchOp matmul : launchesOf<DotGeneralOp>(module)) {
    if (matmul.getNumResults() != 1)
      continue;
    SmallVector<HeadsPart> parts = partsOf(matmul.getResult(0));
    const bool normed = llvm::any_of(parts, [](const HeadsPart &part) { return part.norm; });
    if (!normed || !agree(parts) || !pays({.launchesSaved = 1}, options))
      continue;
    SmallVector<Piece> pieces = piecesOf(parts);
    Operation *at = lastOf(pieces);
    if (operandsPrecede(pieces, at) && readersFollow(pieces, at))
      merge(pieces, at);
  }
}

} // namespace sinter::graph
