// Expand, assign layouts, distribute; canonical in between.
#include "sched/simt/schedule.h"
#include "sched/expand_float8.h"
#include "sched/expand_math.h"
#include "sched/simt/add_shares.h"
#include "sched/simt/assign_layouts.h"
#include "sched/simt/choose_threads.h"
#include "sched/simt/decisions.h"
#include "sched/simt/distribute/distribute.h"
#include "sched/simt/dot_layouts.h"
#include "sched/simt/expand_blocks.h"
#include "sched/simt/fold_ranges.h"
#include "sched/simt/fold_sums.h"
#include "sched/simt/group_programs.h"
#include "sched/simt/hoist_loads.h"
#include "sched/simt/layout.h"
#include "sched/simt/opaque_dots.h"
#include "sched/simt/overlap_launches.h"
#include "sched/simt/part_dots.h"
#include "sched/simt/pipeline_back_to_back.h"
#include "sched/simt/pipeline_dots.h"
#include "sched/simt/prefetch_loads.h"
#include "sched/simt/reduce_dots.h"
#include "sched/simt/split_dots.h"
#include "sched/simt/verify_pipelines.h"

using namespace mlir;

namespace sinter::sched {

// Of loads, for each thread: a quarter of its registers.
static constexpr int64_t kEarlyElements = 64;

static LogicalResult simplify(ModuleOp module) {
  PassManager passes(module.getContext());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  return passes.run(module);
}

// Divisions of f32 tiles that a kernel's source asks for may be the processor's own. Those that
// quantising adds stay exact.
static void relaxDivisions(ModuleOp module) {
  module.walk([](arith::DivFOp op) {
    auto tile = dyn_cast<RankedTensorType>(op.getType());
    if (tile && tile.getElementType().isF32())
      op.setFastmath(op.getFastmath() | arith::FastMathFlags::arcp);
  });
}

// Whether the kernel has matmuls, all of few rows.
static bool hasOnlySmallM(tile::KernelOp kernel) {
  bool any = false, few = true;
  kernel.walk([&](tile::DotOp dot) {
    any = true;
    few &= hasSmallM(dot);
  });
  return any && few;
}

static void markStream(tile::KernelOp kernel) {
  if (!kernel.walk([](tile::DotOp) { return WalkResult::interrupt(); }).wasInterrupted())
    kernel->setAttr(kStreams, UnitAttr::get(kernel.getContext()));
}

// A kernel's decision on its threads, if any, is one that the processor can take.
static Result<void> checkThreads(tile::KernelOp kernel, const SimtFacts &facts) {
  const int64_t fewest = std::max(kFewestThreads, facts.subgroup);
  const int64_t threads = decisionOf(kernel, kThreads, fewest);
  if (threads >= fewest && threads <= facts.maxThreads && llvm::isPowerOf2_64(threads))
    return {};
  return fail(Code::InvalidArgument,
              "kernel '" + kernel.getSymName().str() + "' decides on " + std::to_string(threads) +
                  " threads, expected a power of two from " + std::to_string(fewest) + " to " +
                  std::to_string(facts.maxThreads));
}

// Threads, the order of programs, and what is loaded ahead.
static void schedule(tile::KernelOp kernel, const SimtFacts &facts) {
  const bool few = hasOnlySmallM(kernel);
  int64_t threads = splitDots(kernel, facts);
  if (few || threads)
    kernel->setAttr(kLatencyBound, UnitAttr::get(kernel.getContext()));
  if (!threads)
    threads = decisionOf(kernel, kThreads, chooseThreads(kernel, facts));
  kernel->setAttr(kThreadsName, Builder(kernel.getContext()).getI64IntegerAttr(threads));
  groupPrograms(kernel);
  hoistLoads(kernel, threads, kEarlyElements);
  if (facts.overlapsLaunches)
    overlapLaunches(kernel);
  if (facts.asyncCopies) {
    addShares(kernel, facts);
    threads = kernel->getAttrOfType<IntegerAttr>(kThreadsName).getInt();
    pipelineBackToBack(kernel, threads, facts);
  }
  pipelineDots(kernel, threads, facts);
  opaqueDots(kernel, threads, facts);
}

// A kernel with threads may have tiles still, fetched ahead as its author wants.
static bool hasSimtForm(tile::KernelOp kernel) {
  return kernel->hasAttr(kThreadsName) &&
         !kernel->walk([](MakePipelineOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

Result<OwningOpRef<ModuleOp>> scheduleSimt(ModuleOp source, const SimtFacts &facts,
                                           function_ref<void(ModuleOp)> laidOut) {
  source.getContext()
      ->loadDialect<SchedDialect, tile::TileDialect, arith::ArithDialect, math::MathDialect,
                    scf::SCFDialect, vector::VectorDialect>();
  OwningOpRef<ModuleOp> module(cast<ModuleOp>(source->clone()));
  if (llvm::all_of(source.getOps<tile::KernelOp>(), hasSimtForm)) {
    if (laidOut)
      laidOut(source);
    return module;
  }
  if (failed(expandFloat8(*module)))
    return fail(Code::Unsupported, "the kernel's 8-bit floats could not be expanded");
  if (facts.ownDivision)
    relaxDivisions(*module);
  for (auto kernel : module->getOps<tile::KernelOp>())
    SINTER_TRY(checkThreads(kernel, facts));
  for (auto kernel : module->getOps<tile::KernelOp>())
    if (failed(expandBlocks(kernel, facts)))
      return fail(Code::Unsupported, "kernel '" + kernel.getSymName().str() +
                                         "': its block formats could not be expanded");
  for (auto kernel : module->getOps<tile::KernelOp>())
    if (!kernel->hasAttr(kThreadsName)) {
      partDots(kernel, facts);
      markStream(kernel);
      reduceDots(kernel, facts);
    }
  if (failed(expandMath(*module, facts.ownExp2)) || failed(simplify(*module)))
    return fail(Code::Unsupported, "the kernel's arithmetic could not be expanded");
  for (auto kernel : module->getOps<tile::KernelOp>()) {
    if (!kernel->hasAttr(kThreadsName))
      schedule(kernel, facts);
    if (failed(verifyPipelines(kernel, facts)))
      return fail(Code::Unsupported, "kernel '" + kernel.getSymName().str() +
                                         "' is not scheduled as the processor needs it");
    assignLayouts(kernel, facts);
  }
  if (laidOut)
    laidOut(*module);
  for (auto kernel : module->getOps<tile::KernelOp>())
    if (failed(distribute(kernel, facts)))
      return fail(Code::Unsupported, "kernel '" + kernel.getSymName().str() +
                                         "' could not be distributed over threads");
  if (failed(simplify(*module)) || failed(foldRanges(*module, facts.selectsAddresses)) ||
      failed(simplify(*module)))
    return fail(Code::Internal, "the distributed form of the kernels could not be simplified");
  bool ahead = false;
  for (auto kernel : module->getOps<tile::KernelOp>()) {
    foldSums(kernel);
    if (kernel->hasAttr(kReadsAhead)) {
      prefetchLoads(kernel, facts);
      ahead = true;
    }
  }
  if ((ahead && failed(simplify(*module))) || failed(verify(*module)))
    return fail(Code::Internal, "the distributed form of the kernels is not well formed");
  return module;
}

} // namespace sinter::sched
