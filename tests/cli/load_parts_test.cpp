// The parts of a load test: lengths, arrivals, histograms, prompts, answers, options.
#include "cli/load/load_figures.h"
#include "cli/load/load_report.h"
#include "cli/load/response_parser.h"
#include "cli/load/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <unistd.h>

namespace sinter::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(Lengths, AreDrawnFromTheirDistribution) {
  const auto mean = [](const char *text, uint32_t &least, uint32_t &most) {
    const auto lengths = Lengths::parse(text);
    EXPECT_TRUE(lengths.has_value()) << text;
    LoadRandom random(7, LoadPurpose::Lengths);
    double sum = 0;
    least = UINT32_MAX;
    most = 0;
    constexpr int kCount = 20'000;
    for (int i = 0; i < kCount; ++i) {
      const uint32_t drawn = lengths->draw(random);
      least = std::min(least, drawn);
      most = std::max(most, drawn);
      sum += drawn;
    }
    return sum / kCount;
  };
  uint32_t least = 0, most = 0;
  EXPECT_EQ(mean("17", least, most), 17);
  EXPECT_NEAR(mean("uniform:10:20", least, most), 15, 0.1);
  EXPECT_EQ(least, 10u);
  EXPECT_EQ(most, 20u);
  EXPECT_NEAR(mean("normal:100:10", least, most), 100, 0.5);
  EXPECT_NEAR(mean("exponential:50", least, most), 50, 2);
  EXPECT_GE(least, 1u);
}

TEST(Lengths, HaveTheTextThatTheyWereReadFrom) {
  for (const char *text : {"17", "uniform:10:20", "normal:100:2.5", "exponential:50"})
    EXPECT_EQ(Lengths::parse(text)->text(), text);
}

TEST(Lengths, RefuseWhatMakesNoSense) {
  for (const char *text : {"", "0", "-1", "x", "uniform:5", "uniform:9:5", "normal:5", "5:6",
                           "exponential:", "exponential:1:2", "uniform:1:99999999", "1e99", "nan"})
    EXPECT_FALSE(Lengths::parse(text).has_value()) << text;
}

TEST(Arrivals, HaveTheirRateAndAreMoreOrLessEven) {
  // Squared deviation over the squared mean: 1 / shape.
  const auto unevenness = [](double shape) {
    Arrivals arrivals(100, shape, 3, 0);
    double last = 0, squares = 0;
    constexpr int kCount = 20'000;
    for (int i = 0; i < kCount; ++i) {
      const double now = arrivals.next();
      EXPECT_GE(now, last);
      squares += (now - last) * (now - last);
      last = now;
    }
    const double mean = last / kCount;
    EXPECT_NEAR(mean, 0.01, 0.0005) << shape;
    return squares / kCount / (mean * mean) - 1;
  };
  EXPECT_NEAR(unevenness(1), 1, 0.1);
  EXPECT_NEAR(unevenness(4), 0.25, 0.03);
  EXPECT_NEAR(unevenness(0.25), 4, 0.6);
}

TEST(LatencyHistogram, PercentilesAreWithinHalfAPercent) {
  LatencyHistogram histogram;
  std::vector<double> values;
  LoadRandom random(1, LoadPurpose::Prompt);
  for (int i = 0; i < 5000; ++i) {
    values.push_back(std::exp(12 * random.uniform() - 9));
    histogram.add(values.back());
  }
  std::ranges::sort(values);
  for (const double share : {0.0, 0.01, 0.5, 0.9, 0.99, 1.0}) {
    const auto rank = std::max<size_t>(1, static_cast<size_t>(std::ceil(share * 5000)));
    EXPECT_NEAR(histogram.quantile(share) / values[rank - 1], 1, 0.006) << share;
  }
  EXPECT_EQ(histogram.most(), values.back());
  EXPECT_EQ(LatencyHistogram().quantile(0.5), 0);
}

LoadArguments load(LoadTexts texts) {
  texts.try_emplace("url", std::vector<std::string>{"http://localhost:1"});
  auto read = readLoadOptions(texts);
  EXPECT_TRUE(read.has_value()) << read.error().message;
  return read.value_or(LoadArguments{});
}

json bodyOf(const LoadTexts &texts, uint64_t number = 0) {
  auto workload = Workload::create(load(texts), "m");
  EXPECT_TRUE(workload.has_value()) << workload.error().message;
  return workload ? json::parse(workload->body(number)) : json();
}

size_t wordsIn(const std::string &text) {
  return static_cast<size_t>(std::ranges::count(text, ' ')) + 1;
}

