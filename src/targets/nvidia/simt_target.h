// The SIMT operations that NVIDIA's hardware has its own way, as NVVM intrinsics and inline PTX.
#pragma once

#include "targets/nvidia/facts.h"
#include "targets/simt/emit_llvm.h"

namespace sinter::targets::nvidia {

class NvidiaSimt : public simt::SimtTarget {
public:
  explicit NvidiaSimt(const NvidiaFacts &facts) : facts_(facts) {}

  void declareKernel(mlir::LLVM::LLVMFuncOp function, int64_t threads) const override;
  void preferRegisters(mlir::LLVM::LLVMFuncOp function, int64_t blocks) const override;
  void spreadPrograms(mlir::LLVM::LLVMFuncOp function, int64_t blocks) const override;
  mlir::LLVM::GlobalOp declareShared(mlir::ModuleOp module, llvm::StringRef symbol,
                                     int64_t bytes) const override;
  mlir::Value threadId(simt::Site s) const override;
  mlir::Value programId(simt::Site s, int axis) const override;
  void barrier(simt::Site s) const override;
  mlir::Value shuffle(simt::Site s, mlir::Value value, int32_t mask,
                      int64_t threads) const override;
  mlir::Value permuteBytes(simt::Site s, sched::PermuteBytesOp op) const override;
  mlir::FailureOr<mlir::Value> matrix(simt::Site s, sched::MatrixOp op) const override;
  mlir::FailureOr<mlir::Value> asynchronous(simt::Site s, mlir::Operation *op,
                                            mlir::ArrayRef<mlir::Value> operands) const override;
  mlir::Value load(simt::Site s, mlir::Value pointer, simt::Words words,
                   simt::LoadHints hints) const override;
  mlir::Value loadWhen(simt::Site s, mlir::Value pointer, mlir::Value when, mlir::Value other,
                       simt::LoadHints hints) const override;
  void storeWhen(simt::Site s, mlir::Value words, mlir::Value pointer,
                 mlir::Value when) const override;
  mlir::Value elementwise(simt::Site s, mlir::Operation *op) const override;

private:
  const NvidiaFacts &facts_;
};

} // namespace sinter::targets::nvidia
