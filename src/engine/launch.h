// A kernel's launch: views and scalars bound to buffers and formulas, in the order that emitted
// code reads them.
#pragma once

#include "plan/plan.h"
#include "tile/tile.h"

#include <variant>
#include <vector>

namespace sinter::engine {

// Memory as a kernel's view sees it. Extents and strides count elements.
struct BoundView {
  plan::BufferId buffer;
  plan::Expr byteOffset;
  std::vector<plan::Expr> extents;
  std::vector<plan::Expr> strides; // as many as extents
};

// A scalar argument's bits.
struct BoundScalar {
  plan::Expr bits;
};
BoundScalar f32Scalar(float value);

using BoundArgument = std::variant<BoundView, BoundScalar>;

// Row-major strides without gaps.
std::vector<plan::Expr> packedStrides(const std::vector<plan::Expr> &extents);

// A launch of `kernel`, whose number in the plan is `id`, over the grid that the kernel asks for.
// The arguments must be of its kinds, ranks and static extents: anything else is our own mistake.
plan::Launch makeLaunch(tile::KernelOp kernel, plan::KernelId id,
                        const std::vector<BoundArgument> &arguments, std::string label);

} // namespace sinter::engine
