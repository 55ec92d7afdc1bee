// Jobs of a worker from their submission to their end: text, stops, cancels, errors, refusals.
#include "llm/scheduler_check.h"
#include "serve/worker_check.h"

#include <future>

namespace sinter::serve {
namespace {

using testing::HasSubstr;

GenerationJob jobOf(std::vector<TokenId> prompt, uint64_t tokens) {
  return {.prompt = std::move(prompt), .maxTokens = tokens, .ignoreEndTokens = true};
}

Generation aloneOn(const WorkerDesk &desk, const GenerationJob &job) {
  HashRunner own(desk.runner.limits());
  return sinter::aloneOn(own, desk.tokenizer,
                         {.prompt = job.prompt,
                          .maxTokens = job.maxTokens,
                          .settings = job.sampler,
                          .ignoreEndTokens = job.ignoreEndTokens});
}

TEST(Worker, AJobGetsTheTokensAndTheTextOfASession) {
  WorkerDesk desk;
  const GenerationJob job = jobOf({0, 1, 2}, 20);
  const auto sink = desk.mustSubmit(job);
  const auto &end = sink->waitForEnd();
  ASSERT_TRUE(end.has_value()) << end.error().toString();
  const Generation expected = aloneOn(desk, job);
  EXPECT_EQ(end->end, AnswerEnd::TokenLimit);
  EXPECT_EQ(end->answerTokens, 20u);
  EXPECT_EQ(end->promptTokens, 3u);
  EXPECT_EQ(sink->tokens(), expected.tokens);
  EXPECT_EQ(sink->text(), *detokenize(desk.tokenizer, expected.tokens));
}

TEST(Worker, AnEndTokenEndsTheAnswer) {
  WorkerDesk desk;
  int ended = 0;
  for (TokenId first = 0; first < 9; ++first) {
    GenerationJob job = jobOf({first, 1, 2}, 40);
    job.ignoreEndTokens = false;
    const auto sink = desk.mustSubmit(job);
    const auto &end = sink->waitForEnd();
    ASSERT_TRUE(end.has_value());
    EXPECT_EQ(sink->tokens(), aloneOn(desk, job).tokens);
    ended += end->end == AnswerEnd::EndToken;
  }
  EXPECT_GT(ended, 0);
}

TEST(Worker, AStopTextEndsTheAnswerBeforeItselfAndGivesPagesBack) {
  WorkerDesk desk;
  GenerationJob job = jobOf({3, 1, 2}, 60);
  const std::string whole = *detokenize(desk.tokenizer, aloneOn(desk, job).tokens);
  ASSERT_GT(whole.size(), 30u);
  const std::string stop = whole.substr(20, 3);
  job.stops = {"never", stop};
  const auto sink = desk.mustSubmit(job);
  const auto &end = sink->waitForEnd();
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->end, AnswerEnd::StopText);
  EXPECT_EQ(end->stopText, stop);
  EXPECT_EQ(sink->text(), whole.substr(0, whole.find(stop)));
  EXPECT_LT(end->answerTokens, 60u);
  desk.engine.reset();
  EXPECT_EQ(desk.pool.availablePages(), desk.pool.pageCount());
}

TEST(Worker, TextThatMayBecomeAStopTextIsHeldBackAndSaidAtTheEnd) {
  WorkerDesk desk;
  GenerationJob job = jobOf({3, 1, 2}, 30);
  const std::string whole = *detokenize(desk.tokenizer, aloneOn(desk, job).tokens);
  job.stops = {whole + "a"};
  const auto sink = desk.mustSubmit(job);
  ASSERT_TRUE(sink->waitForEnd().has_value());
  EXPECT_EQ(sink->text(), whole);
  for (size_t i = 0; i + 1 < sink->pieces().size(); ++i)
    EXPECT_EQ(sink->pieces()[i].text, "");
}

TEST(Worker, LikelihoodsAreThoseOfTheModelWhateverTheSamplerDoes) {
  WorkerDesk desk;
  GenerationJob job = jobOf({0, 1, 2}, 6);
  job.likelihoods = 9;
  job.sampler = {.temperature = 2, .logitBias = {{3, 5.0f}}, .seed = 7};
  const auto sink = desk.mustSubmit(job);
  ASSERT_TRUE(sink->waitForEnd().has_value());
  size_t tokens = 0;
  for (const AnswerPiece &piece : sink->pieces()) {
    ASSERT_EQ(piece.likelihoods.size(), piece.tokens.size());
    for (size_t i = 0; i < piece.tokens.size(); ++i, ++tokens) {
      const auto &found = piece.likelihoods[i];
      ASSERT_EQ(found.size(), 10u);
      EXPECT_EQ(found[0].token, piece.tokens[i]);
      EXPECT_EQ(found[0].bytes, desk.tokenizer.piece(piece.tokens[i]));
      double sum = 0;
      for (size_t rank = 1; rank < found.size(); ++rank) {
        sum += std::exp(found[rank].logprob);
        EXPECT_TRUE(rank == 1 || found[rank - 1].logprob >= found[rank].logprob);
        EXPECT_TRUE(found[rank].token != found[0].token || found[rank].logprob == found[0].logprob);
      }
      EXPECT_NEAR(sum, 1, 1e-5);
    }
  }
  EXPECT_EQ(tokens, 6u);
}

TEST(Worker, ACancelledJobEndsWithAHeadOfItsAnswer) {
  WorkerDesk desk;
  const GenerationJob job = jobOf({0, 1, 2}, 60);
  desk.runner.setOpen(false);
  const auto submitted = desk.submit(job);
  ASSERT_TRUE(submitted.id.has_value());
  desk.engine->cancel(*submitted.id);
  desk.runner.setOpen(true);
  const auto &end = submitted.sink->waitForEnd();
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->end, AnswerEnd::Cancelled);
  const std::vector<TokenId> expected = aloneOn(desk, job).tokens, given = submitted.sink->tokens();
  ASSERT_LT(given.size(), expected.size());
  EXPECT_TRUE(std::equal(given.begin(), given.end(), expected.begin()));
  EXPECT_EQ(desk.engine->state().cancelled, 1u);
}

