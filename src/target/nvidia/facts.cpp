// The table of architectures: CUDA C++ Programming Guide, "Technical Specifications per Compute
// Capability", and the PTX ISA's table of targets by version.
#include "target/nvidia/facts.h"

namespace sinter::target::nvidia {

static constexpr int64_t kKiB = 1024;

static constexpr NvidiaFacts kFacts[] = {
    {"sm_80", "+ptx70", 163 * kKiB, 8},    {"sm_86", "+ptx71", 99 * kKiB, 8},
    {"sm_89", "+ptx78", 99 * kKiB, 8},     {"sm_90", "+ptx78", 227 * kKiB, 9},
    {"sm_90a", "+ptx80", 227 * kKiB, 9},   {"sm_100", "+ptx86", 227 * kKiB, 10},
    {"sm_100a", "+ptx86", 227 * kKiB, 10}, {"sm_120", "+ptx87", 99 * kKiB, 12},
};

const NvidiaFacts *findFacts(std::string_view architecture) {
  for (const NvidiaFacts &facts : kFacts)
    if (facts.architecture == architecture)
      return &facts;
  return nullptr;
}

std::string nvidiaTargetNames() {
  std::string names;
  for (const NvidiaFacts &facts : kFacts)
    names += (names.empty() ? "cuda:" : ", cuda:") + std::string(facts.architecture);
  return names;
}

} // namespace sinter::target::nvidia
