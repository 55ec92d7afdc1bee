// The kernel command: options, and what each subcommand prints.
#include "tile/mlir_pch.h"

#include "compiler/kernel_command.h"
#include "compiler/kernel_launch.h"
#include "compiler/kernel_source.h"
#include "hal/cpu/cpu_driver.h"
#include "numeric/half.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include <charconv>
#include <chrono>
#include <cmath>

using namespace mlir;
namespace cl = llvm::cl;

namespace sinter::compiler {

namespace {
// What was asked for. Linking in process resets llvm::cl's options, so they are read out at once.
struct Options {
  bool run, bench, emit, build, list;
  std::string source;
  std::vector<std::string> set, shape, scalar;
  int64_t size;
  unsigned threads, seconds;
  std::string stage, level, output;
};

struct CommandLine {
  cl::OptionCategory category{"sinter kernel"};
  cl::SubCommand run{"run", "compile a kernel, run it and compare it with the interpreter"};
  cl::SubCommand bench{"bench", "time a compiled kernel"};
  cl::SubCommand emit{"emit", "print a stage of a kernel: tile, sched, llvm or asm"};
  cl::SubCommand build{"build",
                       "compile a C++ kernel source against include/sinter to the textual form"};
  cl::SubCommand list{"list", "list the registered kernels and their settings"};
  cl::opt<std::string> source{cl::Positional, cl::desc("<name | FILE.tile | FILE.cpp>"),
                              cl::Required,   cl::cat(category),
                              cl::sub(run),   cl::sub(bench),
                              cl::sub(emit),  cl::sub(build)};
  cl::list<std::string> set{"set",
                            cl::desc("a setting of a registered kernel: block_m=32"),
                            cl::cat(category),
                            cl::sub(run),
                            cl::sub(bench),
                            cl::sub(emit)};
  cl::list<std::string> shape{"shape", cl::desc("extents of a view: x=128x512"), cl::cat(category),
                              cl::sub(run), cl::sub(bench)};
  cl::list<std::string> scalar{"scalar", cl::desc("value of a scalar argument: eps=1e-5"),
                               cl::cat(category), cl::sub(run), cl::sub(bench)};
  cl::opt<int64_t> size{"size",        cl::desc("every dynamic extent not given by --shape"),
                        cl::init(256), cl::cat(category),
                        cl::sub(run),  cl::sub(bench)};
  cl::opt<unsigned> threads{"threads",    cl::desc("threads of the device (0: all)"),
                            cl::init(0),  cl::cat(category),
                            cl::sub(run), cl::sub(bench)};
  cl::opt<unsigned> seconds{"seconds", cl::desc("how long to measure"), cl::init(1),
                            cl::cat(category), cl::sub(bench)};
  cl::opt<std::string> stage{
      "emit",
      cl::desc("print these stages: tile, sched, llvm, asm, comma separated"),
      cl::cat(category),
      cl::sub(run),
      cl::sub(bench),
      cl::sub(emit)};
  cl::alias stageAlias{"stage", cl::desc("the same as --emit"), cl::aliasopt(stage),
                       cl::cat(category)};
  cl::opt<std::string> level{"level",          cl::desc("host, avx2, avx512 or avx512vnni"),
                             cl::init("host"), cl::cat(category),
                             cl::sub(run),     cl::sub(bench),
                             cl::sub(emit)};
  cl::opt<std::string> output{"o", cl::desc("write here instead of standard output"),
                              cl::cat(category), cl::sub(build)};

