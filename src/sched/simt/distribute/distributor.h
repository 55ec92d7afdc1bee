// The state of distribution, shared by its files: what each thread holds of each tile, and how
// views are addressed.
#pragma once

#include "sched/simt/facts.h"
#include "sched/simt/layout.h"
#include "tile/mlir_pch.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace sinter {
struct BlockFormat;
} // namespace sinter

namespace sinter::sched {

struct BlockElement;
struct BlockTile;
struct BlockSteps;
using mlir::ArrayRef;
using mlir::Location;
using mlir::LogicalResult;
using mlir::Operation;
using mlir::RankedTensorType;
using mlir::SmallVector;
using mlir::Type;
using mlir::Value;

/// A view in the kernel being made. Origins and extents count elements, strides elements or whole
/// blocks of a block format, along whose last axis blocks follow one another. Gathered views read
/// page or row numbers from `index`.
struct SimtView {
  tile::ViewType type;
  Value argument;
  SmallVector<Value> origin, dims, strides;
  SmallVector<Value> low;             // the first coordinates inside; null where 0
  SmallVector<int64_t> originDivisor; // of the origin
  SmallVector<bool> whole;            // the extent is the argument's own
  int64_t bytes = 0;                  // of an element, of a block for a block format
  int64_t length = 1;                 // elements of a block
  Value index; // the argument with page or row numbers; null where not gathered
  Value indexOrigin, indexStride;
  Value pageCount, rowStride;
  int64_t pageRows = 0;
  bool byRow = false;
};

/// One load or store of a tile: what its registers' addresses and conditions share.
struct SimtAccess {
  SimtAccess(const SimtView &view, const SimtLayout &layout, int64_t vector)
      : view(view), layout(layout), vector(vector) {}

  const SimtView &view;
  SimtLayout layout;
  SmallVector<Value> at;      // index: offset and thread part along each axis
  SmallVector<Value> uniform; // index: the offset alone
  SmallVector<bool> all;      // the tile lies inside along this axis, or not at all
  int64_t vector = 1;         // registers of one access
  Value base;                 // index: bytes of the element at `at`
  llvm::DenseMap<std::pair<int, int64_t>, Value> steps, inside;
  llvm::DenseMap<int64_t, std::pair<Value, Value>> rows;
};

/// A load of a tile, whose registers are there once their piece was loaded.
struct TileLoad {
  SimtAccess access;
  Value other; // outside of the view
  SmallVector<Value> registers;
};

/// Which bytes of shared memory an operation uses, for as long as it runs. Of a tile that does not
/// fit, windows take turns there: bytes [begin, end) of the tile, from `base` on.
struct SharedTile {
  SmallVector<int64_t> strides; // in elements, one for each axis
  int64_t base = 0;             // bytes
  Type element;                 // as stored
  int64_t bytes = 0;            // of the whole tile
  int64_t begin = 0, end = bytes;

  bool isWhole() const { return begin == 0 && end == bytes; }
};

/// Where a pipeline's places lie in shared memory.
struct PipelineBuffer {
  int64_t base = 0, end = 0, stageBytes = 0, rowBytes = 0, panelBytes = 0;
  bool swizzled = false;
  SmallVector<int64_t> order = {}; // of places along a row; empty: as elements
  Operation *lastUse = nullptr;    // after which others may have its bytes; null: for ever its own
};

/// How threads reach a tile of shared memory.
struct SharedPlan {
  int64_t base;
  SmallVector<int64_t> strides;
  int64_t vector;         // registers of one access
  int64_t most = 0;       // bytes of any thread's part
  Value thread = Value(); // i32: bytes of the thread's part
};

/// A tile of shared memory, whose registers are there once their piece was read.
struct SharedRead {
  SharedTile tile;
  SimtLayout layout;
  SharedPlan plan;
  Value step; // i32: bytes that a loop adds
  SmallVector<Value> registers = {};
  const PipelineBuffer *pipeline = nullptr; // in whose order it lies, where it has one
};

struct GroupAccumulators;
struct GroupSimt;
struct GroupSums;
struct GroupSumsSimt;
struct MatrixInstruction;
/// Whether a matmul by groups reads its left operand itself, piece by piece where it multiplies:
/// threads could not hold all of it beside the words of weights.
bool isReadInTurn(Operation *load);

class Distributor {
public:
  using Registers = SmallVector<Value>;
  Distributor(tile::KernelOp kernel, const SimtFacts &facts)
      : kernel_(kernel), facts_(facts), b_(kernel.getContext()) {}
  LogicalResult run();

private:
  // Tiles whose registers are computed where they are needed.
  struct InTurn {
    llvm::DenseMap<std::pair<Value, int64_t>, Value> values; // by tile and register
    std::map<Operation *, TileLoad> loads = {};
  };
  // Tokens of a matmul of few rows, read or computed where it multiplies.
  struct TokensInTurn {
    Value tile = Value();
    std::optional<TileLoad> loaded = std::nullopt;
    std::optional<SharedRead> shared = std::nullopt;
    InTurn made = InTurn();
  };
  using CoordsFn = llvm::function_ref<SmallVector<int64_t>(ArrayRef<int64_t>)>;

