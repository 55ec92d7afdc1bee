// Reads the database and keeps what is of this machine.
#include "host/machine_tunings.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <sys/stat.h>

namespace sinter::host {

Result<std::string> compilerIdentity(const std::string &program) {
  struct stat info;
  if (stat(program.c_str(), &info) != 0)
    return fail(Code::NotFound,
                "cannot look at the compiler '" + program + "': " + std::strerror(errno));
  std::string identity = program;
  const int64_t parts[] = {static_cast<int64_t>(info.st_dev), static_cast<int64_t>(info.st_ino),
                           info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
  for (const int64_t part : parts)
    identity += ":" + std::to_string(part);
  return identity;
}

std::string machineText(const hal::DeviceInfo &device, const std::string &compiler) {
  return device.driver + " | " + device.name + " | " + device.target + " | " +
         std::to_string(device.computeUnits) + " units | " + compiler;
}

const runtime::TuningEntry *MachineTunings::find(const std::string &content) const {
  const auto found = std::ranges::lower_bound(entries, content, {}, &runtime::TuningEntry::content);
  return found == entries.end() || found->content != content ? nullptr : &*found;
}

std::vector<runtime::TuningEntry> MachineTunings::chosen() const {
  std::vector<runtime::TuningEntry> chosen;
  std::ranges::copy_if(entries, std::back_inserter(chosen),
                       [](const runtime::TuningEntry &entry) { return !entry.schedule.byRules(); });
  return chosen;
}

bool MachineTunings::fits(const plan::Plan &plan) const {
  return std::ranges::all_of(plan.kernels, [&](const plan::Kernel &kernel) {
    const runtime::TuningEntry *entry = find(kernel.content);
    return kernel.schedule == (entry ? entry->schedule : plan::ScheduleChoice());
  });
}

bool isByRules(const plan::Plan &plan) {
  return std::ranges::all_of(plan.kernels,
                             [](const plan::Kernel &kernel) { return kernel.schedule.byRules(); });
}

Result<MachineTunings> readTunings(const std::string &folder, const std::string &machine) {
  const runtime::TuningDatabase database(folder);
  SINTER_ASSIGN(runtime::TuningLookup found, database.read());
  MachineTunings tunings{{}, std::move(found.damage), database.path()};
  for (runtime::TuningEntry &entry : found.entries)
    if (entry.machine == machine)
      tunings.entries.push_back(std::move(entry));
  std::ranges::sort(tunings.entries, {}, &runtime::TuningEntry::content);
  return tunings;
}

} // namespace sinter::host
