// The reference: runs a kernel of the tile dialect program by program on the host's memory.
//
// Numbers. f32 and f64 operations are IEEE operations of that type. f16, bf16 and the 8-bit floats
// round once per operation. Math functions are computed in double and rounded once. Integers wrap;
// shifts by the width or more give 0 (the sign for shrsi), float to integer saturates and NaN gives
// 0; the operations that MLIR leaves undefined for some operand (division by zero, a step that is
// not positive) are errors. `tile.dot` of floats takes one f32 fma per step of k, ascending.
// `tile.reduce` combines in ascending order, its max and min propagate NaN and treat integers as
// signed. Narrowing to an 8-bit float saturates (numeric/half.h).
#pragma once

#include "base/status.h"
#include "tile/tile.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstddef>
#include <variant>

namespace sinter::tile {

/// Memory for one view argument; the caller owns it and vouches for its size. Integers lie in the
/// smallest of 1, 2, 4 or 8 bytes that holds them (i1: one byte, its lowest bit), index in 8.
struct HostView {
  std::byte *data = nullptr;
  llvm::SmallVector<int64_t> shape;
  /// In elements, not negative; the innermost is 1 unless the view's type says `strided`.
  llvm::SmallVector<int64_t> strides;

  /// A view without gaps.
  static HostView contiguous(void *data, llvm::ArrayRef<int64_t> shape);
};

/// One argument of a kernel: memory for a view, or a scalar of the argument's width and semantics
/// (64 bits for index).
using Argument = std::variant<HostView, llvm::APInt, llvm::APFloat>;

Argument indexArgument(int64_t value);
Argument f32Argument(float value);

struct InterpreterOptions {
  /// Ends a kernel that does not end by itself (Exhausted). An operation counts 1 and one more for
  /// every 256 elements, or 256 products, that it touches.
  uint64_t stepLimit = uint64_t(1) << 28;
  /// Bytes of all live tiles and scratch together (Exhausted).
  uint64_t memoryLimit = uint64_t(1) << 31;
  /// Ends a kernel whose outcome depends on the order of its programs (InvalidArgument): one stores
  /// other bytes where another has stored or loaded, or loads what another stored. Takes 4 bytes
  /// for each element that programs write, 8 where they read it too.
  bool findRaces = false;
};

struct RunStatistics {
  uint64_t programs = 0;
  uint64_t steps = 0;       // as counted against the limit
  uint64_t bytesLoaded = 0; // from views, padding not counted
  uint64_t bytesStored = 0; // to views, dropped elements not counted
};

/// Runs every program of the grid, x fastest, one after the other. The kernel is verified first.
/// InvalidArgument: the kernel is not well formed, an argument does not fit its type, or an
/// operation is undefined for its operands; Unsupported: an operation or a type that the
/// interpreter does not know; Exhausted: a limit of the options. Messages open with the operation's
/// source location and name the operation and the program.
Result<RunStatistics> interpretKernel(KernelOp kernel, llvm::ArrayRef<Argument> arguments,
                                      const InterpreterOptions &options = {});

} // namespace sinter::tile
