// Packing of weights against the recipe's definition, and streaming of the source.
#include "runtime/packer.h"

#include "hal/cpu/cpu_driver.h"
#include "plan/validate.h"

#include <gtest/gtest.h>
#include <numeric>
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
  void release(std::span<const uint8_t> bytes) override {
    released += bytes.size();
    ++releases;
  }

  uint64_t released = 0;
  uint64_t releases = 0;
};

// The source rows in the order of the destination, by the definition of a segment.
std::vector<std::size_t> sourceRows(const PackRecipe &recipe, std::size_t rows) {
  std::vector<std::size_t> result;
  for (const plan::RowSegment &segment : recipe.rowOrder) {
    std::size_t count = 1;
    for (const plan::RowMode &mode : segment.modes)
      count *= mode.extent;
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t row = segment.firstSource, rest = i;
      for (const plan::RowMode &mode : segment.modes) {
        row += rest % mode.extent * mode.stride;
        rest /= mode.extent;
      }
      result.push_back(row);
    }
  }
  if (recipe.rowOrder.empty()) {
    result.resize(rows);
    std::iota(result.begin(), result.end(), 0);
  }
  return result;
}

// The definition, row by row and byte by byte.
Bytes packedByDefinition(const PackRecipe &recipe, const std::vector<Bytes> &tensors) {
  const std::size_t rowBytes = std::size_t(recipe.blocksPerRow) * recipe.blockBytes;
  Bytes joined, source;
  for (const Bytes &tensor : tensors)
    joined.insert(joined.end(), tensor.begin(), tensor.end());
  for (std::size_t row : sourceRows(recipe, joined.size() / rowBytes))
    source.insert(source.end(), joined.begin() + static_cast<std::ptrdiff_t>(row * rowBytes),
                  joined.begin() + static_cast<std::ptrdiff_t>((row + 1) * rowBytes));
  const std::size_t atomBytes = rowBytes * recipe.rowsPerAtom;
  source.resize((source.size() + atomBytes - 1) / atomBytes * atomBytes);
  Bytes result(source.size());
  for (std::size_t group = 0; group < source.size(); group += atomBytes)
    for (uint32_t block = 0; block < recipe.blocksPerRow; ++block)
      for (const PackField &field : recipe.fields)
        for (uint32_t unit = 0; unit < field.bytes / field.unit; ++unit)
          for (uint32_t row = 0; row < recipe.rowsPerAtom; ++row)
            for (uint32_t byte = 0; byte < field.unit; ++byte)
              result[group +
                     (block * recipe.blockBytes + field.place + unit * field.step) *
                         recipe.rowsPerAtom +
                     row * field.unit + byte] =
                  source[group + row * rowBytes + block * recipe.blockBytes + field.offset +
                         unit * field.unit + byte] ^
                  field.xorByte;
  return result;
}

std::vector<Bytes> randomTensors(const PackRecipe &recipe, const std::vector<std::size_t> &rows) {
  std::mt19937 random(1);
  std::vector<Bytes> tensors;
  for (std::size_t count : rows) {
    Bytes &tensor = tensors.emplace_back(count * recipe.blocksPerRow * recipe.blockBytes);
    for (uint8_t &byte : tensor)
      byte = static_cast<uint8_t>(random());
  }
  return tensors;
}

PackRecipe orderedRecipe(std::vector<plan::RowSegment> order) {
  return {PackMode::Interleave, 8, 18, 2, plan::consecutive({{0, 2, 2, 0}, {2, 16, 4, 0x88}}),
          std::move(order)};
}

// Gate and up of 1536 rows each, in turns of 32.
const std::vector<plan::RowSegment> kGateUp = {{0, {{32, 1}, {2, 1536}, {48, 32}}}};
// Nine heads of 64 rows whose pairs (2i, 2i + 1) become halves.
const std::vector<plan::RowSegment> kHalves = {{0, {{32, 2}, {2, 1}, {9, 64}}}};

class PackerTest : public ::testing::TestWithParam<uint32_t> {
protected:
  void SetUp() override {
    ASSERT_TRUE(hal::addCpuDriver(registry_).has_value());
    device_ = std::move(*registry_.find("cpu").value()->open(0, {GetParam()}));
  }

