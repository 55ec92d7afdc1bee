// The report as JSON: every figure in seconds, bytes and operations, of all launches of a kernel
// together.
#include "cli/explain/report.h"

#include <nlohmann/json.hpp>

namespace sinter::cli {
namespace {

using Object = nlohmann::ordered_json;

Object deviceObject(const ExplainReport &report) {
  return {{"driver", report.device.driver},
          {"name", report.device.name},
          {"target", targetOf(*report.plan)},
          {"units", report.device.computeUnits},
          {"memory_bytes", report.device.memoryBytes}};
}

Object roofsObject(const Roofs &roofs) {
  Object peaks = Object::array();
  for (const Peak &peak : roofs.peaks)
    peaks.push_back({{"arithmetic", arithmeticName(peak.arithmetic)},
                     {"operations_per_second", peak.rate.operationsPerSecond},
                     {"source", peak.rate.source}});
  return {{"bytes_per_second", roofs.memory.bytesPerSecond},
          {"bytes_source", roofs.memory.what},
          {"arithmetic", std::move(peaks)}};
}

Object memoryObject(const runtime::MemoryUse &memory) {
  return {{"packed_weight_bytes", memory.weights},
          {"kept_weight_bytes", memory.kept},
          {"mapped_weight_bytes", memory.mapped},
          {"constant_bytes", memory.constants},
          {"state_bytes", memory.state},
          {"temporary_bytes", memory.arena},
          {"input_output_bytes", memory.inputsAndOutputs}};
}

Object planObject(const plan::Plan &plan) {
  Object facts = Object::object();
  for (const auto &[name, text] : plan.texts)
    facts[name] = text;
  for (const auto &[name, value] : plan.properties)
    facts[name] = value;
  return facts;
}

Object kernelObject(const KernelFigures &kernel) {
  return {{"what", kernel.role},
          {"kernel", kernel.kernel},
          {"name", kernel.fullName},
          {"launches", kernel.launches},
          {"bytes", kernel.bytes},
          {"operations", kernel.operations},
          {"arithmetic", arithmeticName(kernel.arithmetic)},
          {"floor_seconds", kernel.floor.seconds},
          {"bound", boundName(kernel.floor)},
          {"seconds", kernel.seconds},
          {"low_seconds", kernel.lowSeconds},
          {"high_seconds", kernel.highSeconds},
          {"levers",
           {{"fusion", kernel.words.fusion},
            {"tiling", kernel.words.tiling},
            {"precision", kernel.words.precision}}}};
}

Object stepObject(const StepFigures &step) {
  Object kernels = Object::array();
  for (const KernelFigures &kernel : step.kernels)
    kernels.push_back(kernelObject(kernel));
  return {{"tokens", step.tokens},
          {"depth", step.depth},
          {"launches", step.launches},
          {"seconds", step.wholeSeconds},
          {"kernel_seconds", step.all.seconds},
          {"floor_seconds", step.all.floor.seconds},
          {"gap_seconds", step.gapSeconds()},
          {"recorded_graph", step.asGraph},
          {"kernels", std::move(kernels)}};
}

} // namespace

std::string explainJson(const ExplainReport &report) {
  const PlanWords words = wordsOf(report);
  Object steps = Object::array();
  for (const StepFigures &step : report.steps)
    steps.push_back(stepObject(step));
  const Object object = {{"model", report.model},
                         {"device", deviceObject(report)},
                         {"plan", planObject(*report.plan)},
                         {"memory", memoryObject(report.memory)},
                         {"roofs", roofsObject(report.roofs)},
                         {"levers",
                          {{"fusion", words.fusion},
                           {"tiling", words.tiling},
                           {"precision", words.precision},
                           {"graph_capture", words.capture},
                           {"autotuning", words.tuning}}},
                         {"steps", std::move(steps)}};
  // Names from files need not be UTF-8, JSON must.
  return object.dump(-1, ' ', false, Object::error_handler_t::replace) + "\n";
}

} // namespace sinter::cli
