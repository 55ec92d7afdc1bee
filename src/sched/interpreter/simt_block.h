// A kernel's thread block in step: a value that all threads share is held once, any other once
// for each thread.
#pragma once

#include "sched/interpreter/simt_accumulators.h"
#include "sched/interpreter/simt_matrix.h"
#include "sched/interpreter/simt_shared.h"
#include "tile/mlir_pch.h"

namespace sinter::sched {

/// A value of one operation's operand or result: uniform values have the shape [] or [count], the
/// others [threads] or [threads, count].
struct SimtValue {
  const tile::Tile *tile;
  SimtWord word;
  bool varies() const { return tile->count() != word.count; }
};

/// Arithmetic runs in the tile interpreter's own handlers. `options` outlives it.
class SimtExtension : public tile::Extension {
public:
  explicit SimtExtension(const InterpreterOptions &options) : options_(options) {}
  Result<void> checkKernel(tile::KernelOp kernel) override;
  void beginProgram() override;
  Result<void> endProgram() override;
  void endRun() override {
    accumulators_.beginProgram();
    opaque_.clear();
  }
  bool executesAll() const override { return true; }
  Result<void> checkControl(mlir::Operation &op, tile::Task &task) override;
  Result<tile::Step> execute(mlir::Operation &op, tile::Task &task) override;

private:
  Result<void> dispatch(mlir::Operation &op, tile::Task &task);

  // interpreter/simt.cpp: values
  SimtValue valueOf(mlir::Value value, const tile::Task &task) const;
  llvm::SmallVector<int64_t, 2> shapeOf(const SimtWord &word, bool varies) const;
  Result<tile::Tile> allocate(mlir::Operation &op, mlir::Type type, bool varies,
                              tile::Task &task) const;
  Result<tile::Tile> expand(mlir::Operation &op, const SimtValue &value, tile::Task &task,
                            int64_t repeats = 1) const;
  Result<tile::Tile> expanded(mlir::Operation &op, mlir::Value value, tile::Task &task) const;
  static std::string textOf(const tile::Tile &tile, int64_t at);
  Result<void> checkUniform(mlir::Operation &op, mlir::Value value, llvm::StringRef name,
                            tile::Task &task) const;

  // arithmetic
  Result<tile::Tile> operandFor(mlir::Operation &op, unsigned at, tile::Task &task) const;
  Result<void> elementwise(mlir::Operation &op, tile::Task &task) const;

  // vectors
  Result<void> join(mlir::vector::FromElementsOp op, tile::Task &task);
  Result<void> repeat(mlir::vector::BroadcastOp op, tile::Task &task);
  Result<void> extract(mlir::vector::ExtractOp op, tile::Task &task);
  Result<void> bitcast(mlir::vector::BitCastOp op, tile::Task &task) const;

  // interpreter/simt_access.cpp: memory
  Result<void> readStride(StrideOp op, tile::Task &task) const;
  Result<ViewMemory *> memoryOf(const SimtAccess &access, mlir::Value view, tile::Task &task);
  Result<void> viewLoad(ViewLoadOp op, tile::Task &task);
  Result<void> tableLoad(TableLoadOp op, tile::Task &task) const;
  Result<void> permuteBytes(PermuteBytesOp op, tile::Task &task) const;
  Result<void> viewStore(ViewStoreOp op, tile::Task &task);
  Result<void> sharedLoad(SharedLoadOp op, tile::Task &task);
  Result<void> remoteLoad(RemoteLoadOp op, tile::Task &task);
  /// The value at each thread's place in the shared memory of the block that `blockOf` gives.
  Result<void> loadShared(mlir::Operation &op, mlir::Value byte,
                          llvm::function_ref<int64_t(int64_t)> blockOf, tile::Task &task);
  int64_t blockOf(int64_t thread) const { return thread / blockThreads_; }
  SharedMemory &sharedOf(int64_t thread) { return shared_[static_cast<size_t>(blockOf(thread))]; }
  Result<void> reportUnwritten(mlir::Operation &op, int64_t thread, int64_t at, size_t size,
                               tile::Task &task) const;
  Result<void> sharedMatrices(SharedMatricesOp op, tile::Task &task);
  void poison(tile::Tile &out, int64_t thread) const;
  Result<void> sharedStore(SharedStoreOp op, tile::Task &task);

