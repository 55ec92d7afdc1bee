// Block sizes for the CPU target.
#include "tile/mlir_pch.h"

#include "engine/kernel_choice.h"
#include "engine/weights.h"

namespace sinter::engine {

// Columns of one step of a row kernel: whole groups of the activation format.
static constexpr int64_t kMostColumns = 1024;
static constexpr int64_t kColumnGroup = 32;

// The largest whole divisor of `columns` that is a number of groups and not too long, so that no
// step is cut; otherwise steps of half the most, with a cut last one.
static int64_t columnBlock(int64_t columns) {
  for (int64_t block = kMostColumns; block > kColumnGroup; block -= kColumnGroup)
    if (columns % block == 0)
      return block;
  return std::min<int64_t>(kMostColumns / 2, llvm::alignTo(columns, kColumnGroup));
}

kernels::RmsNorm chooseNorm(int64_t columns, kernel::Element out) {
  kernels::RmsNorm p;
  p.out = out;
  p.columns = columns;
  p.blockRows = 1;
  p.blockColumns = columnBlock(columns);
  return p;
}

kernels::QuantizeRows chooseStream(int64_t columns, kernel::Element out) {
  kernels::QuantizeRows p;
  p.out = out;
  p.columns = columns;
  p.blockRows = 1;
  p.blockColumns = columnBlock(columns);
  return p;
}

kernels::Embed chooseEmbed(int64_t columns, kernel::Element table) {
  kernels::Embed p;
  p.table = table;
  p.columns = columns;
  p.blockRows = 1;
  p.blockColumns = columnBlock(columns);
  return p;
}

kernels::Gemm chooseGemm(kernel::Element a, kernel::Element b, int64_t n, int64_t k,
                         RowBucket rows) {
  kernels::Gemm p;
  p.a = a;
  p.b = b;
  p.n = n;
  p.k = k;
  p.interleave = interleavedRows();
  // Integer dots gain nothing from wide blocks; plain products copy a once for each of them. Both
  // leave enough blocks of a few hundred rows for several threads.
  p.blockM = rows == RowBucket::One ? 1 : b.isBlock() ? 96 : 192;
  p.blockN = rows == RowBucket::One || b.isBlock() ? 64 : 192;
  return p;
}

kernels::Rope chooseRope(int64_t heads, int64_t headDim, bool halves, bool inPlace) {
  kernels::Rope p;
  p.heads = heads;
  p.pairs = headDim / 2;
  p.blockHeads = 1;
  p.halves = halves;
  p.inPlace = inPlace;
  return p;
}

kernels::KvWrite chooseKvWrite(int64_t kvHeads, int64_t headDim, int64_t pageRows) {
  kernels::KvWrite p;
  p.kvHeads = kvHeads;
  p.headDim = headDim;
  p.pageRows = pageRows;
  return p;
}

kernels::Attention chooseAttention(const AttentionShape &shape, kernel::Element out,
                                   int64_t queryBlock, RowBucket rows) {
  kernels::Attention p;
  p.out = out;
  p.kvHeads = shape.kvHeads;
  p.groupHeads = shape.groupHeads;
  p.headDim = shape.headDim;
  p.pageRows = shape.pageRows;
  p.blockQueries = rows == RowBucket::One ? 1 : queryBlock;
  return p;
}

} // namespace sinter::engine
