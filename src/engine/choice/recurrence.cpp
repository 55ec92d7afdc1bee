// Columns of programs of kernels with states of sequences.
#include "tile/mlir_pch.h"

#include "engine/choice/recurrence.h"

namespace sinter::engine {

// A program walks all rows of its sequence: more columns make it longer, fewer give more programs.
// As it reads and writes its state in place, no thread may hold what another one holds too: tiles
// have an element for each thread at least.
kernels::CausalConv chooseCausalConv(graph::CausalConvOp op, const TargetProfile &profile) {
  constexpr int64_t kCpuColumns = 64, kSimtColumns = 128;
  kernels::CausalConv p;
  p.columns = op.getRows().getType().getShape().back();
  p.width = op.getWeight().getType().getShape().back();
  p.blockColumns = profile.kind == TargetKind::Cpu ? kCpuColumns : kSimtColumns;
  return p;
}

// A program's part of a matrix stays in its registers or in the cache beside it: 16 KiB.
kernels::DeltaRule chooseDeltaRule(graph::DeltaRuleOp op) {
  constexpr int64_t kMostColumns = 32, kMostElements = 4096;
  llvm::ArrayRef<int64_t> keys = op.getKey().getType().getShape(),
                          values = op.getValue().getType().getShape();
  kernels::DeltaRule p;
  p.keyHeads = keys[1];
  p.heads = values[1];
  p.keyDim = keys[2];
  p.valueDim = values[2];
  p.blockColumns = std::min(kMostColumns, kMostElements / p.keyDim);
  p.neighbours = op.getNeighbours();
  return p;
}

// Matmuls of a chunk read a program's part of the matrix once for all of its rows. Scores of rows
// with one another are made again in each program of a head, so CPUs, which have few of these, take
// more columns at once (512 rows of 16 heads of 128 on two Zen 4 cores: one by one 38.9 ms, chunks
// of 16 with 32, 64 and 128 columns 20.7, 7.5 and 6.5 ms, chunks of 32 with 64 columns 9.2 ms).
kernels::DeltaRuleChunks chooseDeltaRuleChunks(graph::DeltaRuleOp op,
                                               const TargetProfile &profile) {
  constexpr int64_t kMostCpuElements = 8192;
  kernels::DeltaRuleChunks p{.rule = chooseDeltaRule(op)};
  if (profile.kind == TargetKind::Cpu)
    p.rule.blockColumns =
        std::min<int64_t>(llvm::PowerOf2Ceil(p.rule.valueDim), kMostCpuElements / p.rule.keyDim);
  return p;
}

} // namespace sinter::engine
