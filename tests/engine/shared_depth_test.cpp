// Decode matmuls whose subgroups share K: which there are, and what they read.
#include "engine/choice/fusion.h"
#include "engine/choice/matmul.h"
#include "engine/choice/shared_depth.h"
#include "engine/graph_text.h"
#include "engine/lowering.h"
#include "engine/profiles.h"
#include "graph/fuse/launch.h"
#include "tile/mlir_pch.h"

#include <array>
#include <gmock/gmock.h>

namespace sinter::engine {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// ---- by numbers ----

// The instructions of NVIDIA's processors.
constexpr sched::DepthTile kUnquantizedTile = {16, 8, 8, 2, 2}, kWordsTile = {8, 16, 8, 2, 2};

constexpr MatmulPrecision kSharing = {.kind = TargetKind::Simt,
                                      .bfloatRows = true,
                                      .sharesDepth = true,
                                      .unquantizedTile = kUnquantizedTile,
                                      .wordsTile = kWordsTile};

// Those of an instruction of 16 tokens and 16 columns, all of which lanes have.
MatmulPrecision sharingSquares() {
  MatmulPrecision rules = kSharing;
  rules.unquantizedTile = rules.wordsTile = {16, 16, 16, 2, 2};
  return rules;
}

kernels::Gemm shared(kernel::Element weights, int64_t n, int64_t k, int64_t columns = 0,
                     MatmulPrecision rules = kSharing) {
  auto p = chooseGemm(kernel::F32, weights, n, k, MBucket::One, rules);
  if (!shareDepth(p, weights.isBlock() ? kernel::BF16 : weights, columns, 1, rules))
    p.blockM = 0;
  return p;
}

TEST(SharedDepth, StepsAreWholeSharesOfManyExtents) {
  for (kernel::Element weights :
       {kernel::F16, kernel::block("q8_0"), kernel::block("q4_0"), kernel::block("q4_k")})
    for (int64_t k : {2048, 3072, 4096, 5120, 8192, 14336, 28672})
      for (int64_t columns : {0, 16, 32, 64}) {
        auto p = shared(weights, 28672, k, columns);
        EXPECT_EQ(p.blockM, weights.isBlock() ? 8 : 16);
        EXPECT_EQ(k % p.blockK, 0) << k;
        EXPECT_EQ(p.blockK % 256, 0) << k;
        EXPECT_LE(p.blockN * p.blockK, weights.isBlock() ? 32768 : 16384) << k;
      }
}

TEST(SharedDepth, DependsOnWeightsAlone) {
  EXPECT_EQ(shared(kernel::F16, 576, 1536).blockM, 0) << "they lie in the cache";
  EXPECT_EQ(shared(kernel::F32, 28672, 4096).blockM, 0) << "no instruction takes them";
  EXPECT_EQ(shared(kernel::F16, 28672, 4096, 128).blockM, 0) << "too many sums for a thread";
  EXPECT_EQ(shared(kernel::F16, 28672, 4096, 0, {TargetKind::Simt}).blockM, 0) << "another target";
  EXPECT_EQ(shared(kernel::block("q8_0"), 28672, 4096).activation, kernel::BF16);
}

TEST(SharedDepth, StepsOfOddExtentsWasteAQuarterAtMost) {
  for (int64_t k : {576, 896, 960, 1184, 2880, 4864}) {
    auto p = shared(kernel::block("q8_0"), 49152, k);
    EXPECT_GE(p.blockK, 32) << k;
    EXPECT_TRUE(k % p.blockK == 0 || p.blockK == 1024) << k << " " << p.blockK;
  }
}

TEST(SharedDepth, ReadsWordsOfMatricesThatManyProgramsRead) {
  auto interleave = [](const char *format, int64_t n, MatmulPrecision rules) {
    return chooseGemm(kernel::F32, kernel::block(format), n, 2048, MBucket::One, rules).interleave;
  };
  EXPECT_EQ(interleave("q4_0", 1024, kSharing), 8);
  EXPECT_EQ(interleave("q4_0", 512, kSharing), 16) << "they lie in the cache";
  EXPECT_EQ(interleave("q4_k", 512, kSharing), 8) << "there is no other packing";
  EXPECT_EQ(interleave("iq2_xxs", 1024, kSharing), 0) << "codes of several elements";
  EXPECT_EQ(interleave("q4_0", 1024, {TargetKind::Simt}), 16);
  EXPECT_EQ(interleave("q4_k", 1024, {TargetKind::Simt}), 0);
}

TEST(SharedDepth, TakesWholeInstructions) {
  const MatmulPrecision squares = sharingSquares();
  auto parts = [&](int64_t count) {
    auto p = chooseGemm(kernel::F32, kernel::block("q6_k"), 28672, 4096, MBucket::One, squares);
    return shareDepth(p, kernel::BF16, 0, count, squares) ? p.blockN : 0;
  };
  for (kernel::Element weights : {kernel::F16, kernel::block("q8_0")})
    EXPECT_EQ(shared(weights, 28672, 4096, 0, squares).blockM, 16);
  EXPECT_EQ(parts(1), 16);
  EXPECT_EQ(parts(2), 32) << "a part's columns are one instruction's";
}

// Its target, whose programs have at most so many blocks.
TargetProfile sharingTarget(int64_t programBlocks, bool readsTokens = false) {
  TargetProfile profile;
  profile.unquantizedTile = kUnquantizedTile;
  profile.programBlocks = programBlocks;
  profile.readsTokens = readsTokens;
  return profile;
}

// (tokens from which on, tile, blocks that share K) of such weights.
std::vector<std::array<int64_t, 4>> tilesOf(kernel::Element weights, int64_t n, int64_t k,
                                            int64_t columns = 0, int64_t multiple = 1,
                                            const MatmulPrecision &rules = kSharing,
                                            int64_t programBlocks = 1) {
  std::vector<std::array<int64_t, 4>> tiles;
  for (const TokenGemm &tile : tilesOfTokens(shared(weights, n, k, columns, rules), columns,
                                             multiple, sharingTarget(programBlocks)))
    tiles.push_back({tile.leastTokens, tile.gemm.blockM, tile.gemm.blockN,
                     tile.decided.empty() ? 1 : tile.decided.front().second});
  return tiles;
}

// Sums in another order, or another schedule, would change bits: these differ in their rows alone.
TEST(SharedDepth, TakesRowsSideBySideWhereNoInstructionMultipliesThem) {
  const TargetProfile profile = simtProfile();
  for (const char *format : {"q4_k", "q8_0"}) {
    const kernels::Gemm alone =
        chooseGemm(kernel::F32, kernel::block(format), 4096, 4096, MBucket::One,
                   choosePrecision(profile, Activations::Fastest));
    std::map<int64_t, int64_t> rowsFrom;
    for (TokenGemm tile : tilesByTokens(alone, MBucket::One, false, 0, 1, profile)) {
      rowsFrom[tile.leastTokens] = tile.gemm.rowTiles;
      EXPECT_TRUE(tile.decided.empty());
      tile.gemm.rowTiles = 1;
      EXPECT_EQ(kernelParameters(tile.gemm), kernelParameters(alone));
    }
    EXPECT_EQ(rowsFrom, (std::map<int64_t, int64_t>{{1, 1}, {2, 4}, {5, 8}}));
  }
}

TEST(SharedDepth, GivesManyTokensTilesOfTheirOwnWhereProgramsAreEnough) {
  using Tile = std::array<int64_t, 4>;
  const auto q4_k = kernel::block("q4_k"), q8_0 = kernel::block("q8_0");
  const auto all = ElementsAre(Tile{9, 16, 128, 1}, Tile{17, 32, 128, 1}, Tile{33, 64, 64, 1});
  EXPECT_THAT(tilesOf(q4_k, 28672, 4096), all);
  EXPECT_THAT(tilesOf(q4_k, 28672, 4096, 0, 64), all);
  EXPECT_THAT(tilesOf(q8_0, 6144, 4096), ElementsAre(Tile{33, 32, 64, 1}));
  EXPECT_THAT(tilesOf(q4_k, 28672, 4096, 0, 1, sharingSquares()),
              ElementsAre(Tile{17, 32, 128, 1}, Tile{33, 64, 64, 1}))
      << "an instruction has 16";
  EXPECT_THAT(tilesOf(kernel::F16, 28672, 4096),
              ElementsAre(Tile{17, 32, 128, 1}, Tile{33, 64, 128, 1}));
  EXPECT_THAT(tilesOf(q8_0, 4096, 14336), ElementsAre()) << "too few programs";
  EXPECT_THAT(tilesOf(q4_k, 28672, 256), ElementsAre()) << "one share alone";
  EXPECT_THAT(tilesOf(q4_k, 28672, 4096, 0, 48), ElementsAre()) << "columns fit no tile";
}

TEST(SharedDepth, GivesSharesOfFewColumnsBlocksOfTheirOwn) {
  using Tile = std::array<int64_t, 4>;
  constexpr int64_t kBlocks = 8;
  for (int64_t k : {4096, 14336})
    EXPECT_THAT(tilesOf(kernel::block("q8_0"), 4096, k, 0, 1, kSharing, kBlocks),
                ElementsAre(Tile{17, 32, 128, 8}, Tile{33, 64, 64, 8}))
        << k;
  EXPECT_THAT(tilesOf(kernel::F16, 4096, 4096, 0, 1, kSharing, kBlocks),
              ElementsAre(Tile{17, 32, 128, 8}, Tile{33, 64, 128, 8}));
  EXPECT_THAT(tilesOf(kernel::block("q8_0"), 6144, 4096, 0, 1, kSharing, kBlocks),
              ElementsAre(Tile{17, 32, 128, 8}, Tile{33, 32, 64, 1}))
      << "programs enough need no other blocks";
  EXPECT_THAT(tilesOf(kernel::block("q8_0"), 4096, 4096, 0, 1, kSharing, 4), ElementsAre())
      << "fewer blocks than shares";
  EXPECT_THAT(tilesOf(kernel::block("q8_0"), 512, 4096, 0, 1, kSharing, kBlocks), ElementsAre())
      << "too few programs all the same";
}

// (tile, decisions) of a target whose instructions read tokens, for more than 32 tokens.
std::string readingTileOf(kernel::Element weights, int64_t n, int64_t k) {
  const std::vector<TokenGemm> tiles =
      tilesOfTokens(shared(weights, n, k), 0, 1, sharingTarget(/*programBlocks=*/8, true));
  std::string text;
  for (const TokenGemm &tile : tiles)
    if (tile.leastTokens == 33) {
      text = std::to_string(tile.gemm.blockM) + "x" + std::to_string(tile.gemm.blockN);
      for (const auto &[name, value] : tile.decided)
        text += " " + name + "=" + std::to_string(value);
    }
  return text;
}

TEST(SharedDepth, GivesTokensThatInstructionsReadWideTiles) {
  const auto q4_k = kernel::block("q4_k");
  EXPECT_EQ(readingTileOf(q4_k, 28672, 4096), "64x128 reading_groups=1");
  EXPECT_EQ(readingTileOf(q4_k, 14336, 4096), "64x64 reading_groups=1")
      << "programs enough need no other blocks";
  EXPECT_EQ(readingTileOf(q4_k, 4096, 14336), "64x64 share_blocks=8 reading_groups=1")
      << "shares in blocks take no wider tile";
  for (kernel::Element weights : {kernel::F16, kernel::BF16}) {
    EXPECT_EQ(readingTileOf(weights, 28672, 4096), "64x128 reading_groups=1");
    EXPECT_EQ(readingTileOf(weights, 4096, 14336), "64x128 share_blocks=8 reading_groups=1");
  }
  EXPECT_EQ(readingTileOf(kernel::block("q8_0"), 28672, 1280), "") << "short rows";
}

TEST(SharedDepth, KeepsSharesOfKInTilesOfManyTokens) {
  for (const char *format : {"q8_0", "q4_0", "q4_k", "q6_k", "mxfp4", "nvfp4"})
    for (int64_t k : {2048, 3072, 4096, 5120, 14336}) {
      const kernels::Gemm p = shared(kernel::block(format), 32768, k);
      for (const TokenGemm &tile : tilesOfTokens(p, 0, 1, sharingTarget(1))) {
        EXPECT_EQ(p.blockK % (tile.gemm.shares * tile.gemm.blockK), 0) << format << " " << k;
        EXPECT_EQ(k % (tile.gemm.shares * tile.gemm.blockK), 0) << format << " " << k;
      }
    }
}

// ---- by launches ----

// A GPU that shares K.
targets::TargetProfile sharingProfile() {
  targets::TargetProfile profile = simtProfile();
  profile.besideQuantized = targets::ActivationPrecision::BF16;
  profile.sharesDepth = true;
  profile.unquantizedTile = kUnquantizedTile;
  profile.wordsTile = kWordsTile;
  return profile;
}

// Rows of a type.
std::string rows(int64_t columns, const std::string &element) {
  return "tensor<?x" + std::to_string(columns) + "x" + element + ", #graph.dims<T>>";
}
std::string vectorOf(int64_t columns) {
  return "tensor<" + std::to_string(columns) + "xf32>";
}

// A norm and its matmul with [n, k] weights in Q8_0, which makes %c.
std::string normThenMatmul(int64_t n, int64_t k) {
  const std::string x = rows(k, "f32"), a = rows(k, "bf16"),
                    w = "tensor<" + std::to_string(n) + "x" + std::to_string(k) +
                        "x!tile.block<\"q8_0\">>";
  return "%x = graph.input \"x\" : " + x + "\n%g = graph.weight [\"g\"] : " + vectorOf(k) +
         "\n%w = graph.weight [\"w\"] : " + w + "\n%n = graph.norm %x, %g eps 1.0e-5 : " + x +
         ", " + vectorOf(k) + " -> " + x + "\n%a = graph.quantize %n : " + x + " -> " + a +
         "\n%c = graph.dot_general %a, %w : " + a + ", " + w + " -> " + rows(n, "f32") + "\n";
}

// `name`, a map of two values of rows, or of rows and a vector.
std::string sumOf(const std::string &name, const std::string &values, const std::string &types,
                  const std::string &result) {
  return name + " = graph.map " + values + " : " + types + " -> " + result +
         " {\n^bb0(%p: f32, %q: f32):\n%r = arith.addf %p, %q : f32\ngraph.yield %r : f32\n}\n";
}

// The launch that a step is for few tokens.
const plan::Launch &fewTokens(const plan::Step &step) {
  const auto *choice = std::get_if<plan::If>(&step.op);
  return std::get<plan::Launch>(choice ? choice->elseSteps.at(0).op : step.op);
}

// The kernels that decode launches.
std::vector<std::string> decodeKernels(const std::string &body,
                                       DecodeNorms norms = DecodeNorms::Apart) {
  LoweringOptions options{sharingProfile()};
  options.decodeNorms = norms;
  GraphText graph(body);
  graph::fuse(graph.module(), fuseOptions(options.profile, options.activations, norms));
  EXPECT_TRUE(succeeded(mlir::verify(graph.module())));
  KernelSet kernels(graph.context());
  Result<plan::Plan> plan = Lowering(kernels, options).run(graph.module());
  EXPECT_TRUE(plan) << plan.error().message;
  std::vector<std::string> texts;
  for (const plan::Step &step :
       std::get<plan::If>(plan->procedures.at(0).steps.at(0).op).thenSteps) {
    texts.emplace_back();
    llvm::raw_string_ostream(texts.back()) << kernels.kernel(fewTokens(step).kernel);
  }
  return texts;
}

const std::string kOfEightRows = "tensor<8x16xf32>"; // accumulators

TEST(SharedDepth, ReadsTheNormQuantizedWhereItsPrologueDoesNotPay) {
  EXPECT_THAT(
      decodeKernels(normThenMatmul(4096, 4096) + "graph.output \"c\", %c : " + rows(4096, "f32")),
      ElementsAre(
          AllOf(HasSubstr("@rms_norm"), HasSubstr("bf16")),
          AllOf(HasSubstr("@gemm"), HasSubstr(kOfEightRows), Not(HasSubstr("norm_weight")))));
}

TEST(SharedDepth, ReadsFloatsWhereItMakesTheNormOrHasFewWeights) {
  EXPECT_THAT(decodeKernels(normThenMatmul(24, 64) + "graph.output \"c\", %c : " + rows(24, "f32")),
              ElementsAre(AllOf(HasSubstr("norm_weight"), Not(HasSubstr(kOfEightRows)))));
  // The norm does not pay, and the weights lie in the cache.
  EXPECT_THAT(
      decodeKernels(normThenMatmul(1024, 1536) + "graph.output \"c\", %c : " + rows(1024, "f32")),
      ElementsAre(AllOf(HasSubstr("@rms_norm"), Not(HasSubstr("bf16"))),
                  AllOf(HasSubstr("@gemm"), Not(HasSubstr(kOfEightRows)))));
}

TEST(SharedDepth, AddsBiasesToSharedSums) {
  const std::string c = rows(4096, "f32"), b = vectorOf(4096);
  EXPECT_THAT(
      decodeKernels(normThenMatmul(4096, 4096) + "%b = graph.weight [\"b\"] : " + b + "\n" +
                    sumOf("%d", "%c, %b", c + ", " + b, c) + "graph.output \"d\", %d : " + c),
      ElementsAre(HasSubstr("@rms_norm"),
                  AllOf(HasSubstr("@gemm"), HasSubstr(kOfEightRows), HasSubstr("arith.addf"))));
}

// Rows and decisions of the tiles that prefill launches, for more and for fewer tokens.
TEST(SharedDepth, PrefillHasTilesForShortPrompts) {
  LoweringOptions options{sharingProfile()};
  options.profile.sharedBytes = 227 * 1024;
  options.profile.matrixInstructions = {
      {sched::MatrixElement::BF16, 64, 128, 16, 128, /*sharedOperands=*/true}};
  GraphText graph(normThenMatmul(4096, 4096) + "graph.output \"c\", %c : " + rows(4096, "f32"));
  graph::fuse(graph.module(), fuseOptions(options.profile));
  KernelSet kernels(graph.context());
  Result<plan::Plan> plan = Lowering(kernels, options).run(graph.module());
  ASSERT_TRUE(plan) << plan.error().message;
  const auto &phases = std::get<plan::If>(plan->procedures.at(0).steps.at(0).op);
  const auto &tokens = std::get<plan::If>(phases.elseSteps.at(1).op);
  auto holds = [&](int64_t count) {
    const std::vector<int64_t> symbols(plan->symbols.size(), count);
    return plan::evaluate(tokens.condition, symbols).value_or(0) != 0;
  };
  EXPECT_FALSE(holds(kShortPrompt));
  EXPECT_TRUE(holds(kShortPrompt + 1));
  auto kernelOf = [&](const plan::Step &step) {
    return kernels.kernel(std::get<plan::Launch>(step.op).kernel);
  };
  EXPECT_FALSE(tile::scheduleOf(kernelOf(tokens.thenSteps.at(0))));
  std::string text;
  llvm::raw_string_ostream(text) << kernelOf(tokens.elseSteps.at(0));
  EXPECT_THAT(text, AllOf(HasSubstr("steps_ahead = 8"), HasSubstr("threads = 128"),
                          HasSubstr("tensor<64x32xf32>")));
}

// Two halves of the columns, added: tiles of 16 columns hold 8 of each.
std::string halves(int64_t n, bool biased) {
  const std::string c = rows(n, "f32"), half = rows(n / 2, "f32"), b = vectorOf(n);
  std::string body = normThenMatmul(n, 4096), columns = "%c";
  if (biased) {
    body += "%b = graph.weight [\"b\"] : " + b + "\n" + sumOf("%d", "%c, %b", c + ", " + b, c);
    columns = "%d";
  }
  return body + "%s = graph.slice " + columns + " from [0, 0] : " + c + " -> " + half +
         "\n%t = graph.slice " + columns + " from [0, " + std::to_string(n / 2) + "] : " + c +
         " -> " + half + "\n" + sumOf("%e", "%s, %t", half + ", " + half, half) +
         "graph.output \"e\", %e : " + half;
}

TEST(SharedDepth, HoldsColumnsOfEachPartSideBySide) {
  EXPECT_THAT(decodeKernels(halves(4096, false)),
              ElementsAre(HasSubstr("@rms_norm"),
                          AllOf(HasSubstr("tile.concat"), HasSubstr(kOfEightRows))));
}

TEST(SharedDepth, LeavesBiasedPartsInOneRun) {
  for (const std::string &kernel : decodeKernels(halves(4096, true)))
    EXPECT_THAT(kernel, Not(HasSubstr("tile.concat")));
}

// ---- norms from sums of squares ----

// A matmul that adds to rows of 4,096 columns, their norm, and a matmul of n columns.
std::string matmulNormMatmul(int64_t n) {
  const std::string x = rows(4096, "f32"), a = rows(4096, "bf16"),
                    v = "tensor<4096x4096x!tile.block<\"q8_0\">>",
                    w = "tensor<" + std::to_string(n) + "x4096x!tile.block<\"q8_0\">>",
                    g = vectorOf(4096), c = rows(n, "f32");
  return "%x = graph.input \"x\" : " + x + "\n%b = graph.input \"b\" : " + a +
         "\n%g = graph.weight [\"g\"] : " + g + "\n%v = graph.weight [\"v\"] : " + v +
         "\n%w = graph.weight [\"w\"] : " + w + "\n%m = graph.dot_general %b, %v : " + a + ", " +
         v + " -> " + x + "\n" + sumOf("%r", "%m, %x", x + ", " + x, x) +
         "%n = graph.norm %r, %g eps 1.0e-5 : " + x + ", " + g + " -> " + x +
         "\n%a = graph.quantize %n : " + x + " -> " + a + "\n%c = graph.dot_general %a, %w : " + a +
         ", " + w + " -> " + c + "\ngraph.output \"c\", %c : " + c +
         "\ngraph.output \"r\", %r : " + x;
}

TEST(NormsOfSquares, AreMadeOnlyWhereTheyAreAskedFor) {
  for (const std::string &kernel : decodeKernels(matmulNormMatmul(4096)))
    EXPECT_THAT(kernel, Not(HasSubstr("squares")));
}

TEST(NormsOfSquares, TakeTheNormsLaunchFromFewTokens) {
  EXPECT_THAT(
      decodeKernels(matmulNormMatmul(4096), DecodeNorms::Fused),
      ElementsAre(
          AllOf(HasSubstr("@gemm"), HasSubstr("\"squares\""), Not(HasSubstr("\"norm_squares\""))),
          AllOf(HasSubstr("@gemm"), HasSubstr(kOfEightRows), HasSubstr("\"norm_squares\""))));
}

// The decode steps of a matmul that reads such a norm, and the graph that names its symbols.
constexpr int64_t kFewTokens = 8; // of mma.sync

struct NormSteps {
  explicit NormSteps(int64_t n, DecodeNorms norms)
      : graph(matmulNormMatmul(n)), kernels(graph.context()) {
    LoweringOptions options{sharingProfile()};
    options.decodeNorms = norms;
    graph::fuse(graph.module(), fuseOptions(options.profile, options.activations, norms));
    Result<plan::Plan> lowered = Lowering(kernels, options).run(graph.module());
    EXPECT_TRUE(lowered) << lowered.error().message;
    plan = std::move(*lowered);
    const auto &phases = std::get<plan::If>(plan.procedures.at(0).steps.at(0).op);
    choice = &std::get<plan::If>(phases.thenSteps.back().op);
  }
  std::string name(const plan::Step &step) {
    return kernels.kernel(std::get<plan::Launch>(step.op).kernel).getSymName().str();
  }
  // Whether so many tokens take a launch for the norm.
  bool apart(int64_t tokens) const {
    std::vector<int64_t> symbols(plan.symbols.size(), 1);
    for (auto [at, symbol] : llvm::enumerate(plan.symbols))
      if (symbol.name == "T")
        symbols[at] = tokens;
    return plan::evaluate(choice->condition, symbols).value_or(-1) != 0;
  }