TEST(Workload, PromptsHaveTheirLengthAndDiffer) {
  const LoadTexts texts = {{"input-tokens", {"40"}}, {"output-tokens", {"9"}}};
  const json first = bodyOf(texts, 0), second = bodyOf(texts, 1);
  EXPECT_EQ(wordsIn(first["prompt"]), 40u);
  EXPECT_NE(first["prompt"], second["prompt"]);
  EXPECT_EQ(first["max_tokens"], 9);
  EXPECT_EQ(first["model"], "m");
  EXPECT_EQ(first["stream"], true);
  EXPECT_FALSE(first.contains("ignore_eos"));
}

TEST(Workload, ASharedPrefixStandsBeforeEachPrompt) {
  const LoadTexts texts = {{"input-tokens", {"10"}}, {"shared-prefix", {"30"}}};
  const std::string first = bodyOf(texts, 0)["prompt"], second = bodyOf(texts, 1)["prompt"];
  const std::string prefix = bodyOf({{"input-tokens", {"1"}}, {"shared-prefix", {"30"}}})["prompt"];
  const std::string shared = prefix.substr(0, prefix.rfind(' ') + 1);
  EXPECT_EQ(wordsIn(first), 40u);
  EXPECT_TRUE(first.starts_with(shared) && second.starts_with(shared));
  EXPECT_NE(first, second);
  const json ids =
      bodyOf({{"token-ids", {"5:9"}}, {"shared-prefix", {"3"}}, {"input-tokens", {"4"}}});
  EXPECT_EQ(ids["prompt"].size(), 7u);
  for (const json &id : ids["prompt"])
    EXPECT_TRUE(id >= 5 && id < 9) << id;
}

TEST(Workload, HasWhatIsAskedForInEachBody) {
  const json body = bodyOf({{"endpoint", {"chat"}},
                            {"ignore-eos", {""}},
                            {"extra-body", {R"({"temperature": 0, "max_tokens": 3})"}}});
  EXPECT_EQ(body["messages"][0]["role"], "user");
  EXPECT_EQ(body["ignore_eos"], true);
  EXPECT_EQ(body["temperature"], 0);
  EXPECT_EQ(body["max_tokens"], 3);
  EXPECT_FALSE(Workload::create(load({{"extra-body", {"[1]"}}}), "m").has_value());
}

class Dataset : public testing::Test {
protected:
  std::string write(const std::string &text) {
    std::ofstream(path_) << text;
    return path_;
  }
  ~Dataset() override { std::remove(path_.c_str()); }
  const std::string path_ = testing::TempDir() + "sinter-dataset-" + std::to_string(getpid());
};

TEST_F(Dataset, PromptsComeInTurnWithTheirOwnLengths) {
  const std::string file = write("{\"prompt\": \"one\", \"output_tokens\": 3}\n\n"
                                 "{\"conversations\": [{\"from\": \"system\", \"value\": \"x\"}, "
                                 "{\"from\": \"human\", \"value\": \"two\"}]}\n");
  EXPECT_EQ(bodyOf({{"dataset", {file}}}, 0)["prompt"], "one");
  EXPECT_EQ(bodyOf({{"dataset", {file}}}, 0)["max_tokens"], 3);
  EXPECT_EQ(bodyOf({{"dataset", {file}}}, 1)["prompt"], "two");
  EXPECT_EQ(bodyOf({{"dataset", {file}}}, 1)["max_tokens"], 128);
  EXPECT_EQ(bodyOf({{"dataset", {file}}}, 2)["prompt"], "one");
  EXPECT_EQ(bodyOf({{"dataset", {file}}, {"output-tokens", {"5"}}}, 0)["max_tokens"], 5);
}

TEST_F(Dataset, AListAndMessagesAreReadToo) {
  const std::string list = write(R"([{"conversations": []}, {"prompt": "p"}])");
  EXPECT_EQ(bodyOf({{"dataset", {list}}}, 5)["prompt"], "p");
  const std::string chat = write(R"({"messages": [{"role": "user", "content": "hi"}]})");
  EXPECT_EQ(bodyOf({{"dataset", {chat}}, {"endpoint", {"chat"}}})["messages"][0]["content"], "hi");
  const auto refused = Workload::create(load({{"dataset", {chat}}}), "m");
  EXPECT_THAT(refused.error().message, HasSubstr("--endpoint chat"));
}

