// Emission, decoding: elements of any block format as f32, in the steps of the format table
// (numeric/block_format.h), each rounded on its own.
#include "target/cpu/emitter.h"

#include "numeric/block_format.h"

using namespace mlir;

namespace sinter::target::cpu {

static const BlockFormat *formatOf(Type element) {
  return findBlockFormat(cast<tile::BlockType>(element).getFormat().upper());
}

namespace {

/// Arithmetic on the items of one field: scalars where all lanes read the same item, else vectors.
class FieldReader {
public:
  FieldReader(OpBuilder &b, Location loc, Value block) : b_(b), loc_(loc), block_(block) {}

  /// Item `items[lane]` of the field as raw bits (i32) and as a number (f32); one lane where all
  /// are the same.
  Value raw(const Field &field, ArrayRef<uint32_t> items);
  Value number(const Field &field, ArrayRef<uint32_t> items);

  Value ints(Type like, ArrayRef<int32_t> values);
  Value splat(Type like, float value);

private:
  Value bytes(ArrayRef<uint32_t> at);
  Value bitsOf(const BitPlane &plane, ArrayRef<uint32_t> items);
  Type f32s(Value ints) { return clone(ints.getType(), b_.getF32Type()); }
  static Type clone(Type type, Type element) {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? Type(vector.clone(element)) : element;
  }
  Value same(Type like, int32_t value) { return ints(like, value); }

  OpBuilder &b_;
  Location loc_;
  Value block_;
};

} // namespace

static Type ofLanes(Type element, size_t lanes) {
  return lanes == 1 ? element : Type(VectorType::get({static_cast<int64_t>(lanes)}, element));
}

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

// One byte a lane as i32: the stretch of the block that holds them, its bytes moved to their lanes.
Value FieldReader::bytes(ArrayRef<uint32_t> at) {
  uint32_t first = *llvm::min_element(at), count = *llvm::max_element(at) - first + 1;
  Value from = LLVM::GEPOp::create(b_, loc_, block_.getType(), b_.getI8Type(), block_,
                                   ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(first)});
  Value loaded =
      LLVM::LoadOp::create(b_, loc_, ofLanes(b_.getI8Type(), at.size() == 1 ? 1 : count), from, 1);
  if (at.size() > 1 && count == 1)
    loaded = vector::BroadcastOp::create(b_, loc_, ofLanes(b_.getI8Type(), at.size()), loaded);
  else if (at.size() > 1) {
    SmallVector<int64_t> moves =
        llvm::map_to_vector(at, [&](uint32_t byte) -> int64_t { return byte - first; });
    bool inPlace = count == at.size() && llvm::equal(moves, llvm::seq<int64_t>(0, count));
    if (!inPlace)
      loaded = vector::ShuffleOp::create(b_, loc_, loaded, loaded, moves);
  }
  return arith::ExtUIOp::create(b_, loc_, ofLanes(b_.getI32Type(), at.size()), loaded);
}

Value FieldReader::bitsOf(const BitPlane &plane, ArrayRef<uint32_t> items) {
  auto shifts = llvm::map_to_vector(
      items, [&](uint32_t i) { return static_cast<int32_t>(plane.map.shift(i)); });
  uint32_t held = llvm::divideCeil(*llvm::max_element(shifts) + plane.width, 8);
  Value word;
  for (uint32_t byte = 0; byte < held; ++byte) {
    // The last item of a block may lie in fewer bytes than others: the bits beyond are masked off.
    Value part = bytes(llvm::map_to_vector(items, [&](uint32_t i) {
      uint32_t last = (plane.map.bit(i) + plane.width - 1) / 8;
      return std::min(plane.map.byte(i) + byte, last);
    }));
    if (byte)
      part = arith::ShLIOp::create(b_, loc_, part, same(part.getType(), 8 * byte));
    word = word ? arith::OrIOp::create(b_, loc_, word, part).getResult() : part;
  }
  if (llvm::any_of(shifts, [](int32_t s) { return s != 0; }))
    word = arith::ShRUIOp::create(b_, loc_, word, ints(word.getType(), shifts));
  if (plane.width < 32)
    word = arith::AndIOp::create(
        b_, loc_, word, same(word.getType(), static_cast<int32_t>((1u << plane.width) - 1)));
  return word;
}

