// The NVIDIA target: tile kernels in, PTX out. No toolkit takes part: the driver assembles PTX.
#pragma once

#include "targets/nvidia/facts.h"
#include "targets/target.h"

#include <memory>

namespace sinter::targets::nvidia {

/// `rest` follows "cuda:" in a target string: an architecture such as "sm_90a". Parts are PTX
/// texts; so is what link() makes of them.
Result<std::unique_ptr<Target>> findNvidiaTarget(std::string_view rest);

} // namespace sinter::targets::nvidia
