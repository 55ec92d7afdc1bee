// LLVM's AMDGPU back end, driven in process.
#include "tile/mlir_pch.h"

#include "targets/amd/object.h"
#include "targets/machine_code.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace sinter::targets::amd {

static constexpr uint32_t kCodeObjectVersion = 500; // the newest that older drivers load too

static void initialise() {
  static const bool once = [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    return true;
  }();
  (void)once;
}

static Result<std::unique_ptr<llvm::TargetMachine>> targetMachine(const AmdFacts &facts) {
  initialise();
  llvm::Triple triple("amdgcn-amd-amdhsa");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return fail(Code::Internal, "LLVM has no AMDGPU back end: " + error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, facts.processor, facts.features, options, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
}

static Result<void> printTexts(const llvm::Module &module, llvm::TargetMachine &machine,
                               ObjectTexts &texts) {
  llvm::raw_string_ostream out(texts.llvm);
  module.print(out, nullptr);
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  SINTER_ASSIGN(auto assembly, generate(*copy, machine, llvm::CodeGenFileType::AssemblyFile));
  texts.assembly.assign(assembly.begin(), assembly.end());
  return {};
}

Result<std::vector<uint8_t>> compileObject(llvm::Module &module, const AmdFacts &facts,
                                           ObjectTexts *texts) {
  SINTER_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, targetMachine(facts));
  module.addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version", kCodeObjectVersion);
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  optimise(module, *machine, Effort::Most);
  if (texts)
    SINTER_TRY(printTexts(module, *machine, *texts));
  return generate(module, *machine, llvm::CodeGenFileType::ObjectFile);
}

} // namespace sinter::targets::amd
