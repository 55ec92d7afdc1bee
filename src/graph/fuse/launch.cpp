// Bodies of launches, and merging.
#include "tile/mlir_pch.h"

#include "base/check.h"
#include "graph/fuse/launch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "numeric/formats/byte_blocks.h"
#include "numeric/formats/dot_packing.h"

using namespace mlir;

namespace sinter::graph {

static constexpr LaunchKernel kKernels[] = {
    {.name = "gather", .operation = "gather"},
    {.name = "norm", .operation = "norm", .epilogue = true, .store = true},
    {.name = "matmul",
     .operation = "dot_general",
     .prologue = true,
     .epilogue = true,
     .store = true,
     .buckets = true},
    {.name = "grouped_matmul",
     .operation = "grouped_dot",
     .epilogue = true,
     .store = true,
     .buckets = true},
    {.name = "combine_rows", .operation = "combine_rows", .epilogue = true},
    {.name = "map", .operation = "map", .store = true},
    {.name = "quantize", .operation = "quantize"},
    {.name = "rope_table", .operation = "rope_table"},
    {.name = "rope", .operation = "rope", .prologue = true, .epilogue = true, .store = true},
    {.name = "kv_append", .operation = "kv_append"},
    {.name = "attention", .operation = "paged_attention", .store = true, .buckets = true},
};

const LaunchKernel *launchKernelOf(Operation *op) {
  StringRef mnemonic = op->getName().stripDialect();
  auto *found = llvm::find_if(kKernels, [&](auto &k) { return k.operation == mnemonic; });
  return found == std::end(kKernels) ? nullptr : found;
}

const LaunchKernel *findLaunchKernel(StringRef name) {
  auto *found = llvm::find_if(kKernels, [&](auto &k) { return k.name == name; });
  return found == std::end(kKernels) ? nullptr : found;
}

// Other slices are read where they lie.
static bool isStridedSlice(Operation *op) {
  auto slice = dyn_cast<SliceOp>(op);
  return slice && !slice.columnOffset();
}

bool isLaunched(Operation *op) {
  if (isStridedSlice(op))
    return true;
  return isa<GraphDialect>(op->getDialect()) &&
         !isa<InputOp, StateOp, WeightOp, OutputOp, ReshapeOp, SliceOp, LaunchOp, ReturnOp>(op);
}

StringRef slotOf(Operation *op) {
  auto slot = op->getAttrOfType<StringAttr>(kSlotName);
  return slot ? slot.getValue() : StringRef();
}

Operation *mainOf(LaunchOp launch) {
  for (Operation &op : launch.getBody().front().without_terminator())
    if (slotOf(&op).empty())
      return &op;
  return nullptr;
}

Value outerValue(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto launch = argument ? dyn_cast<LaunchOp>(argument.getOwner()->getParentOp()) : LaunchOp();
  return launch ? launch.getOperand(argument.getArgNumber()) : value;
}

bool isAlone(LaunchOp launch) {
  return llvm::hasSingleElement(launch.getBody().front().without_terminator());
}

SmallVector<Operation *> inSlot(LaunchOp launch, StringRef slot) {
  SmallVector<Operation *> ops;
  for (Operation &op : launch.getBody().front().without_terminator())
    if (slotOf(&op) == slot)
      ops.push_back(&op);
  return ops;
}

namespace {

// What pieces read from outside, each value once, in order of use.
llvm::SetVector<Value> externalOperands(ArrayRef<Piece> pieces) {
  llvm::SetVector<Value> values;
  llvm::SmallPtrSet<Operation *, 8> within;
  for (const Piece &piece : pieces) {
    for (Value operand : piece.op->getOperands())
      if (!within.contains(operand.getDefiningOp()))
        values.insert(operand);
    within.insert(piece.op);
  }
  return values;
}

// What others than the pieces read of them, or nobody.
SmallVector<Value> externalResults(ArrayRef<Piece> pieces) {
  llvm::SmallPtrSet<Operation *, 8> within;
  for (const Piece &piece : pieces)
    within.insert(piece.op);
  SmallVector<Value> values;
  for (const Piece &piece : pieces)
    for (Value result : piece.op->getResults())
      if (result.use_empty() ||
          llvm::any_of(result.getUsers(), [&](Operation *user) { return !within.contains(user); }))
        values.push_back(result);
  return values;
}

void cloneInto(OpBuilder &b, Operation *op, StringRef slot, IRMapping &values) {
  Operation *copy = b.clone(*op, values);
  if (!slot.empty() && slotOf(copy).empty())
    copy->setAttr(kSlotName, b.getStringAttr(slot));
}

// A launch's body in place of it.
void cloneBody(OpBuilder &b, LaunchOp launch, StringRef slot, IRMapping &values) {
  mlir::Block &body = launch.getBody().front();
  for (auto [argument, operand] : llvm::zip_equal(body.getArguments(), launch.getOperands()))
    values.map(argument, values.lookup(operand));
  for (Operation &op : body.without_terminator())
    cloneInto(b, &op, slot, values);
  for (auto [result, yielded] :
       llvm::zip_equal(launch.getResults(), body.getTerminator()->getOperands()))
    values.map(result, values.lookup(yielded));
}

} // namespace

bool operandsPrecede(ArrayRef<Piece> pieces, Operation *at) {
  return llvm::all_of(externalOperands(pieces), [&](Value value) {
    Operation *maker = value.getDefiningOp();
    return !maker || (maker->getBlock() == at->getBlock() && maker->isBeforeInBlock(at));
  });
}

LaunchOp merge(ArrayRef<Piece> pieces, Operation *at) {
  const Piece *main = llvm::find_if(pieces, [](const Piece &p) { return p.slot.empty(); });
  auto named = cast<LaunchOp>(main->op);
  llvm::SetVector<Value> operands = externalOperands(pieces);
  SmallVector<Value> results = externalResults(pieces);
  OpBuilder b(at);
  auto launch = LaunchOp::create(b, named.getLoc(), ValueRange(results).getTypes(),
                                 operands.getArrayRef(), named->getAttrs());
  mlir::Block *body = b.createBlock(&launch.getBody());
  IRMapping values;
  for (Value operand : operands)
    values.map(operand, body->addArgument(operand.getType(), named.getLoc()));
  for (const Piece &piece : pieces) {
    if (auto part = dyn_cast<LaunchOp>(piece.op))
      cloneBody(b, part, piece.slot, values);
    else
      cloneInto(b, piece.op, piece.slot, values);
  }
  SmallVector<Value> yielded;
  for (Value result : results)
    yielded.push_back(values.lookup(result));
  ReturnOp::create(b, named.getLoc(), yielded);
  for (auto [before, after] : llvm::zip_equal(results, launch.getResults()))
    before.replaceAllUsesWith(after);
  for (const Piece &piece : llvm::reverse(pieces))
    piece.op->erase();
  return launch;
}

ArrayAttr rowOrderAttr(MLIRContext *context, ArrayRef<RowPart> parts) {
  Builder b(context);
  SmallVector<Attribute> order;
  for (const RowPart &part : parts) {
    SmallVector<int64_t> numbers = {part.first};
    for (auto [extent, stride] : part.digits)
      numbers.append({extent, stride});
    order.push_back(b.getDenseI64ArrayAttr(numbers));
  }
  return order.empty() ? ArrayAttr() : b.getArrayAttr(order);
}

void setRowOrder(LaunchOp launch, ArrayRef<RowPart> parts) {
  if (ArrayAttr order = rowOrderAttr(launch.getContext(), parts))
    launch.setRowOrderAttr(order);
}

SmallVector<RowPart> rowOrderOf(LaunchOp launch) {
  SmallVector<RowPart> parts;
  if (std::optional<ArrayAttr> order = launch.getRowOrder())
    for (Attribute attribute : *order) {
      ArrayRef<int64_t> numbers = cast<DenseI64ArrayAttr>(attribute).asArrayRef();
      RowPart part{numbers.front(), {}};
      for (size_t i = 1; i < numbers.size(); i += 2)
        part.digits.emplace_back(numbers[i], numbers[i + 1]);
      parts.push_back(std::move(part));
    }
  return parts;
}

bool isPlainMatmul(LaunchOp launch) {
  auto matmul = mainOf<DotGeneralOp>(launch);
  return matmul && matmul.isLinear() && matmul.getA().getType().getRank() == 2 &&
         outerValue(matmul.getB()).getDefiningOp<WeightOp>() && launch.getNumResults() == 1 &&
         inSlot(launch, kStore).empty() &&
         inSlot(launch, kEpilogue).size() == (columnMapOf(launch) ? 1 : 0);
}

bool isPlainGroupedMatmul(LaunchOp launch) {
  auto matmul = mainOf<GroupedDotOp>(launch);
  return matmul && outerValue(matmul.getB()).getDefiningOp<WeightOp>() &&
         launch.getNumResults() == 1 && isAlone(launch);
}

bool isDecode(LaunchOp launch) {
  std::optional<ArrayAttr> buckets = launch.getBuckets();
  return buckets && buckets->size() == 1 &&
         cast<StringAttr>((*buckets)[0]).getValue() == kOneBucket;
}

// Kernels read operands as rows of the map's own shape, or as one row for all.
bool isRowwise(MapOp map) {
  RankedTensorType type = map.getResult().getType();
  return type.getRank() == 2 && !type.isDynamicDim(1) &&
         llvm::all_of(map.getValues(), [&](Value value) {
           auto operand = cast<RankedTensorType>(value.getType());
           const bool rows =
               operand.getShape() == type.getShape() && operand.getEncoding() == type.getEncoding();
           const bool row =
               operand.getRank() == 1 && operand.getShape().back() == type.getShape().back();
           return (rows || row) && operand.getElementType().isF32();
         });
}

bool isColumnVector(Value value, int64_t columns) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getRank() == 1 && type.getDimSize(0) == columns && type.getElementType().isF32() &&
         outerValue(value).getDefiningOp<WeightOp>();
}

