// Sequences that are held to forms: masks that come late hold nobody else up, and drafts save steps
// without changing a token.
#include "llm/sampler/constraint_ahead.h"
#include "llm/scheduler_check.h"

#include <deque>
#include <random>

namespace sinter {
namespace {

constexpr uint32_t kVocabulary = 61;

RunnerLimits limits() {
  RunnerLimits made{kVocabulary, 64, 16, 4, 4, 4, {{64}}};
  made.phasesAgree = true;
  return made;
}

std::vector<TokenId> promptOf(size_t length, TokenId first) {
  std::vector<TokenId> prompt(length);
  for (size_t i = 0; i < length; ++i)
    prompt[i] = static_cast<TokenId>((static_cast<size_t>(first) + i * i) % kVocabulary);
  return prompt;
}

// The token at place i is one of two, or where i is within a run of `forced`, one alone. A wrong
// draft has tokens that may not come.
class Stripes : public TokenConstraint {
public:
  explicit Stripes(size_t forced, bool isDraftWrong = false)
      : forced_(forced), isDraftWrong_(isDraftWrong) {}

  Result<std::span<const uint64_t>> allowed() override {
    mask_ = maskAt(count_);
    return std::span<const uint64_t>(mask_);
  }
  Result<void> accept(TokenId token) override {
    if (!(maskAt(count_)[0] >> token & 1))
      return fail(Code::Internal, "a token that may not come");
    ++count_;
    return {};
  }
  Result<Draft> draft() override {
    Draft draft;
    for (size_t i = count_; isForced(i); ++i) {
      const TokenId token = forcedAt(i) ^ TokenId { isDraftWrong_ };
      draft.tokens.push_back(token);
      draft.masks.push_back(maskAt(i + 1));
    }
    return draft;
  }

private:
  bool isForced(size_t i) const { return forced_ > 0 && i % 8 >= 8 - forced_; }
  TokenId forcedAt(size_t i) const { return static_cast<TokenId>(10 + i % 40); }
  TokenMask maskAt(size_t i) const {
    const uint64_t one = uint64_t{1} << forcedAt(i);
    return {isForced(i) ? one : one | uint64_t{1} << (i % 7)};
  }

