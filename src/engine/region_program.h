// The region of a graph.map or graph.fold on any elements, as data that kernels replay on tiles.
#pragma once

#include "graph/graph.h"
#include "sinter/kernel.h"

#include <string>
#include <vector>

namespace sinter::engine {

// Straight-line elementwise work. Values are numbered: the operands first, then one a node. Holds
// no MLIR, so that kernels can be built from it on any thread.
struct RegionProgram {
  enum class Kind : uint8_t { Elementwise, Convert, ConvertUnsigned, Truth, Bitcast, Constant };
  struct Node {
    Kind kind = Kind::Elementwise;
    uint32_t op = 0;                // SINTER_OP_... of an elementwise node
    std::vector<uint32_t> operands; // values
    kernel::Element element = kernel::F32;
    double constant = 0; // of a float or a whole number
  };

  std::vector<kernel::Element> operands;
  std::vector<Node> nodes;
  std::vector<uint32_t> results;

  // For kernel keys: equal text means equal work.
  std::string text() const;
  // The results of [rows, columns] tiles of the operands' elements.
  std::vector<kernel::Tile> replay(kernel::KernelBuilder &k, const std::vector<kernel::Tile> &tiles,
                                   int64_t rows, int64_t columns) const;
};

// Of a verified region, whose arguments are the operands: each operation of graph/ir/scalar_ops.h
// has a form.
RegionProgram readRegion(mlir::Block &block);

// The kernel element of a scalar element of the graph.
kernel::Element scalarElement(mlir::Type element);

} // namespace sinter::engine
