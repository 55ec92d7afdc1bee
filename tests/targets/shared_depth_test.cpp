// Matmuls of few rows whose subgroups share K, in the interpreter: near the tile interpreter, and a
// row's bits are the same beside any others, in tiles of any width.
#include "tile/mlir_pch.h"

#include "numeric/formats/word_packing.h"
#include "sched/simt/decisions.h"
#include "sched/simt/layout.h"
#include "sched/simt/schedule.h"
#include "sched/simt/split_dots.h"
#include "targets/amd/schedule.h"
#include "targets/conformance_cases.h"

#include <gmock/gmock.h>
#include <tuple>

using namespace mlir;

namespace sinter::targets::cpu {
namespace {

constexpr llvm::StringLiteral kInWords = "_words";

// Of a processor of AMD by its name, else of these.
sched::SimtFacts sharingFacts(const std::string &processor) {
  sched::SimtFacts facts;
  if (const amd::AmdFacts *found = amd::findFacts(processor)) {
    facts = amd::simtFacts(*found);
  } else if (processor == "metal") {
    facts.maxShared = 32768;
    facts.instructions = {"metal.simdgroup.8x8x8.f32.f16", "metal.simdgroup.8x8x8.f32.bf16"};
  } else {
    facts.maxShared = 232448;
    facts.instructions = {
        "nvidia.mma.m16n8k16.f32.f16",        "nvidia.mma.m16n8k16.f32.bf16",
        "nvidia.wgmma.ra.m64n64k16.f32.f16",  "nvidia.wgmma.ra.m64n32k16.f32.f16",
        "nvidia.wgmma.ra.m64n64k16.f32.bf16", "nvidia.wgmma.ra.m64n32k16.f32.bf16"};
  }
  facts.sharesDepth = facts.overlapsLaunches = true;
  return facts;
}

// Weights for a processor; NVIDIA's has no name.
struct Setting {
  std::string weights, processor = "";
};

std::string nameOf(const testing::TestParamInfo<Setting> &info) {
  const auto &[weights, processor] = info.param;
  return weights + (processor.empty() ? "" : "_" + processor);
}

// Whether blocks lie in words, which are multiplied by groups.
bool wordsOf(llvm::StringRef weights) {
  return weights.ends_with(kInWords);
}

// A matmul of rows with such weights as dequantize has it, in tiles of n columns and steps of k.
KernelCase sharedCase(const std::string &weights, int64_t n, int64_t k) {
  const bool blocks = weights != "f16" && weights != "bf16";
  const std::string format = weights.substr(0, weights.find(kInWords.str()));
  KernelCase c = gemmCase(blocks ? "bf16" : format, format, true, 16, n, k);
  c.rounds = 1;
  c.extents = {{"M", {1, 17}}, {"N", {1, 24}}, {"K", {96, 352}}};
  c.bound = inAnotherOrder({2e-5, 2e-4});
  if (blocks) {
    c = interleaved(c);
    c.settings["activation"] = "bf16";
  }
  if (wordsOf(weights)) {
    c.settings["interleave"] = "8";
    c.extents["K"] = {256, 768};
  }
  return c;
}

// What it lies near: numbers that share a scale are multiplied before they are scaled, so that
// weights are not rounded.
KernelCase referenceCase(const std::string &weights, KernelCase c) {
  if (wordsOf(weights))
    c.settings["activation"] = "f32";
  return c;
}

struct Scheduled {
  // Each share of K has one of so many blocks where they are more than 1. `reads`: whether
  // instructions read tokens in shared memory.
  Scheduled(const KernelCase &c, const std::string &processor, bool asyncCopies = false,
            int64_t blocks = 1, bool reads = false)
      : source(buildCase(c)) {
    sched::SimtFacts facts = sharingFacts(processor);
    options.lanes.subgroup = facts.subgroup;
    facts.asyncCopies = asyncCopies;
    facts.programBlocks = blocks;
    tile::setSchedule(plain(), {{sched::kShareBlocks.str(), blocks},
                                {sched::kReadingGroups.str(), int64_t{reads}}});
    options.lanes.maxShared = facts.maxShared;
    auto made = sched::scheduleSimt(source.module(), facts);
    EXPECT_TRUE(made) << made.error().toString();
    if (made)
      lanes = std::move(*made);
  }
  tile::KernelOp plain() { return *source.module().getOps<tile::KernelOp>().begin(); }
  tile::KernelOp kernel() { return *lanes->getOps<tile::KernelOp>().begin(); }
  // The output for these arguments.
  std::vector<uint8_t> run(LaunchArguments arguments) {
    LaunchArguments ended = interpreted(std::move(arguments), kernel(), true, options);
    return argumentNamed(ended, "out").bytes;
  }
  template <class Op> int64_t count() {
    int64_t found = 0;
    lanes->walk([&](Op) { ++found; });
    return found;
  }

