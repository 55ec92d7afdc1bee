// The CPU target: compileToObject and linkShared as parts and link.
#include "tile/mlir_pch.h"

#include "targets/cpu/codegen.h"
#include "targets/cpu/cpu_target.h"
#include "targets/cpu/schedule.h"
#include "targets/machine_code.h"

namespace sinter::targets::cpu {

// Only instructions that outrun f32 (facts.cpp: multipliesPairsFast).
static TargetProfile profileOf(const CpuFacts &facts) {
  TargetProfile profile;
  profile.kind = TargetKind::Cpu;
  profile.lanes = facts.lanes;
  profile.registers = facts.registers;
  if (facts.instructions.bfloatDot)
    profile.matrixInstructions.push_back({sched::MatrixElement::BF16, 1, facts.lanes, 2, 1});
  return profile;
}

namespace {
class CpuTarget : public Target {
public:
  explicit CpuTarget(CpuFacts facts) : facts_(std::move(facts)), profile_(profileOf(facts_)) {}

  std::string name() const override { return facts_.targetName(); }
  const TargetProfile &profile() const override { return profile_; }
  std::vector<std::string> stageNames() const override { return {"sched", "llvm", "asm"}; }

  Result<targets::CompiledModule> compilePart(mlir::ModuleOp source,
                                              targets::Stages *stages) const override {
    Stages texts;
    texts.wanted = stages != nullptr;
    SINTER_ASSIGN(CompiledObject code, compileToObject(source, facts_, &texts));
    if (stages) {
      stages->add("sched", std::move(texts.sched));
      stages->add("llvm", std::move(texts.llvm));
      stages->add("asm", std::move(texts.assembly));
    }
    return targets::CompiledModule{std::move(code.object), std::move(code.kernels)};
  }

  std::vector<ScheduleDecision> decisions(tile::KernelOp kernel) const override {
    return decisionsOf(kernel, facts_);
  }

  Result<std::vector<uint8_t>> link(std::span<const std::vector<uint8_t>> parts) const override {
    return linkShared(parts);
  }

private:
  CpuFacts facts_;
  TargetProfile profile_;
};
} // namespace

std::unique_ptr<Target> makeCpuTarget(CpuFacts facts) {
  return std::make_unique<CpuTarget>(std::move(facts));
}

bool isCpuLevel(std::string_view name) {
  return llvm::is_contained(levelNames(), name);
}

std::string cpuTargetNames() {
  std::string names = "cpu:host";
  for (const std::string &level : levelNames())
    names += ", cpu:" + level;
  return names;
}

Result<std::unique_ptr<Target>> findCpuTarget(std::string_view rest) {
  if (rest == "host") {
    SINTER_ASSIGN(CpuFacts facts, hostFacts());
    return makeCpuTarget(std::move(facts));
  }
  for (const std::string &level : levelNames()) {
    SINTER_ASSIGN(CpuFacts facts, factsFor(level));
    if (rest == level || "cpu:" + std::string(rest) == facts.targetName())
      return makeCpuTarget(std::move(facts));
  }
  return fail(Code::InvalidArgument, "found CPU target 'cpu:" + std::string(rest) +
                                         "', expected one of " + cpuTargetNames());
}

} // namespace sinter::targets::cpu
