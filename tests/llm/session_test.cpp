// Sessions over a runner whose answers depend on every token in the KV cache.
#include "llm/session.h"

#include "llm/fake_runner.h"
#include "llm/token_test_data.h"

#include <gmock/gmock.h>

#include <numeric>

namespace sinter {
namespace {

using testing::ElementsAre;

class SessionTest : public testing::Test {
protected:
  explicit SessionTest(const std::vector<KvGroupPages> &groups = {{16}})
      : pool(*PagePool::create(groups, 4)) {
    runner.limits_.kvGroups = groups;
  }

  // What the fake model says after `prompt`.
  std::vector<TokenId> expected(std::vector<TokenId> prompt, size_t count) const {
    const size_t start = prompt.size();
    while (prompt.size() < start + count)
      prompt.push_back(runner.next(prompt));
    return {prompt.begin() + static_cast<ptrdiff_t>(start), prompt.end()};
  }

  Result<Generation> generate(std::span<const TokenId> prompt, GenerateOptions options) {
    return session.generate(prompt, options, [&](TokenId token) -> Result<void> {
      shown.push_back(token);
      return {};
    });
  }

  FakeRunner runner;
  PagePool pool;
  Tokenizer tokenizer = *Tokenizer::create(smallVocabulary()); // token 6 ends an answer
  Session session{runner, pool, tokenizer};
  std::vector<TokenId> shown;
  int steps = 0;
};

TEST_F(SessionTest, TokensComeOneByOneAndAreReturned) {
  const std::vector<TokenId> prompt = {3, 1, 4};
  auto result = generate(prompt, {.maxTokens = 5});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(shown, expected(prompt, 5));
  EXPECT_EQ(result->tokens, shown);
  EXPECT_EQ(result->reason, StopReason::TokenLimit);
}

TEST_F(SessionTest, APromptIsComputedInStepsOfAtMostTheRunnersTokens) {
  const std::vector<TokenId> prompt(19, 7);
  ASSERT_TRUE(generate(prompt, {.maxTokens = 1}).has_value());
  EXPECT_THAT(runner.stepSizes, ElementsAre(8, 8, 3));
}

TEST_F(SessionTest, TheAnswerDoesNotDependOnHowThePromptIsCut) {
  std::vector<TokenId> prompt(23);
  for (size_t i = 0; i < prompt.size(); ++i)
    prompt[i] = static_cast<TokenId>(i * i % 97);
  for (uint32_t chunk : {1u, 2u, 7u, 8u, 23u, 64u}) {
    shown.clear();
    session.clear();
    runner.limits_.stepTokens = chunk;
    ASSERT_TRUE(generate(prompt, {.maxTokens = 6}).has_value());
    EXPECT_EQ(shown, expected(prompt, 6)) << "chunks of " << chunk;
  }
}

TEST_F(SessionTest, AnEndTokenStopsAndIsNotShown) {
  const std::vector<TokenId> prompt = {1, 2};
  const TokenId first = runner.next(prompt);
  runner.scripted[FakeRunner::sumOf(std::vector<TokenId>{1, 2, first})] = 6;
  auto result = generate(prompt, {.maxTokens = 9});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->reason, StopReason::EndToken);
  EXPECT_THAT(shown, ElementsAre(first));
}

TEST_F(SessionTest, ASuppressedTokenIsNeverGenerated) {
  VocabularyData data = smallVocabulary();
  const std::vector<TokenId> prompt = {1, 2};
  runner.scripted[FakeRunner::sumOf(prompt)] = 4;
  data.suppressed = {4};
  const Tokenizer careful = *Tokenizer::create(data);
  Session other(runner, pool, careful);
  const auto result =
      other.generate(prompt, {.maxTokens = 1}, [](TokenId) -> Result<void> { return {}; });
  ASSERT_TRUE(result.has_value());
  EXPECT_THAT(result->tokens, ElementsAre(0)); // the first of those with the next largest logit
}

TEST_F(SessionTest, EndTokensAreIgnoredWhenAsked) {
  const std::vector<TokenId> prompt = {1, 2};
  runner.scripted[FakeRunner::sumOf(prompt)] = 6;
  auto result = generate(prompt, {.maxTokens = 3, .ignoreEndTokens = true});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->tokens.size(), 3u);
  EXPECT_EQ(result->tokens[0], 6);
}

