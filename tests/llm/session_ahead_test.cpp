// Sessions over a runner that begins steps ahead: whatever it guesses, answers are those of one
// that does not.
#include "llm/scheduler_check.h"

namespace sinter {
namespace {

struct AheadCase {
  const char *name;
  SamplerSettings settings;
  size_t topCount;
  int64_t wrongEvery;
  bool followsGuesses; // most steps begin ahead

  friend void PrintTo(const AheadCase &c, std::ostream *stream) { *stream << c.name; }
};

class SessionAhead : public testing::TestWithParam<AheadCase> {
protected:
  static RunnerLimits limits() {
    RunnerLimits limits;
    limits.vocabSize = 37; // token 6 ends an answer
    limits.contextTokens = 64;
    limits.stepTokens = 8;
    limits.pageRows = 4;
    limits.kvGroups[0].pages = 16;
    return limits;
  }
  // Of several prompts in turn, each of which goes on after the last answer.
  std::vector<Generation> answers(HashRunner &runner, bool ignoresEnd) {
    PagePool pool = *PagePool::create(runner.limits().kvGroups, runner.limits().pageRows);
    Session session(runner, pool, tokenizer_);
    Sampler sampler = *Sampler::create(GetParam().settings, runner.limits().vocabSize, &tokenizer_);
    std::vector<Generation> answers;
    std::vector<TokenId> prompt = {3};
    for (const uint64_t most : {1u, 2u, 17u, 60u}) {
      auto answer = session.generate(
          prompt, {.maxTokens = most, .sampler = &sampler, .ignoreEndTokens = ignoresEnd},
          [&](TokenId token) -> Result<void> {
            prompt.push_back(token);
            return {};
          });
      EXPECT_TRUE(answer.has_value()) << answer.error().toString();
      EXPECT_EQ(runner.stepsUnderWay(), 0u);
      prompt.push_back(4);
      answers.push_back(answer ? *answer : Generation());
    }
    return answers;
  }

  const Tokenizer tokenizer_ = *Tokenizer::create(smallVocabulary());
};

TEST_P(SessionAhead, AnswersAreThoseOfARunnerThatBeginsNoStepAhead) {
  for (const bool ignoresEnd : {true, false}) {
    HashRunner plain(limits()), ahead(limits());
    ahead.ahead = true;
    ahead.topCount = GetParam().topCount;
    ahead.wrongEvery = GetParam().wrongEvery;
    const auto expected = answers(plain, ignoresEnd), found = answers(ahead, ignoresEnd);
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(found[i].tokens, expected[i].tokens) << i;
      EXPECT_EQ(found[i].reason, expected[i].reason) << i;
      EXPECT_EQ(found[i].decodeSteps, expected[i].decodeSteps) << i;
    }
    EXPECT_GE(ahead.steps.size(), plain.steps.size());
    if (GetParam().wrongEvery == 0 && GetParam().topCount == 8)
      EXPECT_LE(ahead.steps.size(), plain.steps.size() + 4) << "steps were begun in vain";
    if (ignoresEnd)
      EXPECT_EQ(ahead.stepsBehind > 40, GetParam().followsGuesses) << ahead.stepsBehind;
  }
}

TEST_P(SessionAhead, AFailedStepIsTheErrorAndTheSessionGoesOn) {
  for (int64_t failing = 1; failing < 12; ++failing) {
    HashRunner runner(limits());
    runner.ahead = true;
    runner.topCount = GetParam().topCount;
    runner.failAt = {failing};
    PagePool pool = *PagePool::create(runner.limits().kvGroups, runner.limits().pageRows);
    Session session(runner, pool, tokenizer_);
    const auto generate = [&] {
      Sampler sampler =
          *Sampler::create(GetParam().settings, runner.limits().vocabSize, &tokenizer_);
      return session.generate(std::vector<TokenId>{1, 2},
                              {.maxTokens = 20, .sampler = &sampler, .ignoreEndTokens = true},
                              [](TokenId) -> Result<void> { return {}; });
    };
    const auto failed = generate(); // or the step that failed was begun in vain
    EXPECT_TRUE(!failed || GetParam().topCount < 8) << failing;
    EXPECT_TRUE(failed || failed.error().message == "the device is gone");
    EXPECT_EQ(runner.stepsUnderWay(), 0u);
    const auto answer = generate();
    ASSERT_TRUE(answer.has_value()) << failing << ": " << answer.error().toString();
    HashRunner fresh(limits());
    const Order order{.prompt = {1, 2},
                      .maxTokens = 20,
                      .settings = GetParam().settings,
                      .ignoreEndTokens = true};
    EXPECT_EQ(answer->tokens, aloneOn(fresh, tokenizer_, order).tokens) << failing;
  }
}

const AheadCase kCases[] = {
    {"Greedy", {}, 8, 0, true},
    {"GreedyWithWrongGuesses", {}, 8, 40, true},
    {"GreedyWithBadGuesses", {}, 8, 1, false},
    {"TopK", {.temperature = 0.8, .topK = 8, .topP = 0.9, .minP = 0.05, .seed = 7}, 8, 0, true},
    {"TopKThatIsNotAtHand", {.temperature = 1, .topK = 8, .seed = 7}, 4, 0, false},
    {"Xtc",
     {.temperature = 1.2, .topK = 8, .xtcProbability = 0.5, .xtcThreshold = 0.05, .seed = 5},
     8,
     0,
     true},
    {"Penalties", {.temperature = 1, .topK = 5, .repeatPenalty = 1.2, .seed = 1}, 8, 0, false},
    {"Mirostat", {.temperature = 1, .mirostat = 2, .seed = 1}, 8, 0, false},
    {"Bias", {.temperature = 1, .topK = 4, .logitBias = {{11, -40.0f}}, .seed = 3}, 8, 0, true},
};

INSTANTIATE_TEST_SUITE_P(Settings, SessionAhead, testing::ValuesIn(kCases),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace sinter
