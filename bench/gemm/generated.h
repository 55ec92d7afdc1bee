// A product that Sinter compiled for this machine, bound to its operands.
#pragma once

#include "compiler/kernel_launch.h"
#include "kernels/gemm.h"
#include "tile/front.h"

#include <map>

namespace sinter::bench {

// Names of Gemm's fields to their values: block_m=32. InvalidArgument names what is unknown or out
// of range.
Result<void> applySettings(kernels::Gemm &gemm, const std::map<std::string, int64_t> &settings);

// "block_m=96 block_n=64 block_k=256".
std::string blockText(const kernels::Gemm &gemm);

class GeneratedProduct {
public:
  // Bytes of `a` [m, k] and `b` as the kernel reads them; `b` may be shorter than N rows and is
  // then repeated.
  static Result<GeneratedProduct> create(hal::Device &device, const kernels::Gemm &gemm, int64_t m,
                                         int64_t n, int64_t k, std::span<const uint8_t> a,
                                         std::span<const uint8_t> b);

  Result<void> run() { return bound_.launch(); }
  // The last product, [m, n].
  Result<std::vector<float>> output();
  // Bytes of b.
  uint64_t weightBytes() const { return weightBytes_; }

private:
  GeneratedProduct(tile::KernelModule source, compiler::BoundKernel bound,
                   std::vector<compiler::KernelArgument> arguments, uint64_t weightBytes)
      : source_(std::move(source)), bound_(std::move(bound)), arguments_(std::move(arguments)),
        weightBytes_(weightBytes) {}

  tile::KernelModule source_; // owns the arguments' types
  compiler::BoundKernel bound_;
  std::vector<compiler::KernelArgument> arguments_;
  uint64_t weightBytes_;
};

} // namespace sinter::bench
