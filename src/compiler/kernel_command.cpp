// The kernel command: what each subcommand does and prints.
#include "tile/mlir_pch.h"

#include "base/system_error.h"
#include "compiler/cpp_source.h"
#include "compiler/kernel_command.h"
#include "compiler/kernel_options.h"
#include "compiler/kernel_pack.h"
#include "compiler/kernel_resources.h"
#include "compiler/kernel_source.h"
#include "compiler/target_option.h"
#include "compiler/vendor_tools.h"
#include "hal/cpu/cpu_driver.h"
#include "hal/cuda/cuda_driver.h"
#include "targets/registry.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;

namespace sinter::compiler {

namespace {
/// What a command works on: the target, the device where it needs one, the kernels.
struct Session {
  hal::DriverRegistry registry;
  std::unique_ptr<hal::Device> device;
  std::unique_ptr<targets::Target> target;
  std::optional<tile::KernelModule> source;
};
} // namespace

// The driver that runs a target's code: what stands before the colon, cpu where nothing does.
static std::string driverOf(const std::string &target) {
  return target.find(':') == std::string::npos ? "cpu" : target.substr(0, target.find(':'));
}

static Result<void> openDevice(const KernelOptions &options, Session &session) {
  SINTER_TRY(hal::addCpuDriver(session.registry));
  SINTER_TRY(hal::addCudaDriver(session.registry));
  std::string name = options.device.empty() ? driverOf(options.target) : options.device;
  SINTER_ASSIGN(hal::Driver * driver, session.registry.find(name));
  SINTER_ASSIGN(session.device, driver->open(0, {.threads = options.threads}));
  return {};
}

static Result<void> open(const KernelOptions &options, bool needsDevice, Session &session) {
  if (needsDevice)
    SINTER_TRY(openDevice(options, session));
  std::string target = options.target;
  if (target.empty())
    target = session.device && session.device->info().driver != "cpu"
                 ? session.device->info().target
                 : "host";
  SINTER_ASSIGN(session.target, targets::findTarget(target));
  SINTER_ASSIGN(session.source,
                loadKernels(options.source, options.settings, session.target->profile().kind));
  if (needsDevice || !options.kernel.empty())
    SINTER_TRY(keepKernel(*session.source, options.source, options.kernel));
  return {};
}

// ---- subcommands ----

// MLIR's own handler shows errors only.
static LogicalResult showWarning(Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() != DiagnosticSeverity::Warning)
    return failure();
  llvm::errs() << diagnostic.getLocation() << ": warning: " << diagnostic << "\n";
  return success();
}

static constexpr StringRef kMachineStage = "sass"; // of cuda targets, by NVIDIA's own tools

static std::vector<std::string> stagesOf(const targets::Target &target) {
  std::vector<std::string> stages = target.stageNames();
  if (StringRef(target.name()).starts_with("cuda:"))
    stages.push_back(kMachineStage.str());
  return stages;
}

static Result<std::string> machineStage(const KernelOptions &options, Session &session) {
  SINTER_ASSIGN(targets::CompiledModule code,
                targets::compileKernels(*session.target, session.source->module()));
  auto text = machineInstructions(session.target->name().substr(strlen("cuda:")), code.code,
                                  options.deviceFlags);
  if (!text)
    return fail(text.error().code, "stage 'sass': " + text.error().message);
  return *text;
}

// `stages` holds those of the target's own passes.
static Result<std::string> stageText(StringRef stage, const targets::Stages &stages,
                                     const KernelOptions &options, Session &session) {
  if (stage == "tile")
    return session.source->text();
  if (stage == kMachineStage)
    return machineStage(options, session);
  return *stages.find(std::string_view(stage.data(), stage.size()));
}

static Result<void> printStages(const KernelOptions &options, Session &session) {
  SmallVector<StringRef> wanted;
  const std::string asked = options.stages.empty() ? "tile" : options.stages;
  StringRef(asked).split(wanted, ',');
  const std::vector<std::string> known = stagesOf(*session.target);
  for (StringRef stage : wanted)
    if (stage != "tile" && !llvm::is_contained(known, stage))
      return fail(Code::InvalidArgument, "found stage '" + stage.str() + "', expected tile, " +
                                             llvm::join(ArrayRef(known).drop_back(), ", ") +
                                             " or " + known.back());
  targets::Stages stages;
  ScopedDiagnosticHandler warnings(session.source->module().getContext(), showWarning);
  if (llvm::any_of(wanted,
                   [](StringRef stage) { return stage != "tile" && stage != kMachineStage; }))
    SINTER_TRY(session.target->compilePart(session.source->module(), &stages));
  for (StringRef stage : wanted) {
    SINTER_ASSIGN(const std::string text, stageText(stage, stages, options, session));
    llvm::outs() << text;
  }
  return {};
}

