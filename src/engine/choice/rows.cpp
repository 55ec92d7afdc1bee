// Columns and rows of programs of row kernels.
#include "tile/mlir_pch.h"

#include "engine/choice/rows.h"
#include "engine/elements.h"
#include "sched/simt/decisions.h"

namespace sinter::engine {

// Columns of one step of a row kernel: whole groups of the activation format. Threads hold a whole
// row, some 16 elements each.
static constexpr int64_t kMostColumns = 1024;
static constexpr int64_t kMostSimtColumns = 8192;
static constexpr int64_t kColumnGroup = 32;
static constexpr int64_t kMostRopeHeads = 8;

// The largest whole divisor of `columns` that is a number of groups and not too long, so that no
// step is cut; otherwise steps of half the most, with a cut last one.
static int64_t columnBlock(int64_t columns, const kernel::Element &out,
                           const TargetProfile &profile) {
  if (profile.kind == TargetKind::Simt)
    return std::min<int64_t>(kMostSimtColumns, llvm::alignTo(columns, kColumnGroup));
  const ActivationFormat *quantized = activationFormatOf(out);
  const int64_t group =
      quantized ? std::max<int64_t>(quantized->scaleLength, kColumnGroup) : kColumnGroup;
  for (int64_t block = kMostColumns; block > kColumnGroup; block -= group)
    if (columns % block == 0)
      return block;
  return std::min<int64_t>(kMostColumns / 2, llvm::alignTo(columns, group));
}

// The largest divisor of a head that is not too long: no step reads beyond the head.
static int64_t headBlock(int64_t columns) {
  int64_t block = std::min(columns, kMostColumns);
  while (columns % block != 0)
    --block;
  return block;
}

template <class Norm>
Norm chooseNorm(int64_t columns, kernel::Element out, const TargetProfile &profile, int64_t heads) {
  Norm p;
  p.out = out;
  p.columns = columns;
  p.blockRows = 1;
  p.blockColumns = heads == 1 ? columnBlock(columns, out, profile) : headBlock(columns);
  p.parts = heads;
  return p;
}
template kernels::RmsNorm chooseNorm(int64_t, kernel::Element, const TargetProfile &, int64_t);
template kernels::LayerNorm chooseNorm(int64_t, kernel::Element, const TargetProfile &, int64_t);

// A step of decode has few rows, each a program alone on its multiprocessor: the fewer elements a
// thread has, the sooner the next launch begins (a step of one token of an 8B model in Q4_K on an
// H200: 407.7 tokens a second with 64 elements a thread, 409.7 with 16, 412.1 with 8).
Freedom freedomOfNorm(int64_t blockColumns, const TargetProfile &profile) {
  constexpr int64_t kElements = 8, kMostThreads = 512;
  Freedom freedom = freedomOf(profile);
  if (profile.kind != TargetKind::Simt)
    return freedom;
  const int64_t fewest = std::max(sched::kFewestThreads, profile.lanes),
                most = std::min(kMostThreads, profile.threads);
  const auto wanted = std::min<int64_t>(llvm::PowerOf2Ceil(blockColumns / kElements),
                                        llvm::bit_floor(static_cast<uint64_t>(most)));
  if (wanted > fewest)
    freedom.decided = {{std::string(sched::kThreads), wanted}};
  return freedom;
}

kernels::QuantizeRows chooseStream(int64_t columns, kernel::Element out,
                                   const TargetProfile &profile) {
  kernels::QuantizeRows p;
  p.out = out;
  p.columns = columns;
  p.blockRows = 1;
  p.blockColumns = columnBlock(columns, out, profile);
  return p;
}

kernels::Embed chooseEmbed(int64_t columns, kernel::Element table, int64_t rowInterleave,
                           const TargetProfile &profile) {
  kernels::Embed p;
  p.table = table;
  p.columns = columns;
  p.interleave = rowInterleave == 1 ? 0 : rowInterleave;
  p.blockColumns = columnBlock(columns, kernel::F32, profile);
  return p;
}

kernels::RopeTable chooseRopeTable(int64_t pairs, const TargetProfile &profile) {
  kernels::RopeTable p;
  p.pairs = pairs;
  p.blockRows = profile.kind == TargetKind::Cpu ? 4 : 1;
  return p;
}

// Heads of a task share the rotations of a row.
kernels::Rope chooseRope(int64_t heads, int64_t pairs, int64_t rest, bool halves, bool inPlace,
                         const TargetProfile &profile) {
  kernels::Rope p;
  p.heads = heads;
  p.pairs = pairs;
  p.rest = inPlace ? 0 : rest;
  p.blockHeads = profile.kind == TargetKind::Cpu ? std::gcd(heads, kMostRopeHeads) : 1;
  p.halves = halves;
  p.inPlace = inPlace;
  return p;
}

// Samplers keep 40 by default. With three times as many, penalties seldom leave too few.
int64_t chooseTopLogits(const TargetProfile &profile) {
  return profile.kind == TargetKind::Cpu ? 0 : 128;
}

kernels::KvAppend chooseKvAppend(graph::KvAppendOp op) {
  const graph::PoolShape shape = graph::poolShapeOf(op);
  kernels::KvAppend p;
  p.cache = kernelElement(op.getPool().getType().getElementType());
  p.kvHeads = shape.heads;
  p.headDim = shape.dim;
  p.pageRows = shape.rows;
  p.strided = op.getPart() == graph::KvPart::Keys && !p.cache.isBlock();
  return p;
}

} // namespace sinter::engine