TEST_F(Dataset, WhatIsWrongIsNamedWithItsLine) {
  EXPECT_THAT(readDataset(write("{\"prompt\": \"a\"}\nnothing\n"), 9).error().message,
              HasSubstr("line 2"));
  EXPECT_THAT(readDataset(write("[1, 2"), 9).error().message, HasSubstr("JSON list"));
  EXPECT_THAT(readDataset(write(""), 9).error().message, HasSubstr("has no prompt"));
  EXPECT_EQ(readDataset(path_ + ".none", 9).error().code, Code::NotFound);
}

TEST(LoadOptions, ReadAddressesOfAllKinds) {
  const auto target = [](const char *url) { return load({{"url", {url}}}).target; };
  EXPECT_EQ(target("http://localhost:8080").url(), "http://localhost:8080");
  EXPECT_EQ(target("https://example.org/v/").url(), "https://example.org:443/v");
  EXPECT_EQ(target("http://[::1]:5").host, "::1");
  EXPECT_EQ(target("unix:/run/s").unixPath, "/run/s");
}

TEST(LoadOptions, NameWhatIsWrong) {
  const std::pair<LoadTexts, const char *> kWrong[] = {
      {{}, "--url is not given"},
      {{{"url", {"localhost:80"}}}, "--url is 'localhost:80'"},
      {{{"url", {"http://user@h"}}}, "expected http://HOST:PORT"},
      {{{"url", {"http://h:0"}}}, "expected http://HOST:PORT"},
      {{{"rate", {"1,x"}}}, "--rate is '1,x'"},
      {{{"rate", {"1"}}, {"concurrency", {"2"}}}, "exclude one another"},
      {{{"concurrency", {"0"}}}, "--concurrency is '0'"},
      {{{"burstiness", {"2"}}}, "no effect without --rate"},
      {{{"input-tokens", {"many"}}}, "--input-tokens is 'many'"},
      {{{"goodput", {"ttft"}}}, "--goodput is 'ttft'"},
      {{{"goodput", {"speed:5"}}}, "--goodput is 'speed:5'"},
      {{{"token-ids", {"9:5"}}}, "--token-ids is '9:5'"},
      {{{"dataset", {"f"}}, {"input-tokens", {"5"}}}, "no effect with --dataset"},
      {{{"endpoint", {"images"}}}, "completions or chat"},
      {{{"key", {"a"}}, {"key-file", {"b"}}}, "exclude one another"},
      {{{"requests", {"0"}}}, "--requests is '0'"},
  };
  for (const auto &[texts, expected] : kWrong) {
    LoadTexts given = texts;
    if (!given.empty())
      given.try_emplace("url", std::vector<std::string>{"http://localhost:1"});
    const auto read = readLoadOptions(given);
    ASSERT_FALSE(read.has_value()) << expected;
    EXPECT_THAT(read.error().message, HasSubstr(expected));
  }
}

// Bytes of an answer in parts of `atOnce`.
struct Read {
  bool isWell = true;
  std::string body;
  bool isDone = false;
  unsigned status = 0;
};
Read readAnswer(std::string_view bytes, size_t atOnce, bool ends = false) {
  ResponseParser parser;
  Read read;
  while (!bytes.empty() && read.isWell) {
    read.isWell = parser.put(bytes.substr(0, atOnce), read.body);
    bytes.remove_prefix(std::min(atOnce, bytes.size()));
  }
  if (ends && read.isWell)
    read.isWell = parser.end();
  read.isDone = parser.done();
  read.status = parser.headDone() ? parser.status() : 0;
  return read;
}

TEST(ResponseParser, ReadsAnswersHoweverTheyCome) {
  for (const size_t atOnce : {1u, 3u, 1000u}) {
    const Read chunked = readAnswer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                    "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
                                    atOnce);
    EXPECT_TRUE(chunked.isWell && chunked.isDone) << atOnce;
    EXPECT_EQ(chunked.body, "abcde");
    const Read sized = readAnswer("HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nhi", atOnce);
    EXPECT_TRUE(sized.isDone);
    EXPECT_EQ(sized.status, 503u);
    EXPECT_EQ(sized.body, "hi");
    const Read open = readAnswer("HTTP/1.0 200 OK\r\n\r\nall of it", atOnce, true);
    EXPECT_TRUE(open.isWell && open.isDone);
    EXPECT_EQ(open.body, "all of it");
  }
}

TEST(ResponseParser, RefusesWhatIsNoAnswer) {
  EXPECT_FALSE(readAnswer("SSH-2.0-x\r\n\r\n", 100).isWell);
  EXPECT_FALSE(
      readAnswer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 100).isWell);
  EXPECT_FALSE(readAnswer("HTTP/1.1 200 OK\r\nA: " + std::string(1 << 17, 'x'), 4096).isWell);
  EXPECT_FALSE(readAnswer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi", 100, true).isWell);
  EXPECT_FALSE(readAnswer("HTTP/1.1 200", 100, true).isWell);
}

