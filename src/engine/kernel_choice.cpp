// Block sizes for the CPU target.
#include "tile/mlir_pch.h"

#include "engine/kernel_choice.h"
#include "engine/weights.h"

namespace sinter::engine {

// Columns of one step of a row kernel: whole groups of the activation format.
static constexpr int64_t kMostColumns = 1024;
static constexpr int64_t kColumnGroup = 32;
// Columns that the CPU multiplies together, and of the widest tile of a product.
static constexpr int64_t kPanelColumns = 64;
static constexpr int64_t kMostProductColumns = 8 * kPanelColumns;
// Elements of the longest block of the format table.
static constexpr int64_t kLongestBlock = 256;

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

// Columns of a product's tile: as many panels of the CPU's as leave an even number of whole tiles,
// so that two threads have equal shares even of few rows; whole tiles where no number is even.
static int64_t productColumns(int64_t n) {
  for (int64_t multiple : {2, 1})
    for (int64_t columns = kMostProductColumns; columns >= kPanelColumns; columns -= kPanelColumns)
      if (n > 0 && n % (columns * multiple) == 0)
        return columns;
  return kMostProductColumns;
}

// Tiles of a product. Plain ones of many rows copy a once for each tile's columns and b once for
// its rows, so tiles are wide; 128 steps of a panel of b, 32 KiB, stay in the first level of cache,
// and sums and copies in the second (f32 1024^3 on one thread: 0.87 of the FMA rate, 0.70 in tiles
// of 96 x 64). What copies nothing takes all of K in one step: integer dots gain 5 %, one row of
// f16 at K = 576 22 %. Sums ascend along K in any steps.
static void chooseBlocks(kernels::Gemm &p, RowBucket rows) {
  bool blocks = p.b.isBlock(), one = rows == RowBucket::One;
  p.blockM = one ? 1 : blocks ? 96 : 240;
  p.blockN = one || blocks ? 64 : productColumns(p.n);
  bool copies = blocks ? !p.a.isBlock() : !one;
  p.blockK = blocks ? 256 : 128;
  if (!copies && p.k > 0 && p.k <= kernels::kMaxBlock)
    p.blockK = llvm::alignTo(p.k, kLongestBlock);
}

kernels::Gemm chooseGemm(kernel::Element a, kernel::Element b, int64_t n, int64_t k,
                         RowBucket rows) {
  kernels::Gemm p;
  p.a = a;
  p.b = b;
  p.n = n;
  p.k = k;
  p.interleave = interleavedRows();
  chooseBlocks(p, rows);
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