  GraphText graph;
  KernelSet kernels;
  plan::Plan plan;
  const plan::If *choice = nullptr;
};

TEST(NormsOfSquares, HaveALaunchOfTheirOwnFromTheSameSumsForMoreTokens) {
  NormSteps steps(4096, DecodeNorms::Fused);
  EXPECT_FALSE(steps.apart(1));
  EXPECT_FALSE(steps.apart(kFewTokens));
  EXPECT_TRUE(steps.apart(kFewTokens + 1));
  ASSERT_EQ(steps.choice->thenSteps.size(), 2u);
  const auto &norm = std::get<plan::Launch>(steps.choice->thenSteps[0].op);
  EXPECT_THAT(steps.name(steps.choice->thenSteps[0]), HasSubstr("norm_of_squares"));
  EXPECT_THAT(norm.covers, ElementsAre("norm", "quantize to bf16"));
  EXPECT_THAT(fewTokens(steps.choice->thenSteps[1]).covers, ElementsAre("dot_general"));
  ASSERT_EQ(steps.choice->elseSteps.size(), 1u);
}

// What programs read again grows with tokens and programs.
TEST(NormsOfSquares, AreEstimatedToPayForFewTokensAlone) {
  for (int64_t n : {4096, 28672}) {
    NormSteps steps(n, DecodeNorms::Estimated);
    EXPECT_FALSE(steps.apart(1)) << n;
  }
  EXPECT_TRUE(NormSteps(28672, DecodeNorms::Estimated).apart(kFewTokens));
}

} // namespace
} // namespace sinter::engine
