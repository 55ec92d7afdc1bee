// What the CPU target knows about one machine: vector width, register file, instructions.
#pragma once

#include "base/status.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::targets::cpu {

inline constexpr int64_t kLineBytes = 64; // of caches, on most processors

// Instructions that kernels ask for by LLVM's names, for whole registers. Null: there is none.
struct CpuInstructions {
  const char *byteDot =
      nullptr; // i32 lanes + four products of bytes, the first operand's times the second's
  const char *wordDot = nullptr; // i32 lanes of two products of signed words
  const char *pairDot =
      nullptr; // words of two products of an unsigned and a signed byte; not beside byteDot
  const char *bfloatDot = nullptr;  // f32 lanes + products of two bf16 (numeric/bfloat_pairs.h)
  const char *bfloatPair = nullptr; // bf16 of two vectors of f32, those of the second first
  const char *byteSign =
      nullptr; // bytes with the signs of others, 0 where those are; null: masks do it
  const char *byteLookup = nullptr; // bytes of a table of 16 by number, the table in every 16 bytes
  bool signedBytes =
      false; // weights are signed in dots, else unsigned; activations always are signed
  int64_t maskedBits = 0; // elements this wide or wider are loaded and stored under masks; 0: none
  bool hasMasks(int64_t bits) const { return maskedBits && bits >= maskedBits; } // no branch a lane
  bool ownMaximum = false; // a maximum of f32 that keeps NaN and has -0 below +0 is an instruction
};

struct CpuFacts {
  std::string arch;                  // as triples and target strings name it
  std::string baseline;              // LLVM's processor name, of what all of the architecture have
  std::string cpu;                   // LLVM's processor name, for scheduling models only
  std::vector<std::string> features; // LLVM features, each "+name"
  int64_t lanes = 0;                 // f32 elements of the widest vector register
  int64_t registers = 0;             // vector registers
  CpuInstructions instructions{};
  bool prefetchesRuns = false; // hardware fetches one run of addresses as fast as memory is

  // The target string that plans carry: "cpu:x86_64+sse4.2+...", "cpu:aarch64+dotprod": every
  // feature that the code may use beyond those that all processors of the architecture have.
  std::string targetName() const;

  // Accumulators that fit: three quarters of the register file, in vectors.
  int64_t accumulatorBudget() const { return registers * 3 / 4; }
};

// The machine that this process runs on; Unsupported names what is missing.
Result<CpuFacts> hostFacts();

// The names of all levels, within an architecture the best last.
std::vector<std::string> levelNames();

// Facts for a named level: "avx2", "dotprod" and so on.
Result<CpuFacts> factsFor(std::string_view level);

} // namespace sinter::targets::cpu
