// The Metal target: tile kernels in, Metal Shading Language out.
#pragma once

#include "targets/target.h"

#include <memory>

namespace sinter::targets::metal {

/// `rest` follows "metal:" in a target string: a row of facts.cpp.
Result<std::unique_ptr<Target>> findMetalTarget(std::string_view rest);
std::string metalTargetNames();

} // namespace sinter::targets::metal