TEST_F(SessionTest, APromptLongerThanTheContextIsRefusedWithTheNumbers) {
  const std::vector<TokenId> prompt(65, 1);
  auto result = generate(prompt, {});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Code::InvalidArgument);
  EXPECT_EQ(result.error().message, "the prompt has 65 tokens, the context holds 64");
  EXPECT_TRUE(runner.stepSizes.empty());
}

TEST_F(SessionTest, AnEmptyPromptIsRefused) {
  auto result = generate({}, {});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message, "the prompt has no tokens, expected at least 1");
}

TEST_F(SessionTest, AFullContextStopsWithAReason) {
  const std::vector<TokenId> prompt(62, 1);
  auto result = generate(prompt, {.ignoreEndTokens = true});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->reason, StopReason::ContextFull);
  EXPECT_EQ(result->tokens, expected(prompt, 3));
}

TEST_F(SessionTest, APromptThatFillsTheContextGivesOneToken) {
  const std::vector<TokenId> prompt(64, 1);
  auto result = generate(prompt, {.ignoreEndTokens = true});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->tokens.size(), 1u);
  EXPECT_EQ(result->reason, StopReason::ContextFull);
}

TEST_F(SessionTest, ACancelledPromptShowsNothingAndKeepsWhatWasComputed) {
  std::atomic<bool> cancel = true;
  auto result = generate(std::vector<TokenId>(20, 1), {.cancel = &cancel});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->reason, StopReason::Cancelled);
  EXPECT_TRUE(shown.empty());
  EXPECT_TRUE(runner.stepSizes.empty());
}

TEST_F(SessionTest, PrefillTellsHowFarItIsBeforeEachStepAndAtItsEnd) {
  const std::vector<TokenId> prompt(19, 7);
  std::vector<uint64_t> done;
  const auto note = [&](uint64_t now, uint64_t total) {
    EXPECT_EQ(total, 19u);
    done.push_back(now);
  };
  ASSERT_TRUE(generate(prompt, {.maxTokens = 1, .onPrefill = note}).has_value());
  EXPECT_THAT(done, ElementsAre(0, 8, 16, 19));
  done.clear();
  ASSERT_TRUE(generate(prompt, {.maxTokens = 1, .onPrefill = note}).has_value());
  EXPECT_THAT(done, ElementsAre(18, 19)); // the rest was in the KV cache
}

TEST_F(SessionTest, CancellingStopsAfterTheTokenAtHand) {
  std::atomic<bool> cancel = false;
  const std::vector<TokenId> prompt = {3, 1, 4};
  auto result = session.generate(prompt, {.cancel = &cancel, .ignoreEndTokens = true},
                                 [&](TokenId) -> Result<void> {
                                   cancel = ++steps == 3;
                                   return {};
                                 });
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->reason, StopReason::Cancelled);
  EXPECT_EQ(result->tokens, expected(prompt, 3));
}

TEST_F(SessionTest, WhoeverReadsTheAnswerEndsItAfterTheTokenAtHand) {
  const std::vector<TokenId> prompt = {3, 1, 4};
  const auto result = generate(prompt, {.isStopped = [&] { return shown.size() == 2; }});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(shown, expected(prompt, 2));
  EXPECT_EQ(result->reason, StopReason::StopText);
}

TEST_F(SessionTest, AContinuedConversationComputesOnlyWhatIsNew) {
  std::vector<TokenId> prompt = {3, 1, 4, 1, 5};
  auto first = generate(prompt, {.maxTokens = 4});
  ASSERT_TRUE(first.has_value());
  prompt.insert(prompt.end(), first->tokens.begin(), first->tokens.end());
  prompt.insert(prompt.end(), {9, 2});
  shown.clear();
  auto second = generate(prompt, {.maxTokens = 4});
  ASSERT_TRUE(second.has_value());
  // The last token of the first answer was shown but never computed.
  EXPECT_EQ(second->reusedTokens, 8u);
  EXPECT_EQ(shown, expected(prompt, 4));
}

