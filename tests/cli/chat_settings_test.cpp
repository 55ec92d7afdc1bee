// /set: the command line's options by name, and their refusals.
#include "cli/chat_settings.h"

#include <gmock/gmock.h>

namespace sinter::cli {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

class ChatSettingsTest : public testing::Test {
protected:
  std::string refusal(std::string_view words) { return settings.set(words).value_or("taken"); }

  ChatSettings settings{"", {}, {}};
};

TEST_F(ChatSettingsTest, EveryOptionHasItsNameAndItsSettingsName) {
  for (const SamplingOption &option : samplingOptions()) {
    EXPECT_EQ(findSamplingOption(option.name), &option);
    if (option.setting[0])
      EXPECT_EQ(findSamplingOption(option.setting), &option);
  }
}

TEST_F(ChatSettingsTest, ChangesAreReadAndShown) {
  EXPECT_EQ(refusal(" temperature  0.5 "), "taken");
  EXPECT_EQ(refusal("top_k 40"), "taken");
  EXPECT_EQ(settings.sampler().temperature, 0.5);
  EXPECT_EQ(settings.sampler().topK, 40);
  EXPECT_THAT(settings.list(), ContainsRegex("temp +0.5 "));
  EXPECT_THAT(settings.list(), ContainsRegex("top-k +40 "));
  EXPECT_THAT(settings.list(), ContainsRegex("min-p +0 "));
}

TEST_F(ChatSettingsTest, RefusalsAreThoseOfTheCommandLineAndChangeNothing) {
  EXPECT_EQ(refusal("top-k 40"), "top-k has no effect without temp");
  EXPECT_EQ(refusal("temp hot"), "temp is 'hot', expected a number from 0 to 100");
  EXPECT_EQ(refusal("nonsense 1"), "no setting 'nonsense'; /set lists them");
  EXPECT_EQ(refusal("tmep 1"), "no setting 'tmep' (did you mean 'temp'?); /set lists them");
  EXPECT_EQ(refusal("seed 5"), "seed has no effect at temp 0");
  EXPECT_EQ(settings.sampler().topK, 40);
  EXPECT_EQ(settings.sampling().values.size(), 1u);
}

TEST_F(ChatSettingsTest, ASettingWithoutAValueHasItsDefaultAgain) {
  ASSERT_EQ(refusal("temp 1"), "taken");
  ASSERT_EQ(refusal("top-p 0.9"), "taken");
  EXPECT_EQ(refusal("temp"), "top-p has no effect without temp");
  EXPECT_EQ(refusal("top-p"), "taken");
  EXPECT_EQ(refusal("temp"), "taken");
  EXPECT_EQ(settings.sampler().temperature, 0);
}

TEST_F(ChatSettingsTest, OptionsThatMayBeRepeatedGetOneMore) {
  ASSERT_EQ(refusal("logit-bias 5+1"), "taken");
  ASSERT_EQ(refusal("logit-bias 6-inf"), "taken");
  EXPECT_EQ(settings.sampler().logitBias.size(), 2u);
  EXPECT_EQ(refusal("logit-bias 6+1"), "two logit biases name token 6, expected one");
  EXPECT_EQ(refusal("logit-bias"), "taken");
  EXPECT_TRUE(settings.sampler().logitBias.empty());
}

TEST_F(ChatSettingsTest, TheSystemMessageIsTheRestOfTheLine) {
  EXPECT_EQ(refusal("system Be  brief. "), "taken");
  EXPECT_EQ(settings.systemMessage(), "Be  brief.");
  EXPECT_THAT(settings.list(), HasSubstr("system: Be  brief.\n"));
  EXPECT_EQ(refusal("system"), "taken");
  EXPECT_EQ(settings.systemMessage(), "");
}

TEST_F(ChatSettingsTest, StartsWithWhatTheCommandLineGave) {
  SamplingTexts given;
  given.values = {{"temp", "0.5"}, {"seed", "7"}};
  SamplerSettings sampler;
  ASSERT_FALSE(readSampler(given, sampler));
  settings = ChatSettings("", given, sampler);
  ASSERT_EQ(refusal("min-p 0.1"), "taken");
  EXPECT_EQ(settings.sampler().temperature, 0.5);
  EXPECT_EQ(settings.sampler().seed, 7u);
}

} // namespace
} // namespace sinter::cli
