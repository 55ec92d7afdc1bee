// sinter explain: what a step consists of, and what each kernel costs.
#include "cli/commands.h"
#include "cli/kernel_names.h"
#include "cli/memory_bandwidth.h"
#include "cli/open_model.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "llm/session.h"

#include <algorithm>

namespace sinter::cli {
namespace {

constexpr int kRounds = 5; // of which each launch's best time counts
constexpr uint32_t kWholeSteps = 16;

// The samples of one step, each with the best of its times.
using Step = std::vector<runtime::LaunchSample>;

void takeSamples(runtime::Executor &executor, Step &step) {
  const auto samples = executor.samples();
  if (step.size() != samples.size())
    step.assign(samples.begin(), samples.end());
  for (size_t i = 0; i < samples.size(); ++i)
    step[i].nanoseconds = std::min(step[i].nanoseconds, samples[i].nanoseconds);
}

struct Steps {
  Step prompt, decode;
  double wholeDecodeSeconds = 0; // of a step that runs as it does outside of explain
};

Result<Steps> measure(Model &model, uint32_t promptTokens) {
  Session session(model.runner(), model.pages(), model.tokenizer());
  runtime::Executor &executor = model.runner().executor();
  SINTER_TRY(executor.setProfiling(true));
  const std::vector<TokenId> prompt(promptTokens, 0);
  Steps steps;
  ProgressLine progress("measuring");
  for (int round = 0; round < kRounds; ++round) {
    progress.show(static_cast<uint64_t>(round), kRounds, "rounds");
    session.clear();
    size_t tokens = 0;
    SINTER_TRY(session.generate(
        prompt, {.maxTokens = 2, .ignoreEndTokens = true}, [&](TokenId) -> Result<void> {
          takeSamples(executor, tokens++ == 0 ? steps.prompt : steps.decode);
          return {};
        }));
  }
  SINTER_TRY(executor.setProfiling(false));
  session.clear();
  SINTER_ASSIGN(const Generation whole,
                session.generate(prompt, {.maxTokens = kWholeSteps + 1, .ignoreEndTokens = true},
                                 [](TokenId) -> Result<void> { return {}; }));
  steps.wholeDecodeSeconds = whole.decodeSeconds / static_cast<double>(whole.decodeSteps);
  return steps;
}

// The launches of a step that do the same, in one layer after the other.
struct Row {
  std::string role;
  uint32_t kernel = 0;
  uint64_t launches = 0;
  double bytes = 0, operations = 0, seconds = 0;

