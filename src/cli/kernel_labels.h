// Short labels for what a plan launches: enough to tell one line of a table from the next.
#pragma once

#include "plan/plan.h"

#include <span>
#include <string>
#include <vector>

namespace sinter::cli {

// "gemm n=64 +map" of each kernel: its source, those parameters that differ among the given kernels
// of that source, and what fills its slots.
std::vector<std::string> kernelLabels(std::span<const plan::Kernel *const> kernels);

// A weight's tensors in its layer: "attn_q+k+v".
std::string tensorsText(const plan::Buffer &weight);

// What a launch does in its layer, from the weights that it reads, "attn_q+k+v", with the same text
// in every layer; where it reads none, its label.
std::string roleOf(const plan::Plan &plan, const plan::Launch &launch);

} // namespace sinter::cli
