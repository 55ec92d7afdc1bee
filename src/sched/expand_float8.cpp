// Types change in place; conversions are rebuilt from the fields of E4M3 (4 bits of exponent, bias
// 7, 3 bits of mantissa) and of f32.
#include "tile/mlir_pch.h"

#include "sched/expand_float8.h"
#include "tile/tile.h"

using namespace mlir;

namespace sinter::sched {
namespace {

constexpr int32_t kMantissa = 3, kBias = 7, kSingleMantissa = 23, kSingleBias = 127;
constexpr int32_t kShift = kSingleMantissa - kMantissa;
constexpr int32_t kSmallestNormal = (kSingleBias + 1 - kBias) << kSingleMantissa; // 2^-6 in f32
constexpr int32_t kMagnitude = 0x7f, kLargest = 0x7e, kNan = 0x7f, kSign = 0x80, kSignShift = 24;
constexpr int32_t kSingleMagnitude = 0x7fffffff, kSingleInfinity = 0x7f800000,
                  kSingleNan = 0x7fc00000;
constexpr float kLeast = 0x1p-9F; // the smallest subnormal number
// Whose neighbours in f32 lie kLeast apart.
constexpr float kRoundsToLeast = 0x1p14F;
constexpr int32_t kBitsOfRounding = 0x46800000;

bool isFloat8(Type type) {
  if (auto view = dyn_cast<tile::ViewType>(type))
    return isa<Float8E4M3FNType>(view.getElementType());
  return isa<Float8E4M3FNType>(getElementTypeOrSelf(type));
}

Type inBytes(Type type) {
  Type byte = IntegerType::get(type.getContext(), 8);
  if (auto view = dyn_cast<tile::ViewType>(type))
    return tile::ViewType::get(type.getContext(), view.getShape(), byte, view.getAccess(),
                               view.getInterleave(), view.getStrided());
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? Type(tile.clone(byte)) : byte;
}

/// Builds arithmetic on scalars, or on tiles of one shape.
struct Builder8 {
  ImplicitLocOpBuilder b;
  Type like;

  Builder8(Operation *op) : b(op->getLoc(), op), like(op->getResult(0).getType()) {}

