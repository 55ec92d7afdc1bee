// Constants, bits, and floats of 16 bits by integer arithmetic.
#include "targets/vulkan/code.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::targets::vulkan {

Value Site::integer(Type type, int64_t value) const {
  return spirv::ConstantOp::create(b, loc, type, b.getIntegerAttr(type, value));
}

Value Site::real(double value) const {
  return spirv::ConstantOp::create(b, loc, f32(), b.getF32FloatAttr(static_cast<float>(value)));
}

Value Site::boolean(bool value) const {
  return spirv::ConstantOp::create(b, loc, i1(), b.getBoolAttr(value));
}

Type carrierOf(Type type) {
  Builder b(type.getContext());
  if (type.isIndex() || type.isInteger(64))
    return b.getI64Type();
  if (type.isInteger(1) || type.isF32())
    return type;
  if (type.isInteger(8) || type.isInteger(16) || type.isInteger(32) || type.isF16() ||
      type.isBF16())
    return b.getI32Type();
  return {};
}

unsigned bitsOf(Type type) {
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

unsigned bitsInMemory(Type type) {
  return std::max(8u, bitsOf(type));
}

Value zeroExtended(Site c, Value value, unsigned bits) {
  if (bits >= 32)
    return value;
  return c.make<spirv::BitwiseAndOp>(c.i32(), value, c.word((int64_t(1) << bits) - 1));
}

Value signExtended(Site c, Value value, unsigned bits) {
  if (bits >= 32)
    return value;
  return c.make<spirv::BitFieldSExtractOp>(c.i32(), value, c.word(0), c.word(bits));
}

Value toBits(Site c, Value value, Type type) {
  if (type.isInteger(1))
    return c.select(value, c.word(1), c.word(0));
  return type.isF32() ? c.make<spirv::BitcastOp>(c.i32(), value) : value;
}

Value fromBits(Site c, Value bits, Type type) {
  if (type.isInteger(1))
    return c.make<spirv::INotEqualOp>(c.i1(), zeroExtended(c, bits, 8), c.word(0));
  return type.isF32() ? c.make<spirv::BitcastOp>(c.f32(), bits) : bits;
}

static Value shiftedRight(Site c, Value value, unsigned by) {
  return by ? c.make<spirv::ShiftRightLogicalOp>(value.getType(), value, c.word(by)) : value;
}

// Whose upper half `value` is, shifted down to 0; null where it is none.
static Value upperHalfSource(Value value) {
  auto shift = value.getDefiningOp<spirv::ShiftRightLogicalOp>();
  auto by = shift && value.getType().isInteger(32)
                ? shift.getOperand2().getDefiningOp<spirv::ConstantOp>()
                : nullptr;
  auto bits = by ? dyn_cast<IntegerAttr>(by.getValue()) : nullptr;
  return bits && bits.getInt() == 16 ? shift.getOperand1() : Value();
}

// The lower half of `value` moved up, in one step where it was moved down before.
static Value upperHalf(Site c, Value value) {
  if (Value source = upperHalfSource(value))
    return c.make<spirv::BitwiseAndOp>(c.i32(), source, c.word(-0x10000));
  return c.make<spirv::ShiftLeftLogicalOp>(c.i32(), value, c.word(16));
}

// SPV_KHR_bfloat16 allows the type in conversions (OpBitcast among them) and composites, and leaves
// the rounding of OpFConvert to Vulkan, which leaves it to the device unless the entry point has
// RoundingModeRTE for the result's width; likewise that NaN stays NaN and SignedZeroInfNanPreserve.
static Value roundedPair(Site c, Value low, Value high) {
  Value pair = spirv::CompositeConstructOp::create(c.b, c.loc, VectorType::get({2}, c.f32()),
                                                   ValueRange{low, high});
  return c.make<spirv::BitcastOp>(
      c.i32(), c.make<spirv::FConvertOp>(VectorType::get({2}, c.b.getBF16Type()), pair));
}

// The f32 whose rounding `value` is; null where it is none.
static Value roundedSource(Value value) {
  auto bits = value.getDefiningOp<spirv::BitcastOp>();
  auto rounded = bits ? bits.getOperand().getDefiningOp<spirv::FConvertOp>() : nullptr;
  auto pair = rounded ? rounded.getOperand().getDefiningOp<spirv::CompositeConstructOp>() : nullptr;
  return pair ? pair.getConstituents().front() : Value();
}

bool roundsToBfloat16(Operation *code) {
  auto rounds = [](spirv::FConvertOp op) {
    bool is = getElementTypeOrSelf(op.getType()).isBF16();
    return is ? WalkResult::interrupt() : WalkResult::advance();
  };
  return code->walk(rounds).wasInterrupted();
}

bool divides(Operation *code) {
  return code->walk([](spirv::FDivOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

static Value joined(Site c, ArrayRef<Value> parts, unsigned from, Type whole) {
  if (from == 16 && whole.isInteger(32)) {
    Value first = roundedSource(parts[0]), second = roundedSource(parts[1]);
    if (first && second)
      return roundedPair(c, first, second);
    Value low = upperHalfSource(parts[0]) ? parts[0] : zeroExtended(c, parts[0], 16);
    return c.make<spirv::BitwiseOrOp>(whole, low, upperHalf(c, parts[1]));
  }
  Value sum;
  for (auto [number, part] : llvm::enumerate(parts)) {
    Value bits =
        number + 1 == parts.size() && !whole.isInteger(64) ? part : zeroExtended(c, part, from);
    if (whole.isInteger(64))
      bits = c.make<spirv::UConvertOp>(whole, bits);
    if (number)
      bits = c.make<spirv::ShiftLeftLogicalOp>(whole, bits,
                                               c.word(static_cast<int64_t>(number * from)));
    sum = sum ? c.make<spirv::BitwiseOrOp>(whole, sum, bits) : bits;
  }
  return sum;
}

SmallVector<Value> repacked(Site c, ArrayRef<Value> values, unsigned from, unsigned to) {
  SmallVector<Value> result;
  if (from == to)
    return SmallVector<Value>(values);
  if (from < to) {
    for (size_t at = 0; at < values.size(); at += to / from)
      result.push_back(joined(c, values.slice(at, to / from), from, to == 64 ? c.i64() : c.i32()));
    return result;
  }
  for (Value value : values)
    for (unsigned at = 0; at < from; at += to) {
      Value part = shiftedRight(c, value, at);
      result.push_back(from == 64 ? c.make<spirv::UConvertOp>(c.i32(), part) : part);
    }
  return result;
}

// ---- floats of 16 bits ----

static constexpr int kF16Bias = 112; // f32's exponent bias less f16's
static constexpr int kF16Shift = 13; // f32's fraction bits less f16's
static constexpr int kF32Fraction = 23;
static constexpr int64_t kF32Infinity = 0x7f800000, kF32Nan = 0x7fc00000;
static constexpr int64_t kF16Infinity = 0x7c00, kF16Nan = 0x7e00;

static Value combine(Site c, Value a, Value b) {
  return c.make<spirv::BitwiseOrOp>(c.i32(), a, b);
}

static Value masked(Site c, Value a, int64_t mask) {
  return c.make<spirv::BitwiseAndOp>(c.i32(), a, c.word(mask));
}

static Value left(Site c, Value a, int64_t by) {
  return c.make<spirv::ShiftLeftLogicalOp>(c.i32(), a, c.word(by));
}

static Value right(Site c, Value a, int64_t by) {
  return c.make<spirv::ShiftRightLogicalOp>(c.i32(), a, c.word(by));
}

static Value plus(Site c, Value a, int64_t b) {
  return c.make<spirv::IAddOp>(c.i32(), a, c.word(b));
}

static Value asFloat(Site c, Value bits) {
  return c.make<spirv::BitcastOp>(c.f32(), bits);
}

// The fraction of a subnormal is its value in units of 2^-24.
static Value f32FromF16(Site c, Value bits) {
  Value sign = left(c, masked(c, bits, 0x8000), 16), size = masked(c, bits, 0x7fff);
  Value moved = left(c, size, kF16Shift);
  Value normal = plus(c, moved, int64_t(kF16Bias) << kF32Fraction);
  Value huge = combine(c, moved, c.word(kF32Infinity));
  Value tiny = c.makeExact<spirv::FMulOp>(
      c.f32(), {c.make<spirv::ConvertUToFOp>(c.f32(), size), c.real(std::ldexp(1.0, -24))});
  Value isHuge = c.make<spirv::UGreaterThanEqualOp>(c.i1(), size, c.word(kF16Infinity));
  Value isTiny = c.make<spirv::ULessThanOp>(c.i1(), size, c.word(0x400));
  Value result = c.select(isHuge, huge, normal);
  result = c.select(isTiny, c.make<spirv::BitcastOp>(c.i32(), tiny), result);
  return asFloat(c, combine(c, result, sign));
}

// Added to a number below 2^-14, 0.5 brings its bits to the place of a subnormal's, rounded.
static Value f16FromF32(Site c, Value value) {
  Value bits = c.make<spirv::BitcastOp>(c.i32(), value);
  Value sign = masked(c, right(c, bits, 16), 0x8000), size = masked(c, bits, 0x7fffffff);
  Value odd = masked(c, right(c, size, kF16Shift), 1);
  Value rounded = c.make<spirv::IAddOp>(
      c.i32(), plus(c, size, 0xfff - (int64_t(kF16Bias) << kF32Fraction)), odd);
  Value normal = right(c, rounded, kF16Shift);
  Value shifted = c.makeExact<spirv::FAddOp>(c.f32(), {asFloat(c, size), c.real(0.5)});
  Value tiny = plus(c, c.make<spirv::BitcastOp>(c.i32(), shifted), -0x3f000000);
  auto above = [&](int64_t limit) {
    return c.make<spirv::UGreaterThanOp>(c.i1(), size, c.word(limit));
  };
  // 65520 and more round to infinity.
  Value result = c.select(above(0x477fefff), c.word(kF16Infinity), normal);
  result = c.select(above(kF32Infinity), c.word(kF16Nan), result);
  result = c.select(above((int64_t(kF16Bias + 1) << kF32Fraction) - 1), result, tiny);
  return combine(c, result, sign);
}

// What is rounded is the upper half; carried into it, the lower one with what makes ties even.
static Value bf16FromF32(Site c, Value value) {
  Value bits = c.make<spirv::BitcastOp>(c.i32(), value);
  Value odd = c.make<spirv::BitFieldUExtractOp>(c.i32(), bits, c.word(16), c.word(1));
  Value rounded = c.make<spirv::IAddOp>(c.i32(), plus(c, bits, 0x7fff), odd);
  Value nan = c.make<spirv::FUnordNotEqualOp>(c.i1(), value, value);
  return right(c, c.select(nan, c.word(kF32Nan), rounded), 16);
}

Value widened(Site c, Value value, Type type, bool native) {
  if (type.isF32())
    return value;
  if (type.isBF16())
    return asFloat(c, upperHalf(c, value));
  if (!native)
    return f32FromF16(c, value);
  Type pair = VectorType::get({2}, c.f32());
  Value both = c.make<spirv::GLUnpackHalf2x16Op>(pair, value);
  return spirv::CompositeExtractOp::create(c.b, c.loc, both, ArrayRef<int32_t>{0});
}

Value narrowed(Site c, Value value, Type type, bool native) {
  if (type.isF32())
    return value;
  if (!type.isBF16())
    return f16FromF32(c, value);
  return native ? roundedPair(c, value, c.real(0)) : bf16FromF32(c, value);
}

} // namespace sinter::targets::vulkan
