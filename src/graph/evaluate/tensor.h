// Values of the evaluator: dense tensors of doubles that hold what their element type can.
#pragma once

#include "base/status.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace sinter::graph {

/// In what f32 elements are kept and computed. f16, bf16, integers and block formats are what a
/// graph asks for, so they are rounded to in both.
enum class Precision { F32, F64 };

using Shape = llvm::SmallVector<int64_t>;

/// Elements in row-major order. Integers are their numbers, i1 is 0 or 1, block formats are their
/// dequantized values.
struct Tensor {
  mlir::Type element;
  Shape shape;
  std::vector<double> values;

  int64_t count() const { return static_cast<int64_t>(values.size()); }
};

/// The largest tensor that the evaluator holds.
inline constexpr int64_t kMostElements = int64_t(1) << 31;

/// A tensor of zeros. Exhausted where it has more than kMostElements elements.
Result<Tensor> makeTensor(mlir::Type element, Shape shape);

/// Rounds each value once to its element type; i32 wraps, i1 keeps its last bit. Blocks are
/// quantized along the last axis. InvalidArgument and Unsupported as of numeric's quantizers.
Result<void> roundTo(Tensor &tensor, Precision precision);

/// Elements between neighbours along each axis.
Shape stridesOf(llvm::ArrayRef<int64_t> shape);

/// Calls `visit` for each index of `shape` in row-major order, with the sum of index times stride
/// of each list of strides.
void forEachIndex(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<Shape> strides,
                  llvm::function_ref<void(const int64_t *offsets)> visit);

/// The same offsets of one list of strides as a vector.
std::vector<int64_t> offsetsOf(llvm::ArrayRef<int64_t> shape, const Shape &strides);

} // namespace sinter::graph
