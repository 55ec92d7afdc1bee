// The AMD target's table of contents: schedule, emit, lower, translate, compile, link, check.
#include "tile/mlir_pch.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "targets/amd/amd_target.h"
#include "targets/amd/code_object.h"
#include "targets/amd/metadata_notes.h"
#include "targets/amd/object.h"
#include "targets/amd/schedule.h"
#include "targets/amd/simt_target.h"
#include "targets/machine_code.h"
#include "targets/simt/profile.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;

namespace sinter::targets::amd {

namespace {
class AmdTarget : public Target {
public:
  explicit AmdTarget(const AmdFacts &facts)
      : facts_(facts), profile_(simt::profileOf(simtFacts(facts))) {}

  std::string name() const override { return "amd:" + std::string(facts_.processor); }
  const TargetProfile &profile() const override { return profile_; }
  std::vector<std::string> stageNames() const override { return {"sched", "llvm", "gcn"}; }
  Result<CompiledModule> compilePart(ModuleOp source, Stages *stages) const override;
  Result<std::vector<uint8_t>> link(std::span<const std::vector<uint8_t>> parts) const override;
  Result<std::string> resources(std::span<const uint8_t> code) const override;

private:
  void warnOfSpills(ModuleOp source, const CodeObject &object) const;

  const AmdFacts &facts_; // a row of the table
  TargetProfile profile_;
};
} // namespace

// Such a kernel is right, and slow.
void AmdTarget::warnOfSpills(ModuleOp source, const CodeObject &object) const {
  for (const KernelMetadata &kernel : object.kernels)
    if (std::string text = spillText(kernel, facts_); !text.empty())
      if (auto op = source.lookupSymbol<tile::KernelOp>(kernel.name))
        op.emitWarning() << text;
}

Result<CompiledModule> AmdTarget::compilePart(ModuleOp source, Stages *stages) const {
  SINTER_ASSIGN(OwningOpRef<ModuleOp> scheduled, scheduleSimt(source, facts_));
  if (stages)
    stages->add("sched", printed(*scheduled));
  CompiledModule result;
  SINTER_ASSIGN(
      OwningOpRef<ModuleOp> emitted,
      simt::emitModule(*scheduled, AmdSimt(facts_), name(), facts_.sharedBytes, result.kernels));
  registerBuiltinDialectTranslation(*source.getContext());
  registerLLVMDialectTranslation(*source.getContext());
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(*emitted, context);
  if (!module)
    return fail(Code::Internal, "the kernels could not be translated to LLVM IR");
  ObjectTexts texts;
  SINTER_ASSIGN(result.code, compileObject(*module, facts_, stages ? &texts : nullptr));
  if (stages) {
    stages->add("llvm", std::move(texts.llvm));
    stages->add("gcn", std::move(texts.assembly));
  }
  SINTER_ASSIGN(CodeObject object, readCodeObject(result.code));
  SINTER_TRY(checkCodeObject(object, result.kernels, facts_));
  warnOfSpills(source, object);
  return result;
}

Result<std::vector<uint8_t>> AmdTarget::link(std::span<const std::vector<uint8_t>> parts) const {
  SINTER_ASSIGN(std::vector<uint8_t> linked, linkShared(parts));
  SINTER_ASSIGN(linked, joinMetadata(std::move(linked)));
  SINTER_TRY(readCodeObject(linked));
  return linked;
}

Result<std::string> AmdTarget::resources(std::span<const uint8_t> code) const {
  SINTER_ASSIGN(CodeObject object, readCodeObject(code));
  return resourcesText(object, facts_);
}

Result<std::unique_ptr<Target>> findAmdTarget(std::string_view rest) {
  if (const AmdFacts *facts = findFacts(rest))
    return std::make_unique<AmdTarget>(*facts);
  return fail(Code::InvalidArgument, "found AMD target 'amd:" + std::string(rest) +
                                         "', expected one of " + amdTargetNames());
}

} // namespace sinter::targets::amd
