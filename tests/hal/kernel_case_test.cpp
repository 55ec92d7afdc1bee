// Kernel cases: contents by seed, comparison with a bound, and the file that carries them.
#include "hal/kernel_case.h"

#include "hal/null/null_driver.h"
#include "numeric/half.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>

namespace sinter::hal {
namespace {

using testing::HasSubstr;

std::vector<uint8_t> bytesOf(std::vector<float> values) {
  std::vector<uint8_t> bytes(values.size() * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Two views of floats and one of blocks, 34 bytes for 32 elements.
KernelCase someCase() {
  KernelCase kernel;
  kernel.label = "run add --size 3";
  kernel.target = "cuda:sm_90";
  kernel.code = {1, 2, 3};
  kernel.spec = {"add", 3, 8, 64, 128, 4096};
  kernel.grid = {7, 5, 1};
  kernel.seed = 11;
  kernel.views = {
      {"a", ElementKind::BF16, 12, true, false, {}, {}, {0, 2, false, 0, 1, 2}},
      {"w", ElementKind::Byte, 136, true, false, {}, {}, {3, 2, false, 0, 32, 34}},
      {"out", ElementKind::F32, 8, false, true, bytesOf({1, 2}), {}, {7, 1, false, 0, 1, 4}}};
  kernel.scalars = {2, 3, 3, 2, 64, 64, -1, 2};
  kernel.operations = 1.5;
  kernel.floor = 0.25;
  kernel.views[0].contents = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  return kernel;
}

TEST(KernelCase, ContentsDependOnTheSeedAlone) {
  std::vector<uint8_t> one(4000), two(4000), other(4000);
  std::mt19937_64 first(5), again(5), different(6);
  fillRandom(ElementKind::F32, one, first);
  fillRandom(ElementKind::F32, two, again);
  fillRandom(ElementKind::F32, other, different);
  EXPECT_EQ(one, two);
  EXPECT_NE(one, other);
}

TEST(KernelCase, FloatsHaveMeanZeroAndVarianceOne) {
  std::vector<uint8_t> bytes(400'000);
  std::mt19937_64 random(1);
  fillRandom(ElementKind::F32, bytes, random);
  double sum = 0, squares = 0;
  for (size_t at = 0; at < bytes.size(); at += 4) {
    float value;
    std::memcpy(&value, &bytes[at], 4);
    sum += value;
    squares += double(value) * value;
  }
  EXPECT_NEAR(sum / 1e5, 0, 0.02);
  EXPECT_NEAR(squares / 1e5, 1, 0.02);
}

TEST(KernelCase, SmallDifferencesAreWithinTheirFloor) {
  auto reference = bytesOf({4, 0}), mine = bytesOf({4, 0.5f});
  EXPECT_FALSE(compareElements("out", ElementKind::F32, mine, reference, 0.1).within);
  EXPECT_TRUE(compareElements("out", ElementKind::F32, mine, reference, 0.2).within);
}

TEST(KernelCase, OneWrongElementIsOutsideTheBound) {
  std::vector<float> values(1000, 1.0f);
  auto reference = bytesOf(values);
  values[321] = 1.001f;
  const Comparison found = compareElements("out", ElementKind::F32, bytesOf(values), reference);
  EXPECT_FALSE(found.within);
  EXPECT_EQ(found.outside, 1u);
  EXPECT_THAT(comparisonText(found), HasSubstr("DIFFERENT"));
}

TEST(KernelCase, ANumberWhereNothingWasWrittenIsOutsideTheBound) {
  const float nan = std::nanf("");
  EXPECT_FALSE(compareElements("out", ElementKind::F32, bytesOf({nan}), bytesOf({1})).within);
  EXPECT_FALSE(compareElements("out", ElementKind::F32, bytesOf({1}), bytesOf({nan})).within);
  EXPECT_TRUE(compareElements("out", ElementKind::F32, bytesOf({nan}), bytesOf({-nan})).within);
}

TEST(KernelCase, RoundingOfTheLastBitIsWithinTheBound) {
  std::vector<uint8_t> mine(2), reference(2);
  const uint16_t value = f32ToBf16(1.0f), next = value + 1;
  std::memcpy(reference.data(), &value, 2);
  std::memcpy(mine.data(), &next, 2);
  const Comparison found = compareElements("out", ElementKind::BF16, mine, reference);
  EXPECT_FALSE(found.equal);
  EXPECT_TRUE(found.within);
}

TEST(KernelCase, BytesMustBeEqual) {
  const std::vector<uint8_t> reference(100, 7);
  std::vector<uint8_t> mine = reference;
  mine[50] = 8;
  EXPECT_FALSE(compareElements("out", ElementKind::Byte, mine, reference).within);
}

TEST(KernelBundle, ReadsBackWhatWasWritten) {
  const KernelCase one = someCase();
  auto read = readBundle(writeBundle({{one, one}}));
  ASSERT_TRUE(read) << read.error().toString();
  ASSERT_EQ(read->size(), 2u);
  const KernelCase &back = read->back();
  EXPECT_EQ(back.label, one.label);
  EXPECT_EQ(back.target, one.target);
  EXPECT_EQ(back.code, one.code);
  EXPECT_EQ(back.spec.symbol, "add");
  EXPECT_EQ(back.spec.threads, 128u);
  EXPECT_EQ(back.spec.sharedBytes, 4096u);
  EXPECT_EQ(back.grid, one.grid);
  EXPECT_EQ(back.scalars, one.scalars);
  EXPECT_EQ(back.seed, one.seed);
  EXPECT_EQ(back.operations, one.operations);
  EXPECT_EQ(back.floor, one.floor);
  EXPECT_EQ(back.views[0].contents, one.views[0].contents);
  EXPECT_EQ(back.views.back().expected, one.views.back().expected);
  EXPECT_EQ(back.views.front().kind, ElementKind::BF16);
  EXPECT_EQ(back.views[1].place.firstScalar, 3u);
  EXPECT_EQ(back.views[1].place.unitElements, 32u);
}

TEST(KernelBundle, EveryTruncationIsAnError) {
  const std::vector<uint8_t> whole = writeBundle({{someCase()}});
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(readBundle({whole.data(), length})) << length;
}

TEST(KernelBundle, EveryChangedByteIsFound) {
  std::vector<uint8_t> whole = writeBundle({{someCase()}});
  for (uint8_t &byte : whole) {
    byte ^= 0x40;
    EXPECT_FALSE(readBundle(whole)) << &byte - whole.data();
    byte ^= 0x40;
  }
}

TEST(KernelBundle, OfAnotherVersionIsToldApartFromDamage) {
  std::vector<uint8_t> whole = writeBundle({{someCase()}});
  whole[kBundleMagic.size()] = 4;
  auto read = readBundle(whole);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::Unsupported);
  EXPECT_EQ(read.error().message, "the bundle has version 4, expected 6: pack it again");
}

TEST(KernelBundle, ANameThatLeavesItsFolderIsRefused) {
  KernelCase kernel = someCase();
  kernel.views[0].name = "../a";
  auto read = readBundle(writeBundle({{kernel}}));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "a view's name is not 1 to 256 letters, digits and _");
}

// Runs what a bundle holds where commands are checked and dropped.
void runOnNull(std::span<const KernelCase> cases) {
  DriverRegistry registry;
  ASSERT_TRUE(addNullDriver(registry));
  auto device = registry.find("null").value()->open(0, {});
  ASSERT_TRUE(device);
  for (const KernelCase &kernel : cases)
    (void)runCase(**device, kernel);
}

// A kernel that is given less scratch than it was compiled for writes beyond it.
TEST(KernelBundle, WhatAKernelNeedsIsBoundToItsCode) {
  const std::vector<uint8_t> whole = writeBundle({{someCase()}});
  KernelCase less = someCase();
  less.spec.scratchBytes += 64;
  const std::vector<uint8_t> other = writeBundle({{less}});
  ASSERT_EQ(whole.size(), other.size());
  size_t at = 0; // the number, before the checksum that changes with it
  while (whole[at] == other[at])
    ++at;
  std::vector<uint8_t> forged = whole;
  forged[at] = other[at];
  sealBundle(forged);
  auto read = readBundle(forged);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("do not match their checksum"));
}

// What a bundle with a right checksum may hold: nothing that is run has other bytes than its
// extents say, whatever one changed byte says.
TEST(KernelBundle, AChangedByteUnderARightChecksumIsRefusedOrFits) {
  const KernelCase one = someCase();
  const std::vector<uint8_t> whole = writeBundle({{one}});
  size_t refused = 0, ran = 0;
  for (size_t at = kBundleHeaderBytes; at < whole.size() - kChecksumBytes; ++at)
    for (const uint8_t change : {0x01, 0x80, 0xff}) {
      std::vector<uint8_t> changed = whole;
      changed[at] ^= change;
      sealBundle(changed);
      auto read = readBundle(changed);
      if (!read || read->empty() || !checkCase(read->front())) {
        ++refused;
        continue;
      }
      ++ran;
      for (size_t view = 0; view < one.views.size(); ++view)
        EXPECT_EQ(read->front().views[view].bytes, one.views[view].bytes) << at;
      runOnNull(*read);
    }
  EXPECT_GT(refused, ran);
}

TEST(KernelBundle, TheCorpusOfTheFuzzerIsReadOrRefused) {
  const std::filesystem::path folder = SINTER_TEST_DIR "/fuzz/corpus/bundle";
  size_t files = 0, good = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(in)),
                               std::istreambuf_iterator<char>());
    ++files;
    if (bytes.size() >= kBundleHeaderBytes + kChecksumBytes)
      sealBundle(bytes);
    auto read = readBundle(bytes);
    good += read.has_value();
    if (read)
      runOnNull(*read);
  }
  EXPECT_GE(files, 10u);
  EXPECT_GE(good, 1u);
}

