// The threads of a block in step: a value that all threads share is held once, any other once for
// each thread, and arithmetic runs in the tile interpreter's own handlers over all of them.
#include "sched/interpreter_lanes.h"
#include "tile/mlir_pch.h"

#include "base/checked.h"
#include "sched/interpreter_lanes_matrix.h"
#include "sched/interpreter_lanes_memory.h"

#include <cstring>

using namespace mlir;
using sinter::tile::Step;
using sinter::tile::Task;
using sinter::tile::Tile;

namespace sinter::sched {
namespace {

// A value of one operation's operand or result: uniform values have the shape [] or [count], the
// others [threads] or [threads, count].
struct LaneValue {
  const Tile *tile;
  LaneWord word;
  bool varies() const { return tile->count() != word.count; }
};

class LaneExtension : public tile::Extension {
public:
  explicit LaneExtension(const InterpreterOptions &options) : options_(options) {}

  Result<void> checkKernel(tile::KernelOp kernel) override {
    SINTER_TRY(tile::collectDiagnostics(kernel.getContext(),
                                        [&] { return verifyLanes(kernel, options_.lanes); }));
    auto attribute = [&](StringRef name) {
      auto integer = kernel->getAttrOfType<IntegerAttr>(name);
      return integer ? integer.getInt() : 0;
    };
    threads_ = attribute(kThreadsName);
    shared_.emplace(static_cast<uint64_t>(attribute(kSharedName)));
    number_ = Tile({tile::ElementKind::Int, 32, 4}, shapeOf(LaneWord(), true), nullptr);
    for (int64_t thread = 0; thread < threads_; ++thread)
      tile::writeInts(number_, thread, static_cast<uint64_t>(thread));
    return {};
  }
  void beginProgram() override { clock_.beginProgram(); }
  Result<void> endProgram() override { return {}; }
  bool executesAll() const override { return true; }

  Result<void> checkControl(Operation &op, Task &task) override {
    static constexpr const char *kBounds[] = {"a lower bound", "an upper bound", "a step"};
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return checkUniform(op, branch.getCondition(), "a condition", task);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      for (auto [value, name] :
           llvm::zip_equal(op.getOperands().take_front(loop.getNumControlOperands()), kBounds))
        SINTER_TRY(checkUniform(op, value, name, task));
    return {};
  }

  Result<Step> execute(Operation &op, Task &task) override {
    if (isa<tile::TileDialect>(op.getDialect()))
      return task.execute(op);
    SINTER_TRY(task.engine().charge(op, 0, task));
    if (isa<BarrierOp>(op)) {
      clock_.barrier();
      return Step::Done;
    }
    SINTER_TRY(dispatch(op, task));
    return Step::Done;
  }

private:
  Result<void> dispatch(Operation &op, Task &task) {
    if (isa<ThreadOp>(op)) {
      task.bind(op.getResult(0), number_);
      return {};
    }
    return TypeSwitch<Operation *, Result<void>>(&op)
        .Case([&](StrideOp stride) { return readStride(stride, task); })
        .Case([&](ViewLoadOp load) { return viewLoad(load, task); })
        .Case([&](ViewStoreOp store) { return viewStore(store, task); })
        .Case([&](SharedLoadOp load) { return sharedLoad(load, task); })
        .Case([&](SharedStoreOp store) { return sharedStore(store, task); })
        .Case([&](ShuffleOp shuffle) { return this->shuffle(shuffle, task); })
        .Case([&](MatrixOp matrix) { return multiply(matrix, task); })
        .Case([&](vector::FromElementsOp elements) { return join(elements, task); })
        .Case([&](vector::ExtractOp extract) { return this->extract(extract, task); })
        .Case([&](vector::BitCastOp cast) { return bitcast(cast, task); })
        .Default([&](Operation *) { return elementwise(op, task); });
  }

  // ---- values ----

  LaneValue valueOf(mlir::Value value, const Task &task) const {
    return {&std::get<Tile>(task.lookup(value)), *laneWordOf(value.getType())};
  }

  SmallVector<int64_t, 2> shapeOf(const LaneWord &word, bool varies) const {
    SmallVector<int64_t, 2> shape;
    if (varies && threads_ > 1)
      shape.push_back(threads_);
    if (word.isVector)
      shape.push_back(word.count);
    return shape;
  }

  Result<Tile> allocate(Operation &op, Type type, bool varies, Task &task) const {
    LaneWord word = *laneWordOf(type);
    CheckedSize count = CheckedSize(word.count) * CheckedSize(varies ? threads_ : 1);
    CheckedSize bytes = count * CheckedSize(word.element.bytes);
    SINTER_TRY(task.engine().reserve(op, bytes.value().value_or(UINT64_MAX), task));
    SINTER_TRY(task.engine().charge(op, *count.value(), task));
    return Tile(word.element, shapeOf(word, varies), &task.engine().meter);
  }

