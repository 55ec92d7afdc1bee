// Distribution, block formats: where each thread finds codes, scales and minima. Bit maps of the
// format table are linear, so the register's and the thread's parts of an element's place add up.
#include "base/check.h"
#include "numeric/formats/byte_blocks.h"
#include "numeric/formats/word_packing.h"
#include "sched/simt/distribute/distributor.h"
#include "sched/view_bounds.h"

using namespace mlir;

namespace sinter::sched {

static constexpr int64_t kWord = 4; // codes read at once

namespace {
/// Where the codes of one format lie and what they are: the activation format is one too.
struct Codes {
  uint32_t length = 0; // elements of a block
  uint32_t first = 0;  // bit of element 0
  std::array<uint32_t, 8> weight{};
  uint32_t width = 8;
  uint32_t before = 0;   // bytes of packed fields before the codes
  uint32_t inFile = 0;   // byte of the first code field
  uint8_t packedXor = 0; // of each packed byte
  int32_t zero = 0;      // taken from an unsigned code
};
} // namespace

static Codes codesIn(tile::BlockType type) {
  Codes codes;
  codes.length = kActivationLength;
  if (const ActivationFormat *activation = tile::activationFormatOf(type)) {
    codes.first = activation->codeOffset() * 8;
    for (uint32_t bit = 0; bit < codes.weight.size(); ++bit)
      codes.weight[bit] = 8u << bit;
    codes.inFile = activation->codeOffset();
    return codes;
  }
  const BlockFormat *format = findBlockFormat(type.getFormat().upper());
  Result<DotPacking> packing = plainDotPacking(*format);
  SINTER_CHECK(packing.has_value());
  const BitPlane &plane = format->code.planes[0];
  codes.first = plane.map.base;
  for (uint32_t bit = 0; bit < codes.weight.size(); ++bit)
    codes.weight[bit] = plane.map.weight[bit];
  codes.width = plane.width;
  const PackedField &field = packing->fieldAt(plane.map.byte(0));
  codes.before = field.place;
  codes.inFile = field.offset;
  codes.packedXor = field.xorByte;
  codes.zero = format->code.number == Number::Signed ? 0 : packing->zero;
  return codes;
}

static uint32_t bitsAt(const Codes &codes, int64_t element) {
  uint32_t bits = 0;
  for (uint32_t bit = 0; bit < codes.weight.size(); ++bit)
    bits += (element >> bit & 1) * codes.weight[bit];
  return bits;
}

// The block that holds a register's element, `elements` of which one coordinate along the last axis
// counts.
Distributor::BlockPlace Distributor::blockAt(SimtAccess &access, int64_t number, int64_t elements) {
  const SimtView &view = access.view;
  int last = access.layout.rank() - 1;
  SmallVector<int64_t> parts = access.layout.registerCoords(number);
  BlockPlace place;
  place.when = inTile(access.layout, number);
  for (int axis = 0; axis < last; ++axis)
    place.when = both(place.when, insideAxis(access, axis, parts[axis]));
  int64_t interleave = std::max<int64_t>(1, view.type.getInterleave());
  Value thread = mul(toIndex(threadPart(access.layout)[last]), index(elements));
  Value along = add(add(access.uniform[last], thread), index(parts[last] * elements));
  place.when = both(place.when, isWithin(b_, loc_, along, view.low[last], view.dims[last]));
  Value start = add(access.uniform[last], view.origin[last]);
  Value block = b_.createOrFold<arith::DivUIOp>(loc_, start, index(view.length));
  int64_t perCoordinate = view.length / elements; // coordinates of one block
  Value inTileBlock = b_.createOrFold<arith::DivUIOp>(
      loc_, toIndex(threadPart(access.layout)[last]), index(perCoordinate));
  block = add(add(block, inTileBlock), index(parts[last] / perCoordinate));
  place.byte = add(byteAt(access, number), mul(block, index(view.bytes * interleave)));
  if (view.type.getInterleave()) {
    Value row = add(add(view.origin[0], access.at[0]), index(parts[0]));
    place.inGroup = b_.createOrFold<arith::RemUIOp>(loc_, row, index(interleave));
  }
  return place;
}

namespace {
// Reads the codes of one format, `width` (1 or 4) neighbours by one access.
class CodeReader {
public:
  CodeReader(OpBuilder &b, Location loc, const SimtView &view, const SimtLayout &layout,
             int64_t width, Value thread)
      : b_(b), loc_(loc), view_(view), layout_(layout), width_(width),
        codes_(codesIn(cast<tile::BlockType>(view.type.getElementType()))),
        word_(b.getIntegerType(static_cast<unsigned>(8 * width))) {
    bindThread(thread);
  }

