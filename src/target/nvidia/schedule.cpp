// The scheduling passes in order, with what NVIDIA's processors have.
#include "target/nvidia/schedule.h"
#include "sched/assign_lanes.h"
#include "sched/distribute.h"
#include "sched/expand_math.h"
#include "sched/matrix_instructions.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::target::nvidia {

static sched::LaneFacts laneFacts(const NvidiaFacts &facts) {
  sched::LaneFacts lanes;
  lanes.maxShared = facts.sharedBytes;
  lanes.maxRegisters = facts.registers;
  for (const sched::MatrixInstruction &instruction : sched::matrixInstructions())
    if (StringRef(instruction.name).starts_with("nvidia.mma."))
      lanes.instructions.push_back(instruction.name);
  return lanes;
}

static LogicalResult simplify(ModuleOp module) {
  PassManager passes(module.getContext());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  return passes.run(module);
}

Result<OwningOpRef<ModuleOp>> scheduleForLanes(ModuleOp source, const NvidiaFacts &facts) {
  source.getContext()
      ->loadDialect<sched::SchedDialect, tile::TileDialect, arith::ArithDialect, math::MathDialect,
                    scf::SCFDialect, vector::VectorDialect>();
  OwningOpRef<ModuleOp> module(cast<ModuleOp>(source->clone()));
  if (failed(simplify(*module)))
    return fail(Code::Internal, "the kernels are not well formed");
  const sched::LaneFacts lanes = laneFacts(facts);
  for (auto kernel : llvm::make_early_inc_range(module->getOps<tile::KernelOp>())) {
    if (kernel->hasAttr("sched.threads"))
      continue;
    std::string name = "kernel '" + kernel.getSymName().str() + "'";
    if (failed(sched::expandMath(kernel)))
      return fail(Code::Unsupported, name + ": its arithmetic could not be expanded");
    if (failed(simplify(*module)) || failed(sched::assignLanes(kernel, lanes)))
      return fail(Code::Unsupported, name + " could not be laid out over threads");
    if (failed(sched::distribute(kernel, lanes)))
      return fail(Code::Unsupported, name + " could not be distributed over threads");
  }
  if (failed(simplify(*module)))
    return fail(Code::Internal, "the scheduled form of the kernels is not well formed");
  return module;
}

} // namespace sinter::target::nvidia
