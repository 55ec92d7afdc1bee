// The NVIDIA target's table of contents: schedule, emit, lower, translate, print PTX.
#include "tile/mlir_pch.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "targets/nvidia/nvidia_target.h"
#include "targets/nvidia/ptx.h"
#include "targets/nvidia/schedule.h"
#include "targets/nvidia/simt_target.h"
#include "targets/simt/profile.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;

namespace sinter::targets::nvidia {

// Beside block formats bf16 is faster than integers group by group, the weights dequantized (an
// H200, 512 rows of q8_0: 0.70 to 0.72 of the time, tried with f16).
static TargetProfile profileOf(const NvidiaFacts &facts) {
  TargetProfile profile = simt::profileOf(simtFacts(facts));
  profile.besideQuantized = ActivationPrecision::BF16;
  profile.readsTokens = facts.groupMatmuls;
  return profile;
}

namespace {
class NvidiaTarget : public Target {
public:
  explicit NvidiaTarget(const NvidiaFacts &facts) : facts_(facts), profile_(profileOf(facts)) {}

  std::string name() const override { return "cuda:" + std::string(facts_.architecture); }
  const TargetProfile &profile() const override { return profile_; }
  std::vector<std::string> stageNames() const override {
    return {"layout", "sched", "llvm", "ptx"};
  }
  Result<CompiledModule> compilePart(ModuleOp source, Stages *stages) const override;
  Result<std::vector<uint8_t>> link(std::span<const std::vector<uint8_t>> parts) const override;

private:
  const NvidiaFacts &facts_; // a row of the table
  TargetProfile profile_;
};
} // namespace

Result<CompiledModule> NvidiaTarget::compilePart(ModuleOp source, Stages *stages) const {
  auto addLayout = [&](ModuleOp laidOut) {
    if (stages)
      stages->add("layout", printed(laidOut));
  };
  SINTER_ASSIGN(OwningOpRef<ModuleOp> scheduled, scheduleSimt(source, facts_, addLayout));
  if (stages)
    stages->add("sched", printed(*scheduled));
  CompiledModule result;
  SINTER_ASSIGN(
      OwningOpRef<ModuleOp> emitted,
      simt::emitModule(*scheduled, NvidiaSimt(facts_), name(), facts_.sharedBytes, result.kernels));
  registerBuiltinDialectTranslation(*source.getContext());
  registerLLVMDialectTranslation(*source.getContext());
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(*emitted, context);
  if (!module)
    return fail(Code::Internal, "the kernels could not be translated to LLVM IR");
  std::string optimised;
  SINTER_ASSIGN(std::string ptx, compilePtx(*module, facts_, stages ? &optimised : nullptr));
  if (stages) {
    stages->add("llvm", std::move(optimised));
    stages->add("ptx", ptx);
  }
  result.code.assign(ptx.begin(), ptx.end());
  return result;
}

Result<std::vector<uint8_t>> NvidiaTarget::link(std::span<const std::vector<uint8_t>> parts) const {
  std::vector<std::string_view> texts;
  for (const std::vector<uint8_t> &part : parts)
    texts.emplace_back(reinterpret_cast<const char *>(part.data()), part.size());
  SINTER_ASSIGN(std::string joined, joinPtx(texts));
  return std::vector<uint8_t>(joined.begin(), joined.end());
}

Result<std::unique_ptr<Target>> findNvidiaTarget(std::string_view rest) {
  if (const NvidiaFacts *facts = findFacts(rest))
    return std::make_unique<NvidiaTarget>(*facts);
  return fail(Code::InvalidArgument, "found CUDA target 'cuda:" + std::string(rest) +
                                         "', expected one of " + nvidiaTargetNames());
}

} // namespace sinter::targets::nvidia
