// The passes that all targets of threads share, with what AMD's processors have.
#include "targets/amd/schedule.h"
#include "sched/sched.h"
#include "sched/simt/schedule.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::targets::amd {

sched::SimtFacts simtFacts(const AmdFacts &facts) {
  sched::SimtFacts simt;
  simt.subgroup = facts.subgroup;
  simt.maxThreads = facts.maxThreads;
  simt.maxShared = facts.sharedBytes;
  simt.maxRegisters = facts.registers;
  simt.ownExp2 = sched::OwnExp2::Everywhere; // v_exp_f32
  simt.ownDivision = true;                   // v_rcp_f32 and a product
  simt.sharesDepth = true;
  simt.bfloatPairs = false;
  for (std::string_view instruction : facts.instructions)
    simt.instructions.emplace_back(instruction);
  return simt;
}

Result<OwningOpRef<ModuleOp>> scheduleSimt(ModuleOp source, const AmdFacts &facts) {
  return sched::scheduleSimt(source, simtFacts(facts));
}

} // namespace sinter::targets::amd
