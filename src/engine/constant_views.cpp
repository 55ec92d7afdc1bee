// Two passes over the plan's steps: what is written, and which of each kernel's views meet only
// what is not.
#include "tile/mlir_pch.h"

#include "engine/constant_views.h"
#include "plan/walk.h"

#include <set>

namespace sinter::engine {

template <class Visit> static void visitSteps(const plan::Plan &plan, Visit visit) {
  for (const plan::Procedure &procedure : plan.procedures)
    for (plan::StepWalker walker(procedure.steps); walker.next();)
      if (walker.event() == plan::WalkEvent::Step)
        std::visit(visit, walker.step().op);
}

// A kernel's views, in the order in which launches bind buffers to them.
static llvm::SmallVector<mlir::BlockArgument> viewsOf(tile::KernelOp kernel) {
  llvm::SmallVector<mlir::BlockArgument> views;
  for (mlir::BlockArgument argument : kernel.getArguments())
    if (mlir::isa<tile::ViewType>(argument.getType()))
      views.push_back(argument);
  return views;
}

static std::set<plan::BufferId> writtenBuffers(const plan::Plan &plan, const KernelSet &kernels) {
  std::set<plan::BufferId> written;
  visitSteps(plan,
             llvm::makeVisitor(
                 [&](const plan::Launch &launch) {
                   auto views = viewsOf(kernels.kernel(launch.kernel));
                   for (auto [view, bound] : llvm::zip(views, launch.buffers))
                     if (mlir::cast<tile::ViewType>(view.getType()).isWritable())
                       written.insert(bound.buffer);
                 },
                 [&](const plan::Copy &copy) { written.insert(copy.dst); }, [](const auto &) {}));
  return written;
}

static bool isReadOnly(plan::BufferKind kind) {
  return kind == plan::BufferKind::Weight || kind == plan::BufferKind::Constant ||
         kind == plan::BufferKind::Input;
}

void markConstantViews(const plan::Plan &plan, KernelSet &kernels) {
  const std::set<plan::BufferId> written = writtenBuffers(plan, kernels);
  std::set<std::pair<uint32_t, unsigned>> launched, changing; // kernel, argument
  visitSteps(
      plan,
      llvm::makeVisitor(
          [&](const plan::Launch &launch) {
            auto views = viewsOf(kernels.kernel(launch.kernel));
            for (auto [view, bound] : llvm::zip(views, launch.buffers)) {
              const bool constant = isReadOnly(plan.buffers[bound.buffer.index].kind) &&
                                    !written.contains(bound.buffer);
              (constant ? launched : changing).insert({launch.kernel.index, view.getArgNumber()});
            }
          },
          [](const auto &) {}));
  for (const auto &[kernel, argument] : launched)
    if (!changing.contains({kernel, argument}))
      tile::setConstant(kernels.kernel({kernel}), argument);
}

} // namespace sinter::engine
