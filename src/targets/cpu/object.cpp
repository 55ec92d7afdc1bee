// The LLVM back end, driven in process.
#include "tile/mlir_pch.h"

#include "targets/cpu/emission/kept_order.h"
#include "targets/cpu/object.h"
#include "targets/machine_code.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace sinter::targets::cpu {

// Two threads that register at once would enter a target twice.
static void initialise() {
  static const bool once = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    enableKeptOrder();
    return true;
  }();
  (void)once;
}

static Result<std::unique_ptr<llvm::TargetMachine>> targetMachine(const CpuFacts &facts) {
  initialise();
  llvm::Triple triple(facts.arch + "-unknown-linux-gnu");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return fail(Code::Internal, "LLVM has no back end for " + facts.arch + ": " + error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, facts.baseline, llvm::join(facts.features, ","), options, llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

Result<std::vector<uint8_t>> compileObject(llvm::Module &module, const CpuFacts &facts,
                                           std::string *assembly) {
  SINTER_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, targetMachine(facts));
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  // Scheduled for that processor, with no instructions but those of the features.
  for (llvm::Function &function : module)
    function.addFnAttr("tune-cpu", facts.cpu);
  optimise(module, *machine, Effort::Usual);
  if (assembly) {
    std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
    SINTER_ASSIGN(auto text, generate(*copy, *machine, llvm::CodeGenFileType::AssemblyFile));
    assembly->assign(text.begin(), text.end());
  }
  return generate(module, *machine, llvm::CodeGenFileType::ObjectFile);
}

} // namespace sinter::targets::cpu
