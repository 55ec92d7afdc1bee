// Words of two bf16: what makes them from neighbours, and which shapes these have.
#include "tile/mlir_pch.h"

#include "sched/interpreter/pairs.h"

#include "numeric/bfloat_pairs.h"

using namespace mlir;
using sinter::tile::Task;
using sinter::tile::Tile;

namespace sinter::sched {

LogicalResult PairOp::verify() {
  auto from = cast<RankedTensorType>(getValue().getType()),
       to = cast<RankedTensorType>(getResult().getType());
  const int64_t rank = from.getRank();
  const auto axis = static_cast<int64_t>(getAxis());
  bool right = axis >= 0 && axis < rank && to.getRank() == rank &&
               (from.getElementType().isF32() || from.getElementType().isBF16()) &&
               to.getElementType().isInteger(32);
  for (int64_t i = 0; right && i < rank; ++i)
    right = from.getDimSize(i) == to.getDimSize(i) * (i == axis ? 2 : 1);
  if (right)
    return success();
  return emitOpError() << "makes " << to << " of " << from << " along axis " << axis
                       << ", expected i32 words of two neighbours in f32 or bf16";
}

static uint32_t roundedPair(const float *number, int64_t apart) {
  return bfloatPair(number[0], number[apart]);
}

static uint32_t joinedPair(const uint16_t *half, int64_t apart) {
  return half[0] | static_cast<uint32_t>(half[apart]) << 16;
}

Result<void> executePair(PairOp op, Task &task) {
  const Tile &from = std::get<Tile>(task.lookup(op.getValue()));
  SINTER_TRY(task.engine().charge(*op, uint64_t(from.count()), task));
  SINTER_ASSIGN(Tile words, task.engine().allocate(*op, op.getResult().getType(), task));
  int64_t apart = 1; // elements between neighbours
  for (int64_t extent : from.shape().drop_front(op.getAxis() + 1))
    apart *= extent;
  const bool rounds = cast<RankedTensorType>(op.getValue().getType()).getElementType().isF32();
  for (int64_t at = 0; at < words.count(); ++at) {
    int64_t first = at / apart * 2 * apart + at % apart;
    words.as<uint32_t>()[at] = rounds ? roundedPair(from.as<float>() + first, apart)
                                      : joinedPair(from.as<uint16_t>() + first, apart);
  }
  task.bind(op.getResult(), std::move(words));
  return {};
}

} // namespace sinter::sched