  // What the parts give when they are put together; each begins where the one before it ended.
  Bytes packedInParts(const PackRecipe &recipe, const std::vector<Bytes> &tensors,
                      std::size_t &largest) {
    const std::vector<std::span<const uint8_t>> spans(tensors.begin(), tensors.end());
    Bytes result;
    NotingSource source;
    const auto done = packInParts(
        recipe, spans,
        [&](uint64_t offset, std::span<const uint8_t> part) -> Result<void> {
          EXPECT_EQ(offset, result.size());
          largest = std::max(largest, part.size());
          result.insert(result.end(), part.begin(), part.end());
          return {};
        },
        *device_, source);
    EXPECT_TRUE(done.has_value()) << done.error().toString();
    return result;
  }

  Bytes packed(const PackRecipe &recipe, const std::vector<Bytes> &tensors) {
    const std::vector<std::span<const uint8_t>> spans(tensors.begin(), tensors.end());
    Bytes result(packedBytes(recipe, spans).value());
    EXPECT_TRUE(pack(recipe, spans, result, *device_, source_).has_value());
    return result;
  }
  void expectAsDefined(const PackRecipe &recipe, const std::vector<std::size_t> &rows) {
    ASSERT_TRUE(plan::validateRecipe(recipe, "recipe").has_value());
    const std::vector<Bytes> tensors = randomTensors(recipe, rows);
    EXPECT_EQ(packed(recipe, tensors), packedByDefinition(recipe, tensors));
  }
  Status errorOf(const PackRecipe &recipe, const std::vector<std::size_t> &rows) {
    EXPECT_TRUE(plan::validateRecipe(recipe, "recipe").has_value());
    const std::vector<Bytes> tensors = randomTensors(recipe, rows);
    const std::vector<std::span<const uint8_t>> spans(tensors.begin(), tensors.end());
    Bytes result(packedBytes(recipe, spans).value());
    auto ok = pack(recipe, spans, result, *device_, source_);
    EXPECT_FALSE(ok.has_value());
    return ok ? Status{Code::Internal, ""} : ok.error();
  }

  hal::DriverRegistry registry_;
  std::unique_ptr<hal::Device> device_;
  NotingSource source_;
};

TEST_P(PackerTest, ASmallCaseByHand) {
  // Two rows of one block of 4 bytes: first the last two bytes as one unit, then the first two
  // apart.
  const PackRecipe recipe{PackMode::Interleave, 2, 4, 1,
                          plan::consecutive({{2, 2, 2, 0}, {0, 2, 1, 0x80}})};
  EXPECT_EQ(packed(recipe, {{1, 2, 3, 4, 5, 6, 7, 8}}),
            (Bytes{3, 4, 7, 8, 0x81, 0x85, 0x82, 0x86}));
}

TEST_P(PackerTest, RowsBeyondTheLastAreZeroBlocks) {
  const PackRecipe recipe{PackMode::Interleave, 3, 1, 2, plan::consecutive({{0, 1, 1, 0xf0}})};
  EXPECT_EQ(packed(recipe, {{1, 2}}), (Bytes{0xf1, 0xf0, 0xf0, 0xf2, 0xf0, 0xf0}));
}

TEST_P(PackerTest, EveryUnitSizeIsAsDefined) {
  for (uint32_t unit : {1, 2, 3, 4, 6, 8, 16, 24, 48})
    expectAsDefined(
        {PackMode::Interleave, 4, 50, 3, plan::consecutive({{2, 48, unit, 0x88}, {0, 2, 2, 0}})},
        {13});
}

TEST_P(PackerTest, UnitsInTurnsAreAsDefined) {
  for (uint32_t bytes : {4, 12, 16, 32})
    for (uint32_t unit : {1, 2, 4})
      for (uint32_t rows : {3, 16}) {
        const PackField last{2 * bytes, bytes, unit, 0x80, 8, unit, 3 * unit};
        expectAsDefined({PackMode::Interleave,
                         rows,
                         3 * bytes,
                         2,
                         {{0, bytes, unit, 0, 8, 0, 3 * unit},
                          {bytes, bytes, unit, 0, 8, 2 * unit, 3 * unit},
                          last}},
                        {33});
      }
}

TEST_P(PackerTest, EveryRowCountIsAsDefined) {
  for (std::size_t rows : {0, 1, 7, 8, 9, 16, 17})
    expectAsDefined(
        {PackMode::Interleave, 8, 18, 2, plan::consecutive({{0, 2, 2, 0}, {2, 16, 4, 0}})}, {rows});
}

