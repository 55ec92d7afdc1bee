// Registration, symbolic extents and tensor types of the graph dialect.
#include "graph/graph.h"
#include "graph/ir/extent.h"
#include "tile/mlir_pch.h"

using namespace mlir;

#include "graph/graph_dialect.cpp.inc"
#include "graph/graph_enums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "graph/graph_attrs.cpp.inc"

namespace sinter::graph {

void GraphDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "graph/graph_attrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "graph/graph_ops.cpp.inc"
      >();
}

Attribute DimsAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> symbols;
  auto parseSymbol = [&]() -> ParseResult {
    std::string name;
    const SMLoc at = parser.getCurrentLocation();
    if (parser.parseKeywordOrString(&name))
      return failure();
    const Result<SymbolicExtent> extent = SymbolicExtent::parse(name);
    if (!extent)
      return parser.emitError(at) << extent.error().message;
    symbols.push_back(parser.getBuilder().getStringAttr(extent->text()));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseSymbol))
    return {};
  return DimsAttr::get(parser.getContext(), symbols);
}

void DimsAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(getSymbols(), printer,
                        [&](StringAttr name) { printer.printKeywordOrString(name.getValue()); });
  printer << '>';
}

LogicalResult DimsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                       function_ref<InFlightDiagnostic()> emitError) const {
  auto dynamic = llvm::count_if(shape, ShapedType::isDynamic);
  if (dynamic != static_cast<int64_t>(getSymbols().size()))
    return emitError() << "tensor has " << dynamic << " dynamic extents and " << getSymbols().size()
                       << " symbols, expected one for each";
  for (StringAttr symbol : getSymbols()) {
    const Result<SymbolicExtent> extent = SymbolicExtent::parse(symbol.getValue());
    if (!extent)
      return emitError() << extent.error().message;
    if (extent->constant())
      return emitError() << "extent '" << symbol.getValue()
                         << "' has no symbol, expected the number " << *extent->constant()
                         << " in the shape";
    if (extent->text() != symbol.getValue())
      return emitError() << "extent '" << symbol.getValue()
                         << "' is not in canonical form, expected '" << extent->text() << "'";
  }
  return success();
}

bool isGraphTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return false;
  Type element = tensor.getElementType();
  if (!isScalarElement(element) && (!isa<tile::BlockType>(element) || tensor.getRank() == 0))
    return false;
  if (llvm::any_of(tensor.getShape(),
                   [](int64_t extent) { return !ShapedType::isDynamic(extent) && extent <= 0; }))
    return false;
  return tensor.hasStaticShape() ? !tensor.getEncoding()
                                 : isa_and_nonnull<DimsAttr>(tensor.getEncoding());
}

bool isScalarElement(Type element) {
  return element.isF32() || element.isF16() || element.isBF16() || isa<Float8E4M3FNType>(element) ||
         element.isInteger(32) || element.isInteger(1);
}

// Bytes of f64 fit, in which the evaluator may hold any element.
LogicalResult verifyExtents(Operation *op) {
  for (Type type : op->getResultTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    int64_t bytes = sizeof(double);
    for (int64_t extent : tensor ? tensor.getShape() : ArrayRef<int64_t>())
      if (!ShapedType::isDynamic(extent) && llvm::MulOverflow(bytes, extent, bytes))
        return op->emitOpError() << "makes " << type
                                 << ", whose extents' product overflows 64 bits";
    if (tensor && !tensor.hasStaticShape() && !elementCount(tensor))
      return op->emitOpError() << "makes " << type
                               << ", whose extents' product is too large a formula";
  }
  return success();
}

// The types of a map's operands, of which there may be none.
static ParseResult parseOperandTypes(OpAsmParser &parser, SmallVectorImpl<Type> &types) {
  Type first;
  const OptionalParseResult found = parser.parseOptionalType(first);
  if (!found.has_value())
    return success();
  if (failed(*found))
    return failure();
  types.push_back(first);
  while (succeeded(parser.parseOptionalComma()))
    if (parser.parseType(types.emplace_back()))
      return failure();
  return success();
}

static void printOperandTypes(OpAsmPrinter &printer, Operation *, TypeRange types) {
  llvm::interleaveComma(types, printer);
}

RankedTensorType tensorOf(ArrayRef<Extent> shape, Type element) {
  SmallVector<int64_t> extents;
  SmallVector<StringAttr> symbols;
  for (const Extent &extent : shape) {
    extents.push_back(extent.symbol.empty() ? extent.size : ShapedType::kDynamic);
    if (!extent.symbol.empty())
      symbols.push_back(StringAttr::get(element.getContext(), extent.symbol));
  }
  Attribute dims;
  if (!symbols.empty())
    dims = DimsAttr::get(element.getContext(), symbols);
  return RankedTensorType::get(extents, element, dims);
}

StringRef symbolOf(RankedTensorType type, int64_t axis) {
  if (!type.isDynamicDim(axis))
    return {};
  auto before = llvm::count_if(type.getShape().take_front(axis), ShapedType::isDynamic);
  return cast<DimsAttr>(type.getEncoding()).getSymbols()[before].getValue();
}

bool sameExtent(RankedTensorType a, int64_t axisA, RankedTensorType b, int64_t axisB) {
  return a.getDimSize(axisA) == b.getDimSize(axisB) && symbolOf(a, axisA) == symbolOf(b, axisB);
}

PoolShape poolShapeOf(RankedTensorType values) {
  return {values.getDimSize(1), values.getDimSize(2), values.getDimSize(3)};
}

void loadDialects(MLIRContext &context) {
  context.loadDialect<GraphDialect, tile::TileDialect, arith::ArithDialect, math::MathDialect,
                      func::FuncDialect>();
}

} // namespace sinter::graph

#define GET_OP_CLASSES
#include "graph/graph_ops.cpp.inc"
