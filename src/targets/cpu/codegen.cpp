// The CPU target's table of contents: expand, block, emit, lower, compile, link.
#include "tile/mlir_pch.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "sched/expand_float8.h"
#include "sched/expand_math.h"
#include "targets/cpu/blocking/block.h"
#include "targets/cpu/blocking/delay_quantization.h"
#include "targets/cpu/blocking/verify_budget.h"
#include "targets/cpu/codegen.h"
#include "targets/cpu/emission/lower_floats.h"
#include "targets/cpu/emission/pair_dots.h"
#include "targets/cpu/object.h"
#include "targets/machine_code.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;

namespace sinter::targets::cpu {

static std::string print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream out(text);
  op->print(out);
  return text;
}

Result<OwningOpRef<ModuleOp>> scheduleKernels(ModuleOp source, const CpuFacts &facts) {
  source.getContext()
      ->loadDialect<sched::SchedDialect, tile::TileDialect, arith::ArithDialect, math::MathDialect,
                    scf::SCFDialect>();
  OwningOpRef<ModuleOp> module(cast<ModuleOp>(source->clone()));
  PassManager before(source.getContext());
  before.addPass(createCanonicalizerPass());
  before.addPass(createCSEPass());
  if (failed(sched::expandFloat8(*module)) || failed(sched::expandMath(*module)) ||
      failed(before.run(*module)))
    return fail(Code::Unsupported, "the kernel's arithmetic could not be expanded");
  for (auto kernel : llvm::make_early_inc_range(module->getOps<tile::KernelOp>())) {
    pairDots(kernel, facts);
    FailureOr<tile::KernelOp> blocked = blockKernel(kernel, facts);
    if (failed(blocked))
      return fail(Code::Unsupported,
                  "kernel '" + kernel.getSymName().str() + "' could not be blocked for a CPU");
    kernel.erase();
  }
  PassManager after(source.getContext());
  after.addPass(createCanonicalizerPass());
  after.addPass(createCSEPass());
  auto tidied = [&] { return after.run(*module); };
  if (failed(tidied()))
    return fail(Code::Internal, "the scheduled form of the kernels is not well formed");
  for (auto kernel : module->getOps<tile::KernelOp>())
    delayQuantization(kernel, facts);
  if (failed(tidied()))
    return fail(Code::Internal, "the scheduled form of the kernels is not well formed");
  for (auto kernel : module->getOps<tile::KernelOp>())
    if (failed(verifyBudget(kernel, facts)))
      return fail(Code::Unsupported,
                  "kernel '" + kernel.getSymName().str() + "' takes more than the CPU has");
  return module;
}

static LogicalResult lowerToLlvm(ModuleOp module) {
  lowerFloats(module);
  RewritePatternSet divisions(module.getContext());
  arith::populateCeilFloorDivExpandOpsPatterns(divisions);
  if (failed(applyPatternsGreedily(module, std::move(divisions))))
    return failure();
  PassManager passes(module.getContext());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createLoopInvariantCodeMotionPass());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createConvertVectorToLLVMPass());
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertIndexToLLVMPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  return passes.run(module);
}

Result<CompiledObject> compileToObject(ModuleOp source, const CpuFacts &facts, Stages *stages) {
  SINTER_ASSIGN(OwningOpRef<ModuleOp> scheduled, scheduleKernels(source, facts));
  if (stages && stages->wanted)
    stages->sched = print(*scheduled);
  source.getContext()->loadDialect<LLVM::LLVMDialect, vector::VectorDialect>();
  CompiledObject result;
  OwningOpRef<ModuleOp> emitted(ModuleOp::create(source.getLoc()));
  for (auto kernel : scheduled->getOps<tile::KernelOp>()) {
    FailureOr<EmittedKernel> one = emitKernel(kernel, *emitted, facts);
    if (failed(one))
      return fail(Code::Unsupported,
                  "kernel '" + kernel.getSymName().str() + "' could not be emitted for a CPU");
    result.kernels.push_back(*one);
  }
  if (failed(lowerToLlvm(*emitted)))
    return fail(Code::Internal, "the kernels could not be lowered to LLVM");
  registerBuiltinDialectTranslation(*source.getContext());
  registerLLVMDialectTranslation(*source.getContext());
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(*emitted, context);
  if (!module)
    return fail(Code::Internal, "the kernels could not be translated to LLVM IR");
  std::string *assembly = stages && stages->wanted ? &stages->assembly : nullptr;
  SINTER_ASSIGN(result.object, compileObject(*module, facts, assembly));
  if (stages && stages->wanted) {
    llvm::raw_string_ostream out(stages->llvm);
    module->print(out, nullptr);
  }
  return result;
}

Result<CompiledModule> compileKernels(ModuleOp source, const CpuFacts &facts, Stages *stages) {
  SINTER_ASSIGN(CompiledObject code, compileToObject(source, facts, stages));
  CompiledModule result;
  SINTER_ASSIGN(result.sharedObject, linkShared({&code.object, 1}));
  result.kernels = std::move(code.kernels);
  return result;
}

} // namespace sinter::targets::cpu
