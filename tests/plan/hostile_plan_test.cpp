// Plan files that lie: cut off, bits flipped, wild counts and ids, all with a checksum that
// matches.
#include "plan/file.h"

#include "plan/sample_plan.h"
#include "plan/validate.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::plan {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes sampleBytes() {
  return serialize(samplePlan()).value();
}

uint64_t number(const Bytes &bytes, std::size_t at, int width) {
  uint64_t value = 0;
  for (int i = 0; i < width; ++i)
    value |= uint64_t(bytes[at + i]) << (8 * i);
  return value;
}

void put(Bytes &bytes, std::size_t at, uint64_t value, int width) {
  for (int i = 0; i < width; ++i)
    bytes[at + i] = static_cast<uint8_t>(value >> (8 * i));
}

// Where each section's header begins, and last the end of the last one.
std::vector<std::size_t> sectionStarts(const Bytes &bytes) {
  std::vector<std::size_t> starts;
  for (std::size_t at = kPlanHeaderBytes; at < bytes.size() - kPlanChecksumBytes;
       at += 12 + number(bytes, at + 4, 8))
    starts.push_back(at);
  starts.push_back(bytes.size() - kPlanChecksumBytes);
  return starts;
}

// Makes length and checksum match, so that only the fault itself can be noticed.
Bytes sealed(Bytes bytes) {
  put(bytes, 16, bytes.size(), 8);
  sealPlan(bytes);
  return bytes;
}

Status errorOf(const Bytes &bytes) {
  auto plan = parse(bytes);
  EXPECT_FALSE(plan.has_value());
  return plan ? Status{Code::Internal, ""} : plan.error();
}

// The first contents byte of section `index`, in the order of the file.
std::size_t contents(const Bytes &bytes, std::size_t index) {
  return sectionStarts(bytes)[index] + 12;
}

TEST(HostilePlan, EveryPrefixIsRefused) {
  const Bytes bytes = sampleBytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    auto plan = parse(std::span(bytes).first(size));
    ASSERT_FALSE(plan.has_value()) << size;
    EXPECT_EQ(plan.error().code, Code::Truncated) << size;
  }
}

TEST(HostilePlan, EveryFlippedByteIsRefused) {
  const Bytes bytes = sampleBytes();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    Bytes flipped = bytes;
    flipped[at] ^= 1 << (at % 8);
    EXPECT_FALSE(parse(flipped).has_value()) << at;
  }
}

TEST(HostilePlan, EveryFlippedBitUnderARightChecksumIsRefusedOrGivesAValidPlan) {
  const Bytes bytes = sampleBytes();
  std::size_t refused = 0;
  for (std::size_t bit = 8 * kPlanHeaderBytes; bit < 8 * (bytes.size() - 16); ++bit) {
    Bytes flipped = bytes;
    flipped[bit / 8] ^= 1 << (bit % 8);
    auto plan = parse(sealed(flipped));
    refused += !plan.has_value();
    if (plan)
      EXPECT_TRUE(validate(*plan).has_value()) << bit;
  }
  EXPECT_GT(refused, bytes.size());
}

TEST(HostilePlan, ASectionCutShortAtAnyByteIsRefused) {
  const Bytes bytes = sampleBytes();
  const auto starts = sectionStarts(bytes);
  ASSERT_EQ(starts.size(), 7u);
  for (std::size_t s = 0; s + 1 < starts.size(); ++s)
    for (std::size_t end = starts[s] + 12; end < starts[s + 1]; ++end) {
      Bytes cut(bytes.begin(), bytes.begin() + end);
      cut.insert(cut.end(), bytes.begin() + starts[s + 1], bytes.end());
      put(cut, starts[s] + 4, end - starts[s] - 12, 8);
      const Status error = errorOf(sealed(cut));
      EXPECT_EQ(error.code, Code::Corrupt) << s << " " << end;
      EXPECT_TRUE(error.byteOffset.has_value()) << s << " " << end << ": " << error.message;
    }
}

TEST(HostilePlan, AMissingSectionIsRefused) {
  const Bytes bytes = sampleBytes();
  const auto starts = sectionStarts(bytes);
  for (std::size_t s = 0; s + 1 < starts.size(); ++s) {
    Bytes cut(bytes.begin(), bytes.begin() + starts[s]);
    cut.insert(cut.end(), bytes.begin() + starts[s + 1], bytes.end());
    EXPECT_EQ(errorOf(sealed(cut)).code, Code::Corrupt) << s;
  }
}

