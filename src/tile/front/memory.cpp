// The kernel front's memory: extents, windows, gathers, loads and stores of views.
#include "tile/front/session.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::tile {

static ViewType viewOf(Value value) {
  return cast<ViewType>(value.getType());
}

SinterValue FrontSession::dim(SinterValue view, uint32_t axis, At at) {
  Value from = useView(view, "value", at);
  if (!from)
    return SINTER_VALUE_POISON;
  ViewType type = viewOf(from);
  if (axis >= type.getRank())
    return error(at, "extent of axis " + Twine(axis) + " of " + describe(type) +
                         ", expected an axis below " + Twine(type.getRank()));
  int64_t extent = type.getShape()[axis];
  if (!ShapedType::isDynamic(extent))
    return add(indexConstant(extent, at));
  return make<DimOp>(at, from, axis);
}

// A window is clipped to its view, so an extent is only known where it takes the whole axis.
static SmallVector<int64_t> windowShape(ViewType from, ArrayRef<SinterOperand> origins,
                                        ArrayRef<SinterOperand> extents) {
  SmallVector<int64_t> shape(from.getRank(), ShapedType::kDynamic);
  for (auto [axis, extent] : llvm::enumerate(from.getShape()))
    if (origins[axis].kind == SINTER_OPERAND_INTEGER && origins[axis].integer == 0 &&
        extents[axis].kind == SINTER_OPERAND_INTEGER && extents[axis].integer == extent)
      shape[axis] = extent;
  return shape;
}

SinterValue FrontSession::window(SinterValue view, ArrayRef<SinterOperand> origins,
                                 ArrayRef<SinterOperand> extents, At at) {
  Value from = useView(view, "value", at);
  if (!from)
    return SINTER_VALUE_POISON;
  ViewType type = viewOf(from);
  auto origin = useIndices(origins, "origin", type.getRank(), at);
  auto extent = useIndices(extents, "extent", type.getRank(), at);
  if (!origin || !extent)
    return SINTER_VALUE_POISON;
  for (const SinterOperand &literal : extents)
    if (literal.kind == SINTER_OPERAND_INTEGER && literal.integer < 0)
      return error(at, "window has extent " + Twine(literal.integer) + ", expected 0 or more");
  auto to = ViewType::get(builder_.getContext(), windowShape(type, origins, extents),
                          type.getElementType(), type.getAccess(), type.getInterleave(),
                          type.getStrided());
  return make<WindowOp>(at, to, from, *origin, *extent);
}

SinterValue FrontSession::gather(SinterValue pages, SinterValue index, bool byRow, At at) {
  Value from = useView(pages, "pages", at), numbers = useView(index, "index", at);
  if (!from || !numbers)
    return SINTER_VALUE_POISON;
  ViewType type = viewOf(from), indexType = viewOf(numbers);
  if (type.getRank() < 2 || ShapedType::isDynamic(type.getShape()[1]))
    return error(at, "pages are " + describe(type) +
                         ", expected [pages, rows, ...] with a static number of rows");
  if (indexType.getRank() != 1 || !indexType.getElementType().isInteger(32))
    return error(at, "index is " + describe(indexType) + ", expected one dimension of i32");
  if (!indexType.isReadable())
    return error(at, "index is " + describe(indexType) + ", expected an in or inout view");
  SmallVector<int64_t> shape(type.getShape().drop_front());
  int64_t count = indexType.getShape()[0], rows = byRow ? 1 : shape[0];
  if (ShapedType::isDynamic(count) || llvm::MulOverflow(count, rows, shape[0]))
    shape[0] = ShapedType::kDynamic;
  auto to = ViewType::get(builder_.getContext(), shape, type.getElementType(), type.getAccess(),
                          /*interleave=*/0, type.getStrided());
  return make<GatherOp>(at, to, from, numbers, byRow);
}

SinterValue FrontSession::load(SinterValue view, ArrayRef<SinterOperand> offsets,
                               ArrayRef<int64_t> shape, const SinterOperand &pad, At at) {
  Value from = useView(view, "value", at);
  if (!from)
    return SINTER_VALUE_POISON;
  ViewType type = viewOf(from);
  if (!type.isReadable())
    return error(at, "load from " + describe(type) + ", expected an in or inout view");
  auto places = useIndices(offsets, "offset", type.getRank(), at);
  if (static_cast<int64_t>(shape.size()) != type.getRank())
    return error(at, "load of a tile with " + Twine(shape.size()) + " dimensions from " +
                         describe(type) + ", expected " + Twine(type.getRank()));
  RankedTensorType tile = tileType(shape, type.getElementType(), at);
  TypedAttr padding;
  if (pad.kind == SINTER_OPERAND_VALUE)
    return error(at, "padding is a value, expected a literal");
  if (pad.kind != SINTER_OPERAND_NONE) {
    padding = literal(pad, type.getElementType(), at);
    if (!padding)
      return SINTER_VALUE_POISON;
  }
  if (!places || !tile)
    return SINTER_VALUE_POISON;
  return make<LoadOp>(at, tile, from, *places, padding);
}

SinterValue FrontSession::loadScalar(SinterValue view, ArrayRef<SinterOperand> offsets, At at) {
  Value from = useView(view, "value", at);
  if (!from)
    return SINTER_VALUE_POISON;
  ViewType type = viewOf(from);
  if (!type.isReadable())
    return error(at, "load from " + describe(type) + ", expected an in or inout view");
  if (isa<BlockType>(type.getElementType()))
    return error(at, "scalar load from " + describe(type) +
                         ", expected scalar elements: load a tile and dequantize it");
  auto places = useIndices(offsets, "offset", type.getRank(), at);
  if (!places)
    return SINTER_VALUE_POISON;
  return make<LoadScalarOp>(at, type.getElementType(), from, *places);
}

void FrontSession::store(SinterValue view, ArrayRef<SinterOperand> offsets, SinterValue tile,
                         At at) {
  Value to = useView(view, "target", at), value = useTile(tile, "stored value", at);
  if (!to)
    return;
  ViewType type = viewOf(to);
  if (!type.isWritable()) {
    error(at, "store to " + describe(type) + ", expected an out or inout view");
    return;
  }
  auto places = useIndices(offsets, "offset", type.getRank(), at);
  if (!value || !places)
    return;
  auto stored = cast<RankedTensorType>(value.getType());
  if (stored.getRank() != type.getRank())
    error(at, "store of " + describe(stored) + " to " + describe(type) + ", expected " +
                  Twine(type.getRank()) + " dimensions");
  else if (stored.getElementType() != type.getElementType())
    error(at, "store of " + describe(stored) + " to " + describe(type) + ", expected " +
                  describe(type.getElementType()) + " elements: convert it");
  else
    holds(StoreOp::create(builder_, loc(at), value, to, *places), at);
}

} // namespace sinter::tile
