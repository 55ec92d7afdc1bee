// Tensors of the evaluator as the bytes that kernels and model files hold.
#pragma once

#include "graph/evaluate/tensor.h"

#include <cstdint>
#include <span>

namespace sinter::graph {

/// Elements of `element` without gaps, in row-major order: a byte each of i1, whole blocks along
/// the last axis of a block format. Rounded as roundTo() does; errors are its errors.
Result<std::vector<uint8_t>> encodeTensor(const Tensor &tensor, mlir::Type element);

/// The inverse; blocks are dequantized. InvalidArgument: `bytes` are not as many as `shape` has.
/// Unsupported: elements of a format that no file holds.
Result<Tensor> decodeTensor(mlir::Type element, Shape shape, std::span<const uint8_t> bytes);

} // namespace sinter::graph