TEST_F(SessionTest, ADifferentPromptForgetsFromTheFirstDifference) {
  ASSERT_TRUE(generate(std::vector<TokenId>{3, 1, 4, 1, 5, 9, 2}, {.maxTokens = 6}).has_value());
  const std::vector<TokenId> prompt = {3, 1, 4, 2, 2, 2};
  shown.clear();
  auto result = generate(prompt, {.maxTokens = 4});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->reusedTokens, 3u);
  EXPECT_EQ(shown, expected(prompt, 4));
}

TEST_F(SessionTest, TheSamePromptAgainComputesItsLastTokenOnly) {
  const std::vector<TokenId> prompt = {3, 1, 4, 1, 5};
  ASSERT_TRUE(generate(prompt, {.maxTokens = 3}).has_value());
  shown.clear();
  auto again = generate(prompt, {.maxTokens = 3});
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->reusedTokens, 4u);
  EXPECT_EQ(shown, expected(prompt, 3));
}

TEST_F(SessionTest, AFailedStepIsReportedAndTheSessionStartsAfresh) {
  runner.failAtStep = 1;
  const std::vector<TokenId> prompt = {3, 1, 4};
  auto failed = generate(prompt, {.maxTokens = 5});
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, Code::DeviceLost);
  EXPECT_EQ(pool.freePages(), 16u);
  runner.failAtStep = -1;
  shown.clear();
  ASSERT_TRUE(generate(prompt, {.maxTokens = 5}).has_value());
  EXPECT_EQ(shown, expected(prompt, 5));
}

TEST_F(SessionTest, AnErrorOfTheSinkEndsTheGeneration) {
  auto result = session.generate(std::vector<TokenId>{1, 2}, {}, [](TokenId) -> Result<void> {
    return fail(Code::Cancelled, "nobody reads the answer");
  });
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message, "nobody reads the answer");
}

TEST_F(SessionTest, APoolThatOthersEmptiedIsAnErrorWithNumbers) {
  SequencePages others(pool);
  ASSERT_TRUE(others.reserve(15 * 4).has_value());
  auto result = generate(std::vector<TokenId>(6, 1), {});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Code::Exhausted);
}

TEST_F(SessionTest, TheSamplerChoosesAndSeesPromptAndAnswer) {
  Sampler sampler = *Sampler::create({.presencePenalty = 2}, 997, &tokenizer);
  std::vector<TokenId> prompt = {3, 1, 4};
  runner.scripted[FakeRunner::sumOf(prompt)] = 4; // of the prompt, so the lowest other id comes
  auto result = generate(prompt, {.maxTokens = 2, .sampler = &sampler});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(shown[0], 0);
  const TokenId next = runner.next(std::vector<TokenId>{3, 1, 4, 0});
  EXPECT_EQ(shown[1], next == 0 ? 2 : next); // 0 was said by now
}

TEST_F(SessionTest, ANewPromptIsNotPenalisedForTheLastOne) {
  Sampler sampler = *Sampler::create({.presencePenalty = 2}, 997, &tokenizer);
  ASSERT_TRUE(generate(std::vector<TokenId>{3, 1, 4}, {.maxTokens = 3, .sampler = &sampler}));
  shown.clear();
  const std::vector<TokenId> prompt = {2, 7};
  ASSERT_TRUE(generate(prompt, {.maxTokens = 1, .sampler = &sampler}).has_value());
  EXPECT_EQ(shown, expected(prompt, 1));
}

TEST_F(SessionTest, DrawnAnswersRepeatBySeed) {
  const std::vector<TokenId> prompt = {3, 1, 4};
  std::vector<std::vector<TokenId>> answers;
  for (const uint64_t seed : {5, 5, 6}) {
    Sampler sampler = *Sampler::create({.temperature = 1, .seed = seed}, 997, &tokenizer);
    auto result = generate(prompt, {.maxTokens = 8, .sampler = &sampler, .ignoreEndTokens = true});
    ASSERT_TRUE(result.has_value());
    answers.push_back(result->tokens);
  }
  EXPECT_EQ(answers[0], answers[1]);
  EXPECT_NE(answers[0], answers[2]);
}

TEST_F(SessionTest, AnErrorOfTheSamplerIsReportedAndTheSessionGoesOn) {
  Sampler sampler = *Sampler::create({}, 998, &tokenizer); // one more than there are logits
  auto failed = generate(std::vector<TokenId>{3, 1, 4}, {.maxTokens = 5, .sampler = &sampler});
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, Code::Internal);
  ASSERT_TRUE(generate(std::vector<TokenId>{3, 1, 4}, {.maxTokens = 5}).has_value());
  EXPECT_EQ(shown, expected({3, 1, 4}, 5));
}

