// Kernel cases: contents by seed, comparison with a bound, and the file that carries them.
#include "hal/kernel_case.h"

#include "numeric/half.h"

#include <cmath>
#include <cstring>
#include <gmock/gmock.h>

namespace sinter::hal {
namespace {

using testing::HasSubstr;

std::vector<uint8_t> bytesOf(std::vector<float> values) {
  std::vector<uint8_t> bytes(values.size() * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

KernelCase someCase() {
  KernelCase kernel;
  kernel.label = "run add --size 3";
  kernel.target = "cuda:sm_90";
  kernel.code = {1, 2, 3};
  kernel.spec = {"add", 2, 3, 64, 128, 4096};
  kernel.grid = {7, 5, 1};
  kernel.seed = 11;
  kernel.views = {{"a", ElementKind::BF16, 6, true, false, {}},
                  {"out", ElementKind::F32, 8, false, true, bytesOf({1, 2})}};
  kernel.scalars = {-1, 2, 3};
  kernel.operations = 1.5;
  kernel.floor = 0.25;
  kernel.views[0].contents = {1, 2, 3, 4, 5, 6};
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
}

TEST(KernelBundle, EveryTruncationIsAnError) {
  const std::vector<uint8_t> whole = writeBundle({{someCase()}});
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(readBundle({whole.data(), length})) << length;
}

TEST(KernelBundle, NoChangedByteMakesItReadBeyondTheFile) {
  const std::vector<uint8_t> whole = writeBundle({{someCase()}});
  size_t refused = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    std::vector<uint8_t> changed = whole;
    changed[at] ^= 0xff;
    refused += !readBundle(changed);
  }
  EXPECT_GT(refused, whole.size() / 3);
}

} // namespace
} // namespace sinter::hal
