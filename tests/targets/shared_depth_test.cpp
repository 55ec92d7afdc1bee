// Matmuls of few rows whose subgroups share K, in the interpreter: near the tile interpreter, and a
// row's bits are the same beside any others, in tiles of any width.
#include "tile/mlir_pch.h"

#include "numeric/formats/word_packing.h"
#include "sched/simt/layout.h"
#include "sched/simt/schedule.h"
#include "sched/simt/split_dots.h"
#include "targets/conformance_cases.h"

#include <gmock/gmock.h>

using namespace mlir;

namespace sinter::targets::cpu {
namespace {

constexpr llvm::StringLiteral kInWords = "_words";

sched::SimtFacts sharingFacts() {
  sched::SimtFacts facts;
  facts.maxShared = 232448;
  facts.sharesDepth = facts.overlapsLaunches = true;
  facts.instructions = {"nvidia.mma.m16n8k16.f32.f16", "nvidia.mma.m16n8k16.f32.bf16"};
  return facts;
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
  explicit Scheduled(const KernelCase &c, bool asyncCopies = false) : source(buildCase(c)) {
    sched::SimtFacts facts = sharingFacts();
    facts.asyncCopies = asyncCopies;
    if (asyncCopies)
      facts.maxShared = 49152; // what the interpreter has
    auto made = sched::scheduleSimt(source.module(), facts);
    EXPECT_TRUE(made) << made.error().toString();
    if (made)
      lanes = std::move(*made);
  }
  tile::KernelOp plain() { return *source.module().getOps<tile::KernelOp>().begin(); }
  tile::KernelOp kernel() { return *lanes->getOps<tile::KernelOp>().begin(); }
  // The output for these arguments.
  std::vector<uint8_t> run(LaunchArguments arguments) {
    LaunchArguments ended = interpreted(std::move(arguments), kernel(), true);
    return argumentNamed(ended, "out").bytes;
  }
  template <class Op> int64_t count() {
    int64_t found = 0;
    lanes->walk([&](Op) { ++found; });
    return found;
  }

  tile::KernelModule source;
  OwningOpRef<ModuleOp> lanes;
};

class SharedDepth : public testing::TestWithParam<std::string> {};

TEST_P(SharedDepth, LiesNearTheTileInterpreter) {
  KernelCase c = sharedCase(GetParam(), 16, 256);
  Scheduled s(c);
  tile::KernelModule exact = buildCase(referenceCase(GetParam(), c));
  EXPECT_GT(s.count<sched::MatrixOp>(), 0);
  Random random(5);
  for (const Extents &extents : mixExtents(c.extents, c.rounds, random)) {
    LaunchArguments arguments = caseArguments(c, s.plain(), extents, false, random);
    LaunchArguments reference =
        interpreted(arguments, *exact.module().getOps<tile::KernelOp>().begin(), false);
    EXPECT_EQ(firstBeyond(interpreted(arguments, s.kernel(), true), reference, c.bound), "");
  }
}

// Rows of an f32 matrix without gaps.
std::vector<uint8_t> firstRows(const std::vector<uint8_t> &bytes, int64_t rows, int64_t columns) {
  return {bytes.begin(), bytes.begin() + rows * columns * static_cast<int64_t>(sizeof(float))};
}

TEST_P(SharedDepth, GivesARowTheSameBitsBesideAnyOthers) {
  if (wordsOf(GetParam()) && GetParam() != "q4_k_words" && GetParam() != "mxfp4_words" &&
      !testsInFull())
    GTEST_SKIP() << "the others go the same way";
  const int64_t kColumns = 16, kDepth = wordsOf(GetParam()) ? 768 : 320;
  KernelCase c = sharedCase(GetParam(), 16, 256);
  Scheduled s(c), wide(sharedCase(GetParam(), 32, 256));
  Random random(7);
  auto arguments =
      makeArguments(s.plain(), c.views, {{"M", 17}, {"N", kColumns}, {"K", kDepth}}, 0, random);
  const std::vector<uint8_t> all = s.run(arguments);
  EXPECT_EQ(wide.run(arguments), all) << "in wider tiles";
  for (const char *tokens : {"8", "32"})
    if (wordsOf(GetParam())) {
      c.settings["block_m"] = tokens;
      EXPECT_EQ(Scheduled(c).run(arguments), all) << tokens;
    }
  for (int64_t rows : {1, 16}) {
    LaunchArguments fewer = arguments;
    argumentNamed(fewer, "a").shape[0] = argumentNamed(fewer, "out").shape[0] = rows;
    EXPECT_EQ(firstRows(s.run(fewer), rows, kColumns), firstRows(all, rows, kColumns)) << rows;
  }
}

// Blocks in words alone have tiles for many tokens.
class SharedDepthInTurn : public SharedDepth {};

// The same shares of K, which subgroups have side by side or a thread block for more tokens in
// turn.
TEST_P(SharedDepthInTurn, AddsTheSameShares) {
  constexpr int64_t kStep = 512, kColumns = 40;
  KernelCase c = sharedCase(GetParam(), 16, kStep), turns = c;
  Scheduled s(c);
  const BlockFormat *format =
      findBlockFormat(llvm::StringRef(GetParam()).drop_back(kInWords.size()).upper());
  const int64_t unit = sched::unitOfGroups(*format, kStep);
  turns.settings["block_k"] = std::to_string(unit);
  turns.settings["shares"] = std::to_string(std::min<int64_t>(8, kStep / unit));
  turns.settings["block_n"] = "32";
  turns.settings["k"] = c.settings["k"] = std::to_string(3 * kStep);
  Random random(11);
  auto arguments =
      makeArguments(s.plain(), c.views, {{"M", 35}, {"N", kColumns}, {"K", 3 * kStep}}, 0, random);
  const std::vector<uint8_t> all = s.run(arguments);
  for (auto [rows, asyncCopies] :
       {std::pair("32", false), std::pair("32", true), std::pair("16", true)}) {
    turns.settings["block_m"] = rows;
    Scheduled inTurn(turns, asyncCopies);
    EXPECT_EQ(inTurn.count<sched::CopyAsyncOp>() > 0, asyncCopies);
    EXPECT_EQ(inTurn.run(arguments), all) << rows << " " << asyncCopies;
  }
}

TEST_P(SharedDepth, ReadsTheFirstWeightsBeforeOtherLaunchesHaveEnded) {
  KernelCase c = sharedCase(GetParam(), 16, 256);
  for (const auto &[name, value] : {std::pair("n", "64"), {"k", "512"}, {"constant_b", "true"}})
    c.settings[name] = value;
  Scheduled s(c);
  int64_t early = 0;
  s.lanes->walk([&](sched::AwaitLaunchesOp wait) {
    for (Operation &op : *wait->getBlock())
      early += isa<sched::ViewLoadOp>(op) && op.isBeforeInBlock(wait);
  });
  EXPECT_GT(early, 0);
}

INSTANTIATE_TEST_SUITE_P(Weights, SharedDepthInTurn, testing::Values("q8_0_words", "q4_k_words"));
INSTANTIATE_TEST_SUITE_P(Weights, SharedDepth,
                         testing::Values("f16", "bf16", "q8_0", "q4_1", "q8_0_words", "q4_1_words",
                                         "q5_0_words", "q2_k_words", "q3_k_words", "q4_k_words",
                                         "q5_k_words", "q6_k_words", "iq4_nl_words", "iq4_xs_words",
                                         "mxfp4_words", "nvfp4_words", "q2_0_words", "tq2_0_words"),
                         [](const auto &info) { return info.param; });

class SharedDepthParts : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Weights, SharedDepthParts, testing::Values("q8_0", "q4_k_words"),
                         [](const auto &info) { return info.param; });

// Gate and up lie 32 rows of one after 32 of the other; a program has 8 of each.
TEST_P(SharedDepthParts, AreTheSameRowsSideBySide) {
  constexpr int64_t kColumns = 64, kPart = 32, kWidth = 8;
  KernelCase c = sharedCase(GetParam(), 2 * kWidth, 256), parted = c;
  parted.settings["parts"] = "2";
  parted.settings["part_rows"] = std::to_string(kPart);
  Scheduled whole(c), parts(parted);
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
  Scheduled s(c);
  EXPECT_FALSE(s.kernel()->hasAttr("sched.reads_ahead"));
}

} // namespace
} // namespace sinter::targets::cpu