  Options read() const {
    return {.run = bool(run),
            .bench = bool(bench),
            .emit = bool(emit),
            .build = bool(build),
            .list = bool(list),
            .source = source,
            .set = {set.begin(), set.end()},
            .shape = {shape.begin(), shape.end()},
            .scalar = {scalar.begin(), scalar.end()},
            .size = size,
            .threads = threads,
            .seconds = seconds,
            .stage = stage,
            .level = level,
            .output = output};
  }
};
} // namespace

static Result<kernels::Settings> parseSettings(ArrayRef<std::string> list) {
  kernels::Settings settings;
  for (StringRef item : list) {
    auto [name, value] = item.split('=');
    if (value.empty())
      return fail(Code::InvalidArgument, "found --set " + item.str() + ", expected name=value");
    settings[name.str()] = value.str();
  }
  return settings;
}

static Result<ArgumentRequest> parseRequest(const Options &options) {
  ArgumentRequest request;
  request.size = options.size;
  if (options.size < 0)
    return fail(Code::InvalidArgument,
                "found --size " + std::to_string(options.size) + ", expected 0 or more");
  for (StringRef item : options.shape) {
    auto [name, text] = item.split('=');
    SmallVector<StringRef> parts;
    text.split(parts, 'x');
    std::vector<int64_t> extents;
    for (StringRef part : parts)
      if (int64_t extent; part.getAsInteger(10, extent) || extent < 0)
        return fail(Code::InvalidArgument,
                    "found --shape " + item.str() + ", expected name=AxB with whole numbers");
      else
        extents.push_back(extent);
    request.shapes[name.str()] = extents;
  }
  for (StringRef item : options.scalar) {
    auto [name, text] = item.split('=');
    if (double value; text.getAsDouble(value))
      return fail(Code::InvalidArgument, "found --scalar " + item.str() + ", expected name=number");
    else
      request.scalars[name.str()] = value;
  }
  return request;
}

static Result<target::cpu::CpuFacts> factsOf(const Options &options) {
  return options.level == "host" ? target::cpu::hostFacts()
                                 : target::cpu::factsFor(std::string(options.level));
}

// ---- comparing ----

static double elementAt(const KernelArgument &argument, size_t index) {
  Type element = cast<tile::ViewType>(argument.type).getElementType();
  const uint8_t *at = argument.bytes.data();
  auto read = [&]<typename T>(T value) {
    std::memcpy(&value, at + index * sizeof(T), sizeof(T));
    return value;
  };
  if (element.isF32())
    return read(float());
  if (element.isF16())
    return f16ToF32(read(uint16_t()));
  if (element.isBF16())
    return bf16ToF32(read(uint16_t()));
  if (element.isInteger(32))
    return read(int32_t());
  return at[index];
}

static void printComparison(const KernelArgument &mine, const KernelArgument &reference) {
  size_t bytes = std::max<size_t>(1, mine.bytes.size());
  size_t count = 1;
  for (int64_t extent : mine.shape)
    count *= extent;
  Type element = cast<tile::ViewType>(mine.type).getElementType();
  llvm::outs() << mine.name << ": " << bytes << " bytes, "
               << (mine.bytes == reference.bytes ? "equal to the interpreter bit for bit"
                                                 : "near the interpreter");
  if (mine.bytes != reference.bytes && !isa<tile::BlockType>(element)) {
    double worst = 0, largest = 0;
    for (size_t i = 0; i < count; ++i) {
      if (std::isnan(elementAt(mine, i)) && std::isnan(elementAt(reference, i)))
        continue; // not written by either
      double error = std::fabs(elementAt(mine, i) - elementAt(reference, i));
      worst = error <= worst ? worst : error;
      largest = std::max(largest, std::fabs(elementAt(reference, i)));
    }
    llvm::outs() << llvm::format(", largest difference %.3g of values up to %.3g", worst, largest);
  }
  llvm::outs() << "\n";
}

// ---- subcommands ----

namespace {
/// A kernel compiled and bound on the CPU device.
struct Prepared {
  std::unique_ptr<hal::DriverRegistry> registry;
  std::unique_ptr<hal::Device> device;
  std::vector<KernelArgument> arguments;
  hal::Grid grid{};
  std::optional<BoundKernel> bound;
};
} // namespace

static Result<Prepared> prepare(const Options &options, tile::KernelModule &source) {
  auto kernels = source.module().getOps<tile::KernelOp>();
  if (kernels.empty())
    return fail(Code::InvalidArgument, "'" + std::string(options.source) + "' has no kernel");
  tile::KernelOp kernel = *kernels.begin();
  SINTER_ASSIGN(ArgumentRequest request, parseRequest(options));
  SINTER_ASSIGN(target::cpu::CpuFacts facts, factsOf(options));
  Prepared prepared;
  SINTER_ASSIGN(prepared.arguments, makeArguments(kernel, request));
  SINTER_ASSIGN(prepared.grid, evaluateGrid(kernel, prepared.arguments));
  SINTER_ASSIGN(target::cpu::CompiledModule code,
                target::cpu::compileKernels(source.module(), facts));
  prepared.registry = std::make_unique<hal::DriverRegistry>();
  SINTER_TRY(hal::addCpuDriver(*prepared.registry));
  SINTER_ASSIGN(hal::Driver * driver, prepared.registry->find("cpu"));
  SINTER_ASSIGN(prepared.device, driver->open(0, {options.threads}));
  SINTER_ASSIGN(prepared.bound, BoundKernel::create(*prepared.device, code, facts.targetName(), 0,
                                                    prepared.grid, prepared.arguments));
  return prepared;
}

static Result<void> runKernel(const Options &options, tile::KernelModule &source) {
  SINTER_ASSIGN(Prepared prepared, prepare(options, source));
  std::vector<KernelArgument> reference = prepared.arguments;
  SINTER_TRY(prepared.bound->launch());
  SINTER_TRY(prepared.bound->readBack(prepared.arguments));
  SINTER_ASSIGN(tile::RunStatistics statistics,
                interpret(*source.module().getOps<tile::KernelOp>().begin(), reference));
  llvm::outs() << statistics.programs << " programs\n";
  for (size_t i = 0; i < reference.size(); ++i)
    if (reference[i].written)
      printComparison(prepared.arguments[i], reference[i]);
  return {};
}

static Result<void> benchKernel(const Options &options, tile::KernelModule &source) {
  SINTER_ASSIGN(Prepared prepared, prepare(options, source));
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  SINTER_TRY(prepared.bound->launch());
  auto start = Clock::now();
  while (times.size() < 3 || Clock::now() - start < std::chrono::seconds(options.seconds)) {
    auto before = Clock::now();
    SINTER_TRY(prepared.bound->launch());
    times.push_back(std::chrono::duration<double>(Clock::now() - before).count());
  }
  llvm::sort(times);
  double median = times[times.size() / 2], bytes = 0;
  for (const KernelArgument &argument : prepared.arguments)
    bytes += argument.bytes.size();
  double operations = dotOperations(*source.module().getOps<tile::KernelOp>().begin(),
                                    prepared.arguments, prepared.grid);
  llvm::outs() << llvm::format("%zu launches, median %.1f us, fastest %.1f us; arguments %.2f GB/s",
                               times.size(), median * 1e6, times.front() * 1e6,
                               bytes / median / 1e9);
  if (operations > 0)
    llvm::outs() << llvm::format("; dots %.1f GOP/s", operations / median / 1e9);
  llvm::outs() << "\n";
  return {};
}

static Result<void> emitKernelStages(StringRef stages, const Options &options,
                                     tile::KernelModule &source) {
  SmallVector<StringRef> wanted;
  stages.split(wanted, ',');
  for (StringRef stage : wanted)
    if (!llvm::is_contained({"tile", "sched", "llvm", "asm"}, stage))
      return fail(Code::InvalidArgument,
                  "found stage '" + stage.str() + "', expected tile, sched, llvm or asm");
  target::cpu::Stages forms;
  forms.wanted = true;
  if (!(wanted.size() == 1 && wanted.front() == "tile")) {
    SINTER_ASSIGN(target::cpu::CpuFacts facts, factsOf(options));
    SINTER_TRY(target::cpu::compileKernels(source.module(), facts, &forms));
  }
  for (StringRef stage : wanted)
    llvm::outs() << (stage == "tile"    ? source.text()
                     : stage == "sched" ? forms.sched
                     : stage == "llvm"  ? forms.llvm
                                        : forms.assembly);
  return {};
}

static Result<void> buildKernels(const Options &options) {
  SINTER_ASSIGN(tile::KernelModule module, buildSource(options.source));
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

static Result<void> dispatch(const Options &options) {
  if (options.list)
    return listKernels();
  if (options.build)
    return buildKernels(options);
  SINTER_ASSIGN(kernels::Settings settings, parseSettings(options.set));
  SINTER_ASSIGN(tile::KernelModule source, loadKernels(options.source, settings));
  if (options.emit)
    return emitKernelStages(options.stage.empty() ? "tile" : options.stage, options, source);
  if (!options.stage.empty())
    SINTER_TRY(emitKernelStages(options.stage, options, source));
  if (options.run)
    return runKernel(options, source);
  return benchKernel(options, source);
}

int kernelCommand(int argc, char **argv) {
  CommandLine line;
  cl::HideUnrelatedOptions(line.category);
  for (cl::SubCommand *sub : {&line.run, &line.bench, &line.emit, &line.build, &line.list})
    cl::HideUnrelatedOptions(line.category, *sub);
  if (!cl::ParseCommandLineOptions(argc, argv,
                                   "sinter kernel: compile, run, time and print single kernels\n",
                                   &llvm::errs(), nullptr, nullptr, false))
    return 2;
  const Options options = line.read();
  if (!options.run && !options.bench && !options.emit && !options.build && !options.list) {
    llvm::errs()
        << "sinter kernel: expected run, bench, emit, build or list; see sinter kernel --help\n";
    return 2;
  }
  Result<void> done = dispatch(options);
  if (done)
    return 0;
  llvm::errs() << "sinter kernel: " << done.error().toString() << "\n";
  return done.error().code == Code::InvalidArgument ? 2 : 1;
}

} // namespace sinter::compiler
