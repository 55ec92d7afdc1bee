// What this machine's processor can run, and how much of it this process may use.
#pragma once

#include "base/status.h"

#include <string>
#include <string_view>
#include <vector>

namespace sinter::hal {

// The processor's instruction set extensions that kernels may ask for, by LLVM's names.
std::vector<std::string_view> hostFeatures();

// "cpu:ARCH+FEATURE+FEATURE..." with all of hostFeatures().
std::string hostTarget();

// Whether code for `target`, of the same form, runs here. Unsupported, naming what is missing, if
// not.
Result<void> checkTarget(std::string_view target);

// The processors of this process's affinity mask, ascending; empty where the system does not tell.
std::vector<uint32_t> allowedCpus();

// How many threads can run at once: the processors of the affinity mask, but no more than whole
// processors' worth of time that the control group gives. At least 1.
uint32_t usableCpus();

// The processor's name, or its architecture.
std::string hostCpuName();

} // namespace sinter::hal
