// Items of blocks as numbers, in the steps of the format table (numeric/formats/block_format.h).
#include "targets/cpu/emission/block_fields.h"

#include "numeric/formats/dot_packing.h"

using namespace mlir;

namespace sinter::targets::cpu {

static Type ofLanes(Type element, size_t lanes) {
  return lanes == 1 ? element : Type(VectorType::get({static_cast<int64_t>(lanes)}, element));
}

static Type withElement(Type type, Type element) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(element)) : element;
}

// ---- bytes ----

Value BlockBytes::load(Value base, uint32_t byte, Type type) {
  Value from = LLVM::GEPOp::create(b_, loc_, base.getType(), b_.getI8Type(), base,
                                   ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(byte)});
  return LLVM::LoadOp::create(b_, loc_, type, from, 1);
}

Value BlockBytes::toWords(Value loaded) {
  Type words = withElement(loaded.getType(), b_.getI32Type());
  return loaded.getType() == words ? loaded
                                   : arith::ExtUIOp::create(b_, loc_, words, loaded).getResult();
}

Value BlockBytes::toLanes(Value loaded, ArrayRef<int64_t> moves) {
  int64_t count = cast<VectorType>(loaded.getType()).getDimSize(0);
  bool inPlace = moves.size() == size_t(count) && llvm::equal(moves, llvm::seq<int64_t>(0, count));
  return toWords(inPlace ? loaded
                         : vector::ShuffleOp::create(b_, loc_, loaded, loaded, moves).getResult());
}

// The stretch of the block that holds the lanes' bytes, moved to their lanes.
Value WholeBlock::bytes(ArrayRef<uint32_t> at) {
  uint32_t first = *llvm::min_element(at), count = *llvm::max_element(at) - first + 1;
  Value loaded = load(block_, first, ofLanes(b_.getI8Type(), at.size() == 1 ? 1 : count));
  if (at.size() == 1)
    return toWords(loaded);
  if (count == 1)
    return toWords(
        vector::BroadcastOp::create(b_, loc_, ofLanes(b_.getI8Type(), at.size()), loaded));
  return toLanes(loaded,
                 llvm::map_to_vector(at, [&](uint32_t byte) -> int64_t { return byte - first; }));
}

Value WholeBlock::word(uint32_t first, uint32_t count) {
  return toWords(load(block_, first, b_.getIntegerType(8 * count)));
}

// The unit of the row that begins with byte `first` of the file's block, as it lies.
Value PackedRow::unit(const PackedField &field, uint32_t first) {
  Value bytes = arith::MulIOp::create(b_, loc_, row_,
                                      arith::ConstantIndexOp::create(b_, loc_, field.unitBytes));
  Value offset = arith::IndexCastOp::create(b_, loc_, b_.getI64Type(), bytes);
  Value units = LLVM::GEPOp::create(b_, loc_, base_.getType(), b_.getI8Type(), base_,
                                    ArrayRef<LLVM::GEPArg>{offset});
  return toWords(
      load(units, packing_.packedByte(first, 0), b_.getIntegerType(8 * field.unitBytes)));
}

// What packing did to units (numeric/formats/dot_packing.h), undone.
Value PackedRow::inFilesOrder(const PackedField &field, Value words) {
  auto constant = [&](uint32_t v) -> Value {
    return arith::ConstantOp::create(
        b_, loc_, DenseElementsAttr::get(cast<VectorType>(words.getType()), int32_t(v)));
  };
  if (field.xorByte)
    words = arith::XOrIOp::create(b_, loc_, words, constant(field.xorByte * 0x01010101u));
  if (field.itemBits == 8)
    return words;
  Value turned;
  for (uint32_t item = 0, bits = field.itemBits; item < 32 / bits; ++item) {
    Value part = words;
    if (uint32_t from = 8 * (item % 4) + item / 4 * bits)
      part = arith::ShRUIOp::create(b_, loc_, part, constant(from));
    part = arith::AndIOp::create(b_, loc_, part, constant((1u << bits) - 1));
    if (item)
      part = arith::ShLIOp::create(b_, loc_, part, constant(item * bits));
    turned = turned ? arith::OrIOp::create(b_, loc_, turned, part).getResult() : part;
  }
  return turned;
}