TEST(Worker, NoMoreRunAtOnceThanMay) {
  WorkerDesk desk(smallLimits(), {.running = 2});
  desk.runner.setOpen(false);
  std::vector<std::shared_ptr<NotingSink>> sinks;
  for (int i = 0; i < 4; ++i)
    sinks.push_back(desk.mustSubmit(jobOf({0, 1, 2}, 10)));
  desk.runner.setOpen(true);
  for (const auto &sink : sinks)
    EXPECT_EQ(sink->waitForEnd()->answerTokens, 10u);
  desk.engine.reset();
  for (const RunStep &step : desk.runner.steps)
    EXPECT_LE(step.sequences, 2);
}

// Reads what the engine publishes while its job runs.
class LookingSink : public NotingSink {
public:
  bool onPiece(AnswerPiece piece) override {
    if (engine.load() && !seen)
      seen = engine.load()->state();
    return NotingSink::onPiece(std::move(piece));
  }
  std::atomic<GenerationEngine *> engine = nullptr;
  std::optional<WorkerState> seen;
};

TEST(Worker, TokensAreCountedWhileTheirAnswerIsMade) {
  WorkerDesk desk;
  const auto sink = std::make_shared<LookingSink>();
  sink->engine = desk.engine.get();
  GenerationJob job = jobOf({0, 1, 2}, 20);
  job.sink = sink;
  ASSERT_TRUE(desk.engine->submit(std::move(job)).has_value());
  ASSERT_TRUE(sink->waitForEnd().has_value());
  ASSERT_TRUE(sink->seen.has_value());
  EXPECT_GE(sink->seen->answerTokens, 1u);
  EXPECT_EQ(sink->seen->finished, 0u);
  EXPECT_EQ(desk.engine->state().answerTokens, 20u);
}

TEST(Worker, PagesOfEachGroupAndSlotsArePublished) {
  RunnerLimits limits = smallLimits();
  limits.kvGroups = {{20}, {12, 3, 4}};
  limits.stateSlots = 5;
  const WorkerDesk desk(limits);
  const WorkerState state = desk.engine->state();
  ASSERT_EQ(state.kvGroups.size(), 2u);
  EXPECT_EQ(state.kvGroups[0].pages, 20u);
  EXPECT_EQ(state.kvGroups[1].pages, 12u);
  EXPECT_EQ(state.kvGroups[1].freePages, 12u);
  EXPECT_EQ(state.stateSlots, 5u);
  EXPECT_EQ(state.freeStates, 5u);
}

