// Names of types and texts of constants.
#include "targets/metal/types.h"

#include "llvm/Support/Format.h"

using namespace mlir;

namespace sinter::targets::metal {

int64_t countOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 1;
}

SmallVector<int64_t> pieceCounts(Type type) {
  SmallVector<int64_t> counts;
  for (int64_t left = countOf(type); left > 0; left -= counts.back())
    counts.push_back(std::min(left, kPieceElements));
  return counts;
}

unsigned bitsOf(Type type) {
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

std::string unsignedName(unsigned bits) {
  return bits == 8 ? "uchar" : bits == 16 ? "ushort" : bits == 32 ? "uint" : "ulong";
}

std::string signedName(unsigned bits) {
  return unsignedName(bits).substr(1);
}

std::string scalarName(Type type, const MetalFacts &facts) {
  if (type.isF32())
    return "float";
  if (type.isF16())
    return "half";
  if (type.isBF16())
    return facts.bfloat ? "bfloat" : "ushort";
  if (type.isInteger(1))
    return "bool";
  bool known = type.isIndex() || type.isSignlessInteger(8) || type.isSignlessInteger(16) ||
               type.isSignlessInteger(32) || type.isSignlessInteger(64);
  return known ? unsignedName(bitsOf(type)) : "";
}

std::string vectorName(Type element, int64_t count, const MetalFacts &facts) {
  return scalarName(element, facts) + (count == 1 ? "" : std::to_string(count));
}

std::string realLiteral(double value) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << llvm::format("%.9g", value);
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return text + "f";
}

static std::string hexadecimal(uint64_t bits) {
  return "0x" + llvm::utohexstr(bits, /*LowerCase=*/true) + "u";
}

// Numbers that decimal text or a processor's conversion might not keep are given as bits.
static std::string floatLiteral(FloatAttr real, const MetalFacts &facts) {
  Type type = real.getType();
  APFloat value = real.getValue();
  uint64_t bits = value.bitcastToAPInt().getZExtValue();
  if (type.isBF16() && !facts.bfloat)
    return "ushort(" + hexadecimal(bits) + ")";
  std::string name = scalarName(type, facts);
  if (!value.isZero() && !value.isNormal())
    return "as_type<" + name + ">(" +
           (type.isF32() ? hexadecimal(bits) : "ushort(" + hexadecimal(bits) + ")") + ")";
  bool lost = false;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
  std::string text = realLiteral(value.convertToDouble());
  return type.isF32() ? text : name + "(" + text + ")";
}

static std::string integerLiteral(const APInt &value, Type type) {
  unsigned bits = bitsOf(type);
  if (bits == 1)
    return value.isZero() ? "false" : "true";
  // Offsets that go backwards read better with their sign.
  bool backwards = value.isNegative() && value.getSExtValue() >= -65536;
  std::string digits = llvm::toString(value, 10, backwards);
  std::string name = unsignedName(bits);
  if (bits >= 32 && !backwards)
    return digits + (bits == 64 ? "ul" : "u");
  return name + "(" + digits + ")";
}

std::string literal(Attribute value, const MetalFacts &facts) {
  if (auto real = dyn_cast<FloatAttr>(value))
    return floatLiteral(real, facts);
  auto integer = cast<IntegerAttr>(value);
  return integerLiteral(integer.getValue(), integer.getType());
}

} // namespace sinter::targets::metal