// ---- what must hold of a case ----

struct WrongCase {
  const char *name;
  void (*change)(KernelCase &);
  const char *message;
};

class WrongCases : public testing::TestWithParam<WrongCase> {};

TEST_P(WrongCases, AreNamed) {
  KernelCase kernel = someCase();
  ASSERT_TRUE(checkCase(kernel)) << checkCase(kernel).error().message;
  GetParam().change(kernel);
  auto checked = checkCase(kernel);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    , WrongCases,
    testing::Values(
        WrongCase{"NoSymbol", [](KernelCase &k) { k.spec.symbol.clear(); }, "symbol is empty"},
        WrongCase{"AScalarLess", [](KernelCase &k) { k.scalars.pop_back(); },
                  "has 3 views and 7 scalars, expected 3 and 8"},
        WrongCase{"AViewLess", [](KernelCase &k) { k.views.pop_back(); }, "has 2 views"},
        WrongCase{"ManyThreads", [](KernelCase &k) { k.spec.threads = 1 << 20; },
                  "number of threads is 1048576, expected at most 4096"},
        WrongCase{"MuchScratch", [](KernelCase &k) { k.spec.scratchBytes = UINT64_MAX; },
                  "scratch memory"},
        WrongCase{"NegativeGrid", [](KernelCase &k) { k.grid[1] = -1; }, "the grid is 7 x -1 x 1"},
        WrongCase{"GridThatOverflows",
                  [](KernelCase &k) { k.grid = {int64_t(1) << 40, int64_t(1) << 40, 1}; },
                  "at most 4294967296 programs"},
        WrongCase{"FloorOfNoNumber", [](KernelCase &k) { k.floor = NAN; }, "floor of comparisons"},
        WrongCase{"UnusedView", [](KernelCase &k) { k.views[0].read = false; },
                  "view 'a': it is neither read nor written"},
        WrongCase{"ShortContents", [](KernelCase &k) { k.views[0].contents.pop_back(); },
                  "has 11 bytes of contents, expected none or 12"},
        WrongCase{"LongExpectation", [](KernelCase &k) { k.views[2].expected.push_back(0); },
                  "expectation of 9 bytes, expected none or 8"},
        WrongCase{"ExpectedInput", [](KernelCase &k) { k.views[1].expected.resize(136); },
                  "as it is only read"},
        WrongCase{"OtherExtent", [](KernelCase &k) { k.scalars[3] = 3; },
                  "view 'w': it has 136 bytes, expected 204 by its extents"},
        WrongCase{"NegativeExtent", [](KernelCase &k) { k.scalars[0] = -2; },
                  "extents and strides of 0 or more"},
        WrongCase{"HugeStride", [](KernelCase &k) { k.scalars[2] = INT64_MAX; },
                  "extents and strides of 0 or more that fit memory"},
        WrongCase{"NoAxes", [](KernelCase &k) { k.views[0].place.rank = 0; }, "it has 0 axes"},
        WrongCase{"SharedExtents", [](KernelCase &k) { k.views[1].place.firstScalar = 2; },
                  "its extents are scalars from number 2 on"},
        WrongCase{"ExtentsBeyondTheScalars",
                  [](KernelCase &k) { k.views[2].place.firstScalar = UINT32_MAX; },
                  "its extents are scalars from number 4294967295 on"},
        WrongCase{"UnitOfOtherBytes", [](KernelCase &k) { k.views[2].place.unitBytes = 8; },
                  "it has 8 bytes for 1 elements, expected 4 for 1"},
        WrongCase{"EmptyUnit", [](KernelCase &k) { k.views[1].place.unitElements = 0; },
                  "it has 34 bytes for 0 elements"}),
    [](const auto &param) { return param.param.name; });

TEST(KernelCase, RowsSideBySideAreWholeGroups) {
  KernelCase kernel = someCase();
  kernel.views[1].place.interleave = 16;
  kernel.views[1].bytes = 16 * 2 * 34;
  EXPECT_TRUE(checkCase(kernel)) << checkCase(kernel).error().message;
}

TEST(KernelCase, ViewsWithoutElementsHaveNoBytes) {
  KernelCase kernel = someCase();
  kernel.scalars[0] = 0;
  kernel.views[0].bytes = 0;
  kernel.views[0].contents.clear();
  EXPECT_TRUE(checkCase(kernel)) << checkCase(kernel).error().message;
}

} // namespace
} // namespace sinter::hal
