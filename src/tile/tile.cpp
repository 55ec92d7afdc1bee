// Registration, types and folders of the tile dialect.
#include "tile/tile.h"
#include "tile/mlir_pch.h"

using namespace mlir;

#include "tile/tile_dialect.cpp.inc"
#include "tile/tile_enums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "tile/tile_types.cpp.inc"

namespace sinter::tile {

void TileDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "tile/tile_types.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tile/tile_ops.cpp.inc"
      >();
}

bool isTileType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || llvm::is_contained(tensor.getShape(), 0))
    return false;
  Type element = tensor.getElementType();
  return element.isIntOrIndexOrFloat() || isa<BlockType>(element);
}

const BlockFormat *blockFormatOf(Type element) {
  auto block = dyn_cast<BlockType>(element);
  return block ? findBlockFormat(block.getFormat().upper()) : nullptr;
}

const ActivationFormat *activationFormatOf(Type element) {
  auto block = dyn_cast<BlockType>(element);
  return block ? findActivationFormat(block.getFormat().upper()) : nullptr;
}

DictionaryAttr scheduleOf(KernelOp kernel) {
  return kernel->getAttrOfType<DictionaryAttr>(kScheduleName);
}

void setSchedule(KernelOp kernel, ArrayRef<std::pair<std::string, int64_t>> decisions) {
  Builder b(kernel.getContext());
  SmallVector<NamedAttribute> numbers;
  for (const auto &[name, value] : decisions)
    numbers.push_back(b.getNamedAttr(name, b.getI64IntegerAttr(value)));
  kernel->setAttr(kScheduleName, b.getDictionaryAttr(numbers));
}

ArrayRef<int64_t> stridesOf(KernelOp kernel, unsigned argument) {
  auto strides = kernel.getArgAttrOfType<DenseI64ArrayAttr>(argument, kStridesName);
  return strides ? strides.asArrayRef() : ArrayRef<int64_t>();
}

void setStrides(KernelOp kernel, unsigned argument, ArrayRef<int64_t> strides) {
  kernel.setArgAttr(argument, kStridesName, Builder(kernel).getDenseI64ArrayAttr(strides));
}

void setConstant(KernelOp kernel, unsigned argument) {
  kernel.setArgAttr(argument, kConstantName, UnitAttr::get(kernel.getContext()));
}

bool isConstant(KernelOp kernel, unsigned argument) {
  return kernel.getArgAttr(argument, kConstantName) != nullptr;
}

std::optional<int64_t> givenStride(BlockArgument view, int64_t axis) {
  auto kernel = cast<KernelOp>(view.getOwner()->getParentOp());
  ArrayRef<int64_t> strides = stridesOf(kernel, view.getArgNumber());
  if (strides.empty() || ShapedType::isDynamic(strides[axis]))
    return std::nullopt;
  return strides[axis];
}

std::optional<int64_t> ViewType::denseStride(int64_t axis) const {
  ArrayRef<int64_t> inner = getShape().drop_front(axis + 1);
  if (!isa<BlockType>(getElementType()) || getStrided() ||
      llvm::any_of(inner, ShapedType::isDynamic))
    return std::nullopt;
  int64_t stride = 1;
  for (int64_t extent : inner)
    if (__builtin_mul_overflow(stride, extent, &stride))
      return std::nullopt;
  return stride;
}

Type ViewType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  if (parser.parseLess() || parser.parseDimensionList(shape) || parser.parseType(element) ||
      parser.parseComma())
    return {};
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return {};
  std::optional<Access> access = symbolizeAccess(word);
  if (!access) {
    parser.emitError(loc) << "found '" << word << "', expected in, out or inout";
    return {};
  }
  int64_t interleave = 0;
  bool strided = false;
  while (succeeded(parser.parseOptionalComma())) {
    loc = parser.getCurrentLocation();
    if (succeeded(parser.parseOptionalKeyword("strided"))) {
      strided = true;
    } else if (succeeded(parser.parseOptionalKeyword("interleave"))) {
      if (parser.parseEqual() || parser.parseInteger(interleave))
        return {};
    } else {
      parser.emitError(loc) << "expected 'strided' or 'interleave = rows'";
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<ViewType>(parser.getContext(), shape, element, *access, interleave,
                                     strided);
}

void ViewType::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printDimensionList(getShape());
  if (!getShape().empty())
    printer << 'x';
  printer << getElementType() << ", " << stringifyAccess(getAccess());
  if (getInterleave())
    printer << ", interleave = " << getInterleave();
  if (getStrided())
    printer << ", strided";
  printer << '>';
}

LogicalResult ViewType::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> shape, Type element, Access access,
                               int64_t interleave, bool strided) {
  if (shape.empty() || shape.size() > 6)
    return emitError() << "view has " << shape.size() << " dimensions, expected 1 to 6";
  for (int64_t extent : shape)
    if (!ShapedType::isDynamic(extent) && extent <= 0)
      return emitError() << "view has extent " << extent << ", expected a positive one or ?";
  if (!element.isIntOrIndexOrFloat() && !isa<BlockType>(element))
    return emitError() << "view has element type " << element
                       << ", expected a scalar or !tile.block";
  if (interleave && (interleave < 0 || shape.size() != 2 || access != Access::In))
    return emitError() << "interleave = " << interleave
                       << " is for two-dimensional in-views and positive row counts";
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  return getType() == getValue().getType() ? OpFoldResult(getValue()) : OpFoldResult();
}

OpFoldResult DimOp::fold(FoldAdaptor) {
  int64_t extent = getView().getType().getShape()[getAxis()];
  if (ShapedType::isDynamic(extent))
    return {};
  return IntegerAttr::get(IndexType::get(getContext()), extent);
}

} // namespace sinter::tile

#define GET_OP_CLASSES
#include "tile/tile_ops.cpp.inc"