// Whether all that a map reads besides `tile` are vectors of columns, and no store quantizes it.
static bool isOfColumns(LaunchOp launch, MapOp map, Value tile) {
  for (Operation *op : inSlot(launch, kStore))
    if (isa<QuantizeOp>(op) && op->getOperand(0) == map.getResult())
      return false;
  return map.getResult().getType() == tile.getType() && llvm::count(map.getValues(), tile) == 1 &&
         llvm::all_of(map.getValues(), [&](Value value) {
           return value == tile || isColumnVector(value, columnsOf(tile));
         });
}

MapOp columnMapOf(LaunchOp matmul) {
  SmallVector<Operation *> epilogue = inSlot(matmul, kEpilogue);
  auto map = epilogue.empty() ? MapOp() : dyn_cast<MapOp>(epilogue.front());
  return map && isOfColumns(matmul, map, mainOf(matmul)->getResult(0)) ? map : MapOp();
}

SquareSumsOp squaresOf(LaunchOp matmul) {
  for (Operation *op : inSlot(matmul, kStore))
    if (auto sums = dyn_cast<SquareSumsOp>(op))
      return sums;
  return {};
}

NormOp normFromSquares(LaunchOp matmul) {
  for (Operation *op : inSlot(matmul, kPrologue))
    if (auto norm = dyn_cast<NormOp>(op); norm && norm.getSquares())
      return norm;
  return {};
}

