// Tiles of decode matmuls whose subgroups share K.
#include "tile/mlir_pch.h"

#include "engine/choice/matmul.h"
#include "engine/choice/packing.h"
#include "engine/choice/shared_depth.h"
#include "engine/elements.h"
#include "graph/fuse/launch.h"
#include "numeric/formats/word_packing.h"
#include "sched/simt/decisions.h"
#include "sched/simt/split_dots.h"

#include <numeric>

using namespace mlir;

namespace sinter::engine {

static kernel::Element elementIn(Value value) {
  return kernelElement(getElementTypeOrSelf(value.getType()));
}

static constexpr int64_t kColumns = 16, kMostColumns = 64;

// Elements along K of one step: whole blocks, in shares of whole units with the least padding, and
// at most so many (28672 x 4096 and 4096 x 14336 of Q8_0 on an H100, 8 tokens, 16 columns: 52 and
// 25 us in steps of 1024, 54 and 28 of 512, 58 and 37 of 256).
static int64_t stepOfShares(int64_t k, int64_t most, int64_t unit, int64_t block) {
  constexpr int64_t kMostShares = 8;
  int64_t best = most;
  const int64_t whole = std::lcm(unit, block);
  for (int64_t step = whole; step <= most; step += whole) {
    const int64_t shares = std::min<int64_t>(kMostShares, llvm::bit_floor<uint64_t>(step / unit));
    if (k % step == 0 && 3 * static_cast<int64_t>(llvm::alignTo(step, shares * unit)) <= 4 * step)
      best = step;
  }
  return best;
}

// Most elements along K of a step, so that a thread's part fits its registers. Operands are of 16
// bits, or blocks packed in words, where a thread holds whole words (28672 x 4096 on an H200, one
// token, 16 columns: Q4_0 27, Q4_K 33 us in steps of 1024; 33 and 30 of 2048).
static int64_t mostOfStep(int64_t columns, bool words, int64_t unit) {
  constexpr int64_t kLeast = 256, kNumbers = 16 * 1024, kStepOfWords = 1024, kLongUnit = 256;
  if (!words)
    return std::max(kLeast, kNumbers / columns / kLeast * kLeast);
  const int64_t most = unit < kLongUnit ? kStepOfWords : 2 * kStepOfWords;
  return std::min(most, std::max(unit, 2 * kNumbers / columns / unit * unit));
}

// Whether threads can hold words of twice the columns: not of whole blocks of 256, nor of more than
// five bits a weight.
static bool holdsTwice(const BlockFormat &format) {
  constexpr uint32_t kLongest = 128, kBits = 5, kByteBits = 8;
  return format.blockLength <= kLongest &&
         uint32_t{format.blockBytes} * kByteBits < kBits * format.blockLength;
}

bool readsWords(const kernels::Gemm &p) {
  return p.b.isBlock() && p.interleave == kWordRows;
}

// A tile of many tokens, and from how many on. Programs must be enough for two subgroups on each of
// a multiprocessor's schedulers (on an H200, us in tiles of 16 tokens and in these; 28672 x 4096
// with 32 tokens: Q4_K 107 and 55, Q8_0 100 and 55, F16 130 and 63; with 64: 213 and 100, 202 and
// 87, 250 and 99). Where they are not, each share of K has a block of its own, if blocks can add
// them up (4096 x 14336 with 64 tokens: 94 and 61, 132 and 62, 126 and 67; 4096 x 4096: 33 and 29,
// 33 and 26, 29 and 26). Unquantized weights leave registers for more columns.
//
// Instructions that read tokens in shared memory pay from 33 tokens on (28672 x 4096 of Q4_K, 64
// tokens: 88 us against 124; a whole 8B step of 32 tokens is 10 % slower by them). Words take 128
// columns where each program has all shares (us in tiles of 128 and 64 columns in a plan: 28672 x
// 4096 97 and 112, 128256 x 4096 358 and 429), and 64 where shares have blocks of their own (4096 x
// 14336: 82 and 76). Of tiles from the same number of tokens on, the last one that fits is taken.
struct TokenTile {
  int64_t leastTokens, rows, columns;
  enum Weights : uint8_t { Any, Words, Unquantized } weights = Any;
  bool reads = false; // by instructions that read tokens in shared memory
};
static constexpr TokenTile kTokenTiles[] = {{9, kManyTokens, 128},
                                            {17, 32, 128},
                                            {33, 32, 64, TokenTile::Words},
                                            {33, 64, 64, TokenTile::Words},
                                            {33, 64, 64, TokenTile::Words, true},
                                            {33, 64, 128, TokenTile::Words, true},
                                            {33, 64, 128, TokenTile::Unquantized},
                                            {33, 64, 128, TokenTile::Unquantized, true}};
static constexpr int64_t kEnoughPrograms = 192;

static bool isFor(const TokenTile &tile, bool words, bool reads) {
  return (reads || !tile.reads) &&
         (tile.weights == TokenTile::Any || (tile.weights == TokenTile::Words) == words);
}

// Whether instructions can read a step's tokens in shared memory: rows of whole 128 bytes.
static bool readsTokens(const kernels::Gemm &p, const TargetProfile &profile) {
  constexpr int64_t kReadTokens = 64;
  return profile.readsTokens && p.blockK % kReadTokens == 0;
}

static int64_t programCount(const TokenTile &tile, int64_t n) {
  return llvm::divideCeil(n, tile.columns) * llvm::divideCeil(tile.leastTokens, tile.rows);
}

// Whether each share of K should have a block of its own: nothing where programs are too few even
// so.
static std::optional<bool> sharesInBlocks(const TokenTile &tile, int64_t n, int64_t shares,
                                          int64_t programBlocks) {
  const int64_t programs = programCount(tile, n);
  if (programs >= kEnoughPrograms)
    return false;
  const bool can = shares <= programBlocks && tile.rows > kManyTokens && tile.rows % shares == 0;
  return can && programs * shares >= kEnoughPrograms ? std::optional(true) : std::nullopt;
}

static bool hasBlocks(const TokenGemm &tile) {
  return llvm::is_contained(llvm::make_first_range(tile.decided), sched::kShareBlocks);
}

std::vector<TokenGemm> tilesOfTokens(const kernels::Gemm &p, int64_t columns, int64_t multiple,
                                     const TargetProfile &profile) {
  constexpr int64_t kMostShares = 8;
  const BlockFormat *format = readsWords(p) ? blockFormatOf(p.b) : nullptr;
  if (!format && p.b.isBlock())
    return {};
  kernels::Gemm gemm = p;
  gemm.parts = gemm.partRows = 1;
  gemm.blockK = format ? sched::unitOfGroups(*format, p.blockK)
                       : sched::unitOfUnquantized(profile.unquantizedTile, p.blockK);
  gemm.shares = std::min(kMostShares,
                         static_cast<int64_t>(llvm::bit_floor<uint64_t>(p.blockK / gemm.blockK)));
  const int64_t whole = gemm.shares * gemm.blockK;
  if (gemm.shares == 1 || p.k % whole != 0 || p.blockK % whole != 0)
    return {};
  std::vector<TokenGemm> tiles;
  for (TokenTile tile : kTokenTiles) {
    if (columns)
      tile.columns = columns;
    const std::optional<bool> inBlocks =
        sharesInBlocks(tile, p.n, gemm.shares, profile.programBlocks);
    if (!isFor(tile, format != nullptr, readsTokens(gemm, profile)) || tile.rows <= p.blockM ||
        tile.columns % std::max<int64_t>(1, multiple) != 0 || tile.columns % kColumns != 0 ||
        !inBlocks)
      continue;
    gemm.blockM = tile.rows;
    gemm.blockN = tile.columns;
    if (!tiles.empty() && tiles.back().leastTokens == tile.leastTokens) {
      const bool wider = tile.columns > tiles.back().gemm.blockN;
      if (*inBlocks && (wider || !hasBlocks(tiles.back())))
        continue; // blocks wait for one another
      tiles.pop_back();
    }
    tiles.push_back({tile.leastTokens, gemm});
    if (*inBlocks)
      tiles.back().decided = {{std::string(sched::kShareBlocks), gemm.shares}};
    if (tile.reads)
      tiles.back().decided.emplace_back(sched::kReadingGroups, 1);
  }
  return tiles;
}

// Threads hold a step's weights as numbers, and of each row few sums (sched/simt/fold_sums.h): 8
// rows leave a thread of 64 weights room in 128 registers. A weight of Q4_K takes 10 operations of
// SPIR-V whatever the rows, and one or two more for each row.
static std::vector<TokenGemm> rowTilesOf(const kernels::Gemm &p) {
  constexpr std::pair<int64_t, int64_t> kLeastTokensOfTiles[] = {{2, 4}, {5, 8}};
  std::vector<TokenGemm> tiles = {{1, p}};
  if (p.blockM != 1)
    return tiles;
  for (auto [leastTokens, rowTiles] : kLeastTokensOfTiles) {
    tiles.push_back({leastTokens, p});
    tiles.back().gemm.rowTiles = rowTiles;
  }
  return tiles;
}

std::vector<TokenGemm> tilesByTokens(const kernels::Gemm &p, MBucket rows, bool shares,
                                     int64_t headColumns, int64_t multiple,
                                     const TargetProfile &profile) {
  if (profile.kind == TargetKind::Cpu)
    return {{1, p}};
  if (rows == MBucket::Prefill) {
    if (std::optional<TokenGemm> tile = tileOfShortPrompts(p, headColumns == 0, multiple, profile))
      return {std::move(*tile), {kShortPrompt + 1, p}};
    return {{1, p}};
  }
  if (!shares && !profile.sharesDepth)
    return rowTilesOf(p);
  if (!shares || (p.b.isBlock() && !readsWords(p)))
    return {{1, p}};
  std::vector<TokenGemm> tiles = tilesOfTokens(p, headColumns, multiple, profile);
  const int64_t more = p.blockM + 1;
  if (readsWords(p) && more <= kManyTokens && (tiles.empty() || tiles.front().leastTokens > more)) {
    kernels::Gemm many = p;
    many.blockM = kManyTokens;
    tiles.insert(tiles.begin(), {more, many});
  }
  tiles.insert(tiles.begin(), {1, p});
  return tiles;
}

bool shareDepth(kernels::Gemm &p, kernel::Element a, int64_t columns, int64_t parts,
                const MatmulPrecision &rules) {
  constexpr int64_t kManyColumns = 16 * 1024;
  const bool halves = !p.b.isBlock() && a == p.b && (a == kernel::F16 || a == kernel::BF16);
  const bool blocks = p.b.isBlock() && a == kernel::BF16 && rules.bfloatRows;
  // Where they are programs enough, 32 columns share what is read of activations (28672 x 4096 of
  // Q4_0 on an H100, 1, 16 and 64 tokens: 35, 37 and 142 us, with 16 columns 37, 53 and 198; F16
  // has less to compute and gains nothing).
  const bool words = blocks && readsWords(p);
  const bool wide = blocks && (!words || holdsTwice(*blockFormatOf(p.b))) && p.n >= kManyColumns;
  const sched::DepthTile &tile = words ? rules.wordsTile : rules.unquantizedTile;
  const int64_t usual =
      std::max((wide ? 2 : 1) * kColumns, std::min<int64_t>(2, parts) * tile.part);
  const int64_t width = columns ? std::max(columns, kColumns) : usual;
  if (!rules.sharesDepth || !(halves || blocks) || p.n <= 0 || p.k <= 0 ||
      p.n * p.k < kWeightsForShares || width > kMostColumns || width % (parts * tile.part) != 0 ||
      width % tile.columns != 0)
    return false;
  p.a = a;
  p.activation = blocks ? kernel::BF16 : p.activation;
  p.blockM = tile.tokens;
  p.blockN = width;
  const BlockFormat *format = blocks ? blockFormatOf(p.b) : nullptr;
  const int64_t unit = words ? sched::leastUnitOfGroups(*format) : sched::unitAlongK(format, tile);
  p.blockK =
      stepOfShares(p.k, mostOfStep(width, words, unit), unit, format ? format->blockLength : 1);
  p.parts = parts;
  return true;
}

// Whether columns of a launch's result share a scale.
static bool storesScales(graph::LaunchOp launch) {
  return llvm::any_of(launch.getResultTypes(), [](Type type) {
    return tile::activationFormatOf(getElementTypeOrSelf(type)) != nullptr;
  });
}

// How many columns of each other its program's tile has side by side; 1 where heads are rotated.
static int64_t partsOf(graph::LaunchOp launch) {
  if (launch.getHeadColumns())
    return 1;
  return std::max<int64_t>(1,
                           llvm::count_if(graph::inSlot(launch, graph::kEpilogue),
                                          [](Operation *op) { return isa<graph::SliceOp>(op); }));
}

bool shareDepth(kernels::Gemm &p, graph::LaunchOp launch, const MatmulPrecision &rules) {
  auto op = graph::mainOf<graph::DotGeneralOp>(launch);
  if (!op.isLinear() || op.getA().getType().getRank() != 2 ||
      (!graph::inSlot(launch, graph::kPrologue).empty() && !graph::normFromSquares(launch)))
    return false;
  const int64_t parts = partsOf(launch), columns = launch.getColumns().value_or(1);
  if (parts == 1)
    return shareDepth(p, elementIn(op.getA()), columns > 1 ? columns : 0, parts, rules);
  // A column map's vectors lie in the order of whole tiles, and so do columns that share a scale.
  kernels::Gemm shared = p;
  if (graph::columnMapOf(launch) || storesScales(launch) || columns % parts != 0 ||
      !shareDepth(shared, elementIn(op.getA()), 0, parts, rules))
    return false;
  shared.partRows = columns / parts;
  if (shared.partRows % (shared.blockN / parts) != 0)
    return false;
  p = shared;
  return true;
}

std::optional<kernels::Gemm> sharedGemm(graph::LaunchOp launch, const MatmulPrecision &rules) {
  auto op = graph::mainOf<graph::DotGeneralOp>(launch);
  kernels::Gemm p =
      chooseGemm(elementIn(op.getA()), elementIn(op.getB()), graph::columnsOf(op.getResult()),
                 graph::columnsOf(op.getA()), MBucket::One, rules);
  return shareDepth(p, launch, rules) ? std::optional(std::move(p)) : std::nullopt;
}

bool sharesDepth(graph::LaunchOp launch, const MatmulPrecision &rules) {
  return sharedGemm(launch, rules).has_value();
}

} // namespace sinter::engine
