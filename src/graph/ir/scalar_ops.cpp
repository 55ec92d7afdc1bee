// What a map's or a fold's region may hold.
#include "tile/mlir_pch.h"

#include "graph/graph.h"
#include "graph/ir/scalar_ops.h"

using namespace mlir;

namespace sinter::graph {

ArrayRef<llvm::StringLiteral> scalarOps() {
  static constexpr llvm::StringLiteral kNames[] = {
      "arith.addf",   "arith.addi",     "arith.andi",   "arith.bitcast",  "arith.cmpf",
      "arith.cmpi",   "arith.divf",     "arith.extf",   "arith.extsi",    "arith.extui",
      "arith.fptosi", "arith.maximumf", "arith.maxsi",  "arith.minimumf", "arith.minsi",
      "arith.mulf",   "arith.muli",     "arith.negf",   "arith.ori",      "arith.select",
      "arith.shli",   "arith.shrsi",    "arith.shrui",  "arith.sitofp",   "arith.subf",
      "arith.subi",   "arith.truncf",   "arith.trunci", "arith.uitofp",   "arith.xori",
      "math.absf",    "math.ceil",      "math.cos",     "math.erf",       "math.exp",
      "math.exp2",    "math.floor",     "math.fma",     "math.log",       "math.log2",
      "math.powf",    "math.roundeven", "math.rsqrt",   "math.sin",       "math.sqrt",
      "math.tanh"};
  return kNames;
}

static bool isNarrow(Type type) {
  return type.isF16() || type.isBF16();
}

// Whose region the operation stands in: map, or fold.
static StringRef regionOf(Operation &op) {
  return op.getParentOp()->getName().stripDialect();
}

// Predicates whose negation and order of operands give all that kernels have.
static LogicalResult verifyPredicate(Operation &op) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  if (auto compare = dyn_cast<arith::CmpFOp>(op);
      compare &&
      !llvm::is_contained({F::OEQ, F::UNE, F::OLT, F::OLE, F::OGT, F::OGE}, compare.getPredicate()))
    return op.emitOpError() << "compares by '"
                            << arith::stringifyCmpFPredicate(compare.getPredicate())
                            << "', expected oeq, une, olt, ole, ogt or oge in a " << regionOf(op);
  if (auto compare = dyn_cast<arith::CmpIOp>(op);
      compare &&
      !llvm::is_contained({I::eq, I::ne, I::slt, I::sle, I::sgt, I::sge}, compare.getPredicate()))
    return op.emitOpError() << "compares by '"
                            << arith::stringifyCmpIPredicate(compare.getPredicate())
                            << "', expected eq, ne, slt, sle, sgt or sge in a " << regionOf(op);
  return success();
}

// Truth values have bitwise operations, select and conversions; all else is of numbers.
static bool takesTruth(Operation &op) {
  return isa<arith::ConstantOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::SelectOp,
             arith::ExtUIOp, arith::ExtSIOp, arith::UIToFPOp, arith::SIToFPOp>(op);
}

LogicalResult verifyScalarOp(Operation &op) {
  const StringRef name = op.getName().getStringRef();
  const bool isConstant = isa<arith::ConstantOp>(op);
  if (!isConstant && !llvm::is_contained(scalarOps(), name))
    return op.emitOpError() << "stands in a " << regionOf(op)
                            << ", expected elementwise work that kernels compute";
  SmallVector<Type> types(op.getOperandTypes());
  llvm::append_range(types, op.getResultTypes());
  for (Type type : types)
    if (!isScalarElement(type) || isa<Float8E4M3FNType>(type))
      return op.emitOpError() << "works on " << type << " in a " << regionOf(op)
                              << ", expected f32, f16, bf16, i32 or i1";
  const bool mayBeNarrow =
      isConstant || isa<arith::ExtFOp, arith::TruncFOp, arith::CmpFOp, arith::SelectOp>(op);
  if (const auto narrow = llvm::find_if(types, isNarrow); !mayBeNarrow && narrow != types.end())
    return op.emitOpError() << "computes in " << *narrow << " in a " << regionOf(op)
                            << ", expected f32 between arith.extf and arith.truncf";
  const bool readsTruth =
      llvm::any_of(op.getOperandTypes(), [](Type type) { return type.isInteger(1); });
  if (readsTruth && !takesTruth(op))
    return op.emitOpError() << "computes in i1 in a " << regionOf(op)
                            << ", expected i32 (convert with arith.extui)";
  return verifyPredicate(op);
}

} // namespace sinter::graph
