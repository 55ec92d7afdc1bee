// A block's control, values and arithmetic, which runs in the tile interpreter's own handlers over
// all threads.
#include "sched/interpreter/simt_block.h"

#include "base/checked.h"
#include "sched/simt/layout.h"

#include <cstring>

using namespace mlir;
using sinter::tile::Step;
using sinter::tile::Task;
using sinter::tile::Tile;

namespace sinter::sched {

Result<void> SimtExtension::checkKernel(tile::KernelOp kernel) {
  SINTER_TRY(tile::collectDiagnostics(kernel.getContext(),
                                      [&] { return verifySimt(kernel, options_.lanes); }));
  auto attribute = [&](StringRef name) {
    auto integer = kernel->getAttrOfType<IntegerAttr>(name);
    return integer ? integer.getInt() : 0;
  };
  blockThreads_ = attribute(kThreadsName);
  const int64_t blocks = blocksOf(kernel);
  threads_ = blockThreads_ * blocks;
  kernel.walk([&](Operation *op) {
    isAsynchronous_ |= isa<CopyAsyncOp, MatrixAsyncOp, MatrixTileAsyncOp>(op);
    overlapsLaunches_ |= isa<AwaitLaunchesOp>(op);
  });
  shared_.clear();
  for (int64_t block = 0; block < blocks; ++block)
    shared_.emplace_back(static_cast<uint64_t>(attribute(kSharedName)), isAsynchronous_,
                         block * blockThreads_, blockThreads_);
  number_ = Tile({tile::ElementKind::Int, 32, 4}, shapeOf(SimtWord(), true), nullptr);
  block_ = Tile({tile::ElementKind::Int, 32, 4}, shapeOf(SimtWord(), true), nullptr);
  for (int64_t thread = 0; thread < threads_; ++thread) {
    tile::writeInts(number_, thread, static_cast<uint64_t>(thread % blockThreads_));
    tile::writeInts(block_, thread, static_cast<uint64_t>(blockOf(thread)));
  }
  return {};
}

void SimtExtension::beginProgram() {
  clock_.beginProgram();
  hasAwaited_ = !overlapsLaunches_;
  for (SharedMemory &shared : shared_)
    shared.beginProgram();
  accumulators_.beginProgram();
  opaque_.clear();
}

Result<void> SimtExtension::endProgram() {
  if (!hasAwaited_)
    return fail(Code::InvalidArgument,
                "a program ends without sched.await_launches, which its kernel has");
  Operation *op = nullptr;
  for (const SharedMemory &shared : shared_)
    op = op ? op : shared.copyInFlight();
  if (!op)
    op = accumulators_.matmulInFlight();
  if (op)
    return fail(Code::InvalidArgument, nameText(*op) + " is in flight when its program ends");
  return {};
}

Result<void> SimtExtension::checkControl(Operation &op, Task &task) {
  static constexpr const char *kBounds[] = {"a lower bound", "an upper bound", "a step"};
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return checkUniform(op, branch.getCondition(), "a condition", task);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    for (auto [value, name] :
         llvm::zip_equal(op.getOperands().take_front(loop.getNumControlOperands()), kBounds))
      SINTER_TRY(checkUniform(op, value, name, task));
  return {};
}

Result<Step> SimtExtension::execute(Operation &op, Task &task) {
  if (isa<tile::TileDialect>(op.getDialect()))
    return task.execute(op);
  SINTER_TRY(task.engine().charge(op, 0, task));
  if (isa<BarrierOp>(op)) {
    clock_.barrier();
    return Step::Done;
  }
  if (isa<ProgramBarrierOp>(op)) {
    clock_.programBarrier();
    return Step::Done;
  }
  SINTER_TRY(checkFlights(op, task));
  SINTER_TRY(dispatch(op, task));
  noteRegisters(op, task);
  return Step::Done;
}

Result<void> SimtExtension::dispatch(Operation &op, Task &task) {
  if (isa<ThreadOp>(op)) {
    task.bind(op.getResult(0), number_);
    return {};
  }
  if (isa<BlockOp>(op)) {
    task.bind(op.getResult(0), block_);
    return {};
  }
  return TypeSwitch<Operation *, Result<void>>(&op)
      .Case([&](StrideOp stride) { return readStride(stride, task); })
      .Case([&](ViewLoadOp load) { return viewLoad(load, task); })
      .Case([&](TableLoadOp load) { return tableLoad(load, task); })
      .Case([&](PermuteBytesOp permute) { return permuteBytes(permute, task); })
      .Case([&](ViewStoreOp store) { return viewStore(store, task); })
      .Case([&](SharedLoadOp load) { return sharedLoad(load, task); })
      .Case([&](RemoteLoadOp load) { return remoteLoad(load, task); })
      .Case([&](SharedStoreOp store) { return sharedStore(store, task); })
      .Case([&](SharedMatricesOp load) { return sharedMatrices(load, task); })
      .Case([&](ShuffleOp shuffle) { return this->shuffle(shuffle, task); })
      .Case([&](MatrixOp matrix) { return multiply(matrix, task); })
      .Case([&](CopyAsyncOp copy) { return startCopy(copy, task); })
      .Case([&](AwaitLaunchesOp) { return hasAwaited_ = true, Result<void>(); })
      .Case([&](CopyCommitOp) {
        for (SharedMemory &shared : shared_)
          shared.commitCopies();
        return Result<void>();
      })
      .Case([&](CopyWaitOp wait) {
        for (SharedMemory &shared : shared_)
          shared.waitForCopies(clock_, wait.getPending());
        return Result<void>();
      })
      .Case([&](MatrixFenceOp) { return accumulators_.fence(), Result<void>(); })
      .Case([&](MatrixAsyncOp matrix) { return startMatmul(matrix, task); })
      .Case([&](MatrixTileAsyncOp matrix) { return startTileMatmul(matrix, task); })
      .Case([&](PinOp pin) {
        Tile value = *valueOf(pin.getValue(), task).tile;
        return task.bind(pin.getResult(), std::move(value)), Result<void>();
      })
      .Case([&](MatrixWaitOp wait) { return waitForMatmuls(wait, task); })
      .Case([&](AccClearOp clear) { return clearAccumulators(clear, task); })
      .Case([&](AccAddOp add) { return addToAccumulators(add, task); })
      .Case([&](AccTakeOp take) { return takeAccumulators(take, task); })
      .Case([&](vector::FromElementsOp elements) { return join(elements, task); })
      .Case([&](vector::BroadcastOp scalar) { return repeat(scalar, task); })
      .Case([&](vector::ExtractOp extract) { return this->extract(extract, task); })
      .Case([&](vector::BitCastOp cast) { return bitcast(cast, task); })
      .Default([&](Operation *) { return elementwise(op, task); });
}

// ---- values ----

SimtValue SimtExtension::valueOf(mlir::Value value, const Task &task) const {
  return {&std::get<Tile>(task.lookup(value)), *simtWordOf(value.getType())};
}

SmallVector<int64_t, 2> SimtExtension::shapeOf(const SimtWord &word, bool varies) const {
  SmallVector<int64_t, 2> shape;
  if (varies && threads_ > 1)
    shape.push_back(threads_);
  if (word.isVector)
    shape.push_back(word.count);
  return shape;
}

Result<Tile> SimtExtension::allocate(Operation &op, Type type, bool varies, Task &task) const {
  SimtWord word = *simtWordOf(type);
  CheckedSize count = CheckedSize(word.count) * CheckedSize(varies ? threads_ : 1);
  CheckedSize bytes = count * CheckedSize(word.element.bytes);
  SINTER_TRY(task.engine().reserve(op, bytes.value().value_or(UINT64_MAX), task));
  SINTER_TRY(task.engine().charge(op, *count.value(), task));
  return Tile(word.element, shapeOf(word, varies), &task.engine().meter);
}

// The value for each thread, each of its elements `repeats` times.
Result<Tile> SimtExtension::expand(Operation &op, const SimtValue &value, Task &task,
                                   int64_t repeats) const {
  if (repeats == 1 && (value.varies() || threads_ == 1))
    return *value.tile;
  SimtWord word = value.word;
  word.count *= repeats;
  word.isVector |= repeats > 1;
  uint64_t bytes = static_cast<uint64_t>(word.bytes() * threads_);
  SINTER_TRY(task.engine().reserve(op, bytes, task));
  Tile out(word.element, shapeOf(word, true), &task.engine().meter);
  size_t size = word.element.bytes;
  int64_t from = value.tile->count();
  for (int64_t at = 0; at < out.count(); ++at)
    std::memcpy(out.data() + at * size, value.tile->data() + at / repeats % from * size, size);
  return out;
}

Result<Tile> SimtExtension::expanded(Operation &op, mlir::Value value, Task &task) const {
  return expand(op, valueOf(value, task), task);
}

std::string SimtExtension::textOf(const Tile &tile, int64_t at) {
  return std::to_string(tile.element().bits == 1 ? int64_t(tile.unsignedAt(at))
                                                 : tile.signedAt(at));
}

Result<void> SimtExtension::checkUniform(Operation &op, mlir::Value value, StringRef name,
                                         Task &task) const {
  const Tile &tile = *valueOf(value, task).tile;
  for (int64_t thread = 1; thread < tile.count(); ++thread)
    if (tile.unsignedAt(thread) != tile.unsignedAt(0))
      return task.fail(op, Code::InvalidArgument,
                       "has " + name + " that differs between threads: " + textOf(tile, 0) +
                           " in thread 0, " + textOf(tile, thread) + " in thread " + Twine(thread));
  return {};
}

// ---- arithmetic ----

// Operands of an operation whose values differ between threads. A scalar condition chooses whole
// vectors.
Result<Tile> SimtExtension::operandFor(Operation &op, unsigned at, Task &task) const {
  SimtValue value = valueOf(op.getOperand(at), task);
  bool repeats = isa<arith::SelectOp>(op) && at == 0 && !value.word.isVector;
  return expand(op, value, task, repeats ? simtWordOf(op.getResult(0).getType())->count : 1);
}

Result<void> SimtExtension::elementwise(Operation &op, Task &task) const {
  tile::Handler handler = task.engine().handlers.find(op);
  if (!handler)
    return task.fail(op, Code::Unsupported, "is not an operation that the interpreter knows");
  bool varies = llvm::any_of(op.getOperands(),
                             [&](mlir::Value value) { return valueOf(value, task).varies(); });
  SmallVector<tile::RuntimeValue, 3> values;
  SmallVector<const tile::RuntimeValue *, 4> operands;
  values.reserve(op.getNumOperands());
  for (unsigned at = 0; at < op.getNumOperands(); ++at) {
    if (varies) {
      SINTER_ASSIGN(Tile tile, operandFor(op, at, task));
      values.emplace_back(std::move(tile));
    }
    operands.push_back(varies ? &values.back() : &task.lookup(op.getOperand(at)));
  }
  tile::OpCall call(op, task, operands);
  for (Type type : op.getResultTypes()) {
    SINTER_ASSIGN(Tile tile, allocate(op, type, varies, task));
    call.results.emplace_back(std::move(tile));
  }
  SINTER_TRY(handler(call));
  for (auto [value, runtime] : llvm::zip_equal(op.getResults(), call.results))
    task.bind(value, std::move(runtime));
  return {};
}

// ---- vectors ----

Result<void> SimtExtension::join(vector::FromElementsOp op, Task &task) {
  if (heldOf(op.getElements().front(), task))
    return joinInFlight(op, task);
  bool varies = llvm::any_of(op.getElements(),
                             [&](mlir::Value value) { return valueOf(value, task).varies(); });
  SINTER_ASSIGN(Tile out, allocate(*op, op.getType(), varies, task));
  size_t size = out.element().bytes;
  int64_t count = op.getElements().size(), threads = out.count() / count;
  for (auto [at, element] : llvm::enumerate(op.getElements())) {
    const Tile &from = *valueOf(element, task).tile;
    for (int64_t thread = 0; thread < threads; ++thread)
      std::memcpy(out.data() + (thread * count + at) * size,
                  from.data() + thread % from.count() * size, size);
  }
  task.bind(op.getResult(), std::move(out));
  return {};
}

Result<void> SimtExtension::repeat(vector::BroadcastOp op, Task &task) {
  SimtValue from = valueOf(op.getSource(), task);
  SINTER_ASSIGN(Tile out, allocate(*op, op.getType(), from.varies(), task));
  const size_t size = out.element().bytes;
  const int64_t count = cast<VectorType>(op.getType()).getNumElements();
  for (int64_t at = 0; at < out.count(); ++at)
    std::memcpy(out.data() + at * size, from.tile->data() + at / count * size, size);
  task.bind(op.getResult(), std::move(out));
  return {};
}

Result<void> SimtExtension::extract(vector::ExtractOp op, Task &task) {
  SimtValue from = valueOf(op.getSource(), task);
  if (const AccumulatorsInFlight::Held *held = heldOf(op.getSource(), task)) {
    SINTER_ASSIGN(Tile out, poisoned(*op, task));
    accumulators_.derive(AccumulatorsInFlight::Held(*held), op.getStaticPosition()[0], out,
                         op.getResult());
    task.bind(op.getResult(), std::move(out));
    return {};
  }
  SINTER_ASSIGN(Tile out, allocate(*op, op.getType(), from.varies(), task));
  size_t size = out.element().bytes;
  int64_t position = op.getStaticPosition()[0];
  for (int64_t at = 0; at < out.count(); ++at)
    std::memcpy(out.data() + at * size,
                from.tile->data() + (at * from.word.count + position) * size, size);
  task.bind(op.getResult(), std::move(out));
  return {};
}

Result<void> SimtExtension::bitcast(vector::BitCastOp op, Task &task) const {
  SimtValue from = valueOf(op.getSource(), task);
  SINTER_ASSIGN(Tile out, allocate(*op, op.getType(), from.varies(), task));
  std::memcpy(out.data(), from.tile->data(), out.byteCount());
  task.bind(op.getResult(), std::move(out));
  return {};
}

std::unique_ptr<tile::Extension> makeSimtExtension(const InterpreterOptions &options) {
  return std::make_unique<SimtExtension>(options);
}

} // namespace sinter::sched