  void add(const runtime::LaunchSample &sample) {
    ++launches;
    bytes += static_cast<double>(sample.bytesMoved);
    operations += static_cast<double>(sample.operations);
    seconds += static_cast<double>(sample.nanoseconds) * 1e-9;
  }
};

// In the order in which the step comes to them first.
std::vector<Row> rowsOf(const plan::Plan &plan, const Step &step) {
  std::vector<Row> rows;
  for (const runtime::LaunchSample &sample : step) {
    const std::string role = roleOf(plan, *sample.launch);
    const uint32_t kernel = sample.launch->kernel.index;
    auto row = std::find_if(rows.begin(), rows.end(), [&](const Row &seen) {
      return seen.kernel == kernel && seen.role == role;
    });
    if (row == rows.end())
      row = rows.insert(row, {role, kernel});
    row->add(sample);
  }
  return rows;
}

std::vector<std::string> namesOf(const plan::Plan &plan, const std::vector<Row> &rows) {
  std::vector<std::string> names;
  for (const Row &row : rows)
    names.push_back(plan.kernels[row.kernel].name);
  return names;
}

double kernelSeconds(const Step &step) {
  double seconds = 0;
  for (const runtime::LaunchSample &sample : step)
    seconds += static_cast<double>(sample.nanoseconds) * 1e-9;
  return seconds;
}

std::string stepTable(const plan::Plan &plan, const Step &step, double bandwidth) {
  const std::vector<Row> rows = rowsOf(plan, step);
  const std::vector<std::string> names = shortKernelNames(namesOf(plan, rows));
  Row all{"all", 0};
  for (const runtime::LaunchSample &sample : step)
    all.add(sample);
  Table table({"what", "kernel", "launches", "MB", "Mop", "floor us", "us", "share %"});
  const auto addRow = [&](const Row &row, const std::string &name) {
    const double share = all.seconds > 0 ? row.seconds / all.seconds * 100 : 0;
    table.addRow({row.role, name, std::to_string(row.launches), fixed(row.bytes / 1e6, 2),
                  fixed(row.operations / 1e6, 1), fixed(row.bytes / bandwidth * 1e6, 1),
                  fixed(row.seconds * 1e6, 1), fixed(share, 1)});
  };
  for (size_t i = 0; i < rows.size(); ++i)
    addRow(rows[i], names[i]);
  addRow(all, "");
  return table.text();
}

std::string kernelList(const plan::Plan &plan) {
  std::string out = "\nkernels\n";
  for (const plan::Kernel &kernel : plan.kernels)
    out += kernel.name + "\n";
  return out;
}

std::string mebibytes(uint64_t bytes) {
  return bytesText(static_cast<double>(bytes));
}

// The device that runs the plan, and the threads of its programs.
std::string deviceFacts(const hal::DeviceInfo &info, const plan::Plan &plan) {
  uint32_t least = UINT32_MAX, most = 0;
  uint64_t shared = 0;
  for (const plan::Kernel &kernel : plan.kernels) {
    least = std::min(least, kernel.threads);
    most = std::max(most, kernel.threads);
    shared = std::max(shared, kernel.sharedBytes);
  }
  std::string out = "device: " + info.driver + ", " + info.name + ", " +
                    std::to_string(info.computeUnits) + " units, " + mebibytes(info.memoryBytes) +
                    "\ntarget: " + std::string(targetOf(plan)) + "\n";
  if (most > 1)
    out += "programs: blocks of " + std::to_string(least) + " to " + std::to_string(most) +
           " threads that share up to " + mebibytes(shared) + "\n";
  return out;
}

// What the compiler wrote down about the plan, and what its passes saved.
std::string planFacts(const plan::Plan &plan, const Step &step, const runtime::MemoryUse &memory) {
  std::string out;
  for (const auto &[name, text] : plan.texts)
    out += name + ": " + text + "\n";
  if (const auto found = plan.properties.find("graph_operations"); found != plan.properties.end())
    out += "fusion: " + std::to_string(found->second) + " operations of the graph run as " +
           std::to_string(step.size()) + " launches\n";
  out += "packing: " + mebibytes(memory.weights) +
         " of weights lie in the order in which kernels read them, " + mebibytes(memory.mapped) +
         " are read where the file is mapped\n";
  out += "memory: KV " + mebibytes(memory.state) + ", temporary " + mebibytes(memory.arena) +
         ", inputs and outputs " + mebibytes(memory.inputsAndOutputs) + ", constants " +
         mebibytes(memory.constants) + "\n";
  return out;
}

} // namespace

Result<int> explainCommand(const ExplainArguments &arguments, Interrupts &interrupts) {
  SINTER_ASSIGN(ModelFile file, openModelFile(arguments.model));
  // No wider than the steps need, since the bytes of attention are those of a full context.
  ModelArguments modelArguments = arguments.model;
  modelArguments.context = arguments.prompt + kWholeSteps + 1;
  SINTER_ASSIGN(const OpenedModel opened, openModel(std::move(file), modelArguments, interrupts));
  Model &model = *opened.model;
  const RunnerLimits &limits = model.runner().limits();
  const uint32_t most = std::min(limits.stepTokens, limits.contextTokens - kWholeSteps - 1);
  if (arguments.prompt > most)
    return fail(Code::InvalidArgument, "--prompt is " + std::to_string(arguments.prompt) +
                                           ", one step takes at most " + std::to_string(most));
  SINTER_ASSIGN(const Bandwidth measured, measureBandwidth(*opened.device));
  const double bandwidth = measured.bytesPerSecond;
  SINTER_ASSIGN(const Steps steps, measure(model, arguments.prompt));
  const plan::Plan &plan = model.runner().executor().plan();
  std::string out = deviceFacts(opened.device->info(), plan);
  out += planFacts(plan, steps.decode, model.runner().executor().memory());
  out += "floor: the time that moving the bytes takes at " + fixed(bandwidth / 1e9, 1) + " GB/s, " +
         measured.what + "\n";
  out += "\nstep of " + std::to_string(arguments.prompt) + " tokens, in order\n" +
         stepTable(plan, steps.prompt, bandwidth);
  out += "\nstep of 1 token, in order\n" + stepTable(plan, steps.decode, bandwidth);
  out += "a step of 1 token as it runs, with its sampling: " +
         fixed(steps.wholeDecodeSeconds * 1e6, 1) + " us; its " +
         std::to_string(steps.decode.size()) + " kernels, each timed alone, take " +
         fixed(kernelSeconds(steps.decode) * 1e6, 1) + " us\n";
  if (arguments.verbose)
    out += kernelList(plan);
  SINTER_TRY(writeStdout(out));
  return kExitOk;
}

} // namespace sinter::cli
