// What makes a tile program well formed: the verifiers of the tile dialect and its kernel syntax.
#include "mlir/Interfaces/FunctionImplementation.h"
#include "tile/mlir_pch.h"
#include "tile/tile.h"

using namespace mlir;

namespace sinter::tile {

static RankedTensorType tileOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static LogicalResult expectRank(Operation *op, StringRef what, int64_t found, int64_t expected) {
  if (found == expected)
    return success();
  return op->emitOpError() << what << " has " << found << " dimensions, expected " << expected;
}

static LogicalResult expectSame(Operation *op, StringRef what, Type found, Type expected) {
  if (found == expected)
    return success();
  return op->emitOpError() << what << " is " << found << ", expected " << expected;
}

// ---- kernel ----

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto build = [](Builder &b, ArrayRef<Type> args, ArrayRef<Type> results,
                  function_interface_impl::VariadicFlag,
                  std::string &) { return b.getFunctionType(args, results); };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false, getFunctionTypeAttrName(result.name), build,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void KernelOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false,
                                           getFunctionTypeAttrName(), getArgAttrsAttrName(),
                                           getResAttrsAttrName());
}

GridOp KernelOp::getGrid() {
  return *getBody().getOps<GridOp>().begin();
}

// What a launch may give a view of this type along an axis.
static bool mayBeStride(ViewType view, int64_t axis, int64_t stride) {
  if (ShapedType::isDynamic(stride))
    return true;
  if (axis + 1 == view.getRank() && !view.getStrided())
    return stride == 1;
  const BlockFormat *format = blockFormatOf(view.getElementType());
  const ActivationFormat *activation = activationFormatOf(view.getElementType());
  const int64_t unit = format ? format->blockLength : activation ? kActivationLength : 1;
  return stride >= 0 && (axis + 1 == view.getRank() || stride % unit == 0);
}

static LogicalResult verifyStrides(KernelOp kernel, unsigned index, Type type) {
  Attribute given = kernel.getArgAttr(index, kStridesName);
  if (!given)
    return success();
  auto view = dyn_cast<ViewType>(type);
  auto strides = dyn_cast<DenseI64ArrayAttr>(given);
  bool fits = view && strides && strides.size() == view.getRank();
  for (int64_t axis = 0; fits && axis < view.getRank(); ++axis)
    fits = mayBeStride(view, axis, strides[axis]);
  if (fits)
    return success();
  return kernel.emitOpError() << "argument " << index << ", " << type << ", has strides " << given
                              << ", expected one for each dimension of a view, of whole blocks, 1 "
                                 "for the last unless it is strided";
}

LogicalResult KernelOp::verify() {
  if (!getResultTypes().empty())
    return emitOpError() << "has " << getResultTypes().size()
                         << " results, expected none: a kernel stores to out views";
  for (auto [index, type] : llvm::enumerate(getArgumentTypes())) {
    if (!isa<ViewType>(type) && !type.isIntOrIndexOrFloat())
      return emitOpError() << "argument " << index << " is " << type
                           << ", expected a view or a scalar";
    if (failed(verifyStrides(*this, index, type)))
      return failure();
  }
  auto grids = llvm::count_if(getBody().front(), llvm::IsaPred<GridOp>);
  if (grids != 1)
    return emitOpError() << "has " << grids << " tile.grid operations, expected one";
  return success();
}

// A grid may use constants, dimensions, scalar arguments and index arithmetic on them.
static bool isGridOperation(Operation *op) {
  if (auto dim = dyn_cast<DimOp>(op))
    return isa<BlockArgument>(dim.getView());
  return isa<arith::ConstantOp, arith::AddIOp, arith::MulIOp, arith::CeilDivSIOp, arith::MinSIOp,
             arith::MaxSIOp>(op);
}

LogicalResult GridOp::verify() {
  SmallVector<Value> work(getOperands());
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op)
      continue;
    if (!isGridOperation(op))
      return emitOpError() << "depends on '" << op->getName()
                           << "', expected constants, dimensions of arguments, scalar arguments "
                              "and + * ceildiv min max of them";
    if (!isa<DimOp>(op))
      llvm::append_range(work, op->getOperands());
  }
  return success();
}

