// The facts of a SIMT processor as a profile: its matrix instructions by name become shapes.
#include "targets/simt/profile.h"
#include "base/check.h"
#include "sched/simt/matrix_instructions.h"
#include "sched/simt/split_dots.h"
#include "tile/mlir_pch.h"

namespace sinter::targets::simt {

TargetProfile profileOf(const sched::SimtFacts &facts) {
  TargetProfile profile;
  profile.kind = TargetKind::Simt;
  profile.lanes = facts.subgroup;
  profile.registers = facts.maxRegisters;
  profile.sharedBytes = facts.maxShared;
  profile.threads = facts.maxThreads;
  profile.besideUnquantized = ActivationPrecision::WeightType;
  profile.sharesDepth = facts.sharesDepth;
  profile.programBlocks = facts.programBlocks;
  if (facts.sharesDepth) {
    profile.unquantizedTile = sched::depthTile(facts, sched::MatrixElement::BF16, false);
    profile.wordsTile = sched::depthTile(facts, sched::MatrixElement::BF16, true);
    SINTER_CHECK(profile.unquantizedTile.exists() && profile.wordsTile.exists());
    profile.besideQuantized = ActivationPrecision::BF16;
  }
  for (const std::string &name : facts.instructions) {
    const sched::MatrixInstruction *row = sched::findMatrixInstruction(name);
    SINTER_CHECK(row);
    profile.matrixInstructions.push_back({row->aElement, row->m, row->n, row->k, row->lanes,
                                          row->sharedOperands, row->opaqueAccumulators});
  }
  return profile;
}

} // namespace sinter::targets::simt
