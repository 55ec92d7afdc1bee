// The threads of a block in step: a value that all threads share is held once, any other once for
// each thread, and arithmetic runs in the tile interpreter's own handlers over all of them.
#include "sched/interpreter_lanes.h"
#include "tile/mlir_pch.h"

#include "base/checked.h"
#include "sched/interpreter_lanes_matrix.h"
#include "sched/interpreter_lanes_shared.h"
#include "sched/interpreter_lanes_sums.h"

#include <cstring>

using namespace mlir;
using sinter::tile::Step;
using sinter::tile::Task;
using sinter::tile::Tile;

namespace sinter::sched {
namespace {

// How matrix instructions find rows in shared memory: their pieces XORed with the row's number in a
// pattern.
constexpr int64_t kRowBytes = 128, kPatternRows = 8;

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
    kernel.walk([&](Operation *op) { isAsynchronous_ |= isa<CopyAsyncOp, MatrixAsyncOp>(op); });
    shared_.emplace(static_cast<uint64_t>(attribute(kSharedName)), isAsynchronous_);
    number_ = Tile({tile::ElementKind::Int, 32, 4}, shapeOf(LaneWord(), true), nullptr);
    for (int64_t thread = 0; thread < threads_; ++thread)
      tile::writeInts(number_, thread, static_cast<uint64_t>(thread));
    return {};
  }
  void beginProgram() override {
    clock_.beginProgram();
    shared_->beginProgram();
    sums_.beginProgram();
  }
  Result<void> endProgram() override {
    Operation *op = shared_->copyInFlight();
    if (!op)
      op = sums_.productInFlight();
    if (op)
      return fail(Code::InvalidArgument, nameText(*op) + " is in flight when its program ends");
    return {};
  }
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
    SINTER_TRY(checkFlights(op, task));
    SINTER_TRY(dispatch(op, task));
    noteRegisters(op, task);
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
        .Case([&](SharedMatricesOp load) { return sharedMatrices(load, task); })
        .Case([&](ShuffleOp shuffle) { return this->shuffle(shuffle, task); })
        .Case([&](MatrixOp matrix) { return multiply(matrix, task); })
        .Case([&](CopyAsyncOp copy) { return startCopy(copy, task); })
        .Case([&](CopyCommitOp) { return shared_->commitCopies(), Result<void>(); })
        .Case([&](CopyWaitOp wait) {
          return shared_->waitForCopies(clock_, wait.getPending()), Result<void>();
        })
        .Case([&](MatrixFenceOp) { return sums_.fence(), Result<void>(); })
        .Case([&](MatrixAsyncOp matrix) { return startProduct(matrix, task); })
        .Case([&](MatrixWaitOp wait) { return waitForProducts(wait, task); })
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

