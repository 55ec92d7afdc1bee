// Runs textual graphs through the reference evaluator.
#pragma once

#include "graph/evaluate/evaluate.h"
#include "mlir/Parser/Parser.h"

#include <numeric>

namespace sinter::graph {

// A tensor of given elements; counts 0, 1, 2, ... where `values` is empty.
inline Tensor tensor(mlir::Type element, Shape shape, std::vector<double> values = {}) {
  Tensor tensor{element, shape, std::move(values)};
  if (tensor.values.empty()) {
    tensor.values.resize(
        std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>()));
    std::iota(tensor.values.begin(), tensor.values.end(), 0);
  }
  return tensor;
}

// Loading dialects takes longer than most graphs.
inline mlir::MLIRContext &sharedContext() {
  static mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadDialects(context);
  return context;
}

// A graph and what it reads.
class Evaluation {
public:
  explicit Evaluation(const std::string &body) : context_(sharedContext()) {
    module_ = mlir::parseSourceString<mlir::ModuleOp>(
        "func.func @step() {\n" + body + "\nreturn\n}", &context_);
    edges_.weight = [this](const std::string &name, mlir::RankedTensorType) -> Result<Tensor> {
      return weights_.at(name);
    };
  }
  bool parsed() const { return static_cast<bool>(module_); }
  mlir::ModuleOp module() { return *module_; }
  mlir::func::FuncOp function() { return *module_->getOps<mlir::func::FuncOp>().begin(); }
  mlir::MLIRContext &context() { return context_; }
  const Edges &edges() const { return edges_; }

  Evaluation &input(const std::string &name, Shape shape, std::vector<double> values = {}) {
    edges_.inputs[name] =
        tensor(mlir::Float64Type::get(&context_), std::move(shape), std::move(values));
    return *this;
  }
  Evaluation &weight(const std::string &name, Shape shape, std::vector<double> values = {}) {
    weights_[name] = tensor(mlir::Float64Type::get(&context_), std::move(shape), std::move(values));
    return *this;
  }
  Evaluation &state(const std::string &name, Shape shape, std::vector<double> values) {
    edges_.states[name] =
        tensor(mlir::Float64Type::get(&context_), std::move(shape), std::move(values));
    return *this;
  }
  Evaluation &symbol(const std::string &name, int64_t value) {
    edges_.symbols[name] = value;
    return *this;
  }

  Result<Outcome> run(Precision precision = Precision::F64) { return run(function(), precision); }
  Result<Outcome> run(mlir::func::FuncOp function, Precision precision) {
    return evaluate(function, edges_, precision);
  }
  // The elements of output "y".
  std::vector<double> result(Precision precision = Precision::F64) {
    Result<Outcome> outcome = run(precision);
    return outcome ? outcome->outputs.at("y").values : std::vector<double>();
  }
  std::string refusal() {
    Result<Outcome> outcome = run();
    return outcome ? "" : outcome.error().message;
  }

private:
  mlir::MLIRContext &context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  Edges edges_;
  NamedTensors weights_;
};

} // namespace sinter::graph
