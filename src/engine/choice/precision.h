// In which formats activations meet weights.
#pragma once

#include "numeric/formats/activation_format.h"
#include "numeric/formats/block_format.h"
#include "numeric/precision.h"
#include "targets/profile.h"

namespace sinter::engine {

using targets::TargetKind;
using targets::TargetProfile;

// In which precision matmuls multiply activations with weights.
struct MatmulPrecision {
  TargetKind kind = TargetKind::Cpu;
  Activations activations = Activations::Fastest;
  // Activations that share a scale, at most.
  int64_t scaleLength = 256;
  // Beside quantized weights, prefill activations are bf16 and the weights are dequantized.
  bool bfloatRows = false;
  // Beside F16 and BF16 weights, activations have the weights' type, not f32.
  bool weightTypeRows = false;
  // Weights that both phases dequantize lie in words (numeric/formats/word_packing.h).
  bool readsWords = false;
  // Subgroups share K of decode matmuls (shared_depth.h).
  bool sharesDepth = false;
  // Of the target's instructions for that.
  sched::DepthTile unquantizedTile = {}, wordsTile = {};
};

// What the target prefers, as far as `activations` allows it.
MatmulPrecision choosePrecision(const TargetProfile &profile, Activations activations);

// The format to which activations are rounded that multiply blocks of this format; null for scalars
// and where blocks are dequantized instead.
const ActivationFormat *activationFor(const BlockFormat *format, MatmulPrecision rules);

} // namespace sinter::engine
