// The CPU libraries that generated products are measured against: oneDNN and OpenBLAS, f32.
#pragma once

#include "base/status.h"

#include <cstdint>
#include <memory>
#include <string>

namespace sinter::bench {

// One product out [M, N] = a [M, K] . b, row-major, on memory that outlives it. Every call
// computes the whole product.
class PeerGemm {
public:
  virtual ~PeerGemm() = default;
  virtual Result<void> run() = 0;
};

struct Gemm {
  int64_t m = 0, n = 0, k = 0;
  const float *a = nullptr;
  const float *b = nullptr; // [K, N]
  float *out = nullptr;
};

// How many threads both libraries use from now on.
void setPeerThreads(int threads);

// The processor family whose kernels OpenBLAS runs.
std::string openBlasKernels();

std::unique_ptr<PeerGemm> openBlasGemm(const Gemm &product);

// With b as it lies.
Result<std::unique_ptr<PeerGemm>> oneDnnGemm(const Gemm &product);

// With b reordered beforehand to the layout that oneDNN likes best (format `any`).
Result<std::unique_ptr<PeerGemm>> oneDnnPackedGemm(const Gemm &product);

} // namespace sinter::bench