TEST_F(SessionTest, ClearingGivesAllPagesBack) {
  ASSERT_TRUE(generate(std::vector<TokenId>(9, 1), {.maxTokens = 2}).has_value());
  session.clear();
  EXPECT_EQ(pool.freePages(), 16u);
  EXPECT_TRUE(session.cached().empty());
}

TEST_F(SessionTest, ThreeUnequalSequencesInOneBatchOverShuffledPagesSayWhatEachSaysAlone) {
  const std::vector<PageId> order = {{7}, {2},  {11}, {0}, {15}, {4}, {9},  {1},
                                     {3}, {14}, {6},  {5}, {13}, {8}, {10}, {12}};
  PagePool shuffled = *PagePool::createInOrder(order, 4);
  const std::vector<std::vector<TokenId>> prompts = {{3, 1, 4, 1, 5, 9}, {2}, {7, 1, 8, 2, 8}};
  std::vector<SequencePages> pages;
  std::vector<BatchPart> parts;
  for (const auto &prompt : prompts) {
    pages.emplace_back(shuffled);
    ASSERT_TRUE(pages.back().reserve(prompt.size()).has_value());
  }
  for (size_t i = 0; i < prompts.size(); ++i)
    parts.push_back({prompts[i], 0, &pages[i], LogitsWanted::Last});
  Batch batch;
  ASSERT_TRUE(buildBatch(parts, runner.limits().batchShape(), batch).has_value());
  auto logits = runner.step(batch);
  ASSERT_TRUE(logits.has_value());
  for (size_t i = 0; i < prompts.size(); ++i)
    EXPECT_EQ((*logits)[i * runner.limits().vocabSize + runner.next(prompts[i])], 1.0f) << i;
}

// ---- models with states ----

class StateSessionTest : public SessionTest {
protected:
  explicit StateSessionTest(const std::vector<KvGroupPages> &groups = {{16}})
      : SessionTest(groups) {
    useSlots(4);
  }

  void useSlots(uint32_t slots) {
    session.clear();
    pool = *PagePool::create(runner.limits_.kvGroups, 4, slots);
    runner.limits_.stateSlots = slots;
  }
  Generation say(const std::vector<TokenId> &prompt, uint64_t count) {
    shown.clear();
    auto result = generate(prompt, {.maxTokens = count, .ignoreEndTokens = true});
    EXPECT_TRUE(result.has_value()) << result.error().toString();
    EXPECT_EQ(shown, expected(prompt, count));
    return result ? *result : Generation();
  }
  void editAtRandom() {
    std::vector<TokenId> prompt = {1};
    for (int round = 0; round < 60; ++round) {
      if (dice(3) == 0)
        prompt.resize(1 + dice(static_cast<uint32_t>(prompt.size())));
      else if (dice(2) == 0)
        prompt[dice(static_cast<uint32_t>(prompt.size()))] ^= 1;
      for (uint32_t more = dice(20); more > 0 && prompt.size() < 56; --more)
        prompt.push_back(static_cast<TokenId>(dice(900)));
      const Generation answer = say(prompt, 1 + dice(5));
      if (dice(2) == 0)
        prompt.insert(prompt.end(), answer.tokens.begin(), answer.tokens.end());
      prompt.resize(std::min<size_t>(prompt.size(), 56));
    }
  }
  uint32_t dice(uint32_t below) { return (random = random * 1664525 + 1013904223) / 7 % below; }
  static std::vector<TokenId> counted(TokenId from, size_t count) {
    std::vector<TokenId> tokens(count);
    std::iota(tokens.begin(), tokens.end(), from);
    return tokens;
  }
  uint32_t random = 1;
};

TEST_F(StateSessionTest, APromptHasAStepThatEndsSomeTokensBeforeItDoes) {
  say(counted(1, 30), 1);
  EXPECT_THAT(runner.stepSizes, ElementsAre(8, 6, 8, 8));
}

