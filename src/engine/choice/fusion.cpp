// Fuse options by kind of target.
#include "tile/mlir_pch.h"

#include "engine/choice/attention.h"
#include "engine/choice/fusion.h"
#include "engine/choice/matmul.h"
#include "engine/choice/shared_depth.h"

namespace sinter::engine {

// A launch more costs about 1.1 us (SmolLM2's shape in F16 on an H100, 61 launches more a token:
// 1,424 instead of 1,573 tokens per second). A prologue costs each of a multiprocessor's programs,
// one after the other, a sum over all threads (8B in F16: 139 instead of 165).
graph::FuseOptions fuseOptions(const TargetProfile &profile, Activations activations,
                               DecodeNorms norms) {
  graph::FuseOptions options =
      profile.kind == TargetKind::Cpu ? graph::cpuFuseOptions() : graph::simtFuseOptions();
  options.joinsHeads = joinsHeads(profile);
  const MatmulPrecision rules = choosePrecision(profile, activations);
  if (rules.sharesDepth)
    options.sharesDepth = [rules](graph::LaunchOp matmul) { return sharesDepth(matmul, rules); };
  if (rules.sharesDepth && norms != DecodeNorms::Apart)
    options.normRows = [=](graph::LaunchOp matmul) { return normRows(matmul, rules, norms); };
  return options;
}

} // namespace sinter::engine
