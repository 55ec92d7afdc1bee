// The symbols that a module declares.
#include "graph/fuse/launch.h"
#include "graph/graph.h"
#include "graph/ir/extent.h"
#include "tile/mlir_pch.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace sinter::graph {

static constexpr StringLiteral kSymbolsName = "graph.symbols";

LogicalResult SymbolAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr name,
                                 int64_t min, int64_t max, SymbolRole) {
  if (name.empty())
    return emitError() << "a symbol has no name";
  if (min > max)
    return emitError() << "symbol '" << name.getValue() << "' has minimum " << min
                       << " above its maximum " << max;
  return success();
}

void declareSymbols(ModuleOp module, ArrayRef<SymbolAttr> symbols) {
  SmallVector<Attribute> attributes(symbols.begin(), symbols.end());
  module->setAttr(kSymbolsName, ArrayAttr::get(module.getContext(), attributes));
}

SmallVector<SymbolAttr> symbolsOf(ModuleOp module) {
  SmallVector<SymbolAttr> symbols;
  if (auto list = module->getAttrOfType<ArrayAttr>(kSymbolsName))
    for (Attribute symbol : list)
      symbols.push_back(cast<SymbolAttr>(symbol));
  return symbols;
}

// Those of all formulas of a tensor's extents.
static std::vector<std::string> symbolsOf(RankedTensorType tensor) {
  std::vector<std::string> all;
  for (int64_t axis = 0; tensor && isGraphTensor(tensor) && axis < tensor.getRank(); ++axis) {
    const SymbolicExtent extent = SymbolicExtent::of(tensor, axis);
    for (const auto &[symbols, coefficient] : extent.terms())
      all.insert(all.end(), symbols.begin(), symbols.end());
  }
  return all;
}

SymbolUse undeclaredSymbol(Operation *root, ArrayRef<SymbolAttr> declared) {
  llvm::StringSet<> known;
  for (SymbolAttr symbol : declared)
    known.insert(symbol.getName().getValue());
  SymbolUse use;
  root->walk([&](Operation *op) {
    for (Type type : op->getResultTypes()) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      for (const std::string &symbol : symbolsOf(tensor))
        if (!known.contains(symbol)) {
          use = {op, StringAttr::get(op->getContext(), symbol).getValue()};
          return WalkResult::interrupt();
        }
    }
    return WalkResult::advance();
  });
  return use;
}

static LogicalResult verifyList(Operation *op, ArrayAttr list) {
  SmallVector<SymbolAttr> symbols;
  for (Attribute attribute : list) {
    auto symbol = dyn_cast<SymbolAttr>(attribute);
    if (!symbol)
      return op->emitError() << "declares symbol " << attribute << ", expected a #graph.symbol";
    for (SymbolAttr other : symbols) {
      if (other.getName() == symbol.getName())
        return op->emitError() << "declares symbol " << symbol.getName() << " twice";
      if (other.getRole() == symbol.getRole() && symbol.getRole() != SymbolRole::Extent)
        return op->emitError() << "gives symbols " << other.getName() << " and " << symbol.getName()
                               << " the role " << stringifySymbolRole(symbol.getRole());
    }
    symbols.push_back(symbol);
  }
  if (SymbolUse use = undeclaredSymbol(op, symbols); use.op)
    return use.op->emitError() << "uses symbol '" << use.symbol
                               << "', which the module does not declare";
  return success();
}

static LogicalResult verifyPhase(Operation *op, Attribute phase) {
  auto name = dyn_cast<StringAttr>(phase);
  if (!isa<func::FuncOp>(op) || !name ||
      (name.getValue() != kPrefillPhase && name.getValue() != kDecodePhase))
    return op->emitError() << "has phase " << phase << ", expected prefill or decode on a function";
  return success();
}

LogicalResult GraphDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == kPhaseName)
    return verifyPhase(op, attribute.getValue());
  if (attribute.getName() != kSymbolsName)
    return op->emitError() << "has attribute '" << attribute.getName().getValue() << "', expected '"
                           << kSymbolsName << "' or '" << kPhaseName << "'";
  if (!isa<ModuleOp>(op))
    return op->emitError() << "declares symbols, expected a module to do so";
  auto list = dyn_cast<ArrayAttr>(attribute.getValue());
  return list ? verifyList(op, list)
              : op->emitError() << "declares symbols as " << attribute.getValue()
                                << ", expected a list of #graph.symbol";
}

} // namespace sinter::graph