TEST_F(StateSessionTest, StepsOfAPromptAreWholeChunksButForTheLast) {
  runner.limits_.chunkRows = 3;
  say(counted(1, 33), 1); // a checkpoint after 15 tokens, of at most 17
  EXPECT_THAT(runner.stepSizes, ElementsAre(6, 6, 3, 6, 6, 6));
  runner.stepSizes.clear();
  std::vector<TokenId> edited = counted(1, 33);
  edited.back() = 90;
  EXPECT_EQ(say(edited, 1).reusedTokens, 15u);
  EXPECT_THAT(runner.stepSizes, ElementsAre(6, 6, 6));
}

TEST_F(StateSessionTest, ATurnThatContinuesTheLastOneComputesOnlyWhatIsNew) {
  std::vector<TokenId> prompt = counted(1, 30);
  const Generation first = say(prompt, 3);
  prompt.insert(prompt.end(), first.tokens.begin(), first.tokens.end());
  prompt.push_back(7);
  EXPECT_EQ(say(prompt, 2).reusedTokens, 32u);
}

TEST_F(StateSessionTest, AnotherEndOfThePromptGoesOnFromTheCheckpointBeforeIt) {
  std::vector<TokenId> prompt = counted(1, 30);
  say(prompt, 3);
  prompt.back() = 99;
  EXPECT_EQ(say(prompt, 3).reusedTokens, 14u);
  EXPECT_EQ(say(prompt, 3).reusedTokens, 14u);
}

TEST_F(StateSessionTest, AnEditOfAnEarlierTurnGoesBackToItsCheckpoint) {
  std::vector<TokenId> prompt = counted(1, 24);
  say(prompt, 1);
  const std::vector<TokenId> edited = [&] {
    std::vector<TokenId> tokens = prompt;
    tokens[20] = 99;
    return tokens;
  }();
  const std::vector<TokenId> more = counted(50, 24);
  prompt.insert(prompt.end(), more.begin(), more.end());
  say(prompt, 1);
  EXPECT_EQ(say(edited, 1).reusedTokens, 8u);
}

TEST_F(StateSessionTest, AnotherPromptBeginsWithoutAState) {
  say(counted(1, 30), 3);
  EXPECT_EQ(say(counted(2, 30), 3).reusedTokens, 0u);
  say({5}, 3);
}

TEST_F(StateSessionTest, WithoutRoomForCheckpointsAnEditBeginsAgain) {
  useSlots(1);
  std::vector<TokenId> prompt = counted(1, 30);
  say(prompt, 3);
  prompt.back() = 99;
  EXPECT_EQ(say(prompt, 3).reusedTokens, 0u);
}

TEST_F(StateSessionTest, ClearingGivesAllSlotsBack) {
  say(counted(1, 30), 3);
  EXPECT_LT(pool.freeStates(), 4u);
  session.clear();
  EXPECT_EQ(pool.freeStates(), 4u);
}

TEST_F(StateSessionTest, EditsAtRandomPlacesGiveWhatAFreshRunGives) {
  for (const uint32_t slots : {1u, 2u, 3u, 6u}) {
    useSlots(slots);
    editAtRandom();
  }
}

// ---- the prefix cache ----

class CachingSessionTest : public testing::Test {
protected:
  Generation say(const std::vector<TokenId> &prompt, uint64_t count) {
    auto result = session->generate(prompt, {.maxTokens = count, .ignoreEndTokens = true},
                                    [](TokenId) -> Result<void> { return {}; });
    EXPECT_TRUE(result.has_value()) << result.error().toString();
    return result ? *result : Generation();
  }
  void expectAsFresh(const std::vector<TokenId> &prompt, uint64_t reused) {
    const Generation said = say(prompt, 5);
    EXPECT_EQ(said.reusedTokens, reused);
    FakeRunner own;
    PagePool other = *PagePool::create(16, 4);
    Session fresh(own, other, tokenizer);
    auto expected = fresh.generate(prompt, {.maxTokens = 5, .ignoreEndTokens = true},
                                   [](TokenId) -> Result<void> { return {}; });
    EXPECT_EQ(said.tokens, expected->tokens);
  }
  static std::vector<TokenId> filled(size_t count, TokenId token) {
    std::vector<TokenId> tokens(count);
    std::iota(tokens.begin(), tokens.end(), token);
    return tokens;
  }