// All places are of one field.
Value PackedRow::bytes(ArrayRef<uint32_t> at) {
  const PackedField &field = packing_.fieldAt(at.front());
  SmallVector<uint32_t> firsts = llvm::map_to_vector(
      at, [&](uint32_t byte) { return byte - (byte - field.offset) % field.unitBytes; });
  SmallVector<uint32_t> units = firsts;
  llvm::sort(units);
  units.erase(llvm::unique(units), units.end());
  SmallVector<Value> words =
      llvm::map_to_vector(units, [&](uint32_t first) { return unit(field, first); });
  auto count = static_cast<int64_t>(units.size());
  auto type = VectorType::get({count}, b_.getI32Type());
  Value all = inFilesOrder(field, vector::FromElementsOp::create(b_, loc_, type, words));
  Value loaded =
      LLVM::BitcastOp::create(b_, loc_, VectorType::get({4 * count}, b_.getI8Type()), all);
  SmallVector<int64_t> moves;
  for (auto [byte, first] : llvm::zip_equal(at, firsts))
    moves.push_back(4 * (llvm::lower_bound(units, first) - units.begin()) + (byte - first));
  Value lanes = toLanes(loaded, moves);
  return at.size() == 1 ? vector::ExtractOp::create(b_, loc_, lanes, 0).getResult() : lanes;
}

Value PackedRow::word(uint32_t first, uint32_t count) {
  const PackedField &field = packing_.fieldAt(first);
  bool whole = field.unitBytes == count && (first - field.offset) % count == 0 && !field.xorByte &&
               field.itemBits == 8;
  return whole ? unit(field, first) : Value();
}

Value PackedBlocks::unitAt(uint32_t byte, uint32_t unitBytes) {
  auto type = VectorType::get({lanes_}, b_.getIntegerType(8 * unitBytes));
  return toWords(load(base_, packing_.packedByte(byte, firstRow_), type));
}

Value PackedBlocks::bytes(ArrayRef<uint32_t> at) {
  const PackedField &field = packing_.fieldAt(at.front());
  uint32_t within = (at.front() - field.offset) % field.unitBytes;
  Value unit = unitAt(at.front() - within, field.unitBytes);
  auto constant = [&](int32_t v) -> Value {
    return arith::ConstantOp::create(b_, loc_,
                                     DenseElementsAttr::get(cast<VectorType>(unit.getType()), v));
  };
  if (within)
    unit = arith::ShRUIOp::create(b_, loc_, unit, constant(static_cast<int32_t>(8 * within)));
  return within + 1 == field.unitBytes ? unit
                                       : arith::AndIOp::create(b_, loc_, unit, constant(0xff));
}

Value PackedBlocks::word(uint32_t first, uint32_t count) {
  const PackedField &field = packing_.fieldAt(first);
  bool whole = field.unitBytes == count && (first - field.offset) % count == 0;
  return whole ? unitAt(first, count) : Value();
}

Value PackedBlocks::codes(uint32_t byte) {
  return load(base_, byte * kInterleavedRows + firstRow_ * 4,
              VectorType::get({lanes_ * 4}, b_.getI8Type()));
}

// ---- items ----

Value FieldReader::ints(Type like, ArrayRef<int32_t> values) {
  if (auto vector = dyn_cast<VectorType>(like)) {
    SmallVector<int32_t> all(values);
    all.resize(vector.getNumElements(), values.back());
    return arith::ConstantOp::create(b_, loc_, DenseIntElementsAttr::get(vector, all));
  }
  return arith::ConstantOp::create(b_, loc_, b_.getI32IntegerAttr(values.front()));
}

