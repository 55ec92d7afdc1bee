// LLVM's default pipelines, and lld driven in process.
#include "tile/mlir_pch.h"

#include "lld/Common/Driver.h"
#include "targets/machine_code.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"

LLD_HAS_DRIVER(elf)

namespace sinter::targets {

void optimise(llvm::Module &module, llvm::TargetMachine &machine, Effort effort) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  auto level = effort == Effort::Most ? llvm::OptimizationLevel::O3 : llvm::OptimizationLevel::O2;
  builder.buildPerModuleDefaultPipeline(level).run(module, modules);
}

namespace {
// LLVM ends the process at an error unless somebody takes it.
class Collector : public llvm::DiagnosticHandler {
public:
  explicit Collector(std::string &errors) : errors_(errors) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error)
      return true;
    std::string text;
    llvm::raw_string_ostream out(text);
    llvm::DiagnosticPrinterRawOStream printer(out);
    info.print(printer);
    errors_ += (errors_.empty() ? "" : "; ") + llvm::StringRef(text).trim().str();
    return true;
  }

private:
  std::string &errors_;
};
} // namespace

Result<std::vector<uint8_t>> generate(llvm::Module &module, llvm::TargetMachine &machine,
                                      llvm::CodeGenFileType kind) {
  const std::string backEnd = std::string("LLVM's ") + machine.getTarget().getName() + " back end ";
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr, kind))
    return fail(Code::Internal, backEnd + "cannot write this kind of file");
  std::string errors;
  module.getContext().setDiagnosticHandler(std::make_unique<Collector>(errors));
  passes.run(module);
  module.getContext().setDiagnosticHandler(nullptr);
  if (!errors.empty())
    return fail(Code::Unsupported, backEnd + "refuses a kernel: " + errors);
  return std::vector<uint8_t>(bytes.begin(), bytes.end());
}

static Result<void> writeObject(const std::vector<uint8_t> &object, const std::string &path) {
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (!error)
    stream.write(reinterpret_cast<const char *>(object.data()), object.size());
  stream.close();
  if (!error && !stream.has_error())
    return {};
  stream.clear_error();
  return fail(Code::Exhausted, "cannot write an object file for linking: " + path);
}

static Result<std::vector<uint8_t>> linkIn(const std::string &folder,
                                           std::span<const std::vector<uint8_t>> objects) {
  std::string out = folder + "/k.so", messages;
  std::vector<std::string> inputs;
  for (const std::vector<uint8_t> &object : objects) {
    inputs.push_back(folder + "/" + std::to_string(inputs.size()) + ".o");
    SINTER_TRY(writeObject(object, inputs.back()));
  }
  std::vector<const char *> arguments = {"ld.lld",        "-shared",     "-z", "noexecstack",
                                         "--gc-sections", "--threads=1", "-o", out.c_str()};
  for (const std::string &input : inputs)
    arguments.push_back(input.c_str());
  llvm::raw_string_ostream log(messages);
  lld::Result result = lld::lldMain(arguments, log, log, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    return fail(Code::Internal, "lld could not link the kernels: " + messages);
  auto buffer = llvm::MemoryBuffer::getFile(out);
  if (!buffer)
    return fail(Code::Internal, "lld's output cannot be read: " + buffer.getError().message());
  return std::vector<uint8_t>((*buffer)->getBufferStart(), (*buffer)->getBufferEnd());
}

Result<std::vector<uint8_t>> linkShared(std::span<const std::vector<uint8_t>> objects) {
  llvm::SmallString<128> folder;
  if (std::error_code error = llvm::sys::fs::createUniqueDirectory("sinter-link", folder))
    return fail(Code::Permission, "cannot make a temporary folder for linking: " + error.message());
  Result<std::vector<uint8_t>> result = linkIn(folder.str().str(), objects);
  llvm::sys::fs::remove_directories(folder);
  return result;
}

} // namespace sinter::targets
