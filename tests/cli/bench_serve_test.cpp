// sinter bench serve: the command.
#include "cli/cli_test.h"
#include "cli/fake_openai.h"

#include <nlohmann/json.hpp>

namespace sinter {
namespace {

using BenchServe = CliTest;

TEST_F(BenchServe, RunsEachRateAndWritesItsFigures) {
  const FakeOpenai server(
      [](size_t number) { return number == 3 ? Behaviour::Status500 : Behaviour::Good; });
  const std::string json = path("load.json"), svg = path("load.svg");
  const Outcome outcome =
      sinter({"bench", "serve", "--url", server.url(), "--rate", "200,400", "--requests", "6",
              "--output-tokens", "4", "--goodput", "ttft:10000", "itl:10000", "--extra-body",
              R"({"temperature": 0})", "--json", json, "--svg", svg});
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("200 req/s"), HasSubstr("400 req/s"),
                                 HasSubstr("first token"), HasSubstr("1 x status 500: oops")));
  const auto figures = nlohmann::json::parse(read(json), nullptr, false);
  ASSERT_TRUE(figures.is_object());
  EXPECT_EQ(figures["model"], "fake");
  EXPECT_EQ(figures["runs"][0]["answered"], 5);
  EXPECT_EQ(figures["runs"][1]["answered"], 6);
  EXPECT_EQ(figures["runs"][1]["good"], 6);
  EXPECT_EQ(figures["runs"][1]["answer_tokens"], 24);
  EXPECT_THAT(read(svg), HasSubstr("</svg>"));
  EXPECT_EQ(nlohmann::json::parse(server.bodies().front())["temperature"], 0);
}

TEST_F(BenchServe, SaysWhyNothingCanBeMeasured) {
  EXPECT_THAT(sinter({"bench", "serve", "--url", "http://127.0.0.1:1"}),
              FailedSaying("no connection: Connection refused"));
  const FakeOpenai broken([](size_t) { return Behaviour::Status500; });
  EXPECT_THAT(sinter({"bench", "serve", "--url", broken.url()}),
              FailedSaying("answered no request of the warm-up: status 500: oops"));
  EXPECT_THAT(sinter({"bench", "serve", "--url", broken.url(), "--key-file", path("none")}),
              FailedSaying("cannot read '" + path("none")));
}

TEST_F(BenchServe, IsACommandOfItsOwnBelowBench) {
  const Outcome help = sinter({"bench", "serve", "--help"});
  EXPECT_THAT(help, EndedWith(0));
  EXPECT_THAT(help.out, AllOf(HasSubstr("Usage: sinter bench serve "), HasSubstr("--goodput")));
  std::istringstream lines(help.out);
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(line.size(), 120u) << line;
  const Outcome misused = sinter({"bench", "serve", "--url", "http://h", "--rat", "3"});
  EXPECT_THAT(misused, EndedWith(2));
  EXPECT_THAT(misused.err, AllOf(HasSubstr("'--rat' was not expected (did you mean '--rate'?)"),
                                 HasSubstr("see sinter bench serve --help")));
  const Outcome bare = sinter({"bench", "serve"});
  EXPECT_THAT(bare, EndedWith(2));
  EXPECT_THAT(bare.err, HasSubstr("--url is not given"));
  EXPECT_THAT(sinter({"bench"}).err, HasSubstr("MODEL is required"));
}

} // namespace
} // namespace sinter
