// So many elements a thread, by what the kernel does with them.
#include "tile/mlir_pch.h"

#include "sched/simt/choose_threads.h"
#include "sched/simt/dot_layouts.h"

using namespace mlir;

namespace sinter::sched {

// Elements that a thread should hold of the largest tile.
static constexpr int64_t kElementsPerThread = 32;
// Where rows are reduced fewer threads have less to exchange (rms_norm and layer_norm of 8192
// columns on an H200: 2 and 6 % faster than with half as many elements).
static constexpr int64_t kReducedPerThread = 64;
static constexpr int64_t kAccumulatorsPerThread = 32;
// Of a block whose subgroups read operands from shared memory for every step: 64 x 64 a subgroup
// reads least for its matmuls.
static constexpr int64_t kOpaqueAccumulatorsPerThread = 128;
static constexpr int64_t kFewestOpaqueThreads = 128;
// Small-M matmuls keep a subgroup busy by their columns alone.
static constexpr int64_t kColumnsPerSubgroup = 8;
static constexpr int64_t kMostStreamThreads = 512;
static constexpr int64_t kMostDotThreads = 256;

namespace {
struct Work {
  int64_t elements = 1;          // of the largest tile
  int64_t smallMColumns = 0;     // of the widest small-M matmul
  int64_t backToBackThreads = 0; // of chained matmuls that read pipelines
  bool dots = false, largeMDots = false, reduces = false, opaque = false;
};
} // namespace

static int64_t opaqueThreads(tile::DotOp dot) {
  int64_t accumulators = cast<RankedTensorType>(dot.getResult().getType()).getNumElements();
  int64_t wanted = llvm::PowerOf2Ceil(llvm::divideCeil(accumulators, kOpaqueAccumulatorsPerThread));
  return std::clamp(wanted, kFewestOpaqueThreads, kMostDotThreads);
}

// Groups that share the rows of a loop's matmuls, each as many as its instruction has, where one
// matmul's accumulators become another's operand and all of them read pipelines; 0 for other
// kernels.
static int64_t backToBackThreads(tile::KernelOp kernel, const SimtFacts &facts) {
  int64_t threads = 0, products = 0;
  WalkResult all = kernel.walk([&](tile::DotOp dot) {
    int64_t wanted = backToBackThreadsOf(dot, facts);
    if (wanted == 0 || (threads && wanted != threads))
      return WalkResult::interrupt();
    threads = wanted;
    ++products;
    return WalkResult::advance();
  });
  return all.wasInterrupted() || products < 2 || threads > kMostDotThreads ? 0 : threads;
}

static Work workOf(tile::KernelOp kernel, const SimtFacts &facts) {
  Work work;
  work.backToBackThreads = backToBackThreads(kernel, facts);
  kernel.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto tile = dyn_cast<RankedTensorType>(type);
          tile && !isa<tile::BlockType>(tile.getElementType()))
        work.elements = std::max(work.elements, tile.getNumElements());
    work.reduces |= isa<tile::ReduceOp>(op);
    auto dot = dyn_cast<tile::DotOp>(op);
    work.dots |= static_cast<bool>(dot);
    work.opaque |= dot && findOpaqueInstruction(dot, opaqueThreads(dot), facts);
    work.largeMDots |= dot && !hasSmallM(dot);
    if (dot && hasSmallM(dot))
      work.smallMColumns = std::max(
          work.smallMColumns, cast<RankedTensorType>(dot.getResult().getType()).getDimSize(1));
  });
  return work;
}

int64_t chooseThreads(tile::KernelOp kernel, const SimtFacts &facts) {
  Work work = workOf(kernel, facts);
  if (work.backToBackThreads)
    return work.backToBackThreads;
  int64_t perThread = work.opaque    ? kOpaqueAccumulatorsPerThread
                      : work.dots    ? kAccumulatorsPerThread
                      : work.reduces ? kReducedPerThread
                                     : kElementsPerThread;
  int64_t wanted = work.smallMColumns && !work.largeMDots
                       ? llvm::divideCeil(work.smallMColumns, kColumnsPerSubgroup) * facts.subgroup
                       : llvm::divideCeil(work.elements, perThread);
  if (work.opaque)
    wanted = std::max(wanted, kFewestOpaqueThreads);
  int64_t limit = std::min(facts.maxThreads, work.dots ? kMostDotThreads : kMostStreamThreads);
  return std::clamp<int64_t>(llvm::PowerOf2Ceil(wanted), facts.subgroup, limit);
}

} // namespace sinter::sched
