// Tensors as NumPy's .npy files (format versions 1 to 3).
#pragma once

#include "graph/evaluate/tensor.h"

#include <cstdint>
#include <span>

namespace sinter::graph {

/// The tensor of a file, as f64 elements of `context`. Bytes are hostile. Corrupt or Truncated
/// where they are no .npy file; Unsupported where elements are other than little-endian f2, f4, f8,
/// i1 to i8, u1 to u4 or b1, or lie in Fortran order.
Result<Tensor> decodeNpy(mlir::MLIRContext &context, std::span<const uint8_t> bytes);

/// f4 for floats and blocks, f8 for f32 in Precision::F64, i4 for i32, b1 for i1.
std::vector<uint8_t> encodeNpy(const Tensor &tensor, Precision precision);

} // namespace sinter::graph
