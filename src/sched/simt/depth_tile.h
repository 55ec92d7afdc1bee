// What a matrix instruction multiplies while subgroups share K.
#pragma once

#include <cstdint>

namespace sinter::sched {

/// So many tokens with so many columns (rows of the weights). A thread's columns lie within
/// neighbours of `part`. Several such parts may come from different matrices.
struct DepthTile {
  int64_t tokens = 0, columns = 0, part = 0;
  // Bits of the instruction's K that both operands have in registers, and its other ones.
  int64_t registerBits = 2, otherBits = 2;

  bool exists() const { return tokens > 0; }
};

} // namespace sinter::sched
