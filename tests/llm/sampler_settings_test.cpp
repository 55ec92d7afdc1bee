// Settings out of range, and settings that contradict each other: one sentence each.
#include "llm/sampler/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sinter {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr auto kBiasInf = std::numeric_limits<float>::infinity();

struct BadNumber {
  const char *setting;
  double value;
  const char *message;
};

constexpr BadNumber kBadNumbers[] = {
    {"temperature", -0.1, "temperature is -0.1, expected a number from 0 to 100"},
    {"temperature", 100.5, "temperature is 100.5, expected a number from 0 to 100"},
    {"temperature", kNan, "temperature is nan, expected a number from 0 to 100"},
    {"temperature", kInf, "temperature is inf, expected a number from 0 to 100"},
    {"top_k", -1, "top_k is -1, expected a whole number from 0 to 2147483647"},
    {"top_k", 2147483648.0, "top_k is 2147483648, expected a whole number from 0 to 2147483647"},
    {"typical_p", 1.1, "typical_p is 1.1, expected a number from 0 to 1"},
    {"top_p", 1.5, "top_p is 1.5, expected a number from 0 to 1"},
    {"top_p", -1e-9, "top_p is -1e-09, expected a number from 0 to 1"},
    {"min_p", 2, "min_p is 2, expected a number from 0 to 1"},
    {"xtc_probability", -1, "xtc_probability is -1, expected a number from 0 to 1"},
    {"xtc_threshold", 0.6, "xtc_threshold is 0.6, expected a number from 0 to 0.5"},
    {"repeat_penalty", 0, "repeat_penalty is 0, expected a number from 0.01 to 100"},
    {"repeat_penalty", -1.5, "repeat_penalty is -1.5, expected a number from 0.01 to 100"},
    {"presence_penalty", 101, "presence_penalty is 101, expected a number from -100 to 100"},
    {"frequency_penalty", -101, "frequency_penalty is -101, expected a number from -100 to 100"},
    {"repeat_last_n", -2, "repeat_last_n is -2, expected a whole number from -1 to 2147483647"},
    {"dry_multiplier", -0.5, "dry_multiplier is -0.5, expected a number from 0 to 100"},
    {"dry_base", 0.5, "dry_base is 0.5, expected a number from 1 to 100"},
    {"dry_allowed_length", 0,
     "dry_allowed_length is 0, expected a whole number from 1 to 2147483647"},
    {"dry_penalty_last_n", -2,
     "dry_penalty_last_n is -2, expected a whole number from -1 to 2147483647"},
    {"mirostat", 1, "mirostat is 1, expected 0 or 2"},
    {"mirostat", 3, "mirostat is 3, expected 0 or 2"},
    {"mirostat_tau", -1, "mirostat_tau is -1, expected a number from 0 to 100"},
    {"mirostat_eta", 2, "mirostat_eta is 2, expected a number from 0 to 1"},
};

void expectRefused(const SamplerSettings &settings, const std::string &message) {
  const auto sampler = Sampler::create(settings, 1000, nullptr);
  ASSERT_FALSE(sampler.has_value()) << message;
  EXPECT_EQ(sampler.error().code, Code::InvalidArgument);
  EXPECT_EQ(sampler.error().message, message);
}

TEST(SamplerSettingsTest, DefaultsAreAllowed) {
  EXPECT_TRUE(SamplerSettings{}.check().has_value());
}

TEST(SamplerSettingsTest, NumbersOutOfTheirRangeAreRefusedByName) {
  for (const BadNumber &bad : kBadNumbers) {
    SamplerSettings settings;
    findSamplerSetting(bad.setting)->set(settings, bad.value);
    expectRefused(settings, bad.message);
  }
}

TEST(SamplerSettingsTest, TheEndsOfEveryRangeAreAllowed) {
  for (const SamplerSetting &setting : samplerSettingTable())
    for (const double end : {setting.least, setting.most}) {
      SamplerSettings settings;
      setting.set(settings, end);
      settings.temperature = 1;
      EXPECT_TRUE(settings.check().has_value()) << setting.name << " " << end;
    }
}

TEST(SamplerSettingsTest, EveryRangeHasABadNumberInThisTest) {
  for (const SamplerSetting &setting : samplerSettingTable())
    EXPECT_TRUE(std::any_of(std::begin(kBadNumbers), std::end(kBadNumbers),
                            [&](const BadNumber &bad) { return bad.setting == setting.name; }))
        << setting.name;
}

TEST(SamplerSettingsTest, UnknownNamesAreNotFound) {
  EXPECT_EQ(findSamplerSetting("top"), nullptr);
  EXPECT_EQ(findSamplerSetting(""), nullptr);
}

TEST(SamplerSettingsTest, MirostatStandsAlone) {
  const auto with = [](const char *name, double value) {
    SamplerSettings settings{.temperature = 1, .mirostat = 2};
    findSamplerSetting(name)->set(settings, value);
    return settings;
  };
  expectRefused(with("temperature", 0),
                "mirostat 2 draws tokens, but the temperature is 0, expected above 0");
  const std::string message = "mirostat 2 decides itself which candidates stay, expected no ";
  expectRefused(with("top_k", 40), message + "top-k beside it");
  expectRefused(with("typical_p", 0.5), message + "typical beside it");
  expectRefused(with("top_p", 0.9), message + "top-p beside it");
  expectRefused(with("min_p", 0.1), message + "min-p beside it");
  expectRefused(with("xtc_probability", 0.1), message + "XTC beside it");
}

TEST(SamplerSettingsTest, SequenceBreakersHaveLimits) {
  expectRefused({.drySequenceBreakers = {""}},
                "a DRY sequence breaker has 0 bytes, expected 1 to 64");
  expectRefused({.drySequenceBreakers = {std::string(65, 'a')}},
                "a DRY sequence breaker has 65 bytes, expected 1 to 64");
  expectRefused({.drySequenceBreakers = std::vector<std::string>(65, "a")},
                "there are 65 DRY sequence breakers, expected at most 64");
}

TEST(SamplerSettingsTest, BiasesNameTokensOnceAndWithinTheVocabulary) {
  expectRefused({.logitBias = {{5, 1}, {6, 1}, {5, 2}}},
                "two logit biases name token 5, expected one");
  expectRefused({.logitBias = {{1000, 1}}},
                "a logit bias names token 1000, the model has tokens 0 to 999");
  expectRefused({.logitBias = {{-1, 1}}},
                "a logit bias names token -1, the model has tokens 0 to 999");
}

TEST(SamplerSettingsTest, BiasesAreFiniteOrExclude) {
  const std::string expected = ", expected a number from -1000000 to 1000000 or -inf";
  expectRefused({.logitBias = {{5, kBiasInf}}}, "the logit bias of token 5 is inf" + expected);
  expectRefused({.logitBias = {{5, std::nanf("")}}}, "the logit bias of token 5 is nan" + expected);
  expectRefused({.logitBias = {{5, -2e6f}}}, "the logit bias of token 5 is -2000000" + expected);
  EXPECT_TRUE((SamplerSettings{.logitBias = {{5, -kBiasInf}}}).check().has_value());
}

TEST(SamplerSettingsTest, AnEmptyVocabularyIsRefused) {
  EXPECT_EQ(Sampler::create({}, 0, nullptr).error().message,
            "the vocabulary is empty, expected at least 1 token");
}

} // namespace
} // namespace sinter
