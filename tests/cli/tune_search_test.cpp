// The search for schedules, with made-up times: what is tried, what wins, what is remembered.
#include "cli/tune/search.h"

#include <gmock/gmock.h>

#include <set>

namespace sinter::cli {
namespace {

using plan::ScheduleChoice;

// A kernel with two block sizes and one decision of its target; and one that has no other schedule.
plan::Plan samplePlan() {
  plan::Plan plan;
  plan.kernels.resize(2);
  plan.kernels[0].source = "gemm";
  plan.kernels[0].parameters = {{"block_m", plan::ParameterKind::Number, 240, ""}};
  plan.kernels[0].content = "aa";
  plan.kernels[0].alternatives = {{{{"block_m", 48}}}, {{{"block_m", 96}}}, {{{"vectors", 2}}}};
  plan.kernels[1].source = "rope";
  return plan;
}

// What launches take: each schedule's factor on the rules' time, by rows of the step.
using Speeds = std::function<double(const ScheduleChoice &, uint32_t rows)>;

std::vector<StepTimes> timesOf(const std::vector<Assignment> &variants, const Speeds &speeds) {
  std::vector<StepTimes> steps;
  for (const uint32_t rows : {8u, 512u}) {
    StepTimes step{rows, {}};
    KernelTimes &times = step.kernels["aa"];
    times.assign(variants.size() + 1, {});
    for (int launch = 0; launch < 9; ++launch) {
      // One launch in nine lost its core.
      const double noise = launch == 4 ? 50 : 1 + 0.01 * (launch % 3);
      times[0].push_back(1e-3 * noise);
      for (size_t i = 0; i < variants.size(); ++i)
        times[i + 1].push_back(1e-3 * speeds(variants[i].at("aa"), rows) *
                               (launch == 7 ? 80 : noise));
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

// All trials and the final.
runtime::TuningEntry tuned(const Speeds &speeds) {
  TuneSearch search(samplePlan(), {}, "m");
  while (search.left() > 0) {
    const auto variants = search.next(2);
    search.learn(variants, timesOf(variants, speeds));
  }
  const auto finalists = search.finalists();
  if (!finalists.empty())
    search.settle(finalists, timesOf(finalists, speeds));
  return search.entries().at(0);
}

TEST(TuneSearch, TriesEachScheduleOnceInItsOrder) {
  TuneSearch search(samplePlan(), {}, "m");
  EXPECT_EQ(search.kernels(), 1u);
  EXPECT_EQ(search.left(), 3u);
  std::vector<ScheduleChoice> tried;
  while (search.left() > 0) {
    const auto variants = search.next(2);
    for (const Assignment &variant : variants)
      tried.push_back(variant.at("aa"));
    search.learn(variants, timesOf(variants, [](const auto &, uint32_t) { return 1.5; }));
  }
  EXPECT_EQ(tried, samplePlan().kernels[0].alternatives);
  EXPECT_TRUE(search.next(2).empty());
}

TEST(TuneSearch, TheFastestWinsAndOutliersMoveNothing) {
  const auto entry = tuned([](const ScheduleChoice &s, uint32_t) {
    return s.values.contains("vectors") ? 1.2 : s.values.at("block_m") == 96 ? 0.8 : 0.9;
  });
  EXPECT_EQ(entry.schedule.text(), "block_m=96");
  EXPECT_EQ(entry.tried, 3u);
  EXPECT_NEAR(ratioOf(entry.times), 0.8, 0.02);
}

TEST(TuneSearch, BlocksAndDecisionsThatBothHelpAreTriedTogether) {
  const auto entry = tuned([](const ScheduleChoice &s, uint32_t) {
    const double blocks = s.values.contains("block_m") ? 0.9 : 1;
    return s.values.contains("vectors") ? blocks * 0.9 : blocks;
  });
  EXPECT_EQ(entry.schedule.text(), "block_m=48,vectors=2");
}

TEST(TuneSearch, RulesStayWhereNothingIsClearlyFaster) {
  const auto entry = tuned([](const auto &, uint32_t) { return 0.985; });
  EXPECT_TRUE(entry.schedule.byRules());
  EXPECT_EQ(entry.tried, 3u);
  ASSERT_EQ(entry.times.size(), 2u);
  for (const runtime::TuningTimes &times : entry.times)
    EXPECT_EQ(times.chosenNs, times.rulesNs);
}

// The machine slows down for two rounds, and one launch loses its core: the variant's median is far
// above that of the rules, though it is faster in nearly every round.
TEST(TuneSearch, KeepsTheFiguresThatWereCompared) {
  TuneSearch search(samplePlan(), {}, "m");
  const auto variants = search.next(1);
  StepTimes step{512, {}};
  step.kernels["aa"] = {{1e-3, 5e-3, 1e-3, 5e-3, 1e-3}, {8e-4, 4e-3, 4e-3, 4e-3, 8e-4}};
  search.learn(variants, {step});
  search.settle(search.finalists(), {step});
  const auto entry = search.entries().at(0);
  EXPECT_EQ(entry.schedule.text(), "block_m=48");
  const runtime::TuningTimes compared{512, 1'000'000, 800'000};
  EXPECT_THAT(entry.times, testing::ElementsAre(compared));
}

TEST(TuneSearch, RatiosOfSizesCountAlike) {
  EXPECT_DOUBLE_EQ(ratioOf({{512, 1'000'000, 500'000}, {1, 100, 200}}), 1);
  EXPECT_DOUBLE_EQ(ratioOf({}), 1);
}

TEST(TuneSearch, AFinalOfSomeKernelsLeavesTheOthersAsTheyAre) {
  TuneSearch search(samplePlan(), {}, "m");
  const auto variants = search.next(1);
  search.learn(variants, timesOf(variants, [](const auto &, uint32_t) { return 0.8; }));
  search.settle({}, {});
  EXPECT_EQ(search.entries().at(0).schedule.text(), "block_m=48") << "it led clearly";
}

TEST(TuneSearch, WhatSlowsOneSizeOfStepIsNotChosen) {
  const auto entry = tuned([](const auto &, uint32_t rows) { return rows == 8 ? 1.2 : 0.5; });
  EXPECT_TRUE(entry.schedule.byRules());
}

TEST(TuneSearch, WhatTheFinalDoesNotConfirmIsNotChosen) {
  TuneSearch search(samplePlan(), {}, "m");
  const auto variants = search.next(8);
  search.learn(variants, timesOf(variants, [](const auto &, uint32_t) { return 0.8; }));
  const auto finalists = search.finalists();
  ASSERT_FALSE(finalists.empty());
  search.settle(finalists, timesOf(finalists, [](const auto &, uint32_t) { return 1.0; }));
  EXPECT_TRUE(search.entries().at(0).schedule.byRules());
}

TEST(TuneSearch, EndedBeforeTheFinalItKeepsWhatLedClearly) {
  TuneSearch search(samplePlan(), {}, "m");
  const auto variants = search.next(1);
  search.learn(variants, timesOf(variants, [](const auto &, uint32_t) { return 0.8; }));
  const auto entry = search.entries().at(0);
  EXPECT_EQ(entry.schedule.text(), "block_m=48");
  EXPECT_EQ(entry.tried, 1u);
}

TEST(TuneSearch, GoesOnWhereAnEarlierOneEnded) {
  runtime::TuningEntry known{"m", "aa", "gemm", {{{"block_m", 48}}}, 2, {{512, 1000, 800}}};
  TuneSearch search(samplePlan(), {known}, "m");
  EXPECT_EQ(search.left(), 1u);
  const auto variants = search.next(8);
  ASSERT_EQ(variants.size(), 1u);
  EXPECT_EQ(variants[0].at("aa").text(), "vectors=2");
  search.learn(variants, timesOf(variants, [](const auto &, uint32_t) { return 1.3; }));
  EXPECT_TRUE(search.finalists().empty()); // nothing that could take its place
  EXPECT_EQ(search.entries().at(0).schedule.text(), "block_m=48");
  EXPECT_EQ(search.entries().at(0).tried, 3u);
}

TEST(TuneSearch, WhatWasTriedBeforeNeedsNoTrial) {
  runtime::TuningEntry known{"m", "aa", "gemm", {}, 3, {{512, 1000, 1000}}};
  TuneSearch search(samplePlan(), {known}, "m");
  EXPECT_EQ(search.left(), 0u);
  EXPECT_TRUE(search.next(8).empty());
  EXPECT_TRUE(search.finalists().empty());
}

TEST(TuneSearch, ForgetsWhatDoesNotFitItsKernel) {
  for (const auto &[schedule, tried] : std::vector<std::pair<ScheduleChoice, uint32_t>>{
           {{{{"block_m", 7}}}, 2}, {{{{"block_m", 48}, {"rows", 1}}}, 2}, {{}, 4}}) {
    const runtime::TuningEntry known{"m", "aa", "gemm", schedule, tried, {{512, 1000, 800}}};
    const TuneSearch search(samplePlan(), {known}, "m");
    EXPECT_EQ(search.left(), 3u) << schedule.text();
    EXPECT_THAT(search.unfit(), testing::ElementsAre(known));
    EXPECT_THAT(search.entries(), testing::IsEmpty());
  }
}

TEST(TuneSearch, KnowsBlocksAndDecisionsThatWereFoundTogether) {
  const ScheduleChoice both{{{"block_m", 48}, {"vectors", 2}}};
  const TuneSearch search(samplePlan(), {{"m", "aa", "gemm", both, 3, {{512, 1000, 800}}}}, "m");
  EXPECT_EQ(search.left(), 0u);
  EXPECT_THAT(search.unfit(), testing::IsEmpty());
  EXPECT_EQ(search.entries().at(0).schedule, both);
}

} // namespace
} // namespace sinter::cli
