// Which of the five levers acted on a kernel, in words that come from the plan alone.
#pragma once

#include "cli/explain/report.h"

namespace sinter::cli {

LeverWords wordsOf(const plan::Plan &plan, const hal::DeviceInfo &device,
                   const SampledLaunch &launch);

} // namespace sinter::cli
