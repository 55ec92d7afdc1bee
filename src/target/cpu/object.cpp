// The LLVM back end and lld, driven in process.
#include "tile/mlir_pch.h"

#include "lld/Common/Driver.h"
#include "target/cpu/object.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/Cloning.h"

LLD_HAS_DRIVER(elf)

namespace sinter::target::cpu {

static Result<std::unique_ptr<llvm::TargetMachine>> targetMachine(const CpuFacts &facts) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return fail(Code::Internal, "LLVM has no x86-64 back end: " + error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, facts.cpu, llvm::join(facts.features, ","), options, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
}

static void optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false; // kernels choose their own vectors
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
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

static Result<llvm::SmallVector<char, 0>>
generate(llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType kind) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr, kind))
    return fail(Code::Internal, "LLVM's x86-64 back end cannot write this kind of file");
  passes.run(module);
  return bytes;
}

Result<std::vector<uint8_t>> compileObject(llvm::Module &module, const CpuFacts &facts,
                                           std::string *assembly) {
  SINTER_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, targetMachine(facts));
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  optimise(module, *machine);
  if (assembly) {
    std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
    SINTER_ASSIGN(auto text, generate(*copy, *machine, llvm::CodeGenFileType::AssemblyFile));
    assembly->assign(text.begin(), text.end());
  }
  SINTER_ASSIGN(auto object, generate(module, *machine, llvm::CodeGenFileType::ObjectFile));
  return std::vector<uint8_t>(object.begin(), object.end());
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

} // namespace sinter::target::cpu