  // distribute.cpp: structure and scalars
  LogicalResult emitBody(mlir::Block &block);
  Value alignedAtLaunch(mlir::Block &block);
  LogicalResult emitBlock(mlir::Block &block);
  LogicalResult emit(Operation *op);
  LogicalResult emitFor(mlir::scf::ForOp loop);
  LogicalResult emitIf(mlir::scf::IfOp branch);
  LogicalResult emitScalar(Operation *op);
  SmallVector<Value> flattened(mlir::ValueRange values);
  void bindFlat(mlir::ValueRange old, mlir::ValueRange flat);

  // distribute/memory.cpp: views
  void bindView(mlir::BlockArgument view);
  void emitWindow(tile::WindowOp op);
  void emitGather(tile::GatherOp op);
  LogicalResult emitLoad(tile::LoadOp op);
  TileLoad loadOf(tile::LoadOp op);
  void loadPiece(TileLoad &load, int64_t number);
  LogicalResult emitLoadScalar(tile::LoadScalarOp op);
  LogicalResult emitStore(tile::StoreOp op);
  SimtAccess accessOf(const SimtView &view, mlir::ValueRange offsets, const SimtLayout &layout);
  int64_t vectorOf(const SimtView &view, mlir::ValueRange offsets, const SimtLayout &layout);
  Value byteAt(SimtAccess &access, int64_t number);
  Value whenAt(SimtAccess &access, int64_t number);
  Value insideAxis(SimtAccess &access, int axis, int64_t part);
  Value stepBytes(SimtAccess &access, int axis, int64_t part);
  std::pair<Value, Value> gatheredRow(SimtAccess &access, int64_t part);

  // distribute/tile.cpp: tiles
  LogicalResult emitElementwise(Operation *op);
  Value elementOf(Operation *op, ArrayRef<Value> operands);
  LogicalResult emitConstant(mlir::arith::ConstantOp op);
  void emitIota(tile::IotaOp op);
  void emitBroadcast(tile::BroadcastOp op);
  static int64_t registerBelow(tile::BroadcastOp op, int64_t number);
  void emitPermute(tile::PermuteOp op);
  LogicalResult emitReduce(tile::ReduceOp op);
  Value combine(tile::ReduceKind kind, Value a, Value b);
  Value combined(Registers group, llvm::function_ref<Value(Value, Value)> two);
  Value maximumByBits(ArrayRef<Value> group);
  Value acrossSubgroups(tile::ReduceKind kind, Value value, int64_t mask);
  LogicalResult emitConvert(ConvertOp op);
  LogicalResult emitReshape(tile::ReshapeOp op);
  LogicalResult emitSlice(tile::SliceOp op);
  bool joinRegisters(tile::ConcatOp op);
  LogicalResult emitConcat(tile::ConcatOp op);

  // distribute/blocks.cpp: parts of blocks
  LogicalResult emitBlockLoad(BlockLoadOp op);
  LogicalResult emitBlockStore(BlockStoreOp op);
  struct BlockPlace {
    Value byte;    // of the block's first byte, or of its group of packed blocks
    Value inGroup; // index: the row's number in that group; null where rows are not packed
    Value when;
  };
  BlockPlace blockAt(SimtAccess &access, int64_t number, int64_t elements);
  Registers codesOf(SimtAccess &access, int64_t width);
  Value factorAt(const BlockPlace &place, const SimtView &view, llvm::StringRef field);
  Value valueOf(const BlockPlace &place, const SimtView &view, Value code);

  // distribute/block_values.cpp: elements of blocks in the file's order, whole or in words
  LogicalResult emitBlockValues(BlockLoadOp op, const BlockFormat &format);
  BlockElement blockElement(SimtAccess &access, int64_t number, const BlockSteps &steps);
  std::shared_ptr<BlockTile> blockTileOf(BlockLoadOp op);
  Value blockValue(BlockTile &tile, int64_t number);
  /// The registers of a tile, of blocks where they are not made yet.
  std::function<Value(int64_t)> registersInTurn(Value tile);

  // distribute/dot.cpp: matmuls
  LogicalResult emitDot(tile::DotOp op);
  LogicalResult emitAccumulators(tile::DotOp op);
  int64_t depthInTurns(const SharedTile &a, const SharedTile &b, int64_t k) const;
  Registers accumulatorsOfShared(tile::DotOp op, const SharedTile &a, const SharedTile &b,
                                 int64_t depth, const Registers &before);
  LogicalResult emitMatrix(tile::DotOp op);
  Registers clearedBeyond(Value tile, int axis);

