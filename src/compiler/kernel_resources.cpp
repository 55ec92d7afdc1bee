// Resources by the vendor's assembler, or as the driver reports them.
#include "tile/mlir_pch.h"

#include "compiler/kernel_resources.h"
#include "compiler/vendor_tools.h"
#include "hal/cuda/cuda_driver.h"
#include "targets/nvidia/facts.h"

using namespace mlir;

namespace sinter::compiler {

static void printKernel(StringRef architecture, const hal::KernelSpec &spec, int64_t registers,
                        StringRef spills, int64_t staticShared) {
  int64_t shared = staticShared + static_cast<int64_t>(spec.sharedBytes);
  llvm::outs() << spec.symbol << ": " << spec.threads << " threads of " << registers
               << " registers, " << spills << ", " << shared << " bytes of shared memory";
  if (const auto *facts = targets::nvidia::findFacts({architecture.data(), architecture.size()})) {
    int64_t blocks =
        targets::nvidia::blocksPerMultiprocessor(*facts, spec.threads, registers, shared);
    llvm::outs() << "; " << blocks << " blocks a multiprocessor, "
                 << blocks * spec.threads * 100 / facts->residentThreads << " % of its threads";
  }
  llvm::outs() << "\n";
}

// The number before the first place of `word` in `line`; 0 where there is none.
static int64_t numberBefore(StringRef line, StringRef word) {
  StringRef before = line.take_front(std::min(line.find(word), line.size())).rtrim();
  int64_t number = 0;
  if (before.take_back(before.size() - before.find_last_of(' ') - 1).getAsInteger(10, number))
    return 0;
  return number;
}

static void printReport(StringRef report, StringRef architecture,
                        std::span<const hal::KernelSpec> kernels) {
  SmallVector<StringRef> lines;
  report.split(lines, '\n', -1, /*KeepEmpty=*/false);
  const hal::KernelSpec *kernel = nullptr;
  std::string spills;
  for (StringRef line : lines) {
    if (line.contains("Compiling entry function"))
      for (const hal::KernelSpec &spec : kernels)
        kernel = line.contains("'" + spec.symbol + "'") ? &spec : kernel;
    if (line.contains("spill stores"))
      spills = std::to_string(numberBefore(line, "bytes spill stores")) + " spilled bytes";
    if (kernel && line.contains("registers"))
      printKernel(architecture, *kernel, numberBefore(line, "registers"), spills,
                  numberBefore(line, "bytes smem"));
  }
}

static Result<void> printByDriver(hal::Device &device, const targets::Target &target,
                                  StringRef architecture, const std::vector<uint8_t> &code,
                                  std::span<const hal::KernelSpec> kernels) {
  SINTER_ASSIGN(auto module, device.loadModule(target.name(), code));
  for (const hal::KernelSpec &spec : kernels) {
    SINTER_ASSIGN(auto kernel, module->kernel(spec));
    hal::CudaKernelResources found = hal::cudaKernelResources(*kernel);
    printKernel(architecture, spec, found.registersPerThread,
                std::to_string(found.localBytesPerThread) + " spilled bytes",
                static_cast<int64_t>(found.staticSharedBytes));
  }
  return {};
}

Result<void> printResources(const targets::Target &target, const std::vector<uint8_t> &code,
                            std::span<const hal::KernelSpec> kernels, const std::string &flags,
                            hal::Device *device) {
  std::string name = target.name();
  StringRef architecture = name;
  if (!architecture.consume_front("cuda:")) {
    if (!flags.empty())
      return fail(Code::InvalidArgument,
                  "flags are for ptxas, which takes no code of '" + name + "'");
    SINTER_ASSIGN(std::string told, target.resources(code));
    if (!told.empty()) {
      llvm::outs() << told;
      return {};
    }
    llvm::outs() << "resources are known of cuda and amd targets, not of '" << name << "'\n";
    return {};
  }
  Result<std::string> report =
      assemblerReport({architecture.data(), architecture.size()}, code, flags);
  if (report) {
    printReport(*report, architecture, kernels);
    return {};
  }
  if (report.error().code != Code::NotFound)
    return tl::unexpected(report.error());
  if (device && device->info().driver == "cuda")
    return printByDriver(*device, target, architecture, code, kernels);
  if (!flags.empty())
    return fail(Code::NotFound, "flags need ptxas on PATH or a cuda device: none is here");
  llvm::outs() << "registers and spills need ptxas on PATH or a cuda device: none is here\n";
  return {};
}

} // namespace sinter::compiler
