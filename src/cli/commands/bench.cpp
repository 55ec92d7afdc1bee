// sinter bench: speed and memory of one process, for one sequence or several side by side.
#include "base/number_text.h"
#include "cli/commands/commands.h"
#include "cli/made_up_prompts.h"
#include "cli/open_model.h"
#include "cli/quantiles.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/terminal_observer.h"
#include "host/model_store.h"
#include "llm/scheduler.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

namespace sinter::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kFirstPrompt = 16;    // tokens of the prompt for the time to first token
constexpr uint32_t kLeastContext = 1024; // what comparisons with other programs use

struct Figures {
  double firstTokenSeconds = 0; // from process start, without the time to build the plan
  double buildSeconds = 0;
  double prefill = 0; // tokens per second, as is `decode`
  double decode = 0;
  uint64_t peakBytes = 0;
  uint32_t threads = 0;
  std::string device;
};

double secondsBetween(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

struct Seconds {
  double prefill = 0; // until each sequence has its first token
  double decode = 0;  // from there to the end
};

// Generates `tokens` tokens after each of the prompts, side by side: first for all of them the
// first token, then the others.
Result<Seconds> generate(Scheduler &scheduler, const std::vector<std::vector<TokenId>> &prompts,
                         uint64_t tokens) {
  uint64_t generated = 0;
  Result<void> failed;
  const auto start = Clock::now();
  for (const std::vector<TokenId> &prompt : prompts)
    SINTER_TRY(scheduler.submit({.prompt = prompt,
                                 .maxTokens = tokens,
                                 .ignoreEndTokens = true,
                                 .onToken = [&](TokenId) -> Result<void> {
                                   ++generated;
                                   return {};
                                 },
                                 .onEnd =
                                     [&](Result<Generation> ended) {
                                       if (!ended)
                                         failed = Fail(std::move(ended).error());
                                     }}));
  while (generated < prompts.size() && scheduler.step())
    ;
  const auto middle = Clock::now();
  while (scheduler.step())
    ;
  SINTER_TRY(failed);
  return Seconds{secondsBetween(start, middle), secondsBetween(middle, Clock::now())};
}

Result<void> measure(Scheduler &scheduler, const Tokenizer &tokenizer,
                     const BenchArguments &arguments, Figures &figures) {
  ProgressLine progress("measuring");
  const auto prompts = madeUpPrompts(tokenizer, arguments.parallel, arguments.prompt);
  // Untimed: takes memory and prepares the sizes that are timed below.
  SINTER_TRY(generate(scheduler, prompts, 2));
  const double sequences = arguments.parallel;
  std::vector<double> prefill, decode;
  for (uint32_t i = 0; i < arguments.repeat; ++i) {
    progress.show(i, arguments.repeat, "runs");
    SINTER_ASSIGN(const Seconds run,
                  generate(scheduler, prompts, uint64_t{arguments.generate} + 1));
    prefill.push_back(sequences * arguments.prompt / run.prefill);
    decode.push_back(sequences * arguments.generate / run.decode);
  }
  figures.prefill = median(std::move(prefill));
  figures.decode = median(std::move(decode));
  return {};
}

// All sequences are to be in every step that generates.
Result<void> checkParallel(const RunnerLimits &limits, uint32_t parallel) {
  const uint32_t most = std::min(limits.stepSequences, limits.stepTokens);
  if (parallel <= most)
    return {};
  return fail(Code::InvalidArgument, "--parallel is " + std::to_string(parallel) +
                                         ", one step takes at most " + std::to_string(most) +
                                         " sequences");
}

std::string json(const BenchArguments &arguments, const Figures &figures) {
  const nlohmann::ordered_json object = {{"model", arguments.model.model},
                                         {"device", figures.device},
                                         {"threads", figures.threads},
                                         {"prompt", arguments.prompt},
                                         {"gen", arguments.generate},
                                         {"parallel", arguments.parallel},
                                         {"repeat", arguments.repeat},
                                         {"prefill_tokens_per_second", figures.prefill},
                                         {"decode_tokens_per_second", figures.decode},
                                         {"first_token_seconds", figures.firstTokenSeconds},
                                         {"plan_build_seconds", figures.buildSeconds},
                                         {"peak_bytes", figures.peakBytes}};
  // File names need not be UTF-8, JSON must.
  using Object = nlohmann::ordered_json;
  return object.dump(-1, ' ', false, Object::error_handler_t::replace) + "\n";
}

std::string table(const BenchArguments &arguments, const Figures &figures) {
  Table table({"measure", "figure", "unit"});
  const std::string prompt = std::to_string(arguments.prompt);
  const bool several = arguments.parallel > 1;
  const std::string times = several ? std::to_string(arguments.parallel) + " x " : "";
  const std::string unit = several ? "tokens per second in all" : "tokens per second";
  table.addRow({"prefill " + times + prompt, fixed(figures.prefill, 1), unit});
  table.addRow({"decode " + times + std::to_string(arguments.generate) + " after " + prompt,
                fixed(figures.decode, 1), unit});
  table.addRow({"first token of " + std::to_string(kFirstPrompt),
                fixed(figures.firstTokenSeconds, 3), "seconds from process start"});
  if (figures.buildSeconds > 0)
    table.addRow({"plan built, once", fixed(figures.buildSeconds, 1), "seconds"});
  table.addRow(
      {"peak memory", fixed(static_cast<double>(figures.peakBytes) / (1 << 20), 1), "MiB"});
  return table.text();
}

} // namespace

Result<int> benchCommand(const BenchArguments &arguments, Interrupts &interrupts) {
  TerminalObserver observer(interrupts);
  SINTER_ASSIGN(ModelFile file, host::openModelFile(arguments.model.model, observer));
  const uint32_t needed = arguments.prompt + arguments.generate;
  ModelArguments modelArguments = arguments.model;
  if (modelArguments.context == 0)
    modelArguments.context = std::max(needed, kLeastContext);
  if (modelArguments.context < needed)
    return fail(Code::InvalidArgument, "--prompt and --gen take " + std::to_string(needed) +
                                           " tokens, --context is " +
                                           std::to_string(modelArguments.context));
  SINTER_ASSIGN(const host::OpenedModel opened,
                openModel(std::move(file), modelArguments, observer, arguments.parallel));
  Model &model = *opened.model;
  SINTER_TRY(checkParallel(model.runner().limits(), arguments.parallel));
  Scheduler scheduler(model.runner(), model.pages(), model.tokenizer(),
                      {.waiting = arguments.parallel, .prefillFirst = true});
  Figures figures;
  SINTER_TRY(generate(scheduler, madeUpPrompts(model.tokenizer(), 1, kFirstPrompt), 1));
  figures.buildSeconds = opened.buildSeconds;
  figures.firstTokenSeconds = secondsSinceProcessStart() - opened.buildSeconds;
  figures.device = opened.device->info().name;
  figures.threads = opened.device->info().computeUnits;
  SINTER_TRY(measure(scheduler, model.tokenizer(), arguments, figures));
  figures.peakBytes = peakMemoryBytes();
  SINTER_TRY(writeStdout(arguments.json ? json(arguments, figures) : table(arguments, figures)));
  return kExitOk;
}

} // namespace sinter::cli
