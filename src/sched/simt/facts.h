// What passes must know of a SIMT processor.
#pragma once

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <string>

namespace sinter::sched {

/// Where a processor's own exp2 is good to a few units in the last place.
enum class OwnExp2 : uint8_t { Nowhere, NearZero, Everywhere };

struct SimtFacts {
  int64_t subgroup = 32;      // threads that shuffle among themselves, a power of two
  int64_t maxThreads = 1024;  // of a block
  int64_t maxShared = 49152;  // bytes of a block
  int64_t maxRegisters = 255; // 32-bit ones of a thread
  int64_t vectorBytes = 16;   // of the widest access of one thread
  bool asyncCopies =
      false; // has copies from memory to shared memory that threads need not wait for
  bool matrixLoads = false;      // reads 8 x 8 matrices of shared memory (sched.shared_matrices)
  bool sharesDepth = false;      // subgroups share K of matmuls of few rows (split_dots)
  int64_t programBlocks = 1;     // that read one another's shared memory, at most
  bool bfloatPairs = true;       // an instruction for two sums of bf16 in a word, each rounded
  bool overlapsLaunches = false; // a launch may begin before the one before it has ended
  // A row's products go into sums of each thread by multiply-adds, which threads add up once
  // (reduce_dots).
  bool fusesSums = false;
  // An access under a condition chooses its address by instructions: it should have none.
  bool selectsAddresses = false;
  OwnExp2 ownExp2 = OwnExp2::Nowhere;
  bool ownMaximum = true;   // an instruction for a maximum that keeps NaN and has -0 below +0
  bool ownDivision = false; // has a division of about 2 units in the last place
  llvm::SmallVector<std::string>
      instructions; // matrix instructions (sched/simt/matrix_instructions.h)
};

} // namespace sinter::sched
