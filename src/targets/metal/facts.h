// What the Metal target knows of a family of Apple's processors.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <string_view>

namespace sinter::targets::metal {

struct MetalFacts {
  const char *family; // "apple9"
  bool bfloat;        // bf16 as a type, and in matrices; else as its bits
  int64_t subgroup = 32;
  int64_t threads = 1024;      // of a threadgroup at most
  int64_t sharedBytes = 32768; // of a threadgroup at most
  int64_t registers = 128;     // of 32 bits, of a thread at most
};

/// All families, the oldest first.
llvm::ArrayRef<MetalFacts> metalFamilies();
/// Null where there is none of this name.
const MetalFacts *findFacts(std::string_view family);

} // namespace sinter::targets::metal
