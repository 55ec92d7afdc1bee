// The table of architectures: CUDA C++ Programming Guide, "Technical Specifications per Compute
// Capability", and the PTX ISA's table of targets by version.
#include "targets/nvidia/facts.h"

#include <algorithm>

namespace sinter::targets::nvidia {

static constexpr int64_t kKiB = 1024;

static constexpr NvidiaFacts kFacts[] = {
    {"sm_80", "+ptx74", 163 * kKiB, 2048, 32},
    {"sm_86", "+ptx74", 99 * kKiB, 1536, 16},
    {"sm_89", "+ptx78", 99 * kKiB, 1536, 24},
    {"sm_90", "+ptx78", 227 * kKiB, 2048, 32, 255, true, false, 8},
    {"sm_90a", "+ptx80", 227 * kKiB, 2048, 32, 255, true, true, 8},
    {"sm_100", "+ptx86", 227 * kKiB, 2048, 32, 255, true, false, 8},
    {"sm_100a", "+ptx86", 227 * kKiB, 2048, 32, 255, true, false, 8},
    {"sm_120", "+ptx87", 99 * kKiB, 1536, 24, 255, true},
};

// Of every multiprocessor in the table: 65,536 registers, given out to warps in steps of 256;
// shared memory of 1 KiB more than one block may have, of which the system takes 1 KiB a block.
static constexpr int64_t kRegisterFile = 65536, kRegisterStep = 256, kWarp = 32;

int64_t blocksPerMultiprocessor(const NvidiaFacts &facts, int64_t threads, int64_t registers,
                                int64_t sharedBytes) {
  if (threads < 1 || registers < 1)
    return 0;
  const int64_t warps = (threads + kWarp - 1) / kWarp;
  const int64_t perWarp = (registers * kWarp + kRegisterStep - 1) / kRegisterStep * kRegisterStep;
  const int64_t byRegisters = kRegisterFile / perWarp / warps;
  const int64_t byShared = (facts.sharedBytes + kKiB) / (sharedBytes + kKiB);
  return std::min(
      {facts.residentBlocks, facts.residentThreads / (warps * kWarp), byRegisters, byShared});
}

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

} // namespace sinter::targets::nvidia
