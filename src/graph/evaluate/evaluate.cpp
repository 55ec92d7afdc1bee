// Runs a function operation by operation.
#include "tile/mlir_pch.h"

#include "graph/evaluate/call.h"
#include "graph/evaluate/evaluate.h"
#include "graph/ir/symbols.h"

using namespace mlir;

namespace sinter::graph {

namespace {

class Evaluator {
public:
  Evaluator(const Edges &edges, Precision precision) : edges_(edges), precision_(precision) {}

  Result<Outcome> run(func::FuncOp function);

private:
  Result<void> bindSymbols(func::FuncOp function);
  Result<void> step(Operation &op);
  Result<void> edge(Operation &op, StringRef name, const NamedTensors &given);
  Result<void> weight(WeightOp op);
  Result<void> compute(Operation &op);
  Result<void> launch(LaunchOp op);
  Result<void> stepAt(Operation &op);
  Result<void> dispatch(Operation &op, Call &call);
  Result<Shape> shapeOf(Value value) const {
    return binding_.shapeOf(cast<RankedTensorType>(value.getType()));
  }
  void store(Value value, Tensor tensor) {
    values_[value] = std::make_shared<Tensor>(std::move(tensor));
  }
  void release(Operation &op);

  const Edges &edges_;
  Precision precision_;
  Binding binding_;
  llvm::DenseMap<Value, std::shared_ptr<Tensor>> values_;
  llvm::DenseMap<Value, std::string> states_; // the name of the state that a value is a version of
  std::map<std::string, std::shared_ptr<Tensor>> latest_; // version of each state
  llvm::DenseMap<Value, int64_t> uses_;                   // that are still to come
  Outcome outcome_;
};

} // namespace

// The type that a named edge has, and the tensor given for it.
static Result<const Tensor *> given(StringRef kind, StringRef name, const NamedTensors &tensors) {
  auto found = tensors.find(name.str());
  if (found == tensors.end())
    return fail(Code::InvalidArgument, kind.str() + " '" + name.str() + "' is missing");
  return &found->second;
}

Result<void> Evaluator::bindSymbols(func::FuncOp function) {
  for (const auto &[symbol, value] : edges_.symbols)
    binding_.set(symbol, value);
  for (Operation &op : function.getBody().front()) {
    if (auto input = dyn_cast<InputOp>(op)) {
      SINTER_ASSIGN(const Tensor *tensor, given("input", input.getName(), edges_.inputs));
      SINTER_TRY(binding_.bind(input.getName(), input.getResult().getType(), tensor->shape));
    } else if (auto state = dyn_cast<StateOp>(op)) {
      if (auto found = edges_.states.find(state.getName().str()); found != edges_.states.end())
        SINTER_TRY(
            binding_.bind(state.getName(), state.getResult().getType(), found->second.shape));
    }
  }
  return {};
}

// An input or state: rounded to the element type that the graph gives it.
Result<void> Evaluator::edge(Operation &op, StringRef name, const NamedTensors &tensors) {
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  auto found = tensors.find(name.str());
  if (found == tensors.end()) {
    SINTER_ASSIGN(Shape shape, binding_.shapeOf(type));
    SINTER_ASSIGN(Tensor zeros, makeTensor(type.getElementType(), std::move(shape)));
    store(op.getResult(0), std::move(zeros));
    return {};
  }
  SINTER_TRY(binding_.check(name, type, found->second.shape));
  Tensor tensor = found->second;
  if (tensor.element != type.getElementType()) {
    tensor.element = type.getElementType();
    SINTER_TRY(roundTo(tensor, Precision::F32));
  }
  store(op.getResult(0), std::move(tensor));
  return {};
}

// Rows of all named tensors, one after another.
Result<void> Evaluator::weight(WeightOp op) {
  RankedTensorType type = op.getResult().getType();
  SINTER_ASSIGN(Tensor joined, makeTensor(type.getElementType(), Shape(type.getShape())));
  joined.values.clear();
  for (StringRef name : op.getTensors().getAsValueRange<StringAttr>()) {
    if (!edges_.weight)
      return fail(Code::InvalidArgument, "weight '" + name.str() + "' is missing");
    SINTER_ASSIGN(const Tensor part, edges_.weight(name.str(), type));
    joined.values.insert(joined.values.end(), part.values.begin(), part.values.end());
  }
  if (joined.count() != type.getNumElements())
    return fail(Code::InvalidArgument, "weights of " + std::to_string(joined.count()) +
                                           " elements were found, expected " +
                                           std::to_string(type.getNumElements()));
  SINTER_TRY(roundTo(joined, Precision::F32));
  store(op.getResult(), std::move(joined));
  return {};
}

Result<void> Evaluator::dispatch(Operation &op, Call &call) {
  using Done = Result<void>;
  return llvm::TypeSwitch<Operation *, Done>(&op)
      .Case([&](ConstantOp o) { return evaluateConstant(o, call), Done(); })
      .Case([&](IotaOp o) { return evaluateIota(o, call), Done(); })
      .Case([&](GatherOp o) { return evaluateGather(o, call), Done(); })
      .Case([&](NormOp o) { return evaluateNorm(o, call), Done(); })
      .Case([&](SquareSumsOp) { return evaluateSquareSums(call), Done(); })
      .Case([&](DotGeneralOp o) { return evaluateDot(o, call), Done(); })
      .Case([&](MapOp o) { return evaluateMap(o, call), Done(); })
      .Case([&](ReduceOp o) { return evaluateReduce(o, call), Done(); })
      .Case([&](FoldOp o) { return evaluateFold(o, call), Done(); })
      .Case([&](TransposeOp o) { return evaluateTranspose(o, call), Done(); })
      .Case([&](SliceOp o) { return evaluateSlice(o, call); })
      .Case([&](ConcatOp o) { return evaluateConcat(o, call), Done(); })
      .Case([&](PadOp o) { return evaluatePad(o, call), Done(); })
      .Case([&](RopeTableOp o) { return evaluateRopeTable(o, call), Done(); })
      .Case([&](RopeOp o) { return evaluateRope(o, call), Done(); })
      .Case([&](KvAppendOp o) { return evaluateKvAppend(o, call); })
      .Case([&](PagedAttentionOp o) { return evaluateAttention(o, call); })
      .Case([&](TopKOp o) { return evaluateTopK(o, call), Done(); })
      .Case([&](RouteOp o) { return evaluateRoute(o, call), Done(); })
      .Case([&](GroupRowsOp o) { return evaluateGroupRows(o, call), Done(); })
      .Case([&](SpreadRowsOp o) { return evaluateSpreadRows(o, call), Done(); })
      .Case([&](GroupedDotOp o) { return evaluateGroupedDot(o, call), Done(); })
      .Case([&](CombineRowsOp o) { return evaluateCombineRows(o, call), Done(); })
      .Case([&](CausalConvOp o) { return evaluateCausalConv(o, call); })
      .Case([&](DeltaRuleOp o) { return evaluateDeltaRule(o, call); })
      .Case<QuantizeOp, DequantizeOp, ReshapeOp>(
          [&](Operation *) { // the same elements, rounded or not
            call.result().values = call.operand(0).values;
            return Done();
          })
      .Default([&](Operation *) -> Done {
        return fail(Code::Unsupported, "operation '" + op.getName().getStringRef().str() +
                                           "' is none that the evaluator knows");
      });
}

// Whether results hold elements that are rounded to their type already.
static bool keepsElements(Operation &op) {
  return isa<KvAppendOp, ReshapeOp, SliceOp, TransposeOp, ConcatOp, SpreadRowsOp>(op);
}

Result<void> Evaluator::compute(Operation &op) {
  Call call{precision_, {}, {}};
  for (Value operand : op.getOperands())
    call.operands.push_back(values_.at(operand).get());
  for (Value result : op.getResults()) {
    SINTER_ASSIGN(Shape shape, shapeOf(result));
    SINTER_ASSIGN(
        Tensor tensor,
        makeTensor(cast<RankedTensorType>(result.getType()).getElementType(), std::move(shape)));
    call.results.push_back(std::move(tensor));
  }
  SINTER_TRY(dispatch(op, call));
  for (auto [result, tensor] : llvm::zip_equal(op.getResults(), call.results)) {
    if (!keepsElements(op))
      SINTER_TRY(roundTo(tensor, precision_));
    store(result, std::move(tensor));
  }
  if (Value before = stateBefore(&op))
    if (const std::string name = states_.lookup(before); !name.empty()) {
      states_[stateAfter(&op)] = name;
      latest_[name] = values_.at(stateAfter(&op));
    }
  return {};
}

// The body's operations in order, on the operands as its arguments.
Result<void> Evaluator::launch(LaunchOp op) {
  mlir::Block &body = op.getBody().front();
  auto bind = [&](ValueRange from, ValueRange to) {
    for (auto [before, after] : llvm::zip_equal(from, to)) {
      auto tensor = values_.at(before); // a copy: the table moves as it grows
      values_[after] = std::move(tensor);
      if (const std::string name = states_.lookup(before); !name.empty())
        states_[after] = name;
    }
  };
  bind(op.getValues(), body.getArguments());
  for (Operation &inner : body.without_terminator())
    SINTER_TRY(stepAt(inner));
  bind(body.getTerminator()->getOperands(), op.getResults());
  for (BlockArgument argument : body.getArguments())
    values_.erase(argument);
  for (Operation &inner : body)
    for (Value result : inner.getResults())
      values_.erase(result);
  return {};
}

Result<void> Evaluator::step(Operation &op) {
  if (auto input = dyn_cast<InputOp>(op))
    return edge(op, input.getName(), edges_.inputs);
  if (auto state = dyn_cast<StateOp>(op)) {
    SINTER_TRY(edge(op, state.getName(), edges_.states));
    states_[state.getResult()] = state.getName().str();
    latest_[state.getName().str()] = values_.at(state.getResult());
    return {};
  }
  if (auto body = dyn_cast<LaunchOp>(op))
    return launch(body);
  if (auto named = dyn_cast<WeightOp>(op))
    return weight(named);
  if (auto output = dyn_cast<OutputOp>(op)) {
    if (!outcome_.outputs.emplace(output.getName().str(), *values_.at(output.getValue())).second)
      return fail(Code::InvalidArgument, "output '" + output.getName().str() + "' is made twice");
    return {};
  }
  return isa<func::ReturnOp>(op) ? Result<void>() : compute(op);
}

// Frees what no later operation reads.
void Evaluator::release(Operation &op) {
  for (Value operand : op.getOperands())
    if (--uses_[operand] == 0)
      values_.erase(operand);
}

Result<void> Evaluator::stepAt(Operation &op) {
  if (Result<void> done = step(op); !done)
    return isa<LaunchOp>(op) // its error names a place in the body
               ? done
               : fail(done.error().code, placeOf(op.getLoc()) + ": " + done.error().message);
  release(op);
  return {};
}

// A function of graph operations alone, without arguments.
static Result<void> checkForm(func::FuncOp function) {
  const std::string name = "function '" + function.getSymName().str() + "'";
  if (function.isExternal() || !llvm::hasSingleElement(function.getBody()))
    return fail(Code::InvalidArgument, name + " has no single block of operations");
  if (function.getNumArguments() || function.getNumResults())
    return fail(Code::InvalidArgument,
                name + " has arguments or results, expected graph.input and graph.output instead");
  for (Operation &op : function.getBody().front())
    if (!isa_and_nonnull<GraphDialect>(op.getDialect()) && !isa<func::ReturnOp>(op))
      return fail(Code::InvalidArgument, placeOf(op.getLoc()) + ": operation '" +
                                             op.getName().getStringRef().str() +
                                             "' is none of the graph dialect");
  return {};
}

Result<Outcome> Evaluator::run(func::FuncOp function) {
  SINTER_TRY(checkForm(function));
  SINTER_TRY(bindSymbols(function));
  function.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      ++uses_[operand];
  });
  for (Operation &op : function.getBody().front())
    SINTER_TRY(stepAt(op));
  values_.clear();
  for (auto &[name, tensor] : latest_)
    outcome_.states.insert_or_assign(name, std::move(*tensor));
  return std::move(outcome_);
}

Result<Outcome> evaluate(func::FuncOp function, const Edges &edges, Precision precision) {
  return Evaluator(edges, precision).run(function);
}

} // namespace sinter::graph
