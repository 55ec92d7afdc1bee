// Activation precision from a target's preferences and registers.
#include "tile/mlir_pch.h"

#include "engine/choice/packing.h"
#include "engine/choice/precision.h"

namespace sinter::engine {

// A task holds a whole scale's activations in registers, beside what it works with: three quarters
// of them. Threads share no registers, so their scales are the shortest.
static int64_t scaleLength(const TargetProfile &profile) {
  return profile.kind == TargetKind::Cpu ? profile.registers * 3 / 4 * profile.lanes : 0;
}

MatmulPrecision choosePrecision(const TargetProfile &profile, Activations activations) {
  using enum targets::ActivationPrecision;
  const bool fastest = activations == Activations::Fastest;
  return {.kind = profile.kind,
          .activations = activations,
          .scaleLength = scaleLength(profile),
          .bfloatRows = fastest && profile.besideQuantized == BF16,
          .weightTypeRows = fastest && profile.besideUnquantized == WeightType,
          .readsWords = fastest && profile.besideQuantized == BF16,
          .sharesDepth = fastest && profile.sharesDepth,
          .unquantizedTile = profile.unquantizedTile,
          .wordsTile = profile.wordsTile};
}

const ActivationFormat *activationFor(const BlockFormat *format, MatmulPrecision rules) {
  if (!format || rules.activations == Activations::F32 || rules.bfloatRows)
    return nullptr;
  Result<DotPacking> packing = packingFor(*format, rules.kind);
  if (!packing)
    return nullptr;
  uint32_t length = format->blockLength;
  while (length > kActivationLength && length > rules.scaleLength)
    length /= 2;
  return &activationFormatFor(packing->groupLength, length);
}

} // namespace sinter::engine
