// The interpreter's engine: runs operations of one program as tasks that can wait and go on, so
// that higher dialects add operations, and control flow of their own, without the engine knowing
// them.
#pragma once

#include "mlir/IR/Operation.h"
#include "tile/interpreter/interpreter.h"
#include "tile/interpreter/races.h"
#include "tile/interpreter/value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Twine.h"

#include <array>
#include <string>

namespace sinter::tile {

class Engine;
class Task;

/// "file:line:column" where the location has one, else MLIR's own text.
std::string locationText(mlir::Location location);

/// InvalidArgument with the first diagnostic, and its place, where `check` fails.
Result<void> collectDiagnostics(mlir::MLIRContext *context,
                                llvm::function_ref<mlir::LogicalResult()> check);

/// What executing one operation did: it is done, or it has to wait and will be executed again.
enum class Step : uint8_t { Done, Wait };

/// How `tile.reduce` combines elements: ascending, or in the tree of treeReduce.
enum class ReduceOrder : uint8_t { Ascending, Tree };

/// The operations that a higher dialect adds to the engine.
class Extension {
public:
  virtual ~Extension() = default;
  /// Executes an operation that the engine does not know.
  virtual Result<Step> execute(mlir::Operation &op, Task &task) = 0;
  /// Called once, on the kernel that the verifier has passed.
  virtual Result<void> checkKernel(KernelOp kernel) = 0;
  /// Called before and after each program of the grid.
  virtual void beginProgram() = 0;
  virtual Result<void> endProgram() = 0;
  /// Called before the engine goes, whose meter counts every value: to let go of those kept.
  virtual void endRun() {}
  /// Whether execute() gets a program's every operation but scf's, those that the engine knows too.
  virtual bool executesAll() const { return false; }
  /// Called before each operation of scf; the engine reads only the first element of its conditions
  /// and bounds.
  virtual Result<void> checkControl(mlir::Operation &, Task &) { return {}; }
};

/// One evaluation of an operation with operands at hand and results allocated, zero, by its types.
/// Results that are not tiles or scalars are set by the handler.
class OpCall {
public:
  OpCall(mlir::Operation &op, Task &task);
  /// With other values for the operands, which the caller keeps.
  OpCall(mlir::Operation &op, Task &task, llvm::ArrayRef<const RuntimeValue *> operands)
      : op(op), task(task), operands_(operands) {}

  const RuntimeValue &operand(unsigned at) const { return *operands_[at]; }
  const Tile &tile(unsigned at) const { return std::get<Tile>(*operands_[at]); }
  const View &view(unsigned at) const;
  std::shared_ptr<const View> viewPointer(unsigned at) const;
  /// A scalar integer operand, sign-extended.
  int64_t index(unsigned at) const { return tile(at).signedAt(0); }
  /// Scalar operands [first, first + count).
  llvm::SmallVector<int64_t, 6> indices(unsigned first, unsigned count) const;

  Tile &out(unsigned at = 0) { return std::get<Tile>(results[at]); }
  Engine &engine() const;
  Fail fail(Code code, const llvm::Twine &message) const;

  mlir::Operation &op;
  Task &task;
  llvm::SmallVector<RuntimeValue, 1> results;

private:
  llvm::SmallVector<const RuntimeValue *, 4> operands_;
};

using Handler = Result<void> (*)(OpCall &);

/// Which handler executes which operation.
class Handlers {
public:
  /// Every operation of the tile dialect and the part of arith and math that the interpreter knows.
  Handlers();
  template <typename Op> void add(Handler handler) { map_[mlir::TypeID::get<Op>()] = handler; }
  /// Null where there is none.
  Handler find(mlir::Operation &op) const { return map_.lookup(op.getName().getTypeID()); }

private:
  llvm::DenseMap<mlir::TypeID, Handler> map_;
};

void addArithHandlers(Handlers &handlers);
void addCastHandlers(Handlers &handlers);
void addMathHandlers(Handlers &handlers);
void addViewHandlers(Handlers &handlers);
void addTileHandlers(Handlers &handlers);
void addReduceHandlers(Handlers &handlers);
void addBlockHandlers(Handlers &handlers);
/// tile.dot of two block formats.
Result<void> blockDot(OpCall &call);

/// What the tasks of one run share: limits, counts, constants and the place in the grid.
class Engine {
public:
  Engine(const InterpreterOptions &options, Extension *extension, ReduceOrder order);

