// Requests of random lengths that come and go at random, on pools and steps of random sizes: each
// gets what it gets alone, whatever else happens.
#include "llm/scheduler_check.h"

#include <random>

namespace sinter {
namespace {

constexpr int kRounds = 300;

class Dice {
public:
  explicit Dice(uint32_t seed) : random_(seed) {}
  // From `least` to `most`.
  uint32_t operator()(uint32_t least, uint32_t most) {
    return least + static_cast<uint32_t>(random_() % (uint64_t{most} - least + 1));
  }
  bool oneIn(uint32_t count) { return (*this)(1, count) == 1; }

private:
  std::mt19937 random_;
};

// As small as a sequence's pages may be, or some larger.
KvGroupPages randomWindow(Dice &dice, const RunnerLimits &limits) {
  KvGroupPages window;
  window.lookBack = dice(0, 12);
  const uint64_t rows = window.lookBack + limits.stepTokens - 1;
  window.sequencePages =
      static_cast<uint32_t>((rows + limits.pageRows - 1) / limits.pageRows) + 1 + dice(0, 1);
  window.pages = dice(window.sequencePages, 4 * window.sequencePages);
  return window;
}

// Layers see all of a sequence, a window of it, or some this and some that.
RunnerLimits randomLimits(Dice &dice) {
  RunnerLimits limits;
  limits.vocabSize = 37; // so that end tokens come now and then
  limits.contextTokens = dice(8, 48);
  limits.stepTokens = dice(1, 20);
  limits.stepSequences = dice(1, 8);
  limits.queryTile = dice(1, 4);
  limits.pageRows = dice(1, 6);
  const uint32_t whole = limits.batchShape().pagesPerSequence;
  limits.kvGroups[0].pages = dice(whole, 4 * whole);
  const uint32_t windows = dice(0, 3);
  if (windows == 1)
    limits.kvGroups[0] = randomWindow(dice, limits);
  else if (windows > 1)
    limits.kvGroups.push_back(randomWindow(dice, limits));
  limits.phasesAgree = dice.oneIn(2);
  limits.stateSlots = dice.oneIn(2) ? 0 : dice(1, 10);
  if (limits.stateSlots > 0 && !limits.phasesAgree)
    limits.chunkRows = dice(1, limits.stepTokens);
  return limits;
}

SchedulerOptions randomOptions(Dice &dice) {
  return {.sequences = dice(1, 10),
          .waiting = 1000,
          .promptTokens = dice(1, 20),
          .prefillFirst = dice.oneIn(4),
          .overlap = true,
          .prefixCache = !dice.oneIn(4)};
}

void randomDevice(Dice &dice, HashRunner &runner) {
  runner.topCount = dice.oneIn(2) ? 0 : dice(1, runner.limits().vocabSize);
  runner.ahead = dice.oneIn(2);
  runner.wrongEvery = dice.oneIn(2) ? 0 : dice(1, 30);
}

// Random tokens, often behind the head of a prompt and answer that came before.
std::vector<TokenId> randomPrompt(Dice &dice, const Desk &desk) {
  const RunnerLimits &limits = desk.runner.limits();
  const uint32_t context = limits.contextTokens;
  std::vector<TokenId> prompt;
  if (!desk.clients.empty() && !dice.oneIn(4)) {
    const Client &other = desk.clients[dice(0, static_cast<uint32_t>(desk.clients.size()) - 1)];
    prompt = other.order.prompt;
    prompt.insert(prompt.end(), other.shown.begin(), other.shown.end());
    prompt.resize(dice(0, std::min(context, static_cast<uint32_t>(prompt.size()))));
  }
  const uint32_t most = dice.oneIn(3) ? context : (context + 3) / 4;
  const uint32_t least = prompt.empty() ? 1 : 0;
  for (uint32_t left = dice(least, std::max(most, least)); left > 0 && prompt.size() < context;
       --left)
    prompt.push_back(static_cast<TokenId>(dice(0, limits.vocabSize - 1)));
  return prompt;
}

Order randomOrder(Dice &dice, const Desk &desk) {
  const RunnerLimits &limits = desk.runner.limits();
  Order order;
  order.prompt = randomPrompt(dice, desk);
  order.maxTokens = dice.oneIn(5) ? UINT64_MAX : dice(0, limits.contextTokens);
  order.ignoreEndTokens = dice.oneIn(2);
  if (dice.oneIn(2))
    order.settings = {.temperature = 1, .repeatPenalty = 1.1, .seed = dice(0, 1000)};
  if (order.settings.temperature != 0 && dice.oneIn(4))
    order.settings.mirostat = 2;
  else if (order.settings.temperature != 0 && dice.oneIn(2))
    order.settings.topK = dice(1, 10);
  order.queue = std::string(dice(0, 3), 'q');
  order.priority = static_cast<int32_t>(dice(0, 2)) - 1;
  return order;
}

// Requests come in bursts between steps; some are cancelled, by flag or by id.
void runAtRandom(Desk &desk, Dice &dice, bool cancelling) {
  uint32_t left = dice(1, 24);
  for (int step = 0; step < 20000; ++step) {
    for (; left > 0 && dice.oneIn(3); --left)
      desk.submit(randomOrder(dice, desk));
    if (cancelling && !desk.clients.empty() && dice.oneIn(6)) {
      Client &client = desk.clients[dice(0, static_cast<uint32_t>(desk.clients.size()) - 1)];
      if (dice.oneIn(2))
        client.cancel = true;
      else
        EXPECT_EQ(desk.scheduler.cancel(client.id), !client.end.has_value());
    }
    if (!desk.scheduler.step() && left == 0)
      break;
  }
  ASSERT_TRUE(desk.scheduler.idle()) << "requests are left after all steps";
  desk.expectAllPagesFree();
}

bool isHeadOf(const std::vector<TokenId> &head, const std::vector<TokenId> &whole) {
  return head.size() <= whole.size() && std::equal(head.begin(), head.end(), whole.begin());
}

TEST(SchedulerRandom, EachRequestGetsWhatItGetsAlone) {
  uint64_t preemptions = 0, hits = 0, hitsOfStates = 0, ahead = 0, thrown = 0;
  int64_t rowsRead = 0;
  for (int round = 0; round < kRounds && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Dice dice(static_cast<uint32_t>(round));
    const RunnerLimits limits = randomLimits(dice);
    Desk desk(limits, randomOptions(dice));
    randomDevice(dice, desk.runner);
    runAtRandom(desk, dice, false);
    desk.expectAllAsAlone();
    ahead += desk.scheduler.counters().aheadSteps;
    thrown += desk.scheduler.counters().thrownRows;
    rowsRead += desk.runner.rowsRead;
    preemptions += desk.scheduler.counters().preemptions;
    (limits.stateSlots ? hitsOfStates : hits) += desk.scheduler.counters().prefixHits;
  }
  EXPECT_GT(rowsRead, 100) << "the largest logits decided nearly everything";
  EXPECT_GT(hits, 60u) << "few prompts had a head that was computed before";
  EXPECT_GT(hitsOfStates, 10u) << "few prompts went on from a kept state";
  EXPECT_GT(preemptions, 100u) << "the pools were never too small";
  EXPECT_GT(ahead, 1000u) << "few steps began ahead";
  EXPECT_GT(thrown, 100u) << "few rows were begun in vain";
}

TEST(SchedulerRandom, CancelledRequestsGetAHeadOfItAndTheOthersAllOfIt) {
  int cancelled = 0;
  for (int round = 0; round < kRounds && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Dice dice(static_cast<uint32_t>(1000 + round));
    const RunnerLimits limits = randomLimits(dice);
    Desk desk(limits, randomOptions(dice));
    randomDevice(dice, desk.runner);
    runAtRandom(desk, dice, true);
    for (const Client &client : desk.clients) {
      if (!client.endedWith(StopReason::Cancelled)) {
        desk.expectAsAlone(client);
        continue;
      }
      ++cancelled;
      EXPECT_EQ((*client.end)->tokens, client.shown);
      EXPECT_TRUE(isHeadOf(client.shown, desk.alone(client.order).tokens));
    }
  }
  EXPECT_GT(cancelled, 100);
}

TEST(SchedulerRandom, FailingStepsEndTheirRequestsWithTheErrorAndNoOthers) {
  int failed = 0, finished = 0;
  for (int round = 0; round < kRounds && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Dice dice(static_cast<uint32_t>(2000 + round));
    const RunnerLimits limits = randomLimits(dice);
    Desk desk(limits, randomOptions(dice));
    randomDevice(dice, desk.runner);
    for (int64_t step = dice(0, 30); step < 2000; step += dice(1, 60))
      desk.runner.failAt.insert(step);
    runAtRandom(desk, dice, false);
    for (const Client &client : desk.clients) {
      ASSERT_TRUE(client.end.has_value());
      if (client.end->has_value()) {
        desk.expectAsAlone(client);
        ++finished;
        continue;
      }
      ++failed;
      EXPECT_EQ(client.end->error().message, "the device is gone");
      EXPECT_TRUE(isHeadOf(client.shown, desk.alone(client.order).tokens));
    }
  }
  EXPECT_GT(failed, 100);
  EXPECT_GT(finished, 100);
}

} // namespace
} // namespace sinter
