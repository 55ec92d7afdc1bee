// The CPU levels that code is generated for, and how the host is matched to one.
#include "tile/mlir_pch.h"

#include "target/cpu/facts.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

namespace sinter::target::cpu {

namespace {
struct Level {
  const char *name;
  int64_t lanes, registers;
  bool vnni;
  std::vector<std::string> features; // without '+'
};
} // namespace

static const std::vector<Level> &levels() {
  static const std::vector<std::string> kBase = {"sse4.2", "popcnt", "bmi", "bmi2",
                                                 "avx",    "avx2",   "fma", "f16c"};
  static const std::vector<Level> kLevels = [] {
    std::vector<std::string> wide = kBase;
    for (const char *f : {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})
      wide.push_back(f);
    std::vector<std::string> vnni = wide;
    vnni.push_back("avx512vnni");
    return std::vector<Level>{{"avx512vnni", 16, 32, true, vnni},
                              {"avx512", 16, 32, false, wide},
                              {"avx2", 8, 16, false, kBase}};
  }();
  return kLevels;
}

std::string CpuFacts::targetName() const {
  std::string name = "cpu:x86_64";
  for (const std::string &feature : features)
    if (feature.front() == '+')
      name += feature;
  return name;
}

static CpuFacts fromLevel(const Level &level, std::string cpu) {
  CpuFacts facts;
  facts.cpu = std::move(cpu);
  for (const std::string &feature : level.features)
    facts.features.push_back("+" + feature);
  if (level.lanes == 16)
    facts.features.push_back("-prefer-256-bit");
  facts.lanes = level.lanes;
  facts.registers = level.registers;
  facts.vnni = level.vnni;
  return facts;
}

Result<CpuFacts> hostFacts() {
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  for (const Level &level : levels())
    if (llvm::all_of(level.features, [&](const std::string &f) { return host.lookup(f); }))
      return fromLevel(level, llvm::sys::getHostCPUName().str());
  return fail(Code::Unsupported, "this processor ('" + llvm::sys::getHostCPUName().str() +
                                     "') lacks AVX2 and FMA, which the CPU target needs");
}

Result<CpuFacts> factsFor(std::string_view name) {
  for (const Level &level : levels())
    if (name == level.name)
      return fromLevel(level, level.lanes == 16 ? "skylake-avx512" : "haswell");
  return fail(Code::InvalidArgument,
              "found CPU level '" + std::string(name) + "', expected avx2, avx512 or avx512vnni");
}

} // namespace sinter::target::cpu
