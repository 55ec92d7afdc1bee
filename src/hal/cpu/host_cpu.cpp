// Processor features, name and limits of this machine.
#include "hal/cpu/host_cpu.h"

#include "hal/cgroup.h"

#include <algorithm>
#include <fstream>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace sinter::hal {
namespace {

#if defined(__x86_64__)
constexpr std::string_view kArch = "x86_64";

// Tile registers must be asked for once per process, before its threads use them.
bool amxAllowed() {
  constexpr long kRequestPermission = 0x1023; // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;              // XFEATURE_XTILEDATA
  return __builtin_cpu_supports("amx-tile") &&
         syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

std::vector<std::string_view> detect() {
  std::vector<std::string_view> found;
  auto note = [&](std::string_view name, bool present) {
    if (present)
      found.push_back(name);
  };
#define SINTER_FEATURE(name) note(name, __builtin_cpu_supports(name))
  SINTER_FEATURE("sse3");
  SINTER_FEATURE("ssse3");
  SINTER_FEATURE("sse4.1");
  SINTER_FEATURE("sse4.2");
  SINTER_FEATURE("popcnt");
  SINTER_FEATURE("avx");
  SINTER_FEATURE("f16c");
  SINTER_FEATURE("fma");
  SINTER_FEATURE("bmi");
  SINTER_FEATURE("bmi2");
  SINTER_FEATURE("avx2");
  SINTER_FEATURE("gfni");
  SINTER_FEATURE("avxvnni");
  SINTER_FEATURE("avx512f");
  SINTER_FEATURE("avx512cd");
  SINTER_FEATURE("avx512bw");
  SINTER_FEATURE("avx512dq");
  SINTER_FEATURE("avx512vl");
  SINTER_FEATURE("avx512vbmi");
  SINTER_FEATURE("avx512vbmi2");
  SINTER_FEATURE("avx512vnni");
  SINTER_FEATURE("avx512bf16");
  SINTER_FEATURE("avx512fp16");
#undef SINTER_FEATURE
  const bool amx = amxAllowed();
  note("amx-tile", amx);
  note("amx-int8", amx && __builtin_cpu_supports("amx-int8"));
  note("amx-bf16", amx && __builtin_cpu_supports("amx-bf16"));
  return found;
}
#elif defined(__aarch64__)
constexpr std::string_view kArch = "aarch64";

std::vector<std::string_view> detect() {
  const unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
  std::vector<std::string_view> found;
  auto note = [&](std::string_view name, bool present) {
    if (present)
      found.push_back(name);
  };
  note("neon", first & HWCAP_ASIMD);
  note("fullfp16", first & HWCAP_ASIMDHP);
  note("dotprod", first & HWCAP_ASIMDDP);
  note("sve", first & HWCAP_SVE);
  note("i8mm", second & HWCAP2_I8MM);
  note("bf16", second & HWCAP2_BF16);
  return found;
}
#else
constexpr std::string_view kArch = "unknown";
std::vector<std::string_view> detect() {
  return {};
}
#endif

} // namespace

std::vector<std::string_view> hostFeatures() {
  return detect();
}

std::string hostTarget() {
  std::string target = "cpu:" + std::string(kArch);
  for (std::string_view feature : hostFeatures())
    target += "+" + std::string(feature);
  return target;
}

Result<void> checkTarget(std::string_view target) {
  auto refuse = [&](const std::string &why) {
    return fail(Code::Unsupported,
                "code for '" + std::string(target) + "' does not run here: " + why);
  };
  std::string_view rest = target;
  if (!rest.starts_with("cpu:"))
    return refuse("it is not for a cpu");
  rest.remove_prefix(4);
  const std::string_view arch = rest.substr(0, rest.find('+'));
  if (arch != kArch)
    return refuse("the processor is '" + std::string(kArch) + "'");
  const auto features = hostFeatures();
  rest.remove_prefix(arch.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view feature = rest.substr(0, rest.find('+'));
    if (std::find(features.begin(), features.end(), feature) == features.end())
      return refuse("the processor has no '" + std::string(feature) + "'");
    rest.remove_prefix(feature.size());
  }
  return {};
}

std::vector<uint32_t> allowedCpus() {
  // Machines with more processors than a cpu_set_t holds need a larger set; the call says so by
  // failing.
  std::vector<uint32_t> cpus;
  for (uint32_t capacity = 1024; cpus.empty() && capacity <= 1 << 16; capacity *= 4) {
    cpu_set_t *set = CPU_ALLOC(capacity);
    if (!set)
      break;
    const std::size_t bytes = CPU_ALLOC_SIZE(capacity);
    if (sched_getaffinity(0, bytes, set) == 0)
      for (uint32_t cpu = 0; cpu < capacity; ++cpu)
        if (CPU_ISSET_S(cpu, bytes, set))
          cpus.push_back(cpu);
    CPU_FREE(set);
  }
  return cpus;
}

uint32_t usableCpus() {
  auto cpus = static_cast<uint32_t>(allowedCpus().size());
  if (auto limit = cgroupLimits(kSystemRoot).cpus; limit && *limit < cpus)
    cpus = static_cast<uint32_t>(*limit);
  return std::max<uint32_t>(cpus, 1);
}

std::string hostCpuName() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name") && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  return std::string(kArch);
}

} // namespace sinter::hal
