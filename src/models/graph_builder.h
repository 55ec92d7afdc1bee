// Operations on rows of tokens, and the weights that they read, as builders of models want them.
#pragma once

#include "graph/graph.h"
#include "mlir/IR/Builders.h"
#include "models/decoder_family.h"
#include "models/model_source.h"

#include <map>

namespace sinter::models {

// Elementwise work within a map.
class ScalarBuilder {
public:
  ScalarBuilder(mlir::OpBuilder &b, mlir::Location loc) : b_(b), loc_(loc) {}
  mlir::Value number(float value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value neg(mlir::Value a);
  mlir::Value exp(mlir::Value a);
  mlir::Value log(mlir::Value a);
  mlir::Value floor(mlir::Value a);
  mlir::Value softplus(mlir::Value a);
  mlir::Value tanh(mlir::Value a);
  mlir::Value sqrt(mlir::Value a);
  mlir::Value least(mlir::Value a, mlir::Value b);
  mlir::Value most(mlir::Value a, mlir::Value b);
  // Cut to [-limit, limit]; a limit of 0 is none.
  mlir::Value within(mlir::Value a, float limit);
  mlir::Value fromInteger(mlir::Value a);
  // 1 / (1 + exp(-a)) and a times that.
  mlir::Value sigmoid(mlir::Value a);
  mlir::Value silu(mlir::Value a);
  // By tanh, as models that are trained with it want it.
  mlir::Value gelu(mlir::Value a);

private:
  mlir::OpBuilder &b_;
  mlir::Location loc_;
};

// The graph's element for a file's format; null where it has none.
mlir::Type elementOf(mlir::MLIRContext *context, const BlockFormat &format);
std::string shapeText(llvm::ArrayRef<int64_t> shape);

class GraphBuilder {
public:
  using Body = llvm::function_ref<mlir::Value(ScalarBuilder &, mlir::ValueRange)>;

  GraphBuilder(mlir::MLIRContext &context, const ModelSource &source)
      : b(&context), loc(mlir::UnknownLoc::get(&context)), source_(source) {}

  const ModelSource &source() const { return source_; }

  // A tensor of the file. NotFound, Corrupt, Unsupported: it is missing, or has another shape or
  // type than vectors (f32) and matrices (f32, f16, bf16, blocks) have; the message names it.
  Result<mlir::Value> weight(const std::string &name, std::vector<int64_t> shape);
  // The matrices [count, rows, columns] of one tensor as one, [count * rows, columns].
  Result<mlir::Value> matrices(const std::string &name, int64_t count, int64_t rows,
                               int64_t columns);
  // Null where the file has none. All layers have such a tensor or none has it: Corrupt otherwise.
  Result<mlir::Value> optionalWeight(const std::string &name, std::vector<int64_t> shape);
  bool has(const std::string &name) const { return source_.tensor(name).has_value(); }
  // A tensor that the step needs not, as something else stands for it.
  void leaveOut(const std::string &name) { leftOut_.insert(name); }
  // Unsupported: the file has a tensor that may change results and was not asked for.
  Result<void> checkAllUsed(const DecoderFamily &family, int64_t firstUnusedBlock) const;

  // [rows of `like`, columns] and [rows, heads, size], f32.
  mlir::RankedTensorType rowsLike(mlir::Value like, int64_t columns);
  mlir::Value asHeads(mlir::Value rows, int64_t heads, int64_t size);
  mlir::Value asRows(mlir::Value heads);
  mlir::Value columns(mlir::Value rows, int64_t first, int64_t count);
  mlir::Value rowsAt(mlir::Value rows, mlir::Value index);

  mlir::Value map(mlir::RankedTensorType type, llvm::ArrayRef<mlir::Value> operands, Body body);
  // In the shape of the first operand.
  mlir::Value map(llvm::ArrayRef<mlir::Value> operands, Body body);
  mlir::Value scaled(mlir::Value value, float factor);
  // a + addend * factor
  mlir::Value add(mlir::Value a, mlir::Value addend, float factor = 1);
  mlir::Value softCapped(mlir::Value value, float cap);
  mlir::Value clamped(mlir::Value value, float most);

  // Over the last axis; `weight` and `bias` may be null.
  mlir::Value norm(mlir::Value x, NormKind kind, mlir::Value weight, mlir::Value bias, float eps);
  // The same with `name`.weight, or `name` itself, and `name`.bias where there is one.
  Result<mlir::Value> norm(mlir::Value x, NormKind kind, const std::string &name, float eps);

  // x W^T of `name`.weight [rows, columns of x], then whatever there is of `name`.scale [1] and
  // `name`.bias [rows].
  Result<mlir::Value> linear(mlir::Value x, const std::string &name, int64_t rows,
                             const DecoderFamily &family, bool biasFirst = false);

  mlir::OpBuilder b;
  mlir::Location loc;

private:
  Result<mlir::Value> weightAs(const std::string &name, std::vector<int64_t> shape,
                               std::vector<int64_t> as);

  const ModelSource &source_;
  std::map<std::string, mlir::Value, std::less<>> weights_;      // by tensor: one value each
  std::map<std::string, std::pair<std::string, bool>> optional_; // by part: the first layer's
  std::set<std::string> leftOut_;
};

// Whether a family leaves out the tensor, as the reference implementation does.
bool isUnused(const DecoderFamily &family, std::string_view tensor);

} // namespace sinter::models
