// The blocking pass's state, shared by its files: values already rewritten, scratch, and how a
// block is asked for.
#pragma once

#include "sched/sched.h"
#include "targets/cpu/blocking/demand.h"
#include "targets/cpu/blocking/placement.h"
#include "targets/cpu/blocking/reduction_walks.h"
#include "targets/cpu/facts.h"
#include "targets/cpu/schedule.h"
#include "tile/mlir_pch.h"

namespace sinter::targets::cpu {

using mlir::ArrayRef;
using mlir::Location;
using mlir::LogicalResult;
using mlir::RankedTensorType;
using mlir::SmallVector;
using mlir::Type;
using mlir::Value;

/// A rectangle of a tile: where it starts (index values) and its static extents.
struct Block {
  SmallVector<Value> offsets;
  SmallVector<int64_t> shape;
};

// Columns of a matmul that are computed together.
struct Columns {
  Value from = {};
  int64_t count = 0;
  std::optional<bool> inside = {}; // whether b has all of them, where that is known
  Value packed = {};               // b's part of them in scratch; null where b is streamed
  // Blocks of b expanded in scratch; null where they are read as they are. Totals: scales of
  // totals, where scales of groups are integers.
  Value words = {}, scales = {}, mins = {}, totals = {};
};

// The load that a value only converts or dequantizes; null where there is none.
tile::LoadOp loadOf(Value value);
// Elements of a block of weights.
int64_t blockLengthOf(Value weights);
// Elements of a that share a scale.
int64_t scaleLengthOf(tile::DotOp dot);
// Elements of whole blocks of b and whole scales of a.
int64_t wholeLengthOf(tile::DotOp dot);
// The vectors of a group of packed rows.
int64_t vectorsOfGroup(const CpuFacts &facts);
// Accumulators of so many rows of blocks stay in registers beside `vectors` vectors of columns.
int64_t rowsOfBlocks(const CpuFacts &facts, int64_t vectors, int64_t tileRows);
// The same where they are expanded into panels, which may have minima, and the vectors that a panel
// has: whole groups of packed rows.
int64_t rowsOfPanels(const CpuFacts &facts, int64_t vectors, bool minima, int64_t tileRows);
int64_t vectorsOfPanels(const CpuFacts &facts, tile::DotOp dot);
// Whether several blocks of rows read each column of blocks: otherwise it is read once, as it is.
bool expands(const CpuFacts &facts, tile::DotOp dot);
// Elements of a block that a value dequantizes; 1 where it dequantizes nothing.
int64_t dequantizedLength(Value value);

// K steps per trip of a matmul's inner loop, to amortise its counter.
inline constexpr int64_t kUnrollK = 4;

class Blocker {
public:
  Blocker(tile::KernelOp kernel, const CpuFacts &facts)
      : kernel_(kernel), facts_(facts), schedule_(cpuScheduleOf(kernel)),
        placement_(placeTiles(kernel, facts)), demand_(kernel), walks_(kernel, placement_, demand_),
        b_(kernel.getContext()) {}

  mlir::FailureOr<tile::KernelOp> run();

private:
  using BlockStore = llvm::function_ref<LogicalResult(const Block &)>;

  // block.cpp: the walk over the kernel and its loops
  LogicalResult visitBlock(mlir::Block *from);
  LogicalResult visit(mlir::Operation *op);
  Value leftFor(mlir::scf::ForOp loop, Value init);
  LogicalResult visitFor(mlir::scf::ForOp loop);
  LogicalResult visitIf(mlir::scf::IfOp op);
  LogicalResult yieldInto(ArrayRef<Value> yielded, ArrayRef<Value> targets);
  LogicalResult materialise(Value value);

  // blocking/stores.cpp: what ends a stream
  LogicalResult storeToView(tile::StoreOp store);
  LogicalResult storeBlock(tile::StoreOp store, const Block &block);
  LogicalResult storeInto(Value value, Value buffer);
  LogicalResult storeReduce(tile::ReduceOp reduce);
  void leaveBlock(tile::ReduceOp reduce, Value numbers, const Block &block,
                  ArrayRef<Value> buffers);
  LogicalResult storeConcat(tile::ConcatOp concat);
  LogicalResult forEachBlock(Value value, ArrayRef<int64_t> step, BlockStore store);
  LogicalResult forEachPart(Value value, ArrayRef<int64_t> step, BlockStore store);
  LogicalResult blockAxes(Value value, ArrayRef<int64_t> axes, ArrayRef<int64_t> step, Block &block,
                          BlockStore store);
  SmallVector<int64_t> streamStep(RankedTensorType type);
  SmallVector<int64_t> streamStepOf(Value value);
  int64_t joinedRow(Value value);
  SmallVector<int64_t> quantizeStep(Value value);

