// sinter explain: what a step consists of, and what each kernel costs.
#include "cli/commands.h"
#include "cli/memory_bandwidth.h"
#include "cli/open_model.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "llm/session.h"

#include <algorithm>
#include <map>

namespace sinter::cli {
namespace {

constexpr int kRounds = 5; // of which each launch's best time counts

struct Launch {
  uint32_t kernel;
  std::string label;
  int64_t bytes, operations;
  uint64_t nanoseconds;
};
using Step = std::vector<Launch>;

// Takes the samples of the executor's last run into `step`, keeping the better time of each launch.
void takeSamples(runtime::Executor &executor, Step &step) {
  const auto samples = executor.samples();
  const bool first = step.size() != samples.size();
  if (first)
    step.clear();
  for (size_t i = 0; i < samples.size(); ++i) {
    const runtime::LaunchSample &sample = samples[i];
    if (first)
      step.push_back({sample.launch->kernel.index, sample.launch->label, sample.bytesMoved,
                      sample.operations, sample.nanoseconds});
    step[i].nanoseconds = std::min(step[i].nanoseconds, sample.nanoseconds);
  }
}

struct Steps {
  Step prompt, decode;
};

Result<Steps> measure(Model &model, uint32_t promptTokens) {
  Session session(model.runner(), model.pages(), model.tokenizer());
  runtime::Executor &executor = model.runner().executor();
  SINTER_TRY(executor.setProfiling(true));
  const std::vector<TokenId> prompt(promptTokens, 0);
  Steps steps;
  for (int round = 0; round < kRounds; ++round) {
    session.clear();
    size_t tokens = 0;
    SINTER_TRY(session.generate(
        prompt, {.maxTokens = 2, .ignoreEndTokens = true}, [&](TokenId) -> Result<void> {
          takeSamples(executor, tokens++ == 0 ? steps.prompt : steps.decode);
          return {};
        }));
  }
  return steps;
}

struct Sums {
  uint64_t launches = 0;
  double bytes = 0, operations = 0, seconds = 0;

  void add(const Launch &launch) {
    ++launches;
    bytes += static_cast<double>(launch.bytes);
    operations += static_cast<double>(launch.operations);
    seconds += static_cast<double>(launch.nanoseconds) * 1e-9;
  }
};

void addRow(Table &table, const std::string &name, const Sums &sums, double bandwidth) {
  const double seconds = std::max(sums.seconds, 1e-9);
  table.addRow({name, std::to_string(sums.launches), fixed(sums.bytes / 1e6, 2),
                fixed(sums.operations / 1e6, 1), fixed(sums.bytes / bandwidth * 1e6, 1),
                fixed(sums.seconds * 1e6, 1), fixed(sums.bytes / seconds / 1e9, 1),
                fixed(sums.operations / seconds / 1e9, 1)});
}

std::string stepTable(const plan::Plan &plan, const Step &step, double bandwidth) {
  std::map<uint32_t, Sums> byKernel;
  Sums all;
  for (const Launch &launch : step) {
    byKernel[launch.kernel].add(launch);
    all.add(launch);
  }
  std::vector<std::pair<uint32_t, Sums>> order(byKernel.begin(), byKernel.end());
  std::stable_sort(order.begin(), order.end(), [](const auto &a, const auto &b) {
    return a.second.seconds > b.second.seconds;
  });
  Table table({"kernel", "launches", "MB", "Mop", "floor us", "us", "GB/s", "Gop/s"});
  for (const auto &[kernel, sums] : order)
    addRow(table, plan.kernels[kernel].name, sums, bandwidth);
  addRow(table, "all", all, bandwidth);
  return table.text();
}

// What the compiler wrote down about the plan, such as what fusion and packing saved.
std::string planFacts(const plan::Plan &plan, const runtime::MemoryUse &memory) {
  std::string out;
  for (const auto &[name, text] : plan.texts)
    out += name + ": " + text + "\n";
  const auto line = [&](const char *name, uint64_t bytes) {
    out += std::string(name) + ": " + bytesText(static_cast<double>(bytes)) + "\n";
  };
  line("weights, packed", memory.weights);
  line("weights, as mapped", memory.mapped);
  line("constants", memory.constants);
  line("KV memory", memory.state);
  line("inputs and outputs", memory.inputsAndOutputs);
  line("temporary buffers", memory.arena);
  return out;
}

} // namespace

Result<int> explainCommand(const ExplainArguments &arguments, Interrupts &interrupts) {
  SINTER_ASSIGN(ModelFile file, openModelFile(arguments.model));
  SINTER_ASSIGN(const OpenedModel opened, openModel(std::move(file), arguments.model, interrupts));
  Model &model = *opened.model;
  const RunnerLimits &limits = model.runner().limits();
  const uint32_t most = std::min(limits.stepTokens, limits.contextTokens - 1);
  if (arguments.prompt > most)
    return fail(Code::InvalidArgument, "--prompt is " + std::to_string(arguments.prompt) +
                                           ", one step takes at most " + std::to_string(most));
  SINTER_ASSIGN(const double bandwidth, readBandwidth(*opened.device));
  SINTER_ASSIGN(const Steps steps, measure(model, arguments.prompt));
  const plan::Plan &plan = model.runner().executor().plan();
  std::string out = planFacts(plan, model.runner().executor().memory());
  out += "memory read at " + fixed(bandwidth / 1e9, 1) +
         " GB/s; the floor is the time that moving the bytes takes at that rate\n";
  out += "\nstep of " + std::to_string(arguments.prompt) + " tokens\n" +
         stepTable(plan, steps.prompt, bandwidth);
  out += "\nstep of 1 token\n" + stepTable(plan, steps.decode, bandwidth);
  SINTER_TRY(writeStdout(out));
  return kExitOk;
}

} // namespace sinter::cli
