// What the name of a family of targets alone ("cuda") stands for: the one home of that choice.
#pragma once

#include "hal/hal.h"

#include <optional>

namespace sinter::hal {

// A family and the target that it means on a machine without such a device.
struct TargetFamily {
  std::string_view name;   // "cuda"
  std::string_view target; // "cuda:sm_80"
  std::string_view reach;  // the devices that run its code, in words
};
std::span<const TargetFamily> targetFamilies();

struct TargetChoice {
  std::string target;
  std::string why = {}; // one line where a family was named; otherwise empty
};

// The target of the family's first device among `registry`'s drivers, the one that `--device
// FAMILY` opens, else the family's own. Any other name is kept as it is: the compiler knows it or
// refuses it. Drivers are asked only where `name` is a family's.
TargetChoice chooseTarget(const std::string &name, const DriverRegistry &registry);

} // namespace sinter::hal
