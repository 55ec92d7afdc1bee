// The state of one kernel's emission, shared by its files.
#pragma once

#include "sched/sched.h"
#include "targets/vulkan/code.h"
#include "targets/vulkan/emit_spirv.h"

namespace sinter::targets::vulkan {

/// What the module's parts need of the device.
using Capabilities = std::set<mlir::spirv::Capability>;

/// Words of an argument block after buffers and scalars: extents and base of a dispatch. The
/// address of the kernel's constants follows.
inline constexpr int64_t kGridWords = 6;

/// The block's shared memory: an array of units as wide as the narrowest store, so that two threads
/// never write to one; of 32 bits where the device has no such integers.
struct SharedMemory {
  mlir::spirv::GlobalVariableOp variable;
  unsigned unitBytes = 4;
  bool inPieces = false; // units are elements of vectors of 16 bytes, which can be accessed whole
};

/// What a load has read, words that are to be replaced by others where not `when` (null: nowhere).
struct Loaded {
  SmallVector<Value> pieces, others;
  Value when;
};

/// Types of a matmul's operands and accumulators.
struct CooperativeTypes {
  mlir::spirv::CooperativeMatrixType a, b, accumulators;
};

class Emitter {
public:
  Emitter(tile::KernelOp kernel, mlir::spirv::ModuleOp module, const VulkanFacts &facts,
          Capabilities &capabilities)
      : kernel_(kernel), module_(module), facts_(facts), capabilities_(capabilities),
        b_(kernel.getContext()) {}
  mlir::FailureOr<EmittedKernel> run();

private:
  using Scalars = SmallVector<Value, 1>; // one for each element

  // emit_spirv.cpp: the walk
  mlir::LogicalResult readAttributes();
  mlir::LogicalResult checkTypes();
  mlir::LogicalResult emitBlock(mlir::Block &block);
  mlir::LogicalResult emit(mlir::Operation *op);
  mlir::LogicalResult emitElementwise(mlir::Operation *op);
  mlir::LogicalResult emitConstant(mlir::arith::ConstantOp op);
  mlir::LogicalResult emitExtract(mlir::vector::ExtractOp op);

  // emit_bytes.cpp
  Value permutedBytes(sched::PermuteBytesOp op);

  Site site() { return {b_, loc_}; }
  Value scalar(Value value) { return values_.find(value)->second.front(); }
  void define(Value old, Value now) { values_[old] = {now}; }

  // emit_entry.cpp: entry point, arguments, threads
  mlir::spirv::FuncOp makeFunction();
  void bindArguments(mlir::Block &body);
  void finishEntryPoint(mlir::spirv::FuncOp function);
  void sayHowItRounds(mlir::spirv::FuncOp function);
  Value argumentWord(int64_t number);
  Value pushedWord(int64_t number);
  Value builtin(mlir::spirv::BuiltIn kind, llvm::StringRef name, int axis);
  mlir::spirv::GlobalVariableOp global(llvm::StringRef name, Type type, mlir::Attribute builtin);
  Value addressOf(mlir::spirv::GlobalVariableOp variable);
  Value viewWord(mlir::Operation *op, Value view, bool stride, int64_t axis);
  Value thread();
  Value programId(int axis);
  Value shuffle(sched::ShuffleOp op);
  void barrier();

  // emit_structure.cpp: loops and branches
  mlir::LogicalResult emitFor(mlir::scf::ForOp loop);
  mlir::LogicalResult emitIf(mlir::scf::IfOp branch);
  Scalars flattened(mlir::ValueRange values);
  void bindFlat(mlir::ValueRange old, mlir::ValueRange flat);
  SmallVector<Type> flatTypes(mlir::TypeRange types);

  // emission/memory.cpp: views and shared memory
  mlir::LogicalResult emitLoad(sched::ViewLoadOp op);
  mlir::LogicalResult emitStore(sched::ViewStoreOp op);
  mlir::LogicalResult emitSharedLoad(sched::SharedLoadOp op);
  mlir::LogicalResult emitSharedStore(sched::SharedStoreOp op);
  /// A device address: `constant` bytes after `start`.
  struct Place {
    Value start;
    int64_t constant = 0;
  };
  Place placeAt(Value view, Value byte);
  Value addressOf(const Place &place, int64_t more);
  SmallVector<Value> loadChunk(Value address, int64_t bytes);
  Value tableWord(sched::TableLoadOp op);
  static bool isHandedOver(sched::ViewLoadOp op);
  SmallVector<Value> completed(const Loaded &loaded);
  void storeChunk(Value address, ArrayRef<Value> pieces, int64_t bytes);
  void declareShared();
  Value sharedUnit(Value byte, int64_t unit);
  Value sharedPiece(Value byte, int64_t piece);
  SmallVector<Value> sharedPieces(Value byte, int64_t bytes);
  Value sharedWord(sched::SharedLoadOp op, unsigned bits);
  void storePartOfWord(Value byte, Value value, unsigned bits);
  void storePieces(sched::SharedStoreOp op, Value byte, ArrayRef<Value> words);
  Scalars elementsOf(ArrayRef<Value> pieces, unsigned bits, Type type);
  SmallVector<Value> piecesOf(Value value, unsigned bits);
  /// Runs `write` where `when`, in one selection with the writes before it if their condition is
  /// the same.
  void writeWhen(Value when, std::function<void()> write);
  void flushWrites();

  // emit_matrix.cpp: cooperative matrices
  mlir::FailureOr<CooperativeTypes> cooperativeTypes(mlir::Operation *op, llvm::StringRef name);
  Value accumulatorsVariable(uint64_t number, Type type);
  mlir::LogicalResult emitAccClear(sched::AccClearOp op);
  SmallVector<Value> operandMatrices(Value byte, Type type, int64_t rowBytes, int64_t stepBytes,
                                     int64_t count, bool columns);
  mlir::LogicalResult emitAccAdd(sched::AccAddOp op);
  void subgroupBarrier();
  mlir::LogicalResult emitAccTake(sched::AccTakeOp op);

  tile::KernelOp kernel_;
  mlir::spirv::ModuleOp module_;
  const VulkanFacts &facts_;
  bool roundsToBfloat16_ = false; // by an operation, not by integers
  Capabilities &capabilities_;
  mlir::OpBuilder b_;
  mlir::Location loc_ = mlir::UnknownLoc::get(kernel_.getContext());
  EmittedKernel result_;
  llvm::DenseMap<Value, Scalars> values_;
  llvm::DenseMap<Value, Loaded> handedOver_;                 // to shared memory, as they are read
  llvm::DenseMap<Value, std::pair<int64_t, int64_t>> views_; // words of address and first extent
  llvm::MapVector<int64_t, Value> words_;
  llvm::DenseMap<mlir::Attribute, int64_t> tables_; // their first words in `constants_`
  SmallVector<int32_t> constants_;
  llvm::StringMap<Value> builtins_;
  SmallVector<mlir::Attribute> interface_;
  mlir::Operation *entry_ = nullptr; // after which words of the arguments are read
  Value argumentBlock_, zeros_;      // i64
  Value pushed_;                     // pointer to the push constants
  bool isCounted_ = false;           // how many words the arguments take is known
  SharedMemory shared_;
  bool shuffles_ = false;                        // or works by subgroups in another way
  llvm::DenseMap<uint64_t, Value> accumulators_; // variables of cooperative matrices, by number
  Value writesWhen_;                             // i1
  SmallVector<std::function<void()>> writes_;
};

} // namespace sinter::targets::vulkan
