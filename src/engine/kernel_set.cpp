// Builds kernel instances in tile form, and compiles them in shares, one thread and one MLIR
// context each.
#include "tile/mlir_pch.h"

#include "base/check.h"
#include "base/sha256.h"
#include "engine/kernel_set.h"
#include "plan/plan_text.h"

#include <atomic>
#include <mutex>
#include <thread>

namespace sinter::engine {

using plan::KernelId;

// Of a digest, enough for any number of kernels.
static constexpr size_t kContentDigits = 32;

// The decisions that are none of the kernel's parameters: the target's.
static std::vector<std::pair<std::string, int64_t>>
decisionsOfTarget(const ScheduleChoice &choice, const ScheduleChoice &blocks) {
  std::vector<std::pair<std::string, int64_t>> decisions;
  for (const auto &[name, value] : choice.values)
    if (!blocks.values.contains(name))
      decisions.emplace_back(name, value);
  return decisions;
}

static tile::KernelOp kernelOf(mlir::ModuleOp module) {
  return *module.getOps<tile::KernelOp>().begin();
}

std::string KernelSet::textOf(std::string_view name, const Form &form) {
  return plan::kernelText(name, form.parameters, form.slots);
}

Result<mlir::OwningOpRef<mlir::ModuleOp>> KernelSet::build(const std::string &symbol,
                                                           const Form &form) {
  tile::BuiltKernels built = tile::buildKernels(
      context_, [&](kernel::Module &module) { module.kernel(symbol, form.build); });
  if (!built.diagnostics.empty())
    return fail(Code::Internal,
                "kernel " + textOf(symbol, form) + ": " + built.diagnostics.front().toString());
  return std::move(built.module);
}

// What a kernel is, in words that are the same in each plan (without the strides of its launches
// there), and what may be chosen about it.
Result<const KernelSet::Source *> KernelSet::sourceOf(std::string_view name, BlockSpace blocks,
                                                      const Form &rules) {
  const std::string key = textOf(name, rules);
  if (auto found = sources_.find(key); found != sources_.end())
    return &found->second;
  SINTER_ASSIGN(mlir::OwningOpRef<mlir::ModuleOp> module, build(std::string(name), rules));
  std::vector<ScheduleDecision> ofTarget;
  if (target_)
    ofTarget = target_->decisions(kernelOf(*module));
  Source source{"", {std::move(blocks), rules.blocks, std::move(ofTarget)}};
  if (!source.space.empty()) {
    const std::string text = target_ ? target_->name() : "", form = targets::printed(*module);
    auto bytes = [](const std::string &s) {
      return std::span(reinterpret_cast<const uint8_t *>(s.data()), s.size());
    };
    SINTER_ASSIGN(const Sha256Digest digest, sha256({bytes(text), bytes(form)}));
    source.content = digest.hex().substr(0, kContentDigits);
  }
  return &sources_.emplace(key, std::move(source)).first->second;
}

Result<ScheduleChoice> KernelSet::scheduleOf(std::string_view name, const Source &source) const {
  auto found = source.content.empty() ? tuning_.end() : tuning_.find(source.content);
  if (found == tuning_.end())
    return ScheduleChoice{};
  if (!source.space.contains(found->second))
    return fail(Code::InvalidArgument, "tuning gives kernel " + std::string(name) + " (" +
                                           source.content + ") the schedule " +
                                           found->second.text() + ", which is none of its own");
  return found->second;
}

Result<KernelId> KernelSet::add(std::string_view name, BlockSpace blocks, MakeForm form) {
  SINTER_ASSIGN(const Source *source, sourceOf(name, std::move(blocks), form({})));
  SINTER_ASSIGN(ScheduleChoice schedule, scheduleOf(name, *source));
  Form chosen = form(schedule);
  auto decisions = decisionsOfTarget(schedule, chosen.blocks);
  llvm::append_range(decisions, chosen.decided);
  for (const auto &[decision, value] : decisions)
    chosen.parameters.push_back({decision, plan::ParameterKind::Number, value, ""});
  std::string key = textOf(name, chosen);
  // Two kernels that tuning makes alike stay two, since each has its own content and a step its
  // launches under any schedules.
  if (auto found = ids_.find(key);
      found != ids_.end() && instances_[found->second.index].source != source)
    key += " content " + source->content;
  if (auto found = ids_.find(key); found != ids_.end())
    return found->second;
  KernelId id{static_cast<uint32_t>(instances_.size())};
  std::string symbol = std::string(name) + "_" + std::to_string(id.index);
  SINTER_ASSIGN(mlir::OwningOpRef<mlir::ModuleOp> module, build(symbol, chosen));
  if (!decisions.empty())
    tile::setSchedule(kernelOf(*module), decisions);
  ids_.emplace(key, id);
  instances_.push_back({std::move(key), std::string(name), std::move(symbol), std::move(chosen),
                        std::move(module), std::move(schedule), source});
  return id;
}

static std::vector<int64_t> constantStrides(const BoundView &view) {
  std::vector<int64_t> strides;
  for (const plan::Expr &stride : view.strides)
    strides.push_back(stride.constant().value_or(mlir::ShapedType::kDynamic));
  return strides;
}

void KernelSet::addLaunch(KernelId id, const std::vector<BoundArgument> &arguments) {
  tile::KernelOp launched = kernel(id);
  for (auto [argument, bound] : llvm::enumerate(arguments)) {
    auto *view = std::get_if<BoundView>(&bound);
    if (!view)
      continue;
    std::vector<int64_t> strides = constantStrides(*view);
    if (auto before = tile::stridesOf(launched, argument); !before.empty())
      for (auto [stride, other] : llvm::zip_equal(strides, before))
        stride = stride == other ? stride : mlir::ShapedType::kDynamic;
    tile::setStrides(launched, argument, strides);
  }
}

tile::KernelOp KernelSet::kernel(KernelId id) const {
  SINTER_CHECK(id.index < instances_.size());
  return kernelOf(*instances_[id.index].module);
}

namespace {

// Attributes belong to a context.
std::vector<std::pair<std::string, int64_t>> numbersOf(mlir::DictionaryAttr schedule) {
  std::vector<std::pair<std::string, int64_t>> numbers;
  for (mlir::NamedAttribute number : schedule)
    numbers.emplace_back(number.getName().str(),
                         mlir::cast<mlir::IntegerAttr>(number.getValue()).getInt());
  return numbers;
}

// What the plan's launches tell of the arguments.
void copyArgumentFacts(tile::KernelOp from, tile::KernelOp to) {
  for (unsigned argument = 0; argument < from.getNumArguments(); ++argument) {
    if (auto strides = tile::stridesOf(from, argument); !strides.empty())
      tile::setStrides(to, argument, strides);
    if (tile::isConstant(from, argument))
      tile::setConstant(to, argument);
  }
}

} // namespace

// Compiles a kernel in a context of its own, so that several run side by side.
Result<targets::CompiledModule> KernelSet::compileOne(plan::KernelId id,
                                                      const targets::Target &target,
                                                      CommonSymbol common,
                                                      std::mutex &building) const {
  const Instance &instance = instances_[id.index];
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::string messages;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      messages += ": " + diagnostic.str();
    return mlir::success();
  });
  tile::BuiltKernels built = tile::buildKernels(context, [&](kernel::Module &module) {
    // Slots of one fused region are filled in several instances and keep what they declared.
    std::lock_guard lock(building);
    module.kernel(common.empty() ? instance.symbol : std::string(common), instance.form.build);
  });
  if (!built.diagnostics.empty())
    return fail(Code::Internal, built.diagnostics.front().toString());
  if (mlir::DictionaryAttr schedule = tile::scheduleOf(kernel(id)))
    tile::setSchedule(kernelOf(*built.module), numbersOf(schedule));
  copyArgumentFacts(kernel(id), kernelOf(*built.module));
  auto code = target.compilePart(*built.module, nullptr);
  if (!code)
    return fail(code.error().code, code.error().message + messages);
  SINTER_CHECK(code->kernels.size() == 1);
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

