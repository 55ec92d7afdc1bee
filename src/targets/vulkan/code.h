// Building of SPIR-V for one thread, and how values of SIMT IR lie in SPIR-V's types.
#pragma once

#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "tile/mlir_pch.h"

namespace sinter::targets::vulkan {

using mlir::ArrayRef;
using mlir::SmallVector;
using mlir::Type;
using mlir::Value;

/// Place of code to build.
struct Site {
  mlir::OpBuilder &b;
  mlir::Location loc;

  Type i1() const { return b.getI1Type(); }
  Type i32() const { return b.getI32Type(); }
  Type i64() const { return b.getI64Type(); }
  Type f32() const { return b.getF32Type(); }

  template <class Op, class... Args> Value make(Type result, Args... operands) const {
    return Op::create(b, loc, result, operands...);
  }
  /// Float arithmetic that must not be contracted.
  template <class Op> Value makeExact(Type result, mlir::ValueRange operands) const;
  Value integer(Type type, int64_t value) const;
  Value word(int64_t value) const { return integer(i32(), value); }
  Value real(double value) const;
  Value boolean(bool value) const;
  Value select(Value when, Value then, Value otherwise) const {
    return make<mlir::spirv::SelectOp>(then.getType(), when, then, otherwise);
  }
};

template <class Op> Value Site::makeExact(Type result, mlir::ValueRange operands) const {
  auto op = Op::create(b, loc, mlir::TypeRange(result), operands);
  op->setAttr("no_contraction", b.getUnitAttr());
  return op;
}

/// The SPIR-V type that holds a scalar of SIMT IR: i1, i32, i64 and f32 hold themselves, an
/// index lies in an i64. 8- and 16-bit integers, and floats of 16 bits as their bits, lie in an i32
/// whose upper bits are anything. Null for other types.
Type carrierOf(Type type);
unsigned bitsOf(Type type);       // of the scalar itself
unsigned bitsInMemory(Type type); // i1 lies in a byte

/// `value`, an i32 that holds an integer of `bits`, with the upper bits set right.
Value zeroExtended(Site c, Value value, unsigned bits);
Value signExtended(Site c, Value value, unsigned bits);

/// Between a scalar of SIMT IR and an integer of its bits in memory.
Value toBits(Site c, Value value, Type type);
Value fromBits(Site c, Value bits, Type type);
/// Integers of `from` bits as ones of `to` bits, the lowest first; 8, 16, 32 or 64.
SmallVector<Value> repacked(Site c, ArrayRef<Value> values, unsigned from, unsigned to);

/// A float of SIMT IR as an f32, exact but for f16's subnormals where `native`: the device
/// may take those for zero. An f32 rounded to nearest even; NaN stays NaN. Where `native`, bf16 is
/// the device's own type, two at a time where two are `joined`; the entry point must then ask for
/// `roundsToBfloat16`'s modes.
Value widened(Site c, Value value, Type type, bool native);
Value narrowed(Site c, Value value, Type type, bool native);
/// Whether code has such roundings.
bool roundsToBfloat16(mlir::Operation *code);
/// Whether code divides: drivers divide in another way where an entry point says how it rounds.
bool divides(mlir::Operation *code);

} // namespace sinter::targets::vulkan
