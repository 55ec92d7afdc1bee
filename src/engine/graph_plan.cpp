// A function by itself, its symbols declared, its outputs in memory of their own, fused and
// lowered.
#include "tile/mlir_pch.h"

#include "engine/choice/fusion.h"
#include "engine/constant_views.h"
#include "engine/graph_plan.h"
#include "engine/lowering.h"
#include "graph/rewrite/passes.h"
#include "mlir/IR/Verifier.h"
#include "plan/validate.h"
#include "targets/registry.h"

#include <thread>

using namespace mlir;

namespace sinter::engine {

// Kernels count elements in 32 bits.
static constexpr int64_t kMostExtent = INT32_MAX;

// The function as a module of its own, which declares every symbol.
static OwningOpRef<ModuleOp> moduleOf(func::FuncOp function) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(function.getLoc());
  module->push_back(function.clone());
  SmallVector<graph::SymbolAttr> symbols;
  if (auto parent = function->getParentOfType<ModuleOp>())
    symbols = graph::symbolsOf(parent);
  Builder b(function.getContext());
  for (graph::SymbolUse use; (use = graph::undeclaredSymbol(*module, symbols)).op;)
    symbols.push_back(graph::SymbolAttr::get(b.getContext(), b.getStringAttr(use.symbol), 0,
                                             kMostExtent, graph::SymbolRole::Extent));
  graph::declareSymbols(*module, symbols);
  return module;
}

std::string outputBuffer(func::FuncOp function, StringRef name) {
  for (Operation &op : function.getBody().front()) {
    auto input = dyn_cast<graph::InputOp>(op);
    auto state = dyn_cast<graph::StateOp>(op);
    auto weight = dyn_cast<graph::WeightOp>(op);
    if ((input && input.getName() == name) || (state && state.getName() == name) ||
        (weight && llvm::is_contained(weight.getTensors().getAsValueRange<StringAttr>(), name)))
      return (name + " (output)").str();
  }
  return name.str();
}

// Elements of a head that a program normalizes.
static constexpr int64_t kMostNormedHead = 1024;

static Value copyOf(OpBuilder &b, Location at, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  const auto order = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  return graph::TransposeOp::create(b, at, type, value, b.getDenseI64ArrayAttr(order));
}

// Names the outputs as their buffers. Reshapes and slices are views, and what comes from outside
// has memory already: an output of one, or of what another output has, gets a copy. So does a
// reshape that would join columns apart.
static void giveOutputsMemory(func::FuncOp function) {
  llvm::SmallDenseSet<Value> named;
  for (Operation &op : llvm::make_early_inc_range(function.getBody().front())) {
    OpBuilder b(&op);
    if (auto output = dyn_cast<graph::OutputOp>(op)) {
      output.setName(outputBuffer(function, output.getName()));
      Operation *made = output.getValue().getDefiningOp();
      const bool launched = made && graph::isLaunched(made) &&
                            (!graph::stateBefore(made) ||
                             output.getValue() != graph::stateAfter(made));
      if (!launched || !named.insert(output.getValue()).second)
        op.setOperand(0, copyOf(b, op.getLoc(), output.getValue()));
    } else if (auto reshape = dyn_cast<graph::ReshapeOp>(op)) {
      Operation *made = reshape.getValue().getDefiningOp();
      if (isa_and_present<graph::ReshapeOp, graph::SliceOp>(made) && !graph::isLaunched(made) &&
          !reshape.keepsRows())
        op.setOperand(0, copyOf(b, op.getLoc(), reshape.getValue()));
    }
  }
}

static bool hasKernel(graph::NormOp norm) {
  RankedTensorType type = norm.getValue().getType();
  return norm.isRmsOfRows() && weightOf(norm.getWeight()) &&
         (type.getRank() == 2 ||
          (type.getRank() == 3 && !type.isDynamicDim(1) && !type.isDynamicDim(2) &&
           type.getDimSize(2) <= kMostNormedHead));
}

Result<plan::Plan> buildGraphPlan(func::FuncOp function, const GraphPlanOptions &options,
                                  const Progress &progress) {
  SINTER_ASSIGN(const std::unique_ptr<targets::Target> target, targets::findTarget(options.target));
  const TargetProfile &profile = target->profile();
  OwningOpRef<ModuleOp> module = moduleOf(function);
  graph::decomposeNorms(*module, [](graph::NormOp norm) { return !hasKernel(norm); });
  giveOutputsMemory(*module->getOps<func::FuncOp>().begin());
  graph::FuseOptions fusion = fuseOptions(profile);
  fusion.keepsPairs = !options.ownsStates;
  graph::fuse(*module, fusion);
  if (failed(verify(*module)))
    return fail(Code::Internal, "fusion left a graph that is not well formed");
  KernelSet kernels(*function.getContext(), target.get());
  LoweringOptions lowering{profile, Activations::F32};
  lowering.namesPlaces = true;
  SINTER_ASSIGN(plan::Plan plan, Lowering(kernels, lowering).run(*module));
  markConstantViews(plan, kernels);
  if (!kernels.size())
    return fail(Code::Unsupported, "the graph computes nothing, expected an output");
  const uint32_t threads =
      std::max(1u, options.threads ? options.threads : std::thread::hardware_concurrency());
  SINTER_TRY(kernels.compile(*target, threads, plan, progress));
  SINTER_TRY(plan::validate(plan));
  return std::move(plan);
}

} // namespace sinter::engine
