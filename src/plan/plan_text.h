// Parts of a plan as text for people; nothing reads it back.
#pragma once

#include "plan/plan.h"

#include <span>

namespace sinter::plan {

// "36", "?" of a Dynamic one, "true", "q4_1".
std::string valueText(const KernelParameter &parameter);

// "gemm(a=q8a, n=64) prologue norm, epilogue map ...": equal text, equal kernels of a source.
std::string kernelText(std::string_view source, std::span<const KernelParameter> parameters,
                       std::span<const KernelSlot> slots);
std::string kernelText(const Kernel &kernel);

// "T: 1 to 512"; of a computed symbol also where it is read. The symbol's place is in range.
std::string symbolText(const Plan &plan, const Symbol &symbol);

// All symbols, then all kernels, one a line under headings.
std::string listing(const Plan &plan);

} // namespace sinter::plan
