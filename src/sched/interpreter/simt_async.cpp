// Copies and matmuls that threads need not wait for: accumulators in flight are known by their
// storage, and operands are read as instructions find them in shared memory.
#include "sched/interpreter/simt_block.h"

#include <cstring>

using namespace mlir;
using sinter::tile::Step;
using sinter::tile::Task;
using sinter::tile::Tile;

namespace sinter::sched {

// How matrix instructions find rows in shared memory: their pieces XORed with the row's number in a
// pattern.
static constexpr int64_t kRowBytes = 128, kPatternRows = 8;

std::string SimtExtension::nameText(Operation &op) {
  return "'" + op.getName().getStringRef().str() + "' at " + tile::locationText(op.getLoc());
}

const AccumulatorsInFlight::Held *SimtExtension::heldOf(mlir::Value value, const Task &task) const {
  const auto *tile = std::get_if<Tile>(&task.lookup(value));
  return tile && !accumulators_.none() ? accumulators_.find(*tile) : nullptr;
}

// Accumulators in flight may be handed on, and taken apart and put together again as registers are.
Result<void> SimtExtension::checkFlights(Operation &op, Task &task) const {
  if (accumulators_.none())
    return {};
  for (mlir::Value operand : op.getOperands()) {
    const AccumulatorsInFlight::Held *held = heldOf(operand, task);
    if (!held)
      continue;
    if (held->takenBy)
      return task.fail(op, Code::InvalidArgument,
                       "uses accumulators of " + nameText(*held->op) + " after " +
                           nameText(*held->takenBy) +
                           " has taken them, expected the result of that");
    if (!isa<MatrixAsyncOp, MatrixTileAsyncOp, MatrixWaitOp, vector::ExtractOp,
             vector::FromElementsOp>(op))
      return task.fail(op, Code::InvalidArgument,
                       "reads accumulators of " + nameText(*held->op) +
                           ", which is in flight, expected a 'sched.matrix_wait' for its group "
                           "between");
  }
  return {};
}

// Values that an operation gives lie in registers, which a fence orders before matmuls.
void SimtExtension::noteRegisters(Operation &op, Task &task) {
  if (!isAsynchronous_)
    return;
  auto isWritten = [&](mlir::Value value) {
    return accumulators_.isWritten(*valueOf(value, task).tile);
  };
  bool writes = !isa<MatrixAsyncOp, MatrixTileAsyncOp, MatrixWaitOp>(op);
  if (isa<vector::ExtractOp, vector::FromElementsOp>(op))
    writes = llvm::any_of(op.getOperands(), isWritten);
  for (mlir::Value result : op.getResults())
    accumulators_.noteResult(*valueOf(result, task).tile, writes);
}

Result<Tile> SimtExtension::poisoned(Operation &op, Task &task) const {
  SINTER_ASSIGN(Tile out, allocate(op, op.getResult(0).getType(), true, task));
  std::memset(out.data(), 0xff, out.byteCount()); // NaN
  return out;
}

Result<void> SimtExtension::joinInFlight(vector::FromElementsOp op, Task &task) {
  const AccumulatorsInFlight::Held *first = heldOf(op.getElements().front(), task);
  auto all = simtWordOf(op.getType())->count;
  bool whole = all == accumulators_.registersOf(*first);
  for (auto [at, element] : llvm::enumerate(op.getElements())) {
    const AccumulatorsInFlight::Held *held = heldOf(element, task);
    whole &= held && held->number == first->number && held->element == static_cast<int64_t>(at);
  }
  if (!whole)
    return task.fail(*op, Code::InvalidArgument,
                     "joins accumulators of " + nameText(*first->op) +
                         ", which is in flight, expected all of them in their order");
  SINTER_ASSIGN(Tile out, poisoned(*op, task));
  accumulators_.derive(AccumulatorsInFlight::Held(*first), -1, out, op.getResult());
  task.bind(op.getResult(), std::move(out));
  return {};
}

Result<void> SimtExtension::startCopy(CopyAsyncOp op, Task &task) {
  SimtAccess access{*op, task, clock_};
  SINTER_ASSIGN(ViewMemory * memory, memoryOf(access, op.getView(), task));
  SINTER_ASSIGN(Tile places, expanded(*op, op.getByte(), task));
  SINTER_ASSIGN(Tile when, expanded(*op, op.getWhen(), task));
  SINTER_ASSIGN(Tile shared, expanded(*op, op.getShared(), task));
  SINTER_TRY(task.engine().charge(*op, static_cast<uint64_t>(threads_), task));
  const int64_t size = op.getSize();
  for (int64_t thread = 0; thread < threads_; ++thread) {
    std::array<std::byte, kPieceBytes> bytes{};
    const MutableArrayRef<std::byte> piece(bytes.data(), static_cast<size_t>(size));
    if (when.unsignedAt(thread)) {
      SINTER_TRY(memory->load(access, thread, places.signedAt(thread), size, piece));
      task.engine().statistics.bytesLoaded += static_cast<uint64_t>(size);
    }
    SINTER_TRY(sharedOf(thread).startCopy(access, thread, shared.signedAt(thread), piece));
  }
  return {};
}

// The place that all threads of a group give.
Result<int64_t> SimtExtension::placeOf(Operation &op, const Tile &places, StringRef name,
                                       int64_t first, int64_t lanes, Task &task) const {
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
Result<Tile> SimtExtension::operandOf(const SimtAccess &access, const MatmulRead &read,
                                      VectorType type, int64_t rows, int64_t place,
                                      StringRef name) {
  tile::Element element = simtWordOf(type)->element;
  int64_t bytes = type.getNumElements() / rows * element.bytes, within = place % kRowBytes;
  if (place < 0 || place % (kRowBytes * kPatternRows) != within || within % bytes)
    return access.task.fail(
        access.op, Code::InvalidArgument,
        "has " + name + " at byte " + Twine(place) + " of shared memory, expected a multiple of " +
            Twine(kRowBytes * kPatternRows) + " plus one of " + Twine(bytes) + " within the row");
  Tile out(element, {type.getNumElements()}, nullptr);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t byte = 0; byte < bytes; byte += kPieceBytes) {
      int64_t swizzle = row % kPatternRows * kPieceBytes;
      int64_t at = place - within + row * kRowBytes + ((within + byte) ^ swizzle);
      MutableArrayRef<std::byte> piece(out.data() + row * bytes + byte, kPieceBytes);
      SINTER_TRY(readPiece(access, read, at, row, name, piece));
    }
  return out;
}

Result<void> SimtExtension::readPiece(const SimtAccess &access, const MatmulRead &read, int64_t at,
                                      int64_t row, StringRef name,
                                      MutableArrayRef<std::byte> piece) {
  SINTER_ASSIGN(bool written, sharedOf(read.firstThread).readForMatmul(access, read, at, piece));
  if (written)
    return {};
  if (options_.unwritten == UnwrittenReads::Report)
    return access.task.fail(access.op, Code::InvalidArgument,
                            "reads row " + Twine(row) + " of " + name + " at byte " + Twine(at) +
                                " of shared memory, which this program has not all written");
  llvm::fill(piece, std::byte(0xff)); // NaN
  return {};
}

// Rows along k in panels of 128 bytes, [k, n].
Result<Tile> SimtExtension::panelsOf(const SimtAccess &access, const MatmulRead &read,
                                     const MatrixInstruction &instruction, int64_t place,
                                     int64_t panel) {
  constexpr int64_t kPattern = kRowBytes * kPatternRows;
  if (place < 0 || place % kPattern || panel < 0 || panel % kPattern)
    return access.task.fail(access.op, Code::InvalidArgument,
                            "has b at byte " + Twine(place) + " of shared memory in panels of " +
                                Twine(panel) + " bytes, expected multiples of " + Twine(kPattern));
  auto type = cast<VectorType>(instruction.typeB(access.op.getContext()));
  tile::Element element = simtWordOf(type)->element;
  Tile out(element, {type.getNumElements()}, nullptr);
  int64_t rowBytes = instruction.n * element.bytes;
  for (int64_t row = 0; row < instruction.k; ++row)
    for (int64_t byte = 0; byte < rowBytes; byte += kPieceBytes) {
      int64_t swizzled = (byte % kRowBytes) ^ (row % kPatternRows * kPieceBytes);
      int64_t at = place + byte / kRowBytes * panel + row * kRowBytes + swizzled;
      MutableArrayRef<std::byte> piece(out.data() + row * rowBytes + byte, kPieceBytes);
      SINTER_TRY(readPiece(access, read, at, row, "b", piece));
    }
  return out;
}

Tile SimtExtension::transposed(const Tile &tile, int64_t rows) {
  Tile out(tile.element(), {tile.count()}, nullptr);
  int64_t columns = tile.count() / rows, size = tile.element().bytes;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      std::memcpy(out.data() + (column * rows + row) * size,
                  tile.data() + (row * columns + column) * size, size);
  return out;
}

// The accumulators that a matmul adds to, which it takes over if they are in flight.
Result<Tile> SimtExtension::accumulatorsFor(Operation &op, mlir::Value accumulators, Task &task) {
  if (const AccumulatorsInFlight::Held *held = heldOf(accumulators, task))
    return accumulators_.take(*held, op).accumulators;
  SimtValue acc = valueOf(accumulators, task);
  if (!accumulators_.isOrdered(*acc.tile))
    return task.fail(op, Code::InvalidArgument,
                     "adds to registers that threads have written, expected a "
                     "'sched.matrix_fence' between");
  return expand(op, acc, task);
}

Result<void> SimtExtension::startMatmul(MatrixAsyncOp op, Task &task) {
  const MatrixInstruction &instruction = *findMatrixInstruction(op.getInstruction());
  const MatrixUnit &unit = units_.try_emplace(&instruction, instruction).first->second;
  uint64_t each = static_cast<uint64_t>(instruction.m * instruction.n * instruction.k);
  uint64_t groups = static_cast<uint64_t>(threads_ / instruction.lanes);
  SINTER_TRY(task.engine().charge(*op, each * groups, task));
  SINTER_ASSIGN(Tile a, expanded(*op, op.getA(), task));
  SINTER_ASSIGN(Tile b, expanded(*op, op.getB(), task));
  SINTER_ASSIGN(Tile acc, accumulatorsFor(*op, op.getAcc(), task));
  SINTER_ASSIGN(Tile accumulators, allocate(*op, op.getType(), true, task));
  SimtAccess access{*op, task, clock_};
  auto typeA = cast<VectorType>(instruction.typeA(op.getContext())),
       typeB = cast<VectorType>(instruction.typeB(op.getContext()));
  for (int64_t first = 0; first < threads_; first += instruction.lanes) {
    MatmulRead read{first, instruction.lanes, accumulators_.openGroup()};
    SINTER_ASSIGN(int64_t atA, placeOf(*op, a, "a", first, instruction.lanes, task));
    SINTER_ASSIGN(int64_t atB, placeOf(*op, b, "b", first, instruction.lanes, task));
    SINTER_ASSIGN(Tile left, operandOf(access, read, typeA, instruction.m, atA, "a"));
    SINTER_ASSIGN(Tile right, operandOf(access, read, typeB, instruction.n, atB, "b"));
    SINTER_TRY(
        unit.multiplyShared(left, transposed(right, instruction.n), acc, accumulators, first));
  }
  return fly(*op, {std::move(accumulators), op, accumulators_.openGroup()}, task);
}

// The operand b [k, n]; shared memory may hold it transposed, as [n, k].
Result<Tile> SimtExtension::tileOperandOf(const SimtAccess &access, const MatmulRead &read,
                                          const MatrixInstruction &instruction, int64_t place,
                                          MatrixTileAsyncOp op) {
  if (!op.getTransposeB())
    return panelsOf(access, read, instruction, place, op.getPanel());
  SINTER_ASSIGN(Tile columns,
                operandOf(access, read, cast<VectorType>(instruction.typeB(op.getContext())),
                          instruction.n, place, "b"));
  return transposed(columns, instruction.n);
}

Result<void> SimtExtension::startTileMatmul(MatrixTileAsyncOp op, Task &task) {
  const MatrixInstruction &instruction = *findMatrixInstruction(op.getInstruction());
  const MatrixUnit &unit = units_.try_emplace(&instruction, instruction).first->second;
  uint64_t each = static_cast<uint64_t>(instruction.m * instruction.n * instruction.k);
  uint64_t groups = static_cast<uint64_t>(threads_ / instruction.lanes);
  SINTER_TRY(task.engine().charge(*op, each * groups, task));
  SimtValue fragments = valueOf(op.getA(), task);
  if (heldOf(op.getA(), task) || !accumulators_.isOrdered(*fragments.tile))
    return task.fail(*op, Code::InvalidArgument,
                     "multiplies registers that threads have written, expected a "
                     "'sched.matrix_fence' between");
  SINTER_ASSIGN(Tile a, expand(*op, fragments, task));
  SINTER_ASSIGN(Tile b, expanded(*op, op.getB(), task));
  SINTER_ASSIGN(Tile acc, accumulatorsFor(*op, op.getAcc(), task));
  SINTER_ASSIGN(Tile accumulators, allocate(*op, op.getType(), true, task));
  SimtAccess access{*op, task, clock_};
  for (int64_t first = 0; first < threads_; first += instruction.lanes) {
    MatmulRead read{first, instruction.lanes, accumulators_.openGroup()};
    SINTER_ASSIGN(int64_t at, placeOf(*op, b, "b", first, instruction.lanes, task));
    SINTER_ASSIGN(Tile right, tileOperandOf(access, read, instruction, at + op.getOffset(), op));
    SINTER_TRY(unit.multiplyTile(a, right, acc, accumulators, first));
  }
  return fly(*op, {std::move(accumulators), op, accumulators_.openGroup()}, task);
}

Result<void> SimtExtension::fly(Operation &op, InFlightAccumulators accumulators, Task &task) {
  SINTER_ASSIGN(Tile out, poisoned(op, task));
  accumulators_.start(std::move(accumulators), out, op.getResult(0));
  task.bind(op.getResult(0), std::move(out));
  return {};
}

Result<void> SimtExtension::waitForMatmuls(MatrixWaitOp op, Task &task) {
  accumulators_.wait(op.getCommit(), op.getPending());
  for (SharedMemory &shared : shared_)
    shared.endMatmuls(clock_, accumulators_.ended());
  const AccumulatorsInFlight::Held *held = heldOf(op.getAcc(), task);
  if (!held) {
    task.bind(op.getResult(), Tile(*valueOf(op.getAcc(), task).tile));
    return {};
  }
  if (held->element >= 0)
    return task.fail(*op, Code::InvalidArgument,
                     "passes one of the accumulators of " + nameText(*held->op) +
                         ", which is in flight, expected all of them");
  InFlightAccumulators accumulators = accumulators_.take(*held, *op);
  if (accumulators.group >= accumulators_.ended()) {
    if (op.getSettled())
      return task.fail(*op, Code::InvalidArgument,
                       "settles accumulators of " + nameText(*accumulators.op) +
                           ", which is in flight, expected fewer groups pending");
    return fly(*op, std::move(accumulators), task);
  }
  task.bind(op.getResult(), std::move(accumulators.accumulators));
  return {};
}

} // namespace sinter::sched
