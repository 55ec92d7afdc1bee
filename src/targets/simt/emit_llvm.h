// Emission of SIMT IR to the LLVM dialect: what SIMT targets,
// with LLVM back ends, share. A target gives the few operations that its hardware has its own way.
#pragma once

#include "sched/sched.h"
#include "targets/target.h"
#include "tile/mlir_pch.h"

namespace sinter::targets::simt {

inline constexpr unsigned kGlobalSpace = 1; // pointers to buffers
inline constexpr unsigned kSharedSpace = 3; // pointers to a block's shared memory
inline constexpr int64_t kMaxThreads = 1024;
inline constexpr int64_t kMaxAccessBytes = 16; // of one instruction

/// Place of code to build.
struct Site {
  mlir::OpBuilder &b;
  mlir::Location loc;
};

/// Words of an access: `count` integers of `bits` each in one instruction.
struct Words {
  unsigned bits = 32;
  unsigned count = 1;
  unsigned bytes() const { return bits / 8 * count; }
  mlir::Type type(mlir::MLIRContext *context) const;
};
Words wordsOf(mlir::Type type);

/// What is known of a load.
struct LoadHints {
  bool constant = false; // the memory is not written while the kernel runs
  bool keep = false;     // caches should let go of what the kernel writes before it
};

/// What differs between LLVM targets. Each function builds at its site; values are scalars of one
/// thread. Stateless.
class SimtTarget {
public:
  virtual ~SimtTarget() = default;

  /// Calling convention and attributes of an entry point whose blocks have `threads` threads.
  virtual void declareKernel(mlir::LLVM::LLVMFuncOp function, int64_t threads) const = 0;
  /// Says of a kernel that its threads wait for memory, so that registers for what is on its way
  /// matter more than having more than so many blocks side by side.
  virtual void preferRegisters(mlir::LLVM::LLVMFuncOp, int64_t blocks) const {}
  /// Says of a kernel that each of its programs is so many blocks, neighbours along x.
  virtual void spreadPrograms(mlir::LLVM::LLVMFuncOp, int64_t blocks) const {}
  /// The block's shared memory, an array in space 3: of its own size unless overridden.
  virtual mlir::LLVM::GlobalOp declareShared(mlir::ModuleOp module, llvm::StringRef symbol,
                                             int64_t bytes) const;

  virtual mlir::Value threadId(Site s) const = 0;            // i32
  virtual mlir::Value programId(Site s, int axis) const = 0; // i32
  virtual void barrier(Site s) const = 0;
  /// The i32 of thread XOR `mask`.
  virtual mlir::Value shuffle(Site s, mlir::Value value, int32_t mask, int64_t threads) const = 0;
  /// sched.permute_bytes; null unless overridden, for which the emitter has a diagnostic.
  virtual mlir::Value permuteBytes(Site s, sched::PermuteBytesOp op) const { return {}; }
  /// Fails with a diagnostic for an instruction that the target lacks.
  virtual mlir::FailureOr<mlir::Value> matrix(Site s, sched::MatrixOp op) const = 0;

  /// What only some targets have: block, program_barrier, and remote_load with {shared pointer,
  /// block}; shared_matrices with {shared pointer}; copies and products that
  /// threads do not wait for: copy_async with {global pointer, when, shared pointer}, matrix_async
  /// with {pointers to a and b, acc}, matrix_tile_async with {a, pointer to b, acc}, pin with
  /// {value}, matrix_wait with {acc}, and copy_commit, copy_wait and matrix_fence. The result, null
  /// where there is none. A diagnostic unless overridden.
  virtual mlir::FailureOr<mlir::Value> asynchronous(Site s, mlir::Operation *op,
                                                    mlir::ArrayRef<mlir::Value> operands) const;

  /// Words (an integer or a vector of 2 or 4, aligned to their size) at `pointer`. LLVM's own load
  /// unless overridden.
  virtual mlir::Value load(Site s, mlir::Value pointer, Words words, LoadHints hints) const;
  /// The same where `when`, else `other`. A branch around `load` unless overridden.
  virtual mlir::Value loadWhen(Site s, mlir::Value pointer, mlir::Value when, mlir::Value other,
                               LoadHints hints) const;
  virtual void storeWhen(Site s, mlir::Value words, mlir::Value pointer, mlir::Value when) const;

  /// What stands for an operation of arith, math or vector; null where LLVM's own form serves.
  virtual mlir::Value elementwise(Site s, mlir::Operation *op) const { return {}; }
};

/// Emits `kernel` (SIMT IR) into `module` as `void symbol(buffers..., i64 scalars...)`: one
/// pointer of space 1 a view, then for each argument in order a view's extents and its strides in
/// elements for every axis but a contiguous innermost one, or a scalar argument's bits. The
/// function still has operations of scf, arith, math and vector: lowerToLlvm takes them.
mlir::FailureOr<EmittedKernel> emitSimt(tile::KernelOp kernel, mlir::ModuleOp module,
                                        const SimtTarget &target);

/// Leaves only the LLVM dialect.
mlir::LogicalResult lowerToLlvm(mlir::ModuleOp module);

/// Every kernel of `scheduled` (SIMT IR) in one module of the LLVM dialect, what they need
/// appended to `kernels`. Unsupported, naming the kernel and the target called `name`: no form
/// there, or more shared memory than the `sharedBytes` that it has.
Result<mlir::OwningOpRef<mlir::ModuleOp>> emitModule(mlir::ModuleOp scheduled,
                                                     const SimtTarget &target,
                                                     const std::string &name, int64_t sharedBytes,
                                                     std::vector<EmittedKernel> &kernels);

} // namespace sinter::targets::simt
