// sinter bench: speed and memory of one process.
#include "cli/commands.h"
#include "cli/open_model.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "llm/session.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sinter::cli {
namespace {

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

// Ordinary tokens in a fixed order without meaning: what a step costs does not depend on them.
std::vector<TokenId> madeUpPrompt(const Tokenizer &tokenizer, uint32_t count) {
  std::vector<TokenId> prompt;
  const uint64_t size = tokenizer.size();
  constexpr uint64_t kStride = 7919;
  for (uint64_t i = 0; prompt.size() < count; ++i) {
    const TokenId id = static_cast<TokenId>(i * kStride % size);
    if (!tokenizer.isHidden(id) || i >= size)
      prompt.push_back(id);
  }
  return prompt;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Result<Generation> generate(Session &session, std::span<const TokenId> prompt, uint64_t tokens) {
  session.clear();
  return session.generate(prompt, {.maxTokens = tokens, .ignoreEndTokens = true},
                          [](TokenId) -> Result<void> { return {}; });
}

Result<void> measure(Session &session, const Tokenizer &tokenizer, const BenchArguments &arguments,
                     Figures &figures) {
  ProgressLine progress("measuring");
  const auto prompt = madeUpPrompt(tokenizer, arguments.prompt);
  // Untimed: takes memory and prepares the sizes that are timed below.
  SINTER_TRY(generate(session, prompt, 2));
  std::vector<double> prefill, decode;
  for (uint32_t i = 0; i < arguments.repeat; ++i) {
    progress.show(i, arguments.repeat, "runs");
    SINTER_ASSIGN(const Generation run,
                  generate(session, prompt, uint64_t{arguments.generate} + 1));
    prefill.push_back(static_cast<double>(run.promptTokens) / run.prefillSeconds);
    decode.push_back(static_cast<double>(run.decodeSteps) / run.decodeSeconds);
  }
  figures.prefill = median(std::move(prefill));
  figures.decode = median(std::move(decode));
  return {};
}

std::string json(const BenchArguments &arguments, const Figures &figures) {
  const nlohmann::ordered_json object = {{"model", arguments.model.model},
                                         {"device", figures.device},
                                         {"threads", figures.threads},
                                         {"prompt", arguments.prompt},
                                         {"gen", arguments.generate},
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
  table.addRow({"prefill " + prompt, fixed(figures.prefill, 1), "tokens per second"});
  table.addRow({"decode " + std::to_string(arguments.generate) + " after " + prompt,
                fixed(figures.decode, 1), "tokens per second"});
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
  SINTER_ASSIGN(ModelFile file, openModelFile(arguments.model));
  const uint32_t needed = arguments.prompt + arguments.generate;
  ModelArguments modelArguments = arguments.model;
  if (modelArguments.context == 0)
    modelArguments.context = std::max(needed, kLeastContext);
  if (modelArguments.context < needed)
    return fail(Code::InvalidArgument, "--prompt and --gen take " + std::to_string(needed) +
                                           " tokens, --context is " +
                                           std::to_string(modelArguments.context));
  SINTER_ASSIGN(const OpenedModel opened, openModel(std::move(file), modelArguments, interrupts));
  Model &model = *opened.model;
  Session session(model.runner(), model.pages(), model.tokenizer());
  Figures figures;
  SINTER_TRY(generate(session, madeUpPrompt(model.tokenizer(), kFirstPrompt), 1));
  figures.buildSeconds = opened.buildSeconds;
  figures.firstTokenSeconds = secondsSinceProcessStart() - opened.buildSeconds;
  figures.device = opened.device->info().name;
  figures.threads = opened.device->info().computeUnits;
  SINTER_TRY(measure(session, model.tokenizer(), arguments, figures));
  figures.peakBytes = peakMemoryBytes();
  SINTER_TRY(writeStdout(arguments.json ? json(arguments, figures) : table(arguments, figures)));
  return kExitOk;
}

} // namespace sinter::cli