  /// The codes from register `number` on as one word, with the zero point taken off; zero where not
  /// `when`. `byte` and `inGroup` are those of the block.
  Value word(int64_t number, Value byte, Value inGroup, Value when);
  void split(Value word, SmallVectorImpl<Value> &registers);

private:
  void bindThread(Value thread);
  Value byteOf(Value bits, Value inGroup);
  int64_t alignment();
  Value int32(int64_t value) {
    return arith::ConstantIntOp::create(b_, loc_, b_.getI32Type(), value);
  }
  Value index(int64_t value) { return arith::ConstantIndexOp::create(b_, loc_, value); }
  template <class Op> Value fold(Value a, Value c) { return b_.createOrFold<Op>(loc_, a, c); }
  /// A word with this byte in each of its bytes.
  Value bytes(uint32_t byte) {
    uint64_t all = byte * (width_ == kWord ? 0x01010101ull : 1ull);
    return arith::ConstantOp::create(b_, loc_, b_.getIntegerAttr(word_, static_cast<int64_t>(all)));
  }

  OpBuilder &b_;
  Location loc_;
  const SimtView &view_;
  const SimtLayout &layout_;
  int64_t width_;
  Codes codes_;
  Type word_;
  Value threadBits_; // i32: what the thread adds to the place of a code, in bits
  bool wholeBytes_ = true;
};
} // namespace

void CodeReader::bindThread(Value thread) {
  threadBits_ = int32(0);
  for (auto [at, bit] : llvm::enumerate(layout_.threadBits())) {
    if (bit.axis != layout_.rank() - 1 || (int64_t(1) << bit.bit) >= codes_.length)
      continue;
    Value one = fold<arith::AndIOp>(fold<arith::ShRUIOp>(thread, int32(at)), int32(1));
    threadBits_ =
        fold<arith::AddIOp>(threadBits_, fold<arith::MulIOp>(one, int32(codes_.weight[bit.bit])));
    wholeBytes_ &= codes_.weight[bit.bit] % 8 == 0;
  }
}

// Packed units of four bytes lie row by row behind the packed fields before them.
Value CodeReader::byteOf(Value bits, Value inGroup) {
  Value byte = b_.createOrFold<arith::IndexCastUIOp>(loc_, b_.getIndexType(),
                                                     fold<arith::ShRUIOp>(bits, int32(3)));
  int64_t interleave = view_.type.getInterleave();
  if (!interleave)
    return byte;
  Value inField = fold<arith::SubIOp>(byte, index(codes_.inFile));
  Value unit = fold<arith::MulIOp>(fold<arith::DivUIOp>(inField, index(kWord)), index(interleave));
  Value rest = fold<arith::RemUIOp>(inField, index(kWord));
  Value at = fold<arith::MulIOp>(fold<arith::AddIOp>(unit, inGroup), index(kWord));
  return fold<arith::AddIOp>(index(codes_.before * interleave), fold<arith::AddIOp>(at, rest));
}

int64_t CodeReader::alignment() {
  int64_t align = width_;
  if (!view_.type.getInterleave())
    while (align > 1 && (view_.bytes % align || codes_.inFile % align))
      align /= 2;
  return align;
}

Value CodeReader::word(int64_t number, Value byte, Value inGroup, Value when) {
  int64_t element = layout_.registerCoords(number).back() % codes_.length;
  uint32_t fixed = codes_.first + bitsAt(codes_, element);
  Value bits = fold<arith::AddIOp>(threadBits_, int32(fixed));
  byte = fold<arith::AddIOp>(byte, byteOf(bits, inGroup));
  IntegerAttr align = alignment() < width_ ? b_.getI64IntegerAttr(alignment()) : IntegerAttr();
  Value loaded = ViewLoadOp::create(b_, loc_, view_.argument, byte, when, bytes(0), align);
  Value code = loaded;
  if (view_.type.getInterleave() && codes_.packedXor)
    code = arith::XOrIOp::create(b_, loc_, code, bytes(codes_.packedXor));
  if (codes_.width < 8) {
    Value shift = wholeBytes_ ? int32(fixed % 8) : fold<arith::AndIOp>(bits, int32(7));
    if (width_ != kWord)
      shift = b_.createOrFold<arith::TruncIOp>(loc_, word_, shift);
    code = fold<arith::AndIOp>(fold<arith::ShRUIOp>(code, shift), bytes((1u << codes_.width) - 1));
  }
  if (codes_.zero) {
    // Bytes of a word that do not borrow from one another: ((c | 128) - zero) ^ 128.
    Value high = bytes(0x80), zero = bytes(static_cast<uint32_t>(codes_.zero));
    Value less = arith::SubIOp::create(b_, loc_, arith::OrIOp::create(b_, loc_, code, high), zero);
    code = arith::XOrIOp::create(b_, loc_, less, high);
  }
  bool changesZero = codes_.zero || (view_.type.getInterleave() && codes_.packedXor);
  return changesZero ? arith::SelectOp::create(b_, loc_, when, code, bytes(0)).getResult() : code;
}

void CodeReader::split(Value word, SmallVectorImpl<Value> &registers) {
  for (int64_t at = 0; at < width_; ++at) {
    Value one = word;
    if (width_ == kWord) {
      if (at)
        one = arith::ShRUIOp::create(b_, loc_, one, int32(8 * at));
      one = arith::TruncIOp::create(b_, loc_, b_.getI8Type(), one);
    }
    registers.push_back(one);
  }
}

// Codes of all registers as i8.
Distributor::Registers Distributor::codesOf(SimtAccess &access, int64_t width) {
  CodeReader reader(b_, loc_, access.view, access.layout, width, thread_);
  Registers registers;
  for (int64_t number = 0; number < access.layout.registers(); number += width) {
    if (isPadding(access.layout, number)) {
      registers.append(width, arith::ConstantOp::create(b_, loc_, b_.getI8IntegerAttr(0)));
      continue;
    }
    BlockPlace place = blockAt(access, number, 1);
    reader.split(reader.word(number, place.byte, place.inGroup, place.when), registers);
  }
  return registers;
}

// A scale or minimum as f32, zero outside of the view.
Value Distributor::factorAt(const BlockPlace &place, const SimtView &view, StringRef field) {
  auto type = cast<tile::BlockType>(view.type.getElementType());
  Value zero = arith::ConstantOp::create(b_, loc_, b_.getF32FloatAttr(0));
  if (const ActivationFormat *activation = tile::activationFormatOf(type)) {
    int64_t offset = field == "scale" ? 0 : activation->sumOffset(kActivationLength, /*part=*/0);
    return ViewLoadOp::create(b_, loc_, view.argument, add(place.byte, index(offset)), place.when,
                              zero, IntegerAttr());
  }
  const BlockFormat &format = *findBlockFormat(type.getFormat().upper());
  const GroupFactor &factor = field == "scale" ? format.scale : format.min;
  int64_t offset = factor.level1.planes[0].map.byte(0), interleave = view.type.getInterleave();
  Value byte = add(place.byte, index(offset));
  if (interleave) {
    Result<DotPacking> packing = plainDotPacking(format);
    SINTER_CHECK(packing.has_value());
    int64_t packed = packing->packedByte(static_cast<uint32_t>(offset), /*row=*/0);
    byte = add(add(place.byte, index(packed)), mul(place.inGroup, index(2)));
  }
  Value half = arith::ConstantOp::create(b_, loc_, b_.getF16FloatAttr(0));
  Value stored = ViewLoadOp::create(b_, loc_, view.argument, byte, place.when, half, IntegerAttr());
  return arith::ExtFOp::create(b_, loc_, b_.getF32Type(), stored);
}

// scale * (code - zero) - min, each rounded on its own.
Value Distributor::valueOf(const BlockPlace &place, const SimtView &view, Value code) {
  auto type = cast<tile::BlockType>(view.type.getElementType());
  Value number = arith::SIToFPOp::create(b_, loc_, b_.getF32Type(), code);
  Value value = arith::MulFOp::create(b_, loc_, factorAt(place, view, "scale"), number);
  const BlockFormat *format = tile::blockFormatOf(type);
  if (!format || !format->min.present())
    return value;
  Value min = factorAt(place, view, "min");
  return format->min.offset < 0 ? arith::AddFOp::create(b_, loc_, value, min).getResult()
                                : arith::SubFOp::create(b_, loc_, value, min).getResult();
}

LogicalResult Distributor::emitBlockLoad(BlockLoadOp op) {
  const SimtView &view = views_.find(op.getView())->second;
  auto type = cast<tile::BlockType>(view.type.getElementType());
  const BlockFormat *format = tile::blockFormatOf(type);
  if (!tile::activationFormatOf(type)) {
    Result<DotPacking> packing =
        format ? plainDotPacking(*format)
               : Result<DotPacking>(fail(Code::NotFound, "format is unknown"));
    const bool inWords = view.type.getInterleave() == kWordRows;
    if (format && !format->isPlain() && (inWords || (!packing && op.getField() == "value")))
      return emitBlockValues(op, *format);
    if (!packing)
      return op.emitOpError() << packing.error().message;
  }
  SimtLayout layout = SimtLayout::of(op.getResult().getType());
  SimtAccess access = accessOf(view, op.getOffsets(), layout);
  StringRef field = op.getField();
  int last = layout.rank() - 1;
  Registers registers;
  if (field == "code" || field == "value")
    registers = codesOf(access, layout.vector(last) >= kWord ? kWord : 1);
  if (field != "code")
    for (int64_t number = 0; number < layout.registers(); ++number) {
      if (isPadding(layout, number)) {
        Value zero = arith::ConstantOp::create(b_, loc_, b_.getF32FloatAttr(0));
        field == "value" ? void(registers[number] = zero) : registers.push_back(zero);
        continue;
      }
      if (field == "value") {
        registers[number] = valueOf(blockAt(access, number, 1), view, registers[number]);
        continue;
      }
      Value factor = factorAt(blockAt(access, number, view.length), view, field);
      if (field == "min" && format->min.offset > 0)
        factor = arith::NegFOp::create(b_, loc_, factor);
      registers.push_back(factor);
    }
  registers_[op.getResult()] = std::move(registers);
  return success();
}

// Where a field lies in a block that kernels round to.
static int64_t storedOffset(tile::BlockType type, StringRef field) {
  if (const ActivationFormat *activation = tile::activationFormatOf(type))
    return field == "scale"   ? 0
           : field == "sum"   ? activation->sumOffset(kActivationLength, /*part=*/0)
           : field == "start" ? activation->startOffset(kActivationLength, /*part=*/0)
                              : activation->codeOffset();
  Result<ByteBlocks> bytes = byteBlocks(*findBlockFormat(type.getFormat().upper()));
  SINTER_CHECK(bytes.has_value());
  return field == "scale" ? bytes->scaleOffset : bytes->codeOffset;
}

LogicalResult Distributor::emitBlockStore(BlockStoreOp op) {
  const SimtView &view = views_.find(op.getView())->second;
  SimtLayout layout = SimtLayout::of(op.getValue().getType());
  SimtAccess access = accessOf(view, op.getOffsets(), layout);
  const Registers &registers = registersOf(op.getValue());
  StringRef field = op.getField();
  int last = layout.rank() - 1;
  bool codes = field == "code";
  int64_t offset = storedOffset(cast<tile::BlockType>(view.type.getElementType()), field);
  bool words =
      codes && layout.vector(last) >= kWord && offset % kWord == 0 && view.bytes % kWord == 0;
  int64_t width = words ? kWord : 1;
  Value first = firstCopy(layout);
  Value inBlock = index(0);
  if (codes)
    inBlock = b_.createOrFold<arith::RemUIOp>(loc_, toIndex(threadPart(layout)[last]),
                                              index(view.length));
  for (int64_t number = 0; number < layout.registers(); number += width) {
    if (isPadding(layout, number))
      continue;
    BlockPlace place = blockAt(access, number, codes ? 1 : view.length);
    int64_t element = codes ? layout.registerCoords(number)[last] % view.length : 0;
    ViewStoreOp::create(b_, loc_, vectorFrom(ArrayRef<Value>(registers).slice(number, width)),
                        view.argument, add(add(place.byte, inBlock), index(offset + element)),
                        both(both(stores_, first), place.when), IntegerAttr());
  }
  return success();
}

} // namespace sinter::sched
