// The CPU levels that code is generated for, one row each, and how the host is matched to one.
#include "tile/mlir_pch.h"

#include "target/cpu/facts.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

namespace sinter::target::cpu {

namespace {
using Features = std::vector<std::string>; // without '+'

struct Level {
  const char *name, *arch, *cpu;
  int64_t lanes, registers;
  CpuInstructions instructions;
  Features features;
};
} // namespace

static constexpr CpuInstructions kAvx512Vnni = {"llvm.x86.avx512.vpdpbusd.512", nullptr,
                                                "llvm.x86.avx512.pshuf.b.512", false, 8},
                                 kAvx512 = {nullptr, "llvm.x86.avx512.pmaddw.d.512",
                                            "llvm.x86.avx512.pshuf.b.512", false, 8},
                                 kAvxVnni = {"llvm.x86.avx512.vpdpbusd.256", nullptr,
                                             "llvm.x86.avx2.pshuf.b", false, 32},
                                 kAvx2 = {nullptr, "llvm.x86.avx2.pmadd.wd",
                                          "llvm.x86.avx2.pshuf.b", false, 32},
                                 kI8mm = {"llvm.aarch64.neon.usdot.v4i32.v16i8", nullptr,
                                          "llvm.aarch64.neon.tbl1.v16i8", false, 0},
                                 kDotprod = {"llvm.aarch64.neon.sdot.v4i32.v16i8", nullptr,
                                             "llvm.aarch64.neon.tbl1.v16i8", true, 0},
                                 kNeon = {nullptr, nullptr, "llvm.aarch64.neon.tbl1.v16i8", true,
                                          0};

static Features with(Features features, std::initializer_list<const char *> more) {
  features.insert(features.end(), more.begin(), more.end());
  return features;
}

static const std::vector<Level> &levels() {
  static const Features base = {"sse4.2", "popcnt", "bmi", "bmi2", "avx", "avx2", "fma", "f16c"};
  static const Features wide =
      with(base, {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
  static const std::vector<Level> levels = {
      {"avx512vnni", "x86_64", "skylake-avx512", 16, 32, kAvx512Vnni, with(wide, {"avx512vnni"})},
      {"avx512", "x86_64", "skylake-avx512", 16, 32, kAvx512, wide},
      {"avxvnni", "x86_64", "haswell", 8, 16, kAvxVnni, with(base, {"avxvnni"})},
      {"avx2", "x86_64", "haswell", 8, 16, kAvx2, base},
      {"i8mm", "aarch64", "generic", 4, 32, kI8mm, {"dotprod", "i8mm"}},
      {"dotprod", "aarch64", "generic", 4, 32, kDotprod, {"dotprod"}},
      {"neon", "aarch64", "generic", 4, 32, kNeon, {}},
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

static CpuFacts fromLevel(const Level &level, std::string cpu) {
  CpuFacts facts{level.arch, std::move(cpu), {}, level.lanes, level.registers, level.instructions};
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
  const Level *least = nullptr;
  for (const Level &level : levels()) {
    if (arch != level.arch)
      continue;
    if (llvm::all_of(level.features, [&](const std::string &f) { return host.lookup(f); }))
      return fromLevel(level, cpu);
    least = &level;
  }
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

} // namespace sinter::target::cpu
