// Builds kernel instances in tile form, and compiles them in shares, one thread and one MLIR
// context each.
#include "tile/mlir_pch.h"

#include "base/check.h"
#include "engine/kernel_set.h"

#include <atomic>
#include <mutex>
#include <thread>

namespace sinter::engine {

using plan::KernelId;

Result<KernelId> KernelSet::add(std::string_view name, std::string key, Build build) {
  if (auto found = ids_.find(key); found != ids_.end())
    return found->second;
  KernelId id{static_cast<uint32_t>(instances_.size())};
  std::string symbol = std::string(name) + "_" + std::to_string(id.index);
  tile::BuiltKernels built =
      tile::buildKernels(context_, [&](kernel::Module &module) { module.kernel(symbol, build); });
  if (!built.diagnostics.empty())
    return fail(Code::Internal, "kernel " + key + ": " + built.diagnostics.front().toString());
  ids_.emplace(key, id);
  instances_.push_back(
      {std::move(key), std::move(symbol), std::move(build), std::move(built.module)});
  return id;
}

tile::KernelOp KernelSet::kernel(KernelId id) const {
  SINTER_CHECK(id.index < instances_.size());
  mlir::ModuleOp module = *instances_[id.index].module;
  return *module.getOps<tile::KernelOp>().begin();
}

namespace {

// The kernels first, first + step, first + 2 step, ... and their code.
struct Share {
  std::vector<uint32_t> kernels;
  Result<target::CompiledModule> code = fail(Code::Cancelled, "not compiled");
};

} // namespace

// Compiles kernels in a context of its own, so that shares run side by side.
static Result<target::CompiledModule>
compileShare(const std::function<void(kernel::Module &)> &source, const target::Target &target) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::string messages;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      messages += ": " + diagnostic.str();
    return mlir::success();
  });
  tile::BuiltKernels built = tile::buildKernels(context, source);
  if (!built.diagnostics.empty())
    return fail(Code::Internal, built.diagnostics.front().toString());
  auto code = target.compilePart(*built.module, nullptr);
  if (!code)
    return fail(code.error().code, code.error().message + messages);
  return code;
}

// What the kernel's products multiply; f32 where it has none.
static Arithmetic arithmeticOf(tile::KernelOp kernel) {
  Arithmetic arithmetic = Arithmetic::F32;
  kernel.walk([&](tile::DotOp dot) {
    mlir::Type element = mlir::getElementTypeOrSelf(dot.getA());
    arithmetic = mlir::isa<tile::BlockType>(element) ? Arithmetic::I8
                 : element.isF16()                   ? Arithmetic::F16
                 : element.isBF16()                  ? Arithmetic::Bf16
                                                     : Arithmetic::F32;
  });
  return arithmetic;
}

Result<void> KernelSet::compile(const target::Target &target, uint32_t threads, plan::Plan &plan,
                                const Progress &progress) const {
  // More shares than threads even out unequal kernels.
  uint32_t count = std::max<uint32_t>(1, std::min<uint32_t>(threads * 3, instances_.size()));
  std::vector<Share> shares(count);
  for (uint32_t i = 0; i < instances_.size(); ++i)
    shares[i % count].kernels.push_back(i);
  std::atomic<uint32_t> next = 0, done = 0;
  std::mutex building;
  auto work = [&](auto report) {
    for (uint32_t at; (at = next++) < count;) {
      Share &share = shares[at];
      share.code = compileShare(
          [&](kernel::Module &module) {
            // Slots of one fused region are filled in several instances and keep what they
            // declared.
            std::lock_guard lock(building);
            for (uint32_t i : share.kernels)
              module.kernel(instances_[i].symbol, instances_[i].build);
          },
          target);
      report(++done);
    }
  };
  std::vector<std::thread> workers;
  for (uint32_t i = 1; i < std::min(threads, count); ++i)
    workers.emplace_back(work, [](uint32_t) {});
  progress("compiling kernels", 0, count);
  work([&](uint32_t finished) { progress("compiling kernels", finished, count); });
  for (std::thread &worker : workers)
    worker.join();
  progress("compiling kernels", count, count);

  std::vector<std::vector<uint8_t>> objects;
  plan.kernels.resize(instances_.size());
  for (Share &share : shares) {
    SINTER_ASSIGN(target::CompiledModule code, std::move(share.code));
    objects.push_back(std::move(code.code));
    SINTER_CHECK(code.kernels.size() == share.kernels.size());
    for (auto [index, emitted] : llvm::zip_equal(share.kernels, code.kernels)) {
      plan.kernels[index] = {instances_[index].key,
                             plan::ModuleId{0},
                             emitted.symbol,
                             static_cast<uint32_t>(emitted.bufferCount),
                             static_cast<uint32_t>(emitted.scalarCount),
                             static_cast<uint64_t>(emitted.scratchBytes),
                             static_cast<uint32_t>(emitted.threads),
                             static_cast<uint64_t>(emitted.sharedBytes),
                             emitted.overlaps,
                             arithmeticOf(kernel({index}))};
    }
  }
  SINTER_ASSIGN(std::vector<uint8_t> shared, target.link(objects));
  plan.modules = {{target.name(), std::move(shared)}};
  return {};
}

} // namespace sinter::engine
