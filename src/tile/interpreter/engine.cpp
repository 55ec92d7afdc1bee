// The engine's dispatch, limits and messages.
#include "tile/mlir_pch.h"

#include "base/check.h"
#include "base/checked.h"
#include "tile/interpreter/engine.h"

using namespace mlir;

namespace sinter::tile {

std::string locationText(Location location) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto file = location->findInstanceOf<FileLineColLoc>())
    stream << file.getFilename().getValue() << ':' << file.getLine() << ':' << file.getColumn();
  else
    stream << location;
  return text;
}

Result<void> collectDiagnostics(MLIRContext *context, function_ref<LogicalResult()> check) {
  std::string found;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (found.empty())
      found = locationText(diagnostic.getLocation()) + ": " + diagnostic.str();
    return success();
  });
  if (failed(check()))
    return sinter::fail(Code::InvalidArgument, found);
  return {};
}

// ---- one call ----

OpCall::OpCall(Operation &op, Task &task) : op(op), task(task) {
  for (mlir::Value operand : op.getOperands())
    operands_.push_back(&task.lookup(operand));
}

const View &OpCall::view(unsigned at) const {
  return *viewPointer(at);
}

std::shared_ptr<const View> OpCall::viewPointer(unsigned at) const {
  return std::get<std::shared_ptr<const View>>(*operands_[at]);
}

SmallVector<int64_t, 6> OpCall::indices(unsigned first, unsigned count) const {
  SmallVector<int64_t, 6> values;
  for (unsigned at = first; at < first + count; ++at)
    values.push_back(index(at));
  return values;
}

Engine &OpCall::engine() const {
  return task.engine();
}

Fail OpCall::fail(Code code, const Twine &message) const {
  return task.fail(op, code, message);
}

// ---- handlers and limits ----

Handlers::Handlers() {
  addArithHandlers(*this);
  addCastHandlers(*this);
  addMathHandlers(*this);
  addViewHandlers(*this);
  addTileHandlers(*this);
  addReduceHandlers(*this);
  addBlockHandlers(*this);
}

Engine::Engine(const InterpreterOptions &options, Extension *extension, ReduceOrder order)
    : options(options), extension(extension), reduceOrder(order) {}

Result<void> Engine::charge(Operation &op, uint64_t elements, const Task &task) {
  statistics.steps += 1 + elements / 256;
  if (statistics.steps > options.stepLimit)
    return task.fail(op, Code::Exhausted,
                     "the kernel has not ended after " + Twine(options.stepLimit) + " steps");
  return {};
}

Result<void> Engine::reserve(Operation &op, uint64_t bytes, const Task &task) {
  if (std::optional<uint64_t> total = (CheckedSize(meter.live) + CheckedSize(bytes)).value())
    if (*total <= options.memoryLimit)
      return {};
  return task.fail(op, Code::Exhausted,
                   "needs " + Twine(bytes) + " bytes beside " + Twine(meter.live) +
                       " live ones, expected at most " + Twine(options.memoryLimit) + " together");
}

Result<Tile> Engine::allocate(Operation &op, Type type, const Task &task) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  std::optional<Element> element = elementOf(tensor ? tensor.getElementType() : type);
  if (!element || (tensor && !isTileType(tensor))) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return task.fail(op, Code::Unsupported,
                     "gives " + text +
                         ", expected a tile or scalar of a float type or of integers "
                         "of at most 64 bits");
  }
  if (!tensor)
    return Tile(*element, {}, nullptr);
  ArrayRef<int64_t> shape = tensor.getShape();
  if (element->isBlock() && (shape.empty() || shape.back() % element->length != 0))
    return task.fail(op, Code::InvalidArgument,
                     "gives a tile whose last axis is not whole blocks of " +
                         Twine(element->length) + " elements");
  CheckedSize count(1);
  for (int64_t extent : shape)
    count = count * CheckedSize(static_cast<uint64_t>(extent));
  std::optional<uint64_t> bytes = (count * CheckedSize(element->bytes)).value();
  SINTER_TRY(reserve(op, bytes.value_or(UINT64_MAX), task));
  SINTER_TRY(charge(op, *count.value(), task));
  return Tile(*element, shape, &meter);
}

// ---- tasks ----

Task::Task(Engine &engine, const Task *parent, std::string role)
    : engine_(engine), parent_(parent), role_(std::move(role)) {}

const RuntimeValue &Task::lookup(mlir::Value value) const {
  for (const Task *task = this; task; task = task->parent_)
    if (auto found = task->values_.find(value); found != task->values_.end())
      return found->second;
  SINTER_CHECK(!"a value is used before it is defined, which the verifier excludes");
  static const RuntimeValue none;
  return none;
}

Fail Task::fail(Operation &op, Code code, const Twine &message) const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << locationText(op.getLoc()) << ": '" << op.getName() << "' " << message;
  if (engine_.inGrid)
    stream << " (in program " << engine_.programId[0] << ", " << engine_.programId[1] << ", "
           << engine_.programId[2];
  if (engine_.inGrid && !role_.empty())
    stream << ", role '" << role_ << "'";
  if (engine_.inGrid)
    stream << ')';
  return sinter::fail(code, std::move(text));
}

Result<Step> Task::execute(Operation &op) {
  Handler handler = engine_.handlers.find(op);
  if (!handler) {
    if (engine_.extension)
      return engine_.extension->execute(op, *this);
    return fail(op, Code::Unsupported, "is not an operation that the interpreter knows");
  }
  SINTER_TRY(engine_.charge(op, 0, *this));
  OpCall call(op, *this);
  for (Type type : op.getResultTypes()) {
    if (isa<ViewType>(type)) {
      call.results.emplace_back();
      continue;
    }
    SINTER_ASSIGN(Tile tile, engine_.allocate(op, type, *this));
    call.results.emplace_back(std::move(tile));
  }
  SINTER_TRY(handler(call));
  for (auto [value, runtime] : llvm::zip_equal(op.getResults(), call.results))
    bind(value, std::move(runtime));
  return Step::Done;
}

Result<Task::State> Task::run(uint64_t quantum) {
  waitingAt_ = nullptr;
  uint64_t last = quantum ? executed_ + quantum : UINT64_MAX;
  while (!frames_.empty()) {
    Frame &frame = frames_.back();
    if (frame.next == frame.block->end()) {
      frames_.pop_back();
      continue;
    }
    if (executed_ >= last)
      return State::Running;
    Operation &op = *frame.next;
    ++frame.next;
    size_t depth = frames_.size();
    SINTER_ASSIGN(Step step, dispatch(op));
    if (step == Step::Wait) {
      SINTER_CHECK(depth == frames_.size());
      frames_.back().next = op.getIterator();
      waitingAt_ = &op;
      return State::Waiting;
    }
    ++executed_;
  }
  return State::Ended;
}

} // namespace sinter::tile
