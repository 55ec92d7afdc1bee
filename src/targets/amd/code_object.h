// Code objects: what their metadata says of each kernel, and whether that is right.
#pragma once

#include "base/status.h"
#include "targets/amd/facts.h"
#include "targets/target.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sinter::targets::amd {

/// Metadata of one kernel (LLVM's User Guide for AMDGPU Backend, "Code Object V5 Metadata").
struct KernelMetadata {
  std::string name;
  int64_t words = 0;        // 64-bit arguments, which are all that it has
  int64_t threads = 0;      // of a block at most
  int64_t subgroup = 0;     // threads
  int64_t sharedBytes = 0;  // of a block
  int64_t scratchBytes = 0; // of a thread: spills and what has no register
  int64_t vectorRegisters = 0, accumulators = 0, scalarRegisters = 0;
  int64_t vectorSpills = 0, scalarSpills = 0;
};

struct CodeObject {
  std::string target; // "amdgcn-amd-amdhsa--gfx942"
  std::vector<KernelMetadata> kernels;
};

/// Metadata of a relocatable object or a code object, which has one note of it. Corrupt: anything
/// else, any bytes at all.
Result<CodeObject> readCodeObject(std::span<const uint8_t> bytes);

/// What the code object says agrees with what was emitted for `facts`: kernels and their
/// arguments, threads, shared memory. Internal: it does not. Unsupported: a kernel takes more
/// shared memory than a block may.
Result<void> checkCodeObject(const CodeObject &object, std::span<const EmittedKernel> kernels,
                             const AmdFacts &facts);

/// What is wrong where a kernel's values do not fit its registers; empty where they do.
std::string spillText(const KernelMetadata &kernel, const AmdFacts &facts);

/// Subgroups that a SIMD unit holds at once, as far as registers, shared memory and the unit's own
/// limit let it.
int64_t subgroupsPerSimd(const KernelMetadata &kernel, const AmdFacts &facts);

/// One line for each kernel.
std::string resourcesText(const CodeObject &object, const AmdFacts &facts);

} // namespace sinter::targets::amd
