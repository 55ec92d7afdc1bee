// Follows the heads of a matmul to the KV cache.
#include "tile/mlir_pch.h"

#include "graph/fuse/matmul_heads.h"

using namespace mlir;

namespace sinter::graph {

HeadKind HeadPart::kind() const {
  KvAppendOp stored = append; // a handle whose getters are not const
  if (!stored)
    return HeadKind::Queries;
  return stored.getPart() == KvPart::Keys ? HeadKind::Keys : HeadKind::Values;
}

SmallVector<Operation *> HeadPart::operations() const {
  SmallVector<Operation *> ops;
  for (Operation *op : std::initializer_list<Operation *>{before, rope, after, append})
    if (op)
      ops.push_back(op);
  return ops;
}

const HeadPart *MatmulHeads::find(HeadKind kind) const {
  for (const HeadPart &part : parts)
    if (part.kind() == kind)
      return &part;
  return nullptr;
}

template <class Op> static Op firstOf(ArrayRef<HeadPart> parts, Op HeadPart::*member) {
  for (const HeadPart &part : parts)
    if (part.*member)
      return part.*member;
  return {};
}

RopeOp MatmulHeads::rope() const {
  return firstOf(ArrayRef<HeadPart>(parts), &HeadPart::rope);
}

KvAppendOp MatmulHeads::append() const {
  return firstOf(ArrayRef<HeadPart>(parts), &HeadPart::append);
}

NormOp MatmulHeads::norm() const {
  NormOp before = firstOf(ArrayRef<HeadPart>(parts), &HeadPart::before);
  return before ? before : firstOf(ArrayRef<HeadPart>(parts), &HeadPart::after);
}

int64_t MatmulHeads::rotating() const {
  RopeOp first = rope();
  return first ? first.rotating() : 0;
}

bool MatmulHeads::normsFollow() const {
  return firstOf(ArrayRef<HeadPart>(parts), &HeadPart::after) != nullptr;
}

int64_t MatmulHeads::operationCount() const {
  size_t count = 0;
  for (const HeadPart &part : parts)
    count += part.operations().size() + (part.slice ? 1 : 0) + (part.reshape ? 1 : 0);
  return static_cast<int64_t>(count);
}

// ---- one part ----

// The only reader of a value where it is an `Op`, or a launch of that alone, which reads the value
// first; `value` is then what it makes.
template <class Op> static Op takeReader(Value &value, bool (*fits)(Op)) {
  if (!value.hasOneUse())
    return {};
  Operation *user = *value.user_begin();
  auto launch = dyn_cast<LaunchOp>(user);
  auto op = launch && isAlone(launch) ? mainOf<Op>(launch) : dyn_cast<Op>(user);
  if (!op || !fits(op))
    return {};
  Value read = op->getOperand(0);
  if (read != value && outerValue(read) != value)
    return {};
  value = launch ? launch.getResult(0) : op->getResult(0);
  return op;
}

static bool isHeadNorm(NormOp norm) {
  return norm.isRmsOfRows() && norm.getValue().getType().getRank() == 3;
}

static bool isOfHeads(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getRank() == 3 && !type.isDynamicDim(1) && !type.isDynamicDim(2);
}

static HeadPart partOf(Value heads) {
  HeadPart part;
  part.heads = part.result = heads;
  part.before = takeReader<NormOp>(part.result, isHeadNorm);
  part.rope = takeReader<RopeOp>(part.result, [](RopeOp) { return true; });
  if (part.rope)
    part.after = takeReader<NormOp>(part.result, isHeadNorm);
  part.append = takeReader<KvAppendOp>(
      part.result, [](KvAppendOp append) { return canStore(append); });
  return part;
}

static bool isWhole(const HeadPart &part) {
  if (part.before && part.after)
    return false;
  return part.kind() != HeadKind::Values || part.operations().size() == 1;
}

// ---- all parts ----

static bool rotateAlike(RopeOp a, RopeOp b) {
  if (!a || !b)
    return !a && !b;
  return outerValue(a.getTable()) == outerValue(b.getTable()) &&
         a.getPairing() == b.getPairing() && a.rotating() == b.rotating();
}

static bool agree(MatmulHeads &heads) {
  for (auto [at, part] : llvm::enumerate(heads.parts)) {
    if (!isWhole(part) || part.headDim() != heads.headDim() ||
        (at && heads.parts[at - 1].kind() >= part.kind()))
      return false;
    if (part.kind() != HeadKind::Values && !rotateAlike(part.rope, heads.parts[0].rope))
      return false;
    for (NormOp norm : {part.before, part.after})
      if (norm && (norm.getEps() != heads.norm().getEps() || (part.after && !heads.normsFollow()) ||
                   (part.before && heads.normsFollow())))
        return false;
    KvAppendOp first = heads.append();
    if (part.append && (outerValue(part.append.getSlots()) != outerValue(first.getSlots()) ||
                        !storeAlike(first, part.append)))
      return false;
  }
  return true;
}

std::optional<MatmulHeads> matmulHeadsOf(Value columns) {
  SmallVector<SliceOp> slices = columnSlices(columns);
  MatmulHeads heads;
  for (size_t at = 0; at < std::max<size_t>(1, slices.size()); ++at) {
    SliceOp slice = slices.empty() ? SliceOp() : slices[at];
    auto reshape = onlyUser<ReshapeOp>(slice ? slice.getResult() : columns);
    if (!reshape || !reshape.keepsRows() || !isOfHeads(reshape.getResult()))
      return std::nullopt;
    heads.parts.push_back(partOf(reshape.getResult()));
    heads.parts.back().slice = slice;
    heads.parts.back().reshape = reshape;
  }
  return agree(heads) ? std::optional(heads) : std::nullopt;
}

std::optional<MatmulHeads> headRowsOf(LaunchOp launch) {
  MatmulHeads heads;
  for (BlockArgument argument : launch.getBody().front().getArguments())
    if (isOfHeads(argument))
      heads.parts.push_back(partOf(argument));
  llvm::sort(heads.parts, [](const HeadPart &a, const HeadPart &b) { return a.kind() < b.kind(); });
  return !heads.parts.empty() && agree(heads) ? std::optional(heads) : std::nullopt;
}

bool isHeadRows(LaunchOp launch) {
  Operation *main = mainOf(launch);
  auto isOther = [&](Operation &op) {
    return &op != main && isa<NormOp, RopeOp, KvAppendOp>(op);
  };
  auto norm = dyn_cast<NormOp>(main);
  return (isa<RopeOp>(main) || (norm && isHeadNorm(norm))) &&
         llvm::any_of(launch.getBody().front().without_terminator(), isOther);
}

} // namespace sinter::graph
