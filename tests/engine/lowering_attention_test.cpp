// Attention's forms as launches: windows, slopes, sinks and soft caps.
#include "engine/lowered.h"
#include "tile/mlir_pch.h"

#include <gmock/gmock.h>

namespace sinter::engine {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;

// kAttend with these words, and sinks where they ask for some.
std::string attendBy(std::string words) {
  std::string text = kAttend;
  auto replace = [&](const std::string &from, const std::string &to) {
    text.replace(text.find(from), from.size(), to);
  };
  if (words.starts_with("sinks")) {
    replace("x3xi32, #graph.dims<B>>\n          ->",
            "x3xi32, #graph.dims<B>> sinks tensor<4xf32>\n          ->");
    text = "%w = graph.weight [\"sinks\"] : tensor<4xf32>\n" + text;
  }
  replace("scale 0.25", words);
  return text;
}

TEST(LoweringAttention, AFormOfAttentionHasItsArgumentsInEachKernel) {
  Lowered lowered(
      attendBy("sinks %w scale 0.25 window 100 soft_cap 5.0 slopes [0.5, 0.25, 0.125, 1.0]"));
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  const auto &rows = lowered.step<plan::If>(0);
  const auto &many = std::get<plan::Launch>(rows.elseSteps.at(0).op);
  EXPECT_THAT(lowered.arguments(many),
              ElementsAre("q", "keys", "values", "pages", "blocks", "lengths", "positions", "o",
                          StartsWith("slopes."), "sinks"));
  EXPECT_EQ(floatsOf(lowered.buffer(lowered.arguments(many)[8])),
            (std::vector<float>{0.5f, 0.25f, 0.125f, 1}));
  const auto &several =
      std::get<plan::If>(std::get<plan::If>(rows.thenSteps.at(0).op).thenSteps.at(0).op);
  const auto apart = lowered.arguments(std::get<plan::Launch>(several.thenSteps.at(0).op)),
             combined = lowered.arguments(std::get<plan::Launch>(several.thenSteps.at(1).op));
  EXPECT_THAT(apart, Contains(StartsWith("slopes.")));
  EXPECT_THAT(apart, Not(Contains("sinks")));
  EXPECT_THAT(combined, Contains("sinks"));
  EXPECT_THAT(combined, Not(Contains(StartsWith("slopes."))));
}

// Over a page table of this name: the property that says how far it looks back, -1 for none.
int64_t lookBackOf(const std::string &words, const std::string &table,
                   const LoweringOptions &options) {
  std::string text = attendBy(words);
  text.replace(text.find("\"pages\""), 7, '"' + table + '"');
  Lowered lowered(text, options);
  EXPECT_TRUE(lowered.result()) << lowered.result().error().message;
  const std::string name = table == "page_table.1" ? "look_back.1" : "look_back";
  const auto found = lowered.plan().properties.find(name);
  return found == lowered.plan().properties.end() ? -1 : found->second;
}

// Kernels read from the first key of the step in which a window begins: a page on CPUs, 8 of 32
// keys in decode on a GPU that shares much.
TEST(LoweringAttention, APlanSaysHowFarItsAttentionLooksBack) {
  const LoweringOptions cpu{cpuProfile()};
  EXPECT_EQ(lookBackOf("scale 0.25 window 100", "page_table", cpu), 99);
  EXPECT_EQ(lookBackOf("scale 0.25 chunk 100", "page_table.1", cpu), 99);
  const LoweringOptions gpu{simtProfile(128 * 1024)};
  EXPECT_EQ(lookBackOf("scale 0.25 window 100", "page_table", gpu), 99 + 7 * 32);
  EXPECT_EQ(lookBackOf("scale 0.25", "page_table", cpu), -1);
  EXPECT_EQ(lookBackOf("scale 0.25 window 100 both", "page_table", cpu), -1);
  EXPECT_EQ(lookBackOf("scale 0.25 window 4294967296", "page_table", cpu), -1);
  EXPECT_EQ(lookBackOf("scale 0.25 window 100", "pages", cpu), -1);
}

// kAttend over the runtime's own page table, on a GPU.
LoweringOptions listing() {
  LoweringOptions options{simtProfile(128 * 1024)};
  options.listsPartitions = true;
  return options;
}
std::string attendPages(const char *table) {
  std::string text = kAttend;
  return text.replace(text.find("\"pages\""), 7, table);
}

TEST(LoweringAttention, ListedPartitionsHaveAProgramAndMemoryEach) {
  Lowered lowered(attendPages("\"page_table\""), listing());
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  const auto &several = std::get<plan::If>(lowered.step<plan::If>(0).thenSteps.at(0).op);
  const auto &sum = std::get<plan::Launch>(several.thenSteps.at(0).op);
  const std::vector<std::string> arguments = lowered.arguments(sum);
  EXPECT_THAT(arguments, Contains("partitions"));
  EXPECT_THAT(arguments, Not(Contains("blocks")));
  EXPECT_THAT(lowered.arguments(std::get<plan::Launch>(several.thenSteps.at(1).op)),
              IsSupersetOf({"blocks", "partitions"}));
  EXPECT_EQ(lowered.text(sum.grid[0]), "W");
  EXPECT_EQ(lowered.plan().properties.at("partition_keys"), 256);
  std::vector<int64_t> values;
  for (const plan::Symbol &symbol : lowered.plan().symbols)
    values.push_back(symbol.name == "W" ? 7 : symbol.name == "G" ? 1 : 4096);
  EXPECT_EQ(*plan::evaluate(lowered.buffer(arguments[7]).bytes, values), 7 * 4 * 64 * 4);
  // No form that takes the partitions of a row in turn.
  EXPECT_TRUE(std::holds_alternative<plan::Launch>(several.elseSteps.at(0).op));
}

TEST(LoweringAttention, PartitionsThatNobodyListsAreAsManyOfEachRow) {
  for (const bool lists : {false, true}) {
    LoweringOptions options = listing();
    options.listsPartitions = lists;
    Lowered lowered(attendPages(lists ? "\"another\"" : "\"page_table\""), options);
    ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
    EXPECT_FALSE(plan::findBuffer(lowered.plan(), "partitions"));
    EXPECT_FALSE(plan::findSymbol(lowered.plan(), "W"));
  }
}

// A program of decode then has a whole group's 64 rows, of 2 heads each, and takes a page a step.
TEST(LoweringAttention, PipelinesOfDecodeTakeRowsOfAWholeGroup) {
  for (const bool pipelines : {false, true}) {
    LoweringOptions options = listing();
    if (pipelines)
      options.profile.matrixInstructions.push_back(
          {sched::MatrixElement::F16, 64, 64, 16, 128, /*sharedOperands=*/true});
    Lowered lowered(attendPages("\"page_table\""), options);
    ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
    const auto &several = std::get<plan::If>(lowered.step<plan::If>(0).thenSteps.at(0).op);
    const auto &whole = std::get<plan::Launch>(several.elseSteps.at(0).op);
    for (const auto *launch : {&std::get<plan::Launch>(several.thenSteps.at(0).op), &whole})
      EXPECT_EQ(lowered.kernelText(*launch).find("tensor<64x32xf32>") != std::string::npos,
                pipelines);
    // 64 rows of 2 heads: partitions of both heads fill a device.
    EXPECT_EQ(lowered.plan().properties.count("most_partitions"), pipelines ? 1 : 0);
    // What combines has the one row of a decode token.
    EXPECT_EQ(lowered.kernelText(std::get<plan::Launch>(several.thenSteps.at(1).op)).find("<64x"),
              std::string::npos);
  }
}

// Of a long sequence a window's keys alone are counted.
TEST(LoweringAttention, AWindowBoundsTheKeysThatAttentionMoves) {
  auto bytesOf = [](const std::string &words) {
    Lowered lowered(attendBy(words));
    EXPECT_TRUE(lowered.result()) << lowered.result().error().message;
    const auto &many = std::get<plan::Launch>(lowered.step<plan::If>(0).elseSteps.at(0).op);
    std::vector<int64_t> values;
    for (const plan::Symbol &symbol : lowered.plan().symbols)
      values.push_back(symbol.name == "K"   ? 1 << 20
                       : symbol.name == "T" ? 8
                                            : std::max<int64_t>(symbol.min, 1));
    return *plan::evaluate(many.bytesMoved, values);
  };
  constexpr int64_t kRow = 2 * 64 * 2 * 2; // heads, elements, bytes; keys and values
  EXPECT_EQ(bytesOf("scale 0.25") - bytesOf("scale 0.25 window 100"), ((1 << 20) - 108) * kRow);
  EXPECT_EQ(bytesOf("scale 0.25 chunk 100"), bytesOf("scale 0.25 window 100"));
  EXPECT_EQ(bytesOf("scale 0.25 window 4294967296"), bytesOf("scale 0.25"));
}

} // namespace
} // namespace sinter::engine