// Kernels are taken one by one, so that unequal ones even out and none waits for another's context
// to grow (Q3_K_M of Llama-3.2-1B's shape on two threads: 4.9 s; 6.0 in six shares).
Result<std::vector<targets::CompiledModule>> KernelSet::compileAll(const targets::Target &target,
                                                                   CommonSymbol common,
                                                                   uint32_t threads,
                                                                   const Progress &progress) const {
  const auto count = static_cast<uint32_t>(instances_.size());
  std::vector<Result<targets::CompiledModule>> code(
      count, Result<targets::CompiledModule>(fail(Code::Cancelled, "not compiled")));
  std::atomic<uint32_t> next = 0, done = 0;
  std::mutex building;
  auto work = [&](auto report) {
    for (uint32_t at; (at = next++) < count;) {
      code[at] = compileOne({at}, target, common, building);
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
  std::vector<targets::CompiledModule> modules;
  for (uint32_t i = 0; i < count; ++i) {
    if (!code[i] && !instances_[i].schedule.byRules())
      return fail(Code::InvalidArgument, "kernel " + instances_[i].key + " with schedule " +
                                             instances_[i].schedule.text() + ": " +
                                             code[i].error().message);
    SINTER_ASSIGN(targets::CompiledModule module, std::move(code[i]));
    modules.push_back(std::move(module));
  }
  return modules;
}

plan::Kernel KernelSet::planned(plan::KernelId id, const targets::EmittedKernel &emitted) const {
  const Instance &instance = instances_[id.index];
  return plan::Kernel{instance.name,
                      plan::ModuleId{0},
                      emitted.symbol,
                      static_cast<uint32_t>(emitted.bufferCount),
                      static_cast<uint32_t>(emitted.scalarCount),
                      static_cast<uint64_t>(emitted.scratchBytes),
                      static_cast<uint32_t>(emitted.threads),
                      static_cast<uint64_t>(emitted.sharedBytes),
                      emitted.overlaps,
                      arithmeticOf(this->kernel(id)),
                      instance.source->content,
                      instance.schedule,
                      instance.source->space.alternatives(),
                      instance.form.parameters,
                      instance.form.slots};
}

Result<void> KernelSet::compile(const targets::Target &target, uint32_t threads, plan::Plan &plan,
                                const Progress &progress) const {
  SINTER_ASSIGN(std::vector<targets::CompiledModule> modules,
                compileAll(target, {}, threads, progress));
  std::vector<std::vector<uint8_t>> objects;
  for (uint32_t i = 0; i < modules.size(); ++i) {
    objects.push_back(std::move(modules[i].code));
    plan.kernels.push_back(planned({i}, modules[i].kernels.front()));
  }
  SINTER_ASSIGN(std::vector<uint8_t> shared, target.link(objects));
  plan.modules = {{target.name(), std::move(shared)}};
  return {};
}

void KernelSet::outline(plan::Plan &plan) const {
  for (uint32_t i = 0; i < instances_.size(); ++i)
    plan.kernels.push_back(planned({i}, {.symbol = instances_[i].symbol}));
}

static Result<std::string> digestOf(const targets::CompiledModule &module,
                                    const targets::Target &target) {
  const targets::EmittedKernel &kernel = module.kernels.front();
  std::string needs = target.name();
  for (int64_t need : {kernel.bufferCount, kernel.scalarCount, kernel.scratchBytes, kernel.threads,
                       kernel.sharedBytes, int64_t(kernel.overlaps)})
    needs += " " + std::to_string(need);
  SINTER_ASSIGN(const std::vector<uint8_t> code,
                target.partsAreStable() ? module.code : target.link({&module.code, 1}));
  const auto *bytes = reinterpret_cast<const uint8_t *>(needs.data());
  SINTER_ASSIGN(const Sha256Digest digest, sha256({std::span(bytes, needs.size()), code}));
  return digest.hex().substr(0, kContentDigits);
}

Result<std::vector<std::string>> KernelSet::digests(const targets::Target &target, uint32_t threads,
                                                    const Progress &progress) const {
  SINTER_ASSIGN(const std::vector<targets::CompiledModule> modules,
                compileAll(target, "kernel", threads, progress));
  std::vector<std::string> digests;
  for (const targets::CompiledModule &module : modules) {
    SINTER_ASSIGN(std::string digest, digestOf(module, target));
    digests.push_back(std::move(digest));
  }
  return digests;
}

} // namespace sinter::engine
