// Places of bits are sums over the bits of an item's number, so the parts of threads and of
// registers add up.
#include "sched/simt/distribute/block_reader.h"
#include "base/check.h"
#include "numeric/formats/level_table.h"
#include "sched/sched.h"

#include <numeric>

using namespace mlir;

namespace sinter::sched {

static constexpr uint32_t kWordBytes = 4, kWordBits = 32, kByteBits = 8;

// ---- small builders ----

Value BlockReader::int32(int64_t value) {
  return arith::ConstantIntOp::create(b_, loc_, b_.getI32Type(), value);
}

Value BlockReader::real(float value) {
  return arith::ConstantOp::create(b_, loc_, b_.getF32FloatAttr(value));
}

Value BlockReader::plus(Value a, Value c) {
  return !a ? c : !c ? a : fold<arith::AddIOp>(a, c);
}

Value BlockReader::plus(Value a, uint32_t more) {
  return more ? plus(a, int32(more)) : a;
}

// `width` bits of a word, from `from` (null: 0) + `first` on.
Value BlockReader::bitsFrom(Value word, Value from, uint32_t first, uint32_t width) {
  if (Value shift = from ? plus(from, first) : first ? int32(first) : Value())
    word = fold<arith::ShRUIOp>(word, shift);
  return width < kWordBits ? fold<arith::AndIOp>(word, int32((int64_t(1) << width) - 1)) : word;
}

Value BlockReader::signExtended(Value value, uint32_t width) {
  Value unused = int32(kWordBits - width);
  return width < kWordBits ? fold<arith::ShRSIOp>(fold<arith::ShLIOp>(value, unused), unused)
                           : value;
}

Value BlockReader::is(arith::CmpIPredicate predicate, Value value, int64_t other) {
  return b_.createOrFold<arith::CmpIOp>(loc_, predicate, value, int32(other));
}

Value BlockReader::select(Value when, Value then, Value otherwise) {
  return b_.createOrFold<arith::SelectOp>(loc_, when, then, otherwise);
}

Value BlockReader::fromInteger(Value value) {
  return b_.createOrFold<arith::SIToFPOp>(loc_, b_.getF32Type(), value);
}

Value BlockReader::reinterpreted(Value bits) {
  return b_.createOrFold<arith::BitcastOp>(loc_, b_.getF32Type(), bits);
}

// ---- bits of fields ----

// The sum of weights over the bits of an item's number that vary; null where it is 0. Bits whose
// weights double from one to the next move together.
Value BlockReader::weighted(const BlockElement &item, ArrayRef<uint32_t> weights) {
  auto [found, isNew] = sums_.try_emplace({item.varying.getAsOpaquePointer(), weights.vec()});
  if (!isNew)
    return found->second;
  Value sum;
  auto varies = [&](size_t bit) { return bit < weights.size() && (item.mask >> bit & 1); };
  for (size_t bit = 0, next = 0; bit < weights.size(); bit = std::max(bit + 1, next)) {
    if (!varies(bit) || !weights[bit])
      continue;
    next = bit + 1;
    while (varies(next) && weights[next] == weights[bit] << (next - bit))
      ++next;
    Value part = fold<arith::ShRUIOp>(item.varying, int32(static_cast<int64_t>(bit)));
    if (item.mask >> next)
      part = fold<arith::AndIOp>(part, int32((int64_t(1) << (next - bit)) - 1));
    sum = plus(sum, fold<arith::MulIOp>(part, int32(weights[bit])));
  }
  return sums_[{item.varying.getAsOpaquePointer(), weights.vec()}] = sum;
}

/// Where an access reads: bytes from the start of a block.
struct BlockReader::Bytes {
  Value varying; // i32; null: 0
  uint32_t fixed = 0, count = 0, align = 0;
};

// Bytes that bits of an item's number add to the place of a byte: in words, words of all rows lie
// between two of one.
Value BlockReader::varyingBytes(const BlockElement &item, ArrayRef<uint32_t> weights) {
  if (!item.row)
    return weighted(item, weights);
  return weighted(item, llvm::map_to_vector(weights, [](uint32_t weight) {
                    const uint32_t in = weight % kWordBytes;
                    return (weight - in) * kWordRows + in;
                  }));
}

// The byte of the view.
Value BlockReader::placed(const BlockElement &item, const Bytes &bytes) {
  auto index = [&](int64_t value) {
    return arith::ConstantIndexOp::create(b_, loc_, value).getResult();
  };
  auto withVarying = [&](Value byte) -> Value {
    if (!bytes.varying)
      return byte;
    return fold<arith::AddIOp>(
        byte, b_.createOrFold<arith::IndexCastUIOp>(loc_, b_.getIndexType(), bytes.varying));
  };
  if (!item.row)
    return withVarying(fold<arith::AddIOp>(item.byte, index(bytes.fixed)));
  Value byte = withVarying(item.byte); // what is fixed comes last: accesses have it for nothing
  if (!words_.inWords(bytes.fixed))
    byte = fold<arith::SubIOp>(
        byte, fold<arith::MulIOp>(item.row, index(kWordBytes - words_.rowBytes(bytes.fixed))));
  return fold<arith::AddIOp>(byte, index(words_.packedByte(bytes.fixed)));
}

// The word that holds bytes which lie together with others in it; null where there is none.
// NVIDIA's assembler would make one access of two halves of a word and unpack it at once, which
// waits for memory.
Value BlockReader::wordAround(const BlockElement &item, const Bytes &bytes) {
  if (!item.row || bytes.varying || bytes.count >= kWordBytes || !words_.inWords(bytes.fixed))
    return {};
  const uint32_t before = (bytes.fixed - words_.first) % kWordBytes;
  if (before + bytes.count > kWordBytes)
    return {};
  Value word = load(item, {{}, bytes.fixed - before, kWordBytes, kWordBytes});
  if (before)
    word = fold<arith::ShRUIOp>(word, int32(before * kByteBits));
  return before + bytes.count == kWordBytes
             ? word
             : fold<arith::AndIOp>(word, int32((int64_t{1} << bytes.count * kByteBits) - 1));
}

// As an i32.
Value BlockReader::load(const BlockElement &item, const Bytes &bytes) {
  if (Value word = wordAround(item, bytes))
    return word;
  Value &word = loads_[{item.byte.getAsOpaquePointer(), bytes.varying.getAsOpaquePointer(), nullptr,
                        uint64_t{bytes.fixed} << kByteBits | bytes.count}];
  if (word)
    return word;
  Value byte = placed(item, bytes);
  IntegerType type = b_.getIntegerType(bytes.count * kByteBits);
  Value zero = arith::ConstantOp::create(b_, loc_, b_.getIntegerAttr(type, 0));
  IntegerAttr align = bytes.align < bytes.count ? b_.getI64IntegerAttr(bytes.align) : IntegerAttr();
  word = ViewLoadOp::create(b_, loc_, argument_, byte, item.when, zero, align);
  if (bytes.count < kWordBytes)
    word = arith::ExtUIOp::create(b_, loc_, b_.getI32Type(), word);
  return word;
}

// ---- four neighbours ----

// `width` bits of each byte.
static int64_t inEachByte(uint32_t width) {
  return int64_t{0x01010101} * ((int64_t{1} << width) - 1);
}

// The same of neighbouring bits, which move apart.
Value BlockReader::fourBeside(const BitPlane &plane, const BlockElement &item) {
  std::array<uint32_t, 8> toBytes{}, toBits{};
  Bytes bytes{{}, plane.map.base / kByteBits, kWordBytes, kWordBytes};
  SINTER_CHECK((bytes.fixed - words_.first) % kWordBytes == 0 && plane.map.base % kByteBits == 0);
  uint32_t shift = 0;
  for (size_t bit = 0; bit < toBits.size(); ++bit) {
    toBytes[bit] = plane.map.weight[bit] / kWordBits * kWordBytes;
    toBits[bit] = plane.map.weight[bit] % kWordBits;
    bytes.fixed += (item.fixed >> bit & 1) * toBytes[bit];
    shift += (item.fixed >> bit & 1) * toBits[bit];
  }
  bytes.varying = varyingBytes(item, toBytes);
  const uint32_t width = plane.width;
  Value four = bitsFrom(load(item, bytes), weighted(item, toBits), shift, 4 * width);
  auto apart = [&](Value bits, uint32_t by, int64_t mask) {
    Value moved = fold<arith::ShLIOp>(bits, int32(by));
    return fold<arith::AndIOp>(fold<arith::OrIOp>(bits, moved), int32(mask));
  };
  Value two = apart(four, 2 * kByteBits - 2 * width, ((1 << 2 * width) - 1) * 0x00010001);
  return apart(two, kByteBits - width, inEachByte(width));
}

// Those from the item on, a multiple of four; null where they do not lie in one word's bytes.
Value BlockReader::fourOf(const BitPlane &plane, const BlockElement &item) {
  constexpr uint32_t kNeighbours = kWordBytes - 1;
  const std::array<uint16_t, 8> &weight = plane.map.weight;
  std::array<uint32_t, 8> toBytes{}, toBits{};
  uint32_t most = plane.map.base % kByteBits + plane.width;
  for (size_t bit = 0; bit < weight.size(); ++bit) {
    toBytes[bit] = weight[bit] / kByteBits;
    toBits[bit] = weight[bit] % kByteBits;
    most += toBits[bit];
  }
  if (item.mask & kNeighbours)
    return {};
  if (weight[0] == plane.width && weight[1] == 2 * plane.width && plane.width < kByteBits / 2)
    return fourBeside(plane, item);
  if (weight[0] != kByteBits || weight[1] != 2 * kByteBits || most > kByteBits)
    return {};
  SINTER_CHECK((item.fixed & kNeighbours) == 0);
  Bytes bytes{varyingBytes(item, toBytes), plane.map.base / kByteBits, kWordBytes, kWordBytes};
  uint32_t shift = plane.map.base % kByteBits;
  for (size_t bit = 0; bit < weight.size(); ++bit)
    if (item.fixed >> bit & 1) {
      bytes.fixed += toBytes[bit];
      shift += toBits[bit];
    }
  Value word = load(item, bytes);
  if (Value from = weighted(item, toBits))
    word = fold<arith::ShRUIOp>(word, plus(from, shift));
  else if (shift)
    word = fold<arith::ShRUIOp>(word, int32(shift));
  return plane.width == kByteBits ? word
                                  : fold<arith::AndIOp>(word, int32(inEachByte(plane.width)));
}

// The same of a field's bits.
Value BlockReader::rawFour(const Field &field, const BlockElement &item) {
  Value &four = fours_[keyOf(&field, item, item.fixed)];
  if (four)
    return four;
  Value word;
  for (const BitPlane &plane : field.used()) {
    Value part = item.row ? fourOf(plane, item) : Value();
    if (!part)
      return {};
    if (plane.shift)
      part = fold<arith::ShLIOp>(part, int32(plane.shift));
    word = word ? fold<arith::OrIOp>(word, part) : part;
  }
  return four = word;
}

namespace {
/// Containers of 1, 2 or 4 bytes, none of whose items reaches into another: an item's container by
/// the weights `bytes`, and its first bit in there by `bits`.
struct Containers {
  uint32_t size = 0;
  std::array<uint32_t, 8> bytes{}, bits{};
};
} // namespace

static Containers containersOf(const BitPlane &plane) {
  for (uint32_t size : {1u, 2u, kWordBytes}) {
    Containers containers{size};
    uint32_t most = plane.map.base % kByteBits + plane.width;
    for (auto [bit, weight] : llvm::enumerate(plane.map.weight)) {
      containers.bytes[bit] = weight / (size * kByteBits) * size;
      containers.bits[bit] = weight % (size * kByteBits);
      most += containers.bits[bit];
    }
    if (most <= size * kByteBits)
      return containers;
  }
  SINTER_CHECK(false); // no format of the table has wider items
}

static uint32_t fixedSum(uint32_t number, ArrayRef<uint32_t> weights) {
  uint32_t sum = 0;
  for (auto [bit, weight] : llvm::enumerate(weights))
    sum += (number >> bit & 1) * weight;
  return sum;
}

// How many items of neighbouring bytes a thread has, at most a word of them.
static uint32_t neighboursOf(const Containers &in, uint32_t varying) {
  uint32_t count = 1;
  for (uint32_t bit = 0; in.size == 1 && count < kWordBytes; ++bit, count *= 2)
    if (in.bytes[bit] != count || in.bits[bit] || (varying >> bit & 1))
      break;
  return count;
}

// Neighbours are read together.
Value BlockReader::bitsOf(const BitPlane &plane, const BlockElement &item) {
  const Containers in = containersOf(plane);
  uint32_t number = item.fixed, first = plane.map.base % kByteBits + fixedSum(number, in.bits);
  Bytes bytes{varyingBytes(item, in.bytes), 0, in.size, 0};
  if (const uint32_t neighbours = neighboursOf(in, item.mask); neighbours > 1) {
    first += (number & (neighbours - 1)) * kByteBits;
    number &= ~(neighbours - 1);
    bytes.count = neighbours;
  }
  bytes.fixed = plane.map.base / kByteBits + fixedSum(number, in.bytes);
  uint32_t divisor = std::gcd(uint32_t{format_.blockBytes}, bytes.fixed);
  for (auto [bit, weight] : llvm::enumerate(in.bytes))
    if (item.mask >> bit & 1)
      divisor = std::gcd(divisor, weight);
  bytes.align = item.row ? bytes.count : std::min(bytes.count, divisor & -divisor);
  Value word = load(item, bytes), from = weighted(item, in.bits);
  // Nothing lies above the last bits of a word.
  const bool last = !from && first + plane.width == bytes.count * kByteBits;
  return bitsFrom(word, from, first, last ? kWordBits : plane.width);
}

Value BlockReader::raw(const Field &field, const BlockElement &item) {
  Value &bits = raws_[keyOf(&field, item, item.fixed)];
  if (bits)
    return bits;
  for (const BitPlane &plane : field.used()) {
    Value part = bitsOf(plane, item);
    if (plane.shift)
      part = fold<arith::ShLIOp>(part, int32(plane.shift));
    bits = bits ? fold<arith::OrIOp>(bits, part) : part;
  }
  return bits;
}

// The item that an element of groups of `length`, a power of two, belongs to.
BlockElement BlockReader::itemOf(const BlockElement &at, uint32_t length) {
  const auto shift = static_cast<uint32_t>(llvm::Log2_32(length));
  BlockElement item{at.byte, at.when, {}, at.mask >> shift, at.fixed >> shift, at.row};
  if (!item.mask)
    return item;
  Value &varying = sums_[{at.varying.getAsOpaquePointer(), {length}}];
  if (!varying)
    varying = fold<arith::ShRUIOp>(at.varying, int32(shift));
  item.varying = varying;
  return item;
}

// ---- numbers ----

// E4M3 without a sign: subnormal numbers are multiples of 2^-9.
Value BlockReader::fromUe4m3(Value bits) {
  constexpr int32_t kMantissa = 3, kBias = 7, kSingleMantissa = 23, kSingleBias = 127;
  Value magnitude = fold<arith::AndIOp>(bits, int32(0x7f));
  Value normal =
      fold<arith::AddIOp>(fold<arith::ShLIOp>(magnitude, int32(kSingleMantissa - kMantissa)),
                          int32((kSingleBias - kBias) << kSingleMantissa));
  Value small =
      fold<arith::MulFOp>(fromInteger(magnitude), real(std::ldexp(1.0f, 1 - kBias - kMantissa)));
  Value value = select(is(arith::CmpIPredicate::ult, magnitude, 1 << kMantissa), small,
                       reinterpreted(normal));
  return select(is(arith::CmpIPredicate::eq, bits, 0x7f), real(0), value);
}

// 2^(bits - 128), of which the two least are subnormal.
Value BlockReader::fromE8m0Half(Value bits) {
  constexpr int32_t kSingleMantissa = 23, kLeast = 1 << 21;
  Value normal = fold<arith::ShLIOp>(fold<arith::SubIOp>(bits, int32(1)), int32(kSingleMantissa));
  Value small = fold<arith::ShLIOp>(int32(kLeast), fold<arith::AndIOp>(bits, int32(1)));
  return reinterpreted(select(is(arith::CmpIPredicate::ult, bits, 2), small, normal));
}

Value BlockReader::floatOf(const Field &field, const BlockElement &item) {
  Value bits = raw(field, item);
  auto wide = [&](FloatType type, IntegerType narrow) {
    Value half = b_.createOrFold<arith::TruncIOp>(loc_, narrow, bits);
    half = b_.createOrFold<arith::BitcastOp>(loc_, type, half);
    return b_.createOrFold<arith::ExtFOp>(loc_, b_.getF32Type(), half);
  };
  switch (field.number) {
  case Number::Unsigned:
    return fromInteger(bits);
  case Number::Signed:
    return fromInteger(signExtended(bits, field.width()));
  case Number::F16:
    return wide(b_.getF16Type(), b_.getI16Type());
  case Number::BF16:
    return reinterpreted(fold<arith::ShLIOp>(bits, int32(kWordBits / 2)));
  case Number::F32:
    return reinterpreted(bits);
  case Number::Ue4m3:
    return fromUe4m3(bits);
  case Number::E8m0Half:
    return fromE8m0Half(bits);
  case Number::F64:
  case Number::E4m3:
    break; // of whole elements alone, which are no blocks
  }
  SINTER_CHECK(false);
}

// level1 * (step * level2 + offset).
Value BlockReader::factor(const GroupFactor &factor, const BlockElement &at) {
  const BlockElement group = itemOf(at, factor.groupLength());
  Value &value = factors_[keyOf(&factor, at, group.fixed)];
  if (value)
    return value;
  value = floatOf(factor.level1, itemOf(at, factor.level1Length));
  if (!factor.level2Length)
    return value = factor.offset == 1 ? value : fold<arith::MulFOp>(value, real(factor.offset));
  Value inner = floatOf(factor.level2, group);
  if (factor.step != 1)
    inner = fold<arith::MulFOp>(inner, real(factor.step));
  if (factor.offset != 0)
    inner = fold<arith::AddFOp>(inner, real(factor.offset));
  return value = fold<arith::MulFOp>(value, inner);
}

// ---- codes ----

// Of several runs the one that the element lies in, found where it is known.
BlockReader::CodePlace BlockReader::codeInRuns(const BlockElement &at) {
  BlockElement code{at.byte, at.when, {}, 0, 0, at.row}, lane = code;
  if (!at.mask) {
    const CodeAt found = format_.codeOf(at.fixed);
    code.fixed = found.code;
    lane.fixed = found.lane;
    return {code, lane};
  }
  Value element = plus(at.varying, at.fixed);
  uint32_t codes = 0, lanes = 0;
  for (const CodeRun &run : ArrayRef(format_.runs).take_front(format_.runCount)) {
    Value in = fold<arith::SubIOp>(element, int32(run.firstElement));
    Value number = int32(run.strided ? run.codes : run.lanes);
    Value rest = fold<arith::RemUIOp>(in, number), whole = fold<arith::DivUIOp>(in, number);
    Value first = plus(run.strided ? rest : whole, run.firstCode);
    Value second = run.strided ? whole : rest;
    Value lies = is(arith::CmpIPredicate::uge, element, run.firstElement);
    code.varying = code.varying ? select(lies, first, code.varying) : first;
    lane.varying = lane.varying ? select(lies, second, lane.varying) : second;
    codes = std::max<uint32_t>(codes, run.firstCode + run.codes);
    lanes = std::max<uint32_t>(lanes, run.lanes);
  }
  code.mask = static_cast<uint32_t>(llvm::PowerOf2Ceil(codes)) - 1;
  lane.mask = static_cast<uint32_t>(llvm::PowerOf2Ceil(lanes)) - 1;
  return {code, lane};
}

BlockReader::CodePlace BlockReader::codeOf(const BlockElement &at) {
  const CodeRun &run = format_.runs[0];
  if (format_.runCount > 1 || run.strided || !llvm::isPowerOf2_32(run.lanes))
    return codeInRuns(at);
  return {itemOf(at, run.lanes), lowBits(at, run.lanes)};
}

// What is left of an element's number within groups of `length`, a power of two.
BlockElement BlockReader::lowBits(const BlockElement &at, uint32_t length) {
  BlockElement low{at.byte, at.when, {}, at.mask & (length - 1), at.fixed & (length - 1), at.row};
  if (low.mask)
    low.varying =
        at.mask < length ? at.varying : fold<arith::AndIOp>(at.varying, int32(length - 1));
  return low;
}

// A level by its number: by arithmetic where levels are as far apart, else from words of four.
Value BlockReader::levelOf(ArrayRef<int8_t> levels, Value index) {
  const int32_t first = levels[0], step = levels.size() > 1 ? levels[1] - levels[0] : 0;
  bool even = true;
  for (auto [number, level] : llvm::enumerate(levels))
    even &= level == first + static_cast<int32_t>(number) * step;
  if (even)
    return fold<arith::AddIOp>(fold<arith::MulIOp>(index, int32(step)), int32(first));
  SmallVector<Value> words;
  for (size_t at = 0; at < levels.size(); at += kWordBytes) {
    uint32_t word = 0;
    for (size_t byte = at; byte < std::min<size_t>(at + kWordBytes, levels.size()); ++byte)
      word |= uint32_t{static_cast<uint8_t>(levels[byte])} << (byte - at) * kByteBits;
    words.push_back(int32(static_cast<int32_t>(word)));
  }
  for (int64_t bit = kWordBytes; words.size() > 1; bit *= 2) {
    Value odd = is(arith::CmpIPredicate::ne, fold<arith::AndIOp>(index, int32(bit)), 0);
    SmallVector<Value> halved;
    for (size_t at = 0; at < words.size(); at += 2)
      halved.push_back(at + 1 < words.size() ? select(odd, words[at + 1], words[at]) : words[at]);
    words = std::move(halved);
  }
  Value shift =
      fold<arith::MulIOp>(fold<arith::AndIOp>(index, int32(kWordBytes - 1)), int32(kByteBits));
  return signExtended(fold<arith::ShRUIOp>(words[0], shift), kByteBits);
}

// table[code * lanes + lane].
Value BlockReader::entry(const CodeTable &table, Value code, const BlockElement &lane) {
  constexpr uint32_t kFew = 16;
  if (table.lanes == 1 && table.count <= kFew)
    return levelOf({table.values, table.count}, code);
  if (!levels_)
    levels_ = levelTable(table);
  const uint32_t inWord = levels_->itemsOfWord(), bits = levels_->bits;
  Value number, from; // of the word, and of the first bit in it
  uint32_t first = 0;
  if (inWord % table.lanes == 0) { // all lanes of a code lie in one word
    const uint32_t codes = inWord / table.lanes;
    number = fold<arith::DivUIOp>(code, int32(codes));
    from = fold<arith::MulIOp>(fold<arith::RemUIOp>(code, int32(codes)), int32(table.lanes * bits));
    if (lane.varying)
      from = plus(from, fold<arith::MulIOp>(lane.varying, int32(bits)));
    first = lane.fixed * bits;
  } else {
    Value place = fold<arith::MulIOp>(code, int32(table.lanes));
    place = plus(plus(place, lane.varying), lane.fixed);
    number = fold<arith::DivUIOp>(place, int32(inWord));
    from = fold<arith::MulIOp>(fold<arith::RemUIOp>(place, int32(inWord)), int32(bits));
  }
  SmallVector<int32_t> words(levels_->words.begin(), levels_->words.end());
  Value word =
      TableLoadOp::create(b_, loc_, b_.getI32Type(), number, b_.getDenseI32ArrayAttr(words));
  return levelOf(levels_->levels, bitsFrom(word, from, first, bits));
}

// The signs of eight elements, one bit each.
Value BlockReader::signsOf(const BlockElement &signs) {
  Value &bits = signs_[keyOf(&format_.sign, signs, signs.fixed)];
  if (bits)
    return bits;
  bits = raw(format_.sign, signs);
  const uint32_t width = format_.sign.width();
  if (width == BlockFormat::kSignLanes)
    return bits;
  Value parity = bits;
  for (int64_t shift : {4, 2, 1})
    parity = fold<arith::XOrIOp>(parity, fold<arith::ShRUIOp>(parity, int32(shift)));
  parity = fold<arith::ShLIOp>(fold<arith::AndIOp>(parity, int32(1)), int32(width));
  return bits = fold<arith::OrIOp>(bits, parity);
}

Value BlockReader::withSign(const BlockElement &at, Value number) {
  if (!format_.sign.present())
    return number;
  const BlockElement lane = lowBits(at, BlockFormat::kSignLanes);
  Value sign = bitsFrom(signsOf(itemOf(at, BlockFormat::kSignLanes)), lane.varying, lane.fixed, 1);
  Value all = fold<arith::SubIOp>(int32(0), sign); // -n is ~n + 1
  return fold<arith::AddIOp>(fold<arith::XOrIOp>(number, all), sign);
}

// T - zero, of which a constant zero is whole.
Value BlockReader::number(const BlockElement &at) {
  const CodePlace place = codeOf(at);
  Value bits = raw(format_.code, place.code);
  Value whole = format_.table.present()                 ? entry(format_.table, bits, place.lane)
                : format_.code.number == Number::Signed ? signExtended(bits, format_.code.width())
                                                        : bits;
  whole = withSign(at, whole);
  const ZeroPoint &zero = format_.zero;
  if (!zero.field.present()) {
    SINTER_CHECK(zero.base == std::trunc(zero.base));
    return fromInteger(fold<arith::SubIOp>(whole, int32(static_cast<int64_t>(zero.base))));
  }
  const BlockElement group = itemOf(at, zero.groupLength);
  Value &value = factors_[keyOf(&zero, at, group.fixed)];
  if (!value)
    value = fold<arith::AddFOp>(fold<arith::MulFOp>(floatOf(zero.field, group), real(zero.step)),
                                real(zero.base));
  return fold<arith::SubFOp>(fromInteger(whole), value);
}

} // namespace sinter::sched
