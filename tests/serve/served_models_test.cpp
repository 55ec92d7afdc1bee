// Pools over pools: names before paths, and times of answers.
#include "serve/fake_server.h"
#include "serve/status/process_metrics.h"
#include "serve/status/request_metrics.h"
#include "serve/worker/named_pool.h"

#include <gmock/gmock.h>

namespace sinter::serve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

// Finds any path, as a pool over the file system does.
class PathPool : public FakePool {
public:
  void get(const std::string &name, const LoadWishes &, OnModel then) override {
    asked.push_back(name);
    then(std::shared_ptr<ModelWorker>(worker));
  }
  std::vector<std::string> asked;
};

// The error's message; empty where there is none.
std::string refusalOf(ModelPool &pool, const std::string &name) {
  std::string message;
  pool.get(name, {}, [&](Result<std::shared_ptr<ModelWorker>> worker) {
    message = worker ? "" : worker.error().message;
  });
  return message;
}

TEST(NamedModels, AreThoseOfTheStoreAndThoseGiven) {
  PathPool inner;
  NamedPool pool(inner, {{"mine", "/models/mine.gguf"}});
  EXPECT_THAT(pool.names(), IsSupersetOf({"mine", "tiny"}));
  EXPECT_EQ(refusalOf(pool, "mine"), "");
  EXPECT_EQ(refusalOf(pool, "tiny"), "");
  EXPECT_THAT(inner.asked, ElementsAre("/models/mine.gguf", "tiny"));
}

TEST(NamedModels, AreNoPaths) {
  PathPool inner;
  NamedPool pool(inner, {{"mine", "/models/mine.gguf"}});
  for (const char *name : {"/models/mine.gguf", "/etc/passwd", "../tiny", "tiny.gguf", ""})
    EXPECT_THAT(refusalOf(pool, name), HasSubstr("there is no model")) << name;
  EXPECT_THAT(refusalOf(pool, "tinny"), HasSubstr("did you mean 'tiny'?"));
  EXPECT_TRUE(inner.asked.empty());
  EXPECT_FALSE(pool.unload("/models/mine.gguf"));
  EXPECT_TRUE(pool.unload("tiny"));
}

class CountingSink : public AnswerSink {
public:
  bool onPiece(AnswerPiece piece) override {
    text += piece.text;
    return text.size() < 3;
  }
  void onEnd(Result<AnswerSummary>) override { ended = true; }
  std::string text;
  bool ended = false;
};

TEST(MeasuredModels, CountFirstTokensAndThoseBetween) {
  FakePool inner;
  Metrics metrics;
  const auto pool = makeMeasuredPool(inner, metrics);
  const auto sink = std::make_shared<CountingSink>();
  pool->get("tiny", {}, [&](Result<std::shared_ptr<ModelWorker>> worker) {
    GenerationJob job;
    job.sink = sink;
    ASSERT_TRUE((*worker)->submit(std::move(job)));
  });
  EXPECT_TRUE(inner.worker->say("a"));
  EXPECT_TRUE(inner.worker->say("b"));
  EXPECT_FALSE(inner.worker->say("c")); // what the inner sink says counts
  inner.worker->end();
  EXPECT_TRUE(sink->ended);
  EXPECT_EQ(sink->text, "abc");
  const std::string text = metrics.text();
  EXPECT_THAT(text, testing::ContainsRegex("sinter_time_to_first_token_seconds_count.* 1\n"));
  EXPECT_THAT(text, testing::ContainsRegex("sinter_inter_token_latency_seconds_count.* 2\n"));
  EXPECT_THAT(text, testing::ContainsRegex("sinter_queue_seconds_count.* 1\n"));
}

TEST(MeasuredModels, HaveTheNamesThatTheyWereAskedForBy) {
  PathPool inner;
  Metrics metrics;
  makeMeasuredPool(inner, metrics)->get("mine:1b", {}, [](const auto &) {});
  EXPECT_THAT(metrics.text(), HasSubstr("sinter_queue_seconds_count{model=\"mine:1b\"} 0\n"));
}

TEST(MeasuredModels, HaveTheFiguresOfTheirWorkers) {
  FakePool inner;
  MetricsText text;
  writeModelMetrics(inner, text);
  EXPECT_THAT(text.text(), HasSubstr("sinter_model_bytes{model=\"tiny\",gives=\"text\"} 1000\n"));
  EXPECT_THAT(text.text(), HasSubstr("# TYPE sinter_preemptions_total counter\n"));
}

TEST(ProcessFigures, AreThoseOfThisProcess) {
  MetricsText text;
  writeProcessMetrics(text);
  writeServerMetrics({.connections = 3, .accepted = 7, .evicted = 2}, text);
  EXPECT_THAT(text.text(), testing::ContainsRegex("\nprocess_resident_memory_bytes [1-9]"));
  EXPECT_THAT(text.text(), testing::ContainsRegex("\nprocess_open_fds [1-9]"));
  EXPECT_THAT(text.text(), HasSubstr("\nsinter_http_connections 3\n"));
  EXPECT_THAT(text.text(), HasSubstr("\nsinter_http_connections_evicted_total 2\n"));
}

TEST(RequestFigures, HaveRoutesAndCodesAndNoPaths) {
  Metrics metrics;
  RequestRecord record;
  record.path = "/strangers/choice";
  record.answer.status = 404;
  countRequest(metrics, record);
  record.route = "/health";
  record.answer.status = 200;
  countRequest(metrics, record);
  EXPECT_THAT(
      metrics.text(),
      testing::AllOf(HasSubstr("sinter_http_requests_total{route=\"none\",code=\"404\"} 1\n"),
                     HasSubstr("sinter_http_requests_total{route=\"/health\",code=\"200\"} 1\n"),
                     Not(HasSubstr("strangers"))));
}

} // namespace
} // namespace sinter::serve
