// What the AMD target knows of each processor that it names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sinter::targets::amd {

struct AmdFacts {
  std::string_view processor;                     // "gfx942"
  std::string_view features;                      // that LLVM must be told of
  std::span<const std::string_view> instructions; // matrix instructions, best first
  int64_t subgroup;                               // threads
  int64_t registers;                              // vector registers of one thread at most
  int64_t registerFile;        // of one SIMD unit, for each of a subgroup's lanes
  int64_t registerGranule;     // in which registers are given out
  int64_t subgroupsPerSimd;    // at most
  int64_t simds;               // of the compute unit that runs a block
  int64_t sharedBytes = 65536; // of one block at most, and of its compute unit
  int64_t maxThreads = 1024;   // of one block
};

/// Null for a name that is not in the table.
const AmdFacts *findFacts(std::string_view processor);
/// "amd:gfx90a, amd:gfx942, ...".
std::string amdTargetNames();

} // namespace sinter::targets::amd
