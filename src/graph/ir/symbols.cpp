// Binds symbols to extents and evaluates shapes.
#include "tile/mlir_pch.h"

#include "graph/ir/extent.h"
#include "graph/ir/symbols.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace sinter::graph {

// Calls `visit` for each symbol of a tensor's extents.
static void forEachSymbol(RankedTensorType type, function_ref<void(StringRef)> visit) {
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    const SymbolicExtent extent = SymbolicExtent::of(type, axis);
    for (const auto &[symbols, coefficient] : extent.terms())
      for (const std::string &symbol : symbols)
        visit(symbol);
  }
}

LogicalResult verifySymbols(func::FuncOp function) {
  llvm::StringSet<> bound;
  function.walk([&](Operation *op) {
    if (isa<InputOp, StateOp>(op)) {
      auto type = cast<RankedTensorType>(op->getResult(0).getType());
      for (int64_t axis = 0; axis < type.getRank(); ++axis)
        if (std::string symbol = SymbolicExtent::of(type, axis).symbol(); !symbol.empty())
          bound.insert(symbol);
    }
  });
  const WalkResult result = function.walk([&](Operation *op) {
    for (Type type : op->getResultTypes()) {
      std::string unbound;
      if (isGraphTensor(type))
        forEachSymbol(cast<RankedTensorType>(type), [&](StringRef symbol) {
          if (!bound.contains(symbol) && unbound.empty())
            unbound = symbol.str();
        });
      if (!unbound.empty()) {
        op->emitOpError() << "makes " << type << ", whose symbol '" << unbound
                          << "' cannot be bound, expected an input or state with an extent '"
                          << unbound << "' alone";
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

static std::string axisOf(StringRef name, int64_t axis) {
  return "axis " + std::to_string(axis) + " of '" + name.str() + "'";
}

Result<void> Binding::bind(StringRef name, RankedTensorType type, ArrayRef<int64_t> shape) {
  if (static_cast<int64_t>(shape.size()) != type.getRank())
    return fail(Code::InvalidArgument, "'" + name.str() + "' has " + std::to_string(shape.size()) +
                                           " dimensions, expected " +
                                           std::to_string(type.getRank()));
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    const std::string symbol = SymbolicExtent::of(type, axis).symbol();
    if (symbol.empty())
      continue;
    auto [found, isNew] = values_.try_emplace(symbol, shape[axis]);
    if (!isNew && found->second != shape[axis])
      return fail(Code::InvalidArgument, axisOf(name, axis) + " is " + std::to_string(shape[axis]) +
                                             ", expected '" + symbol + "', which is " +
                                             std::to_string(found->second));
  }
  return {};
}

std::optional<int64_t> Binding::valueOf(StringRef symbol) const {
  auto found = values_.find(symbol);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

Result<SmallVector<int64_t>> Binding::shapeOf(RankedTensorType type) const {
  SmallVector<int64_t> shape;
  int64_t bytes = sizeof(double);
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    SINTER_ASSIGN(
        const int64_t extent,
        SymbolicExtent::of(type, axis).evaluate([&](StringRef symbol) { return valueOf(symbol); }));
    // A zero extent hides no overflow of the others.
    if (llvm::MulOverflow(bytes, std::max<int64_t>(extent, 1), bytes))
      return fail(Code::InvalidArgument, "the bytes of a tensor overflow 63 bits at its axis " +
                                             std::to_string(axis) + " of extent " +
                                             std::to_string(extent));
    shape.push_back(extent);
  }
  return shape;
}

Result<void> Binding::check(StringRef name, RankedTensorType type, ArrayRef<int64_t> shape) const {
  SINTER_ASSIGN(const SmallVector<int64_t> expected, shapeOf(type));
  for (size_t axis = 0; axis < expected.size(); ++axis)
    if (shape[axis] != expected[axis])
      return fail(Code::InvalidArgument, axisOf(name, static_cast<int64_t>(axis)) + " is " +
                                             std::to_string(shape[axis]) + ", expected " +
                                             std::to_string(expected[axis]));
  return {};
}

std::string placeOf(Location location) {
  if (auto place = dyn_cast<FileLineColLoc>(location))
    return place.getFilename().str() + ":" + std::to_string(place.getLine()) + ":" +
           std::to_string(place.getColumn());
  auto name = dyn_cast<NameLoc>(location);
  return name ? name.getName().str() : "the graph";
}

} // namespace sinter::graph
