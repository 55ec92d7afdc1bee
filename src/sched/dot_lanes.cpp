// The sums of a product over threads: square shares, four neighbours along each axis.
#include "sched/dot_lanes.h"

using namespace mlir;

namespace sinter::sched {

static constexpr int64_t kNeighbours = 4;

LaneLayout chooseSumLayout(tile::DotOp dot, int64_t threads, const LaneFacts &) {
  auto type = cast<RankedTensorType>(dot.getResult().getType());
  int64_t m = type.getDimSize(0), n = type.getDimSize(1);
  int64_t most = llvm::PowerOf2Ceil(n), along = 1;
  while (along * 2 <= std::min(threads, most) && along * along * m < threads * n)
    along *= 2;
  SmallVector<LaneBit> registers, lanes;
  auto spread = [](SmallVector<LaneBit> &bits, int axis, int first, int64_t count) {
    for (int bit = 0; bit < static_cast<int>(llvm::Log2_64(count)); ++bit)
      bits.push_back({axis, first + bit});
  };
  auto share = [](int64_t extent, int64_t over) {
    return std::min<int64_t>(kNeighbours,
                             llvm::bit_floor<uint64_t>(llvm::divideCeil(extent, over)));
  };
  int64_t down = std::min<int64_t>(threads / along, llvm::PowerOf2Ceil(m));
  int64_t columns = share(n, along), rows = share(m, down);
  spread(registers, 1, 0, columns);
  spread(registers, 0, 0, rows);
  spread(lanes, 1, static_cast<int>(llvm::Log2_64(columns)), along);
  spread(lanes, 0, static_cast<int>(llvm::Log2_64(rows)), down);
  lanes.append(llvm::Log2_64(threads / along / down), LaneBit());
  return LaneLayout(type.getShape(), std::move(registers), std::move(lanes));
}

} // namespace sinter::sched