Value columnsMadeBy(LaunchOp matmul) {
  MapOp map = columnMapOf(matmul);
  return map ? Value(map.getResult()) : mainOf(matmul)->getResult(0);
}

int64_t columnsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape().back();
}

bool fitsTile(int64_t headColumns) {
  constexpr int64_t kMostHeadColumns = 256;
  return headColumns > 0 && headColumns % (2 * kInterleavedRows) == 0 &&
         headColumns <= kMostHeadColumns;
}

bool storeAlike(KvAppendOp keys, KvAppendOp values) {
  const PoolShape first = poolShapeOf(keys), second = poolShapeOf(values);
  return first.heads == second.heads && first.rows == second.rows && first.dim == second.dim &&
         keys.getPool().getType().getElementType() == values.getPool().getType().getElementType();
}

bool canStore(Type element, int64_t headDim) {
  const BlockFormat *format = tile::blockFormatOf(element);
  if (!format)
    return element.isF16() || element.isBF16() || isa<Float8E4M3FNType>(element);
  return byteBlocks(*format) && headDim % format->blockLength == 0;
}

bool canStore(KvAppendOp append) {
  return canStore(append.getPool().getType().getElementType(), poolShapeOf(append).dim);
}

SmallVector<SliceOp> columnSlices(Value value) {
  SmallVector<SliceOp> slices;
  for (Operation *user : value.getUsers()) {
    auto slice = dyn_cast<SliceOp>(user);
    if (!slice || !slice.columnOffset())
      return {};
    slices.push_back(slice);
  }
  llvm::sort(slices, [](SliceOp a, SliceOp b) { return *a.columnOffset() < *b.columnOffset(); });
  int64_t end = 0;
  for (SliceOp slice : slices) {
    if (*slice.columnOffset() != end)
      return {};
    end += columnsOf(slice.getResult());
  }
  return end == columnsOf(value) ? slices : SmallVector<SliceOp>();
}

} // namespace sinter::graph
