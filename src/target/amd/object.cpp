// LLVM's AMDGPU back end, driven in process.
#include "tile/mlir_pch.h"

#include "target/amd/object.h"
#include "target/machine_code.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace sinter::target::amd {

static constexpr uint32_t kCodeObjectVersion = 500; // the newest that older drivers load too

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

static Result<llvm::SmallVector<char, 0>>
generate(llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType kind) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr, kind))
    return fail(Code::Internal, "LLVM's AMDGPU back end cannot write this kind of file");
  passes.run(module);
  return bytes;
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
  std::string errors;
  module.getContext().setDiagnosticHandler(std::make_unique<Collector>(errors));
  module.addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version", kCodeObjectVersion);
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  optimise(module, *machine, Effort::Most);
  if (texts)
    SINTER_TRY(printTexts(module, *machine, *texts));
  errors.clear(); // the object's are the same
  SINTER_ASSIGN(auto object, generate(module, *machine, llvm::CodeGenFileType::ObjectFile));
  module.getContext().setDiagnosticHandler(nullptr);
  if (!errors.empty())
    return fail(Code::Unsupported, "LLVM's AMDGPU back end refuses a kernel: " + errors);
  return std::vector<uint8_t>(object.begin(), object.end());
}

} // namespace sinter::target::amd