// What is run is assembled with the flags too.
static Result<void> passFlags(const KernelOptions &options, hal::Device &device) {
  if (options.deviceFlags.empty() || device.info().driver != "cuda")
    return {};
  SINTER_ASSIGN(const hal::CudaAssembly assembly, hal::parseCudaAssembly(options.deviceFlags));
  return hal::setCudaAssembly(device, assembly);
}

static Result<void> runKernel(const KernelOptions &options, Session &session, CaseKind kind) {
  SINTER_ASSIGN(PreparedCase prepared,
                prepareCase(options, *session.target, *session.source, kind));
  SINTER_TRY(passFlags(options, *session.device));
  if (options.resources)
    SINTER_TRY(printResources(*session.target, prepared.launch.code, {&prepared.launch.spec, 1},
                              options.deviceFlags, session.device.get()));
  if (kind == CaseKind::Time) {
    SINTER_ASSIGN(hal::CaseTiming timing,
                  hal::benchCase(*session.device, prepared.launch, options.seconds));
    llvm::outs() << hal::timingText(timing, prepared.launch);
    return {};
  }
  SINTER_ASSIGN(std::vector<hal::Comparison> comparisons,
                hal::runCase(*session.device, prepared.launch));
  llvm::outs() << prepared.programs << " programs\n";
  for (const hal::Comparison &comparison : comparisons)
    llvm::outs() << hal::comparisonText(comparison);
  auto isOutside = [](const hal::Comparison &comparison) { return !comparison.within; };
  if (const auto outside = llvm::count_if(comparisons, isOutside))
    return fail(Code::Internal, std::to_string(outside) + " of " +
                                    std::to_string(comparisons.size()) +
                                    " outputs differ from the interpreter beyond the bound");
  return {};
}

static Result<void> emitKernel(const KernelOptions &options, Session &session) {
  SINTER_TRY(printStages(options, session));
  if (!options.resources)
    return {};
  SINTER_ASSIGN(targets::CompiledModule code,
                targets::compileKernels(*session.target, session.source->module()));
  std::vector<hal::KernelSpec> kernels;
  llvm::transform(code.kernels, std::back_inserter(kernels), specOf);
  return printResources(*session.target, code.code, kernels, options.deviceFlags, nullptr);
}

static Result<void> buildKernels(const KernelOptions &options) {
  SINTER_ASSIGN(tile::KernelModule module, buildCppSource(options.source));
  if (!module.ok())
    return fail(Code::InvalidArgument, module.diagnosticText());
  if (options.output.empty()) {
    llvm::outs() << module.text();
    return {};
  }
  std::error_code error;
  llvm::raw_fd_ostream out(options.output, error);
  if (error)
    return fail(Code::Permission,
                "cannot write '" + std::string(options.output) + "': " + error.message());
  out << module.text();
  out.close();
  if (out.has_error()) {
    out.clear_error();
    return fail(Code::Exhausted, "cannot write '" + std::string(options.output) + "'");
  }
  return {};
}

static Result<void> listKernels() {
  for (const kernels::KernelEntry &entry : kernels::kernelRegistry()) {
    llvm::outs() << entry.name << ": " << entry.summary << "\n";
    for (const kernels::ParamInfo &param : entry.params)
      llvm::outs() << "    --set " << param.name << "=" << param.standard << "  " << param.help
                   << "\n";
  }
  return {};
}

static Result<void> dispatch(KernelOptions options) {
  if (options.action == KernelAction::List)
    return listKernels();
  if (options.action == KernelAction::Build)
    return buildKernels(options);
  SINTER_ASSIGN(options.target, resolveTarget(options.target));
  if (options.action == KernelAction::Pack)
    return packKernels(options);
  Session session;
  SINTER_TRY(open(options, options.action != KernelAction::Emit, session));
  if (options.action == KernelAction::Emit)
    return emitKernel(options, session);
  if (!options.stages.empty())
    SINTER_TRY(printStages(options, session));
  return runKernel(options, session,
                   options.action == KernelAction::Run ? CaseKind::Check : CaseKind::Time);
}

// LLVM ends the program with a message of its own for a write that failed and was not looked at.
static Result<void> finishOutput() {
  llvm::outs().flush();
  const std::error_code error = llvm::outs().error();
  llvm::outs().clear_error();
  if (error)
    return systemFailed("cannot write to standard output", error.value());
  return {};
}

static int finish(Result<void> done) {
  const Result<void> written = finishOutput();
  if (done && !written)
    done = written;
  if (!done)
    llvm::errs() << "sinter kernel: " << llvm::StringRef(done.error().toString()).rtrim() << "\n";
  llvm::errs().clear_error();
  return done ? 0 : 1;
}

int kernelCommand(int argc, char **argv) {
  const auto options = parseKernelOptions(argc, argv);
  if (options)
    return finish(dispatch(*options));
  const KernelUsage &usage = options.error();
  (usage.exitCode ? llvm::errs() : llvm::outs()) << usage.text;
  const int written = finish({});
  return usage.exitCode ? usage.exitCode : written;
}

} // namespace sinter::compiler
