// The text of a schedule: what it reads back, and what it refuses.
#include "plan/schedule_choice.h"

#include <gmock/gmock.h>

namespace sinter::plan {
namespace {

TEST(ScheduleChoice, TextReadsBack) {
  for (const ScheduleChoice &choice :
       {ScheduleChoice{}, ScheduleChoice{{{"block_m", 120}}},
        ScheduleChoice{{{"block_k", 0}, {"block_m", kMaxDecisionValue}, {"vectors", 2}}}}) {
    auto back = ScheduleChoice::parse(choice.text());
    ASSERT_TRUE(back) << choice.text();
    EXPECT_EQ(*back, choice);
  }
  EXPECT_EQ((ScheduleChoice{{{"vectors", 2}, {"block_m", 12}}}).text(), "block_m=12,vectors=2");
}

TEST(ScheduleChoice, AnythingElseIsRefused) {
  std::string many = "a0=1";
  for (int i = 1; i <= 16; ++i)
    many += ",b" + std::to_string(10 + i) + "=1";
  for (const std::string &text :
       {std::string("="), std::string("a"), std::string("a="), std::string("=1"),
        std::string("a=1,"), std::string(",a=1"), std::string("b=1,a=1"), std::string("a=1,a=2"),
        std::string("a=-1"), std::string("a=01"), std::string("a=+1"), std::string("a=1 "),
        std::string("A=1"), std::string("a b=1"), std::string("a=99999999999999999999"),
        std::string("a=1048577"), std::string(40, 'a') + "=1", many}) {
    auto choice = ScheduleChoice::parse(text);
    ASSERT_FALSE(choice) << text;
    EXPECT_EQ(choice.error().code, Code::Corrupt) << text;
  }
}

} // namespace
} // namespace sinter::plan
