// Checks of ranks, elements and axes, each with one diagnostic.
#include "tile/mlir_pch.h"

#include "graph/ir/check.h"

using namespace mlir;

namespace sinter::graph {

LogicalResult Check::rank(StringRef what, Type type, int64_t expected) const {
  if (type.getRank() == expected)
    return success();
  return op_->emitOpError() << what << " is " << type << ", expected " << expected << " dimensions";
}

LogicalResult Check::element(StringRef what, Type type, mlir::Type expected) const {
  if (type.getElementType() == expected)
    return success();
  return op_->emitOpError() << what << " is " << type << ", expected elements " << expected;
}

LogicalResult Check::f32(StringRef what, Type type) const {
  return element(what, type, Float32Type::get(type.getContext()));
}

LogicalResult Check::scalars(StringRef what, Type type) const {
  if (isScalarElement(type.getElementType()))
    return success();
  return op_->emitOpError() << what << " is " << type
                            << ", expected elements f32, f16, bf16, i32 or i1";
}

LogicalResult Check::indices(StringRef what, Type type, int64_t expected) const {
  if (failed(rank(what, type, expected)))
    return failure();
  return element(what, type, IntegerType::get(type.getContext(), 32));
}

LogicalResult Check::agree(StringRef what, Type a, int64_t axisA, StringRef other, Type b,
                           int64_t axisB) const {
  if (sameExtent(a, axisA, b, axisB))
    return success();
  return op_->emitOpError() << what << " is " << a << " and " << other << " is " << b
                            << ", expected axis " << axisA << " of the first to equal axis "
                            << axisB << " of the second";
}

LogicalResult Check::sameShape(StringRef what, Type a, StringRef other, Type b) const {
  if (failed(rank(what, a, b.getRank())))
    return failure();
  for (int64_t axis = 0; axis < a.getRank(); ++axis)
    if (failed(agree(what, a, axis, other, b, axis)))
      return failure();
  return success();
}

LogicalResult Check::same(StringRef what, mlir::Type found, mlir::Type expected) const {
  if (found == expected)
    return success();
  return op_->emitOpError() << what << " is " << found << ", expected " << expected;
}

LogicalResult Check::axes(StringRef what, Type type, ArrayRef<int64_t> axes) const {
  SmallVector<bool> seen(type.getRank(), false);
  for (int64_t axis : axes) {
    if (axis < 0 || axis >= type.getRank())
      return op_->emitOpError() << "names axis " << axis << " of " << what << ", which is " << type;
    if (std::exchange(seen[axis], true))
      return op_->emitOpError() << "names axis " << axis << " of " << what << " twice";
  }
  return success();
}

LogicalResult Check::perAxis(StringRef what, Type type, ArrayRef<int64_t> numbers) const {
  if (static_cast<int64_t>(numbers.size()) == type.getRank())
    return success();
  return op_->emitOpError() << "has " << numbers.size() << " " << what << " for " << type
                            << ", expected one for each axis";
}

} // namespace sinter::graph