  // distribute/split.cpp: matmuls of few rows
  LogicalResult emitSplitDot(SplitDotOp op);
  LogicalResult emitReadingDot(SplitDotOp op);
  LogicalResult emitGroupDot(GroupDotOp op);
  GroupAccumulators accumulatorsOf(GroupDotOp op, GroupSums &sums, const GroupSimt &simt,
                                   Registers &registers);
  LogicalResult emitReadingDot(GroupDotOp op, const GroupSimt &simt);
  Value startGroup(GroupAccumulators &accumulators, int64_t first, int64_t column,
                   const PipelineBuffer &pipeline, Value tokens);
  mlir::FailureOr<SharedRead> shareSums(GroupDotOp op, const GroupSimt &simt,
                                        const GroupSumsSimt &layouts, SharedRead own);
  SmallVector<Value> sumsOfGroup(SharedRead &sums, const GroupSimt &simt, int64_t row,
                                 int64_t group);
  TokensInTurn tokensOf(Value tile, const SimtLayout &layout);
  SmallVector<Value> tokensAt(TokensInTurn &tokens, ArrayRef<int64_t> numbers);
  SmallVector<Value> tokensAt(TileLoad &load, ArrayRef<int64_t> numbers);
  SmallVector<Value> tokensAt(SharedRead &read, ArrayRef<int64_t> numbers);
  SmallVector<Value> tokensAt(InTurn &made, Value tile, ArrayRef<int64_t> numbers);
  LogicalResult emitJoinShares(JoinSharesOp op);
  LogicalResult joinBlocks(JoinSharesOp op);
  Registers takeRemote(const SharedTile &shared, const SharedPlan &plan, const SimtLayout &layout,
                       Value block, Value more);
  Registers takeSums(const SharedTile &sums, const SimtLayout &to, Value block);

  // distribute/in_turn.cpp: what a matmul by groups computes where it multiplies
  void chooseInTurn();
  Value computedAt(InTurn &made, Value tile, int64_t number);

  // distribute/pipeline.cpp: tiles fetched ahead
  LogicalResult emitMakePipeline(MakePipelineOp op);
  LogicalResult emitStageCopy(StageCopyOp op);
  LogicalResult emitStageRead(StageReadOp op);
  /// Where the first stage's tile lies, and i32: how far from there the operation's stage begins.
  SharedTile stageOf(StageReadOp op);
  Value stageStart(StageReadOp op);
  LogicalResult storePieces(StageStoreOp op, const PipelineBuffer &pipeline);
  LogicalResult emitStageDot(StageDotOp op);
  LogicalResult emitTileDot(TileDotOp op);
  LogicalResult emitSettle(SettleOp op);
  Value pinned(ArrayRef<Value> registers);
  /// Pipelines that nothing reads or writes after `op` leave shared memory.
  void releasePipelines(Operation *op);
  Value stageByte(const PipelineBuffer &pipeline, Value place);
  Value pipelineByte(const PipelineBuffer &pipeline, const SimtLayout &layout, int64_t number,
                     int64_t bytes);
  void takeNeighbours(SharedRead &read, int64_t number);
  Value operandStart(const SimtLayout &accumulators, const MatrixInstruction &instruction, int axis,
                     int64_t bytes);
  void waitForAccumulators(const SimtLayout &accumulators, Registers &acc, int64_t pending,
                           bool commit);

  // distribute/accumulators.cpp: matmuls with accumulators that no register holds
  LogicalResult emitStageStore(StageStoreOp op);
  LogicalResult emitStageAccumulate(StageAccumulateOp op);
  LogicalResult emitAccRead(AccReadOp op);

