// Packing recipes: what they keep of each format, and which formats have none.
#include "engine/choice/packing.h"
#include "engine/elements.h"
#include "numeric/formats/dot_packing.h"
#include "plan/validate.h"
#include "tile/mlir_pch.h"

#include <gtest/gtest.h>

namespace sinter::engine {
namespace {

class Weights : public testing::Test {
protected:
  Weights() { context_.loadDialect<tile::TileDialect>(); }
  mlir::Type block(llvm::StringRef name) { return tile::BlockType::get(&context_, name); }

  mlir::MLIRContext context_;
};

TEST_F(Weights, EveryRecipeIsOneThatPlansAccept) {
  for (mlir::Type element : {block("q4_0"), block("q5_1"), block("q8_0"), block("nvfp4"),
                             mlir::Type(mlir::Float32Type::get(&context_)),
                             mlir::Type(mlir::Float16Type::get(&context_)),
                             mlir::Type(mlir::BFloat16Type::get(&context_))}) {
    auto recipe = interleavedRecipe(element, 192, kInterleavedRows);
    ASSERT_TRUE(recipe) << recipe.error().message;
    auto valid = plan::validateRecipe(*recipe, "recipe");
    EXPECT_TRUE(valid) << valid.error().message;
  }
}

TEST_F(Weights, PlainElementsMoveOneByOne) {
  auto recipe = interleavedRecipe(mlir::Float16Type::get(&context_), 96, kInterleavedRows);
  ASSERT_TRUE(recipe) << recipe.error().message;
  EXPECT_EQ(recipe->mode, plan::PackMode::Interleave);
  EXPECT_EQ(recipe->rowsPerAtom, kInterleavedRows);
  EXPECT_EQ(recipe->blockBytes, 2u);
  EXPECT_EQ(recipe->blocksPerRow, 96u);
  EXPECT_EQ(recipe->fields, plan::consecutive({{0, 2, 2, 0}}));
}

TEST_F(Weights, BlocksMoveAsTheIntegerDotReadsThem) {
  auto recipe = interleavedRecipe(block("q4_1"), 96, kInterleavedRows);
  ASSERT_TRUE(recipe) << recipe.error().message;
  EXPECT_EQ(recipe->blockBytes, 20u);
  EXPECT_EQ(recipe->blocksPerRow, 3u);
  EXPECT_EQ(recipe->fields, plan::consecutive({{0, 4, 2, 0}, {4, 16, 4, 0}}));
}

TEST_F(Weights, SignedCodesBecomeUnsignedOnes) {
  auto recipe = interleavedRecipe(block("q8_0"), 64, kInterleavedRows);
  ASSERT_TRUE(recipe) << recipe.error().message;
  EXPECT_EQ(recipe->fields, plan::consecutive({{0, 2, 2, 0}, {2, 32, 4, 0x80}}));
}

TEST_F(Weights, BitsOfNeighboursTurnIntoNeighbouringBytes) {
  auto recipe = interleavedRecipe(block("q5_0"), 64, kInterleavedRows);
  ASSERT_TRUE(recipe) << recipe.error().message;
  EXPECT_EQ(recipe->fields, plan::consecutive({{0, 2, 2, 0}, {2, 4, 4, 0, 1}, {6, 16, 4, 0}}));
}

TEST_F(Weights, ScalesWithinABlockMoveByteByByte) {
  auto recipe = interleavedRecipe(block("q6_k"), 512, kInterleavedRows);
  ASSERT_TRUE(recipe) << recipe.error().message;
  // Four stretches of 32 elements share their high bits, two each of them their low ones: words of
  // the three lie in turns.
  EXPECT_EQ(recipe->fields, (std::vector<plan::PackField>{{0, 32, 4, 0, 8, 0, 12},
                                                          {128, 32, 4, 0, 8, 4, 12},
                                                          {32, 32, 4, 0, 8, 8, 12},
                                                          {64, 32, 4, 0, 8, 96, 12},
                                                          {160, 32, 4, 0, 8, 100, 12},
                                                          {96, 32, 4, 0, 8, 104, 12},
                                                          {192, 16, 1, 0, 8, 192, 1},
                                                          {208, 2, 2, 0, 8, 208, 2}}));
}

TEST_F(Weights, AFormatWithoutPackingIsNamedInOneSentence) {
  int refused = 0;
  for (const BlockFormat &format : blockFormats()) {
    if (format.isPlain())
      continue;
    auto recipe =
        interleavedRecipe(block(llvm::StringRef(format.name).lower()), 256, kInterleavedRows);
    if (recipe)
      continue;
    ++refused;
    EXPECT_EQ(recipe.error().code, Code::Unsupported);
    EXPECT_NE(recipe.error().message.find(format.name), std::string::npos)
        << recipe.error().message;
    EXPECT_EQ(recipe.error().message.find('\n'), std::string::npos);
  }
  EXPECT_GT(refused, 0);
}

TEST_F(Weights, ScalesOfActivationsAreAsLongAsRegistersAllow) {
  auto nameFor = [](std::string_view weights, int64_t elements, TargetKind kind = TargetKind::Cpu) {
    return activationFor(findBlockFormat(weights), {kind, Activations::Fastest, elements})->name;
  };
  EXPECT_EQ(nameFor("Q6_K", 384), "Q8A_16_256");
  EXPECT_EQ(nameFor("Q6_K", 96), "Q8A_16");
  EXPECT_EQ(nameFor("Q4_K", 256), "Q8A_256");
  EXPECT_EQ(nameFor("Q4_1", 384), "Q8A");
  EXPECT_EQ(nameFor("Q8_0", 384), "Q8A");
  EXPECT_EQ(nameFor("Q4_1", 384, TargetKind::Simt), "Q8A");
  EXPECT_EQ(nameFor("Q8_0", 384, TargetKind::Simt), "Q8A");
}

TEST_F(Weights, ElementsTakeTheBytesOfTheirFormat) {
  EXPECT_EQ(elementBytes(block("q4_1")).bytes, 20);
  EXPECT_EQ(elementBytes(block("q4_1")).length, 32);
  EXPECT_EQ(elementBytes(block("q8a")).bytes, 44);
  EXPECT_EQ(elementBytes(mlir::BFloat16Type::get(&context_)).bytes, 2);
  EXPECT_EQ(blockFormatOf(block("q8a")), nullptr);
}

} // namespace
} // namespace sinter::engine
