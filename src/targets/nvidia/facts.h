// What the NVIDIA target knows of each architecture that it names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sinter::targets::nvidia {

struct NvidiaFacts {
  std::string_view architecture; // "sm_90a"
  std::string_view ptx;    // LLVM's feature for the oldest PTX version that has it and createpolicy
  int64_t sharedBytes;     // of one block at most, by opt-in
  int64_t residentThreads; // of one multiprocessor at most
  int64_t residentBlocks;  // likewise
  int64_t registers = 255; // of one thread at most
  bool overlapsLaunches = false; // griddepcontrol: a launch may begin before the one before it ends
  bool groupMatmuls = false;     // wgmma: four warps multiply from shared memory
  int64_t clusterBlocks = 1;     // of a cluster on every processor at most
};

/// Blocks that one multiprocessor holds at a time; 0 where not one fits.
int64_t blocksPerMultiprocessor(const NvidiaFacts &facts, int64_t threads, int64_t registers,
                                int64_t sharedBytes);

/// Null for a name that is not in the table.
const NvidiaFacts *findFacts(std::string_view architecture);
/// "cuda:sm_80, cuda:sm_86, ...".
std::string nvidiaTargetNames();

} // namespace sinter::targets::nvidia
