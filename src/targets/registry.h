// The table of targets: from a target string to the target.
#pragma once

#include "targets/target.h"

#include <memory>

namespace sinter::targets {

/// "host" (or "cpu"): the machine that this process runs on; "avx2", "dotprod" and other levels,
/// with or without "cpu:" before them, or a CPU target's full name; "cuda:sm_80" and the others
/// that the error names. InvalidArgument, naming the targets there are, for any other string;
/// Unsupported where the host is asked for and no CPU target fits it.
Result<std::unique_ptr<Target>> findTarget(std::string_view name);

} // namespace sinter::targets
