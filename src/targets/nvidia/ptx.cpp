// LLVM's NVPTX back end, driven in process.
#include "tile/mlir_pch.h"

#include "targets/machine_code.h"
#include "targets/nvidia/ptx.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

#include <set>

namespace sinter::targets::nvidia {

static void initialise() {
  static const bool once = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)once;
}

static Result<std::unique_ptr<llvm::TargetMachine>> targetMachine(const NvidiaFacts &facts) {
  initialise();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return fail(Code::Internal, "LLVM has no NVPTX back end: " + error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, facts.architecture, facts.ptx, options, std::nullopt,
                                  std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

// Inline PTX without effects reads constant memory at most. Instructions of a whole subgroup stay
// where all its threads come by.
static void describeInlinePtx(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      auto *text = call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
      if (!text)
        continue;
      call->addFnAttr(llvm::Attribute::NoUnwind);
      call->addFnAttr(llvm::Attribute::WillReturn);
      if (!text->hasSideEffects())
        call->setMemoryEffects(llvm::MemoryEffects::none());
      if (text->getAsmString().starts_with("mma.") || text->getAsmString().starts_with("barrier."))
        call->addFnAttr(llvm::Attribute::Convergent);
    }
}

Result<std::string> compilePtx(llvm::Module &module, const NvidiaFacts &facts,
                               std::string *optimised) {
  SINTER_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, targetMachine(facts));
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  describeInlinePtx(module);
  optimise(module, *machine, Effort::Most);
  if (optimised) {
    llvm::raw_string_ostream out(*optimised);
    module.print(out, nullptr);
  }
  SINTER_ASSIGN(const std::vector<uint8_t> text,
                generate(module, *machine, llvm::CodeGenFileType::AssemblyFile));
  return std::string(text.begin(), text.end());
}

// ---- joining ----

static bool isHeader(llvm::StringRef line) {
  return line.starts_with(".version") || line.starts_with(".target") ||
         line.starts_with(".address_size");
}

static bool declaresShared(llvm::StringRef line) {
  return line.starts_with(".extern .shared") && line.contains(kSharedName);
}

Result<std::string> joinPtx(std::span<const std::string_view> texts) {
  std::string header, shared, body;
  std::set<std::string> entries;
  for (size_t part = 0; part < texts.size(); ++part) {
    std::string own;
    llvm::SmallVector<llvm::StringRef> lines;
    llvm::StringRef(texts[part].data(), texts[part].size()).split(lines, '\n');
    for (llvm::StringRef line : lines) {
      if (isHeader(line)) {
        own += line.str() + "\n";
        continue;
      }
      if (declaresShared(line)) {
        shared = line.str() + "\n";
        continue;
      }
      if (line.starts_with("//"))
        continue;
      if (llvm::StringRef name = line; name.consume_front(".visible .entry "))
        if (!entries.insert(name.take_until([](char c) { return c == '('; }).str()).second)
          return fail(Code::Internal, "two parts of a PTX module have an entry point '" +
                                          name.take_until([](char c) { return c == '('; }).str() +
                                          "'");
      body += line.str() + "\n";
    }
    if (part > 0 && own != header)
      return fail(Code::Internal, "parts of a PTX module have different headers: '" + own +
                                      "', expected '" + header + "'");
    header = own;
  }
  return header + shared + body;
}

} // namespace sinter::targets::nvidia
