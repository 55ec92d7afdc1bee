// When each Temp buffer of a procedure holds a value that is still needed.
#pragma once

#include "plan/plan.h"

namespace sinter::plan {

// Positions number the steps of a procedure in textual order, calls replaced by the callee's steps,
// loop bodies counted once, both branches of an If counted. A buffer must keep its bytes over
// [first, last], both included.
struct Lifetime {
  BufferId buffer;
  uint32_t first = 0;
  uint32_t last = 0;

  friend bool operator==(const Lifetime &, const Lifetime &) = default;
};

// The lifetimes of the Temp buffers that the procedure or its callees use, in the order of their
// ids; others are absent. A Temp used both inside and outside of a loop is kept for the whole loop;
// one whose uses are all in one loop is kept from its first to its last use in the body (see
// BufferKind::Temp). The plan must satisfy validate().
std::vector<Lifetime> computeLifetimes(const Plan &plan, ProcedureId procedure);

} // namespace sinter::plan
