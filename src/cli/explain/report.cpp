// From samples of launches to figures of kernels.
#include "cli/explain/report.h"

#include "cli/explain/lever_words.h"
#include "cli/kernel_labels.h"
#include "cli/quantiles.h"
#include "plan/plan_text.h"

#include <algorithm>

namespace sinter::cli {
namespace {

// Launches of one kernel for one role.
struct Group {
  std::string role;
  uint32_t kernel = 0;
  std::vector<const SampledLaunch *> launches;
};

std::vector<Group> groupsOf(const plan::Plan &plan, const SampledStep &step) {
  std::vector<Group> groups;
  for (const SampledLaunch &launch : step.launches) {
    const std::string role = roleOf(plan, *launch.launch);
    const uint32_t kernel = launch.launch->kernel.index;
    auto group = std::ranges::find_if(
        groups, [&](const Group &seen) { return seen.kernel == kernel && seen.role == role; });
    if (group == groups.end())
      group = groups.insert(group, {role, kernel, {}});
    group->launches.push_back(&launch);
  }
  return groups;
}

KernelFigures figuresOf(const plan::Plan &plan, const Roofs &roofs, const Group &group) {
  KernelFigures figures;
  figures.role = group.role;
  figures.fullName = plan::kernelText(plan.kernels[group.kernel]);
  figures.arithmetic = plan.kernels[group.kernel].arithmetic;
  figures.launches = group.launches.size();
  // All layers do the same work, so their times are one population.
  std::vector<double> seconds;
  for (const SampledLaunch *launch : group.launches) {
    figures.bytes += static_cast<double>(launch->bytes);
    figures.operations += static_cast<double>(launch->operations);
    seconds.insert(seconds.end(), launch->seconds.begin(), launch->seconds.end());
  }
  const auto count = static_cast<double>(figures.launches);
  figures.seconds = median(seconds) * count;
  figures.lowSeconds = quantile(seconds, 0.25) * count;
  figures.highSeconds = quantile(seconds, 0.75) * count;
  figures.floor = floorOf(roofs, figures.bytes, figures.operations, figures.arithmetic);
  return figures;
}

void add(KernelFigures &all, const KernelFigures &kernel) {
  all.launches += kernel.launches;
  all.bytes += kernel.bytes;
  all.operations += kernel.operations;
  all.seconds += kernel.seconds;
  all.lowSeconds += kernel.lowSeconds;
  all.highSeconds += kernel.highSeconds;
  all.floor.seconds += kernel.floor.seconds;
}

} // namespace

StepFigures figuresOf(const plan::Plan &plan, const hal::DeviceInfo &device, const Roofs &roofs,
                      const SampledStep &step) {
  StepFigures figures;
  figures.tokens = step.tokens;
  figures.depth = step.depth;
  figures.launches = step.launches.size();
  figures.wholeSeconds = median(step.wholeSeconds);
  figures.asGraph = step.asGraph;
  figures.all.role = "all";
  std::vector<const plan::Kernel *> kernels;
  for (const Group &group : groupsOf(plan, step)) {
    figures.kernels.push_back(figuresOf(plan, roofs, group));
    figures.kernels.back().words = wordsOf(plan, device, *group.launches.front());
    add(figures.all, figures.kernels.back());
    kernels.push_back(&plan.kernels[group.kernel]);
  }
  const std::vector<std::string> labels = kernelLabels(kernels);
  for (size_t i = 0; i < labels.size(); ++i)
    figures.kernels[i].kernel = labels[i];
  return figures;
}

std::string stepTitle(const StepFigures &step) {
  return "step of " + std::to_string(step.tokens) + (step.tokens == 1 ? " token" : " tokens") +
         (step.depth > 0 ? " after " + std::to_string(step.depth) : "");
}

} // namespace sinter::cli
