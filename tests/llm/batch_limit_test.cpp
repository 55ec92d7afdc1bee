// How many sequences run at once, by measured decode steps.
#include "llm/batch_limit.h"

#include <gtest/gtest.h>

namespace sinter {
namespace {

// A machine whose decode step takes a fixed time and a time a sequence.
struct Machine {
  double fixed, each;
  double seconds(uint32_t sequences) const { return fixed + each * sequences; }
};

// Runs as many as the limit allows, `asked` at most.
void load(BatchLimit &limit, const Machine &machine, uint32_t asked, int steps = 200) {
  for (int i = 0; i < steps; ++i) {
    const uint32_t running = std::min(limit.sequences(), asked);
    limit.addDecode(running, machine.seconds(running));
  }
}

TEST(BatchLimit, RunsTheLeastUntilStepsWereMeasured) {
  EXPECT_EQ(BatchLimit(16, 512).sequences(), 16u);
  EXPECT_EQ(BatchLimit(20, 512).sequences(), 32u); // doublings are compared, so powers of two
  EXPECT_EQ(BatchLimit(16, 4).sequences(), 4u);
}

TEST(BatchLimit, RunsTheMostWhereTheFixedTimeIsMost) {
  BatchLimit limit(16, 512);
  load(limit, {.fixed = 0.010, .each = 0.000'001}, 512);
  EXPECT_EQ(limit.sequences(), 512u);
}

TEST(BatchLimit, StopsWhereDoublingGivesLittle) {
  const Machine machine{.fixed = 0.003, .each = 0.0003};
  BatchLimit limit(16, 512);
  load(limit, machine, 512);
  const uint32_t found = limit.sequences();
  const auto rate = [&](uint32_t sequences) { return sequences / machine.seconds(sequences); };
  EXPECT_GT(found, 16u);
  EXPECT_LT(found, 512u);
  EXPECT_LT(rate(found), BatchLimit::kPays * rate(found / 2));     // the last doubling did not pay
  EXPECT_GE(rate(found / 2), BatchLimit::kPays * rate(found / 4)); // the one before it did
}

TEST(BatchLimit, RunsTheLeastWhereNoDoublingPays) {
  BatchLimit limit(16, 512);
  for (uint32_t running = 1; running <= 16; ++running) // as they come in
    limit.addDecode(running, 0.1 * running);
  load(limit, {.fixed = 0, .each = 0.1}, 512);
  EXPECT_EQ(limit.sequences(), 16u);
}

TEST(BatchLimit, KeepsItsNumberHoweverLongItRuns) {
  BatchLimit limit(16, 512);
  load(limit, {.fixed = 0.010, .each = 0.000'001}, 512);
  for (int i = 0; i < 20'000; ++i) {
    limit.addDecode(512, 0.0105);
    ASSERT_EQ(limit.sequences(), 512u) << "after " << i << " steps";
  }
}

TEST(BatchLimit, FewSequencesTellNothingOfMany) {
  BatchLimit limit(16, 512);
  load(limit, {.fixed = 0.010, .each = 0.000'001}, 6);
  EXPECT_EQ(limit.sequences(), 16u);
}

TEST(BatchLimit, FollowsAMachineThatChanges) {
  BatchLimit limit(16, 512);
  load(limit, {.fixed = 0, .each = 0.1}, 512);
  load(limit, {.fixed = 0.010, .each = 0.000'001}, 512, 20'000);
  EXPECT_EQ(limit.sequences(), 512u);
}

} // namespace
} // namespace sinter
