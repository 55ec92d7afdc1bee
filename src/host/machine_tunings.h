// What tuning knows about this machine: the user's database, cut to one device and one compiler.
#pragma once

#include "hal/hal.h"
#include "plan/plan.h"
#include "runtime/tuning_database.h"

#include <string>
#include <vector>

namespace sinter::host {

// Names a compiler program: one that was built anew is another one, though its path is the same.
// NotFound where there is none.
Result<std::string> compilerIdentity(const std::string &program);

// What times depend on: the device, its code, how many units it has, and the compiler.
std::string machineText(const hal::DeviceInfo &device, const std::string &compiler);

// The entries of one machine, by content.
struct MachineTunings {
  std::vector<runtime::TuningEntry> entries;
  std::string damage; // one line; empty where there is none
  std::string path;   // of the database

  const runtime::TuningEntry *find(const std::string &content) const;
  // Those that are not the rules': what this machine's plans are built with.
  std::vector<runtime::TuningEntry> chosen() const;
  // Whether each of the plan's kernels has the schedule that was chosen for it, by rules where none
  // was. Entries of other kernels do not matter.
  bool fits(const plan::Plan &plan) const;
};

// Whether all of the plan's kernels have the schedules of rules.
bool isByRules(const plan::Plan &plan);

// Of the database in `folder`. Errors are TuningDatabase::read's.
Result<MachineTunings> readTunings(const std::string &folder, const std::string &machine);

} // namespace sinter::host
