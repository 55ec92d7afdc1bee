// Distribution, pipelines: each thread copies pieces of 16 bytes; rows are padded by a piece where
// threads read fragments, or their pieces XORed with the row's number where instructions read them.
#include "base/check.h"
#include "sched/simt/distribute/distributor.h"
#include "sched/simt/dot_layouts.h"

using namespace mlir;

namespace sinter::sched {

static constexpr int64_t kPiece = 16, kLeastPiece = 4; // bytes of a copy, at most and at least
static constexpr int64_t kPipelineAlignment = 1024;
static constexpr int64_t kSwizzledRow = 128; // bytes
static constexpr int64_t kSwizzledRows = 8;  // after which the pattern repeats

// The operation after `last` with which all copies of all threads have landed, where matmuls that
// read them have ended before; null where there is none in this block.
static Operation *quietAfter(Operation *last, bool products) {
  for (Operation *op = last->getNextNode(); op; op = op->getNextNode()) {
    products &= !isa<SettleOp>(op);
    auto await = dyn_cast<AwaitOp>(op);
    if (await && await.getPending() == 0 && !products)
      return op;
  }
  return nullptr;
}

// The operation of the pipeline's block with which its use ends; null where copies or matmuls that
// threads need not wait for may be under way after all of them.
static Operation *lastUseOf(MakePipelineOp op) {
  Operation *last = op;
  bool copies = false, products = false;
  for (Operation *user : op->getUsers()) {
    if (isa<StageDotOp>(user))
      return nullptr;
    copies |= isa<StageCopyOp>(user);
    products |= isa<TileDotOp>(user);
    Operation *at = op->getBlock()->findAncestorOpInBlock(*user);
    if (last->isBeforeInBlock(at))
      last = at;
  }
  return copies || products ? quietAfter(last, products) : last;
}

LogicalResult Distributor::emitMakePipeline(MakePipelineOp op) {
  auto type = cast<PipelineType>(op.getResult().getType());
  PipelineBuffer pipeline;
  ArrayRef<int64_t> shape = type.getTile().getShape();
  int64_t row = shape[1] * elementBytes(type.getTile().getElementType());
  pipeline.swizzled = op.getSwizzled();
  if (pipeline.swizzled && (row % kSwizzledRow || (row > kSwizzledRow && shape[0] % kSwizzledRows)))
    return op.emitOpError() << "has " << shape[0] << " rows of " << row
                            << " bytes, expected whole panels of " << kSwizzledRow;
  pipeline.order.assign(op.getOrder().begin(), op.getOrder().end());
  pipeline.rowBytes = pipeline.swizzled ? kSwizzledRow : row + static_cast<int64_t>(op.getGap());
  pipeline.panelBytes = shape[0] * kSwizzledRow;
  int64_t bytes =
      pipeline.swizzled ? row / kSwizzledRow * pipeline.panelBytes : shape[0] * pipeline.rowBytes;
  pipeline.stageBytes = llvm::alignTo(bytes, pipeline.swizzled ? kPipelineAlignment : kPiece);
  pipeline.base = llvm::alignTo(pipelineEnd_, kPipelineAlignment);
  pipeline.end =
      llvm::alignTo(pipeline.base + type.getDepth() * pipeline.stageBytes, kPipelineAlignment);
  pipeline.lastUse = lastUseOf(op);
  pipelineEnd_ = pipeline.end;
  shared_ = std::max(shared_, pipelineEnd_);
  if (pipelineEnd_ > facts_.maxShared)
    return op.emitOpError() << "needs " << pipelineEnd_
                            << " bytes of shared memory, expected at most " << facts_.maxShared
                            << ": choose smaller blocks";
  pipelines_[op] = pipeline;
  claimShared();
  return success();
}

void Distributor::releasePipelines(Operation *op) {
  int64_t end = 0;
  for (auto &[made, pipeline] : pipelines_) {
    if (pipeline.lastUse == op)
      pipeline.end = 0;
    end = std::max(end, pipeline.end);
  }
  pipelineEnd_ = end;
}

Value Distributor::stageByte(const PipelineBuffer &pipeline, Value place) {
  return add(mul(scalarOf(place), int32(pipeline.stageBytes)), int32(pipeline.base));
}

// The layout of the places along rows at which elements of a layout lie.
static SimtLayout inOrder(const SimtLayout &layout, ArrayRef<int64_t> order) {
  if (order.empty())
    return layout;
  SINTER_CHECK(layout.atom(1) >= int64_t(1) << order.size());
  auto placed = [&](ArrayRef<LayoutBit> bits) {
    return llvm::map_to_vector(bits, [&](LayoutBit bit) {
      const bool moves = bit.axis == 1 && bit.bit < static_cast<int>(order.size());
      return moves ? LayoutBit{1, static_cast<int>(order[bit.bit])} : bit;
    });
  };
  return SimtLayout(layout.shape(), placed(layout.registerBits()), placed(layout.threadBits()));
}

// Neighbours along a row, from a multiple of so many on, that lie side by side in a place.
static int64_t neighboursInOrder(ArrayRef<int64_t> order, int64_t most) {
  size_t same = 0;
  while (same < order.size() && order[same] == static_cast<int64_t>(same))
    ++same;
  return same == order.size() ? most : std::min(most, int64_t(1) << same);
}

// Byte of a register's element within a place.
Value Distributor::pipelineByte(const PipelineBuffer &pipeline, const SimtLayout &elements,
                                int64_t number, int64_t bytes) {
  const SimtLayout layout = inOrder(elements, pipeline.order);
  SmallVector<int64_t> parts = layout.registerCoords(number);
  ArrayRef<Value> thread = threadPart(layout);
  Value row = add(thread[0], int32(parts[0]));
  if (!pipeline.swizzled)
    return add(mul(row, int32(pipeline.rowBytes)),
               mul(add(thread[1], int32(parts[1])), int32(bytes)));
  int64_t perPiece = kPiece / bytes, perRow = kSwizzledRow / bytes;
  Value inPattern = parts[0] % kSwizzledRows ? row : thread[0];
  inPattern = b_.createOrFold<arith::AndIOp>(loc_, inPattern, int32(kSwizzledRows - 1));
  Value column = thread[1], panel = int32(0);
  if (layout.shape()[1] > perRow) {
    panel = b_.createOrFold<arith::ShRUIOp>(loc_, column, int32(llvm::Log2_64(perRow)));
    panel = mul(add(panel, int32(parts[1] / perRow)), int32(pipeline.panelBytes));
    column = b_.createOrFold<arith::AndIOp>(loc_, column, int32(perRow - 1));
  }
  int64_t part = parts[1] % perRow;
  Value piece = b_.createOrFold<arith::ShRUIOp>(loc_, column, int32(llvm::Log2_64(perPiece)));
  piece = add(piece, int32(part / perPiece));
  piece = b_.createOrFold<arith::XOrIOp>(loc_, piece, inPattern);
  Value within = b_.createOrFold<arith::AndIOp>(loc_, column, int32(perPiece - 1));
  within = mul(add(within, int32(part % perPiece)), int32(bytes));
  return add(panel, add(add(mul(row, int32(kSwizzledRow)), mul(piece, int32(kPiece))), within));
}

// A layout of two axes for a view that has them as its `axes`, with extent 1 along the others.
static SimtLayout within(const SimtLayout &tile, int64_t rank, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> shape(rank, 1);
  auto moved = [&](ArrayRef<LayoutBit> bits) {
    return llvm::map_to_vector(bits, [&](LayoutBit bit) {
      return bit.axis < 0 ? bit : LayoutBit{static_cast<int>(axes[bit.axis]), bit.bit};
    });
  };
  for (auto [axis, extent] : llvm::zip_equal(axes, tile.shape()))
    shape[axis] = extent;
  return SimtLayout(shape, moved(tile.registerBits()), moved(tile.threadBits()));
}

LogicalResult Distributor::emitStageCopy(StageCopyOp op) {
  const PipelineBuffer &pipeline = pipelines_.find(op.getPipeline().getDefiningOp())->second;
  RankedTensorType tile = cast<PipelineType>(op.getPipeline().getType()).getTile();
  int64_t bytes = elementBytes(tile.getElementType());
  int64_t threads = kernel_->getAttrOfType<IntegerAttr>(kThreadsName).getInt();
  const int64_t piece = neighboursInOrder(pipeline.order, kPiece / bytes);
  SimtLayout layout = SimtLayout::blocked(tile.getShape(), threads, facts_.subgroup, 1,
                                          static_cast<int>(llvm::Log2_64(piece)));
  int64_t rank = static_cast<int64_t>(op.getOffsets().size());
  SmallVector<int64_t> axes =
      op.getAxes() ? SmallVector<int64_t>(*op.getAxes()) : SmallVector<int64_t>{rank - 2, rank - 1};
  SimtAccess access =
      accessOf(views_.find(op.getView())->second, op.getOffsets(), within(layout, rank, axes));
  Value start = stageByte(pipeline, op.getStage()), first = firstCopy(layout);
  Value when = op.getWhen() ? scalarOf(op.getWhen()) : Value();
  bool whole = access.vector == piece && piece * bytes >= kLeastPiece;
  Value zero =
      arith::ConstantOp::create(b_, loc_, cast<TypedAttr>(b_.getZeroAttr(tile.getElementType())));
  for (int64_t number = 0; number < layout.registers(); number += access.vector) {
    if (isPadding(layout, number))
      continue;
    Value inside = both(when, whenAt(access, number)), at = byteAt(access, number);
    Value shared = add(start, pipelineByte(pipeline, layout, number, bytes));
    if (whole && !first && !inTile(layout, number)) {
      CopyAsyncOp::create(b_, loc_, access.view.argument, at, inside ? inside : yes(), shared,
                          piece * bytes);
      continue;
    }
    Value others = vectorFrom(SmallVector<Value>(access.vector, zero));
    Value word = ViewLoadOp::create(b_, loc_, access.view.argument, at, inside ? inside : yes(),
                                    others, IntegerAttr());
    Value own = both(first, inTile(layout, number));
    SharedStoreOp::create(b_, loc_, word, shared, own ? own : yes());
  }
  return success();
}

// Elements of a piece that a thread holds, wherever its registers have them.
static int64_t neighboursOf(const SimtLayout &layout, int64_t most) {
  int64_t count = 1;
  for (int bit = 0; count < most && llvm::is_contained(layout.registerBits(), LayoutBit{1, bit});
       ++bit)
    count *= 2;
  return count;
}

// To a swizzled stage, as much of a piece at once as a thread has.
LogicalResult Distributor::storePieces(StageStoreOp op, const PipelineBuffer &pipeline) {
  SimtLayout layout = SimtLayout::of(op.getValue().getType());
  Type element = cast<RankedTensorType>(op.getValue().getType()).getElementType();
  const int64_t bytes = elementBytes(element),
                count = neighboursOf(layout, neighboursInOrder(pipeline.order, kPiece / bytes));
  const Registers &registers = registersOf(op.getValue());
  Value start = stageByte(pipeline, op.getStage()), first = firstCopy(layout);
  for (int64_t number = 0; number < layout.registers(); ++number) {
    SmallVector<int64_t> coords = layout.registerCoords(number);
    if (coords[1] % count || isPadding(layout, number))
      continue;
    SmallVector<Value> piece;
    for (int64_t next = 0; next < count; ++next)
      piece.push_back(registers[layout.registerAt({coords[0], coords[1] + next})]);
    Value own = both(first, inTile(layout, number));
    SharedStoreOp::create(b_, loc_, vectorFrom(piece),
                          add(start, pipelineByte(pipeline, layout, number, bytes)),
                          own ? own : yes());
  }
  return success();
}

// Pairs of neighbours along the last axis, four threads along it and eight along the other: the
// rows of 8 x 8 matrices.
static bool isMatrixLayout(const SimtLayout &layout) {
  if (layout.rank() != 2 || layout.registerBits().empty() || layout.threadBits().size() < 5)
    return false;
  ArrayRef<LayoutBit> lanes = layout.threadBits();
  return layout.registerBits()[0] == LayoutBit{1, 0} && lanes[0] == LayoutBit{1, 1} &&
         lanes[1] == LayoutBit{1, 2} && lanes[2] == LayoutBit{0, 0} &&
         lanes[3] == LayoutBit{0, 1} && lanes[4] == LayoutBit{0, 2};
}

std::optional<Distributor::Registers> Distributor::takeMatrices(const SharedTile &shared,
                                                                const SimtLayout &layout) {
  constexpr int64_t kRegisters = 8; // of one load
  int64_t bytes = elementBytes(shared.element), rowBytes = shared.strides[0] * bytes;
  bool whole = bytes == 2 && rowBytes % kPiece == 0 && shared.base % kPiece == 0 &&
               isMatrixLayout(layout) && layout.registers() % kRegisters == 0;
  for (int axis = 0; whole && axis < 2; ++axis)
    whole = layout.shape()[axis] % layout.atom(axis) == 0;
  if (!facts_.matrixLoads || !whole)
    return std::nullopt;
  auto byteOf = [&](int64_t number) {
    SmallVector<int64_t> parts = layout.registerCoords(number);
    return parts[0] * rowBytes + parts[1] * bytes;
  };
  int64_t second = byteOf(2), third = byteOf(4);
  for (int64_t number = 0; number < layout.registers(); number += kRegisters)
    if (byteOf(number + 2) != byteOf(number) + second ||
        byteOf(number + 4) != byteOf(number) + third ||
        byteOf(number + 6) != byteOf(number) + second + third)
      return std::nullopt;
  auto bit = [&](int64_t at, int64_t weight) {
    Value one = b_.createOrFold<arith::ShRUIOp>(loc_, thread_, int32(at));
    return mul(b_.createOrFold<arith::AndIOp>(loc_, one, int32(1)), int32(weight));
  };
  Value row = b_.createOrFold<arith::AndIOp>(loc_, thread_, int32(7));
  Value start = add(mul(row, int32(rowBytes)), add(bit(3, second), bit(4, third)));
  for (size_t at = 5; at < layout.threadBits().size(); ++at)
    if (LayoutBit own = layout.threadBits()[at]; own.axis >= 0)
      start = add(start, bit(static_cast<int64_t>(at),
                             (int64_t(1) << own.bit) * (own.axis == 0 ? rowBytes : bytes)));
  start = add(add(start, step_), int32(shared.base));
  Registers registers;
  for (int64_t number = 0; number < layout.registers(); number += kRegisters) {
    Value loaded = SharedMatricesOp::create(b_, loc_, VectorType::get({kRegisters}, shared.element),
                                            add(start, int32(byteOf(number))));
    llvm::append_range(registers, scalarsOf(loaded, kRegisters));
  }
  return registers;
}

SharedTile Distributor::stageOf(StageReadOp op) {
  const PipelineBuffer &pipeline = pipelines_.find(op.getPipeline().getDefiningOp())->second;
  Type element = cast<RankedTensorType>(op.getResult().getType()).getElementType();
  int64_t bytes = elementBytes(element);
  SharedTile shared{{pipeline.rowBytes / bytes, 1}, pipeline.base, element};
  if (op.getOrigin())
    shared.base += (*op.getOrigin())[0] * pipeline.rowBytes + (*op.getOrigin())[1] * bytes;
  return shared;
}

Value Distributor::stageStart(StageReadOp op) {
  const PipelineBuffer &pipeline = pipelines_.find(op.getPipeline().getDefiningOp())->second;
  return mul(scalarOf(op.getStage()), int32(pipeline.stageBytes));
}

// Registers that lie side by side in a place, `number` among them.
void Distributor::takeNeighbours(SharedRead &read, int64_t number) {
  const int64_t bytes = elementBytes(read.tile.element),
                most = neighboursInOrder(read.pipeline->order, kPiece / bytes),
                count = neighboursOf(read.layout, most);
  SmallVector<int64_t> coords = read.layout.registerCoords(number);
  coords[1] -= coords[1] % count;
  Value at = add(read.step,
                 pipelineByte(*read.pipeline, read.layout, read.layout.registerAt(coords), bytes));
  Type word = count == 1 ? read.tile.element : Type(VectorType::get({count}, read.tile.element));
  for (Value value : scalarsOf(SharedLoadOp::create(b_, loc_, word, at), count)) {
    read.registers[read.layout.registerAt(coords)] = value;
    ++coords[1];
  }
}

LogicalResult Distributor::emitStageRead(StageReadOp op) {
  if (isReadInTurn(op))
    return success(); // by the operation that uses it
  if (pipelines_.find(op.getPipeline().getDefiningOp())->second.swizzled)
    return op.emitOpError() << "reads a swizzled pipeline, expected a plain one";
  SimtLayout layout = SimtLayout::of(op.getResult().getType());
  Type element = cast<RankedTensorType>(op.getResult().getType()).getElementType();
  SharedTile shared = stageOf(op);
  step_ = stageStart(op);
  std::optional<Registers> matrices = takeMatrices(shared, layout);
  Registers taken;
  if (!matrices)
    take(shared, layout, taken, element, {0, 0}, {0, 1});
  registers_[op.getResult()] = matrices ? std::move(*matrices) : std::move(taken);
  step_ = {};
  return success();
}

// What of an operand this thread's group of subgroups multiplies, in bytes, of which each of the
// accumulators' coordinates along `axis` has `bytes`.
Value Distributor::operandStart(const SimtLayout &accumulators,
                                const MatrixInstruction &instruction, int axis, int64_t bytes) {
  Value start = int32(0);
  auto own = static_cast<size_t>(llvm::Log2_64(instruction.lanes));
  for (size_t at = own; at < accumulators.threadBits().size(); ++at) {
    LayoutBit bit = accumulators.threadBits()[at];
    if (bit.axis != axis)
      continue;
    Value one = b_.createOrFold<arith::ShRUIOp>(loc_, thread_, int32(at));
    one = b_.createOrFold<arith::AndIOp>(loc_, one, int32(1));
    start = add(start, mul(one, int32((int64_t(1) << bit.bit) * bytes)));
  }
  return start;
}

LogicalResult Distributor::emitStageDot(StageDotOp op) {
  const PipelineBuffer &left = pipelines_.find(op.getA().getDefiningOp())->second,
                       &right = pipelines_.find(op.getB().getDefiningOp())->second;
  const MatrixInstruction *instruction = findMatrixInstruction(op.getInstruction());
  SINTER_CHECK(instruction && instruction->sharedOperands && left.swizzled && right.swizzled);
  SimtLayout accumulators = SimtLayout::of(op.getResult().getType());
  RankedTensorType tile = cast<PipelineType>(op.getA().getType()).getTile();
  int64_t stepBytes = instruction->k * elementBytes(tile.getElementType());
  Value a = add(stageByte(left, op.getStage()),
                operandStart(accumulators, *instruction, 0, kSwizzledRow)),
        b = add(stageByte(right, op.getStage()),
                operandStart(accumulators, *instruction, 1, kSwizzledRow));
  Registers acc = registersOf(op.getAcc());
  int64_t count = int64_t(1) << accumulators.registerBits().size();
  MatrixFenceOp::create(b_, loc_);
  for (int64_t m = 0; m < accumulators.shape()[0]; m += accumulators.atom(0))
    for (int64_t n = 0; n < accumulators.shape()[1]; n += accumulators.atom(1)) {
      int64_t first = accumulators.registerAt({m, n});
      Value sum = vectorFrom(ArrayRef<Value>(acc).slice(first, count));
      for (int64_t k = 0; k < kSwizzledRow; k += stepBytes)
        sum = MatrixAsyncOp::create(b_, loc_, op.getInstruction(),
                                    add(a, int32(m * kSwizzledRow + k)),
                                    add(b, int32(n * kSwizzledRow + k)), sum);
      llvm::copy(scalarsOf(sum, count), acc.begin() + first);
    }
  // Threads that copy themselves would touch registers beside accumulators in flight.
  waitForAccumulators(accumulators, acc, aligned_ ? op.getPending() : 0, true);
  registers_[op.getResult()] = std::move(acc);
  return success();
}

LogicalResult Distributor::emitTileDot(TileDotOp op) {
  const PipelineBuffer &pipeline = pipelines_.find(op.getB().getDefiningOp())->second;
  const MatrixInstruction *instruction = findMatrixInstruction(op.getInstruction());
  SINTER_CHECK(instruction && instruction->sharedB && pipeline.swizzled);
  SimtLayout accumulators = SimtLayout::of(op.getResult().getType()),
             left = SimtLayout::of(op.getA().getType());
  int64_t bytes = elementBytes(cast<RankedTensorType>(op.getA().getType()).getElementType());
  int64_t perRow = kSwizzledRow / bytes;
  // Columns of groups of subgroups are whole panels apart.
  Value b = add(stageByte(pipeline, op.getStage()),
                operandStart(accumulators, *instruction, 1, pipeline.panelBytes / perRow));
  Registers acc = registersOf(op.getAcc());
  const Registers &a = registersOf(op.getA());
  int64_t count = int64_t(1) << accumulators.registerBits().size(),
          each = int64_t(1) << left.registerBits().size();
  SmallVector<Value> parts, started;
  for (int64_t first = 0; first < static_cast<int64_t>(a.size()); first += each)
    parts.push_back(pinned(ArrayRef<Value>(a).slice(first, each)));
  for (int64_t first = 0; first < static_cast<int64_t>(acc.size()); first += count)
    started.push_back(pinned(ArrayRef<Value>(acc).slice(first, count)));
  MatrixFenceOp::create(b_, loc_);
  for (int64_t m = 0; m < accumulators.shape()[0]; m += accumulators.atom(0))
    for (int64_t n = 0; n < accumulators.shape()[1]; n += accumulators.atom(1)) {
      int64_t first = accumulators.registerAt({m, n});
      Value sum = started[first / count];
      for (int64_t k = 0; k < left.shape()[1]; k += instruction->k)
        sum = MatrixTileAsyncOp::create(
            b_, loc_, op.getInstruction(), parts[left.registerAt({m, k}) / each],
            add(b, int32(n / perRow * pipeline.panelBytes + k * kSwizzledRow)), pipeline.panelBytes,
            sum);
      llvm::copy(scalarsOf(sum, count), acc.begin() + first);
    }
  waitForAccumulators(accumulators, acc, aligned_ ? INT32_MAX : 0, true);
  registers_[op.getResult()] = std::move(acc);
  return success();
}

// A vector of registers that are written before a fence, which matters where this block writes
// them.
Value Distributor::pinned(ArrayRef<Value> registers) {
  Value vector = vectorFrom(registers);
  bool written = llvm::any_of(registers, [&](Value value) {
    Operation *op = value.getDefiningOp();
    return op && op->getBlock() == b_.getInsertionBlock() && !op->hasTrait<OpTrait::ConstantLike>();
  });
  return written ? PinOp::create(b_, loc_, vector) : vector;
}

void Distributor::waitForAccumulators(const SimtLayout &accumulators, Registers &acc,
                                      int64_t pending, bool commit) {
  int64_t count = int64_t(1) << accumulators.registerBits().size();
  for (int64_t first = 0; first < static_cast<int64_t>(acc.size()); first += count) {
    Value sum = vectorFrom(ArrayRef<Value>(acc).slice(first, count));
    sum = MatrixWaitOp::create(b_, loc_, static_cast<uint32_t>(pending), commit && first == 0, sum);
    llvm::copy(scalarsOf(sum, count), acc.begin() + first);
  }
}

LogicalResult Distributor::emitSettle(SettleOp op) {
  Registers acc = registersOf(op.getAcc());
  waitForAccumulators(SimtLayout::of(op.getResult().getType()), acc, 0, false);
  registers_[op.getResult()] = std::move(acc);
  return success();
}

} // namespace sinter::sched
