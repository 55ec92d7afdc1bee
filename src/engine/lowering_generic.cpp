// Lowering, what no pattern and no kernel of its own takes: launches of the generic kernels.
#include "tile/mlir_pch.h"

#include "engine/elements.h"
#include "engine/generic_launches.h"
#include "engine/lowering.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace sinter::engine {

using plan::BufferId;
using plan::BufferKind;
using plan::Expr;
using plan::KernelId;

// Values of one launch: operands lie where they are, results get memory when they are asked for.
class Lowering::GenericMemory : public ValueMemory {
public:
  GenericMemory(Lowering &lowering, graph::LaunchOp launch)
      : lowering_(lowering), launch_(launch) {}

  Result<BoundView> view(Value value) override {
    Operation *main = graph::mainOf(launch_);
    for (auto [inner, outer] : llvm::zip_equal(main->getResults(), launch_.getResults()))
      if (inner == value) {
        auto found = lowering_.stored_.find(outer);
        return (found != lowering_.stored_.end() ? found->second : lowering_.allocate(outer))
            .view();
      }
    SINTER_ASSIGN(const Stored operand, lowering_.operand(value));
    return operand.view();
  }
  BoundView temporary(std::vector<Expr> extents, Type element) override {
    const ElementBytes size = elementBytes(element);
    Expr bytes(size.bytes);
    for (auto [axis, extent] : llvm::enumerate(extents)) // whole blocks along the last axis
      bytes = plan::mul(bytes, axis + 1 == extents.size() && size.length > 1
                                   ? plan::ceilDiv(extent, Expr(size.length))
                                   : extent);
    const BufferId buffer =
        lowering_.addBuffer("temp." + std::to_string(lowering_.plan_.buffers.size()),
                            BufferKind::Temp, plan::mul(bytes, lowering_.phase_));
    std::vector<Expr> strides = packedStrides(extents);
    return {buffer, Expr(0), std::move(extents), std::move(strides)};
  }
  BoundView constant(std::vector<Expr> extents, std::vector<uint8_t> bytes) override {
    const std::string digest = llvm::utohexstr(llvm::xxh3_64bits(bytes), /*LowerCase=*/true);
    const BufferId buffer = lowering_.constantBuffer("constant." + digest, std::move(bytes));
    std::vector<Expr> strides = packedStrides(extents);
    return {buffer, Expr(0), std::move(extents), std::move(strides)};
  }

private:
  Lowering &lowering_;
  graph::LaunchOp launch_;
};

template <class P>
static Result<KernelId> addKernel(KernelSet &kernels, std::string_view name, const P &params,
                                  void (*build)(kernel::KernelBuilder &, const P &),
                                  const std::string &variant) {
  std::vector<plan::KernelSlot> slots;
  if (!variant.empty())
    slots.push_back({"body", "map", variant});
  return kernels.add(name, params, build, slots);
}

static Result<KernelId> addKernel(KernelSet &kernels, const GenericLaunch &launch) {
  const std::string &variant = launch.variant;
  if (auto *map = std::get_if<kernels::MapViews>(&launch.params))
    return addKernel(kernels, "map_views", *map, kernels::mapViews, variant);
  if (auto *reduce = std::get_if<kernels::ReduceViews>(&launch.params))
    return addKernel(kernels, "reduce_views", *reduce, kernels::reduceViews, variant);
  if (auto *fold = std::get_if<kernels::FoldViews>(&launch.params))
    return addKernel(kernels, "fold_views", *fold, kernels::foldViews, variant);
  if (auto *iota = std::get_if<kernels::IotaViews>(&launch.params))
    return addKernel(kernels, "iota_views", *iota, kernels::iotaViews, variant);
  if (auto *gather = std::get_if<kernels::GatherViews>(&launch.params))
    return addKernel(kernels, "gather_views", *gather, kernels::gatherViews, variant);
  return addKernel(kernels, "gemm", std::get<kernels::Gemm>(launch.params), kernels::gemm, variant);
}

Result<void> Lowering::lowerGeneric(graph::LaunchOp launch) {
  if (!llvm::hasSingleElement(launch.getBody().front().without_terminator()))
    return fail(Code::Unsupported, "a generic kernel has slots filled, which it does not have");
  GenericMemory memory(*this, launch);
  SINTER_ASSIGN(const std::vector<GenericLaunch> launches,
                genericLaunches(graph::mainOf(launch), memory));
  for (const GenericLaunch &each : launches) {
    SINTER_ASSIGN(const KernelId kernel, addKernel(kernels_, each));
    addLaunch(steps_, kernel, {each.views.begin(), each.views.end()}, launch);
  }
  return {};
}

} // namespace sinter::engine