  // blocking/dot.cpp: contractions
  LogicalResult storeDot(tile::DotOp dot);
  LogicalResult dotColumns(tile::DotOp dot, Value into, int64_t step);
  LogicalResult dotColumnLoops(tile::DotOp dot, Value into, int64_t step, bool prepared);
  LogicalResult dotColumnLoop(tile::DotOp dot, Value into, Value from, Value end, int64_t step,
                              bool prepared);
  Value haveAll(tile::DotOp dot, const Columns &columns);
  LogicalResult dotColumnsAt(tile::DotOp dot, Value into, Columns columns, bool prepared);
  int64_t smallMColumns(tile::DotOp dot);
  int64_t mostInPlace(tile::DotOp dot) const;
  Value wholeBlocks(Value rows, int64_t size);
  LogicalResult dotRows(tile::DotOp dot, Value into, const Columns &columns);
  LogicalResult endOtherRows(tile::DotOp dot, Value into, Value from, const Columns &columns);
  LogicalResult dotBlock(tile::DotOp dot, Value into, Value row, int64_t rows,
                         const Columns &columns);
  mlir::FailureOr<Value> dotStep(tile::DotOp dot, Value acc, Value row, int64_t rows,
                                 const Columns &columns, Value k, int64_t depth);
  bool accumulatesInPlace(tile::DotOp dot, mlir::scf::ForOp loop, unsigned index);
  static int64_t unrollOf(int64_t depth); // K steps of one trip

  // blocking/accumulators.cpp: where the accumulators of a matmul begin and end
  bool beginsInRegisters(mlir::scf::ForOp loop, unsigned index);
  mlir::FailureOr<Value> accumulatorsBefore(tile::DotOp dot, const Block &block);
  LogicalResult accumulatorsAfter(tile::DotOp dot, Value accumulators, Value into,
                                  const Block &block);
  // Whether numbers lie at places that are known here.
  bool isPlain(mlir::TypedValue<tile::ViewType> view, mlir::ValueRange offsets);
  // The store to a plain view that a matmul ends in; else null.
  tile::StoreOp plainStoreOf(tile::DotOp dot);
  // The same where blocks of accumulators can be stored as they end; else null.
  tile::StoreOp storeOfAccumulators(tile::DotOp dot);
  // Whether accumulators lie in scratch between a matmul's steps or after them.
  bool needsScratch(tile::DotOp dot);
  bool streamsBeside(Value value, Value accumulators, int64_t &cost);
  Value hasNoTrips(mlir::scf::ForOp loop);
  Value isLastTrip(mlir::scf::ForOp loop);
  LogicalResult onlyIf(Value condition, llvm::function_ref<LogicalResult()> body);

  Value rowLimit(tile::DotOp dot);

  // blocking/panels.cpp: blocks of some columns, expanded
  LogicalResult expandColumns(tile::DotOp dot, Columns &columns);
  LogicalResult expandPart(tile::DotOp dot, Value blocks, int64_t part, const Columns &columns,
                           Value k);
  void expandTotals(tile::DotOp dot, Value blocks, const Columns &columns, Value k);
  Value panelRows(Value buffer, const Columns &columns, Value k, int64_t elements, int64_t length);
  mlir::FailureOr<Value> panelPart(tile::DotOp dot, Value accumulators, Value row, int64_t rows,
                                   const Columns &columns, Value k);
  mlir::FailureOr<Value> panelAccumulators(tile::DotOp dot, mlir::RankedTensorType type, Value row,
                                           int64_t rows, const Columns &columns, Value k);
  mlir::FailureOr<Value> scaledTotals(tile::DotOp dot, Value totals, Value row, int64_t rows,
                                      const Columns &columns, Value k);
  mlir::FailureOr<Value> panelStep(tile::DotOp dot, Value acc, Value row, int64_t rows,
                                   const Columns &columns, Value k);
  // Where the weights' own K ends in this step.
  Value groupsEnd(tile::DotOp dot, int64_t depth);

  // blocking/pack.cpp: b's part of some columns
  LogicalResult packColumns(tile::DotOp dot, Columns &columns);
  LogicalResult packSquares(tile::DotOp dot, const Columns &columns, Value end, int64_t depth);
  LogicalResult packDequantized(tile::DotOp dot, const Columns &columns, Value end);
  LogicalResult packBlock(tile::DotOp dot, const Columns &columns, Value column, int64_t count,
                          Value k, int64_t depth);
  // Where b's own K ends in this step, in whole trips: padding beyond multiplies by zero.
  Value depthEnd(tile::DotOp dot, int64_t depth, int64_t step);
  LogicalResult loopOver(Value from, Value end, int64_t step,
                         llvm::function_ref<LogicalResult(Value)> body);

