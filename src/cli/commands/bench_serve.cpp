// sinter bench serve: drives a server of OpenAI's API and measures it.
#include "cli/commands/commands.h"

#include "base/output_file.h"
#include "base/system_error.h"
#include "cli/load/load_client.h"
#include "cli/load/load_report.h"
#include "cli/terminal.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace sinter::cli {
namespace {

Result<std::string> readKey(const std::string &path) {
  errno = 0;
  std::ifstream file(path);
  std::string key;
  if (!file)
    return systemFailed("cannot read '" + path + "'", errno);
  if (!(file >> key))
    return fail(Code::InvalidArgument, "'" + path + "' has no key");
  return key;
}

// The first model that the server lists.
Result<std::string> firstModel(LoadClient &client) {
  SINTER_ASSIGN(const std::string text, client.get("/v1/models"));
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto data = json.is_object() ? json.find("data") : json.end();
  if (json.is_object() && data != json.end() && data->is_array() && !data->empty()) {
    const nlohmann::json &first = data->front();
    if (const auto id = first.is_object() ? first.find("id") : first.end();
        first.is_object() && id != first.end() && id->is_string())
      return id->get<std::string>();
  }
  return fail(Code::InvalidArgument,
              "the server's /v1/models names no model; name one with --model");
}

Result<void> save(const std::string &path, const std::string &text) {
  if (path.empty())
    return {};
  SINTER_ASSIGN(OutputFile file, OutputFile::create(path));
  SINTER_TRY(file.writeAt({reinterpret_cast<const uint8_t *>(text.data()), text.size()}, 0));
  return file.commit();
}

LoadRun runOf(const LoadArguments &load, size_t number, uint64_t firstRequest) {
  return {.shape = load.runs[number],
          .burstiness = load.burstiness,
          .requests = load.requests,
          .seconds = load.seconds,
          .mostConcurrency = load.mostConcurrency,
          .seed = load.seed,
          .number = number,
          .firstRequest = firstRequest,
          .goodput = load.goodput};
}

// InvalidArgument: with its first error, where not one of the warm-up's requests was answered.
Result<void> warmUp(LoadClient &client, const LoadArguments &load, const Workload &workload,
                    const std::atomic<bool> &stop) {
  if (load.warmUp == 0)
    return {};
  const LoadRun run{.shape = {.concurrency = std::min(load.warmUp, 8u)},
                    .requests = load.warmUp,
                    .seed = load.seed};
  const RunFigures figures = client.run(run, workload, stop, [](uint64_t) {});
  if (figures.answered > 0 || stop || figures.errors.empty())
    return {};
  const auto &[kind, error] = *figures.errors.begin();
  return fail(Code::InvalidArgument, load.target.url() + workload.path() +
                                         " answered no request of the warm-up: " + kind +
                                         (error.example.empty() ? "" : ": " + error.example));
}

// By time where that is what ends a run.
class RunProgress {
public:
  RunProgress(ProgressLine &line, const LoadArguments &load, std::string name)
      : line_(line), load_(load), name_(std::move(name)) {}
  void operator()(uint64_t ended) const {
    const std::chrono::duration<double> passed = LoadClock::now() - start_;
    const auto most = static_cast<uint64_t>(std::ceil(load_.seconds));
    if (most == 0)
      return line_.show(std::min(ended, load_.requests), load_.requests, "requests, " + name_);
    line_.show(std::min(static_cast<uint64_t>(passed.count()), most), most,
               "seconds, " + name_ + ", " + std::to_string(ended) + " requests");
  }

private:
  ProgressLine &line_;
  const LoadArguments &load_;
  const std::string name_;
  const LoadClock::time_point start_ = LoadClock::now();
};

std::vector<RunFigures> measure(LoadClient &client, const LoadArguments &load,
                                const Workload &workload, const std::atomic<bool> &stop) {
  std::vector<RunFigures> runs;
  ProgressLine progress("measuring");
  uint64_t first = load.warmUp;
  for (size_t number = 0; number < load.runs.size() && !stop; ++number) {
    const RunProgress shown(progress, load, shapeName(load.runs[number]));
    runs.push_back(client.run(runOf(load, number, first), workload, stop, std::cref(shown)));
    first += runs.back().sent;
  }
  return runs;
}

} // namespace

Result<int> benchServeCommand(const LoadArguments &arguments, Interrupts &interrupts) {
  LoadReport report{arguments, {}};
  LoadArguments &load = report.arguments;
  if (!load.keyFile.empty()) {
    SINTER_ASSIGN(load.target.key, readKey(load.keyFile));
  }
  const Interrupts::Guard guard(interrupts);
  SINTER_ASSIGN(const std::unique_ptr<LoadClient> client, LoadClient::open(load.target));
  if (load.model.empty()) {
    SINTER_ASSIGN(load.model, firstModel(*client));
  }
  SINTER_ASSIGN(const Workload workload, Workload::create(load, load.model));
  SINTER_TRY(warmUp(*client, load, workload, interrupts.flag()));
  report.runs = measure(*client, load, workload, interrupts.flag());
  if (report.runs.empty())
    return fail(Code::Cancelled, "interrupted");
  SINTER_TRY(save(load.json, loadJson(report)));
  SINTER_TRY(save(load.svg, loadSvg(report)));
  SINTER_TRY(writeStdout(loadText(report)));
  return interrupts.pending() ? kExitInterrupted : kExitOk;
}

} // namespace sinter::cli
