// What the control groups of this process allow it: processors and memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sinter::hal {

inline constexpr std::string_view kSystemRoot = ""; // of the running system; tests give a folder

struct CgroupLimits {
  std::optional<double> cpus;          // processors' worth of time; none: no limit
  std::optional<uint64_t> memoryBytes; // none: no limit
};

// The tightest limits along the path of this process's group, from ROOT/proc/self/cgroup and
// ROOT/sys/fs/cgroup, version 2 or 1. Anything that cannot be read or makes no sense is no limit.
CgroupLimits cgroupLimits(std::string_view root);

} // namespace sinter::hal