Value FieldReader::raw(const Field &field, ArrayRef<uint32_t> items) {
  if (llvm::all_equal(items))
    items = items.take_front(1);
  Value all;
  for (const BitPlane &plane : field.used()) {
    Value bits = bitsOf(plane, items);
    if (plane.shift)
      bits = arith::ShLIOp::create(b_, loc_, bits, same(bits.getType(), plane.shift));
    all = all ? arith::OrIOp::create(b_, loc_, all, bits).getResult() : bits;
  }
  return all;
}

// 2^(raw - 128), subnormal below 2.
static Value e8m0Half(OpBuilder &b, Location loc, FieldReader &f, Value raw, Type floats) {
  Type type = raw.getType();
  Value normal = arith::ShLIOp::create(b, loc, arith::SubIOp::create(b, loc, raw, f.ints(type, 1)),
                                       f.ints(type, 23));
  Value tiny = arith::ShLIOp::create(b, loc, f.ints(type, 0x00200000), raw);
  Value small = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, raw, f.ints(type, 2));
  return arith::BitcastOp::create(b, loc, floats,
                                  arith::SelectOp::create(b, loc, small, tiny, normal));
}

// E4M3 without its sign; 0x7f is 0.
static Value ue4m3(OpBuilder &b, Location loc, FieldReader &f, Value raw, Type floats) {
  Type type = raw.getType();
  Value size = arith::AndIOp::create(b, loc, raw, f.ints(type, 0x7f));
  Value normal = arith::AddIOp::create(
      b, loc, arith::ShLIOp::create(b, loc, size, f.ints(type, 20)), f.ints(type, 120 << 23));
  Value tiny = arith::MulFOp::create(b, loc, arith::UIToFPOp::create(b, loc, floats, size),
                                     f.splat(floats, 1.0f / 512));
  Value small = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, size, f.ints(type, 8));
  Value value = arith::SelectOp::create(b, loc, small, tiny,
                                        arith::BitcastOp::create(b, loc, floats, normal));
  Value none = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, raw, f.ints(type, 0x7f));
  return arith::SelectOp::create(b, loc, none, f.splat(floats, 0), value);
}

Value FieldReader::number(const Field &field, ArrayRef<uint32_t> items) {
  Value bits = raw(field, items);
  Type type = bits.getType(), floats = f32s(bits);
  auto narrow = [&](Type element) -> Value {
    Value half = arith::TruncIOp::create(b_, loc_, clone(type, b_.getIntegerType(16)), bits);
    half = arith::BitcastOp::create(b_, loc_, clone(type, element), half);
    return arith::ExtFOp::create(b_, loc_, floats, half);
  };
  switch (field.number) {
  case Number::Unsigned:
    return arith::UIToFPOp::create(b_, loc_, floats, bits);
  case Number::Signed: {
    Value free = same(type, static_cast<int32_t>(32 - field.width()));
    bits = arith::ShLIOp::create(b_, loc_, bits, free);
    bits = arith::ShRSIOp::create(b_, loc_, bits, free);
    return arith::SIToFPOp::create(b_, loc_, floats, bits);
  }
  case Number::F16:
    return narrow(b_.getF16Type());
  case Number::BF16:
    return narrow(b_.getBF16Type());
  case Number::F32:
    return arith::BitcastOp::create(b_, loc_, floats, bits);
  case Number::E8m0Half:
    return e8m0Half(b_, loc_, *this, bits, floats);
  case Number::Ue4m3:
    return ue4m3(b_, loc_, *this, bits, floats);
  case Number::F64:
    break; // of plain types, which are no blocks
  }
  return {};
}

namespace {

/// Elements [first, first + width) of one block.
class BlockDecoder {
public:
  BlockDecoder(OpBuilder &b, Location loc, Value block, const BlockFormat &format, int64_t first,
               int64_t width)
      : b_(b), loc_(loc), format_(format), fields_(b, loc, block),
        floats_(VectorType::get({width}, b.getF32Type())) {
    for (int64_t i = 0; i < width; ++i)
      elements_.push_back(static_cast<uint32_t>(first + i));
  }

  Value decode(Value table);

private:
  Value numbers(Value table);
  Value fromTable(Value table);
  Value negated(Value value);
  Value factor(const GroupFactor &factor);
  SmallVector<uint32_t> groups(uint32_t length) {
    return llvm::map_to_vector(elements_, [&](uint32_t e) { return e / length; });
  }
  Value spread(Value value) {
    return value.getType() == floats_
               ? value
               : vector::BroadcastOp::create(b_, loc_, floats_, value).getResult();
  }

  OpBuilder &b_;
  Location loc_;
  const BlockFormat &format_;
  FieldReader fields_;
  VectorType floats_;
  SmallVector<uint32_t> elements_;
};

} // namespace

