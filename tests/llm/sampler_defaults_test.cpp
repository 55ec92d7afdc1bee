// What files propose for choosing tokens, in every type, and what makes no sense.
#include "llm/sampler/defaults.h"

#include "format/gguf_writer.h"

#include <gmock/gmock.h>

namespace sinter {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kPrefix = "general.sampling.";

// The defaults of a file without tensors that has this metadata.
class Proposals {
public:
  Proposals &f32(const std::string &name, float value) {
    values_.value(kPrefix + name, GgufType::F32, value);
    return counted();
  }
  Proposals &i32(const std::string &name, int32_t value) {
    values_.value(kPrefix + name, GgufType::I32, value);
    return counted();
  }
  Proposals &text(const std::string &name, const std::string &value) {
    values_.text(kPrefix + name, value);
    return counted();
  }
  Proposals &array(const std::string &name) {
    values_.array(kPrefix + name, GgufType::I32, 0);
    return counted();
  }
  SamplerDefaults read() const {
    GgufWriter file;
    file.header(0, count_);
    std::vector<uint8_t> bytes = file.bytes();
    bytes.insert(bytes.end(), values_.bytes().begin(), values_.bytes().end());
    const auto parsed = GgufFile::parse(bytes);
    EXPECT_TRUE(parsed) << parsed.error().toString();
    return samplerDefaultsOf(*parsed);
  }

private:
  Proposals &counted() {
    ++count_;
    return *this;
  }
  GgufWriter values_;
  uint64_t count_ = 0;
};

TEST(SamplerDefaults, WithoutProposalsAreTheStandard) {
  const SamplerDefaults defaults = Proposals().read();
  EXPECT_EQ(defaults.settings.temperature, 0.8);
  EXPECT_EQ(defaults.settings.topK, 40);
  EXPECT_EQ(defaults.settings.topP, 0.95);
  EXPECT_EQ(defaults.settings.minP, 0.05);
  EXPECT_THAT(defaults.fromFile, IsEmpty());
  EXPECT_THAT(defaults.notes, IsEmpty());
}

TEST(SamplerDefaults, TakeEveryProposal) {
  const SamplerDefaults defaults = Proposals()
                                       .f32("temp", 0.6f)
                                       .i32("top_k", 20)
                                       .f32("top_p", 0.9f)
                                       .f32("min_p", 0)
                                       .f32("xtc_probability", 0.5f)
                                       .f32("xtc_threshold", 0.2f)
                                       .f32("penalty_repeat", 1.1f)
                                       .i32("penalty_last_n", -1)
                                       .read();
  const SamplerSettings &settings = defaults.settings;
  EXPECT_THAT(defaults.notes, IsEmpty());
  EXPECT_EQ(settings.temperature, 0.6);
  EXPECT_EQ(settings.topK, 20);
  EXPECT_EQ(settings.topP, 0.9);
  EXPECT_EQ(settings.minP, 0);
  EXPECT_EQ(settings.xtcProbability, 0.5);
  EXPECT_EQ(settings.xtcThreshold, 0.2);
  EXPECT_EQ(settings.repeatPenalty, 1.1);
  EXPECT_EQ(settings.repeatLastN, -1);
  EXPECT_TRUE(defaults.isFromFile("min_p"));
  EXPECT_FALSE(defaults.isFromFile("typical_p"));
}

TEST(SamplerDefaults, ReadNumbersOfOtherTypes) {
  const SamplerDefaults defaults =
      Proposals().f32("top_k", 30).i32("temp", 1).text("top_p", "0.5").read();
  EXPECT_EQ(defaults.settings.topK, 30);
  EXPECT_EQ(defaults.settings.temperature, 1);
  EXPECT_EQ(defaults.settings.topP, 0.5);
}

TEST(SamplerDefaults, NegativeNumbersMeanOffWhereTheyDoElsewhere) {
  const SamplerDefaults defaults = Proposals().i32("top_k", -1).f32("temp", -1).read();
  EXPECT_EQ(defaults.settings.topK, 0);
  EXPECT_EQ(defaults.settings.temperature, 0);
  EXPECT_THAT(defaults.notes, IsEmpty());
}

TEST(SamplerDefaults, WhatMakesNoSenseIsNotedAndGoesUnused) {
  const auto notesOf = [](Proposals &proposals) {
    const SamplerDefaults defaults = proposals.read();
    EXPECT_THAT(defaults.fromFile, IsEmpty());
    EXPECT_EQ(defaults.settings.topP, 0.95);
    return defaults.notes;
  };
  EXPECT_THAT(notesOf(Proposals().f32("top_p", 7)),
              ElementsAre("'general.sampling.top_p' is '7', expected a number from 0 to 1: it goes "
                          "unused"));
  EXPECT_THAT(notesOf(Proposals().f32("top_p", std::numeric_limits<float>::quiet_NaN())),
              ElementsAre(HasSubstr("is 'nan'")));
  EXPECT_THAT(notesOf(Proposals().text("top_p", std::string(1000, 'x'))),
              ElementsAre(HasSubstr("is '" + std::string(64, 'x') + "', expected")));
  EXPECT_THAT(notesOf(Proposals().array("top_p")), ElementsAre(HasSubstr("is an array")));
  EXPECT_THAT(notesOf(Proposals().f32("top_k", 1.5f)), ElementsAre(HasSubstr("a whole number")));
  EXPECT_THAT(notesOf(Proposals().i32("mirostat", 1)), ElementsAre(HasSubstr("expected 0 or 2")));
  EXPECT_THAT(notesOf(Proposals().i32("a", 1).i32("b", 1)),
              ElementsAre(HasSubstr("'general.sampling.a' and 1 more")));
}

TEST(SamplerDefaults, MirostatTurnsTheStepsOffThatItReplaces) {
  const SamplerDefaults defaults = Proposals().i32("mirostat", 2).i32("top_k", 20).read();
  EXPECT_EQ(defaults.settings.mirostat, 2);
  EXPECT_EQ(defaults.settings.topK, 0);
  EXPECT_TRUE(defaults.settings.check());
}

TEST(SamplerDefaults, MirostatAtTemperature0GoesUnused) {
  const SamplerDefaults defaults = Proposals().i32("mirostat", 2).f32("temp", 0).read();
  EXPECT_EQ(defaults.settings.mirostat, 0);
  EXPECT_THAT(defaults.notes, ElementsAre(HasSubstr("Mirostat goes unused")));
}

TEST(SamplerDefaults, StepsThatASequenceLeavesOutAreOff) {
  const SamplerDefaults defaults = Proposals().text("sequence", "top-k;top_n_sigma;temp").read();
  EXPECT_THAT(defaults.notes, IsEmpty());
  EXPECT_EQ(defaults.settings.topK, 40);
  EXPECT_EQ(defaults.settings.topP, 1);
  EXPECT_EQ(defaults.settings.minP, 0);
  EXPECT_EQ(defaults.settings.temperature, 0.8);
  EXPECT_EQ(Proposals().text("sequence", "top_p").read().settings.temperature, 1);
}

TEST(SamplerDefaults, SequencesInAnotherOrderAndUnknownStepsAreNoted) {
  for (const char *sequence : {"temperature;top_k", "top_k;magic", "top_k;;top_p"}) {
    const SamplerDefaults defaults = Proposals().text("sequence", sequence).read();
    EXPECT_THAT(defaults.notes, ElementsAre(HasSubstr(sequence)));
    EXPECT_EQ(defaults.settings.topP, 0.95);
  }
  EXPECT_THAT(Proposals().i32("sequence", 1).read().notes, ElementsAre(HasSubstr("a string")));
}

} // namespace
} // namespace sinter
