// Numbers of blocks as bf16, pair by pair: codes become whole numbers by their bits, four at once.
#include "base/check.h"
#include "sched/sched.h"
#include "sched/simt/distribute/block_reader.h"

#include <limits>

using namespace mlir;

namespace sinter::sched {

static constexpr int64_t kInBothHalves = 0x00010001; // times a number of 16 bits
static constexpr uint32_t kByteBits = 8, kNeighbours = 3;
// 128 in bf16, whose lowest seven bits count ones.
static constexpr int64_t kBfloatBase = 0x43;
// 2^15 in f32, whose bits from the eighth on count ones: its products with a half, and those of
// another whole number of few bits near it, are exact.
static constexpr int64_t kSingleBase = 0x47000000;
static constexpr float kSingleBaseValue = 32768;
// The sign of each byte; of pairs of 16 bits all but the low byte's sign, and all but its rest.
static constexpr auto kSigns = static_cast<int32_t>(0x80808080);
static constexpr auto kMagnitudes = static_cast<int32_t>(0xff7fff7f);
static constexpr auto kSignsOfPairs = static_cast<int32_t>(0xff80ff80);

BlockReader::Pairs BlockReader::masked(Pairs pairs, int64_t mask) {
  return {fold<arith::AndIOp>(pairs[0], int32(mask)), fold<arith::AndIOp>(pairs[1], int32(mask))};
}

// Whether entries are twice the small floats of a sign, two bits of exponent and one of mantissa.
static bool isSmallFloat(const CodeTable &table) {
  bool is = table.count == 16 && table.lanes == 1;
  for (int32_t code = 0; is && code < table.count; ++code) {
    const int32_t exponent = code >> 1 & 3, mantissa = code & 1;
    const int32_t size = exponent ? (2 + mantissa) << (exponent - 1) : mantissa;
    is = table.values[code] == (code & 8 ? -size : size);
  }
  return is;
}

static bool isSignedByte(const Field &field) {
  return field.number == Number::Signed && field.width() == kByteBits;
}

Value BlockReader::permuted(Value low, Value high, Value selector) {
  return PermuteBytesOp::create(b_, loc_, low, high, selector);
}

// a Op b, of pairs of bf16.
template <class Op> BlockReader::Pairs BlockReader::ofPairs(Pairs a, Pairs b) {
  auto word = VectorType::get({1}, b_.getI32Type()), pairs = VectorType::get({2}, b_.getBF16Type());
  auto asPair = [&](Value bits) {
    Value one = vector::FromElementsOp::create(b_, loc_, word, bits);
    return vector::BitCastOp::create(b_, loc_, pairs, one).getResult();
  };
  Pairs result;
  for (size_t i = 0; i < result.size(); ++i) {
    Value pair = Op::create(b_, loc_, asPair(a[i]), asPair(b[i]));
    Value bits = vector::BitCastOp::create(b_, loc_, word, pair);
    result[i] = vector::ExtractOp::create(b_, loc_, bits, 0);
  }
  return result;
}

// Entries of a table of 16 bytes: half of it by three bits of each code, the half by the fourth.
Value BlockReader::byTable(Value codes) {
  constexpr int64_t kWord = 4;
  std::array<Value, 4> words;
  for (int64_t word = 0; word < kWord; ++word) {
    uint32_t bits = 0;
    for (int64_t at = 0; at < kWord; ++at)
      bits |= uint32_t{static_cast<uint8_t>(format_.table.values[word * kWord + at])}
              << at * kByteBits;
    words[word] = int32(static_cast<int32_t>(bits));
  }
  Value two = fold<arith::OrIOp>(codes, fold<arith::ShRUIOp>(codes, int32(4)));
  Value four = permuted(two, int32(0), int32(0x4420));
  Value selector = fold<arith::AndIOp>(four, int32(0x7777));
  Value low = permuted(words[0], words[1], selector), high = permuted(words[2], words[3], selector);
  Value fourth = fold<arith::ShLIOp>(codes, int32(4));
  Value upper = permuted(fourth, int32(0), int32(0xba98));
  Value flipped = fold<arith::AndIOp>(fold<arith::XOrIOp>(low, high), upper);
  return fold<arith::XOrIOp>(low, flipped);
}

// Pairs of 16 bits with a byte above each of four bytes.
BlockReader::Pairs BlockReader::pairsOf(Value bytes, int64_t above) {
  Value base = int32(above * 0x01010101);
  return {permuted(bytes, base, int32(0x4140)), permuted(bytes, base, int32(0x4342))};
}

int32_t BlockReader::biasOf(const BlockFormat &format) {
  const bool isCode = !format.table.present() && format.code.number == Number::Unsigned;
  return format.min.present() && isCode ? 128 - static_cast<int32_t>(format.zero.base) : 0;
}

Value BlockReader::biasedMin(Value scale, const BlockElement &at) {
  Value min = groupFactor(format_.min, at);
  const auto bias = static_cast<float>(biasOf(format_));
  return bias == 0 ? min : math::FmaOp::create(b_, loc_, scale, real(bias), min).getResult();
}

// 128 and the lower seven bits, less 128 and the eighth.
BlockReader::Pairs BlockReader::signedBytes(Value bytes) {
  if (!bfloatPairs_)
    return throughSingles(fold<arith::XOrIOp>(bytes, int32(kSigns)), 1 << (kByteBits - 1));
  const Pairs pairs = pairsOf(bytes, kBfloatBase);
  return ofPairs<arith::SubFOp>(masked(pairs, kMagnitudes), masked(pairs, kSignsOfPairs));
}

// 128 + code, less 128 and the zero point where there is no bias.
BlockReader::Pairs BlockReader::unsignedBytes(Value codes) {
  if (!bfloatPairs_ && !biasOf(format_))
    return throughSingles(codes, static_cast<int32_t>(format_.zero.base));
  const Pairs pairs = pairsOf(codes, kBfloatBase);
  if (biasOf(format_))
    return pairs;
  const auto zero = static_cast<uint32_t>(format_.zero.base);
  Value less = int32((kBfloatBase << kByteBits | zero) * kInBothHalves);
  return ofPairs<arith::SubFOp>(pairs, {less, less});
}

// The code's exponent and mantissa as the lowest of the exponent and the highest of the mantissa of
// a bf16, subnormal numbers as such; that is too small by 2^127.
BlockReader::Pairs BlockReader::smallFloats(Value codes) {
  constexpr int64_t kMagnitude = 0x01c0, kSign = 0x8000, kLargestPower = 0x7f00;
  const Pairs pairs = pairsOf(codes, 0);
  auto shifted = [&](Value pair, int64_t by, int64_t mask) {
    return fold<arith::AndIOp>(fold<arith::ShLIOp>(pair, int32(by)),
                               int32(static_cast<int32_t>(mask * kInBothHalves)));
  };
  auto bits = [&](Value pair) {
    return fold<arith::OrIOp>(shifted(pair, 6, kMagnitude), shifted(pair, 12, kSign));
  };
  Value power = int32(kLargestPower * kInBothHalves);
  return ofPairs<arith::MulFOp>({bits(pairs[0]), bits(pairs[1])}, {power, power});
}

// Four bytes less `zero`: whole numbers of at most eight bits, so that the upper half of an f32 has
// all of each.
BlockReader::Pairs BlockReader::throughSingles(Value four, int32_t zero) {
  Value less = real(-(kSingleBaseValue + static_cast<float>(zero)));
  auto bits = [&](uint32_t number) {
    Value one = fold<arith::AddFOp>(liftedByte(four, number), less);
    return b_.createOrFold<arith::BitcastOp>(loc_, b_.getI32Type(), one);
  };
  auto pair = [&](uint32_t first) {
    Value low = bits(first), high = bits(first + 1);
    return permuted(low, high, int32(0x7632));
  };
  Value low = pair(0), high = pair(2);
  return {low, high};
}

Value BlockReader::numbers(const BlockElement &at) {
  BlockElement first = at;
  first.fixed &= ~kNeighbours;
  Pairs &pairs = pairs_[keyOf(&format_, first, first.fixed)];
  if (!pairs[0]) {
    Value codes = rawFour(format_.code, first);
    SINTER_CHECK(codes); // dotPacking has such formats alone
    const bool smallFloat = bfloatPairs_ && isSmallFloat(format_.table);
    pairs = smallFloat                              ? smallFloats(codes)
            : format_.table.present()               ? signedBytes(byTable(codes))
            : format_.code.number == Number::Signed ? signedBytes(codes)
                                                    : unsignedBytes(codes);
  }
  return pairs[at.fixed >> 1 & 1];
}

// An item of a field of bytes above kSingleBase; null where it does not lie so.
Value BlockReader::aboveBase(const Field &field, const BlockElement &item) {
  BlockElement first = item;
  first.fixed &= ~kNeighbours;
  const bool bytes = field.number == Number::Unsigned || isSignedByte(field);
  Value four = bytes && !(item.mask & kNeighbours) ? rawFour(field, first) : Value();
  if (!four)
    return {};
  if (isSignedByte(field))
    four = fold<arith::XOrIOp>(four, int32(kSigns));
  return liftedByte(four, item.fixed & kNeighbours);
}

// One of four bytes above kSingleBase.
Value BlockReader::liftedByte(Value four, uint32_t number) {
  return reinterpreted(permuted(four, int32(kSingleBase), int32(0x7404 | number << 4)));
}

// Whether codes of four neighbours are bytes from which bit operations make their numbers.
static bool hasNumbersOfBytes(const BlockFormat &format) {
  const bool oneCode = format.runCount == 1 && !format.runs[0].strided && format.runs[0].lanes == 1;
  const bool sixteen = format.table.count == 16 && format.table.lanes == 1;
  const bool plain = format.code.number == Number::Unsigned || isSignedByte(format.code);
  return oneCode && !format.sign.present() && !format.zero.field.present() &&
         (format.table.present() ? sixteen : plain);
}

BlockReader::Lifted BlockReader::liftedNumber(const BlockElement &at) {
  if (!at.row || at.mask & kNeighbours || !hasNumbersOfBytes(format_))
    return {};
  BlockElement first = at;
  first.fixed &= ~kNeighbours;
  Value four = rawFour(format_.code, first);
  if (!four)
    return {};
  if (format_.table.present())
    four = byTable(four);
  const bool isSigned = format_.table.present() || isSignedByte(format_.code);
  if (isSigned)
    four = fold<arith::XOrIOp>(four, int32(kSigns));
  const auto zero = static_cast<int32_t>(format_.zero.base) + (isSigned ? 1 << (kByteBits - 1) : 0);
  return {liftedByte(four, at.fixed & kNeighbours), static_cast<int32_t>(kSingleBaseValue) + zero};
}

// Bits of a scale's mantissa; all of them where they are not known to be fewer.
static uint32_t mantissaBits(const GroupFactor &factor) {
  constexpr uint32_t kHalf = 11;
  const bool whole = factor.level2Length && factor.step == 1 && factor.offset == 0 &&
                     (factor.level2.number == Number::Unsigned || isSignedByte(factor.level2));
  if (factor.level1.number != Number::F16 ||
      !(whole || (!factor.level2Length && factor.offset == 1)))
    return std::numeric_limits<float>::digits;
  return kHalf + (whole ? factor.level2.width() : 0);
}

static bool isExact(uint32_t bits) {
  return bits <= std::numeric_limits<float>::digits;
}

static uint32_t mantissaBits(int32_t whole) {
  const auto bits = static_cast<uint32_t>(whole);
  return static_cast<uint32_t>(llvm::bit_width(bits) - llvm::countr_zero(bits));
}

// One multiply-add where the product is exact, so that no bit differs from two operations.
Value BlockReader::value(const BlockElement &at) {
  Value scale = factor(format_.scale, at);
  const bool hasMin = format_.min.present();
  const Lifted lifted = liftedNumber(at);
  const uint32_t bits = mantissaBits(format_.scale);
  auto fma = [&](Value number, Value more) {
    return math::FmaOp::create(b_, loc_, number, scale, more).getResult();
  };
  auto withMin = [&](Value scaled) {
    return hasMin ? fold<arith::SubFOp>(scaled, factor(format_.min, at)) : scaled;
  };
  if (!lifted.value)
    return withMin(fold<arith::MulFOp>(scale, number(at)));
  Value base = real(-static_cast<float>(lifted.base));
  if (isExact(bits + mantissaBits(lifted.base)))
    return withMin(fma(lifted.value, fold<arith::MulFOp>(scale, base)));
  Value number = fold<arith::AddFOp>(lifted.value, base);
  const uint32_t codeBits = format_.table.present() ? kByteBits : format_.code.width();
  if (hasMin && isExact(bits + codeBits))
    return fma(number, arith::NegFOp::create(b_, loc_, factor(format_.min, at)));
  return withMin(fold<arith::MulFOp>(scale, number));
}

// level1 * (step * level2 + offset): with level2 above a base one multiply-add, which is exact.
Value BlockReader::groupFactor(const GroupFactor &factor, const BlockElement &at) {
  const BlockElement group = itemOf(at, factor.groupLength());
  if (!factor.level2Length || factor.step != 1)
    return this->factor(factor, at);
  Value &value = factors_[keyOf(&factor, at, group.fixed)];
  if (value)
    return value;
  Value above = aboveBase(factor.level2, group);
  if (!above)
    return this->factor(factor, at);
  const BlockElement outer = itemOf(at, factor.level1Length);
  Value scale = floatOf(factor.level1, outer);
  Value &less = factors_[keyOf(&factor.level2, outer, outer.fixed)]; // no key of another value
  if (!less) {
    const float base = kSingleBaseValue + (isSignedByte(factor.level2) ? 128.0f : 0.0f);
    less = fold<arith::MulFOp>(scale, real(factor.offset - base));
  }
  return value = math::FmaOp::create(b_, loc_, above, scale, less);
}

} // namespace sinter::sched
