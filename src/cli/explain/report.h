// What `sinter explain` found out, before it is put into words, JSON or a drawing.
#pragma once

#include "cli/explain/roofline.h"
#include "cli/step_samples.h"

#include <string>

namespace sinter::cli {

// What the levers did to one kernel, each a sentence without its full stop.
struct LeverWords {
  std::string fusion, tiling, precision;

  friend bool operator==(const LeverWords &, const LeverWords &) = default;
};

// The launches of a step that do the same, in one layer after the other. Figures are of all of
// them together.
struct KernelFigures {
  std::string role;     // "attn_q+k+v"
  std::string kernel;   // short, unique within its step
  std::string fullName; // with every parameter
  uint64_t launches = 0;
  double bytes = 0, operations = 0;
  Arithmetic arithmetic = Arithmetic::F32;
  double seconds = 0;                     // medians of one launch times their number
  double lowSeconds = 0, highSeconds = 0; // the same of quartiles
  Floor floor;
  LeverWords words;
};

struct StepFigures {
  uint32_t tokens = 0;
  uint32_t depth = 0; // SampledStep::depth
  uint64_t launches = 0;
  std::vector<KernelFigures> kernels; // in the order in which the step comes to them first
  KernelFigures all;                  // their sums
  double wholeSeconds = 0;            // of a step as it runs, the median
  bool asGraph = false;

  // What a launch costs beside its kernel's time; negative where launches overlap.
  double gapSeconds() const { return (wholeSeconds - all.seconds) / static_cast<double>(launches); }
};

struct ExplainReport {
  std::string model;
  hal::DeviceInfo device;
  bool recordsGraphs = false;
  const plan::Plan *plan = nullptr;
  runtime::MemoryUse memory;
  Roofs roofs;
  std::vector<StepFigures> steps;
};

StepFigures figuresOf(const plan::Plan &plan, const hal::DeviceInfo &device, const Roofs &roofs,
                      const SampledStep &step);

// "step of 4 tokens after 40", "step of 1 token".
std::string stepTitle(const StepFigures &step);

// Lever by lever, what holds for the whole plan.
struct PlanWords {
  std::string fusion, tiling, precision, capture, tuning;
};
PlanWords wordsOf(const ExplainReport &report);

// The report as text for a terminal, at most 120 columns wide unless names are longer.
std::string explainText(const ExplainReport &report);
// As one JSON object on one line; docs/command-line.md lists the keys.
std::string explainJson(const ExplainReport &report);
// As an SVG drawing: both roofs, and a numbered dot for each kernel with its name beside.
std::string explainSvg(const ExplainReport &report);

} // namespace sinter::cli