  Result<void> join(vector::FromElementsOp op, Task &task) {
    if (heldOf(op.getElements().front(), task))
      return joinFlying(op, task);
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

  Result<void> extract(vector::ExtractOp op, Task &task) {
    LaneValue from = valueOf(op.getSource(), task);
    if (const SumsInFlight::Held *held = heldOf(op.getSource(), task)) {
      SINTER_ASSIGN(Tile out, poisoned(*op, task));
      sums_.derive(SumsInFlight::Held(*held), op.getStaticPosition()[0], out, op.getResult());
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
      SINTER_TRY(reportUnwritten(*op, thread, places.signedAt(thread), size, task));
      poison(out, thread);
    }
    task.bind(op.getResult(), std::move(out));
    return {};
  }

  Result<void> reportUnwritten(Operation &op, int64_t thread, int64_t at, size_t size,
                               Task &task) const {
    if (options_.unwritten == UnwrittenReads::Poison)
      return {};
    return task.fail(op, Code::InvalidArgument,
                     "of thread " + Twine(thread) + " reads " + Twine(size) + " bytes from byte " +
                         Twine(at) + " of shared memory, which this program has not all written");
  }

  // Each row is read by the thread that gives its place, and by others: as if by its neighbour.
  Result<void> sharedMatrices(SharedMatricesOp op, Task &task) {
    using Row = std::array<std::byte, kPieceBytes>;
    LaneAccess access{*op, task, clock_};
    SINTER_ASSIGN(Tile places, expanded(*op, op.getByte(), task));
    SINTER_ASSIGN(Tile out, allocate(*op, op.getType(), true, task));
    std::vector<Row> rows(threads_);
    for (int64_t thread = 0; thread < threads_; ++thread) {
      int64_t at = places.signedAt(thread);
      SINTER_ASSIGN(bool written, shared_->load(access, thread, at, rows[thread]));
      SINTER_TRY(shared_->load(access, thread ^ 1, at, rows[thread]));
      if (written)
        continue;
      SINTER_TRY(reportUnwritten(*op, thread, at, kPieceBytes, task));
      rows[thread].fill(std::byte(0xff)); // NaN
    }
    constexpr int64_t kLanes = 32, kRows = 8, kPair = 4; // bytes of what one thread gets of a row
    for (int64_t thread = 0; thread < threads_; ++thread)
      for (int64_t matrix = 0; matrix < kLanes / kRows; ++matrix) {
        int64_t lane = thread % kLanes;
        const Row &row = rows[thread - lane + matrix * kRows + lane / kPair];
        std::memcpy(out.data() + thread * kPieceBytes + matrix * kPair,
                    row.data() + lane % kPair * kPair, kPair);
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

  // ---- copies and products that threads need not wait for ----

  static std::string nameText(Operation &op) {
    return "'" + op.getName().getStringRef().str() + "' at " + tile::locationText(op.getLoc());
  }

  const SumsInFlight::Held *heldOf(mlir::Value value, const Task &task) const {
    const auto *tile = std::get_if<Tile>(&task.lookup(value));
    return tile && !sums_.none() ? sums_.find(*tile) : nullptr;
  }

  // Sums in flight may be handed on, and taken apart and put together again as registers are.
  Result<void> checkFlights(Operation &op, Task &task) const {
    if (sums_.none())
      return {};
    for (mlir::Value operand : op.getOperands()) {
      const SumsInFlight::Held *held = heldOf(operand, task);
      if (!held)
        continue;
      if (held->takenBy)
        return task.fail(op, Code::InvalidArgument,
                         "uses sums of " + nameText(*held->op) + " after " +
                             nameText(*held->takenBy) +
                             " has taken them, expected the result of that");
      if (!isa<MatrixAsyncOp, MatrixWaitOp, vector::ExtractOp, vector::FromElementsOp>(op))
        return task.fail(op, Code::InvalidArgument,
                         "reads sums of " + nameText(*held->op) +
                             ", which is in flight, expected a 'sched.matrix_wait' for its group "
                             "between");
    }
    return {};
  }

  // Values that an operation gives lie in registers, which a fence orders before products.
  void noteRegisters(Operation &op, Task &task) {
    if (!isAsynchronous_)
      return;
    auto isWritten = [&](mlir::Value value) { return sums_.isWritten(*valueOf(value, task).tile); };
    bool writes = !isa<MatrixAsyncOp, MatrixWaitOp>(op);
    if (isa<vector::ExtractOp, vector::FromElementsOp>(op))
      writes = llvm::any_of(op.getOperands(), isWritten);
    for (mlir::Value result : op.getResults())
      sums_.noteResult(*valueOf(result, task).tile, writes);
  }

  Result<Tile> poisoned(Operation &op, Task &task) const {
    SINTER_ASSIGN(Tile out, allocate(op, op.getResult(0).getType(), true, task));
    std::memset(out.data(), 0xff, out.byteCount()); // NaN
    return out;
  }

  Result<void> joinFlying(vector::FromElementsOp op, Task &task) {
    const SumsInFlight::Held *first = heldOf(op.getElements().front(), task);
    auto all = laneWordOf(op.getType())->count;
    bool whole = all == sums_.registersOf(*first);
    for (auto [at, element] : llvm::enumerate(op.getElements())) {
      const SumsInFlight::Held *held = heldOf(element, task);
      whole &= held && held->number == first->number && held->element == static_cast<int64_t>(at);
    }
    if (!whole)
      return task.fail(*op, Code::InvalidArgument,
                       "joins sums of " + nameText(*first->op) +
                           ", which is in flight, expected all of them in their order");
    SINTER_ASSIGN(Tile out, poisoned(*op, task));
    sums_.derive(SumsInFlight::Held(*first), -1, out, op.getResult());
    task.bind(op.getResult(), std::move(out));
    return {};
  }

  Result<void> startCopy(CopyAsyncOp op, Task &task) {
    LaneAccess access{*op, task, clock_};
    SINTER_ASSIGN(ViewMemory * memory, memoryOf(access, op.getView(), task));
    SINTER_ASSIGN(Tile places, expanded(*op, op.getByte(), task));
    SINTER_ASSIGN(Tile when, expanded(*op, op.getWhen(), task));
    SINTER_ASSIGN(Tile shared, expanded(*op, op.getShared(), task));
    SINTER_TRY(task.engine().charge(*op, static_cast<uint64_t>(threads_), task));
    for (int64_t thread = 0; thread < threads_; ++thread) {
      std::array<std::byte, kPieceBytes> piece{};
      if (when.unsignedAt(thread)) {
        SINTER_TRY(memory->load(access, thread, places.signedAt(thread), kPieceBytes, piece));
        task.engine().statistics.bytesLoaded += kPieceBytes;
      }
      SINTER_TRY(shared_->startCopy(access, thread, shared.signedAt(thread), piece));
    }
    return {};
  }

  // The place that all threads of a group give.
  Result<int64_t> placeOf(Operation &op, const Tile &places, StringRef name, int64_t first,
                          int64_t lanes, Task &task) const {
    int64_t place = places.signedAt(first);
    for (int64_t thread = first; thread < first + lanes; ++thread)
      if (places.signedAt(thread) != place)
        return task.fail(op, Code::InvalidArgument,
                         "has a place of " + name + " that differs between threads: " +
                             textOf(places, first) + " in thread " + Twine(first) + ", " +
                             textOf(places, thread) + " in thread " + Twine(thread));
    return place;
  }

  // Rows of k elements: pieces of rows of 128 bytes, XORed with the row's number, from `place` on.
  Result<Tile> operandOf(const LaneAccess &access, const ProductRead &read, VectorType type,
                         int64_t rows, int64_t place, StringRef name) {
    tile::Element element = laneWordOf(type)->element;
    int64_t bytes = type.getNumElements() / rows * element.bytes, within = place % kRowBytes;
    if (place < 0 || place % (kRowBytes * kPatternRows) != within || within % bytes)
      return access.task.fail(access.op, Code::InvalidArgument,
                              "has " + name + " at byte " + Twine(place) +
                                  " of shared memory, expected a multiple of " +
                                  Twine(kRowBytes * kPatternRows) + " plus one of " + Twine(bytes) +
                                  " within the row");
    Tile out(element, {type.getNumElements()}, nullptr);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t byte = 0; byte < bytes; byte += kPieceBytes) {
        int64_t swizzle = row % kPatternRows * kPieceBytes;
        int64_t at = place - within + row * kRowBytes + ((within + byte) ^ swizzle);
        MutableArrayRef<std::byte> piece(out.data() + row * bytes + byte, kPieceBytes);
        SINTER_ASSIGN(bool written, shared_->readForProduct(access, read, at, piece));
        if (written)
          continue;
        if (options_.unwritten == UnwrittenReads::Report)
          return access.task.fail(access.op, Code::InvalidArgument,
                                  "reads row " + Twine(row) + " of " + name + " at byte " +
                                      Twine(at) +
                                      " of shared memory, which this program has not all written");
        llvm::fill(piece, std::byte(0xff)); // NaN
      }
    return out;
  }

  static Tile transposed(const Tile &tile, int64_t rows) {
    Tile out(tile.element(), {tile.count()}, nullptr);
    int64_t columns = tile.count() / rows, size = tile.element().bytes;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column)
        std::memcpy(out.data() + (column * rows + row) * size,
                    tile.data() + (row * columns + column) * size, size);
    return out;
  }

  // The sums that a product adds to, which it takes over if they are in flight.
  Result<Tile> sumsFor(MatrixAsyncOp op, Task &task) {
    if (const SumsInFlight::Held *held = heldOf(op.getAcc(), task))
      return sums_.take(*held, *op).sums;
    LaneValue acc = valueOf(op.getAcc(), task);
    if (!sums_.isOrdered(*acc.tile))
      return task.fail(*op, Code::InvalidArgument,
                       "adds to registers that threads have written, expected a "
                       "'sched.matrix_fence' between");
    return expand(*op, acc, task);
  }

  Result<void> startProduct(MatrixAsyncOp op, Task &task) {
    const MatrixInstruction &instruction = *findMatrixInstruction(op.getInstruction());
    const MatrixUnit &unit = units_.try_emplace(&instruction, instruction).first->second;
    uint64_t each = static_cast<uint64_t>(instruction.m * instruction.n * instruction.k);
    uint64_t groups = static_cast<uint64_t>(threads_ / instruction.lanes);
    SINTER_TRY(task.engine().charge(*op, each * groups, task));
    SINTER_ASSIGN(Tile a, expanded(*op, op.getA(), task));
    SINTER_ASSIGN(Tile b, expanded(*op, op.getB(), task));
    SINTER_ASSIGN(Tile acc, sumsFor(op, task));
    SINTER_ASSIGN(Tile sums, allocate(*op, op.getType(), true, task));
    LaneAccess access{*op, task, clock_};
    auto typeA = cast<VectorType>(instruction.typeA(op.getContext())),
         typeB = cast<VectorType>(instruction.typeB(op.getContext()));
    for (int64_t first = 0; first < threads_; first += instruction.lanes) {
      ProductRead read{first, instruction.lanes, sums_.openGroup()};
      SINTER_ASSIGN(int64_t atA, placeOf(*op, a, "a", first, instruction.lanes, task));
      SINTER_ASSIGN(int64_t atB, placeOf(*op, b, "b", first, instruction.lanes, task));
      SINTER_ASSIGN(Tile left, operandOf(access, read, typeA, instruction.m, atA, "a"));
      SINTER_ASSIGN(Tile right, operandOf(access, read, typeB, instruction.n, atB, "b"));
      SINTER_TRY(unit.multiplyShared(left, transposed(right, instruction.n), acc, sums, first));
    }
    return fly(*op, {std::move(sums), op, sums_.openGroup()}, task);
  }

  Result<void> fly(Operation &op, FlyingSums sums, Task &task) {
    SINTER_ASSIGN(Tile out, poisoned(op, task));
    sums_.start(std::move(sums), out, op.getResult(0));
    task.bind(op.getResult(0), std::move(out));
    return {};
  }

  Result<void> waitForProducts(MatrixWaitOp op, Task &task) {
    sums_.wait(op.getCommit(), op.getPending());
    shared_->endProducts(clock_, sums_.ended());
    const SumsInFlight::Held *held = heldOf(op.getAcc(), task);
    if (!held) {
      task.bind(op.getResult(), Tile(*valueOf(op.getAcc(), task).tile));
      return {};
    }
    if (held->element >= 0)
      return task.fail(*op, Code::InvalidArgument,
                       "passes one of the sums of " + nameText(*held->op) +
                           ", which is in flight, expected all of them");
    FlyingSums sums = sums_.take(*held, *op);
    if (sums.group >= sums_.ended())
      return fly(*op, std::move(sums), task);
    task.bind(op.getResult(), std::move(sums.sums));
    return {};
  }

  const InterpreterOptions &options_;
  int64_t threads_ = 1;
  Tile number_; // of each thread
  LaneClock clock_;
  bool isAsynchronous_ = false; // has copies or products that threads need not wait for
  std::optional<SharedMemory> shared_;
  SumsInFlight sums_;
  llvm::DenseMap<mlir::Value, std::unique_ptr<ViewMemory>> views_;
  std::map<const MatrixInstruction *, MatrixUnit> units_;
};

} // namespace

std::unique_ptr<tile::Extension> makeLaneExtension(const InterpreterOptions &options) {
  return std::make_unique<LaneExtension>(options);
}

} // namespace sinter::sched