// Entry raw(code) * lanes + lane of the table, which lies in memory as f32.
Value BlockDecoder::fromTable(Value table) {
  auto words = floats_.clone(b_.getI32Type());
  auto at = llvm::map_to_vector(elements_, [&](uint32_t e) { return format_.codeOf(e); });
  Value raw =
      fields_.raw(format_.code, llvm::map_to_vector(at, [](const CodeAt &a) { return a.code; }));
  if (raw.getType() != words)
    raw = vector::BroadcastOp::create(b_, loc_, words, raw);
  if (format_.table.lanes > 1) {
    raw = arith::MulIOp::create(b_, loc_, raw, fields_.ints(words, format_.table.lanes));
    raw = arith::AddIOp::create(b_, loc_, raw,
                                fields_.ints(words, llvm::map_to_vector(at, [](const CodeAt &a) {
                                               return static_cast<int32_t>(a.lane);
                                             })));
  }
  auto pointers = VectorType::get(floats_.getShape(), table.getType());
  Value entries =
      LLVM::GEPOp::create(b_, loc_, pointers, b_.getF32Type(), table, ArrayRef<LLVM::GEPArg>{raw});
  Value all = arith::ConstantOp::create(
      b_, loc_, DenseElementsAttr::get(floats_.clone(b_.getI1Type()), true));
  return LLVM::masked_gather::create(b_, loc_, floats_, entries, all,
                                     ValueRange{fields_.splat(floats_, 0)}, 4u);
}

// One sign bit an element; of items of seven bits the eighth is their parity.
Value BlockDecoder::negated(Value value) {
  auto words = floats_.clone(b_.getI32Type());
  constexpr uint32_t kLanes = BlockFormat::kSignLanes;
  Value raw = fields_.raw(format_.sign, groups(kLanes));
  if (raw.getType() != words)
    raw = vector::BroadcastOp::create(b_, loc_, words, raw);
  if (format_.sign.width() < kLanes) {
    Value parity = LLVM::CtPopOp::create(b_, loc_, words, raw);
    parity = arith::AndIOp::create(b_, loc_, parity, fields_.ints(words, 1));
    parity = arith::ShLIOp::create(b_, loc_, parity,
                                   fields_.ints(words, static_cast<int32_t>(format_.sign.width())));
    raw = arith::OrIOp::create(b_, loc_, raw, parity);
  }
  auto up = llvm::map_to_vector(elements_,
                                [](uint32_t e) { return static_cast<int32_t>(31 - e % kLanes); });
  Value sign = arith::ShLIOp::create(b_, loc_, raw, fields_.ints(words, up));
  sign = arith::AndIOp::create(b_, loc_, sign, fields_.ints(words, INT32_MIN));
  Value bits = arith::BitcastOp::create(b_, loc_, words, value);
  return arith::BitcastOp::create(b_, loc_, floats_, arith::XOrIOp::create(b_, loc_, bits, sign));
}

Value BlockDecoder::numbers(Value table) {
  if (table) {
    Value value = fromTable(table);
    return format_.sign.present() ? negated(value) : value;
  }
  return spread(fields_.number(format_.code, llvm::map_to_vector(elements_, [&](uint32_t e) {
                                 return format_.codeOf(e).code;
                               })));
}

// level1 * (step * level2 + offset)
Value BlockDecoder::factor(const GroupFactor &factor) {
  Value outer = fields_.number(factor.level1, groups(factor.level1Length));
  if (!factor.level2Length && factor.offset == 1)
    return spread(outer);
  if (!factor.level2Length)
    return spread(
        arith::MulFOp::create(b_, loc_, outer, fields_.splat(outer.getType(), factor.offset)));
  Value inner = fields_.number(factor.level2, groups(factor.level2Length));
  Type type = inner.getType();
  if (factor.step != 1)
    inner = arith::MulFOp::create(b_, loc_, inner, fields_.splat(type, factor.step));
  if (factor.offset != 0)
    inner = arith::AddFOp::create(b_, loc_, inner, fields_.splat(type, factor.offset));
  if (outer.getType() != type) {
    outer = spread(outer);
    inner = spread(inner);
  }
  return spread(arith::MulFOp::create(b_, loc_, outer, inner));
}

