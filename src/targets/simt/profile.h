// The profile of a SIMT target, from what its passes know of the processor.
#pragma once

#include "sched/simt/facts.h"
#include "targets/profile.h"

namespace sinter::targets::simt {

/// Activations are bf16 beside block formats where subgroups share K, else quantized; beside others
/// they get the weights' type.
TargetProfile profileOf(const sched::SimtFacts &facts);

} // namespace sinter::targets::simt
