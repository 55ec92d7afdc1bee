// Matmuls whose accumulators no register holds: fragments are kept as the table lays them out,
// which nothing but taking them shows.
#include "sched/interpreter/simt_block.h"

using namespace mlir;
using sinter::tile::Task;
using sinter::tile::Tile;

namespace sinter::sched {

Result<void> SimtExtension::clearAccumulators(AccClearOp op, Task &task) {
  Type type = findMatrixInstruction(op.getInstruction())->typeC(op.getContext());
  for (uint64_t number = 0; number < op.getCount(); ++number) {
    SINTER_ASSIGN(Tile zero, allocate(*op, type, true, task));
    std::fill_n(zero.data(), zero.byteCount(), std::byte(0));
    opaque_.insert_or_assign(op.getFirst() + number, std::move(zero));
  }
  return {};
}

Result<Tile *> SimtExtension::opaqueAt(Operation &op, uint64_t number, Task &task) {
  auto found = opaque_.find(number);
  if (found == opaque_.end())
    return task.fail(op, Code::InvalidArgument,
                     "asks for fragment " + Twine(number) +
                         ", expected one that a 'sched.acc_clear' has made zero");
  return &found->second;
}

// Rows that the group's threads read one after another, each by a thread of its own.
Result<Tile> SimtExtension::rowsOf(const SimtAccess &access, int64_t first, int64_t lanes,
                                   Type type, int64_t rows, int64_t place, int64_t rowBytes,
                                   Task &task) {
  SimtWord word = *simtWordOf(type);
  int64_t bytes = word.bytes() / rows;
  Tile out(word.element, {word.count}, nullptr);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t byte = 0; byte < bytes; byte += kPieceBytes) {
      int64_t at = place + row * rowBytes + byte, thread = first + row % lanes;
      MutableArrayRef<std::byte> piece(out.data() + row * bytes + byte, kPieceBytes);
      SINTER_ASSIGN(bool written, sharedOf(thread).load(access, thread, at, piece));
      if (written)
        continue;
      SINTER_TRY(reportUnwritten(access.op, thread, at, kPieceBytes, task));
      llvm::fill(piece, std::byte(0xff)); // NaN
    }
  return out;
}

Result<void> SimtExtension::addToAccumulators(AccAddOp op, Task &task) {
  const MatrixInstruction &instruction = *findMatrixInstruction(op.getInstruction());
  const MatrixUnit &unit = units_.try_emplace(&instruction, instruction).first->second;
  ArrayRef<int64_t> rows = op.getRows(), steps = op.getSteps(), counts = op.getCounts();
  SINTER_TRY(task.engine().charge(
      *op,
      static_cast<uint64_t>(instruction.m * instruction.n * instruction.k * counts[0] * counts[1] *
                            (threads_ / instruction.lanes)),
      task));
  SINTER_ASSIGN(Tile a, expanded(*op, op.getA(), task));
  SINTER_ASSIGN(Tile b, expanded(*op, op.getB(), task));
  SimtAccess access{*op, task, clock_};
  Type element = getElementTypeOrSelf(instruction.typeA(op.getContext()));
  auto typeA = VectorType::get({instruction.m * instruction.k}, element),
       typeB = VectorType::get({instruction.n * instruction.k}, element);
  for (int64_t first = 0; first < threads_; first += instruction.lanes) {
    SINTER_ASSIGN(int64_t atA, placeOf(*op, a, "a", first, instruction.lanes, task));
    SINTER_ASSIGN(int64_t atB, placeOf(*op, b, "b", first, instruction.lanes, task));
    for (int64_t i = 0; i < counts[0]; ++i) {
      SINTER_ASSIGN(Tile left, rowsOf(access, first, instruction.lanes, typeA, instruction.m,
                                      atA + i * steps[0], rows[0], task));
      for (int64_t j = 0; j < counts[1]; ++j) {
        SINTER_ASSIGN(Tile right, rowsOf(access, first, instruction.lanes, typeB, instruction.n,
                                         atB + j * steps[1], rows[1], task));
        SINTER_ASSIGN(Tile * accumulators, opaqueAt(*op, op.getFirst() + i * counts[1] + j, task));
        SINTER_TRY(unit.multiplyShared(left, transposed(right, instruction.n), *accumulators,
                                       *accumulators, first));
      }
    }
  }
  return {};
}

// Each thread writes what it gets and reads it again, so that other users of the place are found.
Result<void> SimtExtension::takeAccumulators(AccTakeOp op, Task &task) {
  const MatrixInstruction &instruction = *findMatrixInstruction(op.getInstruction());
  SINTER_ASSIGN(Tile * accumulators, opaqueAt(*op, op.getNumber(), task));
  SINTER_ASSIGN(Tile places, expanded(*op, op.getByte(), task));
  SINTER_ASSIGN(Tile out, allocate(*op, op.getType(), true, task));
  std::copy_n(accumulators->data(), accumulators->byteCount(), out.data());
  SimtAccess access{*op, task, clock_};
  int64_t bytes = simtWordOf(op.getType())->bytes();
  for (int64_t first = 0; first < threads_; first += instruction.lanes) {
    SINTER_ASSIGN(int64_t at, placeOf(*op, places, "the fragment", first, instruction.lanes, task));
    for (int64_t lane = 0; lane < instruction.lanes; ++lane)
      for (int64_t byte = 0; byte < bytes; byte += kPieceBytes) {
        MutableArrayRef<std::byte> piece(out.data() + (first + lane) * bytes + byte, kPieceBytes);
        int64_t place = at + lane * bytes + byte;
        SINTER_TRY(sharedOf(first).store(access, first + lane, place, piece));
        SINTER_TRY(sharedOf(first).load(access, first + lane, place, piece));
      }
  }
  task.bind(op.getResult(), std::move(out));
  return {};
}

} // namespace sinter::sched
