// What the scheduler does with single requests and small groups of them: order, turns, stops, ends
// and refusals.
#include "llm/scheduler_check.h"

namespace sinter {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// 61 tokens, a context of 64, steps of 8 rows and 4 sequences, blocks of 4, 16 pages of 4 rows.
const RunnerLimits kLimits{61, 64, 8, 4, 4, 4, {{16}}};

std::vector<TokenId> promptOf(size_t length, TokenId first) {
  std::vector<TokenId> prompt(length);
  for (size_t i = 0; i < length; ++i)
    prompt[i] = static_cast<TokenId>((static_cast<size_t>(first) + i * i) % 61);
  return prompt;
}

Order answer(size_t promptLength, TokenId first, uint64_t tokens) {
  return {.prompt = promptOf(promptLength, first), .maxTokens = tokens, .ignoreEndTokens = true};
}

RunnerLimits withPool(uint32_t pages) {
  RunnerLimits limits = kLimits;
  limits.kvGroups[0].pages = pages;
  return limits;
}

std::string phasesOf(const HashRunner &runner) {
  std::string text;
  for (const RunStep &step : runner.steps)
    text += step.phase == Phase::Prefill ? 'P' : 'g';
  return text;
}

TEST(Scheduler, OneRequestGivesWhatASessionGives) {
  Desk desk(kLimits);
  const Client &client = desk.submit(answer(19, 3, 5));
  desk.run();
  desk.expectAsAlone(client);
  EXPECT_EQ(phasesOf(desk.runner), "PPPgggg");
}

TEST(Scheduler, AnEndTokenEndsAndIsNotShown) {
  Desk desk(kLimits);
  for (TokenId first = 0; first < 12; ++first)
    desk.submit({.prompt = promptOf(3, first)});
  desk.run();
  desk.expectAllAsAlone();
  EXPECT_TRUE(std::ranges::any_of(
      desk.clients, [](const Client &client) { return client.endedWith(StopReason::EndToken); }));
}

TEST(Scheduler, ASuppressedTokenIsNotChosenWithoutASamplerEither) {
  VocabularyData data = smallVocabulary();
  RunnerLimits limits = kLimits;
  limits.vocabSize = static_cast<uint32_t>(data.tokens.size());
  Desk desk(limits);
  const auto firstToken = [&] {
    TokenId first = -1;
    const auto submitted = desk.scheduler.submit({.prompt = {1, 2, 3},
                                                  .maxTokens = 1,
                                                  .ignoreEndTokens = true,
                                                  .onToken = [&](TokenId token) -> Result<void> {
                                                    first = token;
                                                    return {};
                                                  }});
    EXPECT_TRUE(submitted.has_value());
    desk.run();
    return first;
  };
  const TokenId likeliest = firstToken();
  data.suppressed = {likeliest};
  desk.tokenizer = *Tokenizer::create(data);
  EXPECT_NE(firstToken(), likeliest);
}

TEST(Scheduler, AFullContextEndsWithAReason) {
  Desk desk(kLimits);
  const Client &client = desk.submit(answer(60, 3, UINT64_MAX));
  desk.run();
  desk.expectAsAlone(client);
  EXPECT_TRUE(client.endedWith(StopReason::ContextFull));
}

TEST(Scheduler, NoTokensAskedForGivesNone) {
  Desk desk(kLimits);
  const Client &client = desk.submit(answer(5, 3, 0));
  desk.run();
  EXPECT_TRUE(client.endedWith(StopReason::TokenLimit));
  EXPECT_THAT(client.shown, IsEmpty());
}

TEST(Scheduler, SequencesGenerateInOneStep) {
  Desk desk(kLimits);
  for (TokenId first : {1, 2, 3, 4})
    desk.submit(answer(2, first, 4));
  desk.run();
  desk.expectAllAsAlone();
  EXPECT_EQ(phasesOf(desk.runner), "Pggg");
  EXPECT_EQ(desk.runner.steps[1].sequences, 4);
}

TEST(Scheduler, MoreRequestsThanAStepTakesWaitInTheirOrder) {
  Desk desk(kLimits);
  for (TokenId first = 1; first <= 9; ++first)
    desk.submit(answer(2, first, 3));
  desk.scheduler.step();
  EXPECT_EQ(desk.scheduler.runningCount(), 4u);
  EXPECT_EQ(desk.scheduler.waitingCount(), 5u);
  desk.run();
  desk.expectAllAsAlone();
  for (size_t i = 1; i < desk.clients.size(); ++i)
    EXPECT_LE(desk.clients[i - 1].shownAt[0], desk.clients[i].shownAt[0]);
}

TEST(Scheduler, RequestsWaitForSlotsOfTheirStates) {
  RunnerLimits limits = kLimits;
  limits.stateSlots = 2;
  Desk desk(limits);
  for (TokenId first : {1, 2, 3})
    desk.submit(answer(2, first, 6));
  desk.scheduler.step();
  EXPECT_EQ(desk.scheduler.runningCount(), 2u);
  desk.run();
  desk.expectAllAsAlone();
  EXPECT_EQ(desk.pool.freeStates(), 2u);
}

TEST(Scheduler, AWaitingRequestBeginsAsSoonAsOneHasEnded) {
  Desk desk(kLimits, {.sequences = 2});
  desk.submit(answer(2, 1, 2));
  const Client &longer = desk.submit(answer(2, 2, 20));
  const Client &waiting = desk.submit(answer(2, 3, 2));
  desk.run();
  desk.expectAllAsAlone();
  EXPECT_LT(waiting.shownAt.back(), longer.shownAt.back());
}

TEST(Scheduler, ALongPromptAndGeneratedTokensTakeTurns) {
  Desk desk(kLimits, {.promptTokens = 4});
  desk.submit(answer(3, 1, 12));
  desk.scheduler.step();
  desk.submit(answer(24, 2, 2));
  desk.run();
  desk.expectAllAsAlone();
  EXPECT_EQ(phasesOf(desk.runner), "PgPgPgPgPgPgPggggg");
  for (size_t step = 2; step <= 12; step += 2)
    EXPECT_EQ(desk.runner.steps[step].rows, 4);
}

TEST(Scheduler, PromptsFirstGeneratesWhenThereIsNoPromptLeft) {
  Desk desk(kLimits, {.promptTokens = 4, .prefillFirst = true});
  desk.submit(answer(3, 1, 4));
  desk.submit(answer(24, 2, 4));
  desk.run();
  desk.expectAllAsAlone();
  EXPECT_EQ(phasesOf(desk.runner), "PPPPggg");
}

TEST(Scheduler, ALongPromptIsNotStarvedByAStreamOfShortOnes) {
  Desk desk(kLimits, {.promptTokens = 4});
  const Client &longer = desk.submit(answer(40, 1, 2));
  int64_t steps = 0;
  while (longer.shown.empty() && steps < 100) {
    desk.submit(answer(2, static_cast<TokenId>(steps++ % 50), 2));
    desk.scheduler.step();
  }
  // Two rows of every second step are certain.
  EXPECT_LE(steps, 41);
  desk.run();
  desk.expectAllAsAlone();
}

TEST(Scheduler, AShortPromptIsNotStarvedByLongOnes) {
  RunnerLimits limits = withPool(64);
  Desk desk(limits, {.promptTokens = 4});
  desk.submit(answer(2, 5, 60));
  for (TokenId first : {1, 2})
    desk.submit(answer(60, first, 2));
  desk.scheduler.step();
  const Client &shorter = desk.submit(answer(3, 3, 2));
  const int64_t before = std::ssize(desk.runner.steps);
  desk.run();
  desk.expectAllAsAlone();
  EXPECT_LE(shorter.shownAt[0], before + 4);
}

TEST(Scheduler, APoolTooSmallForAllPreemptsTheYoungestAndLosesNothing) {
  for (const bool phasesAgree : {false, true}) {
    RunnerLimits limits = withPool(6);
    limits.phasesAgree = phasesAgree;
    Desk desk(limits);
    for (TokenId first : {1, 2, 3})
      desk.submit(answer(3, first, 20));
    desk.run();
    desk.expectAllAsAlone();
    EXPECT_GT(desk.scheduler.counters().preemptions, 0u);
    EXPECT_GT(desk.scheduler.counters().recomputedRows, 0u);
    EXPECT_LT(desk.clients[0].shownAt.back(), desk.clients[1].shownAt.back());
    EXPECT_LT(desk.clients[1].shownAt.back(), desk.clients[2].shownAt.back());
  }
}

TEST(Scheduler, TheOldestIsNeverPreempted) {
  Desk desk(withPool(6));
  const Client &oldest = desk.submit(answer(3, 1, 20));
  for (TokenId first : {2, 3, 4})
    desk.submit(answer(3, first, 20));
  desk.run();
  for (size_t i = 1; i < oldest.shownAt.size(); ++i)
    EXPECT_LE(oldest.shownAt[i] - oldest.shownAt[i - 1], 2);
}

TEST(Scheduler, WhatWasGeneratedIsComputedAgainAsAPromptOnlyWherePhasesAgree) {
  std::vector<uint64_t> decodeSteps;
  for (const bool phasesAgree : {false, true}) {
    RunnerLimits limits = withPool(6);
    limits.phasesAgree = phasesAgree;
    Desk desk(limits);
    desk.submit(answer(3, 1, 21));
    desk.submit(answer(3, 2, 21));
    desk.run();
    desk.expectAllAsAlone();
    decodeSteps.push_back(desk.scheduler.counters().decodeSteps);
  }
  EXPECT_GT(decodeSteps[0], decodeSteps[1]);
}

TEST(Scheduler, CancellingByFlagOrIdEndsOneRequestAndGivesItsPagesBack) {
  Desk desk(kLimits);
  Client &byFlag = desk.submit(answer(6, 1, 30));
  const Client &byId = desk.submit(answer(6, 2, 30));
  const Client &other = desk.submit(answer(6, 3, 9));
  for (int i = 0; i < 6; ++i)
    desk.scheduler.step();
  const uint32_t before = desk.pool.freePages();
  byFlag.cancel = true;
  EXPECT_TRUE(desk.scheduler.cancel(byId.id));
  desk.scheduler.step();
  EXPECT_GT(desk.pool.freePages(), before);
  for (const Client *client : {static_cast<const Client *>(&byFlag), &byId}) {
    EXPECT_TRUE(client->endedWith(StopReason::Cancelled));
    EXPECT_EQ((*client->end)->tokens, client->shown);
    EXPECT_FALSE(client->shown.empty());
  }
  EXPECT_FALSE(desk.scheduler.cancel(byId.id));
  desk.run();
  desk.expectAsAlone(other);
}

TEST(Scheduler, AWaitingOrHalfComputedRequestCanBeCancelled) {
  Desk desk(kLimits, {.sequences = 1});
  Client &half = desk.submit(answer(40, 1, 3));
  const Client &waiting = desk.submit(answer(6, 2, 3));
  const Client &other = desk.submit(answer(6, 3, 3));
  desk.scheduler.step();
  EXPECT_TRUE(desk.scheduler.cancel(waiting.id));
  half.cancel = true;
  desk.run();
  EXPECT_TRUE(half.endedWith(StopReason::Cancelled));
  EXPECT_TRUE(waiting.endedWith(StopReason::Cancelled));
  EXPECT_EQ((*half.end)->promptTokens, 40u);
  desk.expectAsAlone(other);
  EXPECT_FALSE(desk.scheduler.cancel(RequestId{99}));
}

TEST(Scheduler, AFailedStepEndsTheRequestsOfThatStepAndNoOthers) {
  Desk desk(kLimits, {.promptTokens = 4});
  const Client &generating = desk.submit(answer(3, 1, 12));
  desk.scheduler.step();
  const Client &prompt = desk.submit(answer(24, 2, 3));
  desk.runner.failAt = {4}; // the second piece of the long prompt
  desk.run();
  ASSERT_TRUE(prompt.end && !*prompt.end);
  EXPECT_EQ(prompt.end->error().code, Code::DeviceLost);
  EXPECT_EQ(prompt.end->error().message, "the device is gone");
  desk.expectAsAlone(generating);
  const Client &later = desk.submit(answer(24, 2, 3));
  desk.run();
  desk.expectAsAlone(later);
}

TEST(Scheduler, AFailedGeneratedStepLeavesPromptsAndWaitingRequestsAlone) {
  Desk desk(kLimits, {.sequences = 2, .promptTokens = 4});
  const Client &generating = desk.submit(answer(3, 1, 12));
  desk.scheduler.step();
  const Client &prompt = desk.submit(answer(24, 2, 3));
  const Client &waiting = desk.submit(answer(5, 3, 3));
  desk.runner.failAt = {3};
  desk.run();
  EXPECT_EQ(desk.runner.steps[3].phase, Phase::Decode);
  ASSERT_TRUE(generating.end && !*generating.end);
  EXPECT_EQ(generating.end->error().message, "the device is gone");
  desk.expectAsAlone(prompt);
  desk.expectAsAlone(waiting);
}

TEST(Scheduler, AnErrorOfASinkEndsItsRequestOnly) {
  Desk desk(kLimits);
  Client closed;
  closed.order = answer(3, 1, 9);
  Request request = desk.requestOf(closed);
  request.onToken = [](TokenId) -> Result<void> {
    return fail(Code::Cancelled, "nobody reads the answer");
  };
  ASSERT_TRUE(desk.scheduler.submit(std::move(request)).has_value());
  const Client &other = desk.submit(answer(3, 2, 9));
  desk.run();
  ASSERT_TRUE(closed.end && !*closed.end);
  EXPECT_EQ(closed.end->error().message, "nobody reads the answer");
  desk.expectAsAlone(other);
}

TEST(Scheduler, AnErrorOfASamplerEndsItsRequestOnly) {
  Desk desk(kLimits);
  Client broken;
  broken.order = answer(3, 1, 9);
  Request request = desk.requestOf(broken);
  request.sampler = *Sampler::create({}, 62, nullptr); // one more than there are logits
  ASSERT_TRUE(desk.scheduler.submit(std::move(request)).has_value());
  const Client &other = desk.submit(answer(3, 2, 9));
  desk.run();
  ASSERT_TRUE(broken.end && !*broken.end);
  EXPECT_EQ(broken.end->error().code, Code::Internal);
  desk.expectAsAlone(other);
}

TEST(Scheduler, CallbacksMaySubmitAndCancel) {
  Desk desk(kLimits);
  Client first;
  first.order = answer(3, 1, 4);
  const Client &cancelled = desk.submit(answer(3, 2, 30));
  Request request = desk.requestOf(first);
  request.onEnd = [&](Result<Generation>) {
    desk.submit(answer(5, 7, 4));
    EXPECT_TRUE(desk.scheduler.cancel(cancelled.id));
  };
  ASSERT_TRUE(desk.scheduler.submit(std::move(request)).has_value());
  desk.run();
  EXPECT_TRUE(cancelled.endedWith(StopReason::Cancelled));
  desk.expectAsAlone(desk.clients.back());
}

TEST(Scheduler, PagesThatOthersHoldAreAnErrorOfTheRequestThatNeedsThem) {
  Desk desk(kLimits);
  SequencePages others(desk.pool);
  ASSERT_TRUE(others.reserve(13 * 4).has_value());
  const Client &tooLong = desk.submit(answer(13, 1, 2));
  const Client &growing = desk.submit(answer(3, 2, 20));
  const Client &fitting = desk.submit(answer(3, 3, 5));
  while (desk.scheduler.step())
    ;
  for (const Client *client : {&tooLong, &growing}) {
    ASSERT_TRUE(client->end && !*client->end);
    EXPECT_EQ(client->end->error().code, Code::Exhausted);
    EXPECT_THAT(client->end->error().message, HasSubstr("of 16 are free"));
  }
  desk.expectAsAlone(fitting);
}

TEST(Scheduler, ADyingSchedulerGivesItsPagesBack) {
  PagePool pool = *PagePool::create(16, 4);
  HashRunner runner(kLimits);
  const Tokenizer tokenizer = *Tokenizer::create(smallVocabulary());
  {
    Scheduler scheduler(runner, pool, tokenizer);
    ASSERT_TRUE(scheduler.submit({.prompt = promptOf(20, 1)}).has_value());
    scheduler.step();
    EXPECT_LT(pool.freePages(), 16u);
  }
  EXPECT_EQ(pool.freePages(), 16u);
}

TEST(Scheduler, AStepWithoutRequestsDoesNothing) {
  Desk desk(kLimits);
  EXPECT_FALSE(desk.scheduler.step());
  EXPECT_THAT(desk.runner.steps, IsEmpty());
}

struct RefusedOrder {
  const char *what;
  Order order;
  Code code;
  const char *message;
  friend void PrintTo(const RefusedOrder &refused, std::ostream *stream) {
    *stream << refused.what;
  }
};

class SchedulerRefusal : public testing::TestWithParam<RefusedOrder> {};

TEST_P(SchedulerRefusal, SaysTheNumbersAndHarmsNobody) {
  Desk desk(withPool(6), {.waiting = 1});
  const Client &other = desk.submit(answer(3, 2, 9));
  desk.scheduler.step();
  const auto refused = desk.trySubmit(GetParam().order);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, GetParam().code);
  EXPECT_EQ(refused.error().message, GetParam().message);
  desk.run();
  desk.expectAsAlone(other);
  EXPECT_FALSE(desk.clients.back().end.has_value());
}

