// The SIMT operations that AMD's hardware has its own way, as intrinsics of LLVM's AMDGPU back end.
#pragma once

#include "targets/amd/facts.h"
#include "targets/simt/emit_llvm.h"

namespace sinter::targets::amd {

/// `facts` outlives it.
class AmdSimt : public simt::SimtTarget {
public:
  explicit AmdSimt(const AmdFacts &facts) : facts_(facts) {}

  void declareKernel(mlir::LLVM::LLVMFuncOp function, int64_t threads) const override;
  mlir::Value threadId(simt::Site s) const override;
  mlir::Value programId(simt::Site s, int axis) const override;
  void barrier(simt::Site s) const override;
  mlir::Value shuffle(simt::Site s, mlir::Value value, int32_t mask,
                      int64_t threads) const override;
  mlir::Value permuteBytes(simt::Site s, sched::PermuteBytesOp op) const override;
  mlir::Value loadWhen(simt::Site s, mlir::Value pointer, mlir::Value when, mlir::Value other,
                       simt::LoadHints hints) const override;
  mlir::FailureOr<mlir::Value> matrix(simt::Site s, sched::MatrixOp op) const override;
  mlir::Value elementwise(simt::Site s, mlir::Operation *op) const override;

private:
  const AmdFacts &facts_;
};

} // namespace sinter::targets::amd
