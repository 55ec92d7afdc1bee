// The emitter's state, shared by its files: how a register block is held in vectors and how views
// are addressed.
#pragma once

#include "numeric/formats/byte_blocks.h"
#include "numeric/formats/dot_packing.h"
#include "targets/cpu/emission/emit.h"

#include <functional>

namespace sinter::targets::cpu {

using mlir::ArrayRef;
using mlir::Location;
using mlir::LogicalResult;
using mlir::RankedTensorType;
using mlir::SmallVector;
using mlir::Type;
using mlir::Value;

class PackedOperand;

/// Caches as the prefetch instruction numbers them. What views are read for goes to the second,
/// where it does not push this trip's operands out of the first; scratch goes to the first, and so
/// do few blocks (emitPrefetchBlocks).
inline constexpr int32_t kFirstCache = 3, kSecondCache = 2;

/// A register block in vectors. `lane` is the axis that vectors run along (-1: every element is a
/// scalar of its own). Pieces are ordered by the other axes row-major, then along the lane axis. A
/// splat is one scalar for all elements.
struct Pieces {
  SmallVector<int64_t> shape;
  int64_t lane = -1;
  bool splat = false;
  SmallVector<Value> values;
};

/// The accumulators of each row in one vector of columns.
SmallVector<Value *> accumulatorsOf(Pieces &acc, int64_t piece, int64_t perRow);

/// A view in the emitted function. Gathered views keep their pages' strides in `strides[0]` (page)
/// and `rowStride`.
struct EmittedView {
  tile::ViewType type;
  Value base;
  SmallVector<Value> origin, dims, strides; // index values
  SmallVector<Value> low;                   // the first coordinates inside; null where 0
  Value pageIndex;                          // pointer to i32 numbers; null when not gathered
  Value pageCount;                          // pages that exist
  Value rowStride;
  int64_t pageRows = 0;
  bool byRow = false; // the index holds row numbers
};

struct GroupScales;

class Emitter {
public:
  Emitter(tile::KernelOp kernel, mlir::ModuleOp module, const CpuFacts &facts)
      : kernel_(kernel), module_(module), facts_(facts), b_(kernel.getContext()) {}

  mlir::FailureOr<EmittedKernel> run();

private:
  // emit.cpp
  void bindArguments(mlir::LLVM::LLVMFuncOp function);
  void clearGuard();
  void bindView(Value view, Value buffers, Value scalars);
  LogicalResult emitBlock(mlir::Block &block);
  LogicalResult emit(mlir::Operation *op);
  LogicalResult emitFor(mlir::scf::ForOp loop);
  LogicalResult emitIf(mlir::scf::IfOp op);
  LogicalResult emitScalar(mlir::Operation *op);
  SmallVector<Value> yielded(mlir::Operation *terminator);
  void bind(mlir::ValueRange old, ArrayRef<Value> values); // of rebuilt control flow
  Value nextScalar(Value scalars);