  size_t forced_;
  bool isDraftWrong_;
  size_t count_ = 0;
  TokenMask mask_;
};

// Tasks that run when the test says so.
struct Tasks {
  std::deque<std::function<void()>> waiting;
  TaskPost post() {
    return [this](std::function<void()> task) { waiting.push_back(std::move(task)); };
  }
  void runAll() {
    while (!waiting.empty()) {
      const auto task = std::move(waiting.front());
      waiting.pop_front();
      task();
    }
  }
};

Client &submitHeld(Desk &desk, Order order, std::shared_ptr<TokenConstraint> constraint) {
  Client &client = desk.clients.emplace_back();
  client.order = std::move(order);
  Request request = desk.requestOf(client);
  request.sampler->setConstraint(std::move(constraint));
  const auto id = desk.scheduler.submit(std::move(request));
  EXPECT_TRUE(id.has_value()) << id.error().toString();
  client.id = *id;
  return client;
}

Order orderOf(TokenId first, double temperature = 0) {
  return {.prompt = promptOf(5, first),
          .maxTokens = 30,
          .settings = {.temperature = temperature, .seed = 9},
          .ignoreEndTokens = true};
}

// What comes where each mask is made at once and nothing is drafted.
std::vector<TokenId> stepByStep(const Order &order, size_t forced) {
  Desk desk(limits());
  const Client &client = submitHeld(desk, order, std::make_shared<Stripes>(forced));
  desk.run();
  EXPECT_EQ(client.shown.size(), order.maxTokens);
  return client.shown;
}

TEST(SchedulerForms, ASequenceWithoutItsMaskHoldsNobodyUp) {
  Desk desk(limits());
  Tasks tasks;
  const Client &slow =
      submitHeld(desk, orderOf(3),
                 std::make_shared<ConstraintAhead>(std::make_shared<Stripes>(0), tasks.post()));
  const Client &other = desk.submit(orderOf(7));
  while (!other.end)
    desk.scheduler.step();
  EXPECT_EQ(other.shown.size(), 30u);
  EXPECT_TRUE(slow.shown.empty());
  EXPECT_EQ(desk.scheduler.counters().heldRows, 1u); // the row is computed once and kept
  while (!slow.end) {
    tasks.runAll();
    desk.scheduler.step();
  }
  EXPECT_EQ(slow.shown, stepByStep(orderOf(3), 0));
  desk.expectAsAlone(other);
  desk.expectAllPagesFree();
}

// Whenever masks come, and whatever is preempted meanwhile.
TEST(SchedulerForms, TokensDependOnNoMasksTime) {
  for (const uint32_t pages : {64u, 16u, 12u}) {
    for (uint32_t seed = 0; seed < 6; ++seed) {
      RunnerLimits few = limits();
      few.kvGroups[0].pages = pages;
      Desk desk(few);
      Tasks tasks;
      std::mt19937 random(seed);
      const double temperature = seed % 2;
      for (TokenId first = 0; first < 4; ++first)
        submitHeld(
            desk, orderOf(first, temperature),
            std::make_shared<ConstraintAhead>(std::make_shared<Stripes>(first), tasks.post()));
      for (int step = 0; step < 5000 && desk.scheduler.step(); ++step)
        if (random() % 3 == 0)
          tasks.runAll();
      for (TokenId first = 0; first < 4; ++first)
        EXPECT_EQ(desk.clients[static_cast<size_t>(first)].shown,
                  stepByStep(orderOf(first, temperature), static_cast<size_t>(first)));
      desk.expectAllPagesFree();
    }
  }
}

// A task that runs at once, as a fast thread's would.
TaskPost atOnce() {
  return [](const std::function<void()> &task) { task(); };
}

// Masks and drafts among steps that begin ahead, whenever masks come.
TEST(SchedulerForms, ASequenceInAFormBesideStepsAheadChangesNoToken) {
  uint64_t aheadSteps = 0, heldRows = 0;
  for (uint32_t seed = 0; seed < 8; ++seed) {
    Desk desk(limits(), {.overlap = true});
    desk.runner.ahead = true;
    desk.runner.topCount = seed % 4 ? kVocabulary : 3;
    Tasks tasks;
    std::mt19937 random(seed);
    for (const TokenId first : {1, 2, 3})
      desk.submit(orderOf(first));
    const size_t forced = seed % 3 * 2;
    const Client &held =
        submitHeld(desk, orderOf(4, seed % 2),
                   std::make_shared<ConstraintAhead>(std::make_shared<Stripes>(forced),
                                                     seed < 4 ? tasks.post() : atOnce()));
    for (int step = 0; step < 5000 && desk.scheduler.step(); ++step)
      if (random() % 3 == 0)
        tasks.runAll();
    EXPECT_EQ(held.shown, stepByStep(orderOf(4, seed % 2), forced));
    for (size_t i = 0; i < 3; ++i)
      desk.expectAsAlone(desk.clients[i]);
    desk.expectAllPagesFree();
    aheadSteps += desk.scheduler.counters().aheadSteps;
    heldRows += desk.scheduler.counters().heldRows;
  }
  EXPECT_GT(aheadSteps, 80u);
  EXPECT_GT(heldRows, 20u);
}

TEST(SchedulerForms, DraftsSaveStepsAndChangeNoToken) {
  for (const double temperature : {0.0, 1.0}) {
    Desk desk(limits());
    const Client &client =
        submitHeld(desk, orderOf(3, temperature),
                   std::make_shared<ConstraintAhead>(std::make_shared<Stripes>(6), atOnce()));
    desk.run();
    EXPECT_EQ(client.shown, stepByStep(orderOf(3, temperature), 6));
    EXPECT_LT(desk.runner.steps.size(), 16u); // of 30 tokens
    EXPECT_EQ((*client.end)->decodeSteps, desk.runner.steps.size() - 1);
    EXPECT_GT(desk.scheduler.counters().acceptedDrafts, 15u);
  }
}

TEST(SchedulerForms, WrongDraftsChangeNoTokenAndEnd) {
  Desk desk(limits());
  const Client &client =
      submitHeld(desk, orderOf(3),
                 std::make_shared<ConstraintAhead>(std::make_shared<Stripes>(6, true), atOnce()));
  desk.run();
  EXPECT_EQ(client.shown, stepByStep(orderOf(3), 6));
  EXPECT_EQ(desk.scheduler.counters().acceptedDrafts, 0u);
  EXPECT_LT(desk.scheduler.counters().draftedTokens, 30u);
}

// Each drafted token has its row of logits.
TEST(SchedulerForms, EachTokenOfADraftHasItsLogits) {
  Desk desk(limits());
  Client &client = desk.clients.emplace_back();
  client.order = orderOf(3);
  Request request = desk.requestOf(client);
  request.sampler->setConstraint(
      std::make_shared<ConstraintAhead>(std::make_shared<Stripes>(6), atOnce()));
  size_t rows = 0;
  request.onLogits = [&](TokenId, std::span<const float> logits) {
    rows += logits.size() == kVocabulary;
  };
  ASSERT_TRUE(desk.scheduler.submit(std::move(request)).has_value());
  desk.run();
  EXPECT_EQ(rows, 30u);
  EXPECT_GT(desk.scheduler.counters().acceptedDrafts, 15u);
}

// A prompt that takes whole prefill steps keeps nobody with a draft waiting.
TEST(SchedulerForms, AnAnswerWithADraftGoesOnBesideALongPrompt) {
  Desk desk(limits(), {.promptTokens = 16});
  const Client &held = submitHeld(
      desk, orderOf(3), std::make_shared<ConstraintAhead>(std::make_shared<Stripes>(6), atOnce()));
  while (held.shown.size() < 3)
    desk.scheduler.step();
  for (TokenId first = 0; first < 3; ++first)
    desk.submit({.prompt = promptOf(60, first), .maxTokens = 1, .ignoreEndTokens = true});
  const size_t before = held.shown.size();
  for (int step = 0; step < 6; ++step)
    desk.scheduler.step();
  EXPECT_GE(held.shown.size(), before + 3);
  desk.run();
  EXPECT_EQ(held.shown, stepByStep(orderOf(3), 6));
}

// Where phases differ in bits, or states cannot go back, nothing is drafted.
TEST(SchedulerForms, DraftsAreOnlyWhereTheyChangeNoBits) {
  std::vector<RunnerLimits> others(3, limits());
  others[0].phasesAgree = false;
  others[1].stateSlots = 8;
  others[2].kvGroups.push_back({64, 8, 12});
  for (const RunnerLimits &other : others) {
    Desk desk(other);
    const Client &client =
        submitHeld(desk, orderOf(3),
                   std::make_shared<ConstraintAhead>(std::make_shared<Stripes>(6), atOnce()));
    desk.run();
    EXPECT_EQ(client.shown.size(), 30u);
    EXPECT_EQ(desk.scheduler.counters().draftedTokens, 0u);
  }
}

TEST(SchedulerForms, ACancelledOneWithoutItsMaskEnds) {
  Desk desk(limits());
  Tasks tasks;
  const Client &slow =
      submitHeld(desk, orderOf(3),
                 std::make_shared<ConstraintAhead>(std::make_shared<Stripes>(0), tasks.post()));
  for (int step = 0; step < 5; ++step)
    desk.scheduler.step();
  desk.scheduler.cancel(slow.id);
  desk.scheduler.step();
  EXPECT_TRUE(slow.endedWith(StopReason::Cancelled));
  desk.expectAllPagesFree();
  tasks.runAll(); // of an answer that is gone
}

} // namespace
} // namespace sinter
