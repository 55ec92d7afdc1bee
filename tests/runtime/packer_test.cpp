// Packing of weights against the recipe's definition, and streaming of the source.
#include "runtime/packer.h"

#include "hal/cpu/cpu_driver.h"
#include "plan/validate.h"

#include <gtest/gtest.h>
#include <random>

namespace sinter::runtime {
namespace {

using plan::PackField;
using plan::PackMode;
using plan::PackRecipe;
using Bytes = std::vector<uint8_t>;

// Notes what was given back.
class NotingSource final : public WeightSource {
public:
  Result<std::span<const uint8_t>> tensor(std::string_view name) override {
    return fail(Code::NotFound, "no tensor '" + std::string(name) + "'");
  }
  void release(std::span<const uint8_t> bytes) override { released += bytes.size(); }

  uint64_t released = 0;
};

// The definition, row by row and byte by byte.
Bytes packedByDefinition(const PackRecipe &recipe, const std::vector<Bytes> &tensors) {
  const std::size_t rowBytes = std::size_t(recipe.blocksPerRow) * recipe.blockBytes;
  Bytes source;
  for (const Bytes &tensor : tensors)
    source.insert(source.end(), tensor.begin(), tensor.end());
  const std::size_t atomBytes = rowBytes * recipe.rowsPerAtom;
  source.resize((source.size() + atomBytes - 1) / atomBytes * atomBytes);
  Bytes result;
  for (std::size_t group = 0; group < source.size(); group += atomBytes)
    for (uint32_t block = 0; block < recipe.blocksPerRow; ++block)
      for (const PackField &field : recipe.fields)
        for (uint32_t unit = 0; unit < field.bytes / field.unit; ++unit)
          for (uint32_t row = 0; row < recipe.rowsPerAtom; ++row)
            for (uint32_t byte = 0; byte < field.unit; ++byte)
              result.push_back(source[group + row * rowBytes + block * recipe.blockBytes +
                                      field.offset + unit * field.unit + byte] ^
                               field.xorByte);
  return result;
}

class PackerTest : public ::testing::TestWithParam<uint32_t> {
protected:
  void SetUp() override {
    ASSERT_TRUE(hal::addCpuDriver(registry_).has_value());
    device_ = std::move(*registry_.find("cpu").value()->open(0, {GetParam()}));
  }

  Bytes packed(const PackRecipe &recipe, const std::vector<Bytes> &tensors) {
    const std::vector<std::span<const uint8_t>> spans(tensors.begin(), tensors.end());
    Bytes result(packedBytes(recipe, spans).value());
    EXPECT_TRUE(pack(recipe, spans, result, *device_, source_).has_value());
    return result;
  }
  void expectAsDefined(const PackRecipe &recipe, const std::vector<std::size_t> &rows) {
    ASSERT_TRUE(plan::validateRecipe(recipe, "recipe").has_value());
    std::mt19937 random(1);
    std::vector<Bytes> tensors;
    for (std::size_t count : rows) {
      Bytes &tensor = tensors.emplace_back(count * recipe.blocksPerRow * recipe.blockBytes);
      for (uint8_t &byte : tensor)
        byte = static_cast<uint8_t>(random());
    }
    EXPECT_EQ(packed(recipe, tensors), packedByDefinition(recipe, tensors));
  }

  hal::DriverRegistry registry_;
  std::unique_ptr<hal::Device> device_;
  NotingSource source_;
};

TEST_P(PackerTest, ASmallCaseByHand) {
  // Two rows of one block of 4 bytes: first the last two bytes as one unit, then the first two
  // apart.
  const PackRecipe recipe{PackMode::Interleave, 2, 4, 1, {{2, 2, 2, 0}, {0, 2, 1, 0x80}}};
  EXPECT_EQ(packed(recipe, {{1, 2, 3, 4, 5, 6, 7, 8}}),
            (Bytes{3, 4, 7, 8, 0x81, 0x85, 0x82, 0x86}));
}

TEST_P(PackerTest, RowsBeyondTheLastAreZeroBlocks) {
  const PackRecipe recipe{PackMode::Interleave, 3, 1, 2, {{0, 1, 1, 0xf0}}};
  EXPECT_EQ(packed(recipe, {{1, 2}}), (Bytes{0xf1, 0xf0, 0xf0, 0xf2, 0xf0, 0xf0}));
}

TEST_P(PackerTest, EveryUnitSizeIsAsDefined) {
  for (uint32_t unit : {1, 2, 3, 4, 6, 8, 16, 24, 48})
    expectAsDefined({PackMode::Interleave, 4, 50, 3, {{2, 48, unit, 0x88}, {0, 2, 2, 0}}}, {13});
}

TEST_P(PackerTest, EveryRowCountIsAsDefined) {
  for (std::size_t rows : {0, 1, 7, 8, 9, 16, 17})
    expectAsDefined({PackMode::Interleave, 8, 18, 2, {{0, 2, 2, 0}, {2, 16, 4, 0}}}, {rows});
}

TEST_P(PackerTest, TensorsAreJoinedAlongRows) {
  expectAsDefined({PackMode::Interleave, 8, 18, 2, {{0, 2, 2, 0}, {2, 16, 4, 0}}}, {3, 0, 6, 1});
}

TEST_P(PackerTest, AWeightOfSeveralPartsIsAsDefinedAndAllOfItsSourceIsReleased) {
  // A part has at most 65536 rows, so these are four, one of them with rows of both tensors.
  const PackRecipe recipe{PackMode::Interleave, 4, 3, 1, {{1, 2, 1, 1}, {0, 1, 1, 0}}};
  expectAsDefined(recipe, {100001, 100002});
  EXPECT_EQ(source_.released, 3u * 200003u);
}

TEST_P(PackerTest, DirectJoinsTensorsAsTheyAre) {
  EXPECT_EQ(packed({}, {{1, 2}, {}, {3}}), (Bytes{1, 2, 3}));
  EXPECT_EQ(source_.released, 3u);
}

INSTANTIATE_TEST_SUITE_P(Threads, PackerTest, ::testing::Values(1, 2));

TEST(PackedBytes, ATensorThatIsNoWholeNumberOfRowsIsRefused) {
  const PackRecipe recipe{PackMode::Interleave, 2, 4, 3, {{0, 4, 4, 0}}};
  const Bytes tensor(13);
  const std::span<const uint8_t> tensors[] = {tensor};
  EXPECT_EQ(packedBytes(recipe, tensors).error().message,
            "a tensor has 13 bytes, expected rows of 12");
}

TEST(PackedBytes, RoundsUpToWholeGroupsOfRows) {
  const PackRecipe recipe{PackMode::Interleave, 4, 6, 2, {{0, 6, 6, 0}}};
  const Bytes tensor(36);
  const std::span<const uint8_t> tensors[] = {tensor, tensor};
  EXPECT_EQ(packedBytes(recipe, tensors).value(), 96u);
}

TEST(PackedBytes, AHugeRowOfAnEmptyTensorIsNothing) {
  const PackRecipe recipe{PackMode::Interleave, 1 << 16, 1 << 20, UINT32_MAX, {{0, 1 << 20, 1, 0}}};
  const std::span<const uint8_t> tensors[] = {{}};
  EXPECT_EQ(packedBytes(recipe, tensors).error().code, Code::InvalidArgument);
}

} // namespace
} // namespace sinter::runtime
