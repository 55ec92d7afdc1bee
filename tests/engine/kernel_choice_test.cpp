// Block sizes: what every choice must keep, whatever the model's extents.
#include "engine/choice/attention.h"
#include "engine/choice/fusion.h"
#include "engine/choice/matmul.h"
#include "engine/choice/packing.h"
#include "engine/choice/rows.h"
#include "engine/kernel_set.h"
#include "engine/profiles.h"
#include "numeric/formats/dot_packing.h"
#include "numeric/formats/word_packing.h"
#include "sched/simt/opaque_dots.h"
#include "tile/mlir_pch.h"

#include <gtest/gtest.h>

namespace sinter::engine {
namespace {

// Hidden rows, odd ones, and one whose only group divisor is a group itself.
constexpr int64_t kColumns[] = {1, 32, 33, 64, 576, 960, 1024, 1184, 1536, 2048, 4099, 49152};

TEST(KernelChoice, ColumnStepsAreWholeGroupsOfTheActivationFormat) {
  for (int64_t columns : kColumns) {
    int64_t block = chooseNorm(columns, kernel::F32, cpuProfile()).blockColumns;
    EXPECT_EQ(block % 32, 0) << columns;
    EXPECT_GE(block, 32) << columns;
    EXPECT_LE(block, 1024) << columns;
  }
}

TEST(KernelChoice, ColumnStepsDivideRowsThatCanBeDivided) {
  for (int64_t columns : {32, 64, 576, 960, 1024, 1536, 2048, 49152})
    EXPECT_EQ(columns % chooseStream(columns, kernel::F32, cpuProfile()).blockColumns, 0)
        << columns;
}

TEST(KernelChoice, RowKernelsAgreeOnTheirSteps) {
  for (int64_t columns : kColumns) {
    int64_t block = chooseNorm(columns, kernel::block("q8a"), cpuProfile()).blockColumns;
    EXPECT_EQ(chooseStream(columns, kernel::block("q8a"), cpuProfile()).blockColumns, block);
    EXPECT_EQ(chooseEmbed(columns, kernel::F16, 1, cpuProfile()).blockColumns, block);
  }
}

TEST(KernelChoice, ColumnStepsAreWholeScales) {
  for (int64_t columns : {256, 512, 768, 2048, 2560, 2816, 3072, 8192}) {
    int64_t block = chooseNorm(columns, kernel::block("q8a_16_256"), cpuProfile()).blockColumns;
    EXPECT_EQ(block % 256, 0) << columns;
    EXPECT_EQ(columns % block, 0) << columns;
  }
}

TEST(KernelChoice, OneRowAndFewAndManySumInTheSameOrder) {
  auto many = chooseGemm(kernel::F32, kernel::F16, 576, 1536, MBucket::Prefill);
  EXPECT_GT(many.blockM, kSmallBucketRows);
  for (auto [bucket, rows] :
       {std::pair(MBucket::One, int64_t{1}), {MBucket::Small, kSmallBucketRows}}) {
    auto fewer = chooseGemm(kernel::F32, kernel::F16, 576, 1536, bucket);
    EXPECT_EQ(fewer.blockM, rows);
    EXPECT_EQ(fewer.blockK, 1536); // one run of addresses a group of columns
    fewer.blockM = many.blockM;
    fewer.blockN = many.blockN; // sums run along K alone
    fewer.blockK = many.blockK; // and ascend in steps of any length
    EXPECT_EQ(kernelParameters(fewer), kernelParameters(many));
  }
}

TEST(KernelChoice, ProductsReadPackedRowsAndStepOverWholeBlocks) {
  auto p = chooseGemm(kernel::block("q8a"), kernel::block("q4_1"), 576, 1536, MBucket::Prefill);
  EXPECT_EQ(p.interleave, kInterleavedRows);
  EXPECT_TRUE(p.transposeB);
  EXPECT_EQ(p.blockN % p.interleave, 0);
  EXPECT_EQ(p.blockK % 256, 0); // the longest block of the format table
}

TEST(KernelChoice, RowsOfPromptsAreOneTileWhereColumnsAreProgramsEnough) {
  auto rowsOf = [](int64_t n, int64_t blockN, MBucket rows) {
    auto p = chooseGemm(kernel::block("q8a_16"), kernel::block("q6_k"), n, 2048, rows);
    p.blockN = blockN;
    joinRows(p);
    return p.blockM;
  };
  EXPECT_GE(rowsOf(2048, 64, MBucket::Prefill), 512);
  EXPECT_LT(rowsOf(2048, 128, MBucket::Prefill), 512);
  EXPECT_LT(rowsOf(1984, 64, MBucket::Prefill), 512);
  EXPECT_EQ(rowsOf(1 << 17, 64, MBucket::One), 1);
  auto plain = chooseGemm(kernel::F32, kernel::F16, 1 << 17, 2048, MBucket::Prefill);
  const int64_t before = plain.blockM;
  joinRows(plain);
  EXPECT_EQ(plain.blockM, before);
}

TEST(KernelChoice, ProductsAreCutIntoWholeTilesOfPanels) {
  for (int64_t n : {192, 576, 960, 1024, 1536, 3072, 49152}) {
    auto p = chooseGemm(kernel::F32, kernel::F16, n, 576, MBucket::Prefill);
    EXPECT_EQ(n % p.blockN, 0) << n;
    EXPECT_EQ(p.blockN % 64, 0) << n;
  }
  EXPECT_EQ(1536 / chooseGemm(kernel::F32, kernel::F16, 1536, 576, MBucket::Prefill).blockN % 2, 0);
}

TEST(KernelChoice, TilesThatCopyTheirRowsHaveSeveralPartsOfASink) {
  auto columnsOf = [](kernel::Element a, kernel::Element b, int64_t n, MBucket rows,
                      const TargetProfile &profile = cpuProfile(), int64_t part = 64) {
    auto p = chooseGemm(a, b, n, 576, rows, choosePrecision(profile, Activations::Fastest));
    return columnsInParts(p, part, profile);
  };
  EXPECT_EQ(columnsOf(kernel::F32, kernel::F16, 3072, MBucket::Prefill), 384);
  EXPECT_EQ(columnsOf(kernel::F32, kernel::F16, 16384, MBucket::Prefill), 256); // evenly
  EXPECT_EQ(columnsOf(kernel::F32, kernel::F16, 3072, MBucket::Prefill, cpuProfile(), 512), 512);
  EXPECT_EQ(columnsOf(kernel::F32, kernel::F16, 3072, MBucket::Small), 128);
  EXPECT_EQ(columnsOf(kernel::F32, kernel::F16, 3072, MBucket::One), 64);
  EXPECT_EQ(columnsOf(kernel::F32, kernel::F16, 3072, MBucket::Prefill, simtProfile()), 64);
  EXPECT_EQ(columnsOf(kernel::block("q8a"), kernel::block("q4_1"), 3072, MBucket::Prefill), 64);
}

TEST(KernelChoice, AttentionOfOneRowWalksTheSamePages) {
  AttentionShape shape{3, 2, 64, 48};
  auto many = chooseAttention(shape, kernel::F32, 16, MBucket::Prefill, cpuProfile());
  auto one = chooseAttention(shape, kernel::F32, 16, MBucket::One, cpuProfile());
  EXPECT_EQ(many.queryTile, 16);
  EXPECT_EQ(one.queryTile, 1);
  one.queryTile = many.queryTile;
  EXPECT_EQ(kernelParameters(one), kernelParameters(many));
}

TEST(KernelChoice, TasksMultiplyPairsOfBfloatsWhereAHeadAndAPageHaveWholeOnes) {
  auto computeOf = [](AttentionShape shape, const TargetProfile &profile, MBucket rows,
                      bool mayRound = true) {
    return chooseAttention(shape, kernel::F32, 16, rows, profile, mayRound).compute;
  };
  const TargetProfile pairs = bfloatProfile();
  for (MBucket rows : {MBucket::Prefill, MBucket::One}) {
    EXPECT_EQ(computeOf({3, 2, 64, 64}, pairs, rows), kernel::BF16);
    EXPECT_EQ(computeOf({3, 2, 64, 64}, pairs, rows, false), kernel::F32) << "all else is exact";
    EXPECT_EQ(computeOf({3, 2, 64, 64}, cpuProfile(), rows), kernel::F32) << "no such product";
    EXPECT_EQ(computeOf({3, 2, 80, 64}, pairs, rows), kernel::F32) << "heads";
    EXPECT_EQ(computeOf({3, 2, 64, 48}, pairs, rows), kernel::F32) << "pages";
    EXPECT_EQ(computeOf({3, 2, 64, 64}, simtProfile(), rows), kernel::F16);
  }
}

// Where rows have the same bits in any batch, all of them join the same spans of keys.
TEST(KernelChoice, TasksJoinSpansOfKeysWhetherTheyAreSummedUpTogetherOrApart) {
  AttentionShape shape{3, 2, 64, 48};
  auto many = chooseAttention(shape, kernel::F32, 16, MBucket::Prefill, cpuProfile());
  auto one = chooseAttention(shape, kernel::F32, 16, MBucket::One, cpuProfile());
  EXPECT_GT(many.partitionSteps, 0);
  EXPECT_EQ(many.partitionSteps, one.partitionSteps);
  EXPECT_EQ(partitioned(one).partitionSteps, one.partitionSteps);
}

// Others would sum up in another order than the whole step, or in no whole registers.
TEST(KernelChoice, TasksTakeHalfStepsOfPowersOfTwo) {
  auto shortStep = [](int64_t pageRows, MBucket rows, int64_t bfloatDepth = 0) {
    AttentionShape shape{3, 2, 64, pageRows};
    const TargetProfile profile = bfloatDepth ? bfloatProfile(bfloatDepth) : cpuProfile();
    return chooseAttention(shape, kernel::F32, 16, rows, profile, true).shortStep;
  };
  EXPECT_EQ(shortStep(64, MBucket::Prefill), 32);
  EXPECT_EQ(shortStep(128, MBucket::Prefill, 32), 64);
  EXPECT_EQ(shortStep(64, MBucket::Prefill, 64), 0) << "half has no whole pairs";
  for (int64_t pageRows : {16, 32, 48, 96, 192, 320})
    EXPECT_EQ(shortStep(pageRows, MBucket::Prefill), 0) << pageRows;
  EXPECT_EQ(shortStep(64, MBucket::One), 0);
  AttentionShape shape{3, 2, 64, 64};
  EXPECT_EQ(chooseAttention(shape, kernel::F32, 16, MBucket::Prefill, simtProfile()).shortStep, 0);
}

TEST(KernelChoice, OnThreadsOnlySpansSummedUpApartAreJoined) {
  for (int64_t headDim : {64, 80, 128})
    for (MBucket rows : {MBucket::Prefill, MBucket::One}) {
      AttentionShape shape{3, 2, headDim, 64};
      auto p = chooseAttention(shape, kernel::F32, 42, rows, simtProfile(200 * 1024));
      EXPECT_EQ(p.partitionSteps, 0);
      EXPECT_EQ(kernels::partitionKeys(partitioned(p)) % kernels::stepKeys(p), 0);
      EXPECT_GE(kernels::partitionKeys(partitioned(p)), kPartitionKeys);
    }
}

TEST(KernelChoice, RotationsTakePairsOfAHead) {
  EXPECT_EQ(chooseRopeTable(32, cpuProfile()).pairs, 32);
  EXPECT_EQ(chooseRopeTable(32, simtProfile()).blockRows, 1);
  auto p = chooseRope(9, 32, 0, true, true, cpuProfile());
  EXPECT_EQ(p.heads, 9);
  EXPECT_EQ(p.pairs, 32);
  EXPECT_TRUE(p.halves);
  EXPECT_TRUE(p.inPlace);
  EXPECT_EQ(chooseRope(36, 32, 0, true, true, cpuProfile()).blockHeads, 4);
  EXPECT_EQ(chooseRope(36, 32, 0, true, true, simtProfile()).blockHeads, 1);
}

// ---- thread blocks ----

TEST(KernelChoice, BlocksOfThreadsHoldWholeRows) {
  for (int64_t columns : {32, 64, 576, 960, 1536, 4096, 8192}) {
    EXPECT_EQ(chooseNorm(columns, kernel::F32, simtProfile()).blockColumns, columns);
    EXPECT_EQ(chooseStream(columns, kernel::F32, simtProfile()).blockColumns, columns);
    EXPECT_EQ(chooseEmbed(columns, kernel::F32, 1, simtProfile()).blockColumns, columns);
  }
  EXPECT_LE(chooseNorm(49152, kernel::F32, simtProfile()).blockColumns, 8192);
}

// 8 elements a thread, of whole subgroups, in a power of two that the processor has.
TEST(KernelChoice, ThreadsOfANormHaveFewElements) {
  TargetProfile profile = simtProfile();
  const auto threadsOf = [&](int64_t columns) -> int64_t {
    const Freedom::Decisions decided = freedomOfNorm(columns, profile).decided;
    return decided.empty() ? 0 : decided.at(0).second;
  };
  profile.threads = 1024;
  EXPECT_EQ(threadsOf(576), 128);
  EXPECT_EQ(threadsOf(4096), 512);
  EXPECT_EQ(threadsOf(8192), 512);
  EXPECT_EQ(threadsOf(128), 0) << "one subgroup";
  profile.threads = 384;
  EXPECT_EQ(threadsOf(4096), 256);
  EXPECT_TRUE(freedomOfNorm(4096, cpuProfile()).decided.empty());
}

TEST(KernelChoice, OneRowOnThreadsDiffersFromManyInItsBlocksAndUnroundedActivations) {
  for (kernel::Element weight : {kernel::F16, kernel::block("q8_0")}) {
    auto choose = [&](MBucket rows) {
      return chooseGemm(kernel::F32, weight, 576, 1536, rows, {TargetKind::Simt});
    };
    auto many = choose(MBucket::Prefill), one = choose(MBucket::One);
    EXPECT_EQ(one.blockM, 1);
    EXPECT_GT(many.blockM, 1);
    EXPECT_EQ(one.activation, kernel::F32);
    one.activation = many.activation;
    one.blockM = many.blockM;
    one.blockN = many.blockN;
    one.blockK = many.blockK;
    EXPECT_EQ(kernelParameters(one), kernelParameters(many));
  }
}

TEST(KernelChoice, RowsThatMayNotBeRoundedMeetDecodedWeightsInAnyNumber) {
  for (TargetKind kind : {TargetKind::Cpu, TargetKind::Simt})
    for (MBucket rows : {MBucket::One, MBucket::Prefill}) {
      auto p =
          chooseGemm(kernel::F32, kernel::block("q8_0"), 576, 1536, rows, {kind, Activations::F32});
      EXPECT_EQ(p.activation, kernel::F32);
      EXPECT_EQ(p.interleave, kind == TargetKind::Cpu ? 0 : 16);
    }
}

TEST(KernelChoice, DecodedBlocksBesideWideTilesFitIntoWhatAProgramShares) {
  constexpr int64_t kShared = 32 * 1024;
  for (int64_t columns : {64, 128, 192}) {
    auto p = chooseGemm(kernel::F32, kernel::block("q8_0"), columns, 1536, MBucket::Prefill,
                        {TargetKind::Simt, Activations::F32});
    p.blockN = columns;
    fitStep(p, kShared);
    EXPECT_LE((p.blockM + p.blockN) * (p.blockK + p.blockK / 16) * 4, kShared) << columns;
    EXPECT_EQ(p.blockK % 32, 0);
    EXPECT_GE(p.blockM, 8);
  }
}

// Gate and up of an 8B model took 4096 of K at once, 512 numbers a thread.
TEST(KernelChoice, OneRowOverThreadsTakesNoMoreOfItsWeightsThanRegistersHold) {
  constexpr int64_t kThreads = 512, kNumbers = 80;
  for (kernel::Element weights : {kernel::block("q8_0"), kernel::F16})
    for (int64_t k : {576, 1536, 4096, 14336})
      for (int64_t columns : {8, 16, 64, 128}) {
        auto p = chooseGemm(kernel::F32, weights, 28672, k, MBucket::One, {TargetKind::Simt});
        p.blockN = columns;
        fitStep(p, kLeastSharedBytes);
        EXPECT_LE(p.blockN * p.blockK, kThreads * kNumbers) << columns << " x " << k;
        EXPECT_EQ(p.k % p.blockK, 0) << columns << " x " << k;
      }
}

TEST(KernelChoice, TilesOfPromptsAreLargerWhereWeightsAreManyAndSharedMemoryHoldsThem) {
  constexpr int64_t kMuch = 227 * 1024, kLittle = 163 * 1024;
  auto tileOf = [](kernel::Element a, kernel::Element b, int64_t n, int64_t shared,
                   MBucket rows = MBucket::Prefill, int64_t ofStore = 0, bool any = true) {
    auto p = chooseGemm(a, b, n, 4096, rows, {.kind = TargetKind::Simt, .bfloatRows = true});
    p.epilogueStore.columns = ofStore;
    growTile(p, shared, any);
    return std::pair(p.blockM, p.blockN);
  };
  const kernel::Element f16 = kernel::F16, bf16 = kernel::BF16, q8 = kernel::block("q8_0");
  EXPECT_EQ(tileOf(f16, f16, 4096, kMuch), std::pair(int64_t{128}, int64_t{128}));
  EXPECT_EQ(tileOf(f16, f16, 576, kMuch), std::pair(int64_t{64}, int64_t{64}));
  EXPECT_EQ(tileOf(f16, f16, 4096, kLittle), std::pair(int64_t{64}, int64_t{64}));
  EXPECT_EQ(tileOf(f16, f16, 4096, kMuch, MBucket::One), std::pair(int64_t{1}, int64_t{8}));
  EXPECT_EQ(tileOf(bf16, q8, 4096, kMuch), std::pair(int64_t{256}, int64_t{64}));
  EXPECT_EQ(tileOf(bf16, q8, 1024, kMuch), std::pair(int64_t{64}, int64_t{64}));
  // Heads take a tile's columns as they are, other sinks whole parts of it.
  EXPECT_EQ(tileOf(f16, f16, 6144, kMuch, MBucket::Prefill, 0, false).second, 64);
  EXPECT_EQ(tileOf(f16, f16, 6144, kMuch, MBucket::Prefill, 64).second, 128);
  EXPECT_EQ(tileOf(f16, f16, 6144, kMuch, MBucket::Prefill, 96).second, 64);
}

TEST(KernelChoice, ATileOfManyColumnsHasALongSideWhereInstructionsReadSharedMemory) {
  auto tileOf = [](kernel::Element a, kernel::Element b, int64_t n, bool any = true) {
    auto p =
        chooseGemm(a, b, n, 4096, MBucket::Prefill, {.kind = TargetKind::Simt, .bfloatRows = true});
    growTile(p, 227 * 1024, any, /*readsShared=*/true);
    return std::pair(p.blockM, p.blockN);
  };
  using Tile = std::pair<int64_t, int64_t>;
  const kernel::Element f16 = kernel::F16, bf16 = kernel::BF16, q8 = kernel::block("q8_0");
  EXPECT_EQ(tileOf(bf16, q8, 4096), Tile(128, 128));
  EXPECT_EQ(tileOf(bf16, q8, 28672), Tile(256, 128)) << "dequantized for more rows";
  EXPECT_EQ(tileOf(f16, f16, 4096), Tile(128, 128));
  EXPECT_EQ(tileOf(f16, f16, 28672), Tile(128, 256));
  EXPECT_EQ(tileOf(f16, f16, 6144, false), Tile(256, 64)) << "heads keep their columns";
  EXPECT_EQ(tileOf(bf16, q8, 1024), Tile(64, 64)) << "few weights";
}

TEST(KernelChoice, ATileOfOpaqueAccumulatorsLeavesProgramsEnoughAndFitsSharedMemory) {
  constexpr int64_t kSmall = 48 * 1024;
  auto tileOf = [](kernel::Element b, int64_t n, int64_t shared, bool any = true) {
    TargetProfile profile = simtProfile(shared);
    profile.besideQuantized = targets::ActivationPrecision::BF16;
    for (sched::MatrixElement element : {sched::MatrixElement::F16, sched::MatrixElement::BF16})
      profile.matrixInstructions.push_back({element, 16, 16, 16, 32, false, true});
    const kernel::Element a = b.isBlock() ? kernel::BF16 : b;
    auto p =
        chooseGemm(a, b, n, 4096, MBucket::Prefill, choosePrecision(profile, Activations::Fastest));
    finishTile(p, any, profile);
    // Of long blocks the schedule takes parts.
    const int64_t step = b.isBlock() ? std::min<int64_t>(32, p.blockK) : p.blockK;
    EXPECT_LE(sched::opaqueSharedBytes(p.blockM, p.blockN, step), shared);
    return std::pair(p.blockM, p.blockN);
  };
  using Tile = std::pair<int64_t, int64_t>;
  for (kernel::Element b : {kernel::F16, kernel::block("q8_0"), kernel::block("q4_k")}) {
    EXPECT_EQ(tileOf(b, 28672, kSmall), Tile(128, 128));
    EXPECT_EQ(tileOf(b, 4096, kSmall), Tile(128, 64));
    EXPECT_EQ(tileOf(b, 1024, kSmall), Tile(64, 64)) << "few columns";
    EXPECT_EQ(tileOf(b, 28672, 32 * 1024), Tile(128, 64));
    EXPECT_EQ(tileOf(b, 28672, kSmall, false), Tile(128, 64)) << "heads keep their columns";
    EXPECT_LE(tileOf(b, 28672, kLeastSharedBytes).first, 64);
  }
}

// The tile of short prompts of a matmul on a processor that multiplies 64 x n tiles, from shared
// memory if `shared`.
std::optional<TokenGemm> shortTile(kernel::Element b, int64_t n, int64_t ofStore = 0,
                                   bool any = true, bool shared = true, int64_t multiple = 1) {
  TargetProfile profile = simtProfile(227 * 1024);
  profile.matrixInstructions = {{sched::MatrixElement::BF16, 64, 128, 16, 128, shared}};
  const kernel::Element a = b.isBlock() ? kernel::BF16 : b;
  auto p =
      chooseGemm(a, b, n, 4096, MBucket::Prefill, {.kind = TargetKind::Simt, .bfloatRows = true});
  p.epilogueStore.columns = ofStore;
  growTile(p, profile.sharedBytes, any, shared);
  return tileOfShortPrompts(p, any, multiple, profile);
}

using Decided = Freedom::Decisions;

TEST(KernelChoice, ShortPromptsHaveFewerRowsThatRunFurtherAhead) {
  const auto blocks = shortTile(kernel::block("q4_k"), 28672, 0, true, /*shared=*/false);
  ASSERT_TRUE(blocks);
  EXPECT_EQ(std::pair(blocks->gemm.blockM, blocks->gemm.blockN),
            std::pair(int64_t{64}, int64_t{64}));
  EXPECT_EQ(blocks->gemm.blockK, 256) << "steps of the same sums";
  EXPECT_EQ(blocks->decided, (Decided{{"steps_ahead", 4}}));
  const auto halves = shortTile(kernel::F16, 4096, 0, true, false);
  ASSERT_TRUE(halves);
  EXPECT_EQ(halves->decided, (Decided{{"stages", 8}}));
  EXPECT_FALSE(shortTile(kernel::F16, 576, 0, true, false)) << "has as few rows";
}

TEST(KernelChoice, ShortPromptsHaveColumnsForEnoughProgramsFromSharedMemory) {
  for (kernel::Element b : {kernel::F16, kernel::block("q4_k"), kernel::block("q8_0")}) {
    auto columnsOf = [&](int64_t n) { return shortTile(b, n)->gemm.blockN; };
    EXPECT_EQ(columnsOf(28672), 64);
    EXPECT_EQ(columnsOf(6144), 32);
    EXPECT_EQ(columnsOf(4096), 32);
    EXPECT_EQ(columnsOf(1024), 16);
    EXPECT_EQ(shortTile(b, 4096, 0, true, true, 64)->gemm.blockN, 64) << "whole multiples";
    EXPECT_EQ(shortTile(b, 28672, 0, false)->gemm.blockN, 64) << "a head's";
    EXPECT_FALSE(shortTile(b, 256)) << "has few weights";
  }
  EXPECT_EQ(shortTile(kernel::F16, 28672, 128)->gemm.blockN, 256)
      << "the store takes 128 columns at once";
}

// Two programs fit a multiprocessor where there are more than multiprocessors.
TEST(KernelChoice, ShortPromptsRunAheadAsFarAsSharedMemoryAllows) {
  EXPECT_EQ(shortTile(kernel::F16, 4096)->decided, (Decided{{"threads", 128}, {"stages", 12}}));
  EXPECT_EQ(shortTile(kernel::F16, 6144)->decided, (Decided{{"threads", 128}, {"stages", 9}}));
  EXPECT_EQ(shortTile(kernel::F16, 28672)->decided, (Decided{{"threads", 128}, {"stages", 6}}));
  EXPECT_EQ(shortTile(kernel::block("q4_k"), 4096)->decided,
            (Decided{{"threads", 128}, {"stages", 8}, {"steps_ahead", 8}}));
}

// Of SmolLM2 gate and up, of 8B models queries, keys and values, and the output matrix.
TEST(KernelChoice, BlocksOfQueriesFillTheRowsOfProductsFromRings) {
  EXPECT_EQ(chooseQueryTile(1, 128), 128);
  EXPECT_EQ(chooseQueryTile(3, 128), 42);
  EXPECT_EQ(chooseQueryTile(8, 128), 16);
  EXPECT_EQ(chooseQueryTile(200, 128), 1);
  EXPECT_EQ(chooseQueryTile(3, 0), 16);
  EXPECT_EQ(chooseQueryTile(8, 0), 16);
}

// A program holds the rows of all heads that share keys.
TEST(KernelChoice, QueryTilesOfManyHeadsAreShort) {
  EXPECT_EQ(chooseQueryTile(16, 0), 8);
  EXPECT_EQ(chooseQueryTile(48, 0), 2);
  EXPECT_EQ(chooseQueryTile(71, 0), 1);
  EXPECT_EQ(chooseQueryTile(200, 0), 1);
}

TEST(KernelChoice, PagesAreShortForPipelinesAndLongWhereEachIsAWait) {
  EXPECT_EQ(choosePageRows(128, simtProfile(227 * 1024)), 64);
  EXPECT_EQ(choosePageRows(0, simtProfile(163 * 1024)), 256);
  EXPECT_EQ(choosePageRows(0, simtProfile(48 * 1024)), 64);
  EXPECT_EQ(choosePageRows(0, cpuProfile()), 64);
}

TEST(KernelChoice, RowsAreBackToBackWhereAnInstructionReadsSharedMemory) {
  TargetProfile profile = simtProfile();
  const BlockFormat &f16 = blockFormat(TensorType::F16), &q8 = blockFormat(TensorType::Q8_0);
  profile.matrixInstructions = {{sched::MatrixElement::F16, 16, 8, 16, 32}};
  EXPECT_EQ(backToBackRows(64, f16, profile), 0);
  profile.matrixInstructions.push_back({sched::MatrixElement::F16, 64, 128, 16, 128, true});
  EXPECT_EQ(backToBackRows(64, f16, profile), 128);
  EXPECT_EQ(backToBackRows(128, f16, profile), 128);
  EXPECT_EQ(backToBackRows(256, f16, profile), 0) << "accumulators";
  EXPECT_EQ(backToBackRows(72, f16, profile), 0) << "steps";
  EXPECT_EQ(backToBackRows(64, q8, profile), 0) << "quantized";
}

TEST(KernelChoice, GeneratedRowsTakeSeveralPagesOnThreadsWithRoom) {
  auto choose = [](AttentionShape shape, MBucket rows, int64_t sharedBytes) {
    return chooseAttention(shape, kernel::F32, 42, rows, simtProfile(sharedBytes)).stepPages;
  };
  EXPECT_EQ(choose({3, 3, 64, 64}, MBucket::One, 227 * 1024), 4);
  EXPECT_EQ(choose({8, 4, 128, 64}, MBucket::One, 227 * 1024), 2);
  EXPECT_EQ(choose({8, 4, 256, 256}, MBucket::One, 227 * 1024), 1);
  EXPECT_EQ(choose({3, 3, 64, 64}, MBucket::One, 48 * 1024), 1);
  EXPECT_EQ(choose({3, 3, 64, 64}, MBucket::Prefill, 227 * 1024), 1);
}

// ---- from profiles ----

TEST(KernelChoice, PrecisionFollowsTheProfileAsFarAsRoundingIsAllowed) {
  TargetProfile profile = simtProfile();
  EXPECT_FALSE(choosePrecision(profile, Activations::Fastest).bfloatRows);
  EXPECT_TRUE(choosePrecision(profile, Activations::Fastest).weightTypeRows);
  profile.besideQuantized = targets::ActivationPrecision::BF16;
  EXPECT_TRUE(choosePrecision(profile, Activations::Fastest).bfloatRows);
  EXPECT_FALSE(choosePrecision(profile, Activations::F32).bfloatRows);
  EXPECT_FALSE(choosePrecision(profile, Activations::F32).weightTypeRows);
  EXPECT_FALSE(choosePrecision(cpuProfile(), Activations::Fastest).weightTypeRows);
}

TEST(KernelChoice, WeightsThatBothPhasesDequantizeLieInWords) {
  TargetProfile profile = simtProfile();
  auto rowsOf = [&](const char *format, int64_t weights, Activations activations) {
    return interleavedRows(kernel::block(format), weights, choosePrecision(profile, activations));
  };
  EXPECT_EQ(rowsOf("q4_k", kWeightsForShares, Activations::Fastest), 1);
  profile.besideQuantized = targets::ActivationPrecision::BF16;
  for (const char *format : {"q4_k", "q6_k", "q8_0", "mxfp4"})
    EXPECT_EQ(rowsOf(format, kWeightsForShares, Activations::Fastest), kWordRows) << format;
  EXPECT_EQ(rowsOf("q8_0", kWeightsForShares - 1, Activations::Fastest), kInterleavedRows);
  EXPECT_EQ(rowsOf("q8_0", kWeightsForShares, Activations::F32), kInterleavedRows);
}

TEST(KernelChoice, ATasksScaleIsAsLongAsItsAccumulators) {
  EXPECT_EQ(choosePrecision(cpuProfile(), Activations::Fastest).scaleLength, 24 * 16);
  EXPECT_EQ(choosePrecision(simtProfile(), Activations::Fastest).scaleLength, 0);
}

TEST(KernelChoice, ATileFitsIntoWhatTheProfileShares) {
  auto stepOf = [](const TargetProfile &profile) {
    auto p = chooseGemm(kernel::F32, kernel::F32, 576, 1536, MBucket::Prefill,
                        choosePrecision(profile, Activations::Fastest));
    finishTile(p, true, profile);
    return p.blockK;
  };
  EXPECT_EQ(stepOf(simtProfile(64 * 1024)), 64);
  EXPECT_EQ(stepOf(simtProfile(32 * 1024)), 32);
  EXPECT_EQ(stepOf(simtProfile(kLeastSharedBytes)), 16);
  EXPECT_EQ(stepOf(simtProfile(0)), 16) << "no GPU shares less";
}

TEST(KernelChoice, OnlySimtTargetsHavePhasesOfTheirOwn) {
  EXPECT_FALSE(fuseOptions(cpuProfile()).twoPhases);
  EXPECT_TRUE(fuseOptions(simtProfile()).twoPhases);
  EXPECT_NE(fuseOptions(cpuProfile()).joinsHeads, fuseOptions(simtProfile()).joinsHeads);
}

TEST(KernelChoice, ThreadsMultiplyACacheInBfloatInBfloatOrInF32) {
  targets::TargetProfile profile = simtProfile();
  const AttentionShape bfloats{.kvHeads = 1, .headDim = 64, .cache = kernel::BF16};
  const AttentionShape bytes{.kvHeads = 1, .headDim = 64, .cache = kernel::F8E4M3};
  auto compute = [&](const AttentionShape &shape) {
    return chooseAttention(shape, kernel::F32, 16, MBucket::One, profile).compute;
  };
  EXPECT_EQ(compute(bfloats), kernel::F32);
  profile.matrixInstructions = {{sched::MatrixElement::BF16, 16, 8, 16, 32}};
  EXPECT_EQ(compute(bfloats), kernel::BF16);
  EXPECT_EQ(compute(bytes), kernel::F16);
}

TEST(KernelChoice, InstructionsReadWhatLiesInTheCacheOrNothing) {
  targets::TargetProfile profile = simtProfile();
  profile.matrixInstructions = {{sched::MatrixElement::F16, 64, 64, 16, 128, true},
                                {sched::MatrixElement::BF16, 64, 64, 16, 128, true}};
  for (TensorType type : {TensorType::F16, TensorType::BF16})
    EXPECT_EQ(backToBackRows(128, blockFormat(type), profile), 128);
  for (TensorType type : {TensorType::Q8_0, TensorType::FP8})
    EXPECT_EQ(backToBackRows(128, blockFormat(type), profile), 0);
}

} // namespace
} // namespace sinter::engine
