// A product that Sinter compiled for this machine, bound to its operands.
#pragma once

#include "hal/kernel_case.h"
#include "kernels/gemm.h"

#include <map>
#include <memory>

namespace sinter::bench {

// Names of Gemm's fields to their values: block_m=32. InvalidArgument names what is unknown or out
// of range.
Result<void> applySettings(kernels::Gemm &gemm, const std::map<std::string, int64_t> &settings);

// "block_m=96 block_n=64 block_k=256".
std::string blockText(const kernels::Gemm &gemm);

class GeneratedGemm {
public:
  // Bytes of `a` [m, k] and `b` as the kernel reads them; `b` may be shorter than N rows and is
  // then repeated.
  static Result<GeneratedGemm> create(hal::Device &device, const kernels::Gemm &gemm, int64_t m,
                                      int64_t n, int64_t k, std::span<const uint8_t> a,
                                      std::span<const uint8_t> b);

  // Returns when the product is there.
  Result<void> run();
  // The last product, [m, n].
  Result<std::vector<float>> output();
  // Bytes of b.
  uint64_t weightBytes() const { return case_->views[1].bytes; }

private:
  GeneratedGemm(std::unique_ptr<hal::KernelCase> kernel, hal::BoundCase bound)
      : case_(std::move(kernel)), bound_(std::move(bound)) {}

  std::unique_ptr<hal::KernelCase> case_;
  hal::BoundCase bound_;
};

} // namespace sinter::bench