Value FieldReader::splat(Type like, float value) {
  if (auto vector = dyn_cast<VectorType>(like))
    return arith::ConstantOp::create(b_, loc_, DenseElementsAttr::get(vector, value));
  return arith::ConstantOp::create(b_, loc_, b_.getF32FloatAttr(value));
}

Value FieldReader::spread(Value value, Type like) {
  auto vector = dyn_cast<VectorType>(like);
  return !vector || value.getType() == like
             ? value
             : vector::BroadcastOp::create(b_, loc_, vector, value).getResult();
}

// The bytes that hold the items' bits. The last item of a block may lie in fewer of them than
// others: the bits beyond are masked off.
Value FieldReader::heldBits(const BitPlane &plane, ArrayRef<uint32_t> items, uint32_t bytes) {
  if (items.size() == 1 && (bytes == 2 || bytes == 4))
    if (Value word = source_.word(plane.map.byte(items.front()), bytes))
      return word;
  Value word;
  for (uint32_t byte = 0; byte < bytes; ++byte) {
    Value part = source_.bytes(llvm::map_to_vector(items, [&](uint32_t i) {
      uint32_t last = (plane.map.bit(i) + plane.width - 1) / 8;
      return std::min(plane.map.byte(i) + byte, last);
    }));
    if (byte)
      part = arith::ShLIOp::create(b_, loc_, part,
                                   ints(part.getType(), static_cast<int32_t>(8 * byte)));
    word = word ? arith::OrIOp::create(b_, loc_, word, part).getResult() : part;
  }
  return word;
}

Value FieldReader::bitsOf(const BitPlane &plane, ArrayRef<uint32_t> items) {
  auto shifts = llvm::map_to_vector(
      items, [&](uint32_t i) { return static_cast<int32_t>(plane.map.shift(i)); });
  uint32_t most = *llvm::max_element(shifts), held = llvm::divideCeil(most + plane.width, 8);
  Value word = heldBits(plane, items, held);
  if (llvm::any_of(shifts, [](int32_t s) { return s != 0; }))
    word = arith::ShRUIOp::create(b_, loc_, word, ints(word.getType(), shifts));
  bool masked = most + plane.width < 8 * held || !llvm::all_equal(shifts);
  if (masked && plane.width < 32)
    word = arith::AndIOp::create(
        b_, loc_, word, ints(word.getType(), static_cast<int32_t>((1u << plane.width) - 1)));
  return word;
}

Value FieldReader::raw(const Field &field, ArrayRef<uint32_t> items) {
  if (llvm::all_equal(items))
    items = items.take_front(1);
  Value all;
  for (const BitPlane &plane : field.used()) {
    Value bits = bitsOf(plane, items);
    if (plane.shift)
      bits = arith::ShLIOp::create(b_, loc_, bits, ints(bits.getType(), plane.shift));
    all = all ? arith::OrIOp::create(b_, loc_, all, bits).getResult() : bits;
  }
  return all;
}

// 2^(raw - 128), subnormal below 2.
Value FieldReader::e8m0Half(Value raw, Type floats) {
  Type type = raw.getType();
  Value normal = arith::ShLIOp::create(
      b_, loc_, arith::SubIOp::create(b_, loc_, raw, ints(type, 1)), ints(type, 23));
  Value tiny = arith::ShLIOp::create(b_, loc_, ints(type, 0x00200000), raw);
  Value small = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::ult, raw, ints(type, 2));
  return arith::BitcastOp::create(b_, loc_, floats,
                                  arith::SelectOp::create(b_, loc_, small, tiny, normal));
}

