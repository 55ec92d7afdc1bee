// The client of `sinter bench serve` against servers that answer well and badly.
#include "cli/load/load_client.h"

#include "cli/fake_openai.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace sinter::cli {
namespace {

using testing::HasSubstr;

LoadArguments argumentsFor(const std::string &url, LoadTexts more = {}) {
  more["url"] = {url};
  more.try_emplace("output-tokens", std::vector<std::string>{"5"});
  auto read = readLoadOptions(more);
  EXPECT_TRUE(read.has_value()) << read.error().message;
  return *read;
}

RunFigures runOf(const LoadArguments &load, const std::atomic<bool> &stop = false) {
  auto client = LoadClient::open(load.target);
  auto workload = Workload::create(load, "fake");
  EXPECT_TRUE(client.has_value() && workload.has_value());
  const LoadRun run{.shape = load.runs.front(),
                    .burstiness = load.burstiness,
                    .requests = load.requests,
                    .seconds = load.seconds,
                    .mostConcurrency = load.mostConcurrency,
                    .seed = load.seed,
                    .goodput = load.goodput};
  return (*client)->run(run, *workload, stop, [](uint64_t) {});
}

// Of a server that behaves so each time.
RunFigures figuresOf(Behaviour behaviour, LoadTexts more = {}) {
  const FakeOpenai server([behaviour](size_t) { return behaviour; });
  more.try_emplace("requests", std::vector<std::string>{"3"});
  return runOf(argumentsFor(server.url(), more));
}

std::string onlyError(const RunFigures &figures) {
  EXPECT_EQ(figures.answered, 0u);
  EXPECT_EQ(figures.errors.size(), 1u);
  if (figures.errors.size() != 1)
    return "";
  EXPECT_EQ(figures.errors.begin()->second.count, 3u);
  return figures.errors.begin()->first + ": " + figures.errors.begin()->second.example;
}

TEST(LoadClient, MeasuresEveryTokenOfEveryAnswer) {
  const RunFigures figures =
      figuresOf(Behaviour::Good, {{"requests", {"10"}}, {"concurrency", {"4"}}});
  EXPECT_EQ(figures.sent, 10u);
  EXPECT_EQ(figures.answered, 10u);
  EXPECT_EQ(figures.answerTokens, 50u);
  EXPECT_EQ(figures.promptTokens, 70u);
  EXPECT_EQ(figures.firstToken.count(), 10u);
  EXPECT_EQ(figures.betweenTokens.count(), 40u);
  EXPECT_EQ(figures.whole.count(), 10u);
  EXPECT_TRUE(figures.errors.empty());
}

TEST(LoadClient, SameSeedsSendTheSameRequestsAtTheSameTimes) {
  FakeOpenai server([](size_t) { return Behaviour::Good; });
  const auto sent = [&](const char *seed) {
    const size_t before = server.bodies().size();
    const uint64_t digest = runOf(argumentsFor(server.url(), {{"seed", {seed}},
                                                              {"rate", {"2000"}},
                                                              {"requests", {"20"}},
                                                              {"input-tokens", {"uniform:3:9"}}}))
                                .digest;
    std::vector<std::string> bodies = server.bodies();
    bodies.erase(bodies.begin(), bodies.begin() + static_cast<ptrdiff_t>(before));
    std::ranges::sort(bodies);
    return std::pair(digest, bodies);
  };
  const auto first = sent("1"), again = sent("1"), other = sent("2");
  EXPECT_EQ(first.second.size(), 20u);
  EXPECT_EQ(first, again);
  EXPECT_NE(first.first, other.first);
  EXPECT_NE(first.second, other.second);
}

TEST(LoadClient, NamesWhatIsWrongWithAnAnswer) {
  EXPECT_THAT(onlyError(figuresOf(Behaviour::Status500)), "status 500: oops");
  EXPECT_THAT(onlyError(figuresOf(Behaviour::ClosesAtOnce)), HasSubstr("closed before the answer"));
  EXPECT_THAT(onlyError(figuresOf(Behaviour::ClosesInTheHead)),
              HasSubstr("closed within the answer"));
  EXPECT_THAT(onlyError(figuresOf(Behaviour::ClosesInTheAnswer)),
              HasSubstr("closed within the answer"));
  EXPECT_THAT(onlyError(figuresOf(Behaviour::BadJson)), HasSubstr("no JSON object: {\"choices\""));
  EXPECT_THAT(onlyError(figuresOf(Behaviour::BadHttp)), HasSubstr("not HTTP/1.1"));
  EXPECT_THAT(onlyError(figuresOf(Behaviour::ErrorEvent)), HasSubstr("out of luck"));
  EXPECT_THAT(onlyError(figuresOf(Behaviour::NoEnd)), HasSubstr("ends without a reason"));
  EXPECT_THAT(onlyError(figuresOf(Behaviour::NoToken)), HasSubstr("without a token"));
  EXPECT_THAT(onlyError(figuresOf(Behaviour::Silent, {{"timeout", {"0.05"}}})),
              HasSubstr("a timeout"));
  LoadTexts nobody = {{"requests", {"3"}}};
  EXPECT_THAT(onlyError(runOf(argumentsFor("http://127.0.0.1:1", nobody))),
              HasSubstr("no connection: Connection refused"));
}

TEST(LoadClient, CountsRefusalsAndWhetherTheySayWhenToComeAgain) {
  const FakeOpenai server(
      [](size_t number) { return number % 2 ? Behaviour::Limited : Behaviour::Overloaded; });
  const RunFigures figures = runOf(argumentsFor(server.url(), {{"requests", {"4"}}}));
  EXPECT_EQ(figures.refused, 4u);
  EXPECT_EQ(figures.refusedWithRetryAfter, 2u);
  EXPECT_EQ(figures.refusal.count(), 4u);
  EXPECT_EQ(figures.errors.at("status 429").count, 2u);
  EXPECT_EQ(figures.errors.at("status 503").count, 2u);
}

TEST(LoadClient, OneBadAnswerDisturbsNoOther) {
  const FakeOpenai server([](size_t number) {
    return number % 5 == 2 ? Behaviour::ClosesInTheAnswer : Behaviour::Good;
  });
  const RunFigures figures =
      runOf(argumentsFor(server.url(), {{"requests", {"20"}}, {"concurrency", {"3"}}}));
  EXPECT_EQ(figures.answered, 16u);
  EXPECT_EQ(figures.answerTokens, 80u);
  EXPECT_EQ(figures.errors.begin()->second.count, 4u);
}

TEST(LoadClient, KeepsConnectionsWhereTheServerDoes) {
  const auto connections = [](Behaviour behaviour) {
    const FakeOpenai server([behaviour](size_t) { return behaviour; });
    EXPECT_EQ(runOf(argumentsFor(server.url(), {{"requests", {"6"}}})).answered, 6u);
    return server.connections();
  };
  EXPECT_EQ(connections(Behaviour::Good), 1u);
  EXPECT_EQ(connections(Behaviour::ClosesEach), 6u);
}

TEST(LoadClient, HasNoMoreUnderWayThanItMay) {
  const FakeOpenai closed([](size_t) { return Behaviour::Slow; });
  runOf(argumentsFor(closed.url(), {{"requests", {"8"}}, {"concurrency", {"3"}}}));
  EXPECT_LE(closed.mostUnderWay(), 3u);
  const FakeOpenai open([](size_t) { return Behaviour::Slow; });
  runOf(argumentsFor(open.url(),
                     {{"requests", {"8"}}, {"rate", {"10000"}}, {"max-concurrency", {"2"}}}));
  EXPECT_LE(open.mostUnderWay(), 2u);
}

// Five answers of 5 x 20 ms, one at a time, all due within the first milliseconds: the last one
// waited for the others, which its latency must have.
TEST(LoadClient, LatencyCountsFromWhenARequestWasDue) {
  const RunFigures figures = figuresOf(Behaviour::Slow, {{"requests", {"5"}},
                                                         {"rate", {"10000"}},
                                                         {"max-concurrency", {"1"}},
                                                         {"goodput", {"ttft:150"}}});
  EXPECT_EQ(figures.answered, 5u);
  EXPECT_GE(figures.whole.most(), 0.45);
  EXPECT_GE(figures.firstToken.most(), 0.4);
  EXPECT_GE(figures.late.most(), 0.35);
  EXPECT_LE(figures.good, 2u);
}

TEST(LoadClient, EndsEarlyWhereItIsToldTo) {
  const FakeOpenai server([](size_t) { return Behaviour::Silent; });
  const RunFigures figures =
      runOf(argumentsFor(server.url(), {{"rate", {"1000"}}, {"max-concurrency", {"2"}}}), true);
  EXPECT_TRUE(figures.isCut);
  EXPECT_EQ(figures.answered, 0u);
}

TEST(LoadClient, BeginsNoRequestAfterTheRunsTime) {
  const FakeOpenai server([](size_t) { return Behaviour::Slow; });
  const RunFigures closed = runOf(argumentsFor(server.url(), {{"seconds", {"0.09"}}}));
  EXPECT_GE(closed.sent, 1u);
  EXPECT_LE(closed.sent, 1u);
  const RunFigures open =
      runOf(argumentsFor(server.url(), {{"seconds", {"0.01"}}, {"rate", {"1000"}}}));
  EXPECT_LT(open.sent, 60u);
  EXPECT_EQ(open.answered, open.sent);
}

TEST(LoadClient, GivesWhatAGetReturns) {
  const FakeOpenai server([](size_t) { return Behaviour::Good; });
  auto client = LoadClient::open(argumentsFor(server.url()).target);
  ASSERT_TRUE(client.has_value());
  EXPECT_EQ(*(*client)->get("/v1/models"), R"({"data": [{"id": "fake"}]})");
  auto nobody = LoadClient::open(argumentsFor("http://127.0.0.1:1").target);
  EXPECT_THAT((*nobody)->get("/v1/models").error().message,
              HasSubstr("http://127.0.0.1:1/v1/models: no connection: Connection refused"));
}

} // namespace
} // namespace sinter::cli
