// The kernel front's tile operations: making, reshaping, joining, reducing and multiplying tiles.
#include "tile/front/session.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::tile {

static RankedTensorType tileOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

SinterValue FrontSession::full(const char *element, const SinterOperand &value,
                               ArrayRef<int64_t> shape, At at) {
  if (!inKernel(at))
    return SINTER_VALUE_POISON;
  if (!element) {
    Value scalar = use(value.value, at);
    if (!scalar)
      return SINTER_VALUE_POISON;
    if (!scalar.getType().isIntOrIndexOrFloat())
      return error(at, "splat of " + describe(scalar.getType()) + ", expected a scalar");
    RankedTensorType type = tileType(shape, scalar.getType(), at);
    return type ? make<SplatOp>(at, type, scalar) : SINTER_VALUE_POISON;
  }
  Type type = elementType(element, at);
  TypedAttr number = type ? literal(value, type, at) : TypedAttr();
  if (!number)
    return SINTER_VALUE_POISON;
  if (shape.empty())
    return add(constant(number, at));
  RankedTensorType tile = tileType(shape, type, at);
  return tile ? add(constant(DenseElementsAttr::get(tile, number), at)) : SINTER_VALUE_POISON;
}

SinterValue FrontSession::iota(StringRef element, ArrayRef<int64_t> shape, uint32_t axis, At at) {
  if (!inKernel(at))
    return SINTER_VALUE_POISON;
  Type type = elementType(element, at);
  RankedTensorType tile = type ? tileType(shape, type, at) : RankedTensorType();
  if (!tile)
    return SINTER_VALUE_POISON;
  if (axis >= shape.size())
    return error(at, "iota along axis " + Twine(axis) + " of " + describe(tile) +
                         ", expected an axis below " + Twine(shape.size()));
  if (!type.isIntOrIndex())
    return error(at, "iota of " + describe(tile) + ", expected integer elements");
  return make<IotaOp>(at, tile, axis);
}

SinterValue FrontSession::broadcast(SinterValue tile, ArrayRef<int64_t> shape, At at) {
  Value value = useTile(tile, "value", at);
  if (!value)
    return SINTER_VALUE_POISON;
  RankedTensorType from = tileOf(value), to = tileType(shape, from.getElementType(), at);
  if (!to)
    return SINTER_VALUE_POISON;
  bool fits = from.getRank() == to.getRank();
  for (int64_t axis = 0; fits && axis < to.getRank(); ++axis)
    fits = from.getDimSize(axis) == to.getDimSize(axis) || from.getDimSize(axis) == 1;
  if (!fits)
    return error(at, "broadcast of " + describe(from) + " to " + describe(to) +
                         ", expected extents of 1 or the same");
  return from == to ? tile : make<BroadcastOp>(at, to, value);
}

SinterValue FrontSession::reshape(SinterValue tile, ArrayRef<int64_t> shape, At at) {
  Value value = useTile(tile, "value", at);
  if (!value)
    return SINTER_VALUE_POISON;
  RankedTensorType from = tileOf(value), to = tileType(shape, from.getElementType(), at);
  if (!to)
    return SINTER_VALUE_POISON;
  if (from.getNumElements() != to.getNumElements())
    return error(at, "reshape of " + describe(from) + " to " + describe(to) + ", expected " +
                         Twine(from.getNumElements()) + " elements");
  return from == to ? tile : make<ReshapeOp>(at, to, value);
}

SinterValue FrontSession::permute(SinterValue tile, ArrayRef<int64_t> order, At at) {
  Value value = useTile(tile, "value", at);
  if (!value)
    return SINTER_VALUE_POISON;
  RankedTensorType from = tileOf(value);
  SmallVector<int64_t> sorted(order), shape;
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, from.getRank())))
    return error(at, "permute of " + describe(from) +
                         ", expected an order that names each of its " + Twine(from.getRank()) +
                         " axes once");
  for (int64_t axis : order)
    shape.push_back(from.getDimSize(axis));
  RankedTensorType to = tileType(shape, from.getElementType(), at);
  return to ? make<PermuteOp>(at, to, value, builder_.getDenseI64ArrayAttr(order))
            : SINTER_VALUE_POISON;
}

SinterValue FrontSession::slice(SinterValue tile, ArrayRef<int64_t> offsets,
                                ArrayRef<int64_t> shape, At at) {
  Value value = useTile(tile, "value", at);
  if (!value)
    return SINTER_VALUE_POISON;
  RankedTensorType from = tileOf(value), to = tileType(shape, from.getElementType(), at);
  if (!to)
    return SINTER_VALUE_POISON;
  if (to.getRank() != from.getRank() || static_cast<int64_t>(offsets.size()) != from.getRank())
    return error(at, "slice of " + describe(from) + " with " + Twine(offsets.size()) +
                         " offsets and " + Twine(shape.size()) + " extents, expected " +
                         Twine(from.getRank()) + " of each");
  for (int64_t axis = 0; axis < from.getRank(); ++axis)
    if (offsets[axis] < 0 || offsets[axis] > from.getDimSize(axis) - shape[axis])
      return error(at, "slice takes " + Twine(shape[axis]) + " from " + Twine(offsets[axis]) +
                           " on axis " + Twine(axis) + " of " + describe(from) +
                           ", expected to stay within " + Twine(from.getDimSize(axis)));
  return make<SliceOp>(at, to, value, builder_.getDenseI64ArrayAttr(offsets));
}

