// What a device can do at most, and the time that work takes there at least.
#pragma once

#include "cli/memory_bandwidth.h"

#include <optional>
#include <vector>

namespace sinter::cli {

struct Peak {
  Arithmetic arithmetic = Arithmetic::F32;
  hal::PeakRate rate;
};

struct Roofs {
  Bandwidth memory;
  std::vector<Peak> peaks; // of the arithmetic whose rate the device measures or tells

  const Peak *find(Arithmetic arithmetic) const;
};

// Measures memory, and arithmetic where the device can. Exhausted: no memory to measure with.
Result<Roofs> measureRoofs(hal::Device &device);

// The longer of moving the bytes and computing at the device's rates.
struct Floor {
  double seconds = 0;
  std::optional<Arithmetic> bound; // none: memory
};
Floor floorOf(const Roofs &roofs, double bytes, double operations, Arithmetic arithmetic);

// "memory" or the arithmetic's name.
const char *boundName(const Floor &floor);

} // namespace sinter::cli
