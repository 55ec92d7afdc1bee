// The Vulkan target's table of contents: schedule, emit, write.
#include "targets/vulkan/vulkan_target.h"
#include "sched/sched.h"
#include "sched/simt/schedule.h"
#include "targets/simt/profile.h"
#include "targets/vulkan/binary.h"
#include "targets/vulkan/emit_spirv.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::targets::vulkan {

static sched::SimtFacts simtFacts(const VulkanFacts &facts) {
  sched::SimtFacts simt;
  simt.subgroup = facts.subgroup;
  simt.maxThreads = facts.threads;
  simt.maxShared = facts.sharedBytes;
  simt.ownExp2 = sched::OwnExp2::NearZero; // Vulkan lets exp2 be 3 + 2 |x| units off
  simt.ownMaximum = false;
  simt.selectsAddresses = true;
  simt.fusesSums = facts.has("fma") || !facts.has("float64"); // which would stand in for an fma
  simt.ownDivision = true;
  for (std::string_view instruction : facts.matrixInstructions())
    simt.instructions.emplace_back(instruction);
  return simt;
}

// Where cooperative matrices take bf16, prefill dequantizes weights to that. f16 alone would not
// do: activations go beyond its range of 65,504 in some models, and nothing would tell.
static TargetProfile profileOf(const VulkanFacts &facts) {
  TargetProfile profile = simt::profileOf(simtFacts(facts));
  if (llvm::any_of(profile.matrixInstructions, [](const MatrixShape &shape) {
        return shape.element == sched::MatrixElement::BF16;
      }))
    profile.besideQuantized = ActivationPrecision::BF16;
  return profile;
}

namespace {
class VulkanTarget : public Target {
public:
  explicit VulkanTarget(VulkanFacts facts)
      : facts_(std::move(facts)), profile_(profileOf(facts_)) {}

  std::string name() const override { return facts_.name(); }
  const TargetProfile &profile() const override { return profile_; }
  std::vector<std::string> stageNames() const override { return {"sched", "spirv"}; }
  Result<CompiledModule> compilePart(ModuleOp source, Stages *stages) const override;
  // Bytecode orders types and attributes by where the compiler's own data lie.
  bool partsAreStable() const override { return false; }
  Result<std::vector<uint8_t>> link(std::span<const std::vector<uint8_t>> parts) const override {
    return linkParts(parts);
  }

private:
  VulkanFacts facts_;
  TargetProfile profile_;
};
} // namespace

Result<CompiledModule> VulkanTarget::compilePart(ModuleOp source, Stages *stages) const {
  SINTER_ASSIGN(OwningOpRef<ModuleOp> scheduled, sched::scheduleSimt(source, simtFacts(facts_)));
  if (stages)
    stages->add("sched", printed(*scheduled));
  SINTER_ASSIGN(EmittedModule emitted, emitSpirv(*scheduled, facts_));
  if (stages)
    stages->add("spirv", printed(*emitted.module));
  return CompiledModule{writePart(*emitted.module), std::move(emitted.kernels)};
}

Result<std::unique_ptr<Target>> findVulkanTarget(std::string_view rest) {
  SINTER_ASSIGN(VulkanFacts facts, parseFacts(rest));
  return std::make_unique<VulkanTarget>(std::move(facts));
}

std::string vulkanTargetNames() {
  return VulkanFacts().name();
}

} // namespace sinter::targets::vulkan
