// Distances of words, and what is near enough to be suggested.
#include "base/nearest.h"

#include <gtest/gtest.h>

namespace sinter {
namespace {

const std::vector<std::string> kCommands = {"run", "bench", "explain", "tune", "devices"};

TEST(Nearest, CountsLettersAndSwapsOfNeighbours) {
  EXPECT_EQ(editDistance("", ""), 0u);
  EXPECT_EQ(editDistance("", "run"), 3u);
  EXPECT_EQ(editDistance("rnu", "run"), 1u);
  EXPECT_EQ(editDistance("bnech", "bench"), 1u);
  EXPECT_EQ(editDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(editDistance("VULKAN", "vulkan"), 0u);
}

TEST(Nearest, IsSymmetric) {
  for (const std::string &a : kCommands)
    for (const std::string &b : kCommands)
      EXPECT_EQ(editDistance(a, b), editDistance(b, a)) << a << ' ' << b;
}

TEST(Nearest, SuggestsWhatIsNearOnly) {
  EXPECT_EQ(nearest("explian", kCommands), "explain");
  EXPECT_EQ(nearest("rum", kCommands), "run");
  EXPECT_EQ(nearest("device", kCommands), "devices");
  EXPECT_EQ(nearest("foo", kCommands), "");
  EXPECT_EQ(nearest("", kCommands), "");
  EXPECT_EQ(nearest("t", kCommands), "");
}

TEST(Nearest, OfEqualDistancesTheFirstIsTaken) {
  const std::vector<std::string> words = {"cart", "card"};
  EXPECT_EQ(nearest("carx", words), "cart");
}

TEST(Nearest, HugeWordsAreNearNothing) {
  const std::string huge(100'000, 'x');
  const std::vector<std::string> words = {huge};
  EXPECT_EQ(nearest(huge, words), "");
}

TEST(Nearest, HintsAreReadyForMessages) {
  EXPECT_EQ(nearestHint("rnu", kCommands), " (did you mean 'run'?)");
  EXPECT_EQ(nearestHint("foo", kCommands), "");
}

} // namespace
} // namespace sinter
