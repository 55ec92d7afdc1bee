// Registration, types and verifiers of the sched dialect.
#include "sched/simt/layout.h"
#include "tile/mlir_pch.h"

using namespace mlir;

#include "sched/sched_dialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "sched/sched_attrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "sched/sched_types.cpp.inc"

namespace sinter::sched {

void SchedDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "sched/sched_attrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "sched/sched_types.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "sched/sched_ops.cpp.inc"
      >();
}

static ParseResult parseBits(AsmParser &parser, StringRef name, SmallVector<int32_t> &bits) {
  auto parseBit = [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalStar())) {
      bits.push_back(-1);
      return success();
    }
    std::string text;
    if (parser.parseString(&text))
      return failure();
    unsigned axis = 0, bit = 0;
    auto [left, right] = StringRef(text).split('.');
    if (left.getAsInteger(10, axis) || right.getAsInteger(10, bit) || axis >= 16 ||
        bit >= kBitsPerAxis)
      return parser.emitError(parser.getCurrentLocation())
             << "found bit \"" << text << "\", expected \"axis.bit\"";
    bits.push_back(static_cast<int32_t>(axis * kBitsPerAxis + bit));
    return success();
  };
  return failure(parser.parseKeyword(name) || parser.parseEqual() ||
                 parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseBit));
}

static void printBits(AsmPrinter &printer, StringRef name, ArrayRef<int32_t> bits) {
  printer << name << " = [";
  llvm::interleaveComma(bits, printer, [&](int32_t encoded) {
    LayoutBit bit = decodeLayoutBit(encoded);
    if (bit.axis < 0)
      printer << '*';
    else
      printer << '"' << bit.axis << '.' << bit.bit << '"';
  });
  printer << ']';
}

Attribute SimtLayoutAttr::parse(AsmParser &parser, Type) {
  SmallVector<int32_t> registers, threads;
  if (parser.parseLess() || parseBits(parser, "registers", registers) || parser.parseComma() ||
      parseBits(parser, "threads", threads) || parser.parseGreater())
    return {};
  return parser.getChecked<SimtLayoutAttr>(parser.getContext(), registers, threads);
}

void SimtLayoutAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printBits(printer, "registers", getRegisters());
  printer << ", ";
  printBits(printer, "threads", getThreads());
  printer << '>';
}

LogicalResult SimtLayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                     ArrayRef<int32_t> registers, ArrayRef<int32_t> threads) {
  if (threads.size() > 10 || registers.size() > 16)
    return emitError() << "a layout has " << threads.size() << " thread bits and "
                       << registers.size() << " register bits, expected at most 10 and 16";
  SmallVector<uint64_t> seen(16, 0);
  for (ArrayRef<int32_t> bits : {registers, threads})
    for (int32_t encoded : bits) {
      LayoutBit bit = decodeLayoutBit(encoded);
      if (bit.axis < 0)
        continue;
      if (bit.axis >= 16)
        return emitError() << "a layout names axis " << bit.axis << ", expected one below 16";
      if (seen[bit.axis] >> bit.bit & 1)
        return emitError() << "a layout names bit " << bit.bit << " of axis " << bit.axis
                           << " twice";
      seen[bit.axis] |= uint64_t(1) << bit.bit;
    }
  if (llvm::is_contained(registers, -1))
    return emitError() << "a register bit of a layout has no axis";
  for (auto [axis, mask] : llvm::enumerate(seen))
    if (mask & (mask + 1))
      return emitError() << "a layout leaves out a bit of axis " << axis;
  return success();
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

LogicalResult ConvertOp::verify() {
  auto from = cast<RankedTensorType>(getValue().getType()),
       to = cast<RankedTensorType>(getResult().getType());
  if (from.getShape() != to.getShape() || from.getElementType() != to.getElementType())
    return emitOpError() << "converts " << from << " to " << to
                         << ", expected the same shape and elements";
  return success();
}

LogicalResult SplitDotOp::verify() {
  auto a = cast<RankedTensorType>(getA().getType()), b = cast<RankedTensorType>(getB().getType()),
       accumulators = cast<RankedTensorType>(getResult().getType());
  bool fits = a.getRank() == 2 && b.getRank() == 2 && accumulators.getRank() == 3 &&
              a.getDimSize(1) == b.getDimSize(1) && accumulators.getDimSize(1) == a.getDimSize(0) &&
              accumulators.getDimSize(2) == b.getDimSize(0);
  if (!fits)
    return emitOpError() << "multiplies " << a << " by " << b << " into " << accumulators
                         << ", expected [M, K] by [N, K] into [subgroups, M, N]";
  return success();
}

LogicalResult GroupDotOp::verify() {
  auto shape = [](Value tile) { return cast<RankedTensorType>(tile.getType()).getShape(); };
  ArrayRef<int64_t> a = shape(getA()), b = shape(getB()), scale = shape(getScale()),
                    accumulators = shape(getResult());
  bool fits = a.size() == 2 && b.size() == 2 && scale.size() == 2 && accumulators.size() == 3 &&
              a[1] == 2 * b[1] && scale[0] == b[0] && a[1] % scale[1] == 0 &&
              (!getMin() || shape(getMin()) == scale) && accumulators[1] == a[0] &&
              accumulators[2] == b[0] && llvm::isPowerOf2_64(getBeside()) &&
              (getBeside() == 1 || accumulators[0] == 1);
  if (!fits)
    return emitOpError() << "multiplies " << getA().getType() << " by pairs " << getB().getType()
                         << " with scales " << getScale().getType() << " into "
                         << getResult().getType()
                         << ", expected [M, K] by [N, K / 2] with [N, groups] into "
                            "[subgroups, M, N]";
  return success();
}

LogicalResult JoinSharesOp::verify() {
  auto accumulators = cast<RankedTensorType>(getAccumulators().getType()),
       result = cast<RankedTensorType>(getResult().getType());
  if (accumulators.getRank() != 3 || accumulators.getShape().drop_front() != result.getShape() ||
      accumulators.getElementType() != result.getElementType())
    return emitOpError() << "makes " << result << " of " << accumulators
                         << ", expected [M, N] of [subgroups, M, N]";
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
