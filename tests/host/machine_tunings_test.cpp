// What tuning chose for this machine, and which plans have it.
#include "host/machine_tunings.h"

#include <gtest/gtest.h>

namespace sinter::host {
namespace {

using plan::ScheduleChoice;

const ScheduleChoice kSmall{{{"block_m", 48}}}, kLarge{{{"block_m", 96}}}, kPairs{{{"vectors", 2}}};

TEST(MachineTunings, FitPlansWhoseKernelsHaveWhatWasChosenForThem) {
  plan::Plan plan;
  plan.kernels = {{.source = "none of its own"}, {.content = "aa"}, {.content = "bb"}};
  plan.kernels[1].schedule = kSmall;
  const auto tuned = [](std::vector<std::pair<std::string, ScheduleChoice>> schedules) {
    MachineTunings tunings;
    for (const auto &[content, schedule] : schedules)
      tunings.entries.push_back({"m", content, "", schedule, 1, {}});
    return tunings;
  };
  EXPECT_TRUE(tuned({{"aa", kSmall}}).fits(plan));
  EXPECT_TRUE(tuned({{"a0", kLarge}, {"aa", kSmall}, {"bb", {}}, {"cc", kLarge}}).fits(plan))
      << "entries of other kernels do not matter";
  EXPECT_FALSE(tuned({}).fits(plan));
  EXPECT_FALSE(tuned({{"aa", kLarge}}).fits(plan));
  EXPECT_FALSE(tuned({{"aa", kSmall}, {"bb", kPairs}}).fits(plan));
  EXPECT_FALSE(isByRules(plan));
  plan.kernels[1].schedule = {};
  EXPECT_TRUE(tuned({{"cc", kLarge}}).fits(plan));
  EXPECT_TRUE(isByRules(plan));
}

} // namespace
} // namespace sinter::host