  tile::KernelModule source;
  OwningOpRef<ModuleOp> lanes;
  sched::InterpreterOptions options;
};

class SharedDepth : public testing::TestWithParam<Setting> {
protected:
  const std::string &weights() const { return GetParam().weights; }
  const std::string &processor() const { return GetParam().processor; }
};

TEST_P(SharedDepth, LiesNearTheTileInterpreter) {
  KernelCase c = sharedCase(weights(), 16, 256);
  Scheduled s(c, processor());
  tile::KernelModule exact = buildCase(referenceCase(weights(), c));
  EXPECT_GT(s.count<sched::MatrixOp>(), 0);
  Random random(5);
  for (const Extents &extents : mixExtents(c.extents, inFullOr(c.rounds, 1), random)) {
    LaunchArguments arguments = caseArguments(c, s.plain(), extents, false, random);
    LaunchArguments reference =
        interpreted(arguments, *exact.module().getOps<tile::KernelOp>().begin(), false);
    EXPECT_EQ(firstBeyond(interpreted(arguments, s.kernel(), true, s.options), reference, c.bound),
              "");
  }
}

// Rows of an f32 matrix without gaps.
std::vector<uint8_t> firstRows(const std::vector<uint8_t> &bytes, int64_t rows, int64_t columns) {
  return {bytes.begin(), bytes.begin() + rows * columns * static_cast<int64_t>(sizeof(float))};
}

TEST_P(SharedDepth, GivesARowTheSameBitsBesideAnyOthers) {
  if (wordsOf(weights()) && weights() != "q4_k_words" && weights() != "mxfp4_words" &&
      !testsInFull())
    GTEST_SKIP() << "the others go the same way";
  const int64_t kColumns = 16, kDepth = wordsOf(weights()) ? 768 : 320;
  KernelCase c = sharedCase(weights(), 16, 256);
  Scheduled s(c, processor()), wide(sharedCase(weights(), 32, 256), processor());
  const int64_t least =
      sched::depthTile(sharingFacts(processor()), sched::MatrixElement::BF16, true).tokens;
  Random random(7);
  auto arguments =
      makeArguments(s.plain(), c.views, {{"M", 17}, {"N", kColumns}, {"K", kDepth}}, 0, random);
  const std::vector<uint8_t> all = s.run(arguments);
  EXPECT_EQ(wide.run(arguments), all) << "in wider tiles";
  for (int64_t tokens : {least, int64_t{32}})
    if (wordsOf(weights())) {
      c.settings["block_m"] = std::to_string(tokens);
      EXPECT_EQ(Scheduled(c, processor()).run(arguments), all) << tokens;
    }
  for (int64_t rows : {1, 16}) {
    LaunchArguments fewer = arguments;
    argumentNamed(fewer, "a").shape[0] = argumentNamed(fewer, "out").shape[0] = rows;
    EXPECT_EQ(firstRows(s.run(fewer), rows, kColumns), firstRows(all, rows, kColumns)) << rows;
  }
}

// Elements along K of a share's unit of weights.
int64_t unitOf(const std::string &weights, const std::string &processor, int64_t step) {
  if (!wordsOf(weights))
    return sched::unitOfUnquantized(
        sched::depthTile(sharingFacts(processor), sched::MatrixElement::BF16, false), step);
  const std::string name = weights.substr(0, weights.size() - kInWords.size());
  return sched::unitOfGroups(*findBlockFormat(llvm::StringRef(name).upper()), step);
}

class SharedDepthInTurn : public SharedDepth {};

// A tile of many tokens, and how it adds up shares.
struct Way {
  int64_t rows, columns;
  bool asyncCopies = false;
  int64_t blocks = 1;
  bool reads = false;
};

std::vector<Way> waysOf(int64_t shares) {
  return {{32, 64},
          {32, 64, true},
          {16, 64, true},
          {32, 64, true, shares},
          {32, 128, true, 1, true},
          {64, 64, true, shares, true}};
}

// The same shares of K, which subgroups have side by side, or for more tokens a thread block in
// turn, or blocks one each.
TEST_P(SharedDepthInTurn, AddsTheSameShares) {
  // Unquantized weights' units fill two panels of 128 bytes.
  const int64_t kStep = wordsOf(weights()) ? 512 : 1024, kDepth = wordsOf(weights()) ? 1536 : 2048;
  constexpr int64_t kColumns = 72;
  KernelCase c = sharedCase(weights(), 16, kStep), turns = c;
  Scheduled s(c, processor());
  const int64_t unit = unitOf(weights(), processor(), kStep),
                shares = std::min<int64_t>(8, kStep / unit);
  turns.settings["block_k"] = std::to_string(unit);
  turns.settings["shares"] = std::to_string(shares);
  turns.settings["k"] = c.settings["k"] = std::to_string(kDepth);
  Random random(11);
  auto arguments =
      makeArguments(s.plain(), c.views, {{"M", 35}, {"N", kColumns}, {"K", kDepth}}, 0, random);
  const std::vector<uint8_t> all = s.run(arguments);
  for (auto [rows, columns, asyncCopies, blocks, reads] : waysOf(shares)) {
    if (asyncCopies && !processor().empty())
      continue;
    SCOPED_TRACE(testing::Message() << rows << " x " << columns << " " << asyncCopies << blocks);
    turns.settings["block_m"] = std::to_string(rows);
    turns.settings["block_n"] = std::to_string(columns);
    Scheduled inTurn(turns, processor(), asyncCopies, blocks, reads);
    EXPECT_EQ(inTurn.count<sched::CopyAsyncOp>() > 0, asyncCopies);
    EXPECT_EQ(inTurn.count<sched::RemoteLoadOp>() > 0, blocks > 1);
    EXPECT_EQ(inTurn.count<sched::MatrixTileAsyncOp>() > 0, reads);
    EXPECT_EQ(inTurn.run(arguments), all);
  }
}

TEST_P(SharedDepth, ReadsTheFirstWeightsBeforeOtherLaunchesHaveEnded) {
  KernelCase c = sharedCase(weights(), 16, 256);
  for (const auto &[name, value] : {std::pair("n", "64"), {"k", "512"}, {"constant_b", "true"}})
    c.settings[name] = value;
  Scheduled s(c, processor());
  int64_t early = 0;
  s.lanes->walk([&](sched::AwaitLaunchesOp wait) {
    for (Operation &op : *wait->getBlock())
      early += isa<sched::ViewLoadOp>(op) && op.isBeforeInBlock(wait);
  });
  EXPECT_GT(early, 0);
}

std::vector<Setting> settings(std::initializer_list<const char *> onNvidia,
                              std::initializer_list<Setting> others) {
  std::vector<Setting> all(onNvidia.begin(), onNvidia.end());
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

INSTANTIATE_TEST_SUITE_P(Weights, SharedDepthInTurn,
                         testing::ValuesIn(settings({"f16", "bf16", "q8_0_words", "q4_k_words"},
                                                    {{"q4_k_words", "gfx942"},
                                                     {"bf16", "gfx942"},
                                                     {"q8_0_words", "gfx1100"},
                                                     {"q8_0_words", "metal"}})),
                         nameOf);
// Each way to hold K's bits meets each kind of weights: groups of 16 and 32, with and without
// minima, by tables.
INSTANTIATE_TEST_SUITE_P(
    Weights, SharedDepth,
    testing::ValuesIn(settings({"f16", "bf16", "q8_0", "q4_1", "q8_0_words", "q4_1_words",
                                "q5_0_words", "q2_k_words", "q3_k_words", "q4_k_words",
                                "q5_k_words", "q6_k_words", "iq4_nl_words", "iq4_xs_words",
                                "mxfp4_words", "nvfp4_words", "q2_0_words", "tq2_0_words"},
                               {{"f16", "gfx90a"},
                                {"bf16", "gfx942"},
                                {"q4_k_words", "gfx942"},
                                {"q6_k_words", "gfx942"},
                                {"mxfp4_words", "gfx942"},
                                {"f16", "gfx1100"},
                                {"q4_k_words", "gfx1100"},
                                {"nvfp4_words", "gfx1100"},
                                {"bf16", "gfx1201"},
                                {"q4_k_words", "gfx1201"},
                                {"q8_0_words", "gfx1201"},
                                {"f16", "metal"},
                                {"bf16", "metal"},
                                {"q4_k_words", "metal"},
                                {"q6_k_words", "metal"},
                                {"mxfp4_words", "metal"}})),
    nameOf);

struct TileCase {
  const char *processor;
  bool groups;
  sched::DepthTile tile;
};
class DepthTiles : public testing::TestWithParam<TileCase> {};
TEST_P(DepthTiles, AreTheSmallestInstructions) {
  const auto &[processor, groups, tile] = GetParam();
  const sched::DepthTile found =
      sched::depthTile(sharingFacts(processor), sched::MatrixElement::BF16, groups);
  auto numbers = [](const sched::DepthTile &t) {
    return std::array{t.tokens, t.columns, t.part, t.registerBits, t.otherBits};
  };
  EXPECT_EQ(numbers(found), numbers(tile));
}
INSTANTIATE_TEST_SUITE_P(Processors, DepthTiles,
                         testing::Values(TileCase{"", false, {16, 8, 8, 2, 2}},
                                         TileCase{"", true, {8, 16, 8, 2, 2}},
                                         TileCase{"gfx90a", true, {16, 16, 16, 2, 2}},
                                         TileCase{"gfx942", false, {16, 16, 16, 2, 2}},
                                         TileCase{"gfx1100", true, {16, 16, 16, 4, 0}},
                                         TileCase{"gfx1201", true, {16, 16, 16, 3, 1}},
                                         TileCase{"metal", false, {8, 8, 8, 0, 3}},
                                         TileCase{"metal", true, {8, 8, 8, 0, 3}}));

class SharedDepthParts : public SharedDepth {};
INSTANTIATE_TEST_SUITE_P(Weights, SharedDepthParts,
                         testing::ValuesIn(settings({"q8_0", "q4_k_words"},
                                                    {{"q4_k_words", "gfx942"}})),
                         nameOf);

// Gate and up lie 32 rows of one after 32 of the other; a program has as many of each as a part of
// an instruction.
TEST_P(SharedDepthParts, AreTheSameRowsSideBySide) {
  constexpr int64_t kColumns = 64, kPart = 32;
  const int64_t kWidth =
      sched::depthTile(sharingFacts(processor()), sched::MatrixElement::BF16, true).part;
  KernelCase c = sharedCase(weights(), 2 * kWidth, 256), parted = c;
  parted.settings["parts"] = "2";
  parted.settings["part_rows"] = std::to_string(kPart);
  Scheduled whole(c, processor()), parts(parted, processor());
  Random random(9);
  auto arguments =
      makeArguments(whole.plain(), c.views, {{"M", 1}, {"N", kColumns}, {"K", 256}}, 0, random);
  auto floats = [](const std::vector<uint8_t> &bytes) {
    std::vector<float> values(kColumns);
    std::memcpy(values.data(), bytes.data(), kColumns * sizeof(float));
    return values;
  };
  std::vector<float> expected, plain = floats(whole.run(arguments));
  for (int64_t first = 0; first < kPart; first += kWidth)
    for (int64_t from : {first, first + kPart})
      expected.insert(expected.end(), plain.begin() + from, plain.begin() + from + kWidth);
  EXPECT_EQ(floats(parts.run(arguments)), expected);
}

TEST(SharedDepthRules, LeaveManyRowsToOtherSchedules) {
  KernelCase c = sharedCase("bf16", 64, 64);
  c.settings["block_m"] = "64";
  Scheduled s(c, "");
  EXPECT_FALSE(s.kernel()->hasAttr("sched.reads_ahead"));
}

} // namespace
} // namespace sinter::targets::cpu