LogicalResult DimOp::verify() {
  if (getAxis() >= getView().getType().getRank())
    return emitOpError() << "asks for axis " << getAxis() << " of a view with "
                         << getView().getType().getRank() << " dimensions";
  return success();
}

// ---- views ----

LogicalResult WindowOp::verify() {
  ViewType from = getView().getType(), to = getResult().getType();
  if (failed(expectRank(*this, "origin", getOrigins().size(), from.getRank())) ||
      failed(expectRank(*this, "extent", getExtents().size(), from.getRank())) ||
      failed(expectRank(*this, "result", to.getRank(), from.getRank())))
    return failure();
  if (from.getElementType() != to.getElementType() || from.getAccess() != to.getAccess() ||
      from.getStrided() != to.getStrided() || from.getInterleave() != to.getInterleave())
    return emitOpError() << "turns " << from << " into " << to
                         << ", expected only extents to change";
  return success();
}

// Whether a view's pages are counted from its own first one and have all their rows: windows may
// leave out last pages, and anything along other axes.
static bool hasWholePages(Value pages, int64_t rows) {
  for (auto window = pages.getDefiningOp<WindowOp>(); window;
       window = window.getView().getDefiningOp<WindowOp>()) {
    bool first = llvm::all_of(window.getOrigins().take_front(2), [](Value origin) {
      return getConstantIntValue(origin) == int64_t(0);
    });
    std::optional<int64_t> extent = getConstantIntValue(window.getExtents()[1]);
    if (!first || !extent || *extent < rows)
      return false;
  }
  return true;
}

LogicalResult GatherOp::verify() {
  ViewType pages = getPages().getType(), index = getIndex().getType(), to = getResult().getType();
  if (pages.getRank() < 2 || ShapedType::isDynamic(pages.getShape()[1]))
    return emitOpError() << "pages are " << pages
                         << ", expected [pages, rows, ...] with a static number of rows";
  if (!hasWholePages(getPages(), pages.getShape()[1]))
    return emitOpError() << "takes pages from a window that moves them or cuts their rows, expected"
                         << " one that begins at page 0 and row 0 and has all rows";
  if (index.getRank() != 1 || !index.getElementType().isInteger(32))
    return emitOpError() << "index is " << index << ", expected one dimension of i32";
  if (failed(expectRank(*this, "result", to.getRank(), pages.getRank() - 1)))
    return failure();
  if (pages.getElementType() != to.getElementType() || pages.getAccess() != to.getAccess() ||
      to.getShape().drop_front() != pages.getShape().drop_front(2) || pages.getInterleave())
    return emitOpError() << "turns " << pages << " into " << to
                         << ", expected the same elements, access and inner extents";
  return success();
}

static LogicalResult verifyTransfer(Operation *op, ViewType view, RankedTensorType tile,
                                    size_t offsets) {
  if (failed(expectRank(op, "tile", tile.getRank(), view.getRank())) ||
      failed(expectRank(op, "offset", offsets, view.getRank())))
    return failure();
  return expectSame(op, "tile's element type", tile.getElementType(), view.getElementType());
}

void LoadOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (getView().getType().isWritable())
    effects.emplace_back(MemoryEffects::Read::get(), &getViewMutable());
}

LogicalResult LoadOp::verify() {
  ViewType view = getView().getType();
  if (!view.isReadable())
    return emitOpError() << "reads an out view";
  if (failed(verifyTransfer(*this, view, tileOf(getResult()), getOffsets().size())))
    return failure();
  if (auto pad = getPadAttr()) {
    auto typed = dyn_cast<TypedAttr>(pad);
    if (!typed || typed.getType() != view.getElementType())
      return emitOpError() << "pads with " << pad << ", expected a " << view.getElementType();
  }
  return success();
}

LogicalResult LoadScalarOp::verify() {
  ViewType view = getView().getType();
  if (!view.isReadable())
    return emitOpError() << "reads an out view";
  if (failed(expectRank(*this, "offset", getOffsets().size(), view.getRank())))
    return failure();
  return expectSame(*this, "result", getResult().getType(), view.getElementType());
}

