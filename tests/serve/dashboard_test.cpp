// The Grafana dashboard asks for metrics that a server has.
#include "serve/fake_server.h"
#include "serve/status/process_metrics.h"
#include "serve/status/request_metrics.h"

#include <set>

namespace sinter::serve {
namespace {

class NoSink : public AnswerSink {
public:
  bool onPiece(AnswerPiece) override { return true; }
  void onEnd(Result<AnswerSummary>) override {}
};

// The text of /metrics once a request was answered.
std::string metricsText() {
  FakePool inner;
  Metrics metrics;
  metrics.onText([&](MetricsText &text) {
    writeModelMetrics(inner, text);
    writeProcessMetrics(text);
    writeServerMetrics({}, text);
  });
  const auto pool = makeMeasuredPool(inner, metrics);
  pool->get("tiny", {}, [](Result<std::shared_ptr<ModelWorker>> worker) {
    GenerationJob job;
    job.sink = std::make_shared<NoSink>();
    ASSERT_TRUE((*worker)->submit(std::move(job)));
  });
  inner.worker->say("a");
  inner.worker->end();
  countRequest(metrics, RequestRecord{});
  return metrics.text();
}

std::set<std::string> metricNames() {
  std::set<std::string> names;
  std::istringstream lines(metricsText());
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("# TYPE ")) {
      std::istringstream words(line.substr(7));
      std::string name, type;
      words >> name >> type;
      names.insert(name);
      if (type == "histogram")
        for (const char *part : {"_bucket", "_sum", "_count"})
          names.insert(name + part);
    }
  return names;
}

// Words of a query that name a metric of ours.
std::vector<std::string> namesIn(const std::string &query) {
  std::vector<std::string> found;
  std::string word;
  for (const char c : query + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      word += c;
      continue;
    }
    if (word.starts_with("sinter_") || word.starts_with("process_"))
      found.push_back(word);
    word.clear();
  }
  return found;
}

TEST(Dashboard, AsksForMetricsThatAreThere) {
  std::ifstream file(SINTER_SOURCE_DIR "/tools/grafana/sinter.json");
  const json dashboard = json::parse(file, nullptr, false);
  ASSERT_TRUE(dashboard.is_object());
  const std::set<std::string> there = metricNames();
  std::vector<std::string> queries;
  for (const json &panel : dashboard["panels"])
    for (const json &target : panel["targets"])
      queries.push_back(target["expr"]);
  for (const json &variable : dashboard["templating"]["list"])
    queries.push_back(variable["query"]);
  size_t count = 0;
  for (const std::string &query : queries)
    for (const std::string &name : namesIn(query)) {
      EXPECT_TRUE(there.contains(name)) << name;
      ++count;
    }
  EXPECT_GT(count, 30u);
}

} // namespace
} // namespace sinter::serve
