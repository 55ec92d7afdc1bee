// Jobs of every kind that come and go at random from several threads: each is told of once, gets
// what it gets alone, and all pages come back.
#include "llm/scheduler_check.h"
#include "serve/worker_check.h"

#include <random>
#include <thread>

namespace sinter::serve {
namespace {

constexpr int kRounds = 12, kClients = 3, kJobs = 40; // of each client

struct Sent {
  GenerationJob job; // without its sink
  std::shared_ptr<NotingSink> sink;
  bool refused = false;
};

GenerationJob randomJob(std::mt19937 &random, int client) {
  const auto upTo = [&](uint32_t most) { return static_cast<uint32_t>(random() % (most + 1)); };
  GenerationJob job;
  job.prompt.resize(1 + upTo(upTo(3) == 0 ? 40 : 6));
  for (TokenId &token : job.prompt)
    token = static_cast<TokenId>(upTo(8));
  job.maxTokens = upTo(20);
  job.ignoreEndTokens = upTo(1);
  if (upTo(1))
    job.sampler = {.temperature = 1, .seed = upTo(100)};
  if (upTo(5) == 0)
    job.stops = {"ab", "d"};
  if (upTo(9) == 0)
    job.likelihoods = upTo(3);
  job.queue = std::string(1, static_cast<char>('a' + client));
  job.priority = static_cast<int32_t>(upTo(2));
  if (upTo(9) == 0)
    job.deadline = JobClock::now() + std::chrono::microseconds(upTo(2000));
  if (upTo(30) == 0)
    job.prompt.assign(70, 1); // more than the context
  return job;
}

// An engine over a pool of a size of its own.
struct OwnDesk {
  OwnDesk(const RunnerLimits &limits, uint32_t pages)
      : runner(limits), pool(*PagePool::create(pages, limits.pageRows, limits.stateSlots)),
        engine(std::move(*GenerationEngine::start(runner, pool, tokenizer,
                                                  {.waiting = 30, .promptTokens = 4}))) {}

  Result<JobId> submit(GenerationJob job, const std::shared_ptr<NotingSink> &sink) {
    job.sink = sink;
    return engine->submit(std::move(job));
  }

  Tokenizer tokenizer = *Tokenizer::create(smallVocabulary());
  HashRunner runner;
  PagePool pool;
  std::unique_ptr<GenerationEngine> engine;
};

void runClient(OwnDesk &desk, uint32_t seed, int client, std::vector<Sent> &sent) {
  std::mt19937 random(seed);
  std::vector<JobId> ids;
  for (int i = 0; i < kJobs; ++i) {
    Sent &one = sent.emplace_back();
    one.job = randomJob(random, client);
    const size_t mostPieces = random() % 8 == 0 ? random() % 4 : SIZE_MAX;
    one.sink = std::make_shared<NotingSink>(mostPieces);
    const auto id = desk.submit(one.job, one.sink);
    one.refused = !id;
    if (id)
      ids.push_back(*id);
    if (!ids.empty() && random() % 8 == 0)
      desk.engine->cancel(ids[random() % ids.size()]);
    if (random() % 4 == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
  }
}

// What the job gets where nothing else runs; its stop texts apart.
Generation aloneOn(const OwnDesk &desk, const GenerationJob &job) {
  HashRunner own(desk.runner.limits());
  return sinter::aloneOn(own, desk.tokenizer,
                         {.prompt = job.prompt,
                          .maxTokens = job.maxTokens,
                          .settings = job.sampler,
                          .ignoreEndTokens = job.ignoreEndTokens});
}

void checkAnswer(const OwnDesk &desk, const Sent &sent, EndCounters &counted) {
  const auto &end = sent.sink->waitForEnd();
  if (!end) {
    ++counted.failed;
    EXPECT_TRUE(end.error().code == Code::Timeout || end.error().code == Code::Internal)
        << end.error().toString();
    return;
  }
  ++(end->end == AnswerEnd::Cancelled ? counted.cancelled : counted.finished);
  const std::vector<TokenId> expected = aloneOn(desk, sent.job).tokens, got = sent.sink->tokens();
  ASSERT_LE(got.size(), expected.size());
  EXPECT_TRUE(std::equal(got.begin(), got.end(), expected.begin()));
  if (end->end != AnswerEnd::Cancelled && end->end != AnswerEnd::StopText)
    EXPECT_EQ(got, expected);
  EXPECT_EQ(end->answerTokens >= got.size(), true);
  std::string text = *detokenize(desk.tokenizer, expected);
  if (end->end == AnswerEnd::StopText) {
    const size_t at = std::min(text.find("ab"), text.find("d"));
    text.resize(at);
    EXPECT_EQ(sent.sink->text(), text);
  } else {
    EXPECT_TRUE(text.starts_with(sent.sink->text()));
  }
}

RunnerLimits randomLimits(std::mt19937 &random) {
  RunnerLimits limits = smallLimits();
  limits.stepSequences = 1 + random() % 6;
  limits.phasesAgree = random() % 2;
  limits.stateSlots = random() % 2 ? 0 : 1 + random() % 5;
  return limits;
}

TEST(WorkerRandom, EveryJobIsToldOfOnceAndGetsAHeadOfWhatItGetsAlone) {
  uint64_t preemptions = 0;
  EndCounters all;
  for (uint32_t round = 0; round < kRounds && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    std::mt19937 random(round);
    OwnDesk desk(randomLimits(random), 16 + static_cast<uint32_t>(random() % 12));
    if (round % 3 == 2)
      for (int64_t step = random() % 50; step < 2000; step += 1 + random() % 100)
        desk.runner.failAt.insert(step);
    desk.runner.failure = Code::Internal;
    std::vector<std::vector<Sent>> sent(kClients);
    std::vector<std::thread> threads;
    for (int client = 0; client < kClients; ++client)
      threads.emplace_back([&, client] {
        runClient(desk, round * 10 + static_cast<uint32_t>(client), client,
                  sent[static_cast<size_t>(client)]);
      });
    for (std::thread &thread : threads)
      thread.join();
    EndCounters counted;
    uint64_t refused = 0;
    for (const std::vector<Sent> &ofClient : sent)
      for (const Sent &one : ofClient)
        if (one.refused)
          ++refused;
        else
          checkAnswer(desk, one, counted);
    const WorkerState state = desk.engine->state();
    EXPECT_EQ(state.accepted + state.refused, uint64_t{kClients} * kJobs);
    EXPECT_EQ(state.refused, refused);
    EXPECT_EQ(state.finished, counted.finished);
    EXPECT_EQ(state.failed, counted.failed);
    EXPECT_EQ(state.cancelled, counted.cancelled);
    EXPECT_EQ(state.accepted, state.finished + state.failed + state.cancelled);
    desk.engine->stop();
    EXPECT_EQ(desk.pool.availablePages(), desk.pool.pageCount());
    EXPECT_EQ(desk.pool.availableStates(), desk.pool.stateSlots());
    preemptions += state.preemptions;
    all.finished += counted.finished;
    all.failed += counted.failed;
    all.cancelled += counted.cancelled;
  }
  EXPECT_GT(preemptions, 0u);
  EXPECT_GT(all.finished, 100u);
  EXPECT_GT(all.failed, 0u);
  EXPECT_GT(all.cancelled, 0u);
}

} // namespace
} // namespace sinter::serve