TEST(Worker, AJobThatNobodyListensToIsCancelledAndTheOthersGoOn) {
  WorkerDesk desk;
  const GenerationJob other = jobOf({2, 1}, 50);
  const auto deaf = desk.submit(jobOf({0, 1, 2}, 60), 1);
  const auto sink = desk.mustSubmit(other);
  const auto &end = deaf.sink->waitForEnd();
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(end->end == AnswerEnd::Cancelled || deaf.sink->tokens().size() == 60);
  ASSERT_TRUE(sink->waitForEnd().has_value());
  EXPECT_EQ(sink->tokens(), aloneOn(desk, other).tokens);
}

TEST(Worker, ADestroyedEngineEndsWhatIsLeft) {
  WorkerDesk desk;
  desk.runner.setOpen(false);
  std::vector<std::shared_ptr<NotingSink>> sinks;
  for (TokenId first = 0; first < 9; ++first)
    sinks.push_back(desk.mustSubmit(jobOf({first, 1}, 60)));
  desk.runner.setOpen(true);
  desk.engine.reset();
  for (const auto &sink : sinks)
    ASSERT_TRUE(sink->waitForEnd().has_value());
  EXPECT_EQ(desk.pool.availablePages(), desk.pool.pageCount());
}

TEST(Worker, WhatAPromptReusesIsSaidAndCounted) {
  WorkerDesk desk;
  const GenerationJob job = jobOf(std::vector<TokenId>(19, 2), 3);
  EXPECT_EQ(desk.mustSubmit(job)->waitForEnd()->reusedTokens, 0u);
  EXPECT_EQ(desk.mustSubmit(job)->waitForEnd()->reusedTokens, 16u);
  GenerationJob other = job;
  other.cacheScope = "another";
  EXPECT_EQ(desk.mustSubmit(other)->waitForEnd()->reusedTokens, 0u);
  other = job;
  other.usesPrefixCache = false;
  EXPECT_EQ(desk.mustSubmit(other)->waitForEnd()->reusedTokens, 0u);
  const WorkerState state = desk.engine->state();
  EXPECT_EQ(state.reusedTokens, 16u);
  EXPECT_EQ(state.prefixHits, 1u);
  EXPECT_EQ(state.cachedPages, 10u) << "21 rows of two scopes";
  EXPECT_EQ(state.kvGroups[0].freePages, state.kvGroups[0].pages);
}

TEST(Worker, AWorkerWithoutAPrefixCacheComputesPromptsWhole) {
  WorkerDesk desk(smallLimits(), {.prefixCache = false});
  const GenerationJob job = jobOf(std::vector<TokenId>(19, 2), 3);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(desk.mustSubmit(job)->waitForEnd()->reusedTokens, 0u);
  EXPECT_EQ(desk.engine->state().cachedPages, 0u);
}

TEST(Worker, WhatMakesNoSenseIsRefusedWithTheNumbers) {
  WorkerDesk desk(smallLimits(), {.waiting = 2});
  const auto refusal = [&](GenerationJob job) {
    const auto submitted = desk.submit(std::move(job));
    EXPECT_FALSE(submitted.id.has_value());
    return submitted.id ? std::string() : submitted.id.error().toString();
  };
  EXPECT_THAT(refusal(jobOf({}, 5)), HasSubstr("no tokens"));
  EXPECT_THAT(refusal(jobOf({9}, 5)), HasSubstr("token 0 of the prompt is 9"));
  EXPECT_THAT(refusal(jobOf(std::vector<TokenId>(65, 1), 5)), HasSubstr("65 tokens"));
  GenerationJob job = jobOf({1, 2, 3}, 5);
  job.context = 2;
  EXPECT_THAT(refusal(job), HasSubstr("the context holds 2"));
  job = jobOf({1}, 5);
  job.stops = {"a", ""};
  EXPECT_THAT(refusal(job), HasSubstr("stop text 2 is empty"));
  job = jobOf({1}, 5);
  job.sampler.temperature = -1;
  EXPECT_THAT(refusal(job), HasSubstr("temperature"));
  job = jobOf({1}, 5);
  job.likelihoods = 5000;
  EXPECT_THAT(refusal(job), HasSubstr("5000"));
  EXPECT_EQ(desk.engine->state().refused, 7u);
  EXPECT_EQ(desk.engine->state().accepted, 0u);
}

