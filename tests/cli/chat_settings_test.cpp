// /set: the command line's options by name, and their refusals.
#include "cli/chat/settings.h"

#include <gmock/gmock.h>

namespace sinter::cli {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

class ChatSettingsTest : public testing::Test {
protected:
  std::string refusal(std::string_view words) { return settings.set(words).value_or("taken"); }

  ChatSettings settings{"", {}, {}, standardSampler()};
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
  EXPECT_THAT(settings.list(), ContainsRegex("top-k +40 +you "));
  EXPECT_THAT(settings.list(), ContainsRegex("min-p +0.05 +default "));
}

TEST_F(ChatSettingsTest, RefusalsAreThoseOfTheCommandLineAndChangeNothing) {
  ASSERT_EQ(refusal("temp 0"), "taken");
  EXPECT_EQ(refusal("top-k 30"), "top-k has no effect at temp 0");
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
  EXPECT_EQ(refusal("top-p"), "taken");
  EXPECT_EQ(refusal("temp"), "taken");
  EXPECT_EQ(settings.sampler().temperature, 0.8);
  EXPECT_EQ(settings.sampler().topP, 0.95);
}

TEST_F(ChatSettingsTest, TheFilesProposalsAreTheDefaults) {
  SamplerDefaults defaults;
  defaults.settings.topK = 20;
  defaults.settings.temperature = 0;
  defaults.fromFile = {"top_k", "temperature"};
  settings = ChatSettings("", {}, defaults, defaults.settings);
  EXPECT_THAT(settings.list(), ContainsRegex("top-k +20 +file "));
  EXPECT_EQ(refusal("seed 5"), "seed has no effect without temp");
  ASSERT_EQ(refusal("temp 1"), "taken");
  ASSERT_EQ(refusal("top-k 30"), "taken");
  ASSERT_EQ(refusal("top-k"), "taken");
  EXPECT_EQ(settings.sampler().topK, 20);
}

TEST_F(ChatSettingsTest, MirostatAndTheStepsThatItReplacesTurnEachOtherOff) {
  ASSERT_EQ(refusal("mirostat 2"), "taken");
  EXPECT_EQ(settings.sampler().topK, 0);
  EXPECT_EQ(refusal("top-k 30"),
            "mirostat 2 decides itself which candidates stay, expected no top-k beside it");
  SamplerDefaults defaults;
  defaults.settings.mirostat = 2;
  defaults.settings.turnOffCandidateSteps();
  settings = ChatSettings("", {}, defaults, defaults.settings);
  ASSERT_EQ(refusal("top-k 30"), "taken");
  EXPECT_EQ(settings.sampler().mirostat, 0);
  EXPECT_EQ(settings.sampler().topK, 30);
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
  SamplerSettings sampler = standardSampler();
  ASSERT_FALSE(readSampler(given, sampler));
  settings = ChatSettings("", given, {}, sampler);
  ASSERT_EQ(refusal("min-p 0.1"), "taken");
  EXPECT_EQ(settings.sampler().temperature, 0.5);
  EXPECT_EQ(settings.sampler().seed, 7u);
}

} // namespace
} // namespace sinter::cli