LogicalResult StoreOp::verify() {
  ViewType view = getView().getType();
  if (!view.isWritable())
    return emitOpError() << "writes an in view";
  return verifyTransfer(*this, view, tileOf(getValue()), getOffsets().size());
}

// ---- tiles ----

LogicalResult SplatOp::verify() {
  return expectSame(*this, "result's element type", tileOf(getResult()).getElementType(),
                    getValue().getType());
}

LogicalResult IotaOp::verify() {
  RankedTensorType type = tileOf(getResult());
  if (getAxis() >= type.getRank())
    return emitOpError() << "counts along axis " << getAxis() << " of " << type;
  if (!type.getElementType().isIntOrIndex())
    return emitOpError() << "makes " << type << ", expected integer elements";
  return success();
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType from = tileOf(getValue()), to = tileOf(getResult());
  if (failed(expectRank(*this, "result", to.getRank(), from.getRank())) ||
      failed(
          expectSame(*this, "result's element type", to.getElementType(), from.getElementType())))
    return failure();
  for (int64_t axis = 0; axis < from.getRank(); ++axis)
    if (from.getDimSize(axis) != to.getDimSize(axis) && from.getDimSize(axis) != 1)
      return emitOpError() << "repeats extent " << from.getDimSize(axis) << " of axis " << axis
                           << " up to " << to.getDimSize(axis) << ", expected 1 or the same";
  return success();
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = tileOf(getValue()), to = tileOf(getResult());
  if (from.getNumElements() != to.getNumElements() || from.getElementType() != to.getElementType())
    return emitOpError() << "turns " << from << " into " << to << ", expected the same elements";
  return success();
}

LogicalResult PermuteOp::verify() {
  RankedTensorType from = tileOf(getValue()), to = tileOf(getResult());
  SmallVector<int64_t> sorted(getOrder());
  llvm::sort(sorted);
  for (auto [index, axis] : llvm::enumerate(sorted))
    if (static_cast<int64_t>(index) != axis ||
        static_cast<int64_t>(sorted.size()) != from.getRank())
      return emitOpError() << "order is not a permutation of " << from.getRank() << " axes";
  if (static_cast<int64_t>(sorted.size()) != from.getRank())
    return emitOpError() << "order names " << sorted.size() << " axes, expected " << from.getRank();
  SmallVector<int64_t> shape;
  for (int64_t axis : getOrder())
    shape.push_back(from.getDimSize(axis));
  return expectSame(*this, "result", to, RankedTensorType::get(shape, from.getElementType()));
}

LogicalResult SliceOp::verify() {
  RankedTensorType from = tileOf(getValue()), to = tileOf(getResult());
  if (failed(expectRank(*this, "result", to.getRank(), from.getRank())) ||
      failed(expectRank(*this, "offset", getOffsets().size(), from.getRank())) ||
      failed(
          expectSame(*this, "result's element type", to.getElementType(), from.getElementType())))
    return failure();
  for (int64_t axis = 0; axis < from.getRank(); ++axis)
    if (getOffsets()[axis] < 0 || getOffsets()[axis] > from.getDimSize(axis) - to.getDimSize(axis))
      return emitOpError() << "takes " << to.getDimSize(axis) << " from " << getOffsets()[axis]
                           << " of axis " << axis << ", which has " << from.getDimSize(axis);
  return success();
}

LogicalResult ConcatOp::verify() {
  RankedTensorType to = tileOf(getResult());
  if (getValues().empty() || getAxis() >= to.getRank())
    return emitOpError() << "joins " << getValues().size() << " tiles along axis " << getAxis()
                         << " into " << to;
  int64_t total = 0;
  for (Value value : getValues()) {
    RankedTensorType from = tileOf(value);
    if (failed(expectRank(*this, "operand", from.getRank(), to.getRank())))
      return failure();
    total += from.getDimSize(getAxis());
    for (int64_t axis = 0; axis < to.getRank(); ++axis)
      if (axis != getAxis() && from.getDimSize(axis) != to.getDimSize(axis))
        return emitOpError() << "joins " << from << " into " << to << ", which differ on axis "
                             << axis;
    if (failed(expectSame(*this, "operand's element type", from.getElementType(),
                          to.getElementType())))
      return failure();
  }
  if (total != to.getDimSize(getAxis()))
    return emitOpError() << "joins " << total << " along axis " << getAxis() << ", expected "
                         << to.getDimSize(getAxis());
  return success();
}