// Exhausted would tell clients to try again.
TEST(Worker, WhatThePoolCanNeverHoldIsRefusedForGood) {
  RunnerLimits limits = smallLimits();
  limits.kvGroups = {{4}};
  WorkerDesk desk(limits);
  const auto submitted = desk.submit(jobOf(std::vector<TokenId>(20, 1), 5));
  ASSERT_FALSE(submitted.id.has_value());
  EXPECT_EQ(submitted.id.error().code, Code::InvalidArgument);
  EXPECT_THAT(submitted.id.error().message, HasSubstr("a prompt of 20 tokens"));
}

TEST(Worker, TooManyThatWaitAreRefused) {
  WorkerDesk desk(smallLimits(), {.waiting = 2});
  desk.runner.setOpen(false);
  std::vector<std::shared_ptr<NotingSink>> sinks;
  std::optional<Status> refused;
  for (int i = 0; i < 20 && !refused; ++i) {
    const auto submitted = desk.submit(jobOf({1, 2}, 3));
    if (submitted.id)
      sinks.push_back(submitted.sink);
    else
      refused = submitted.id.error();
  }
  desk.runner.setOpen(true);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->code, Code::Exhausted);
  EXPECT_THAT(refused->message, HasSubstr("2 requests wait"));
  for (const auto &sink : sinks)
    EXPECT_TRUE(sink->waitForEnd().has_value());
}

TEST(Worker, AJobsOwnContextIsItsEnd) {
  WorkerDesk desk;
  GenerationJob job = jobOf({0, 1, 2}, 60);
  job.context = 16;
  const auto sink = desk.mustSubmit(job);
  const auto &end = sink->waitForEnd();
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->end, AnswerEnd::ContextFull);
  EXPECT_EQ(sink->tokens().size(), 14u); // the last one needs no place
}

TEST(Worker, ALostDeviceEndsAllAndRefusesWhatComesLater) {
  WorkerDesk desk;
  desk.runner.setOpen(false);
  desk.runner.failAt = {3};
  std::vector<std::shared_ptr<NotingSink>> sinks;
  for (TokenId first = 0; first < 9; ++first)
    sinks.push_back(desk.mustSubmit(jobOf({first, 1}, 40)));
  desk.runner.setOpen(true);
  for (const auto &sink : sinks) {
    const auto &end = sink->waitForEnd();
    ASSERT_FALSE(end.has_value());
    EXPECT_EQ(end.error().code, Code::DeviceLost);
  }
  const auto later = desk.submit(jobOf({1}, 2));
  ASSERT_FALSE(later.id.has_value());
  EXPECT_EQ(later.id.error().code, Code::DeviceLost);
  EXPECT_EQ(desk.engine->state().failed, 9u);
}

// Allows everything, once its gate is open.
class GatedConstraint : public TokenConstraint {
public:
  explicit GatedConstraint(std::shared_future<void> gate) : gate_(std::move(gate)) {}
  Result<std::span<const uint64_t>> allowed() override {
    gate_.wait();
    return std::span<const uint64_t>(&all_, 1);
  }
  Result<void> accept(TokenId) override { return {}; }

private:
  std::shared_future<void> gate_;
  const uint64_t all_ = ~uint64_t{0};
};

TEST(Worker, AJobWhoseMaskTakesLongHoldsNoOtherUp) {
  WorkerDesk desk;
  std::promise<void> gate;
  GenerationJob held = jobOf({3, 1}, 10);
  held.constraint = std::make_shared<GatedConstraint>(gate.get_future().share());
  const auto slow = desk.mustSubmit(held);
  const auto other = desk.mustSubmit(jobOf({0, 1, 2}, 40));
  EXPECT_TRUE(other->waitForEnd().has_value());
  EXPECT_EQ(desk.engine->state().finished, 1u);
  gate.set_value();
  EXPECT_TRUE(slow->waitForEnd().has_value());
  held.constraint.reset();
  EXPECT_EQ(slow->tokens(), aloneOn(desk, held).tokens);
}

// Its task ends before the engine does.
TEST(Worker, AWorkerEndsWhileAMaskIsBeingMade) {
  std::promise<void> gate;
  std::shared_ptr<NotingSink> sink;
  std::thread opener;
  {
    WorkerDesk desk;
    GenerationJob held = jobOf({3, 1}, 10);
    held.constraint = std::make_shared<GatedConstraint>(gate.get_future().share());
    sink = desk.mustSubmit(std::move(held));
    desk.engine->stop();
    opener = std::thread([&] { gate.set_value(); });
  }
  opener.join();
  EXPECT_EQ(sink->waitForEnd()->end, AnswerEnd::Cancelled);
}

} // namespace
} // namespace sinter::serve