TEST_P(PackerTest, TensorsAreJoinedAlongRows) {
  expectAsDefined(
      {PackMode::Interleave, 8, 18, 2, plan::consecutive({{0, 2, 2, 0}, {2, 16, 4, 0}})},
      {3, 0, 6, 1});
}

TEST_P(PackerTest, AWeightOfSeveralPartsIsAsDefinedAndAllOfItsSourceIsReleased) {
  // A part has at most 65536 rows, so these are four, one of them with rows of both tensors.
  const PackRecipe recipe{PackMode::Interleave, 4, 3, 1,
                          plan::consecutive({{1, 2, 1, 1}, {0, 1, 1, 0}})};
  expectAsDefined(recipe, {100001, 100002});
  EXPECT_EQ(source_.released, 3u * 200003u);
}

TEST_P(PackerTest, ARowOrderByHand) {
  PackRecipe recipe{PackMode::Interleave, 2, 1, 1, plan::consecutive({{0, 1, 1, 0}})};
  recipe.rowOrder = {{4, {}}, {0, {{2, 2}, {2, 1}}}};
  EXPECT_EQ(packed(recipe, {{10, 11}, {12, 13, 14}}), (Bytes{14, 10, 12, 11, 13, 0}));
}

TEST_P(PackerTest, TheIdentityOrderIsNoOrder) {
  for (const std::vector<plan::RowSegment> &order :
       {std::vector<plan::RowSegment>{{0, {{13, 1}}}}, {{0, {{4, 1}, {3, 4}}}, {12, {}}}}) {
    const auto tensors = randomTensors(orderedRecipe({}), {6, 7});
    EXPECT_EQ(packed(orderedRecipe(order), tensors), packed(orderedRecipe({}), tensors));
  }
}

TEST_P(PackerTest, GateAndUpInTurnsAreAsDefined) {
  expectAsDefined(orderedRecipe(kGateUp), {1536, 1536});
}

TEST_P(PackerTest, PairsThatBecomeHalvesAreAsDefined) {
  expectAsDefined(orderedRecipe(kHalves), {576});
}

TEST_P(PackerTest, AnOrderAcrossTensorsAndIntoPaddingIsAsDefined) {
  expectAsDefined(orderedRecipe({{12, {}}, {0, {{3, 4}, {4, 1}}}}), {5, 0, 1, 7});
}

TEST_P(PackerTest, AnOrderOverSeveralPartsIsAsDefinedAndReleasesEachRowOnce) {
  // A transpose, so that every part takes rows from end to end of both tensors.
  PackRecipe recipe{PackMode::Interleave, 4, 3, 1, plan::consecutive({{1, 2, 1, 1}, {0, 1, 1, 0}})};
  recipe.rowOrder = {{0, {{500, 401}, {401, 1}}}};
  expectAsDefined(recipe, {100000, 100500});
  EXPECT_EQ(source_.released, 3u * 200500u);
}

TEST_P(PackerTest, NeighboursAreReleasedAsOne) {
  (void)packed(orderedRecipe(kHalves), randomTensors(orderedRecipe({}), {576}));
  EXPECT_EQ(source_.releases, 1u);
}

TEST_P(PackerTest, AnOrderThatTakesARowTwiceIsRefused) {
  const Status error = errorOf(orderedRecipe({{0, {{2, 1}, {2, 1}}}}), {4});
  EXPECT_EQ(error.code, Code::InvalidArgument);
  EXPECT_EQ(error.message, "the row order takes row 1 twice, expected each of 4 once");
  EXPECT_EQ(errorOf(orderedRecipe({{0, {{6, 1}}}, {5, {{2, 1}}}}), {8}).message,
            "the row order takes row 5 twice, expected each of 8 once");
  EXPECT_EQ(source_.releases, 0u);
}

TEST_P(PackerTest, AnOrderOfMoreOrFewerRowsThanTheTensorsIsRefused) {
  // Five and seven rows pack to the one group that six do.
  for (std::size_t rows : {5, 7, 0}) {
    const Status error = errorOf(orderedRecipe({{0, {{6, 1}}}}), {rows});
    EXPECT_EQ(error.code, Code::InvalidArgument);
    EXPECT_EQ(error.message, "the row order has 6 rows, the tensors have " + std::to_string(rows));
  }
}

