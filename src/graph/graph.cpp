// Registration, symbolic extents and tensor types of the graph dialect.
#include "graph/graph.h"
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
    if (parser.parseKeywordOrString(&name))
      return failure();
    symbols.push_back(parser.getBuilder().getStringAttr(name));
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
  if (llvm::any_of(getSymbols(), [](StringAttr name) { return name.empty(); }))
    return emitError() << "tensor has an extent with an empty symbol";
  return success();
}

bool isGraphTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getRank() == 0)
    return false;
  Type element = tensor.getElementType();
  if (!element.isIntOrFloat() && !isa<tile::BlockType>(element))
    return false;
  if (llvm::any_of(tensor.getShape(),
                   [](int64_t extent) { return !ShapedType::isDynamic(extent) && extent <= 0; }))
    return false;
  return tensor.hasStaticShape() ? !tensor.getEncoding()
                                 : isa_and_nonnull<DimsAttr>(tensor.getEncoding());
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
