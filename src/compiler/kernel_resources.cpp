// Resources by the vendor's assembler, or as the driver reports them.
#include "tile/mlir_pch.h"

#include "compiler/kernel_resources.h"
#include "hal/cuda/cuda_driver.h"
#include "target/nvidia/facts.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

using namespace mlir;

namespace sinter::compiler {

// What ptxas says of the code, by -v.
static Result<std::string> assemble(const std::string &ptxas, StringRef architecture,
                                    const std::vector<uint8_t> &code, const std::string &flags,
                                    StringRef folder) {
  std::string source = (folder + "/kernel.ptx").str(), log = (folder + "/log").str();
  std::error_code error;
  llvm::raw_fd_ostream out(source, error);
  if (!error)
    out.write(reinterpret_cast<const char *>(code.data()), code.size());
  out.close();
  if (error || out.has_error()) {
    out.clear_error();
    return fail(Code::Exhausted, "cannot write a temporary file for ptxas");
  }
  std::string arch = ("-arch=" + architecture).str();
  SmallVector<StringRef> args{ptxas, "-v", arch, source, "-o", "/dev/null"};
  StringRef(flags).split(args, ' ', -1, /*KeepEmpty=*/false);
  std::optional<StringRef> redirects[] = {"", log, log};
  std::string message;
  int status = llvm::sys::ExecuteAndWait(ptxas, args, std::nullopt, redirects,
                                         /*SecondsToWait=*/120, 0, &message);
  auto text = llvm::MemoryBuffer::getFile(log, /*IsText=*/true);
  std::string said = text ? (*text)->getBuffer().str() : message;
  if (status != 0)
    return fail(Code::InvalidArgument,
                "ptxas refuses the kernels: " + StringRef(said).rtrim().str());
  return said;
}

static void printKernel(StringRef architecture, const hal::KernelSpec &spec, int64_t registers,
                        StringRef spills, int64_t staticShared) {
  int64_t shared = staticShared + static_cast<int64_t>(spec.sharedBytes);
  llvm::outs() << spec.symbol << ": " << spec.threads << " threads of " << registers
               << " registers, " << spills << ", " << shared << " bytes of shared memory";
  if (const auto *facts = target::nvidia::findFacts({architecture.data(), architecture.size()})) {
    int64_t blocks =
        target::nvidia::blocksPerMultiprocessor(*facts, spec.threads, registers, shared);
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

static Result<void> printByPtxas(const std::string &ptxas, StringRef architecture,
                                 const std::vector<uint8_t> &code,
                                 std::span<const hal::KernelSpec> kernels,
                                 const std::string &flags) {
  llvm::SmallString<128> folder;
  if (std::error_code error = llvm::sys::fs::createUniqueDirectory("sinter-ptxas", folder))
    return fail(Code::Permission, "cannot make a temporary folder: " + error.message());
  Result<std::string> said = assemble(ptxas, architecture, code, flags, folder);
  llvm::sys::fs::remove_directories(folder);
  if (!said)
    return tl::unexpected(said.error());
  SmallVector<StringRef> lines;
  StringRef(*said).split(lines, '\n', -1, /*KeepEmpty=*/false);
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
  return {};
}

static Result<void> printByDriver(hal::Device &device, const target::Target &target,
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

Result<void> printResources(const target::Target &target, const std::vector<uint8_t> &code,
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
  if (auto ptxas = llvm::sys::findProgramByName("ptxas"))
    return printByPtxas(*ptxas, architecture, code, kernels, flags);
  if (!flags.empty())
    return fail(Code::NotFound, "flags are for ptxas, which is not on PATH");
  if (device && device->info().driver == "cuda")
    return printByDriver(*device, target, architecture, code, kernels);
  llvm::outs() << "registers and spills need ptxas on PATH or a cuda device: none is here\n";
  return {};
}

} // namespace sinter::compiler