SinterValue FrontSession::concat(ArrayRef<SinterValue> tiles, uint32_t axis, At at) {
  SmallVector<Value> values;
  for (SinterValue tile : tiles)
    values.push_back(useTile(tile, "value", at));
  if (llvm::is_contained(values, Value()))
    return SINTER_VALUE_POISON;
  if (values.empty())
    return error(at, "concat of no tiles, expected at least one");
  RankedTensorType first = tileOf(values[0]);
  if (axis >= first.getRank())
    return error(at, "concat along axis " + Twine(axis) + " of " + describe(first) +
                         ", expected an axis below " + Twine(first.getRank()));
  SmallVector<int64_t> shape(first.getShape());
  for (Value value : ArrayRef(values).drop_front()) {
    RankedTensorType type = tileOf(value);
    SmallVector<int64_t> other(type.getShape());
    bool same =
        type.getRank() == first.getRank() && type.getElementType() == first.getElementType();
    for (int64_t i = 0; same && i < type.getRank(); ++i)
      same = i == axis || other[i] == shape[i];
    if (!same)
      return error(at, "concat of " + describe(first) + " and " + describe(type) + " along axis " +
                           Twine(axis) + ", expected the same but for that axis");
    shape[axis] += other[axis];
  }
  RankedTensorType to = tileType(shape, first.getElementType(), at);
  return to ? make<ConcatOp>(at, to, values, axis) : SINTER_VALUE_POISON;
}

SinterValue FrontSession::reduce(uint32_t kind, SinterValue tile, uint32_t axis, At at) {
  Value value = useTile(tile, "value", at);
  if (!value)
    return SINTER_VALUE_POISON;
  RankedTensorType from = tileOf(value);
  auto how = symbolizeReduceKind(kind);
  if (!how)
    return error(at,
                 "reduction of kind " + Twine(kind) + ", expected sum, max, min or max_any_nan");
  if (axis >= from.getRank())
    return error(at, "reduction along axis " + Twine(axis) + " of " + describe(from) +
                         ", expected an axis below " + Twine(from.getRank()));
  if (!from.getElementType().isIntOrFloat() || from.getElementType().isInteger(1))
    return error(at, "reduction of " + describe(from) + ", expected integer or float elements");
  SmallVector<int64_t> shape(from.getShape());
  shape[axis] = 1;
  return make<ReduceOp>(at, RankedTensorType::get(shape, from.getElementType()), *how, value, axis);
}

SinterValue FrontSession::dot(SinterValue a, SinterValue b, SinterValue acc, bool transposeB,
                              At at) {
  Value left = useTile(a, "a", at), right = useTile(b, "b", at), sum = useTile(acc, "acc", at);
  if (!left || !right || !sum)
    return SINTER_VALUE_POISON;
  RankedTensorType la = tileOf(left), rb = tileOf(right), to = tileOf(sum);
  for (auto [name, type] : {std::pair{"a", la}, {"b", rb}, {"acc", to}})
    if (type.getRank() != 2)
      return error(at,
                   "dot: " + Twine(name) + " is " + describe(type) + ", expected two dimensions");
  int64_t k = rb.getDimSize(transposeB ? 1 : 0), n = rb.getDimSize(transposeB ? 0 : 1);
  if (la.getDimSize(1) != k)
    return error(at, "dot: a is " + describe(la) + " and b is " + describe(rb) +
                         (transposeB ? " (transposed)" : "") +
                         ", expected the same extent to "
                         "contract, found " +
                         Twine(la.getDimSize(1)) + " and " + Twine(k));
  if (to.getDimSize(0) != la.getDimSize(0) || to.getDimSize(1) != n)
    return error(at, "dot: acc is " + describe(to) + ", expected " + Twine(la.getDimSize(0)) + "x" +
                         Twine(n));
  bool blocks = isa<BlockType>(la.getElementType()) && isa<BlockType>(rb.getElementType());
  if (!blocks && la.getElementType() != rb.getElementType())
    return error(at, "dot: a has " + describe(la.getElementType()) + " and b has " +
                         describe(rb.getElementType()) +
                         " elements, expected the same type or two "
                         "block formats");
  if (blocks && !transposeB)
    return error(at, "dot: b is " + describe(rb) +
                         ", expected it transposed: blocks lie along the contracted axis");
  Type element = to.getElementType();
  bool integers = la.getElementType().isInteger();
  if (integers ? !la.getElementType().isInteger(8) || !element.isInteger(32) : !element.isF32())
    return error(at, "dot: acc has " + describe(element) + " elements for operands of " +
                         describe(la.getElementType()) + ", expected " +
                         (integers ? "i32 for i8 operands" : "f32"));
  auto op = DotOp::create(builder_, loc(at), to, left, right, sum,
                          transposeB ? builder_.getUnitAttr() : UnitAttr());
  return holds(op, at) ? add(op.getResult()) : SINTER_VALUE_POISON;
}

SinterValue FrontSession::quantize(SinterValue tile, StringRef element, At at) {
  Value value = useTile(tile, "value", at);
  Type format = elementType(element, at);
  if (!value || !format)
    return SINTER_VALUE_POISON;
  RankedTensorType from = tileOf(value);
  if (!isa<BlockType>(format) || !from.getElementType().isF32())
    return error(at, "quantize of " + describe(from) + " to " + describe(format) +
                         ", expected f32 elements and a block format");
  RankedTensorType to = tileType(from.getShape(), format, at);
  return to ? make<QuantizeOp>(at, to, value) : SINTER_VALUE_POISON;
}

SinterValue FrontSession::dequantize(SinterValue tile, At at) {
  Value value = useTile(tile, "value", at);
  if (!value)
    return SINTER_VALUE_POISON;
  RankedTensorType from = tileOf(value);
  if (!isa<BlockType>(from.getElementType()))
    return error(at, "dequantize of " + describe(from) + ", expected a block format");
  return make<DequantizeOp>(at, RankedTensorType::get(from.getShape(), builder_.getF32Type()),
                            value);
}

} // namespace sinter::tile