TEST(HostilePlan, ASectionTwiceIsRefused) {
  Bytes bytes = sampleBytes();
  const auto starts = sectionStarts(bytes);
  const Bytes last(bytes.begin() + starts[5], bytes.begin() + starts[6]);
  bytes.insert(bytes.begin() + starts[6], last.begin(), last.end());
  EXPECT_THAT(errorOf(sealed(bytes)).message, ::testing::HasSubstr("follow the last section"));
}

TEST(HostilePlan, ALeftOverByteInASectionIsRefused) {
  const Bytes bytes = sampleBytes();
  const auto starts = sectionStarts(bytes);
  for (std::size_t s = 0; s + 1 < starts.size(); ++s) {
    Bytes longer = bytes;
    longer.insert(longer.begin() + starts[s + 1], 0);
    put(longer, starts[s] + 4, number(bytes, starts[s] + 4, 8) + 1, 8);
    EXPECT_THAT(errorOf(sealed(longer)).message, ::testing::HasSubstr("left over")) << s;
  }
}

TEST(HostilePlan, AHugeSectionLengthIsRefused) {
  const Bytes bytes = sampleBytes();
  for (std::size_t s = 0; s < 6; ++s)
    for (uint64_t size : {UINT64_MAX, UINT64_MAX - 11, uint64_t(1) << 63, uint64_t(bytes.size())}) {
      Bytes wild = bytes;
      put(wild, sectionStarts(bytes)[s] + 4, size, 8);
      EXPECT_THAT(errorOf(sealed(wild)).message, ::testing::HasSubstr("are left")) << s;
    }
}

TEST(HostilePlan, AHugeCountIsRefusedBeforeAnythingIsAllocatedForIt) {
  const Bytes bytes = sampleBytes();
  for (std::size_t s = 1; s < 6; ++s) {
    Bytes wild = bytes;
    put(wild, contents(bytes, s), UINT32_MAX, 4);
    const Status error = errorOf(sealed(wild));
    EXPECT_THAT(error.message, ::testing::HasSubstr("4294967295 ")) << s;
    EXPECT_EQ(error.byteOffset, contents(bytes, s)) << s;
  }
}

TEST(HostilePlan, EveryThirtyTwoBitsSetIsRefusedOrGivesAValidPlan) {
  const Bytes bytes = sampleBytes();
  for (std::size_t at = kPlanHeaderBytes; at + 4 <= bytes.size() - 16; ++at) {
    Bytes wild = bytes;
    put(wild, at, UINT32_MAX, 4);
    auto plan = parse(sealed(wild));
    if (plan)
      EXPECT_TRUE(validate(*plan).has_value()) << at;
    else
      EXPECT_EQ(plan.error().code, Code::Corrupt) << at;
  }
}

TEST(HostilePlan, AnotherMagicIsNoPlan) {
  Bytes bytes = sampleBytes();
  bytes[0] = 'X';
  EXPECT_EQ(errorOf(sealed(bytes)).byteOffset, 0u);
  EXPECT_THAT(errorOf({'G', 'G', 'U', 'F'}).message, ::testing::HasSubstr("not a plan file"));
}

TEST(HostilePlan, AnotherVersionIsUnsupportedNotCorrupt) {
  Bytes bytes = sampleBytes();
  put(bytes, 8, kPlanVersion + 1, 4);
  EXPECT_EQ(errorOf(sealed(bytes)).code, Code::Unsupported);
}

TEST(HostilePlan, TheVersionBeforeThisOneIsUnsupported) {
  Bytes bytes = sampleBytes();
  put(bytes, 8, kPlanVersion - 1, 4);
  EXPECT_EQ(errorOf(sealed(bytes)).message, "plan file has version 10, expected 11");
}

