// matmul -> queries, keys and values, or some of these in that order -> RoPE -> KV cache. Each head
// is rotated where it is made. Saves up to four launches, and writing and reading all heads;
// repeats nothing, since columns that rotate together are packed into one program's tile.
#include "tile/mlir_pch.h"

#include "graph/fuse/launch.h"
#include "graph/fuse/passes.h"
#include "graph/fuse/row_order.h"

using namespace mlir;

namespace sinter::graph {

namespace {
struct Qkv {
  LaunchOp query, key;              // RoPE; null where the matmul does not make them
  LaunchOp keyAppend, valueAppend;  // likewise
  SmallVector<Operation *> between; // slices, then reshapes
  SmallVector<ReshapeOp> heads;     // of each part

  LaunchOp rope() const { return query ? query : key; }
  RopeOp ropeOp() const { return rope() ? mainOf<RopeOp>(rope()) : RopeOp(); }
  LaunchOp append() const { return keyAppend ? keyAppend : valueAppend; }
};
} // namespace

static KvPart partOf(LaunchOp append) {
  return mainOf<KvAppendOp>(append).getPart();
}

// Adds a part of the matmul's columns, if it may follow those before.
static bool addPart(Value columns, Qkv &qkv) {
  auto reshape = onlyUser<ReshapeOp>(columns);
  if (!reshape || !reshape.keepsRows() || reshape.getResult().getType().getRank() != 3 ||
      qkv.valueAppend)
    return false;
  qkv.heads.push_back(reshape);
  Value heads = reshape.getResult();
  LaunchOp rope = onlyLaunch<RopeOp>(heads);
  if (rope && (!isAlone(rope) || !rotatesWholeHeads(mainOf<RopeOp>(rope))))
    return false;
  LaunchOp append = onlyLaunch<KvAppendOp>(rope ? rope.getResult(0) : heads);
  if (!append) {
    const bool first = rope && !qkv.query && !qkv.key;
    qkv.query = rope;
    return first;
  }
  if ((partOf(append) == KvPart::Keys) != (rope != nullptr) || (rope && qkv.key))
    return false;
  (rope ? qkv.keyAppend : qkv.valueAppend) = append;
  if (rope)
    qkv.key = rope;
  return true;
}

static bool rotateAlike(LaunchOp a, LaunchOp b) {
  RopeOp first = mainOf<RopeOp>(a), second = mainOf<RopeOp>(b);
  return outerValue(first.getTable()) == outerValue(second.getTable()) &&
         first.getPairing() == second.getPairing();
}

static bool appendAlike(LaunchOp a, LaunchOp b) {
  KvAppendOp first = mainOf<KvAppendOp>(a), second = mainOf<KvAppendOp>(b);
  return outerValue(first.getSlots()) == outerValue(second.getSlots()) && storeAlike(first, second);
}

static RankedTensorType typeOf(ReshapeOp heads) {
  return heads.getResult().getType();
}

static int64_t headDimOf(const Qkv &qkv) {
  return typeOf(qkv.heads.back()).getDimSize(2);
}

static bool fits(const Qkv &qkv) {
  const int64_t headDim = headDimOf(qkv);
  return fitsTile(headDim) &&
         llvm::all_of(qkv.heads,
                      [&](ReshapeOp heads) { return typeOf(heads).getDimSize(2) == headDim; }) &&
         (!qkv.query || !qkv.key || rotateAlike(qkv.query, qkv.key)) &&
         (!qkv.keyAppend || !qkv.valueAppend || appendAlike(qkv.keyAppend, qkv.valueAppend)) &&
         (!qkv.append() || canStore(mainOf<KvAppendOp>(qkv.append())));
}

static std::optional<Qkv> match(Value result) {
  Qkv qkv;
  SmallVector<Value> parts;
  for (SliceOp slice : columnSlices(result)) {
    parts.push_back(slice.getResult());
    qkv.between.push_back(slice);
  }
  if (parts.empty())
    parts.push_back(result);
  if (!llvm::all_of(parts, [&](Value part) { return addPart(part, qkv); }) || !fits(qkv))
    return std::nullopt;
  llvm::append_range(qkv.between, qkv.heads);
  return qkv;
}

static int64_t groupOf(const Qkv &qkv, const FuseOptions &options) {
  const bool blocks =
      qkv.append() &&
      isa<tile::BlockType>(getElementTypeOrSelf(qkv.append().getResult(0).getType()));
  const int64_t group = blocks ? options.groupColumnsOfBlocks : options.groupColumns;
  return group && headDimOf(qkv) % (4 * group) == 0 ? group : 0;
}

static SmallVector<RowPart> rowOrder(const Qkv &qkv, int64_t group) {
  RopeOp rope = qkv.ropeOp();
  HeadParts parts{{}, headDimOf(qkv), qkv.valueAppend != nullptr, std::nullopt};
  if (rope)
    parts.pairing = rope.getPairing();
  for (ReshapeOp heads : qkv.heads)
    parts.counts.push_back(typeOf(heads).getDimSize(1));
  return headOrder(parts, group);
}

static void fuseQkv(LaunchOp matmul, const FuseOptions &options) {
  std::optional<Qkv> qkv = match(matmul.getResult(0));
  if (!qkv || !pays({.launchesSaved = 1}, options))
    return;
  SmallVector<Piece> pieces = {{matmul, {}}};
  for (Operation *op : qkv->between)
    pieces.push_back({op, kEpilogue});
  for (LaunchOp rope : {qkv->query, qkv->key})
    if (rope)
      pieces.push_back({rope, kEpilogue});
  for (LaunchOp append : {qkv->keyAppend, qkv->valueAppend})
    if (append)
      pieces.push_back({append, kStore});
  if (!operandsPrecede(pieces, matmul))
    return; // the RoPE table is made after the matmul
  const int64_t group = groupOf(*qkv, options), headDim = headDimOf(*qkv);
  SmallVector<RowPart> order = rowOrder(*qkv, group);
  LaunchOp launch = merge(pieces, matmul);
  Builder b(launch.getContext());
  setRowOrder(launch, order);
  launch.setHeadColumnsAttr(b.getI64IntegerAttr(headDim));
  launch.setColumnsAttr(b.getI64IntegerAttr(group ? 2 * group : headDim));
}

void fuseQkvEpilogue(ModuleOp module, const FuseOptions &options) {
  for (LaunchOp matmul : launchesOf<DotGeneralOp>(module))
    if (isPlainMatmul(matmul))
      fuseQkv(matmul, options);
}

} // namespace sinter::graph
