// Profiles for the engine's tests, of no processor in particular.
#pragma once

#include "targets/profile.h"

namespace sinter::engine {

// A core with 32 registers of 16 f32 elements.
inline targets::TargetProfile cpuProfile() {
  targets::TargetProfile profile;
  profile.lanes = 16;
  profile.registers = 32;
  return profile;
}

// The same where bf16 is multiplied in whole vectors of so many.
inline targets::TargetProfile bfloatProfile(int64_t depth = 32) {
  targets::TargetProfile profile = cpuProfile();
  profile.lanes = depth / 2;
  profile.matrixInstructions = {{sched::MatrixElement::BF16, 1, profile.lanes, 2, 1}};
  return profile;
}

// A GPU whose thread blocks share so many bytes.
inline targets::TargetProfile simtProfile(int64_t sharedBytes = 0) {
  targets::TargetProfile profile;
  profile.kind = targets::TargetKind::Simt;
  profile.lanes = 32;
  profile.registers = 255;
  profile.sharedBytes = sharedBytes;
  profile.besideUnquantized = targets::ActivationPrecision::WeightType;
  return profile;
}

} // namespace sinter::engine