Value BlockDecoder::decode(Value table) {
  Value value = numbers(table);
  const ZeroPoint &zero = format_.zero;
  if (zero.field.present()) {
    Value taken = fields_.number(zero.field, groups(zero.groupLength));
    Type type = taken.getType();
    taken = arith::MulFOp::create(b_, loc_, taken, fields_.splat(type, zero.step));
    taken = arith::AddFOp::create(b_, loc_, taken, fields_.splat(type, zero.base));
    value = arith::SubFOp::create(b_, loc_, value, spread(taken));
  } else if (zero.base != 0) {
    value = arith::SubFOp::create(b_, loc_, value, fields_.splat(floats_, zero.base));
  }
  value = arith::MulFOp::create(b_, loc_, factor(format_.scale), value);
  if (format_.min.present())
    value = arith::SubFOp::create(b_, loc_, value, factor(format_.min));
  return value;
}

// The format's table as f32 in the module's constant memory; null where it has none.
Value Emitter::tableOf(const BlockFormat &format) {
  if (!format.table.present())
    return {};
  std::string name = "sinter_table_" + std::string(format.name);
  auto global = module_.lookupSymbol<LLVM::GlobalOp>(name);
  if (!global) {
    size_t count = size_t(format.table.count) * format.table.lanes;
    SmallVector<float> values(format.table.values, format.table.values + count);
    auto type = RankedTensorType::get({static_cast<int64_t>(count)}, b_.getF32Type());
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(module_.getBody());
    global = LLVM::GlobalOp::create(b_, loc_, LLVM::LLVMArrayType::get(b_.getF32Type(), count),
                                    /*isConstant=*/true, LLVM::Linkage::Private, name,
                                    DenseElementsAttr::get(type, ArrayRef<float>(values)),
                                    /*alignment=*/64);
  }
  return LLVM::AddressOfOp::create(b_, loc_, global);
}

// Elements of `shape` from `start` on in a tile of whole blocks.
LogicalResult Emitter::decodePart(tile::DecodeOp op, Value into, ArrayRef<int64_t> start) {
  auto type = cast<RankedTensorType>(into.getType());
  auto from = cast<RankedTensorType>(op.getValue().getType());
  auto load = op.getValue().getDefiningOp<tile::LoadOp>();
  const BlockFormat *format = formatOf(from.getElementType());
  if (!load || !format)
    return op.emitOpError() << "decodes " << from << ": "
                            << (format ? "expected a tile loaded from a view"
                                       : "format is unknown");
  const EmittedView &view = views_.find(load.getView())->second;
  int64_t length = format->blockLength, last = type.getRank() - 1;
  if (type.getDimSize(last) % facts_.lanes != 0 || start[last] % facts_.lanes != 0 ||
      view.type.getInterleave())
    return op.emitOpError() << "decodes " << type << " of " << view.type
                            << ", expected whole vectors of rows that are not side by side";
  SmallVector<Value> offsets = scalarsOf(load.getOffsets());
  Value table = tableOf(*format);
  Pieces pieces{SmallVector<int64_t>(type.getShape()), last, false, {}};
  forEachPiece(type.getShape(), last, [&](ArrayRef<int64_t> at, int64_t width) {
    SmallVector<Value> where;
    for (auto [offset, first, step] : llvm::zip_equal(offsets, start, at))
      where.push_back(add(offset, index(first + step)));
    Place place = placeOf(view, where, -1);
    Value number = arith::DivUIOp::create(b_, loc_, place.elements, index(length));
    Value block = bytesAt(view.base, mul(number, index(format->blockBytes)));
    if (place.valid)
      block = arith::SelectOp::create(b_, loc_, place.valid, block, scratch_);
    pieces.values.push_back(
        BlockDecoder(b_, loc_, block, *format, (start[last] + at[last]) % length, width)
            .decode(table));
  });
  tiles_[into] = pieces;
  return success();
}

// Parts that slices take are decoded where they are taken.
LogicalResult Emitter::emitDecode(tile::DecodeOp op) {
  if (llvm::all_of(op->getUsers(), [](Operation *user) { return isa<tile::SliceOp>(user); }))
    return success();
  SmallVector<int64_t> start(cast<RankedTensorType>(op.getType()).getRank(), 0);
  return decodePart(op, op.getResult(), start);
}

LogicalResult Emitter::emitSlice(tile::SliceOp op) {
  auto decode = op.getValue().getDefiningOp<tile::DecodeOp>();
  if (!decode)
    return op.emitOpError() << "takes a part of " << op.getValue().getType()
                            << " in registers, expected one of a decoded tile";
  return decodePart(decode, op.getResult(), op.getOffsets());
}

} // namespace sinter::target::cpu
