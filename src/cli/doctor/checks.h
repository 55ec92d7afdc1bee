// What `sinter doctor` looks at. Each check ends in one finding and, where something is amiss, in
// what to do; none changes anything but for a probe file in the cache, which it removes.
#pragma once

#include "cli/interrupts.h"
#include "hal/hal.h"

#include <string>
#include <string_view>

namespace sinter::cli {

enum class Health : uint8_t {
  Ok,
  Warning, // models run, but slower, on fewer devices or less comfortably
  Problem, // models do not run
};
const char *healthName(Health health); // "ok", "warning", "problem"

struct Finding {
  const char *what; // was looked at: "compiler"
  Health health = Health::Ok;
  std::string found; // one line
  std::string mend;  // what to do; empty where nothing is to be done
};

Finding checkProcessor(const hal::DriverRegistry &registry);
// `root` is empty for this system; tests give a folder that has dev/.
Finding checkCuda(const hal::DriverRegistry &registry, const std::string &root);
Finding checkVulkan(const hal::DriverRegistry &registry, const std::string &root);

// Starts the compiler and lets it look at this processor. Cancelled where Ctrl-C ends that.
Result<Finding> checkCompiler(Interrupts &interrupts);

// The folder of plans and packed weights: whether it may be used, what it holds.
Finding checkCache();
// The disk that it lies on.
Finding checkDisk();
// The model that ./demo fetches.
Finding checkModel();

Finding checkMemory(const std::string &root);
Finding checkHugePages(const std::string &root);
Finding checkTerminal();

} // namespace sinter::cli
