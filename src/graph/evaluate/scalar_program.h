// A map's or a fold's region as steps over stretches of elements.
#pragma once

#include "graph/evaluate/tensor.h"
#include "mlir/IR/Operation.h"

namespace sinter::graph {

/// Runs a verified region of scalar operations (graph/ir/scalar_ops.h). f32 results are computed in
/// f64 and rounded once where the precision is F32.
class ScalarProgram {
public:
  ScalarProgram(mlir::Block &block, Precision precision, int64_t stretch);

  /// The elements of argument `i`, to be written before run().
  double *argument(size_t i) { return slots_[i].data(); }
  /// The elements that are yielded first; they live until the next call.
  llvm::ArrayRef<double> run(int64_t count);
  /// Those that are yielded as number `i`.
  const double *result(size_t i) const { return slots_[results_[i]].data(); }

private:
  using Function = double (*)(mlir::Operation *op, const double *operands);
  struct Step {
    mlir::Operation *op;
    Function function;
    llvm::SmallVector<size_t, 3> operands;
    mlir::Type element;
  };
  friend struct ScalarFunctions;

  Precision precision_;
  std::vector<std::vector<double>> slots_; // arguments, then one a step
  size_t arguments_ = 0;
  std::vector<Step> steps_;
  llvm::SmallVector<size_t, 2> results_;
};

/// Whether the evaluator computes the operation of that name; a test compares with scalarOps().
bool hasScalarFunction(llvm::StringRef name);

} // namespace sinter::graph
