// The CPU target behind the interface that all targets have.
#pragma once

#include "targets/cpu/facts.h"
#include "targets/target.h"

#include <memory>

namespace sinter::targets::cpu {

/// `rest` follows "cpu:" in a target string: "host", a level, or all features of a level.
Result<std::unique_ptr<Target>> findCpuTarget(std::string_view rest);
std::unique_ptr<Target> makeCpuTarget(CpuFacts facts);

bool isCpuLevel(std::string_view name);
/// For messages: "cpu:host, cpu:avx2, ...".
std::string cpuTargetNames();

} // namespace sinter::targets::cpu
