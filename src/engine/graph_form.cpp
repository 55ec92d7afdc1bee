// Forms of operations, before anything is lowered.
#include "tile/mlir_pch.h"

#include "engine/elements.h"
#include "engine/graph_form.h"
#include "graph/fuse/launch.h"
#include "numeric/formats/dot_packing.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace sinter::engine {

static std::string textOf(auto printed) {
  std::string text;
  llvm::raw_string_ostream(text) << printed;
  return text;
}

// The KV cache's elements, and heads of whole blocks.
static bool isCache(graph::PagedAttentionOp op) {
  RankedTensorType values = op.getValues().getType();
  return graph::canStore(values.getElementType(), graph::poolShapeOf(values).dim) &&
         graph::canStore(values.getElementType(), op.keyHeadDim());
}

// Kernels quantize to activations and 16-bit floats.
static bool isOfActivations(graph::QuantizeOp op) {
  Type element = op.getResult().getType().getElementType();
  return op.getValue().getType().getRank() == 2 &&
         (element.isF16() || element.isBF16() || tile::activationFormatOf(element));
}

// Weights in a format of files; blocks of activations with sums as fine as these ask for.
static bool isOfFormats(Type a, Type b) {
  if (tile::activationFormatOf(b))
    return false;
  if (!tile::activationFormatOf(a))
    return true;
  const ActivationFormat *rows = tile::activationFormatOf(a);
  const BlockFormat *weights = tile::blockFormatOf(b);
  return rows && weights &&
         rows->partLength <= std::min<uint32_t>(dotGroupLength(*weights), kActivationLength);
}

// Whether there are kernels for an operation that generic kernels do not do.
static bool hasKernel(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([](graph::QuantizeOp o) { return isOfActivations(o); })
      .Case<graph::DotGeneralOp, graph::GroupedDotOp>([](auto o) {
        Type a = o.getA().getType().getElementType();
        const bool byExperts = isa<graph::GroupedDotOp>(o);
        return isOfFormats(a, o.getB().getType().getElementType()) &&
               !(byExperts && tile::blockFormatOf(a));
      })
      .Case([](graph::PagedAttentionOp o) { return isCache(o); })
      .Default([](Operation *) { return true; });
}

// Bytes of static extents fit in 62 bits, and rows hold whole blocks.
static bool hasLayout(RankedTensorType type) {
  int64_t elements = 1;
  for (int64_t extent : type.getShape()) {
    if (!ShapedType::isDynamic(extent) && (extent < 1 || extent > INT32_MAX))
      return false;
    if (!ShapedType::isDynamic(extent) && llvm::MulOverflow(elements, extent, elements))
      return false;
  }
  constexpr int64_t kMostElements = int64_t(1) << 59;
  if (elements > kMostElements)
    return false;
  Type element = type.getElementType();
  if (!isa<tile::BlockType>(element))
    return true;
  return (tile::blockFormatOf(element) || tile::activationFormatOf(element)) &&
         !type.isDynamicDim(type.getRank() - 1) &&
         type.getShape().back() % elementBytes(element).length == 0;
}

static Result<void> checkOperation(Operation *op) {
  const std::string name = "operation '" + op->getName().getStringRef().str() + "'";
  for (Type type : op->getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && !hasLayout(tensor))
      return fail(Code::Unsupported,
                  name + " makes " + textOf(type) +
                      ", which has no layout: expected whole blocks and positive extents");
  if (!hasKernel(op))
    return fail(Code::Unsupported, name + " has a form that has no kernel");
  return {};
}

// Inputs, states and weights share memory by name.
static Result<void> checkEdge(Operation *op, llvm::StringMap<Type> &types) {
  std::string name;
  if (auto input = dyn_cast<graph::InputOp>(op))
    name = "input '" + input.getName().str() + "'";
  else if (auto state = dyn_cast<graph::StateOp>(op))
    name = "state '" + state.getName().str() + "'";
  else if (auto weight = dyn_cast<graph::WeightOp>(op))
    name = "weight " + textOf(weight.getTensors());
  else
    return {};
  Type type = op->getResult(0).getType();
  auto [found, isNew] = types.try_emplace(name, type);
  if (!isNew && found->second != type)
    return fail(Code::Unsupported, name + " is " + textOf(found->second) + " and " + textOf(type) +
                                       ", expected one type");
  return {};
}

// A pool is memory that stays: a state, or what was appended to one.
static Result<void> checkState(Operation *op) {
  Value state = graph::outerValue(graph::stateBefore(op));
  Operation *maker = state.getDefiningOp();
  if (maker && (isa<graph::StateOp, graph::LaunchOp>(maker) || graph::stateBefore(maker)))
    return {};
  return fail(Code::Unsupported, "'" + op->getName().getStringRef().str() + "' " +
                                     (isa<graph::KvAppendOp>(op) ? "appends to" : "continues") +
                                     " what is no state");
}

Result<void> checkForm(func::FuncOp function) {
  const std::string name = "function '" + function.getSymName().str() + "'";
  if (function.isExternal() || !llvm::hasSingleElement(function.getBody()))
    return fail(Code::Unsupported, name + " has no single block of operations");
  if (function.getNumArguments() || function.getNumResults())
    return fail(Code::Unsupported, name + " has arguments or results, expected graph.input and "
                                          "graph.output instead");
  Result<void> checked;
  llvm::StringMap<Type> types;
  function.walk([&](Operation *op) {
    if (!isa<graph::GraphDialect>(op->getDialect()))
      return WalkResult::advance();
    checked = checkOperation(op);
    if (checked)
      checked = checkEdge(op, types);
    if (checked && graph::stateBefore(op))
      checked = checkState(op);
    return checked ? WalkResult::advance() : WalkResult::interrupt();
  });
  return checked;
}

} // namespace sinter::engine
