// The matrix instructions of all targets: shapes, element types and which lane holds which element.
#pragma once

#include "sched/simt/layout.h"
#include "sched/simt/matrix_element.h"

namespace sinter::sched {

/// Where an operand's elements lie, as bits from the lowest: "k0 m3" is bit 0 of the coordinate
/// along k, then bit 3 of the one along m; "*" is a bit in which lanes hold copies.
struct FragmentBits {
  const char *registers;
  const char *lanes;
};

struct Fragments {
  FragmentBits a, b, c;
};

/// One instruction of a subgroup: d = c + a . b with a [m, k], b [k, n], c and d [m, n]. The
/// elements of the operands' vectors are the layouts' registers in order, threads are the
/// subgroup's lanes.
struct MatrixInstruction {
  const char *name; // as sched.matrix has it
  int64_t m, n, k;
  int64_t lanes; // of the subgroup
  MatrixElement aElement, bElement, cElement;
  Fragments fragments;
  bool sharedOperands = false; // a and b [n, k] lie in shared memory; they have no fragments
  bool sharedB = false;        // b [k, n] lies in shared memory and has no fragment
  // The same, in rows a constant number of bytes apart. Where an element of c lies only the
  // processor knows; it has the layout of the table once sched.acc_take has taken it.
  bool opaqueAccumulators = false;

  SimtLayout layoutA() const;
  SimtLayout layoutB() const;
  SimtLayout layoutC() const;
  /// Whether it runs on its own and takes an operand from shared memory.
  bool isAsynchronous() const { return sharedOperands || sharedB; }
  /// What each lane holds: a vector, or a scalar where that is one number.
  mlir::Type typeA(mlir::MLIRContext *context) const;
  mlir::Type typeB(mlir::MLIRContext *context) const;
  mlir::Type typeC(mlir::MLIRContext *context) const;
};

/// All of them, in no particular order.
llvm::ArrayRef<MatrixInstruction> matrixInstructions();
/// Null where there is none of this name.
const MatrixInstruction *findMatrixInstruction(llvm::StringRef name);

} // namespace sinter::sched
