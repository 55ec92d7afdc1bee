// The passes that all targets of threads share, with what AMD's processors have.
#include "targets/amd/schedule.h"
#include "sched/sched.h"
#include "sched/simt/schedule.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::targets::amd {

sched::LaneFacts laneFacts(const AmdFacts &facts) {
  sched::LaneFacts lanes;
  lanes.subgroup = facts.subgroup;
  lanes.maxThreads = facts.maxThreads;
  lanes.maxShared = facts.sharedBytes;
  lanes.maxRegisters = facts.registers;
  lanes.ownExp2 = sched::OwnExp2::Everywhere; // v_exp_f32
  lanes.ownDivision = true;                   // v_rcp_f32 and a product
  for (std::string_view instruction : facts.instructions)
    lanes.instructions.emplace_back(instruction);
  return lanes;
}

Result<OwningOpRef<ModuleOp>> scheduleForLanes(ModuleOp source, const AmdFacts &facts) {
  return sched::scheduleForLanes(source, laneFacts(facts));
}

} // namespace sinter::targets::amd
