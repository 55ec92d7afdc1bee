// The report for a terminal: facts, a table for each step, and what the levers did.
#include "base/number_text.h"
#include "cli/explain/report.h"
#include "cli/table.h"

#include <algorithm>
#include <cmath>

namespace sinter::cli {
namespace {

constexpr size_t kColumns = 110;
// Quartiles further apart than this say that something else was running.
constexpr double kCalmSpread = 1.5;

// "HEAD: text" in lines of kColumns, broken before `mark`; lines after the first are indented.
std::string paragraph(const std::string &indent, const std::string &head, std::string_view text,
                      char mark = ' ') {
  std::string out, line = indent + head + ":", next = " ";
  while (!text.empty()) {
    const size_t end = std::min(text.find(mark, 1), text.size());
    next += text.substr(0, end);
    text.remove_prefix(end);
    if (line.size() + next.size() > kColumns) {
      out += line + "\n";
      line = indent + " ";
    }
    line += next;
    next.clear();
  }
  return out + line + "\n";
}

std::string microseconds(double seconds) {
  return fixed(seconds * 1e6, 1);
}

// How many times the floor; empty where there is none.
std::string timesFloor(const KernelFigures &kernel) {
  return kernel.floor.seconds > 0 ? fixed(kernel.seconds / kernel.floor.seconds, 2) : "";
}

// The device that runs the plan, and the threads of its programs.
std::string deviceFacts(const hal::DeviceInfo &info, const plan::Plan &plan) {
  return "device: " + info.driver + ", " + info.name + ", " + std::to_string(info.computeUnits) +
         " units, " + bytesText(static_cast<double>(info.memoryBytes)) + "\n" +
         paragraph("", "target", targetOf(plan), '+');
}

std::string roofFacts(const Roofs &roofs) {
  std::string out =
      paragraph("", "roof of memory",
                fixed(roofs.memory.bytesPerSecond / 1e9, 1) + " GB/s, " + roofs.memory.what);
  for (const Peak &peak : roofs.peaks)
    out += paragraph("", std::string("roof of ") + arithmeticName(peak.arithmetic),
                     fixed(peak.rate.operationsPerSecond / 1e9, 0) + " GOP/s, " + peak.rate.source);
  out += paragraph(
      "", "floor",
      roofs.peaks.empty()
          ? "the time that moving the bytes takes; the device does not tell how fast it computes"
          : "the longer of moving the bytes at memory's rate and computing at that of the "
            "arithmetic; bound says which");
  return out;
}

std::string memoryFacts(const runtime::MemoryUse &memory) {
  const auto text = [](uint64_t bytes) { return bytesText(static_cast<double>(bytes)); };
  return paragraph("", "memory",
                   "KV " + text(memory.state) + ", temporary " + text(memory.arena) +
                       ", inputs and outputs " + text(memory.inputsAndOutputs) + ", constants " +
                       text(memory.constants));
}

std::string planFacts(const plan::Plan &plan) {
  std::string out;
  for (const auto &[name, text] : plan.texts)
    out += name + ": " + text + "\n";
  return out;
}

std::string tableOf(const StepFigures &step) {
  Table table(
      {"what", "kernel", "launches", "MB", "Mop", "bound", "floor us", "us", "x floor", "share %"});
  const auto addRow = [&](const KernelFigures &kernel, const std::string &bound) {
    const double share = step.all.seconds > 0 ? kernel.seconds / step.all.seconds * 100 : 0;
    table.addRow({kernel.role, kernel.kernel, std::to_string(kernel.launches),
                  fixed(kernel.bytes / 1e6, 2), fixed(kernel.operations / 1e6, 1), bound,
                  microseconds(kernel.floor.seconds), microseconds(kernel.seconds),
                  timesFloor(kernel), fixed(share, 1)});
  };
  for (const KernelFigures &kernel : step.kernels)
    addRow(kernel, boundName(kernel.floor));
  addRow(step.all, "");
  return table.text();
}

// What lies between the kernels, and how far the figures can be trusted.
std::string wholeText(const StepFigures &step) {
  const double gap = step.gapSeconds();
  std::string text = microseconds(step.wholeSeconds) + " us from its inputs to its logits; its " +
                     std::to_string(step.launches) + " kernels, each timed alone, take " +
                     microseconds(step.all.seconds) + " us, so " + microseconds(std::abs(gap)) +
                     " us a launch " +
                     (gap < 0 ? "are saved where launches overlap" : "lie between kernels");
  std::string out = paragraph("", "the step as it runs", text);
  const auto belowFloor = [](const KernelFigures &kernel) {
    return kernel.seconds < 0.95 * kernel.floor.seconds;
  };
  if (std::ranges::any_of(step.kernels, belowFloor))
    out += paragraph("", "below the floor",
                     "these kernels found in a cache what the floor takes from memory");
  if (step.all.highSeconds > kCalmSpread * step.all.lowSeconds)
    out += paragraph("", "unsteady",
                     "a quarter of the times lie below " + microseconds(step.all.lowSeconds) +
                         " us in all and a quarter above " + microseconds(step.all.highSeconds) +
                         " us: something else ran on this machine");
  return out;
}

std::string planWords(const ExplainReport &report) {
  const PlanWords words = wordsOf(report);
  return "\nthe five levers, on the whole\n" +
         paragraph("  ", "scheduling and fusion", words.fusion) +
         paragraph("  ", "tiling and packing", words.tiling) +
         paragraph("  ", "precision and quantisation", words.precision) +
         paragraph("  ", "graph capture", words.capture) +
         paragraph("  ", "autotuning", words.tuning);
}

// What is the same as in a kernel of that role before is not said again.
std::string kernelWords(const StepFigures &step, const StepFigures *before) {
  std::string out = "\nthe levers, kernel by kernel: " + stepTitle(step) + "\n";
  for (const KernelFigures &kernel : step.kernels) {
    LeverWords said;
    for (const KernelFigures &other : before ? before->kernels : std::vector<KernelFigures>())
      if (other.role == kernel.role)
        said = other.words;
    if (said == kernel.words)
      continue;
    out += kernel.role + ", " + kernel.kernel + "\n";
    const auto say = [&](const char *lever, const std::string &words, const std::string &former) {
      if (words != former)
        out += paragraph("  ", lever, words);
    };
    say("fusion", kernel.words.fusion, said.fusion);
    say("tiling", kernel.words.tiling, said.tiling);
    say("precision", kernel.words.precision, said.precision);
  }
  return out;
}

} // namespace

std::string explainText(const ExplainReport &report) {
  std::string out = deviceFacts(report.device, *report.plan) + planFacts(*report.plan) +
                    memoryFacts(report.memory) + roofFacts(report.roofs);
  for (const StepFigures &step : report.steps)
    out += "\n" + stepTitle(step) + ", in order\n" + tableOf(step) + wholeText(step);
  out += planWords(report);
  const StepFigures *before = nullptr;
  for (const StepFigures &step : report.steps) {
    out += kernelWords(step, before);
    before = &step;
  }
  return out;
}

} // namespace sinter::cli