INSTANTIATE_TEST_SUITE_P(
    Scheduler, SchedulerRefusal,
    testing::Values(
        RefusedOrder{"EmptyPrompt",
                     {},
                     Code::InvalidArgument,
                     "the prompt has no tokens, expected at least 1"},
        RefusedOrder{"PromptBeyondTheContext", answer(65, 1, 1), Code::InvalidArgument,
                     "the prompt has 65 tokens, the context holds 64"},
        RefusedOrder{"TokenBeyondTheVocabulary",
                     {.prompt = {1, 2, 61}},
                     Code::InvalidArgument,
                     "token 2 of the prompt is 61, expected one below 61"},
        RefusedOrder{"NegativeToken",
                     {.prompt = {-1}},
                     Code::InvalidArgument,
                     "token 0 of the prompt is -1, expected one below 61"},
        RefusedOrder{"PromptBeyondThePool", answer(25, 1, 1), Code::Exhausted,
                     "a prompt of 25 tokens with its answer may take 25 tokens of KV cache in 7 "
                     "pages, the pool has 6 pages of 4"},
        RefusedOrder{"AnswerBeyondThePool", answer(20, 1, 6), Code::Exhausted,
                     "a prompt of 20 tokens with its answer may take 25 tokens of KV cache in 7 "
                     "pages, the pool has 6 pages of 4"},
        RefusedOrder{"AnswerOfAnyLength", answer(20, 1, UINT64_MAX), Code::Exhausted,
                     "a prompt of 20 tokens with its answer may take 64 tokens of KV cache in 16 "
                     "pages, the pool has 6 pages of 4"}),
    [](const auto &info) { return std::string(info.param.what); });

TEST(Scheduler, TooManyWaitingRequestsAreRefusedWithTheLimit) {
  Desk desk(kLimits, {.waiting = 2});
  desk.submit(answer(3, 1, 2));
  desk.submit(answer(3, 2, 2));
  const auto refused = desk.trySubmit(answer(3, 3, 2));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::Exhausted);
  EXPECT_EQ(refused.error().message, "2 requests wait already, expected fewer than 2");
  desk.run();
}

} // namespace
} // namespace sinter