  // The value for each thread, each of its elements `repeats` times.
  Result<Tile> expand(Operation &op, const LaneValue &value, Task &task,
                      int64_t repeats = 1) const {
    if (repeats == 1 && (value.varies() || threads_ == 1))
      return *value.tile;
    LaneWord word = value.word;
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

  Result<Tile> expanded(Operation &op, mlir::Value value, Task &task) const {
    return expand(op, valueOf(value, task), task);
  }

  static std::string textOf(const Tile &tile, int64_t at) {
    return std::to_string(tile.element().bits == 1 ? int64_t(tile.unsignedAt(at))
                                                   : tile.signedAt(at));
  }

  Result<void> checkUniform(Operation &op, mlir::Value value, StringRef name, Task &task) const {
    const Tile &tile = *valueOf(value, task).tile;
    for (int64_t thread = 1; thread < tile.count(); ++thread)
      if (tile.unsignedAt(thread) != tile.unsignedAt(0))
        return task.fail(op, Code::InvalidArgument,
                         "has " + name + " that differs between threads: " + textOf(tile, 0) +
                             " in thread 0, " + textOf(tile, thread) + " in thread " +
                             Twine(thread));
    return {};
  }

  // ---- arithmetic ----

  // Operands of an operation whose values differ between threads. A scalar condition chooses whole
  // vectors.
  Result<Tile> operandFor(Operation &op, unsigned at, Task &task) const {
    LaneValue value = valueOf(op.getOperand(at), task);
    bool repeats = isa<arith::SelectOp>(op) && at == 0 && !value.word.isVector;
    return expand(op, value, task, repeats ? laneWordOf(op.getResult(0).getType())->count : 1);
  }

  Result<void> elementwise(Operation &op, Task &task) const {
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

  Result<void> join(vector::FromElementsOp op, Task &task) const {
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

  Result<void> extract(vector::ExtractOp op, Task &task) const {
    LaneValue from = valueOf(op.getSource(), task);
    SINTER_ASSIGN(Tile out, allocate(*op, op.getType(), from.varies(), task));
    size_t size = out.element().bytes;
    int64_t position = op.getStaticPosition()[0];
    for (int64_t at = 0; at < out.count(); ++at)
      std::memcpy(out.data() + at * size,
                  from.tile->data() + (at * from.word.count + position) * size, size);
    task.bind(op.getResult(), std::move(out));
    return {};
  }

  Result<void> bitcast(vector::BitCastOp op, Task &task) const {
    LaneValue from = valueOf(op.getSource(), task);
    SINTER_ASSIGN(Tile out, allocate(*op, op.getType(), from.varies(), task));
    std::memcpy(out.data(), from.tile->data(), out.byteCount());
    task.bind(op.getResult(), std::move(out));
    return {};
  }

  // ---- memory ----

  Result<void> readStride(StrideOp op, Task &task) const {
    const auto &view = *std::get<std::shared_ptr<const tile::View>>(task.lookup(op.getView()));
    int64_t factor = std::max<int64_t>(view.interleave, 1);
    task.bind(op.getResult(), Tile::index(view.axes[op.getAxis()].stride / factor));
    return {};
  }

  Result<ViewMemory *> memoryOf(const LaneAccess &access, mlir::Value view, Task &task) {
    std::unique_ptr<ViewMemory> &memory = views_[view];
    if (!memory) {
      SINTER_ASSIGN(
          memory,
          ViewMemory::make(access, *std::get<std::shared_ptr<const tile::View>>(task.lookup(view)),
                           cast<tile::ViewType>(view.getType()),
                           cast<BlockArgument>(view).getArgNumber()));
    }
    return memory.get();
  }

  Result<void> viewLoad(ViewLoadOp op, Task &task) {
    LaneAccess access{*op, task, clock_};
    SINTER_ASSIGN(ViewMemory * memory, memoryOf(access, op.getView(), task));
    SINTER_ASSIGN(Tile places, expanded(*op, op.getByte(), task));
    SINTER_ASSIGN(Tile when, expanded(*op, op.getWhen(), task));
    SINTER_ASSIGN(Tile other, expanded(*op, op.getOther(), task));
    SINTER_ASSIGN(Tile out, allocate(*op, op.getType(), true, task));
    size_t size = laneWordOf(op.getType())->bytes();
    int64_t align = op.getAlign().value_or(size);
    for (int64_t thread = 0; thread < threads_; ++thread) {
      MutableArrayRef<std::byte> word(out.data() + thread * size, size);
      if (!when.unsignedAt(thread)) {
        std::memcpy(word.data(), other.data() + thread * size, size);
        continue;
      }
      SINTER_TRY(memory->load(access, thread, places.signedAt(thread), align, word));
      task.engine().statistics.bytesLoaded += size;
    }
    task.bind(op.getResult(), std::move(out));
    return {};
  }

  Result<void> viewStore(ViewStoreOp op, Task &task) {
    LaneAccess access{*op, task, clock_};
    SINTER_ASSIGN(ViewMemory * memory, memoryOf(access, op.getView(), task));
    SINTER_ASSIGN(Tile places, expanded(*op, op.getByte(), task));
    SINTER_ASSIGN(Tile when, expanded(*op, op.getWhen(), task));
    SINTER_ASSIGN(Tile value, expanded(*op, op.getValue(), task));
    size_t size = laneWordOf(op.getValue().getType())->bytes();
    int64_t align = op.getAlign().value_or(size);
    for (int64_t thread = 0; thread < threads_; ++thread) {
      if (!when.unsignedAt(thread))
        continue;
      SINTER_TRY(memory->store(access, thread, places.signedAt(thread), align,
                               {value.data() + thread * size, size}));
      task.engine().statistics.bytesStored += size;
    }
    return {};
  }

  Result<void> sharedLoad(SharedLoadOp op, Task &task) {
    LaneAccess access{*op, task, clock_};
    SINTER_ASSIGN(Tile places, expanded(*op, op.getByte(), task));
    SINTER_ASSIGN(Tile out, allocate(*op, op.getType(), true, task));
    size_t size = laneWordOf(op.getType())->bytes();
    for (int64_t thread = 0; thread < threads_; ++thread) {
      MutableArrayRef<std::byte> word(out.data() + thread * size, size);
      SINTER_ASSIGN(bool written, shared_->load(access, thread, places.signedAt(thread), word));
      if (written)
        continue;
      if (options_.unwritten == UnwrittenReads::Report)
        return task.fail(*op, Code::InvalidArgument,
                         "of thread " + Twine(thread) + " reads " + Twine(size) +
                             " bytes from byte " + Twine(places.signedAt(thread)) +
                             " of shared memory, which this program has not all written");
      poison(out, thread);
    }
    task.bind(op.getResult(), std::move(out));
    return {};
  }

  // Makes the word of one thread what a kernel must not depend on.
  void poison(Tile &out, int64_t thread) const {
    int64_t count = out.count() / threads_;
    for (int64_t at = thread * count; at < (thread + 1) * count; ++at)
      if (out.element().isInt())
        std::memset(out.data() + at * out.element().bytes, 0xcd, out.element().bytes);
      else
        tile::writeDoubles(out, at, std::numeric_limits<double>::quiet_NaN());
  }

  Result<void> sharedStore(SharedStoreOp op, Task &task) {
    LaneAccess access{*op, task, clock_};
    SINTER_ASSIGN(Tile places, expanded(*op, op.getByte(), task));
    SINTER_ASSIGN(Tile when, expanded(*op, op.getWhen(), task));
    SINTER_ASSIGN(Tile value, expanded(*op, op.getValue(), task));
    size_t size = laneWordOf(op.getValue().getType())->bytes();
    for (int64_t thread = 0; thread < threads_; ++thread)
      if (when.unsignedAt(thread))
        SINTER_TRY(shared_->store(access, thread, places.signedAt(thread),
                                  {value.data() + thread * size, size}));
    return {};
  }

  // ---- between threads ----

  Result<void> shuffle(ShuffleOp op, Task &task) const {
    SINTER_ASSIGN(Tile from, expanded(*op, op.getValue(), task));
    SINTER_ASSIGN(Tile out, allocate(*op, op.getType(), true, task));
    for (int64_t thread = 0; thread < threads_; ++thread)
      out.as<uint32_t>()[thread] = from.as<uint32_t>()[thread ^ op.getMask()];
    task.bind(op.getResult(), std::move(out));
    return {};
  }

  Result<void> multiply(MatrixOp op, Task &task) {
    const MatrixInstruction *instruction = findMatrixInstruction(op.getInstruction());
    auto unit = units_.try_emplace(instruction, *instruction).first;
    SINTER_TRY(task.engine().charge(
        *op,
        static_cast<uint64_t>(instruction->m * instruction->n * instruction->k *
                              (threads_ / instruction->lanes)),
        task));
    SINTER_ASSIGN(Tile a, expanded(*op, op.getA(), task));
    SINTER_ASSIGN(Tile b, expanded(*op, op.getB(), task));
    SINTER_ASSIGN(Tile acc, expanded(*op, op.getAcc(), task));
    SINTER_ASSIGN(Tile out, allocate(*op, op.getType(), true, task));
    if (Result<void> done = unit->second.multiply(a, b, acc, out); !done)
      return task.fail(*op, done.error().code, done.error().message);
    task.bind(op.getResult(), std::move(out));
    return {};
  }

  const InterpreterOptions &options_;
  int64_t threads_ = 1;
  Tile number_; // of each thread
  LaneClock clock_;
  std::optional<SharedMemory> shared_;
  llvm::DenseMap<mlir::Value, std::unique_ptr<ViewMemory>> views_;
  std::map<const MatrixInstruction *, MatrixUnit> units_;
};

} // namespace

std::unique_ptr<tile::Extension> makeLaneExtension(const InterpreterOptions &options) {
  return std::make_unique<LaneExtension>(options);
}

} // namespace sinter::sched
