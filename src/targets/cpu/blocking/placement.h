// Where each tile value of a kernel lives on a CPU: recomputed per register block, or in scratch.
#pragma once

#include "targets/cpu/facts.h"
#include "tile/tile.h"

namespace sinter::targets::cpu {

enum class Place : uint8_t {
  Stream,  // recomputed block by block wherever a sink asks for it
  Scratch, // computed once into cache-resident scratch
  Packed   // a dot's b operand: copied into scratch part by part, as the dot walks its columns
};

// How one value of scratch is laid out.
struct ScratchLayout {
  bool transposed = false; // a dot's b operand given as [N, K]: stored K-major
  int64_t rowPadding = 0;  // elements added to the row stride, against cache-set conflicts
};

// The decision for every tile value of one kernel; values not listed stream.
struct Placement {
  llvm::DenseMap<mlir::Value, Place> places;
  llvm::DenseMap<mlir::Value, ScratchLayout> layouts;

  Place of(mlir::Value value) const { return places.lookup(value); }
};

/// Rows of a matmul's accumulators.
inline int64_t rowsOf(tile::DotOp dot) {
  return llvm::cast<mlir::RankedTensorType>(dot.getAcc().getType()).getDimSize(0);
}

inline bool isBlockTile(mlir::Value value) {
  return mlir::isa<tile::BlockType>(
      mlir::cast<mlir::RankedTensorType>(value.getType()).getElementType());
}

// True for operations whose result a block of the same shape computes: elementwise, loads,
// broadcasts and their like.
bool isStreamable(mlir::Operation *op);
/// The dequantizing of a block format that a value converts at most; null where there is none.
tile::DequantizeOp dequantizingOf(mlir::Value value);

Placement placeTiles(tile::KernelOp kernel, const CpuFacts &facts);

} // namespace sinter::targets::cpu
