// Tiles of tasks on cores and of thread blocks.
#include "tile/mlir_pch.h"

#include "engine/choice/matmul.h"
#include "engine/choice/packing.h"
#include "engine/elements.h"
#include "sched/simt/decisions.h"
#include "sched/simt/opaque_dots.h"

namespace sinter::engine {

// Columns of a tile, and elements of a step, are whole groups of so many.
static constexpr int64_t kColumnGroup = 32;
// Columns that the CPU multiplies together, and of the widest tile of a product.
static constexpr int64_t kPanelColumns = 64;
static constexpr int64_t kMostMatmulColumns = 8 * kPanelColumns;
static constexpr int64_t kSmallMColumns = 2 * kPanelColumns; // widest tile of few rows
// Elements of the longest block of the format table.
static constexpr int64_t kLongestBlock = 256;
// Tiles of matmuls on SIMT targets: what a thread block holds in registers and shares, and for one
// row as many programs as there can be, each of the rows that are interleaved.
static constexpr int64_t kFewestSimtRows = 16;
static constexpr int64_t kSimtRows = 64, kSimtColumns = 64, kThreadStep = 64;
static constexpr int64_t kShortK = 2048, kStepOfLongK = 1024;
// Prefill tiles where weights are so many and a thread block shares so many bytes: a multistage
// pipeline of operands, and accumulators that are stored part by part.
static constexpr int64_t kLargeTile = 128, kWeightsForLargeTiles = int64_t(4) << 20;
static constexpr int64_t kLongSide = 256, kWeightsForDequantized = int64_t(8) << 20;
static constexpr int64_t kBytesForLargeTiles = 200 * 1024;

// Columns of a product's tile: as many of `panel` as leave an even number of whole tiles, so that
// two threads have equal shares even of few rows; whole tiles where no number is even.
static int64_t matmulColumns(int64_t n, int64_t panel, int64_t most) {
  most -= most % panel;
  for (int64_t multiple : {2, 1})
    for (int64_t columns = most; columns >= panel; columns -= panel)
      if (n > 0 && n % (columns * multiple) == 0)
        return columns;
  return most;
}

// Tiles of a product. Plain ones of many rows copy a once for each tile's columns and b once for
// its rows, so tiles are wide; 128 steps of a panel of b, 32 KiB, stay in the first level of cache,
// and sums and copies in the second (f32 1024^3 on one thread: 0.87 of the FMA rate, 0.70 in tiles
// of 96 x 64). What copies nothing takes all of K in one step: integer dots gain 5 %, one row of
// f16 at K = 576 22 %. Many rows share what blocks of b become, and prompts of 512 make two
// equal tiles of whole blocks of five rows (q8_0, K = 1536, N = 576, 1536, 3072 on a Zen 5: 0.72,
// 0.71, 0.70 of the byte dots' rate in tiles of 260 rows, 0.72, 0.70, 0.69 of 240). Sums ascend
// along K in any steps. Few rows read scalars as they lie, as one row does (SmolLM2 in F16, 8
// sequences: 1.2 to 1.3 times as many tokens per second), but each tile copies its rows of a (gate
// and up: 0.85 of the time in tiles of 128 columns instead of 64, 0.79 of 256, which would leave
// many threads idle).
static void chooseCpuBlocks(kernels::Gemm &p, MBucket rows) {
  bool blocks = p.b.isBlock() && p.activation.isBlock(), one = rows == MBucket::One;
  bool streams = one || (rows == MBucket::Small && !p.b.isBlock());
  p.blockM = one ? 1 : streams ? kSmallBucketRows : blocks ? 260 : 240;
  p.blockN = one || blocks ? 64
             : streams     ? matmulColumns(p.n, kColumnGroup, kSmallMColumns)
                           : matmulColumns(p.n, kPanelColumns, kMostMatmulColumns);
  bool copies = blocks ? !p.a.isBlock() : !streams;
  p.blockK = blocks || p.b.isBlock() ? kLongestBlock : 128;
  if (!copies && p.k > 0 && p.k <= kernels::kMaxBlock)
    p.blockK = llvm::alignTo(p.k, kLongestBlock);
}

// Elements along K of which a step has a multiple: whole groups, and whole blocks of the weights.
static int64_t wholeBlocks(const kernels::Gemm &p) {
  const BlockFormat *format = blockFormatOf(p.b);
  return format ? std::max<int64_t>(kColumnGroup, format->blockLength) : kColumnGroup;
}

// One row takes a short K in one step, so that all loads are in flight together. A long K takes
// steps of fewer threads, so that a multiprocessor holds several programs (28672 x 4096 on an H200,
// in one step and in four: F16 84 and 56 us, Q8_0 121 and 62). One row does not fill a matrix
// instruction, so quantized weights are dequantized and the row is not quantized.
static void chooseSimtBlocks(kernels::Gemm &p, MBucket rows) {
  bool one = rows == MBucket::One;
  if (one)
    p.activation = kernel::F32;
  p.blockM = one ? 1 : kSimtRows;
  p.blockN = one ? kSimtColumnsOfOne : kSimtColumns;
  const int64_t whole = wholeBlocks(p);
  p.blockK = llvm::alignTo(kThreadStep, whole);
  const int64_t most = p.k <= kShortK ? kShortK : kStepOfLongK;
  for (int64_t step = p.blockK; one && p.k > 0 && step <= most; step += whole)
    if (p.k % step == 0)
      p.blockK = step;
}

kernels::Gemm chooseGemm(kernel::Element a, kernel::Element b, int64_t n, int64_t k, MBucket rows,
                         MatmulPrecision rules) {
  kernels::Gemm p;
  p.a = a;
  p.b = b;
  p.n = n;
  p.k = k;
  int64_t rowInterleave = interleavedRows(b, n > 0 && k > 0 ? n * k : 0, rules);
  if (b.isBlock()) {
    const ActivationFormat *activation = activationFor(blockFormatOf(b), rules);
    p.activation = a.isBlock()        ? a
                   : activation       ? kernel::block(llvm::StringRef(activation->name).lower())
                   : rules.bfloatRows ? kernel::BF16
                                      : kernel::F32;
  }
  p.interleave = rowInterleave == 1 ? 0 : rowInterleave;
  if (rules.kind == TargetKind::Cpu)
    chooseCpuBlocks(p, rows);
  else
    chooseSimtBlocks(p, rows);
  return p;
}

// Threads hold one row's part of b in registers, so wide tiles take less of K at once: a tile of
// 64 x 4096 of Q8_0 spills and takes 54 times its floor on an H200.
static void fitRegisters(kernels::Gemm &p) {
  constexpr int64_t kMostNumbers = 40 * 1024; // of 512 threads: 80 each
  while (p.blockK > std::max(kThreadStep, wholeBlocks(p)) && p.blockN * p.blockK > kMostNumbers)
    p.blockK = llvm::alignTo(p.blockK / 2, wholeBlocks(p));
}

// Where no instruction multiplies them, operands are shared as f32, in rows that are padded by a
// sixteenth; not a matmul of one row, whose sums stay in registers.
void fitStep(kernels::Gemm &p, int64_t sharedBytes) {
  constexpr int64_t kPaddedPart = 16;
  const bool blocks = p.b.isBlock();
  if (p.blockM == 1)
    return fitRegisters(p);
  if (blocks && p.activation.isBlock())
    return;
  const int64_t leastStep = blocks ? kColumnGroup : kPaddedPart;
  // Of long blocks the schedule takes parts.
  int64_t step = wholeBlocks(p) > kThreadStep ? kThreadStep : p.blockK;
  auto shared = [&] {
    return (p.blockM + p.blockN) * (step + step / kPaddedPart) *
           static_cast<int64_t>(sizeof(float));
  };
  while (step > leastStep && shared() > sharedBytes)
    step = llvm::alignTo(step / 2, leastStep);
  while (blocks && p.blockM > kFewestSimtRows && shared() > sharedBytes)
    p.blockM /= 2;
  p.blockK = blocks ? llvm::alignTo(step, wholeBlocks(p)) : step;
}

// Where an instruction reads shared memory and columns are programs enough, a tile of 256: weights
// are dequantized for twice as many rows, others meet twice as many columns (512 rows on an H200,
// us in tiles of 128 x 128 and in these: 28672 x 4096 Q8_0 320 and 269, Q4_K 357 and 289, F16 235
// and 213; 6144 x 4096 Q8_0 93 and 67; 4096 x 14336, which has too few columns, Q8_0 167 and 207).
static void growLongSide(kernels::Gemm &p, bool dequantizes, bool anyColumns) {
  constexpr int64_t kEnoughColumns = 36 * kLargeTile;
  if (p.n < kEnoughColumns)
    return;
  if (dequantizes || !anyColumns)
    p.blockM = kLongSide;
  else if (kLongSide % std::max<int64_t>(1, p.epilogueStore.columns) == 0)
    p.blockN = kLongSide;
}

// A larger tile reads either operand less often, and weights that a product dequantizes are
// dequantized once for all of its rows (512 rows on an H200, 28672 x 4096 and 4096 x 14336: F16 in
// tiles of 128 x 128 instead of 64 x 64 0.75 and 0.56 of the time; Q8_0 of 256 x 64 0.90 and 0.83).
// Few weights are too few programs then (0.6B in Q8_0 on an H100: 0.85 of the speed).
void growTile(kernels::Gemm &p, int64_t sharedBytes, bool anyColumns, bool readsShared) {
  const bool halves = p.a == p.b && (p.b == kernel::F16 || p.b == kernel::BF16);
  const bool dequantizes = p.b.isBlock() && p.activation == kernel::BF16;
  const int64_t least = dequantizes ? kWeightsForDequantized : kWeightsForLargeTiles;
  if (p.blockM == 1 || p.blockN > kLargeTile || sharedBytes < kBytesForLargeTiles ||
      !(halves || dequantizes) || p.n * p.k < least)
    return;
  p.blockM = dequantizes && !readsShared ? kLongSide : kLargeTile;
  if (anyColumns && (halves || readsShared) &&
      kLargeTile % std::max<int64_t>(1, p.epilogueStore.columns) == 0)
    p.blockN = kLargeTile;
  if (readsShared)
    growLongSide(p, dequantizes, anyColumns);
}

// A tile that copies its rows has several parts, whose sums stay in the second level of cache
// beside the copy (gate and up of SmolLM2 in F16 on a Zen 3, 512 rows: 0.90 of the time with 192
// columns, 0.85 with 384, 0.88 with 512).
int64_t columnsInParts(const kernels::Gemm &p, int64_t part, const TargetProfile &profile) {
  constexpr int64_t kMostColumnsOfParts = 6 * kPanelColumns;
  bool copies =
      profile.kind == TargetKind::Cpu && p.blockM > 1 && !(p.b.isBlock() && p.activation.isBlock());
  int64_t most = p.blockM > kSmallBucketRows ? kMostColumnsOfParts : kSmallMColumns;
  return copies ? matmulColumns(p.n, part, std::max(part, most)) : part;
}

// Where columns alone are programs enough, all rows of a prompt share what blocks of b become: a
// prompt of Llama-3.2-1B's shape takes 0.96 (q6_k) and 0.99 (iq4_xs) of the time.
void joinRows(kernels::Gemm &p) {
  constexpr int64_t kEnoughPrograms = 32, kPrefillRows = 515;
  if (p.blockM > 1 && p.b.isBlock() && p.activation.isBlock() && p.n >= kEnoughPrograms * p.blockN)
    p.blockM = std::max(p.blockM, kPrefillRows);
}

// Whether an instruction multiplies bf16 from shared memory.
static bool readsShared(const TargetProfile &profile) {
  return llvm::any_of(profile.matrixInstructions, [](const targets::MatrixShape &shape) {
    return shape.sharedOperands && shape.element == sched::MatrixElement::BF16;
  });
}

// ---- prompts of few tokens ----

// Where instructions read registers: 64 rows of 64 columns fill more multiprocessors than 256 of
// 128, and what a program loads runs further ahead of its matmuls.
static TokenGemm shortTileOfRegisters(const kernels::Gemm &p, bool anyColumns) {
  constexpr int64_t kStages = 8, kStepsAhead = 4;
  TokenGemm tile{1, p};
  tile.gemm.blockM = kSimtRows;
  if (anyColumns && kSimtColumns % std::max<int64_t>(1, p.epilogueStore.columns) == 0)
    tile.gemm.blockN = kSimtColumns;
  if (p.b.isBlock())
    tile.decided = {{std::string(sched::kStepsAhead), kStepsAhead}};
  else
    tile.decided = {{std::string(sched::kStages), kStages}};
  return tile;
}

// The widest tile of programs about enough for 132 multiprocessors, of whole `part`s; the narrowest
// where none are. Below, a program's columns cost no time (4096 x 14336 with 16 tokens on an H200,
// us in tiles of 16, 32 and 64 columns: Q4_K 161, 152 and 143, four steps ahead), while each
// program reads all tokens again.
static int64_t shortColumns(int64_t n, int64_t part, int64_t otherwise) {
  constexpr int64_t kEnoughPrograms = 128;
  int64_t found = otherwise;
  for (int64_t columns : {64, 32, 16}) {
    if (columns % part != 0)
      break;
    found = columns;
    if (llvm::divideCeil(n, columns) >= kEnoughPrograms)
      break;
  }
  return found;
}

// Stages that shared memory has for each of the programs that a multiprocessor holds then: one, or
// two where programs are more than multiprocessors. Of 16-bit weights 12 are enough (4096 x 14336
// of F16 with 16 tokens on an H200, us in tiles of 32 columns: 66 in 8 stages, 41 in 12). Blocks
// are dequantized in a loop that is unrolled by a power of two: of as many stages each is a
// constant.
static int64_t shortStages(const kernels::Gemm &p, int64_t sharedBytes) {
  constexpr int64_t kMultiprocessors = 132, kOther = 2048, kLeast = 4, kRowBytes = 128;
  const int64_t resident = llvm::divideCeil(p.n, p.blockN) > kMultiprocessors ? 2 : 1;
  const int64_t stages = (sharedBytes / resident - kOther) / ((p.blockM + p.blockN) * kRowBytes);
  if (p.b.isBlock())
    return std::clamp<int64_t>(llvm::bit_floor<uint64_t>(std::max<int64_t>(1, stages)), kLeast, 8);
  return std::clamp<int64_t>(stages, kLeast, 12);
}

// Where an instruction of 64 rows reads shared memory: one such tile serves 16 tokens as well as
// 64. A program waits for memory once for all the steps that its loads run ahead, so blocks are
// loaded as far ahead as registers allow (4096 x 14336 of Q4_K with 16 tokens on an H200, in tiles
// of 16 columns: 161 us four steps ahead, 76 eight), by threads that hold two columns each.
static std::optional<TokenGemm> shortTileOfShared(const kernels::Gemm &p, bool anyColumns,
                                                  int64_t multiple, int64_t sharedBytes) {
  constexpr int64_t kStepsAhead = 8, kFewestThreads = 128, kMostThreads = 256;
  TokenGemm tile{1, p};
  kernels::Gemm &gemm = tile.gemm;
  gemm.blockM = kSimtRows;
  const int64_t part = std::max<int64_t>({1, p.epilogueStore.columns, multiple});
  if (anyColumns && p.n > 0)
    gemm.blockN = std::min(p.blockN, shortColumns(p.n, part, p.blockN));
  tile.decided = {
      {std::string(sched::kThreads), std::clamp(2 * gemm.blockN, kFewestThreads, kMostThreads)},
      {std::string(sched::kStages), shortStages(gemm, sharedBytes)}};
  if (p.b.isBlock())
    tile.decided.emplace_back(sched::kStepsAhead, kStepsAhead);
  return tile;
}

std::optional<TokenGemm> tileOfShortPrompts(const kernels::Gemm &p, bool anyColumns,
                                            int64_t multiple, const TargetProfile &profile) {
  const bool halves = p.b.isBlock() ? p.activation == kernel::BF16
                                    : p.a == p.b && (p.b == kernel::F16 || p.b == kernel::BF16);
  if (halves && readsShared(profile) && p.blockM >= kSimtRows && p.n * p.k >= kWeightsForShares)
    return shortTileOfShared(p, anyColumns, multiple, profile.sharedBytes);
  if (p.blockM <= kSimtRows)
    return std::nullopt;
  return shortTileOfRegisters(p, anyColumns);
}

// ---- accumulators that only the processor knows the place of ----

// Whether such an instruction multiplies this matmul's operands.
static bool isOpaque(const kernels::Gemm &p, const TargetProfile &profile) {
  const kernel::Element operand = p.b.isBlock() ? p.activation : p.b;
  if (p.blockM == 1 || !(operand == kernel::F16 || operand == kernel::BF16) ||
      (!p.b.isBlock() && p.a != p.b))
    return false;
  const auto element =
      operand == kernel::F16 ? sched::MatrixElement::F16 : sched::MatrixElement::BF16;
  return llvm::any_of(profile.matrixInstructions, [&](const targets::MatrixShape &shape) {
    return shape.opaque && shape.element == element;
  });
}

// The largest tile with programs enough: of 512 rows two for each multiprocessor of a large device,
// whose subgroups dequantize while those of the other multiply. Of two tiles as large, the one that
// has more rows dequantizes less. For each byte that a tile of bf16 reads it does 64, 43 and 32
// operations; 128 threads hold 128, 64 and 32 accumulators each, and two places of both operands
// are 40, 30 and 36 KiB in steps of 32, 32 and 64.
static void growOpaqueTile(kernels::Gemm &p, int64_t sharedBytes, bool anyColumns) {
  constexpr std::pair<int64_t, int64_t> kTiles[] = {{128, 128}, {128, 64}};
  constexpr int64_t kPrefillRows = 512, kEnoughPrograms = 256;
  for (auto [rows, columns] : kTiles) {
    const int64_t own = anyColumns ? columns : p.blockN;
    if (own % p.blockN == 0 && own <= columns &&
        llvm::divideCeil(p.n, own) * (kPrefillRows / rows) >= kEnoughPrograms &&
        sched::opaqueSharedBytes(rows, own, kColumnGroup) <= sharedBytes) {
      p.blockM = rows;
      p.blockN = own;
      return;
    }
  }
}

static void fitOpaqueStep(kernels::Gemm &p, int64_t sharedBytes) {
  const bool blocks = p.b.isBlock();
  auto fits = [&](int64_t step) {
    return sched::opaqueSharedBytes(p.blockM, p.blockN, step) <= sharedBytes;
  };
  int64_t step = kThreadStep;
  while (step > (blocks ? kColumnGroup : kColumnGroup / 2) && !fits(step))
    step /= 2;
  while (p.blockM > kFewestSimtRows && !fits(step))
    p.blockM /= 2;
  p.blockK = blocks ? static_cast<int64_t>(llvm::alignTo(step, wholeBlocks(p))) : step;
}

void finishTile(kernels::Gemm &p, bool anyColumns, const TargetProfile &profile) {
  if (profile.kind == TargetKind::Cpu)
    return joinRows(p);
  const int64_t sharedBytes = std::max(profile.sharedBytes, kLeastSharedBytes);
  if (isOpaque(p, profile)) {
    growOpaqueTile(p, sharedBytes, anyColumns);
    return fitOpaqueStep(p, sharedBytes);
  }
  growTile(p, sharedBytes, anyColumns, readsShared(profile));
  fitStep(p, sharedBytes);
}

} // namespace sinter::engine