  Type of(Type element) const {
    auto tile = dyn_cast<RankedTensorType>(like);
    return tile ? Type(tile.clone(element)) : element;
  }
  Type ints() { return of(b.getI32Type()); }
  Type floats() { return of(b.getF32Type()); }
  Value constant(Type type, Attribute element) {
    TypedAttr value = cast<TypedAttr>(element);
    if (auto tile = dyn_cast<RankedTensorType>(type))
      value = DenseElementsAttr::get(tile, element);
    return arith::ConstantOp::create(b, value);
  }
  Value integer(int32_t value) { return constant(ints(), b.getI32IntegerAttr(value)); }
  Value real(float value) { return constant(floats(), b.getF32FloatAttr(value)); }
  Value plus(Value x, int32_t y) { return arith::AddIOp::create(b, x, integer(y)); }
  Value bitsAnd(Value x, int32_t y) { return arith::AndIOp::create(b, x, integer(y)); }
  Value left(Value x, int32_t by) { return arith::ShLIOp::create(b, x, integer(by)); }
  Value right(Value x, int32_t by) { return arith::ShRUIOp::create(b, x, integer(by)); }
  Value bits(Value x) { return arith::BitcastOp::create(b, ints(), x); }
  Value fromBits(Value x) { return arith::BitcastOp::create(b, floats(), x); }
  // x where a is beyond `most`, else y. Magnitudes have no sign bit.
  Value where(Value a, int32_t most, Value x, Value y) {
    Value beyond = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, a, integer(most));
    return arith::SelectOp::create(b, beyond, x, y);
  }
};

// f32 of bytes.
Value widened(Builder8 &m, Value bytes) {
  Value raw = arith::ExtUIOp::create(m.b, m.ints(), bytes), magnitude = m.bitsAnd(raw, kMagnitude);
  Value normal = m.plus(m.left(magnitude, kShift), (kSingleBias - kBias) << kSingleMantissa);
  Value count = arith::SIToFPOp::create(m.b, m.floats(), magnitude);
  Value small = m.bits(arith::MulFOp::create(m.b, count, m.real(kLeast)));
  Value number = m.where(magnitude, (1 << kMantissa) - 1, normal, small);
  number = m.where(magnitude, kLargest, m.integer(kSingleNan), number);
  Value sign = m.left(m.bitsAnd(raw, kSign), kSignShift);
  return m.fromBits(arith::OrIOp::create(m.b, number, sign));
}

// Bytes of f32.
Value narrowed(Builder8 &m, Value number) {
  Value raw = m.bits(number), magnitude = m.bitsAnd(raw, kSingleMagnitude);
  Value odd = m.bitsAnd(m.right(magnitude, kShift), 1);
  Value rounded = arith::AddIOp::create(m.b, m.plus(magnitude, (1 << (kShift - 1)) - 1), odd);
  Value normal = m.plus(m.right(rounded, kShift), -((kSingleBias - kBias) << kMantissa));
  Value sum = arith::AddFOp::create(m.b, m.fromBits(magnitude), m.real(kRoundsToLeast));
  Value small = m.plus(m.bits(sum), -kBitsOfRounding);
  Value fields = m.where(magnitude, kSmallestNormal - 1, normal, small);
  fields = m.where(fields, kLargest, m.integer(kLargest), fields);
  Value sign = m.bitsAnd(m.right(raw, kSignShift), kSign);
  Value byte = arith::OrIOp::create(m.b, fields, sign);
  byte = m.where(magnitude, kSingleInfinity, m.integer(kNan), byte);
  return arith::TruncIOp::create(m.b, m.of(m.b.getI8Type()), byte);
}

// The operand's bytes stand for it already.
void expandExtension(arith::ExtFOp op) {
  Builder8 m(op);
  Value number = widened(m, op.getIn());
  if (number.getType() != op.getType())
    number = getElementTypeOrSelf(op.getType()).isF64()
                 ? arith::ExtFOp::create(m.b, op.getType(), number).getResult()
                 : arith::TruncFOp::create(m.b, op.getType(), number).getResult(); // exact
  op.getResult().replaceAllUsesWith(number);
  op.erase();
}

LogicalResult expandTruncation(arith::TruncFOp op) {
  Builder8 m(op);
  Value number = op.getIn();
  if (getElementTypeOrSelf(number.getType()).isF64())
    return op.emitOpError() << "rounds f64 to f8E4M3FN, expected f32, f16 or bf16";
  if (number.getType() != m.floats())
    number = arith::ExtFOp::create(m.b, m.floats(), number);
  op.getResult().replaceAllUsesWith(narrowed(m, number));
  op.erase();
  return success();
}

Attribute bytesOf(Attribute attribute) {
  auto byte = [](const APFloat &value) { return value.bitcastToAPInt(); };
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return IntegerAttr::get(inBytes(number.getType()), byte(number.getValue()));
  auto numbers = cast<DenseFPElementsAttr>(attribute);
  return numbers.mapValues(IntegerType::get(attribute.getContext(), 8), byte);
}

bool hasFloat8(Attribute attribute) {
  auto typed = dyn_cast_or_null<TypedAttr>(attribute);
  return typed && isFloat8(typed.getType());
}

// What may have elements of the type without computing in it.
bool movesElements(Operation *op) {
  return isa<tile::TileDialect, scf::SCFDialect>(op->getDialect()) ||
         isa<arith::ConstantOp, arith::SelectOp, arith::BitcastOp, arith::ExtFOp, arith::TruncFOp>(
             op);
}

LogicalResult refuseArithmetic(Operation *op) {
  const bool uses = llvm::any_of(op->getOperandTypes(), isFloat8),
             makes = llvm::any_of(op->getResultTypes(), isFloat8);
  if ((uses || makes) && (!movesElements(op) || isa<tile::DotOp, tile::ReduceOp>(op)))
    return op->emitOpError() << "computes in f8E4M3FN, expected a conversion to f32 or f16 first";
  return success();
}

void changeTypes(Operation *op) {
  for (OpResult result : op->getResults())
    if (isFloat8(result.getType()))
      result.setType(inBytes(result.getType()));
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (BlockArgument argument : block.getArguments())
        if (isFloat8(argument.getType()))
          argument.setType(inBytes(argument.getType()));
  for (NamedAttribute attribute : op->getAttrs())
    if (hasFloat8(attribute.getValue()))
      op->setAttr(attribute.getName(), bytesOf(attribute.getValue()));
}

} // namespace

LogicalResult expandFloat8(Operation *root) {
  SmallVector<Operation *> conversions;
  WalkResult result = root->walk([&](Operation *op) {
    const bool converts =
        isa<arith::ExtFOp, arith::TruncFOp>(op) &&
        (isFloat8(op->getOperand(0).getType()) || isFloat8(op->getResult(0).getType()));
    if (converts)
      conversions.push_back(op);
    return converts || succeeded(refuseArithmetic(op)) ? WalkResult::advance()
                                                       : WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    return failure();
  root->walk([&](Operation *op) {
    if (!llvm::is_contained(conversions, op))
      changeTypes(op);
  });
  root->walk([](tile::KernelOp kernel) {
    kernel.setFunctionType(
        FunctionType::get(kernel.getContext(), kernel.getBody().getArgumentTypes(), {}));
  });
  for (Operation *op : conversions)
    if (auto extension = dyn_cast<arith::ExtFOp>(op))
      expandExtension(extension);
    else if (failed(expandTruncation(cast<arith::TruncFOp>(op))))
      return failure();
  return success();
}

} // namespace sinter::sched
