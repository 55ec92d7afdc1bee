// The Metal target's table of contents: schedule, print, join.
#include "targets/metal/metal_target.h"
#include "sched/sched.h"
#include "sched/simt/matrix_instructions.h"
#include "sched/simt/schedule.h"
#include "targets/metal/emit_msl.h"
#include "targets/metal/source.h"
#include "targets/simt/profile.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::targets::metal {

static sched::SimtFacts simtFacts(const MetalFacts &facts) {
  sched::SimtFacts simt;
  simt.subgroup = facts.subgroup;
  simt.maxThreads = facts.threads;
  simt.maxShared = facts.sharedBytes;
  simt.maxRegisters = facts.registers;
  simt.sharesDepth = facts.bfloat; // activations are bf16 beside quantized weights
  for (const sched::MatrixInstruction &row : sched::matrixInstructions())
    if (StringRef(row.name).starts_with(kInstructionPrefix) &&
        (facts.bfloat || row.aElement != sched::MatrixElement::BF16))
      simt.instructions.push_back(row.name);
  return simt;
}

namespace {
class MetalTarget : public Target {
public:
  explicit MetalTarget(const MetalFacts &facts)
      : facts_(facts), profile_(simt::profileOf(simtFacts(facts))) {}

  std::string name() const override { return "metal:" + std::string(facts_.family); }
  const TargetProfile &profile() const override { return profile_; }
  std::vector<std::string> stageNames() const override { return {"sched", "msl"}; }
  Result<CompiledModule> compilePart(ModuleOp source, Stages *stages) const override;
  Result<std::vector<uint8_t>> link(std::span<const std::vector<uint8_t>> parts) const override;

private:
  const MetalFacts &facts_; // a row of the table
  TargetProfile profile_;
};
} // namespace

static Result<std::string> join(std::span<const std::vector<uint8_t>> parts) {
  std::vector<std::string_view> texts;
  for (const std::vector<uint8_t> &part : parts)
    texts.emplace_back(reinterpret_cast<const char *>(part.data()), part.size());
  return joinSource(texts);
}

Result<CompiledModule> MetalTarget::compilePart(ModuleOp source, Stages *stages) const {
  SINTER_ASSIGN(OwningOpRef<ModuleOp> scheduled, sched::scheduleSimt(source, simtFacts(facts_)));
  if (stages)
    stages->add("sched", printed(*scheduled));
  CompiledModule result;
  SINTER_ASSIGN(std::string text, emitMsl(*scheduled, facts_, result.kernels));
  result.code.assign(text.begin(), text.end());
  if (!stages)
    return result;
  SINTER_ASSIGN(std::string joined, join({&result.code, 1}));
  stages->add("msl", std::move(joined));
  return result;
}

Result<std::vector<uint8_t>> MetalTarget::link(std::span<const std::vector<uint8_t>> parts) const {
  SINTER_ASSIGN(std::string joined, join(parts));
  return std::vector<uint8_t>(joined.begin(), joined.end());
}

Result<std::unique_ptr<Target>> findMetalTarget(std::string_view rest) {
  if (const MetalFacts *facts = findFacts(rest))
    return std::make_unique<MetalTarget>(*facts);
  return fail(Code::InvalidArgument, "found Metal target 'metal:" + std::string(rest) +
                                         "', expected one of " + metalTargetNames());
}

std::string metalTargetNames() {
  return llvm::join(
      llvm::map_range(metalFamilies(),
                      [](const MetalFacts &row) { return "metal:" + std::string(row.family); }),
      ", ");
}

} // namespace sinter::targets::metal