LogicalResult ReduceOp::verify() {
  RankedTensorType from = tileOf(getValue());
  if (getAxis() >= from.getRank())
    return emitOpError() << "reduces axis " << getAxis() << " of " << from;
  if (!from.getElementType().isIntOrFloat())
    return emitOpError() << "reduces " << from << ", expected integer or float elements";
  SmallVector<int64_t> shape(from.getShape());
  shape[getAxis()] = 1;
  return expectSame(*this, "result", getResult().getType(),
                    RankedTensorType::get(shape, from.getElementType()));
}

// Rows of activations hold whole stretches that share a scale.
static LogicalResult expectWholeScales(Operation *op, RankedTensorType rows) {
  const ActivationFormat *format = activationFormatOf(rows.getElementType());
  if (!format || rows.getShape().back() % format->scaleLength == 0)
    return success();
  return op->emitOpError() << "has rows of " << rows.getShape().back() << " "
                           << rows.getElementType() << ", expected a multiple of "
                           << format->scaleLength;
}

LogicalResult DotOp::verify() {
  RankedTensorType a = tileOf(getA()), b = tileOf(getB()), acc = tileOf(getAcc());
  if (failed(expectRank(*this, "a", a.getRank(), 2)) ||
      failed(expectRank(*this, "b", b.getRank(), 2)) ||
      failed(expectRank(*this, "acc", acc.getRank(), 2)) ||
      failed(expectSame(*this, "result", getResult().getType(), acc)))
    return failure();
  int64_t k = b.getDimSize(getTransposeB() ? 1 : 0), n = b.getDimSize(getTransposeB() ? 0 : 1);
  if (a.getDimSize(1) != k)
    return emitOpError() << "contracts " << a.getDimSize(1) << " elements of a with " << k
                         << " of b";
  if (acc.getDimSize(0) != a.getDimSize(0) || acc.getDimSize(1) != n)
    return emitOpError() << "acc is " << acc << ", expected " << a.getDimSize(0) << "x" << n;
  bool blocks = isa<BlockType>(a.getElementType()), blocksB = isa<BlockType>(b.getElementType());
  if (blocks != blocksB)
    return emitOpError()
           << "multiplies " << a.getElementType() << " with " << b.getElementType()
           << ", expected two block formats or two scalar types: quantize or dequantize "
              "one of them";
  if (blocks && !getTransposeB())
    return emitOpError() << "block formats need transpose_b: blocks lie along the contracted axis";
  if (failed(expectWholeScales(*this, a)))
    return failure();
  if (acc.getElementType().isF32() &&
      a.getElementType().isInteger(32) != b.getElementType().isInteger(32))
    return emitOpError() << "multiplies " << a.getElementType() << " with " << b.getElementType()
                         << " into f32, expected words of pairs in both or in neither";
  if (!acc.getElementType().isF32() &&
      !(acc.getElementType().isInteger(32) && a.getElementType().isInteger(8)))
    return emitOpError() << "acc has elements " << acc.getElementType()
                         << ", expected f32 (or i32 for i8 operands)";
  return success();
}

LogicalResult QuantizeOp::verify() {
  RankedTensorType from = tileOf(getValue()), to = tileOf(getResult());
  if (from.getShape() != to.getShape() || !from.getElementType().isF32() ||
      !isa<BlockType>(to.getElementType()))
    return emitOpError() << "turns " << from << " into " << to
                         << ", expected f32 into a block format of the same shape";
  return expectWholeScales(*this, to);
}

LogicalResult DequantizeOp::verify() {
  RankedTensorType from = tileOf(getValue()), to = tileOf(getResult());
  if (from.getShape() != to.getShape() || !to.getElementType().isF32() ||
      !isa<BlockType>(from.getElementType()))
    return emitOpError() << "turns " << from << " into " << to
                         << ", expected a block format into f32 of the same shape";
  return success();
}

} // namespace sinter::tile