TEST(HostilePlan, HugeCountsOfRowSegmentsAndModesAreRefusedWhereTheyStand) {
  const Bytes bytes = sampleBytes();
  // The sample's three segments, the first of which begins at row 1 and has two modes.
  const Bytes order = {3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0};
  const auto at = static_cast<std::size_t>(
      std::search(bytes.begin(), bytes.end(), order.begin(), order.end()) - bytes.begin());
  ASSERT_LT(at, bytes.size());
  for (auto [where, limit] : {std::pair(at, kMaxRowSegments), {at + 8, kMaxRowModes}})
    for (uint32_t count : {limit + 1, UINT32_MAX}) {
      Bytes wild = bytes;
      put(wild, where, count, 4);
      const Status error = errorOf(sealed(wild));
      EXPECT_THAT(error.message, ::testing::HasSubstr(std::to_string(count) + " row "));
      EXPECT_EQ(error.byteOffset, where);
    }
}

TEST(HostilePlan, AKernelThatNeitherOverlapsNorDoesNotIsRefusedByName) {
  Plan plan = samplePlan();
  plan.kernels.at(0).overlaps = false;
  Bytes bytes = serialize(plan).value();
  plan.kernels.at(0).overlaps = true;
  const Bytes other = serialize(plan).value();
  EXPECT_EQ(parse(other).value(), plan);
  const auto at = std::mismatch(bytes.begin(), bytes.end() - kPlanChecksumBytes, other.begin());
  *at.first = 2;
  EXPECT_THAT(errorOf(sealed(bytes)).message,
              ::testing::HasSubstr("kernel 0 overlaps launches by 2, expected 0 or 1"));
}

TEST(HostilePlan, ASymbolThatIsNeitherComputedNorBoundIsRefusedByNumber) {
  Plan plan = samplePlan();
  Bytes bytes = serialize(plan).value();
  plan.symbols.at(1).computed = plan.symbols.at(2).computed;
  plan.procedures.clear(); // a loop counts it
  plan.symbols.at(2).computed.reset();
  const Bytes other = serialize(plan).value();
  const auto at =
      std::mismatch(bytes.begin() + static_cast<std::ptrdiff_t>(contents(bytes, 1)), bytes.end(),
                    other.begin() + static_cast<std::ptrdiff_t>(contents(bytes, 1)));
  ASSERT_EQ(*at.first, 0);
  *at.first = 2;
  EXPECT_THAT(errorOf(sealed(bytes)).message,
              ::testing::HasSubstr("symbol 1 is computed by 2, expected 0 or 1"));
}

TEST(HostilePlan, MoreDevicesThanTheLimitAreRefusedWhereTheyStand) {
  Bytes bytes = sampleBytes();
  const Bytes devices = {2, 0, 0, 0, 5, 0, 0, 0, 'f', 'i', 'r', 's', 't'};
  const auto at = static_cast<std::size_t>(
      std::search(bytes.begin(), bytes.end(), devices.begin(), devices.end()) - bytes.begin());
  ASSERT_LT(at, bytes.size());
  for (uint32_t count : {kMaxDevices + 1, UINT32_MAX}) {
    put(bytes, at, count, 4);
    const Status error = errorOf(sealed(bytes));
    EXPECT_THAT(error.message, ::testing::HasSubstr(std::to_string(count) + " devices"));
    EXPECT_EQ(error.byteOffset, at);
  }
}

TEST(HostilePlan, AnotherNumberOfSectionsIsRefused) {
  Bytes bytes = sampleBytes();
  put(bytes, 12, 7, 4);
  EXPECT_EQ(errorOf(sealed(bytes)).byteOffset, 12u);
}

TEST(HostilePlan, BytesAfterTheEndAreRefused) {
  Bytes bytes = sampleBytes();
  const std::size_t size = bytes.size();
  bytes.push_back(0);
  EXPECT_EQ(errorOf(bytes).byteOffset, size);
}

TEST(HostilePlan, TwoPropertiesOfTheSameNameAreRefused) {
  Plan plan = samplePlan();
  plan.properties = {{"first", 1}, {"vocab", 2}};
  Bytes bytes = serialize(plan).value();
  const auto at = std::string(bytes.begin(), bytes.end()).find("first");
  std::copy_n("vocab", 5, bytes.begin() + static_cast<std::ptrdiff_t>(at));
  EXPECT_THAT(errorOf(sealed(bytes)).message, ::testing::HasSubstr("two properties"));
}