class Noting : public TokenTimes {
public:
  void onToken(LoadClock::time_point) override { ++count; }
  size_t count = 0;
};

// Tokens, or what is wrong.
std::string eventsOf(std::string_view bytes, size_t atOnce) {
  Noting noting;
  AnswerReader reader(noting);
  while (!bytes.empty()) {
    reader.put(bytes.substr(0, atOnce), LoadClock::now());
    bytes.remove_prefix(std::min(atOnce, bytes.size()));
  }
  reader.end();
  if (reader.fault())
    return reader.fault()->kind;
  return std::to_string(noting.count) + " events, " + std::to_string(reader.answerTokens()) +
         " tokens of " + std::to_string(reader.promptTokens());
}

TEST(AnswerReader, ReadsEventsHoweverTheyCome) {
  const std::string text =
      ": a comment\r\n\r\nevent: x\r\ndata: {\"choices\": [{\"text\": \"a\"}]}\r\n\r\n"
      "data:{\"choices\": [{\"delta\": {\"role\": \"assistant\", \"content\": \"\"}}]}\n\n"
      "data: {\"choices\": [{\"delta\": {\"reasoning_content\": \"b\"}}]}\n\n"
      "data: {\"choices\":\ndata:  [{\"delta\": {\"tool_calls\": [{}]}}]}\n\n"
      "data: {\"choices\": [{\"delta\": {}, \"finish_reason\": \"stop\"}], "
      "\"usage\": {\"prompt_tokens\": 4, \"completion_tokens\": 6}}\n\ndata: [DONE]\n\n";
  for (const size_t atOnce : {1u, 7u, 10'000u})
    EXPECT_EQ(eventsOf(text, atOnce), "3 events, 6 tokens of 4") << atOnce;
}

TEST(AnswerReader, TakesNoAnswerForWholeThatIsNot) {
  EXPECT_EQ(eventsOf("data: {\"choices\": [{\"text\": \"a\"}]}\n\n", 100),
            "an answer that ends without a reason");
  EXPECT_EQ(eventsOf("data: 5\n\n", 100), "an event that is no JSON object");
  EXPECT_EQ(eventsOf("data: " + std::string(2 << 20, 'x'), 4096), "an event that is too long");
  EXPECT_EQ(eventsOf("data: {\"error\": \"no\"}\n\n", 100), "an error within the answer");
  EXPECT_EQ(eventsOf("data: [DONE]\n\n", 100), "an answer without a token");
}

TEST(LoadReports, HaveEveryRunInTextJsonAndDrawing) {
  LoadReport report{load({{"rate", {"1,2.5"}}, {"goodput", {"ttft:100"}}}), {}};
  report.arguments.model = "<m>";
  for (const LoadShape &shape : report.arguments.runs) {
    RunFigures &run = report.runs.emplace_back(RunFigures{.shape = shape, .seconds = 2});
    const auto start = LoadClock::now();
    Outcome outcome(start);
    outcome.onToken(start + std::chrono::milliseconds(50));
    outcome.onToken(start + std::chrono::milliseconds(80));
    outcome.onEnd(start + std::chrono::milliseconds(90));
    outcome.answerTokens = 2;
    run.add(outcome, report.arguments.goodput);
    Outcome failed(start);
    failed.fault = {"status 500", "a\x1b[2Jb"};
    run.add(failed, report.arguments.goodput);
  }
  const std::string text = loadText(report);
  EXPECT_THAT(text, HasSubstr("2.5 req/s"));
  EXPECT_THAT(text, HasSubstr("1 x status 500: a\\x1b[2Jb"));
  const json parsed = json::parse(loadJson(report));
  EXPECT_EQ(parsed["runs"].size(), 2u);
  EXPECT_EQ(parsed["runs"][1]["rate"], 2.5);
  EXPECT_EQ(parsed["runs"][0]["goodput"], 0.5);
  EXPECT_NEAR(parsed["runs"][0]["seconds_of"]["ttft"]["p99"], 0.05, 0.0005);
  EXPECT_NEAR(parsed["runs"][0]["seconds_of"]["tpot"]["mean"], 0.03, 1e-6);
  const std::string svg = loadSvg(report);
  EXPECT_THAT(svg, HasSubstr("&lt;m&gt;"));
  EXPECT_THAT(svg, testing::Not(HasSubstr("nan")));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

} // namespace
} // namespace sinter::cli
