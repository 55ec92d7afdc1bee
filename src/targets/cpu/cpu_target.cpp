// The CPU target: compileToObject and linkShared as parts and link.
#include "tile/mlir_pch.h"

#include "targets/cpu/codegen.h"
#include "targets/cpu/cpu_target.h"
#include "targets/cpu/emission/pair_dots.h"
#include "targets/cpu/schedule.h"
#include "targets/machine_code.h"

namespace sinter::targets::cpu {

namespace {
class CpuTarget : public Target {
public:
  explicit CpuTarget(CpuFacts facts) : facts_(std::move(facts)) {}

  std::string name() const override { return facts_.targetName(); }
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

  int64_t rowElements() const override { return facts_.accumulatorBudget() * facts_.lanes; }
  int64_t bfloatDepth() const override { return pairedDepth(facts_); }
  std::vector<ScheduleDecision> decisions(tile::KernelOp kernel) const override {
    return decisionsOf(kernel, facts_);
  }

  Result<std::vector<uint8_t>> link(std::span<const std::vector<uint8_t>> parts) const override {
    return linkShared(parts);
  }

private:
  CpuFacts facts_;
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
