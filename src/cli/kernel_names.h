// Short names for what a plan launches: enough to tell one line of a table from the next.
#pragma once

#include "plan/plan.h"

#include <span>
#include <string>
#include <vector>

namespace sinter::cli {

// For kernels with the names `names`, each "gemm(a=f32, n=64, ...)" and what its slots hold after
// that: "gemm n=64 +epilogue", with those parameters alone that differ among the given kernels of
// that source. A name of another form stays as it is.
std::vector<std::string> shortKernelNames(std::span<const std::string> names);

// "block_m=36" of a kernel's name; a format's value is without "block<>" around it.
struct KernelParameter {
  std::string name, value;
  bool isBlock = false; // a block format
};
std::vector<KernelParameter> kernelParameters(const std::string &kernelName);

// A weight's tensors in its layer: "attn_q+k+v".
std::string tensorsText(const plan::Buffer &weight);

// What a launch does in its layer, from the weights that it reads, "attn_q+k+v", with the same text
// in every layer; where it reads none, its label.
std::string roleOf(const plan::Plan &plan, const plan::Launch &launch);

} // namespace sinter::cli
