// What makes the operations of routing well formed: choices of experts, rows by expert, grouped
// matmuls.
#include "tile/mlir_pch.h"

#include "graph/ir/check.h"
#include "graph/ir/extent.h"

#include <cmath>

using namespace mlir;

namespace sinter::graph {

// The largest of [..., N] are [..., k], of so many elements.
static LogicalResult verifyChosen(Operation *op, StringRef what, RankedTensorType from,
                                  RankedTensorType chosen) {
  Check check(op);
  const int64_t last = from.getRank() - 1;
  if (failed(check.rank(what, chosen, from.getRank())))
    return failure();
  for (int64_t axis = 0; axis < last; ++axis)
    if (failed(check.agree("value", from, axis, what, chosen, axis)))
      return failure();
  if (from.isDynamicDim(last) || chosen.isDynamicDim(last) ||
      chosen.getDimSize(last) > from.getDimSize(last))
    return op->emitOpError() << "chooses " << chosen << " of " << from
                             << ", expected at most as many as there are, in a static last extent";
  return success();
}

LogicalResult TopKOp::verify() {
  Check check(*this);
  RankedTensorType value = getValue().getType();
  if (value.getRank() == 0)
    return emitOpError() << "has value " << value << ", expected an axis to choose along";
  if (failed(check.f32("value", value)) || failed(check.f32("largest", getLargest().getType())) ||
      failed(verifyChosen(*this, "largest", value, getLargest().getType())) ||
      failed(check.indices("indices", getIndices().getType(), value.getRank())))
    return failure();
  return check.sameShape("indices", getIndices().getType(), "largest", getLargest().getType());
}

// Experts of as many groups as are used must be enough for all choices.
static LogicalResult verifyRouterGroups(RouteOp op, int64_t experts, int64_t choices) {
  const auto groups = static_cast<int64_t>(op.getGroups()),
             used = static_cast<int64_t>(op.getUsedGroups());
  if (experts % groups == 0 && used <= groups && choices <= experts / groups * used)
    return success();
  return op.emitOpError() << "chooses " << choices << " of " << experts << " experts in " << used
                          << " of " << groups
                          << " groups, expected groups of equal size that hold enough";
}

LogicalResult RouteOp::verify() {
  Check check(*this);
  RankedTensorType logits = getLogits().getType(), weights = getWeights().getType();
  if (failed(check.rank("logits", logits, 2)) || failed(check.f32("logits", logits)) ||
      failed(check.f32("weights", weights)) ||
      failed(verifyChosen(*this, "weights", logits, weights)) ||
      failed(check.indices("experts", getExperts().getType(), 2)) ||
      failed(check.sameShape("experts", getExperts().getType(), "weights", weights)))
    return failure();
  if (getBias())
    if (RankedTensorType bias = getBias().getType();
        failed(check.rank("bias", bias, 1)) || failed(check.f32("bias", bias)) ||
        failed(check.agree("logits", logits, 1, "bias", bias, 0)))
      return failure();
  if (!getScale().isFinite())
    return emitOpError() << "has a scale that is not a number";
  if (static_cast<int64_t>(getSharing()) > logits.getDimSize(1))
    return emitOpError() << "has " << logits.getDimSize(1) << " experts of which " << getSharing()
                         << " stand for one, expected no more than there are";
  return verifyRouterGroups(*this, logits.getDimSize(1), weights.getDimSize(1));
}

static LogicalResult verifyGroups(Operation *op, RankedTensorType groups) {
  if (failed(Check(op).indices("groups", groups, 2)))
    return failure();
  if (groups.isDynamicDim(0) || groups.getDimSize(1) != 3)
    return op->emitOpError() << "groups are " << groups
                             << ", expected three columns for each of a static number of experts: "
                                "expert, first row, rows";
  return success();
}

LogicalResult GroupRowsOp::verify() {
  Check check(*this);
  RankedTensorType experts = getExperts().getType();
  if (failed(check.indices("experts", experts, 2)) ||
      failed(check.same("places", getPlaces().getType(), experts)) ||
      failed(verifyGroups(*this, getGroups().getType())))
    return failure();
  if (experts.isDynamicDim(1) || experts.getDimSize(1) > getGroups().getType().getDimSize(0))
    return emitOpError() << "groups choices " << experts << " of "
                         << getGroups().getType().getDimSize(0)
                         << " experts, expected a static number of different ones";
  return success();
}

// Rows of choices are as many as these.
static LogicalResult verifyChoiceRows(Operation *op, StringRef what, RankedTensorType rows,
                                      RankedTensorType places) {
  Check check(op);
  if (failed(check.rank(what, rows, 2)) || failed(check.indices("places", places, 2)))
    return failure();
  const std::optional<SymbolicExtent> count = elementCount(places);
  if (!places.isDynamicDim(1) && count && *count == SymbolicExtent::of(rows, 0))
    return success();
  return op->emitOpError() << what << " are " << rows << ", expected one for each choice of "
                           << places;
}

LogicalResult SpreadRowsOp::verify() {
  Check check(*this);
  RankedTensorType rows = getRows().getType(), result = getResult().getType();
  if (failed(verifyChoiceRows(*this, "result", result, getPlaces().getType())) ||
      failed(check.rank("rows", rows, 2)) ||
      failed(check.agree("rows", rows, 0, "places", getPlaces().getType(), 0)) ||
      failed(check.agree("rows", rows, 1, "result", result, 1)))
    return failure();
  return check.element("result", result, rows.getElementType());
}

static LogicalResult verifyExperts(GroupedDotOp op) {
  RankedTensorType b = op.getB().getType();
  const int64_t experts = op.getGroups().getType().getDimSize(0);
  if (!b.hasStaticShape() || b.getDimSize(0) % experts != 0)
    return op.emitOpError() << "b is " << b << ", expected static matrices for each of " << experts
                            << " experts";
  if (!op.getBias())
    return success();
  Check check(op);
  RankedTensorType bias = op.getBias().getType();
  if (failed(check.rank("bias", bias, 2)) || failed(check.f32("bias", bias)) ||
      failed(check.agree("bias", bias, 0, "b", b, 0)))
    return failure();
  return check.agree("bias", bias, 1, "b", b, 1);
}

LogicalResult GroupedDotOp::verify() {
  Check check(*this);
  RankedTensorType a = getA().getType(), b = getB().getType(), result = getResult().getType();
  if (failed(check.rank("a", a, 2)) || failed(check.rank("b", b, 3)) ||
      failed(check.agree("a", a, 1, "b", b, 2)) ||
      failed(verifyGroups(*this, getGroups().getType())) || failed(verifyExperts(*this)) ||
      failed(check.rank("result", result, 2)) || failed(check.f32("result", result)) ||
      failed(check.agree("a", a, 0, "result", result, 0)))
    return failure();
  for (auto [name, type] : {std::pair("a", a), {"b", b}})
    if (!isa<FloatType, tile::BlockType>(type.getElementType()))
      return emitOpError() << name << " is " << type << ", expected floats or a block format";
  if (result.getDimSize(1) == getParts() * b.getDimSize(1))
    return success();
  return emitOpError() << "makes " << result << ", expected " << getParts() * b.getDimSize(1)
                       << " columns: " << getParts() << " parts of " << b.getDimSize(1);
}

LogicalResult CombineRowsOp::verify() {
  Check check(*this);
  RankedTensorType rows = getRows().getType(), places = getPlaces().getType();
  RankedTensorType weights = getWeights().getType(), result = getResult().getType();
  if (failed(verifyChoiceRows(*this, "rows", rows, places)) || failed(check.f32("rows", rows)) ||
      failed(check.f32("weights", weights)) ||
      failed(check.sameShape("weights", weights, "places", places)) ||
      failed(check.rank("result", result, 2)) || failed(check.f32("result", result)) ||
      failed(check.agree("places", places, 0, "result", result, 0)))
    return failure();
  return check.agree("rows", rows, 1, "result", result, 1);
}

} // namespace sinter::graph