  // between threads
  Result<void> shuffle(ShuffleOp op, tile::Task &task) const;
  Result<void> multiply(MatrixOp op, tile::Task &task);

  // interpreter/simt_async.cpp: copies and matmuls that threads need not wait for
  static std::string nameText(mlir::Operation &op);
  const AccumulatorsInFlight::Held *heldOf(mlir::Value value, const tile::Task &task) const;
  Result<void> checkFlights(mlir::Operation &op, tile::Task &task) const;
  void noteRegisters(mlir::Operation &op, tile::Task &task);
  Result<tile::Tile> poisoned(mlir::Operation &op, tile::Task &task) const;
  Result<void> joinInFlight(mlir::vector::FromElementsOp op, tile::Task &task);
  Result<void> startCopy(CopyAsyncOp op, tile::Task &task);
  Result<int64_t> placeOf(mlir::Operation &op, const tile::Tile &places, llvm::StringRef name,
                          int64_t first, int64_t lanes, tile::Task &task) const;
  Result<tile::Tile> operandOf(const SimtAccess &access, const MatmulRead &read,
                               mlir::VectorType type, int64_t rows, int64_t place,
                               llvm::StringRef name);
  Result<tile::Tile> panelsOf(const SimtAccess &access, const MatmulRead &read,
                              const MatrixInstruction &instruction, int64_t place, int64_t panel);
  Result<tile::Tile> tileOperandOf(const SimtAccess &access, const MatmulRead &read,
                                   const MatrixInstruction &instruction, int64_t place,
                                   MatrixTileAsyncOp op);
  Result<void> readPiece(const SimtAccess &access, const MatmulRead &read, int64_t at, int64_t row,
                         llvm::StringRef name, llvm::MutableArrayRef<std::byte> piece);
  static tile::Tile transposed(const tile::Tile &tile, int64_t rows);
  Result<tile::Tile> accumulatorsFor(mlir::Operation &op, mlir::Value acc, tile::Task &task);
  Result<void> startTileMatmul(MatrixTileAsyncOp op, tile::Task &task);
  Result<void> startMatmul(MatrixAsyncOp op, tile::Task &task);
  Result<void> fly(mlir::Operation &op, InFlightAccumulators accumulators, tile::Task &task);
  Result<void> waitForMatmuls(MatrixWaitOp op, tile::Task &task);

  // interpreter/simt_opaque.cpp: matmuls whose accumulators no register holds
  Result<void> clearAccumulators(AccClearOp op, tile::Task &task);
  Result<tile::Tile *> opaqueAt(mlir::Operation &op, uint64_t number, tile::Task &task);
  Result<tile::Tile> rowsOf(const SimtAccess &access, int64_t first, int64_t lanes, mlir::Type type,
                            int64_t rows, int64_t place, int64_t rowBytes, tile::Task &task);
  Result<void> addToAccumulators(AccAddOp op, tile::Task &task);
  Result<void> takeAccumulators(AccTakeOp op, tile::Task &task);

  const InterpreterOptions &options_;
  int64_t threads_ = 1, blockThreads_ = 1; // of a program, and of each of its blocks
  tile::Tile number_, block_;              // of each thread
  ThreadClock clock_;
  bool isAsynchronous_ = false; // has copies or matmuls that threads need not wait for
  bool overlapsLaunches_ = false, hasAwaited_ = true;
  std::vector<SharedMemory> shared_; // of each block
  AccumulatorsInFlight accumulators_;
  std::map<uint64_t, tile::Tile> opaque_; // fragments by number, as the table lays them out
  llvm::DenseMap<mlir::Value, std::unique_ptr<ViewMemory>> views_;
  std::map<const MatrixInstruction *, MatrixUnit> units_;
};

} // namespace sinter::sched
