// sinter explain: what a step consists of, what each kernel costs, and why.
#include "base/output_file.h"
#include "cli/commands/commands.h"
#include "cli/explain/report.h"
#include "cli/open_model.h"
#include "cli/terminal.h"
#include "cli/terminal_observer.h"
#include "host/model_store.h"
#include "plan/plan_text.h"

#include <algorithm>
#include <optional>

namespace sinter::cli {
namespace {

// The context that the samples need; no wider, since the page table's width is a size of the step.
uint32_t contextFor(uint32_t tokens) {
  return tokens + kSampledTokens + 1;
}

// A file that does not say what its model holds is refused elsewhere.
Result<void> checkContext(const GgufFile &file, const ExplainArguments &arguments) {
  const auto architecture = file.getString("general.architecture");
  if (!architecture)
    return {};
  const auto most = file.getU64(std::string(*architecture) + ".context_length");
  const uint32_t needed = contextFor(arguments.depth + arguments.prompt);
  if (!most || needed <= *most)
    return {};
  return fail(Code::InvalidArgument, "--depth " + std::to_string(arguments.depth) +
                                         " and --prompt " + std::to_string(arguments.prompt) +
                                         " need " + std::to_string(needed) +
                                         " tokens, the model holds " + std::to_string(*most));
}

Result<void> checkPrompt(const RunnerLimits &limits, uint32_t prompt) {
  const uint32_t most = limits.stepTokens;
  if (prompt <= most)
    return {};
  return fail(Code::InvalidArgument, "--prompt is " + std::to_string(prompt) +
                                         ", one step takes at most " + std::to_string(most));
}

Result<void> checkParallel(const RunnerLimits &limits, uint32_t parallel) {
  const uint32_t most =
      limits.embeddingLength > 0 ? 1 : std::min(limits.stepSequences, limits.stepTokens);
  if (parallel <= most)
    return {};
  return fail(Code::InvalidArgument, "--parallel is " + std::to_string(parallel) +
                                         ", one step takes at most " + std::to_string(most) +
                                         (most == 1 ? " sequence" : " sequences"));
}

Result<ExplainReport> makeReport(const ExplainArguments &arguments,
                                 const host::OpenedModel &opened) {
  Model &model = *opened.model;
  ExplainReport report;
  report.model = arguments.model.model;
  report.device = opened.device->info();
  report.recordsGraphs = opened.device->supports(hal::Feature::CapturedGraph);
  report.plan = &model.runner().executor().plan();
  SINTER_ASSIGN(report.roofs, measureRoofs(*opened.device));
  SINTER_ASSIGN(const SampledSteps steps,
                sampleSteps(model, arguments.depth, arguments.prompt, arguments.parallel));
  report.memory = model.runner().executor().memory();
  for (const SampledStep *step : {&steps.prompt, &steps.decode})
    if (step->tokens > 0)
      report.steps.push_back(figuresOf(*report.plan, report.device, report.roofs, *step));
  return report;
}

} // namespace

Result<int> explainCommand(const ExplainArguments &arguments, Interrupts &interrupts) {
  TerminalObserver observer(interrupts);
  SINTER_ASSIGN(ModelFile file,
                host::openModelFile(arguments.model.model, observer, TextNeed::Optional));
  const bool decodes = file.givesLogits().has_value();
  SINTER_TRY(checkContext(file.gguf(), arguments));
  if (!decodes && arguments.depth > 0)
    return fail(Code::InvalidArgument, "--depth is " + std::to_string(arguments.depth) +
                                           ", expected 0: the model's tokens see both ways, so no "
                                           "text is before the prompt");
  std::optional<OutputFile> drawing;
  if (!arguments.svg.empty()) { // what cannot be written is said before minutes are spent
    SINTER_ASSIGN(OutputFile created, OutputFile::create(arguments.svg));
    drawing.emplace(std::move(created));
  }
  ModelArguments modelArguments = arguments.model;
  modelArguments.context = contextFor(arguments.depth + arguments.prompt);
  SINTER_ASSIGN(const host::OpenedModel opened,
                decodes ? openModel(std::move(file), modelArguments, observer, arguments.parallel)
                        : openEmbedder(std::move(file), modelArguments, observer));
  SINTER_TRY(checkPrompt(opened.model->runner().limits(), arguments.prompt));
  SINTER_TRY(checkParallel(opened.model->runner().limits(), arguments.parallel));
  SINTER_ASSIGN(const ExplainReport report, makeReport(arguments, opened));
  if (drawing) {
    const std::string svg = explainSvg(report);
    SINTER_TRY(drawing->writeAt({reinterpret_cast<const uint8_t *>(svg.data()), svg.size()}, 0));
    SINTER_TRY(drawing->commit());
  }
  std::string out = arguments.json ? explainJson(report) : explainText(report);
  if (arguments.verbose && !arguments.json)
    out += "\n" + plan::listing(*report.plan);
  SINTER_TRY(writeStdout(out));
  return kExitOk;
}

} // namespace sinter::cli
