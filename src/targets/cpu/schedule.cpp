// Reads and lists the decisions of blocking.
#include "tile/mlir_pch.h"

#include "targets/cpu/blocking/placement.h"
#include "targets/cpu/schedule.h"

using namespace mlir;

namespace sinter::targets::cpu {

CpuSchedule cpuScheduleOf(tile::KernelOp kernel) {
  CpuSchedule schedule;
  DictionaryAttr decided = tile::scheduleOf(kernel);
  auto read = [&](StringRef name, int64_t &value) {
    if (auto given = decided ? decided.getAs<IntegerAttr>(name) : IntegerAttr())
      value = given.getInt();
  };
  read("vectors", schedule.vectors);
  read("rows", schedule.rows);
  read("small_m", schedule.inPlaceRows);
  read("in_place", schedule.inPlaceBlockRows);
  read("prefetch", schedule.prefetchBytes);
  return schedule;
}

// Passes over weights in place take 0.5 to 0.65 of the time of preparing them for 16 rows, 0.85 to
// 1.08 for 64, 0.99 to 1.07 for 512 (Zen 4, one thread, 11 formats). Each pass unpacks the weights
// again, which costs more where products of bytes take several instructions: avx2 has 0.76 and 1.01
// for 16 rows of Q8_0 and Q4_K, 0.97 and 1.27 for 64.
int64_t inPlaceByRules(const CpuFacts &facts) {
  return facts.instructions.byteDot ? 64 : 16;
}

// A GEMV of block formats does so little work between cache lines that hardware prefetch keeps up.
// 8 rows without software prefetch decode 0.5 to 0.85 times as many tokens per second on a Zen 4
// (0.6 to 1 on a Xeon), and an unquantized GEMV reads 0.8 to 1.05 times as fast there.
int64_t prefetchByRules(const CpuFacts &facts, tile::DotOp dot) {
  return facts.prefetchesRuns && isBlockTile(dot.getA()) && rowsOf(dot) == 1 ? 0 : kPrefetchBytes;
}

namespace {
// The matmuls of a kernel: the largest extents of their accumulators, and what rules decide about
// them.
struct Matmuls {
  int64_t rows = 0, columns = 0, ahead = 0; // the largest
  bool blocks = false;
  llvm::SmallDenseSet<int64_t> vectors;
};
} // namespace

static Matmuls matmulsOf(tile::KernelOp kernel, const CpuFacts &facts) {
  Matmuls matmuls;
  kernel.walk([&](tile::DotOp dot) {
    auto accumulators = cast<RankedTensorType>(dot.getAcc().getType());
    matmuls.rows = std::max(matmuls.rows, accumulators.getDimSize(0));
    matmuls.columns = std::max(matmuls.columns, accumulators.getDimSize(1));
    matmuls.blocks |= isBlockTile(dot.getA());
    matmuls.ahead = std::max(matmuls.ahead, prefetchByRules(facts, dot));
    matmuls.vectors.insert(vectorsByRules(facts, dot));
  });
  return matmuls;
}

std::vector<ScheduleDecision> decisionsOf(tile::KernelOp kernel, const CpuFacts &facts) {
  const Matmuls matmuls = matmulsOf(kernel, facts);
  if (!matmuls.columns)
    return {};
  auto isRule = [&](int64_t count) {
    return matmuls.vectors.size() == 1 && matmuls.vectors.contains(count);
  };
  ScheduleDecision vectors{"vectors", {}}, rows{"rows", {}}, inPlaceRows{"small_m", {}},
      inPlaceBlockRows{"in_place", {}};
  for (int64_t count : {1, 2, 3, 4})
    if (!isRule(count) && count * facts.lanes <= matmuls.columns &&
        (!matmuls.blocks || llvm::isPowerOf2_64(count)))
      vectors.values.push_back(count);
  for (int64_t count : {4, 6, 8})
    if (count < matmuls.rows)
      rows.values.push_back(count);
  // Rows of a tile that are no more than these would never have them expanded.
  for (int64_t count : {4, 12})
    if (matmuls.blocks && count < matmuls.rows)
      inPlaceRows.values.push_back(count);
  for (int64_t count : {8, 16, 64, 128})
    if (matmuls.blocks && count < matmuls.rows && count != inPlaceByRules(facts))
      inPlaceBlockRows.values.push_back(count);
  ScheduleDecision ahead{"prefetch", {}};
  if (matmuls.blocks && matmuls.rows <= CpuSchedule().inPlaceRows)
    ahead.values = {matmuls.ahead ? 0 : kPrefetchBytes};
  return {vectors, rows, inPlaceRows, inPlaceBlockRows, ahead};
}

} // namespace sinter::targets::cpu