  // emission/memory.cpp
  void emitWindow(tile::WindowOp op);
  void emitGather(tile::GatherOp op);
  LogicalResult emitLoad(tile::LoadOp op);
  LogicalResult emitLoadScalar(tile::LoadScalarOp op);
  LogicalResult emitStore(tile::StoreOp op);
  LogicalResult emitRead(sched::ReadOp op);
  Value readPiece(sched::ReadOp op, ArrayRef<int64_t> at, int64_t width);
  LogicalResult emitWrite(sched::WriteOp op);
  void emitPrefetch(sched::PrefetchOp op);
  void emitPrefetchBlocks(sched::PrefetchOp op, const EmittedView &view);
  void emitPrefetchAt(Value pointer, int32_t cache);
  int64_t laneAxis(const EmittedView &view, ArrayRef<int64_t> shape);
  struct Place {
    Value pointer;    // of the first element, where it is valid
    Value anywhere;   // the same wherever it is
    Value valid;      // i1; null when always
    Value remaining;  // index: elements along the lane axis from here to the view's end; null when
                      // enough
    Value before;     // index: of these the ones before its beginning; null when none
    Value laneStride; // index: elements between lanes; null when they are neighbours
    // Of lanes that may lie in several groups of packed rows; null elsewhere.
    Value inGroup, groupStride, rowsOfGroup; // index: the first one's row in its group, elements
                                             // between groups, rows of each
    Value elements;                          // index: the element's number from the view's base
  };
  Value laneOffsets(const Place &place, int64_t count);
  Value lanePointers(const Place &place, Type element, int64_t count);
  std::pair<Value, Value> gatheredRow(const EmittedView &view, Value at, Value where);
  Place placeOf(const EmittedView &view, ArrayRef<Value> at, int64_t lane, int64_t width);
  bool liesInOneGroup(const EmittedView &view, Value at, int64_t rows);
  Value packedRow(const EmittedView &view, Value where, bool oneGroup, Place &place);
  Value isWithin(const EmittedView &view, int64_t axis, Value at);
  Value beforeView(const EmittedView &view, int64_t axis, Value at);
  Value insideOf(const Place &place, int64_t count);
  Value insideOf(const EmittedView &view, ArrayRef<Value> offsets, ArrayRef<int64_t> shape,
                 int64_t lane);
  void forEachPlace(const EmittedView &view, ArrayRef<Value> offsets, ArrayRef<int64_t> shape,
                    int64_t lane, bool inside, llvm::function_ref<void(Place, int64_t)> f);
  SmallVector<Value> branched(Value inside, mlir::TypeRange types,
                              llvm::function_ref<SmallVector<Value>(bool inside)> emit);
  Value loadScalar(const Place &place, Type element, mlir::TypedAttr pad);
  Value loadPiece(const Place &place, Type element, int64_t count, mlir::TypedAttr pad);
  void storePlain(const Place &place, Value value);
  void storePiece(const Place &place, Value value, int64_t count);
  Value maskOf(const Place &place, int64_t count);
  Value pointer(Value base, Value elements, Type element);
  Value bufferPointer(Value buffer, ArrayRef<Value> offsets, ArrayRef<int64_t> at);

  // emission/tile.cpp
  LogicalResult emitElementwise(mlir::Operation *op);
  LogicalResult emitConstant(mlir::arith::ConstantOp op);
  LogicalResult emitIota(tile::IotaOp op);
  LogicalResult emitBroadcast(tile::BroadcastOp op);
  LogicalResult emitReshape(tile::ReshapeOp op);
  LogicalResult emitPermute(tile::PermuteOp op);
  LogicalResult emitReduce(tile::ReduceOp op);
  LogicalResult emitDot(tile::DotOp op);

  // emission/pairs.cpp
  LogicalResult emitPair(sched::PairOp op);
  LogicalResult emitPairDot(tile::DotOp op);

  // emission/dequantize.cpp
  LogicalResult emitDequantize(tile::DequantizeOp op);
  LogicalResult emitSlice(tile::SliceOp op);
  Value dequantizeWhole(const EmittedView &view, const BlockFormat &format, ArrayRef<Value> at,
                        int64_t first, int64_t width);
  Value dequantizePacked(const EmittedView &view, const DotPacking &packing, ArrayRef<Value> at,
                         int64_t first, int64_t width);
  LogicalResult dequantizePart(tile::DequantizeOp op, Value into, ArrayRef<int64_t> start);
  SmallVector<Value> dequantizeColumns(const ByteBlocks &format, ArrayRef<Value> blocks,
                                       int64_t first);
  Value blockAt(const EmittedView &view, const BlockFormat &format, ArrayRef<Value> at);
  Value tableOf(const BlockFormat &format);

  // emission/blocks.cpp
  using WriteAt = std::function<void(Value blocks)>;
  struct BlockWriter {
    int64_t length, bytes; // of what is rounded as one
    // Rounds several, or leaves that to writing, and tells how each is written.
    std::function<SmallVector<WriteAt>(ArrayRef<ArrayRef<Value>> parts)> round;
  };
  SmallVector<WriteAt> activationWrites(const ActivationFormat &format,
                                        ArrayRef<ArrayRef<Value>> scales);
  mlir::FailureOr<BlockWriter> blockWriter(tile::StoreOp op, Type element);
  LogicalResult storeQuantized(tile::StoreOp op, tile::QuantizeOp quantize);
  void quantizeBlock(const ByteBlocks &format, ArrayRef<Value> vectors, Value block);
  Value bytesAt(Value base, Value offset);
  Value bytesAt(Value base, int64_t offset);

