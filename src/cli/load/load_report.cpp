// Tables and JSON.
#include "cli/load/load_report.h"

#include "base/number_text.h"
#include "cli/table.h"
#include "cli/terminal.h"

#include <nlohmann/json.hpp>

namespace sinter::cli {
namespace {

using Object = nlohmann::ordered_json;

constexpr double kMilli = 1e3;
struct Percentile {
  const char *name;
  double share;
};
constexpr Percentile kPercentiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}};

std::string milli(double seconds) {
  return fixed(seconds * kMilli, 1);
}

std::string runsText(const LoadReport &report) {
  const bool hasGoodput = report.arguments.goodput.any();
  std::vector<std::string> header = {"run",    "sent",  "answered",     "refused",
                                     "errors", "req/s", "answer tok/s", "all tok/s"};
  if (hasGoodput)
    header.push_back("good req/s");
  header.push_back("under way");
  Table table(header);
  for (const RunFigures &run : report.runs) {
    uint64_t errors = 0;
    for (const auto &[kind, error] : run.errors)
      errors += error.count;
    std::vector<std::string> row = {shapeName(run.shape),
                                    std::to_string(run.sent),
                                    std::to_string(run.answered),
                                    std::to_string(run.refused),
                                    std::to_string(errors - std::min(errors, run.refused)),
                                    fixed(run.perSecond(run.answered), 2),
                                    fixed(run.perSecond(run.answerTokens), 1),
                                    fixed(run.perSecond(run.answerTokens + run.promptTokens), 1)};
    if (hasGoodput)
      row.push_back(fixed(run.perSecond(run.good), 2));
    row.push_back(std::to_string(run.mostUnderWay));
    table.addRow(std::move(row));
  }
  return table.text();
}

std::string latenciesText(const LoadReport &report) {
  std::vector<std::string> header = {"run", "milliseconds", "count", "mean"};
  for (const Percentile &percentile : kPercentiles)
    header.push_back(percentile.name);
  header.push_back("most");
  Table table(header);
  for (const RunFigures &run : report.runs)
    for (const LatencyMeasure &measure : latencyMeasures()) {
      const LatencyHistogram &values = run.*measure.values;
      if (values.count() == 0)
        continue;
      std::vector<std::string> row = {shapeName(run.shape), measure.title,
                                      std::to_string(values.count()), milli(values.mean())};
      for (const Percentile &percentile : kPercentiles)
        row.push_back(milli(values.quantile(percentile.share)));
      row.push_back(milli(values.most()));
      table.addRow(std::move(row));
    }
  return table.text();
}

std::string errorsText(const LoadReport &report) {
  std::string text;
  for (const RunFigures &run : report.runs)
    for (const auto &[kind, error] : run.errors)
      text += shapeName(run.shape) + ": " + std::to_string(error.count) + " x " +
              withoutControls(kind) +
              (error.example.empty() ? "" : ": " + withoutControls(error.example)) + "\n";
  return text;
}

Object latencyJson(const LatencyHistogram &values) {
  Object object = {{"count", values.count()}, {"mean", values.mean()}};
  for (const Percentile &percentile : kPercentiles)
    object[percentile.name] = values.quantile(percentile.share);
  object["max"] = values.most();
  return object;
}

std::string digestText(uint64_t digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4)
    text += kDigits[digest >> shift & 15];
  return text;
}

Object runJson(const RunFigures &run, bool hasGoodput) {
  Object object;
  if (run.shape.rate > 0)
    object["rate"] = run.shape.rate;
  else
    object["concurrency"] = run.shape.concurrency;
  object["seconds"] = run.seconds;
  object["requests"] = run.sent;
  object["answered"] = run.answered;
  object["refused"] = run.refused;
  object["refused_with_retry_after"] = run.refusedWithRetryAfter;
  object["requests_per_second"] = run.perSecond(run.answered);
  object["prompt_tokens"] = run.promptTokens;
  object["answer_tokens"] = run.answerTokens;
  object["answer_tokens_per_second"] = run.perSecond(run.answerTokens);
  object["tokens_per_second"] = run.perSecond(run.promptTokens + run.answerTokens);
  if (hasGoodput) {
    object["good"] = run.good;
    object["goodput"] = run.perSecond(run.good);
  }
  object["most_under_way"] = run.mostUnderWay;
  object["cut"] = run.isCut;
  object["workload_digest"] = digestText(run.digest);
  for (const LatencyMeasure &measure : latencyMeasures())
    object["seconds_of"][measure.key] = latencyJson(run.*measure.values);
  object["errors"] = Object::object();
  for (const auto &[kind, error] : run.errors)
    object["errors"][kind] = {{"count", error.count}, {"example", error.example}};
  return object;
}

} // namespace

std::string shapeName(const LoadShape &shape) {
  if (shape.concurrency > 0)
    return std::to_string(shape.concurrency) + (shape.concurrency == 1 ? " client" : " clients");
  std::string rate = fixed(shape.rate, 2);
  while (rate.ends_with('0'))
    rate.pop_back();
  if (rate.ends_with('.'))
    rate.pop_back();
  return rate + " req/s";
}

std::string loadText(const LoadReport &report) {
  const LoadArguments &load = report.arguments;
  std::string text = withoutControls(load.target.url() + ", " + load.model) + "\n\n" +
                     runsText(report) + "\n" + latenciesText(report);
  const std::string errors = errorsText(report);
  return text + (errors.empty() ? "" : "\n" + errors);
}

std::string loadJson(const LoadReport &report) {
  const LoadArguments &load = report.arguments;
  Object object = {{"url", load.target.url()},
                   {"model", load.model},
                   {"endpoint", load.isChat ? "chat" : "completions"},
                   {"seed", load.seed},
                   {"burstiness", load.burstiness},
                   {"input_tokens", load.input.text()},
                   {"output_tokens", load.output.text()},
                   {"shared_prefix", load.sharedPrefix},
                   {"dataset", load.dataset}};
  if (load.goodput.any())
    object["goodput_seconds"] = {{"ttft", load.goodput.firstToken},
                                 {"itl", load.goodput.betweenTokens},
                                 {"tpot", load.goodput.perToken},
                                 {"e2el", load.goodput.whole}};
  object["runs"] = Object::array();
  for (const RunFigures &run : report.runs)
    object["runs"].push_back(runJson(run, load.goodput.any()));
  return object.dump(1, ' ', false, Object::error_handler_t::replace) + "\n";
}

} // namespace sinter::cli