// A file of an empty plan whose last section holds `steps` as the steps of one procedure "p".
Bytes withSteps(const Bytes &steps) {
  Bytes bytes = serialize(Plan{}).value();
  const std::size_t at = sectionStarts(bytes)[5] + 12;
  Bytes section = {1, 0, 0, 0, 1, 0, 0, 0, 'p'};
  section.insert(section.end(), steps.begin(), steps.end());
  bytes.resize(at);
  put(bytes, at - 8, section.size(), 8);
  bytes.insert(bytes.end(), section.begin(), section.end());
  bytes.resize(bytes.size() + kPlanChecksumBytes);
  return sealed(bytes);
}

// "if 0" and its start of inner steps: tag 4, an expression of one node, constant 0.
const Bytes kIf = {4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

Bytes repeated(const Bytes &part, std::size_t times) {
  Bytes result;
  for (std::size_t i = 0; i < times; ++i)
    result.insert(result.end(), part.begin(), part.end());
  return result;
}

TEST(HostilePlan, TheStepBuilderOfThisTestWritesSoundPlans) {
  Bytes steps = kIf;
  steps.insert(steps.end(), {6, 0, 0});
  auto plan = parse(withSteps(steps));
  ASSERT_TRUE(plan.has_value()) << plan.error().toString();
  EXPECT_EQ(plan->procedures[0].steps.size(), 1u);
}

TEST(HostilePlan, AMillionNestedStepsAreRefusedAtTheLimit) {
  EXPECT_THAT(errorOf(withSteps(repeated(kIf, 1000000))).message,
              ::testing::HasSubstr("nested more than 16"));
}

TEST(HostilePlan, MoreStepsThanTheLimitAreRefused) {
  const Bytes call = {3, 0, 0, 0, 0};
  EXPECT_THAT(errorOf(withSteps(repeated(call, kMaxInlinedSteps + 1))).message,
              ::testing::HasSubstr("more than 1048576 steps"));
}

TEST(HostilePlan, AnElseWithoutAnIfIsRefused) {
  EXPECT_THAT(errorOf(withSteps({6, 0})).message, ::testing::HasSubstr("else without an if"));
}

TEST(HostilePlan, ASecondElseIsRefused) {
  Bytes steps = kIf;
  steps.insert(steps.end(), {6, 6, 0, 0});
  EXPECT_THAT(errorOf(withSteps(steps)).message, ::testing::HasSubstr("else without an if"));
}

TEST(HostilePlan, AnUnknownStepIsRefused) {
  EXPECT_THAT(errorOf(withSteps({7, 0})).message, ::testing::HasSubstr("step has tag 7"));
}

TEST(HostilePlan, StepsWithoutAnEndAreRefused) {
  EXPECT_EQ(errorOf(withSteps({})).code, Code::Corrupt);
  EXPECT_EQ(errorOf(withSteps(kIf)).code, Code::Corrupt);
}

TEST(HostilePlan, ACallOfItselfIsRefused) {
  EXPECT_THAT(errorOf(withSteps({3, 0, 0, 0, 0, 0})).message, ::testing::HasSubstr("calls itself"));
}

TEST(HostilePlan, MalformedExpressionsAreRefused) {
  const std::vector<Bytes> conditions = {
      {4, 0, 0},                       // no node
      {4, 1, 0, 2},                    // an operator without operands
      {4, 1, 0, 9},                    // no such operator
      {4, 255, 255},                   // more nodes than the limit
      {4, 1, 0, 1, 0, 0, 0, 0},        // a symbol that the plan lacks
      {4, 1, 0, 1, 255, 255, 255, 255} // a wild symbol
  };
  for (Bytes steps : conditions) {
    steps.insert(steps.end(), {0, 0});
    const Status error = errorOf(withSteps(steps));
    EXPECT_THAT(error.message, ::testing::HasSubstr("expression")) << steps.size();
    EXPECT_TRUE(error.byteOffset.has_value());
  }
}

TEST(HostilePlan, TheCorpusOfTheFuzzerIsParsedOrRefused) {
  const std::filesystem::path folder = SINTER_TEST_DIR "/fuzz/corpus/plan";
  std::size_t files = 0, parsed = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    const Bytes bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    ++files;
    auto plan = parse(bytes.size() < kPlanHeaderBytes + kPlanChecksumBytes ? bytes : sealed(bytes));
    parsed += plan.has_value();
    if (plan)
      EXPECT_EQ(parse(serialize(*plan).value()).value(), *plan) << entry.path();
  }
  EXPECT_GE(files, 10u);
  EXPECT_GE(parsed, 1u);
}

} // namespace
} // namespace sinter::plan