  // blocking/prefetch.cpp: lines that the next block, panel or step reads
  // The loop around a dot whose steps walk K of b in rows of known places; else null.
  static mlir::scf::ForOp loopAlongK(tile::DotOp dot);
  Value nextK(mlir::scf::ForOp loop, Value &more);
  void prefetchRows(tile::DotOp dot, const Columns &columns, Value row, int64_t rows);
  void prefetchAccumulators(tile::DotOp dot, Value into, const Columns &columns, Value row,
                            int64_t rows);
  void prefetchNext(tile::DotOp dot, const Columns &columns, Value row, int64_t rows, Value k);
  void prefetchStream(tile::DotOp dot, const Columns &columns, Value k, int64_t step);
  void prefetchExpanded(tile::DotOp dot, const Columns &columns, Value row, int64_t rows);
  void prefetchBlocks(tile::DotOp dot, Value column, int64_t columns, Value k, int64_t elements);
  int64_t prefetchOf(tile::DotOp dot);
  void prefetch(tile::DotOp step, int64_t ahead);
  void prefetchNextMatmul(tile::DotOp dot, const Columns &columns, Value trip, int64_t trips);
  Value inNextQuantization(Value value, mlir::scf::ForOp loop);
  void prefetchPanel(tile::DotOp dot, const Columns &columns, Value row, int64_t rows, Value k,
                     Value column);

  // blocking/stream.cpp: one block of a value
  mlir::FailureOr<Value> stream(Value value, const Block &block);
  void remember(Value value, const Block &block, Value part); // where code is being added
  std::tuple<void *, void *, std::vector<int64_t>> keyOf(Value value, const Block &block);
  mlir::FailureOr<Value> streamOnce(Value value, const Block &block);
  mlir::FailureOr<Value> streamBroadcast(tile::BroadcastOp op, const Block &block);
  mlir::FailureOr<Value> streamLoad(tile::LoadOp op, const Block &block);
  mlir::FailureOr<Value> streamIota(tile::IotaOp op, const Block &block);
  Block relinearise(const Block &block, RankedTensorType from, RankedTensorType to);
  mlir::FailureOr<Value> streamReshape(tile::ReshapeOp op, const Block &block);
  mlir::FailureOr<Value> streamPermute(tile::PermuteOp op, const Block &block);
  mlir::FailureOr<Value> streamSlice(tile::SliceOp op, const Block &block);
  mlir::FailureOr<Value> streamElementwise(mlir::Operation *op, const Block &block);
  mlir::FailureOr<Value> streamPair(sched::PairOp op, const Block &block);
  mlir::FailureOr<Value> streamDequantize(tile::DequantizeOp op, const Block &block);
  mlir::FailureOr<Value> streamConstant(mlir::arith::ConstantOp op, const Block &block);

  // small helpers
  Value index(int64_t value);
  Value add(Value a, Value b);
  Value divided(Value value, int64_t by);
  Value multiplied(Value value, int64_t by);
  Value floorTo(Value value, int64_t multiple); // of a value that is not negative
  Value viewHere(Value view);
  Value extent(Value value, int64_t axis); // trimmed extent, an index value
  Value allocate(RankedTensorType type, ScratchLayout layout);
  Value allocateFor(Value value);
  Value read(Value buffer, const Block &block);
  void write(Value value, Value buffer, ArrayRef<Value> offsets);
  Value mapped(Value value) { return map_.lookupOrDefault(value); }
  bool available(Value value); // a scalar of the old kernel that already has a place in the new one

  tile::KernelOp kernel_;
  const CpuFacts &facts_;
  const CpuSchedule schedule_;
  Placement placement_;
  DemandAnalysis demand_;
  ReductionWalks walks_;
  mlir::OpBuilder b_;
  Location loc_ = mlir::UnknownLoc::get(kernel_.getContext());
  mlir::IRMapping map_;                           // scalars and views: old to new
  llvm::DenseMap<Value, Value> scratch_;          // tile values: old to buffer
  llvm::DenseMap<Value, ScratchLayout> layoutOf_; // buffers
  // Stores that matmuls make, and the loops around these where their last trips do.
  llvm::DenseMap<mlir::Operation *, mlir::scf::ForOp> storedBefore_;
  // Blocks of values by where code is being added, the value, and where the block lies.
  std::map<std::tuple<void *, void *, std::vector<int64_t>>, Value> streamed_;
};

} // namespace sinter::targets::cpu
