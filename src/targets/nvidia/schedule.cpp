// The passes that all targets of threads share, with what NVIDIA's processors have.
#include "targets/nvidia/schedule.h"
#include "sched/simt/matrix_instructions.h"
#include "sched/simt/schedule.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::targets::nvidia {

sched::SimtFacts simtFacts(const NvidiaFacts &facts) {
  sched::SimtFacts simt;
  simt.maxShared = facts.sharedBytes;
  simt.maxRegisters = facts.registers;
  simt.ownExp2 = sched::OwnExp2::Everywhere;
  simt.ownDivision = true;
  simt.asyncCopies = simt.matrixLoads = simt.sharesDepth = true;
  simt.overlapsLaunches = facts.overlapsLaunches;
  simt.programBlocks = facts.clusterBlocks;
  for (const sched::MatrixInstruction &instruction : sched::matrixInstructions()) {
    StringRef name = instruction.name;
    if (name.starts_with("nvidia.mma.") ||
        (facts.groupMatmuls && name.starts_with("nvidia.wgmma.")))
      simt.instructions.push_back(instruction.name);
  }
  return simt;
}

Result<OwningOpRef<ModuleOp>> scheduleSimt(ModuleOp source, const NvidiaFacts &facts,
                                           function_ref<void(ModuleOp)> laidOut) {
  return sched::scheduleSimt(source, simtFacts(facts), laidOut);
}

} // namespace sinter::targets::nvidia