// E4M3 without its sign; 0x7f is 0.
Value FieldReader::ue4m3(Value raw, Type floats) {
  Type type = raw.getType();
  Value size = arith::AndIOp::create(b_, loc_, raw, ints(type, 0x7f));
  Value normal = arith::AddIOp::create(
      b_, loc_, arith::ShLIOp::create(b_, loc_, size, ints(type, 20)), ints(type, 120 << 23));
  Value tiny = arith::MulFOp::create(b_, loc_, arith::UIToFPOp::create(b_, loc_, floats, size),
                                     splat(floats, 1.0f / 512));
  Value small = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::ult, size, ints(type, 8));
  Value value = arith::SelectOp::create(b_, loc_, small, tiny,
                                        arith::BitcastOp::create(b_, loc_, floats, normal));
  Value none = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::eq, raw, ints(type, 0x7f));
  return arith::SelectOp::create(b_, loc_, none, splat(floats, 0), value);
}

Value FieldReader::signExtended(Value bits, const Field &field) {
  Value free = ints(bits.getType(), static_cast<int32_t>(32 - field.width()));
  return arith::ShRSIOp::create(b_, loc_, arith::ShLIOp::create(b_, loc_, bits, free), free);
}

Value FieldReader::number(const Field &field, ArrayRef<uint32_t> items) {
  Value bits = raw(field, items);
  Type type = bits.getType(), floats = withElement(type, b_.getF32Type());
  auto narrow = [&](Type element) -> Value {
    Value half = arith::TruncIOp::create(b_, loc_, withElement(type, b_.getIntegerType(16)), bits);
    half = arith::BitcastOp::create(b_, loc_, withElement(type, element), half);
    return arith::ExtFOp::create(b_, loc_, floats, half);
  };
  switch (field.number) {
  case Number::Unsigned:
    return arith::UIToFPOp::create(b_, loc_, floats, bits);
  case Number::Signed:
    return arith::SIToFPOp::create(b_, loc_, floats, signExtended(bits, field));
  case Number::F16:
    return narrow(b_.getF16Type());
  case Number::BF16:
    return narrow(b_.getBF16Type());
  case Number::F32:
    return arith::BitcastOp::create(b_, loc_, floats, bits);
  case Number::E8m0Half:
    return e8m0Half(bits, floats);
  case Number::Ue4m3:
    return ue4m3(bits, floats);
  case Number::F64:
  case Number::E4m3:
    break; // of plain types, which are no blocks
  }
  return {};
}

Value FieldReader::steps(const GroupFactor &factor, ArrayRef<uint32_t> elements) {
  Value number =
      raw(factor.level2,
          llvm::map_to_vector(elements, [&](uint32_t e) { return e / factor.level2Length; }));
  Type type = number.getType();
  if (factor.level2.number == Number::Signed)
    number = signExtended(number, factor.level2);
  if (factor.step != 1)
    number = arith::MulIOp::create(b_, loc_, number, ints(type, static_cast<int32_t>(factor.step)));
  if (factor.offset != 0)
    number =
        arith::AddIOp::create(b_, loc_, number, ints(type, static_cast<int32_t>(factor.offset)));
  return number;
}

// level1 * (step * level2 + offset)
Value FieldReader::factor(const GroupFactor &factor, ArrayRef<uint32_t> elements) {
  auto groups = [&](uint32_t length) {
    return llvm::map_to_vector(elements, [&](uint32_t e) { return e / length; });
  };
  Value outer = number(factor.level1, groups(factor.level1Length));
  if (!factor.level2Length && factor.offset == 1)
    return outer;
  if (!factor.level2Length)
    return arith::MulFOp::create(b_, loc_, outer, splat(outer.getType(), factor.offset));
  Value inner = number(factor.level2, groups(factor.level2Length));
  Type type = inner.getType();
  if (factor.step != 1)
    inner = arith::MulFOp::create(b_, loc_, inner, splat(type, factor.step));
  if (factor.offset != 0)
    inner = arith::AddFOp::create(b_, loc_, inner, splat(type, factor.offset));
  outer = spread(outer, type);
  return arith::MulFOp::create(b_, loc_, outer, spread(inner, outer.getType()));
}

} // namespace sinter::targets::cpu
