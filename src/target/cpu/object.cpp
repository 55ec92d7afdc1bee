// The LLVM back end, driven in process.
#include "tile/mlir_pch.h"

#include "target/cpu/object.h"
#include "target/machine_code.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/Cloning.h"

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
  optimise(module, *machine, Effort::Usual);
  if (assembly) {
    std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
    SINTER_ASSIGN(auto text, generate(*copy, *machine, llvm::CodeGenFileType::AssemblyFile));
    assembly->assign(text.begin(), text.end());
  }
  SINTER_ASSIGN(auto object, generate(module, *machine, llvm::CodeGenFileType::ObjectFile));
  return std::vector<uint8_t>(object.begin(), object.end());
}

} // namespace sinter::target::cpu
