// What the CPU target knows about one machine: vector width, register file, instructions.
#pragma once

#include "base/status.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::target::cpu {

inline constexpr int64_t kLineBytes = 64; // of every cache on x86-64

struct CpuFacts {
  std::string cpu;                   // LLVM's processor name, for scheduling models
  std::vector<std::string> features; // LLVM features, each "+name"
  int64_t lanes = 0;                 // f32 elements of the widest vector register
  int64_t registers = 0;             // vector registers
  bool vnni = false;                 // u8 x s8 dot product of four bytes

  // The target string that plans carry: "cpu:x86_64+sse4.2+...", every feature that the code may
  // use.
  std::string targetName() const;

  // Accumulators that fit: three quarters of the register file, in vectors.
  int64_t accumulatorBudget() const { return registers * 3 / 4; }
};

// The machine that this process runs on; Unsupported names what is missing (AVX2 and FMA at least).
Result<CpuFacts> hostFacts();

// Facts for a named level: "avx2", "avx512", "avx512vnni".
Result<CpuFacts> factsFor(std::string_view level);

} // namespace sinter::target::cpu
