// Reads a launch's covered operations, grid and weights and its kernel's parameters.
#include "cli/explain/lever_words.h"

#include "base/number_text.h"
#include "cli/kernel_labels.h"
#include "plan/contract.h"
#include "plan/plan_text.h"

#include <algorithm>

namespace sinter::cli {
namespace {

std::string listed(const std::vector<std::string> &items) {
  std::string text;
  for (size_t i = 0; i < items.size(); ++i)
    text += (i == 0 ? "" : i + 1 == items.size() ? " and " : ", ") + items[i];
  return text;
}

std::string counted(uint64_t count, const std::string &what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string fusionOf(const plan::Launch &launch, const plan::Kernel &kernel) {
  std::string text =
      launch.covers.empty() ? "the plan names no operation of the graph" : listed(launch.covers);
  if (launch.covers.size() == 1)
    text += " alone";
  if (launch.covers.size() > 1)
    text += " in one launch: what passes between them is not stored";
  if (kernel.overlaps)
    text += "; it may begin while the launch before it ends";
  return text;
}

// "programs of block_m 36, block_n 64"
std::string blocksOf(const plan::Kernel &kernel) {
  std::string text;
  for (const plan::KernelParameter &parameter : kernel.parameters)
    if (parameter.name.starts_with("block_"))
      text += (text.empty() ? " of " : ", ") + parameter.name + " " + plan::valueText(parameter);
  return text;
}

std::string gridText(const plan::Kernel &kernel, const hal::Grid &grid,
                     const hal::DeviceInfo &device) {
  const auto programs = static_cast<uint64_t>(grid[0] * grid[1] * grid[2]);
  const bool blocks = kernel.threads > 1;
  std::string text = counted(programs, "program") + blocksOf(kernel);
  if (blocks)
    text += ", each a block of " + std::to_string(kernel.threads) + " threads";
  text += ", for " + counted(device.computeUnits, blocks ? "unit" : "thread");
  if (programs < device.computeUnits)
    text += ", " + std::to_string(device.computeUnits - programs) + " of which stay idle";
  if (kernel.sharedBytes > 0)
    text += "; a program shares " + bytesText(static_cast<double>(kernel.sharedBytes));
  if (kernel.scratchBytes > 0)
    text += "; " + bytesText(static_cast<double>(kernel.scratchBytes)) + " of scratch a thread";
  return text;
}

std::string packingOf(const plan::Buffer &weight) {
  const plan::PackRecipe &pack = weight.pack;
  if (pack.mode == plan::PackMode::Direct)
    return "lie as in the file";
  std::string text = pack.rowsPerAtom > 1
                         ? "are row-interleaved by " + std::to_string(pack.rowsPerAtom)
                         : "keep their rows whole";
  if (!pack.rowOrder.empty())
    text += ", in an order that brings rows together that one program needs";
  return text;
}

std::string tilingOf(const plan::Plan &plan, const SampledLaunch &sample,
                     const plan::Kernel &kernel, const hal::DeviceInfo &device) {
  std::string text = gridText(kernel, sample.grid, device);
  for (const plan::BufferArg &argument : sample.launch->buffers)
    if (const plan::Buffer &buffer = plan.buffers[argument.buffer.index];
        buffer.kind == plan::BufferKind::Weight)
      text += "; weights " + tensorsText(buffer) + " " + packingOf(buffer);
  return text;
}

const plan::KernelParameter *formatOf(const plan::Kernel &kernel, std::string_view name) {
  for (const plan::KernelParameter &parameter : kernel.parameters)
    if (parameter.name == name && plan::isFormat(parameter.kind))
      return &parameter;
  return nullptr;
}

// Of a matmul of activations `a` and weights `b`.
std::string matmulText(const std::string &rows, const std::string &weights, bool blocks,
                       Arithmetic arithmetic) {
  if (arithmetic == Arithmetic::I8)
    return weights + " weights times " + rows +
           " activations as 8-bit integers, scaled into f32 accumulators";
  return weights + " weights" + (blocks ? ", dequantized inside the kernel," : "") + " times " +
         rows + " activations, as " + arithmeticName(arithmetic) + " into f32 accumulators";
}

std::string precisionOf(const plan::Kernel &kernel) {
  const plan::KernelParameter *a = formatOf(kernel, "a"), *b = formatOf(kernel, "b");
  if (a && b)
    return matmulText(a->format, b->format, b->kind == plan::ParameterKind::BlockFormat,
                      kernel.arithmetic);
  std::vector<std::string> formats;
  for (const plan::KernelParameter &parameter : kernel.parameters)
    if (plan::isFormat(parameter.kind))
      formats.push_back(parameter.name + " " + parameter.format);
  return formats.empty() ? std::string("f32") : listed(formats);
}

// The format that the graph quantizes the result to.
std::string quantizationText(const plan::Launch &launch) {
  return launch.quantizedTo.empty() ? std::string()
                                    : "; the result is quantized to " + launch.quantizedTo +
                                          " for the matmul that reads it";
}

} // namespace

LeverWords wordsOf(const plan::Plan &plan, const hal::DeviceInfo &device,
                   const SampledLaunch &sample) {
  const plan::Kernel &kernel = plan.kernels[sample.launch->kernel.index];
  return {fusionOf(*sample.launch, kernel), tilingOf(plan, sample, kernel, device),
          precisionOf(kernel) + quantizationText(*sample.launch)};
}

PlanWords wordsOf(const ExplainReport &report) {
  const plan::Plan &plan = *report.plan;
  const auto property = [&](const char *name) {
    const auto found = plan.properties.find(name);
    return found == plan.properties.end() ? std::string("an unknown number of")
                                          : std::to_string(found->second);
  };
  PlanWords words;
  words.fusion = property(contract::kGraphOperations) + " operations of the graph run as ";
  for (const StepFigures &step : report.steps)
    words.fusion += (&step == &report.steps.front() ? "" : ", ") + std::to_string(step.launches) +
                    " launches in a step of " + counted(step.tokens, "token");
  words.tiling = bytesText(static_cast<double>(report.memory.weights)) +
                 " of weights lie in the order in which kernels read them" +
                 (report.memory.kept ? ", kept so in a file, " : ", ") +
                 bytesText(static_cast<double>(report.memory.mapped)) +
                 " are read where the file is mapped";
  const auto activations = plan.texts.find(contract::kActivations);
  words.precision = activations == plan.texts.end()
                        ? "the plan does not say how rows are rounded"
                        : "matmuls take activations as " + activations->second;
  if (const auto kv = plan.texts.find(contract::kKvType); kv != plan.texts.end())
    words.precision += "; keys and values are kept in " + kv->second;
  const bool asGraph =
      std::ranges::any_of(report.steps, [](const StepFigures &step) { return step.asGraph; });
  words.capture = !report.recordsGraphs
                      ? "driver " + report.device.driver +
                            " records no graphs, so each launch is given to it anew"
                  : asGraph ? "a step of a size that came before is the submission of one graph"
                            : "no step was submitted as a recorded graph";
  const auto chosen = std::ranges::count_if(
      plan.kernels, [](const plan::Kernel &kernel) { return !kernel.schedule.byRules(); });
  words.tuning = std::to_string(chosen) + " of " + std::to_string(plan.kernels.size()) +
                 " kernels have a schedule that was faster than that of rules when it was timed on "
                 "this machine; all others have that of rules for their shapes";
  return words;
}

} // namespace sinter::cli
