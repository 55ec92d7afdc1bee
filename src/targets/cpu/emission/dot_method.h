// How a processor makes exact dots of bytes, by what it has and the numbers of the weights.
#pragma once

#include "targets/cpu/facts.h"

#include "numeric/formats/dot_packing.h"

namespace sinter::targets::cpu {

/// Four products of bytes at once; without such an instruction two, whose accumulators in words are
/// summed up while they fit; else products of words.
struct DotMethod {
  int32_t zero = 0;   // what stands for 0 in the weights' bytes
  uint32_t pairs = 0; // accumulators of two products that a word holds; 0: none are made
  bool signs = false; // weights are signed: activations take their signs, and they lose them
};

/// For packed weights, whose bytes stand above the packing's own zero where they fit.
DotMethod dotMethodOf(const CpuFacts &facts, const DotPacking &packing);
/// The same in panels, for weights of all formats.
DotMethod panelMethodOf(const CpuFacts &facts, NumberRange numbers);

} // namespace sinter::targets::cpu