TEST_P(PackerTest, AnOrderOfWildSizeIsRefusedBeforeItIsWalked) {
  const Status error = errorOf(orderedRecipe({{0, {{UINT32_MAX, 1}, {UINT32_MAX, 0}}}}), {8});
  EXPECT_EQ(error.message, "the row order has 18446744065119617025 rows, the tensors have 8");
}

TEST_P(PackerTest, DirectJoinsTensorsAsTheyAre) {
  EXPECT_EQ(packed({}, {{1, 2}, {}, {3}}), (Bytes{1, 2, 3}));
  EXPECT_EQ(source_.released, 3u);
}

TEST_P(PackerTest, PartsTogetherAreTheWholeAndNoneIsLarge) {
  constexpr std::size_t kMostBytes = std::size_t{33} << 20;
  const PackRecipe recipe{
      PackMode::Interleave, 16, 1024, 4, plan::consecutive({{0, 1024, 4, 0x80}}), {}};
  const auto tensors = randomTensors(recipe, {9000, 9003});
  std::size_t largest = 0;
  const Bytes found = packedInParts(recipe, tensors, largest);
  EXPECT_TRUE(found == packed(recipe, tensors));
  EXPECT_LT(largest, kMostBytes);
  EXPECT_GT(found.size(), 2 * kMostBytes);
}

TEST_P(PackerTest, PartsOfOrderedRowsTogetherAreTheWhole) {
  const PackRecipe recipe = orderedRecipe(kGateUp);
  const auto tensors = randomTensors(recipe, {1536, 1536});
  std::size_t largest = 0;
  EXPECT_TRUE(packedInParts(recipe, tensors, largest) == packed(recipe, tensors));
}

TEST_P(PackerTest, PartsOfTensorsAsTheyAreJoinThem) {
  const PackRecipe recipe;
  const std::vector<Bytes> tensors = {Bytes(std::size_t{40} << 20, 1), {}, Bytes(7, 2)};
  std::size_t largest = 0;
  EXPECT_TRUE(packedInParts(recipe, tensors, largest) == packed(recipe, tensors));
}

TEST_P(PackerTest, AnErrorOfTheSinkEndsThePacking) {
  const PackRecipe recipe = orderedRecipe(kHalves);
  const auto tensors = randomTensors(recipe, {576});
  const std::vector<std::span<const uint8_t>> spans(tensors.begin(), tensors.end());
  NotingSource source;
  int calls = 0;
  const auto done = packInParts(
      recipe, spans,
      [&](uint64_t, std::span<const uint8_t>) -> Result<void> {
        ++calls;
        return fail(Code::DeviceLost, "gone");
      },
      *device_, source);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().message, "gone");
  EXPECT_EQ(calls, 1);
}

INSTANTIATE_TEST_SUITE_P(Threads, PackerTest, ::testing::Values(1, 2));

TEST(PackedBytes, ATensorThatIsNoWholeNumberOfRowsIsRefused) {
  const PackRecipe recipe{PackMode::Interleave, 2, 4, 3, plan::consecutive({{0, 4, 4, 0}})};
  const Bytes tensor(13);
  const std::span<const uint8_t> tensors[] = {tensor};
  EXPECT_EQ(packedBytes(recipe, tensors).error().message,
            "a tensor has 13 bytes, expected rows of 12");
}

TEST(PackedBytes, RoundsUpToWholeGroupsOfRows) {
  const PackRecipe recipe{PackMode::Interleave, 4, 6, 2, plan::consecutive({{0, 6, 6, 0}})};
  const Bytes tensor(36);
  const std::span<const uint8_t> tensors[] = {tensor, tensor};
  EXPECT_EQ(packedBytes(recipe, tensors).value(), 96u);
}

TEST(PackedBytes, AHugeRowOfAnEmptyTensorIsNothing) {
  const PackRecipe recipe{PackMode::Interleave, 1 << 16, 1 << 20, UINT32_MAX,
                          plan::consecutive({{0, 1 << 20, 1, 0}})};
  const std::span<const uint8_t> tensors[] = {{}};
  EXPECT_EQ(packedBytes(recipe, tensors).error().code, Code::InvalidArgument);
}

} // namespace
} // namespace sinter::runtime