  // emission/block_dot.cpp
  struct BlockStream;
  uint32_t groupsTogether(const BlockStream &stream, const GroupScales &how, size_t rows);
  void emitBetweenWords(const BlockStream &stream, Value blocks, uint32_t group, uint32_t groups,
                        uint32_t words);
  void emitVectorDot(const BlockStream &stream, ArrayRef<Value> rowsA, int64_t depth,
                     ArrayRef<Value *> acc);
  void emitPrefetchShare(Value blocks, const BlockFormat &format, int64_t ahead, int64_t step,
                         int64_t steps);
  void keepMemoryOrder();
  LogicalResult emitBlockDot(tile::DotOp op);
  Value packedBlocks(const EmittedView &w, const BlockFormat &format, ArrayRef<Value> at,
                     int64_t row);
  SmallVector<Value> activationRows(tile::LoadOp load, const ActivationFormat &activation);
  SmallVector<Value> blocksBeyond(ArrayRef<Value> rows, const ActivationFormat &activation,
                                  int64_t elements);
  LogicalResult beginsGroup(mlir::Operation *op, tile::LoadOp packed);
  mlir::FailureOr<DotPacking> blockDotPacking(tile::DotOp op, const EmittedView &a,
                                              const EmittedView &w);

  // emission/panels.cpp
  void keepOrder();
  mlir::FailureOr<DotPacking> panelPacking(mlir::Operation *op, Value blocks);
  std::unique_ptr<PackedOperand> operandOf(mlir::Operation *op, Value blocks,
                                           const DotPacking &packing, int64_t row);
  std::function<Value(uint32_t row)> panelRows(Value tile, int64_t piece);
  mlir::FailureOr<tile::LoadOp> panelActivations(mlir::Operation *op, Value a,
                                                 ArrayRef<Value> panels);
  Value timesStep(Value scale, uint32_t step);
  LogicalResult emitExpand(sched::ExpandOp op);
  LogicalResult emitTotalScales(sched::TotalScalesOp op);
  LogicalResult emitPanelDot(sched::PanelDotOp op);
  LogicalResult emitScaleTotals(sched::ScaleTotalsOp op);
  LogicalResult emitAddScaled(sched::AddScaledOp op);

  // pieces
  int64_t canonicalLane(ArrayRef<int64_t> shape);
  int64_t piecesAlong(int64_t extent) { return llvm::divideCeil(extent, facts_.lanes); }
  int64_t pieceWidth(int64_t extent, int64_t piece);
  Type pieceType(Type element, int64_t width);
  SmallVector<Type> pieceTypes(RankedTensorType type);
  Pieces relayout(const Pieces &from, int64_t lane);
  Value element(const Pieces &from, ArrayRef<int64_t> at);
  Value splatTo(Value scalar, int64_t width);
  /// Calls f(coordinates of the piece's first element, width) for each piece in order.
  void forEachPiece(ArrayRef<int64_t> shape, int64_t lane,
                    llvm::function_ref<void(ArrayRef<int64_t>, int64_t)> f);

  Value index(int64_t value);
  Value add(Value a, Value b);
  Value mul(Value a, Value b);
  Value scalarOf(Value value) { return map_.lookup(value); }
  SmallVector<Value> scalarsOf(mlir::ValueRange values);

  tile::KernelOp kernel_;
  mlir::ModuleOp module_;
  const CpuFacts &facts_;
  mlir::OpBuilder b_;
  Location loc_ = mlir::UnknownLoc::get(kernel_.getContext());
  mlir::IRMapping map_;
  llvm::DenseMap<Value, Pieces> tiles_;
  llvm::DenseMap<Value, EmittedView> views_;
  llvm::DenseMap<Value, int64_t> scratchOffset_;
  Value scratch_, programIds_[3];
  EmittedKernel result_;
};

} // namespace sinter::targets::cpu