  /// Counts work against the step limit.
  Result<void> charge(mlir::Operation &op, uint64_t elements, const Task &task);
  /// A zero tile of a tile or scalar type, within the memory limit.
  Result<Tile> allocate(mlir::Operation &op, mlir::Type type, const Task &task);
  /// Whether `bytes` more fit the memory limit.
  Result<void> reserve(mlir::Operation &op, uint64_t bytes, const Task &task);

  const InterpreterOptions options;
  Extension *const extension;
  const ReduceOrder reduceOrder;
  const Handlers handlers;
  MemoryMeter meter; // before everything that holds tiles
  RunStatistics statistics;
  std::array<int64_t, 3> programId{}, grid{};
  uint32_t program = 0; // its number, from 1 on
  std::vector<std::unique_ptr<AccessLog>> logs;
  bool inGrid = false; // false while arguments and the grid itself are evaluated
  llvm::DenseMap<mlir::Operation *, Tile> constants;
};

/// One thread of control: a stack of blocks being run and the values of their names. Runs only when
/// told to, on the caller's thread.
class Task {
public:
  /// `parent`, which may be null, lends its values and must not run meanwhile. `role` is a name for
  /// messages, empty for a whole program.
  Task(Engine &engine, const Task *parent, std::string role);

  Engine &engine() const { return engine_; }
  llvm::StringRef role() const { return role_; }
  const RuntimeValue &lookup(mlir::Value value) const;
  void bind(mlir::Value value, RuntimeValue runtime) { values_[value] = std::move(runtime); }
  /// Starts on a block, whose arguments are bound already.
  void enter(mlir::Block &block) { frames_.push_back({nullptr, &block, block.begin(), 0, 0, 0}); }

  enum class State : uint8_t { Running, Waiting, Ended };
  /// Runs until the task ends, has to wait, or has executed `quantum` operations (0: no bound).
  Result<State> run(uint64_t quantum = 0);
  /// The operation that waits, after run() said so.
  mlir::Operation *waitingAt() const { return waitingAt_; }
  /// Operations executed so far; a waiting one does not count.
  uint64_t executed() const { return executed_; }

  /// Executes one operation without regions.
  Result<Step> execute(mlir::Operation &op);

  Fail fail(mlir::Operation &op, Code code, const llvm::Twine &message) const;

private:
  struct Frame {
    mlir::Operation *owner; // null for a block that ends without a terminator
    mlir::Block *block;
    mlir::Block::iterator next;
    uint64_t remaining;       // further iterations of a counted loop
    uint64_t induction, step; // its counter
  };
  using Values = llvm::SmallVector<RuntimeValue, 4>;

  Result<Step> dispatch(mlir::Operation &op);
  Result<void> startFor(mlir::Operation &op);
  Result<void> startIf(mlir::Operation &op);
  Result<void> startWhile(mlir::Operation &op);
  Result<void> finishBlock(mlir::Operation &terminator);
  Result<void> finishCondition(mlir::Operation &terminator);
  void continueFor(mlir::Operation &terminator);
  void push(mlir::Operation &owner, mlir::Block &block) {
    frames_.push_back({&owner, &block, block.begin(), 0, 0, 0});
  }
  void leave(mlir::Operation &terminator, unsigned firstOperand);
  Values operandsOf(mlir::Operation &op, unsigned first) const;

  Engine &engine_;
  const Task *parent_;
  std::string role_;
  llvm::DenseMap<mlir::Value, RuntimeValue> values_;
  llvm::SmallVector<Frame, 4> frames_;
  mlir::Operation *waitingAt_ = nullptr;
  uint64_t executed_ = 0;
};

/// interpretKernel with the operations of `extension`, which may be null.
Result<RunStatistics> interpretKernelWith(KernelOp kernel, llvm::ArrayRef<Argument> arguments,
                                          const InterpreterOptions &options, Extension *extension,
                                          ReduceOrder order);

} // namespace sinter::tile