  const Tokenizer tokenizer = *Tokenizer::create(smallVocabulary());
  FakeRunner runner;
  PagePool pool = *PagePool::create(16, 4);
  std::optional<Session> session{std::in_place, runner, pool, tokenizer,
                                 SessionOptions{.prefixCache = true}};
};

TEST_F(CachingSessionTest, AnEarlierConversationIsNotComputedAgain) {
  expectAsFresh(filled(22, 1), 0);
  session->clear();
  EXPECT_EQ(pool.availablePages(), 16u);
  expectAsFresh(filled(18, 100), 0);
  expectAsFresh(filled(22, 1), 20);
}

TEST_F(CachingSessionTest, WhatPhasesMadeOtherwiseIsComputedAgain) {
  for (const bool phasesAgree : {true, false}) {
    runner.limits_.phasesAgree = phasesAgree;
    session.emplace(runner, pool, tokenizer, SessionOptions{.prefixCache = true});
    std::vector<TokenId> prompt = filled(10, 1);
    const Generation answer = say(prompt, 9);
    prompt.insert(prompt.end(), answer.tokens.begin(), answer.tokens.end());
    session->clear();
    expectAsFresh(prompt, phasesAgree ? 16 : 8);
  }
}

TEST_F(CachingSessionTest, AConversationThatNeedsAllPagesGetsThem) {
  say(filled(30, 1), 2);
  session->clear();
  expectAsFresh(filled(58, 100), 0);
}

// ---- models with windows ----

// With 5 pages of 4 rows in layers that look back 6 rows, for steps of at most 8 tokens.
class WindowSessionTest : public StateSessionTest {
protected:
  WindowSessionTest() : StateSessionTest({{16}, {5, 5, 6}}) { useSlots(0); }
};

TEST_F(WindowSessionTest, ALongAnswerHoldsNoMorePagesThanTheWindowNeeds) {
  say(counted(1, 30), 30);
  EXPECT_EQ(pool.freePages(0), 1u);
  EXPECT_EQ(pool.freePages(1), 0u);
  session.clear();
  EXPECT_EQ(pool.freePages(1), 5u);
}

TEST_F(WindowSessionTest, ATurnThatContinuesTheLastOneComputesOnlyWhatIsNew) {
  std::vector<TokenId> prompt = counted(1, 30);
  const Generation first = say(prompt, 8);
  prompt.insert(prompt.end(), first.tokens.begin(), first.tokens.end());
  prompt.push_back(7);
  EXPECT_EQ(say(prompt, 2).reusedTokens, 37u);
}

TEST_F(WindowSessionTest, AnEditKeepsWhatComesBeforeItWhereTheWindowIsThere) {
  std::vector<TokenId> prompt = counted(1, 40);
  say(prompt, 1);
  prompt[34] = 99;
  EXPECT_EQ(say(prompt, 3).reusedTokens, 34u);
}

TEST_F(WindowSessionTest, AnEditBeforeTheWindowBeginsAgain) {
  std::vector<TokenId> prompt = counted(1, 40);
  say(prompt, 1);
  prompt[20] = 99;
  EXPECT_EQ(say(prompt, 3).reusedTokens, 0u);
}

TEST_F(WindowSessionTest, EditsAtRandomPlacesGiveWhatAFreshRunGives) {
  for (const uint32_t slots : {0u, 4u}) {
    useSlots(slots);
    editAtRandom();
    runner.limits_.chunkRows = std::max(slots, 1u); // of any size
    std::vector<TokenId> prompt = {1};
    for (int round = 0; round < 60; ++round) {
      if (dice(3) == 0)
        prompt.resize(1 + dice(static_cast<uint32_t>(prompt.size())));
      else if (dice(2) == 0)
        prompt[dice(static_cast<uint32_t>(prompt.size()))] ^= 1;
      for (uint32_t more = dice(20); more > 0 && prompt.size() < 56; --more)
        prompt.push_back(static_cast<TokenId>(dice(900)));
      const Generation answer = say(prompt, 1 + dice(5));
      if (dice(2) == 0)
        prompt.insert(prompt.end(), answer.tokens.begin(), answer.tokens.end());
      prompt.resize(std::min<size_t>(prompt.size(), 56));
    }
  }
}

} // namespace
} // namespace sinter
