// Registration, types and verifiers of the sched dialect.
#include "sched/sched.h"
#include "tile/mlir_pch.h"

using namespace mlir;

#include "sched/sched_dialect.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "sched/sched_types.cpp.inc"

namespace sinter::sched {

void SchedDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "sched/sched_types.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "sched/sched_ops.cpp.inc"
      >();
}

Type BufferType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape, strides;
  Type element;
  if (parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(element) || parser.parseComma() || parser.parseKeyword("strides") ||
      parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parser.parseInteger(strides.emplace_back()); }) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<BufferType>(parser.getContext(), shape, element, strides);
}

void BufferType::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printDimensionList(getShape());
  printer << 'x' << getElementType() << ", strides = [";
  llvm::interleaveComma(getStrides(), printer);
  printer << "]>";
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, Type element, ArrayRef<int64_t> strides) {
  if (shape.empty() || shape.size() != strides.size())
    return emitError() << "buffer has " << shape.size() << " extents and " << strides.size()
                       << " strides, expected as many and at least one";
  return success();
}

int64_t BufferType::getSpan() const {
  int64_t span = 1;
  for (auto [extent, stride] : llvm::zip_equal(getShape(), getStrides()))
    span += (extent - 1) * stride;
  return span;
}

LogicalResult ChannelType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t depth,
                                  Type element) {
  if (depth < 1)
    return emitError() << "channel has depth " << depth << ", expected at least 1";
  if (!tile::isTileType(element))
    return emitError() << "channel carries " << element << ", expected a tile";
  return success();
}

static LogicalResult verifyBlock(Operation *op, BufferType buffer, Type tile, size_t offsets) {
  auto block = cast<RankedTensorType>(tile);
  if (block.getRank() != static_cast<int64_t>(buffer.getShape().size()) ||
      offsets != buffer.getShape().size())
    return op->emitOpError() << "block " << block << " with " << offsets << " offsets does not fit "
                             << buffer;
  if (block.getElementType() != buffer.getElementType())
    return op->emitOpError() << "block has elements " << block.getElementType() << ", expected "
                             << buffer.getElementType();
  return success();
}

LogicalResult ReadOp::verify() {
  return verifyBlock(*this, getBuffer().getType(), getResult().getType(), getOffsets().size());
}

LogicalResult WriteOp::verify() {
  return verifyBlock(*this, getBuffer().getType(), getValue().getType(), getOffsets().size());
}

LogicalResult PrefetchOp::verify() {
  Type type = getMemory().getType();
  auto view = dyn_cast<tile::ViewType>(type);
  size_t rank = view ? view.getShape().size() : cast<BufferType>(type).getShape().size();
  if (getOffsets().size() != rank || getExtents().size() != rank)
    return emitOpError() << "has " << getOffsets().size() << " offsets and " << getExtents().size()
                         << " extents, expected " << rank << " of each for " << type;
  if (llvm::any_of(getExtents(), [](int64_t extent) { return extent < 1; }))
    return emitOpError() << "has extents " << getExtents() << ", expected positive ones";
  return success();
}

LogicalResult PutOp::verify() {
  if (getValue().getType() != getChannel().getType().getElementType())
    return emitOpError() << "puts " << getValue().getType() << " into " << getChannel().getType();
  return success();
}

LogicalResult GetOp::verify() {
  if (getResult().getType() != getChannel().getType().getElementType())
    return emitOpError() << "gets " << getResult().getType() << " from " << getChannel().getType();
  return success();
}

LogicalResult RolesOp::verify() {
  for (Operation &op : getBody().front())
    if (!isa<RoleOp>(op))
      return emitOpError() << "holds '" << op.getName() << "', expected only roles";
  return success();
}

} // namespace sinter::sched

#define GET_OP_CLASSES
#include "sched/sched_ops.cpp.inc"
