// Resources by the vendor's assembler, or as the driver reports them.
#include "tile/mlir_pch.h"

#include "compiler/kernel_resources.h"
#include "hal/cuda/cuda_driver.h"
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
    return fail(Code::InvalidArgument, "ptxas refuses the kernels: " + said);
  return said;
}

static Result<void> printByPtxas(const std::string &ptxas, StringRef architecture,
                                 const std::vector<uint8_t> &code, const std::string &flags) {
  llvm::SmallString<128> folder;
  if (std::error_code error = llvm::sys::fs::createUniqueDirectory("sinter-ptxas", folder))
    return fail(Code::Permission, "cannot make a temporary folder: " + error.message());
  Result<std::string> said = assemble(ptxas, architecture, code, flags, folder);
  llvm::sys::fs::remove_directories(folder);
  if (!said)
    return tl::unexpected(said.error());
  SmallVector<StringRef> lines;
  StringRef(*said).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    line.consume_front("ptxas info    : ");
    if (line.contains("Compiling entry function") || line.contains("stack frame") ||
        line.contains("registers"))
      llvm::outs() << line.trim() << "\n";
  }
  return {};
}

static Result<void> printByDriver(hal::Device &device, const std::string &target,
                                  const std::vector<uint8_t> &code, const hal::KernelSpec &spec) {
  SINTER_ASSIGN(auto module, device.loadModule(target, code));
  SINTER_ASSIGN(auto kernel, module->kernel(spec));
  hal::CudaKernelResources r = hal::cudaKernelResources(*kernel);
  llvm::outs() << spec.symbol << ": " << spec.threads << " threads, " << r.registersPerThread
               << " registers and " << r.localBytesPerThread << " spilled bytes each, "
               << r.staticSharedBytes + spec.sharedBytes << " bytes of shared memory\n";
  return {};
}

Result<void> printResources(const target::Target &target, const std::vector<uint8_t> &code,
                            const std::string &flags, hal::Device *device,
                            const hal::KernelSpec *spec) {
  std::string name = target.name();
  StringRef architecture = name;
  if (!architecture.consume_front("cuda:")) {
    llvm::outs() << "resources are known of cuda targets, not of '" << name << "'\n";
    return {};
  }
  if (auto ptxas = llvm::sys::findProgramByName("ptxas"))
    return printByPtxas(*ptxas, architecture, code, flags);
  if (!flags.empty())
    return fail(Code::NotFound, "flags are for ptxas, which is not on PATH");
  if (device && spec && device->info().driver == "cuda")
    return printByDriver(*device, name, code, *spec);
  llvm::outs() << "registers and spills need ptxas on PATH or a cuda device: none is here\n";
  return {};
}

} // namespace sinter::compiler
