// Random matrices in the formats that kernels read, and what a product of two must be.
#pragma once

#include "hal/hal.h"
#include "tile/mlir_pch.h"

#include <string>
#include <vector>

namespace sinter::bench {

// Row-major; `values` is exactly what `bytes` decodes to.
struct Matrix {
  std::string format; // "f32", "f16", "q8a" or a block format of GGUF in lower case
  int64_t rows = 0, columns = 0;
  std::vector<float> values;
  std::vector<uint8_t> bytes;
};

// Normal values, rounded to `format`. Unsupported: a format that nothing here rounds to;
// InvalidArgument: rows that are no whole blocks.
Result<Matrix> randomMatrix(int64_t rows, int64_t columns, const std::string &format,
                            uint64_t seed);

// The same values as [columns, rows]; f32 only.
Matrix transposed(const Matrix &matrix);

// The matrix with its rows side by side, by the engine's packing recipe and the runtime's packer.
Result<std::vector<uint8_t>> interleaved(const Matrix &matrix, int64_t rows, hal::Device &device);

// Compares sampled entries of `out` [a.rows, n] with the f64 product of a and b ([N, K], repeated
// along N where n is larger). Fails with the worst entry where one lies outside of the bound of f32
// accumulation over K.
Result<void> checkGemm(const Matrix &a, const Matrix &b, int64_t n, const float *out,
                       const std::string &who);

} // namespace sinter::bench
