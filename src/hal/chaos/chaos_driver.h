// The chaos driver: another driver's device that fails on purpose, the same way for the same seed,
// to test what the layers above make of it.
#pragma once

#include "hal/hal.h"

#include <optional>

namespace sinter::hal {

// What goes wrong. Chances are from 0 (never) to 1 (always), drawn for each call from the device's
// own sequence.
struct ChaosFaults {
  uint64_t seed = 0;
  double allocation = 0; // allocate fails with Exhausted
  double moduleLoad = 0; // loadModule fails with Corrupt
  double launch = 0;     // launch fails with Internal and runs nothing
  // The device is lost from this command on, counted from 0 over its streams: launches, copies,
  // fills, writes, reads, records, submissions and synchronisations. Then every call that makes or
  // runs something fails with DeviceLost.
  std::optional<uint64_t> lostFromCommand = std::nullopt;
};

// What the devices of one chaos driver made that still lives, and what they were asked for.
struct ChaosLedger {
  int64_t devices = 0, buffers = 0, modules = 0, kernels = 0, streams = 0, events = 0, graphs = 0;
  uint64_t commands = 0, faults = 0;

  int64_t living() const {
    return devices + buffers + modules + kernels + streams + events + graphs;
  }
};

// Adds the driver "chaos" over the first driver of `inner`. Its devices are the inner one's under
// another driver's name and keep their targets. `ledger` may be null.
// InvalidArgument: `inner` has no driver, or a chance is not within 0 and 1.
Result<void> addChaosDriver(DriverRegistry &registry, DriverRegistry inner,
                            const ChaosFaults &faults,
                            std::shared_ptr<ChaosLedger> ledger = nullptr);

} // namespace sinter::hal