  // distribute/shared.cpp: tiles through shared memory
  /// Where a tile lies from `base` on, after the pipelines, if there is room.
  SharedTile placed(ArrayRef<int64_t> shape, Type element, int64_t base) const;
  /// The tile, or windows of it where there is no room for all; notes what they need.
  mlir::FailureOr<SmallVector<SharedTile>> windowsOf(Operation *op, const SharedTile &tile);
  LogicalResult tooLarge(Operation *op, int64_t bytes) const;
  SharedPlan planOf(const SharedTile &shared, const SimtLayout &layout, ArrayRef<int64_t> offset,
                    ArrayRef<int64_t> axes);
  /// Whether an access to `byte` and the thread's part lies in the window: nothing where no
  /// thread's does, null where every thread's does.
  std::optional<Value> inWindow(const SharedTile &shared, const SharedPlan &plan, int64_t byte);
  void put(const SharedTile &shared, const SimtLayout &layout, ArrayRef<Value> registers,
           ArrayRef<int64_t> offset, ArrayRef<int64_t> axes);
  /// The piece of a tile's registers that begins at `number`; of those that are there in another
  /// window the values stay.
  void takePiece(const SharedTile &shared, const SharedPlan &plan, const SimtLayout &layout,
                 Registers &registers, Type element, int64_t number);
  /// Replaces those of `registers` that are there.
  void take(const SharedTile &shared, const SimtLayout &layout, Registers &registers, Type element,
            ArrayRef<int64_t> offset, ArrayRef<int64_t> axes);
  /// Hands tiles of `memory` over: `write` puts what threads have, `read` takes what they want.
  LogicalResult exchange(Operation *op, const SharedTile &memory,
                         llvm::function_ref<void(const SharedTile &)> write,
                         llvm::function_ref<void(const SharedTile &)> read);
  /// The same by matrix loads; nothing where the layout is not theirs.
  std::optional<Registers> takeMatrices(const SharedTile &shared, const SimtLayout &layout);
  mlir::FailureOr<Registers> throughShared(Operation *op, const SimtLayout &from,
                                           ArrayRef<Value> registers, const SimtLayout &to,
                                           ArrayRef<int64_t> memoryShape,
                                           ArrayRef<int64_t> toOffset);
  void barrier() { BarrierOp::create(b_, loc_); }
  /// Before shared memory gets a new use: waits for what threads still read there.
  void claimShared() {
    if (sharedUsed_)
      barrier();
    sharedUsed_ = true;
  }

  // coordinates
  ArrayRef<Value> threadPart(const SimtLayout &layout); // i32, one for each axis
  /// i1: whether a register's element lies in the tile; null where it always does.
  Value inTile(const SimtLayout &layout, int64_t number);
  /// The same along one axis.
  Value inAxis(const SimtLayout &layout, int64_t number, int axis);
  /// Whether no thread's element of this register lies in the tile.
  static bool isPadding(const SimtLayout &layout, int64_t number);
  Value firstCopy(const SimtLayout &layout); // i1; null where there are no copies

  // small builders
  Value index(int64_t value) { return mlir::arith::ConstantIndexOp::create(b_, loc_, value); }
  Value int32(int64_t value) {
    return mlir::arith::ConstantIntOp::create(b_, loc_, b_.getI32Type(), value);
  }
  Value yes() { return mlir::arith::ConstantIntOp::create(b_, loc_, b_.getI1Type(), 1); }
  Value add(Value a, Value b) { return b_.createOrFold<mlir::arith::AddIOp>(loc_, a, b); }
  Value mul(Value a, Value b) { return b_.createOrFold<mlir::arith::MulIOp>(loc_, a, b); }
  Value both(Value a, Value b) {
    return !a ? b : !b ? a : b_.createOrFold<mlir::arith::AndIOp>(loc_, a, b);
  }
  Value toIndex(Value int32) {
    return b_.createOrFold<mlir::arith::IndexCastUIOp>(loc_, b_.getIndexType(), int32);
  }
  Value vectorFrom(ArrayRef<Value> values);
  SmallVector<Value> scalarsOf(Value word, int64_t count);
  Value scalarOf(Value value) { return map_.lookupOrDefault(value); }
  SmallVector<Value> scalarsOf(mlir::ValueRange values) {
    return llvm::map_to_vector(values, [&](Value v) { return scalarOf(v); });
  }
  Registers &registersOf(Value tile) { return registers_.find(tile)->second; }

  tile::KernelOp kernel_;
  const SimtFacts &facts_;
  mlir::OpBuilder b_;
  Location loc_ = mlir::UnknownLoc::get(kernel_.getContext());
  mlir::IRMapping map_;
  llvm::DenseMap<Value, Registers> registers_;
  llvm::DenseMap<Value, SimtView> views_;
  llvm::DenseMap<Operation *, PipelineBuffer> pipelines_;
  llvm::DenseMap<mlir::Attribute, SmallVector<Value>> threadParts_;
  llvm::DenseSet<Operation *> inTurn_; // emitted by the operations that need them
  Operation *entry_ = nullptr;         // before which thread parts are computed
  Value thread_;
  Value step_; // i32: bytes that a loop adds to what is taken from shared memory; null outside
  bool aligned_ = false;       // extents and strides are multiples of vectors
  llvm::DenseSet<Value> wide_; // arguments whose accesses would be wider if they were
  Value stores_;               // i1: whether this block stores results; null: it does
  bool sharedUsed_ = false;    // by an operation that may run before the next one
  int64_t shared_ = 0;         // bytes of shared memory
  int64_t pipelineEnd_ = 0;    // of which live pipelines have those below
};

int64_t elementBytes(Type element);

} // namespace sinter::sched
