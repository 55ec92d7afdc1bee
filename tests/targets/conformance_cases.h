// All conformance cases, and how a case is built and its arguments made: what every way of running
// kernels is tested with.
#pragma once

#include "targets/bounds_cases.h"
#include "targets/recurrence_cases.h"
#include "targets/routing_cases.h"
#include "targets/selection_cases.h"
#include "targets/slot_cases.h"
#include "targets/view_cases.h"

namespace sinter::targets::cpu {

inline KernelCases makeCases(const std::string &activation) {
  KernelCases cases;
  addRowCases(cases, activation);
  addGemmCases(cases, activation);
  addTokenCases(cases, activation);
  addSlotCases(cases, activation);
  addRoutingCases(cases, activation);
  addSelectionCases(cases);
  addRecurrenceCases(cases);
  addViewCases(cases);
  addBoundsCases(cases);
  return cases;
}

inline const KernelCases &conformanceCases() {
  static const KernelCases cases = makeCases("q8a");
  return cases;
}

inline tile::KernelModule buildCase(const KernelCase &c) {
  return tile::KernelModule::build([&](kernel::Module &defined) {
    if (c.build)
      return defined.kernel(c.kernel, c.build);
    auto defining = kernels::findKernel(c.kernel)->define(defined, c.kernel, c.settings);
    ASSERT_TRUE(defining.has_value()) << defining.error().message;
  });
}

inline void sprinkleInputs(LaunchArguments &arguments, Random &random, bool small) {
  for (LaunchArgument &a : arguments)
    if (a.view() && a.view().isReadable())
      sprinkleSpecials(a, random, small);
}

// Arguments of a case for one set of extents, with normal or with special values.
inline LaunchArguments caseArguments(const KernelCase &c, tile::KernelOp kernel,
                                     const Extents &extents, bool specials, Random &random) {
  LaunchArguments arguments = makeArguments(kernel, c.views, extents, random() % 3 * 5, random);
  if (c.prepare)
    c.prepare(arguments, extents, random);
  if (specials)
    sprinkleInputs(arguments, random, c.small);
  return arguments;
}

// That compiled code lies within the case's bound of the interpreter, for some of its extents.
inline void expectNear(const KernelCase &c, HostLevel &host) {
  tile::KernelModule module = buildCase(c);
  ASSERT_TRUE(module.ok()) << module.diagnosticText();
  auto compiled = CompiledKernels::compile(module.module(), host);
  ASSERT_TRUE(compiled.has_value()) << compiled.error().toString();
  Random random(31);
  for (Extents extents : mixExtents(c.extents, inFullOr(c.rounds, 1), random)) {
    if (c.derive)
      c.derive(extents);
    LaunchArguments arguments = caseArguments(c, compiled->kernel(), extents, false, random);
    compiled->check(arguments, c.bound);
  }
}

// Each format at each level in full; else a sample with each format, and each kind of block at each
// level.
inline std::vector<std::tuple<const BlockFormat *, std::string>>
formatsAtLevels(const std::vector<const BlockFormat *> &formats,
                const std::vector<std::string> &levels) {
  std::vector<std::tuple<const BlockFormat *, std::string>> all;
  for (const BlockFormat *format : formats)
    for (const std::string &level : levels)
      all.emplace_back(format, level);
  return sampled(all, [](const auto &one) {
    const auto &[format, level] = one;
    const Result<DotPacking> packing = dotPacking(*format);
    return std::vector<std::string>{
        std::string(format->name),
        level + (packing ? " groups of " + std::to_string(packing->groupLength) : " no packing"),
        level + (packing && !packing->table.empty() ? " by table" : " by number"),
        level + (format->min.present() ? " with minima" : " without minima"),
        level + (format->scale.level2.present() ? " scales of scales" : " scales")};
  });
}

inline std::string extentsText(const Extents &extents) {
  std::string text;
  for (const auto &[name, extent] : extents)
    text += (text.empty() ? "" : " ") + name + "=" + std::to_string(extent);
  return text;
}

} // namespace sinter::targets::cpu
