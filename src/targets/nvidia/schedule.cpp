// The passes that all targets of threads share, with what NVIDIA's processors have.
#include "targets/nvidia/schedule.h"
#include "sched/simt/matrix_instructions.h"
#include "sched/simt/schedule.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::targets::nvidia {

static sched::LaneFacts laneFacts(const NvidiaFacts &facts) {
  sched::LaneFacts lanes;
  lanes.maxShared = facts.sharedBytes;
  lanes.maxRegisters = facts.registers;
  lanes.ownExp2 = sched::OwnExp2::Everywhere;
  lanes.ownDivision = true;
  lanes.asyncCopies = lanes.matrixLoads = true;
  lanes.overlapsLaunches = facts.overlapsLaunches;
  for (const sched::MatrixInstruction &instruction : sched::matrixInstructions()) {
    StringRef name = instruction.name;
    if (name.starts_with("nvidia.mma.") ||
        (facts.groupProducts && name.starts_with("nvidia.wgmma.")))
      lanes.instructions.push_back(instruction.name);
  }
  return lanes;
}

Result<OwningOpRef<ModuleOp>> scheduleForLanes(ModuleOp source, const NvidiaFacts &facts,
                                               function_ref<void(ModuleOp)> laidOut) {
  return sched::scheduleForLanes(source, laneFacts(facts), laidOut);
}

} // namespace sinter::targets::nvidia
