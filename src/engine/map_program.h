// The region of a graph.map as data, and as the slot of a kernel source: elementwise work that
// moves into kernels.
#pragma once

#include "base/status.h"
#include "graph/graph.h"
#include "kernels/slots.h"

#include <vector>

namespace sinter::engine {

// Straight-line elementwise work in f32. Values are numbered: the operands first, then one a node;
// the last node (or the only operand) is the result. Holds no MLIR, so that kernels can be built
// from it on any thread.
struct MapProgram {
  struct Node {
    uint32_t op = 0;                // SINTER_OP_...; `kConstant` for a constant
    std::vector<uint32_t> operands; // values
    double constant = 0;
  };
  static constexpr uint32_t kConstant = UINT32_MAX;

  uint32_t operandCount = 0;
  std::vector<bool> repeats; // by operand: whether it is one row [N] for all rows; empty: none
  std::vector<Node> nodes;
  uint32_t result = 0;

  bool repeatsRow(uint32_t operand) const { return operand < repeats.size() && repeats[operand]; }
  // The first operand that does not repeat; there is one where readsRows().
  uint32_t firstOfRows() const;
  // Whether the result depends on an operand that does not repeat.
  bool readsRows() const;
  // "%2=op3 %0 %1;%2" for kernel keys: equal text means equal work.
  std::string text() const;
};

// Unsupported: the region has an operation without a kernel form, or other elements than f32.
Result<MapProgram> readMap(graph::MapOp map);

// A slot that takes the kernel's tile as operand `tileOperand` of the program and loads the others
// from f32 in-views [M, columns], or [1, columns] where an operand repeats, which it declares in
// operand order, named `prefix` and their number.
kernels::Slot mapSlot(const MapProgram &program, uint32_t tileOperand, int64_t columns,
                      const std::string &prefix = "operand");

// A sink that takes columns of the kernel's tiles as several operands: `tileOperands[i]` is the
// i-th of equal parts, side by side in the tile. Stores [M, columns] of `out` as its first
// argument; the other operands are f32 in-views of that shape, declared in operand order. With
// `squares` the second argument is squares, f32 [M, columns / kSquareColumns]
// (kernels/norm_squares.h): sums of squares of what is stored, whose tiles have whole groups.
kernels::EpilogueStore mapStore(const MapProgram &program,
                                const std::vector<uint32_t> &tileOperands, int64_t columns,
                                kernel::Element out, bool squares = false);

} // namespace sinter::engine
