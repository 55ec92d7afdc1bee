// The CPU levels that code is generated for, one row each, and how the host is matched to one.
#include "tile/mlir_pch.h"

#include "targets/cpu/facts.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

namespace sinter::targets::cpu {

namespace {
using Features = std::vector<std::string>; // without '+'

// `baseline` is LLVM's name for a processor that has what all of the architecture have.
struct Architecture {
  const char *name, *baseline;
};

struct Level {
  const char *name;
  Architecture arch;
  const char *cpu; // that code is scheduled for where it is not for this machine
  int64_t lanes, registers;
  CpuInstructions instructions;
  Features features;
};
} // namespace

static constexpr CpuInstructions kAvx512Vnni = {.byteDot = "llvm.x86.avx512.vpdpbusd.512",
                                                .wordDot = "llvm.x86.avx512.pmaddw.d.512",
                                                .byteLookup = "llvm.x86.avx512.pshuf.b.512",
                                                .maskedBits = 8},
                                 kAvx512 = {.wordDot = "llvm.x86.avx512.pmaddw.d.512",
                                            .pairDot = "llvm.x86.avx512.pmaddubs.w.512",
                                            .byteLookup = "llvm.x86.avx512.pshuf.b.512",
                                            .maskedBits = 8},
                                 kAvxVnni = {.byteDot = "llvm.x86.avx512.vpdpbusd.256",
                                             .wordDot = "llvm.x86.avx2.pmadd.wd",
                                             .byteLookup = "llvm.x86.avx2.pshuf.b",
                                             .maskedBits = 32},
                                 kAvx2 = {.wordDot = "llvm.x86.avx2.pmadd.wd",
                                          .pairDot = "llvm.x86.avx2.pmadd.ub.sw",
                                          .byteSign = "llvm.x86.avx2.psign.b",
                                          .byteLookup = "llvm.x86.avx2.pshuf.b",
                                          .maskedBits = 32},
                                 kI8mm = {.byteDot = "llvm.aarch64.neon.usdot.v4i32.v16i8",
                                          .byteLookup = "llvm.aarch64.neon.tbl1.v16i8",
                                          .ownMaximum = true},
                                 kDotprod = {.byteDot = "llvm.aarch64.neon.sdot.v4i32.v16i8",
                                             .byteLookup = "llvm.aarch64.neon.tbl1.v16i8",
                                             .signedBytes = true,
                                             .ownMaximum = true},
                                 kNeon = {.byteLookup = "llvm.aarch64.neon.tbl1.v16i8",
                                          .signedBytes = true,
                                          .ownMaximum = true};

static constexpr CpuInstructions withBfloats(CpuInstructions instructions) {
  instructions.bfloatDot = "llvm.x86.avx512bf16.dpbf16ps.512";
  instructions.bfloatPair = "llvm.x86.avx512bf16.cvtne2ps2bf16.512";
  return instructions;
}

static Features with(Features features, std::initializer_list<const char *> more) {
  features.insert(features.end(), more.begin(), more.end());
  return features;
}

static constexpr Architecture kX86 = {"x86_64", "x86-64"}, kArm = {"aarch64", "generic"};

static const std::vector<Level> &levels() {
  static const Features base = {"sse4.2", "popcnt", "bmi", "bmi2", "avx", "avx2", "fma", "f16c"};
  static const Features wide =
      with(base, {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
  // Within an architecture the best comes last.
  static const std::vector<Level> levels = {
      {"avx2", kX86, "haswell", 8, 16, kAvx2, base},
      {"avxvnni", kX86, "haswell", 8, 16, kAvxVnni, with(base, {"avxvnni"})},
      {"avx512", kX86, "skylake-avx512", 16, 32, kAvx512, wide},
      {"avx512vnni", kX86, "skylake-avx512", 16, 32, kAvx512Vnni, with(wide, {"avx512vnni"})},
      {"avx512bf16", kX86, "cooperlake", 16, 32, withBfloats(kAvx512Vnni),
       with(wide, {"avx512vnni", "avx512bf16"})},
      {"neon", kArm, "generic", 4, 32, kNeon, {}},
      {"dotprod", kArm, "generic", 4, 32, kDotprod, {"dotprod"}},
      {"i8mm", kArm, "generic", 4, 32, kI8mm, {"dotprod", "i8mm"}},
  };
  return levels;
}

std::string CpuFacts::targetName() const {
  std::string name = "cpu:" + arch;
  for (const std::string &feature : features)
    if (feature.front() == '+')
      name += feature;
  return name;
}

// A Zen 4's hardware fetches 26 to 29 GB/s a thread where nothing else asks for the lines and they
// are read in order, prefetches no more than 18 to 20: they wait in the few buffers of the first
// cache. A Xeon with AMX reads 0.83 to 0.94 times as fast without prefetches.
static bool prefetchesRuns(llvm::StringRef cpu) {
  return cpu == "znver4";
}

// Pairs of bf16 multiply twice as fast as f32 on a Zen 4 (116 and 58 billion products a second on
// one thread), half as fast on a Xeon with AMX (40 and 80).
static bool multipliesPairsFast(llvm::StringRef cpu) {
  return cpu == "znver4";
}

static CpuFacts fromLevel(const Level &level, const std::string &cpu) {
  CpuFacts facts{level.arch.name,    level.arch.baseline, cpu, {}, level.lanes, level.registers,
                 level.instructions, prefetchesRuns(cpu)};
  for (const std::string &feature : level.features)
    facts.features.push_back("+" + feature);
  if (level.lanes == 16)
    facts.features.push_back("-prefer-256-bit");
  return facts;
}

Result<CpuFacts> hostFacts() {
  const std::string cpu = llvm::sys::getHostCPUName().str();
  const auto arch =
      llvm::Triple::getArchTypeName(llvm::Triple(llvm::sys::getDefaultTargetTriple()).getArch());
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  const Level *least = nullptr, *best = nullptr;
  for (const Level &level : levels()) {
    if (arch != level.arch.name)
      continue;
    least = least ? least : &level;
    bool has = llvm::all_of(level.features, [&](const std::string &f) { return host.lookup(f); });
    if (has && (!level.instructions.bfloatDot || multipliesPairsFast(cpu)))
      best = &level;
  }
  if (best)
    return fromLevel(*best, cpu);
  if (!least)
    return fail(Code::Unsupported, "this processor is '" + arch.str() +
                                       "', expected x86_64 or aarch64 for the CPU target");
  return fail(Code::Unsupported, "this processor ('" + cpu + "') lacks some of " +
                                     llvm::join(least->features, ", ") +
                                     ", which the CPU target needs");
}

std::vector<std::string> levelNames() {
  std::vector<std::string> names;
  for (const Level &level : levels())
    names.emplace_back(level.name);
  return names;
}

Result<CpuFacts> factsFor(std::string_view name) {
  for (const Level &level : levels())
    if (name == level.name)
      return fromLevel(level, level.cpu);
  return fail(Code::InvalidArgument, "found CPU level '" + std::string(name) +
                                         "', expected one of " + llvm::join(levelNames(), ", "));
}

} // namespace sinter::targets::cpu
