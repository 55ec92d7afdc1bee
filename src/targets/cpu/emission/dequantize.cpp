// Emission, dequantizing: elements of any block format as f32, in the steps of the format table
// (numeric/formats/block_format.h), each rounded on its own.
#include "targets/cpu/emission/block_fields.h"
#include "targets/cpu/emission/emitter.h"

#include "numeric/formats/dot_packing.h"

using namespace mlir;

namespace sinter::targets::cpu {

namespace {

/// Elements [first, first + width) of one block.
class BlockDequantizer {
public:
  BlockDequantizer(OpBuilder &b, Location loc, BlockBytes &block, const BlockFormat &format,
                   int64_t first, int64_t width)
      : b_(b), loc_(loc), format_(format), fields_(b, loc, block),
        floats_(VectorType::get({width}, b.getF32Type())) {
    for (int64_t i = 0; i < width; ++i)
      elements_.push_back(static_cast<uint32_t>(first + i));
  }

  Value dequantize(Value table);

private:
  Value numbers(Value table);
  Value fromTable(Value table);
  Value fromEntries(Value table);
  Value signsOf(uint32_t item);
  Value negated(Value value);
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

// Vectors side by side as one, in pairs.
static Value joined(OpBuilder &b, Location loc, SmallVector<Value> parts) {
  while (parts.size() > 1) {
    SmallVector<Value> pairs;
    for (size_t at = 0; at + 1 < parts.size(); at += 2) {
      int64_t width = cast<VectorType>(parts[at].getType()).getDimSize(0) +
                      cast<VectorType>(parts[at + 1].getType()).getDimSize(0);
      pairs.push_back(vector::ShuffleOp::create(b, loc, parts[at], parts[at + 1],
                                                llvm::to_vector(llvm::seq<int64_t>(0, width))));
    }
    if (parts.size() % 2)
      pairs.push_back(parts.back());
    parts = std::move(pairs);
  }
  return parts.front();
}

// Entries raw(code) of the table, which lies in memory as f32: one of a number for each element.
Value BlockDequantizer::fromTable(Value table) {
  auto words = floats_.clone(b_.getI32Type());
  Value raw = fields_.raw(format_.code, llvm::map_to_vector(elements_, [&](uint32_t e) {
                            return format_.codeOf(e).code;
                          }));
  if (raw.getType() != words)
    raw = vector::BroadcastOp::create(b_, loc_, words, raw);
  auto pointers = VectorType::get(floats_.getShape(), table.getType());
  Value entries =
      LLVM::GEPOp::create(b_, loc_, pointers, b_.getF32Type(), table, ArrayRef<LLVM::GEPArg>{raw});
  Value all = arith::ConstantOp::create(
      b_, loc_, DenseElementsAttr::get(floats_.clone(b_.getI1Type()), true));
  return LLVM::masked_gather::create(b_, loc_, floats_, entries, all,
                                     ValueRange{fields_.splat(floats_, 0)}, 4u);
}

// Entries of several numbers, which lie side by side: one load for all elements of a code, where a
// gather would take each on its own (a plan of IQ2_XXS took twice as long to build).
Value BlockDequantizer::fromEntries(Value table) {
  const auto lanes = static_cast<int32_t>(format_.table.lanes);
  SmallVector<Value> parts;
  for (size_t at = 0, count = 0; at < elements_.size(); at += count) {
    const CodeAt first = format_.codeOf(elements_[at]);
    for (count = 1; at + count < elements_.size(); ++count) {
      const CodeAt next = format_.codeOf(elements_[at + count]);
      if (next.code != first.code || next.lane != first.lane + count)
        break;
    }
    Value entry = fields_.raw(format_.code, first.code);
    entry = arith::MulIOp::create(b_, loc_, entry, fields_.ints(entry.getType(), lanes));
    entry = arith::AddIOp::create(b_, loc_, entry,
                                  fields_.ints(entry.getType(), static_cast<int32_t>(first.lane)));
    Value from = LLVM::GEPOp::create(b_, loc_, table.getType(), b_.getF32Type(), table,
                                     ArrayRef<LLVM::GEPArg>{entry});
    auto type = VectorType::get({static_cast<int64_t>(count)}, b_.getF32Type());
    parts.push_back(LLVM::LoadOp::create(b_, loc_, type, from, sizeof(float)));
  }
  return joined(b_, loc_, parts);
}

// Eight sign bits of one item; of items of seven bits the eighth is their parity.
Value BlockDequantizer::signsOf(uint32_t item) {
  Value raw = fields_.raw(format_.sign, item);
  if (format_.sign.width() == BlockFormat::kSignLanes)
    return raw;
  Value parity = LLVM::CtPopOp::create(b_, loc_, raw.getType(), raw);
  parity = arith::AndIOp::create(b_, loc_, parity, fields_.ints(raw.getType(), 1));
  parity = arith::ShLIOp::create(
      b_, loc_, parity, fields_.ints(raw.getType(), static_cast<int32_t>(format_.sign.width())));
  return arith::OrIOp::create(b_, loc_, raw, parity);
}

// One sign bit an element.
Value BlockDequantizer::negated(Value value) {
  auto words = floats_.clone(b_.getI32Type());
  constexpr uint32_t kLanes = BlockFormat::kSignLanes;
  SmallVector<Value> parts;
  for (size_t at = 0, count = 0; at < elements_.size(); at += count) {
    const uint32_t item = elements_[at] / kLanes;
    count = llvm::count_if(elements_, [&](uint32_t e) { return e / kLanes == item; });
    auto type = VectorType::get({static_cast<int64_t>(count)}, b_.getI32Type());
    parts.push_back(vector::BroadcastOp::create(b_, loc_, type, signsOf(item)));
  }
  Value raw = joined(b_, loc_, parts);
  auto up = llvm::map_to_vector(elements_,
                                [](uint32_t e) { return static_cast<int32_t>(31 - e % kLanes); });
  Value sign = arith::ShLIOp::create(b_, loc_, raw, fields_.ints(words, up));
  sign = arith::AndIOp::create(b_, loc_, sign, fields_.ints(words, INT32_MIN));
  Value bits = arith::BitcastOp::create(b_, loc_, words, value);
  return arith::BitcastOp::create(b_, loc_, floats_, arith::XOrIOp::create(b_, loc_, bits, sign));
}

Value BlockDequantizer::numbers(Value table) {
  if (table) {
    Value value = format_.table.lanes > 1 ? fromEntries(table) : fromTable(table);
    return format_.sign.present() ? negated(value) : value;
  }
  return spread(fields_.number(format_.code, llvm::map_to_vector(elements_, [&](uint32_t e) {
                                 return format_.codeOf(e).code;
                               })));
}

Value BlockDequantizer::dequantize(Value table) {
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
  value = arith::MulFOp::create(b_, loc_, spread(fields_.factor(format_.scale, elements_)), value);
  if (format_.min.present())
    value = arith::SubFOp::create(b_, loc_, value, spread(fields_.factor(format_.min, elements_)));
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

// Words of 16 rows, four from each, as one vector of rows for each word.
static std::array<Value, 4> turnWords(OpBuilder &b, Location loc, ArrayRef<Value> rows) {
  auto joined = [&](Value x, Value y) -> Value {
    int64_t width = cast<VectorType>(x.getType()).getDimSize(0);
    return vector::ShuffleOp::create(b, loc, x, y,
                                     llvm::to_vector(llvm::seq<int64_t>(0, 2 * width)));
  };
  // Of each four neighbours of x and y in turn those that `pick` names.
  auto picked = [&](Value x, Value y, std::array<int64_t, 4> pick) -> Value {
    SmallVector<int64_t> mask;
    for (int64_t at = 0; at < 16; ++at)
      mask.push_back(at / 4 * 4 + pick[at % 4] % 4 + pick[at % 4] / 4 * 16);
    return vector::ShuffleOp::create(b, loc, x, y, mask);
  };
  std::array<Value, 4> v;
  for (int64_t i = 0; i < 4; ++i)
    v[i] = joined(joined(rows[i], rows[4 + i]), joined(rows[8 + i], rows[12 + i]));
  Value low01 = picked(v[0], v[1], {0, 4, 1, 5}), high01 = picked(v[0], v[1], {2, 6, 3, 7});
  Value low23 = picked(v[2], v[3], {0, 4, 1, 5}), high23 = picked(v[2], v[3], {2, 6, 3, 7});
  return {picked(low01, low23, {0, 1, 4, 5}), picked(low01, low23, {2, 3, 6, 7}),
          picked(high01, high23, {0, 1, 4, 5}), picked(high01, high23, {2, 3, 6, 7})};
}

// The values of 16 rows of 16 bytes from byte `first` of their blocks' codes on, as vectors of
// rows: words turn before they are taken apart, which is a quarter of the moves.
SmallVector<Value> Emitter::dequantizeColumns(const ByteBlocks &format, ArrayRef<Value> blocks,
                                              int64_t first) {
  constexpr int64_t kRows = 16;
  SmallVector<Value> words, scales;
  for (Value block : blocks) {
    Value from = bytesAt(block, format.codeOffset + first);
    words.push_back(
        LLVM::LoadOp::create(b_, loc_, VectorType::get({kRows / 4}, b_.getI32Type()), from, 1));
    scales.push_back(
        LLVM::LoadOp::create(b_, loc_, b_.getF16Type(), bytesAt(block, format.scaleOffset), 1));
  }
  auto ints = VectorType::get({kRows}, b_.getI32Type());
  auto floats = ints.clone(b_.getF32Type());
  Value halves = vector::FromElementsOp::create(b_, loc_, ints.clone(b_.getF16Type()), scales);
  Value scale = arith::ExtFOp::create(b_, loc_, floats, halves);
  auto constant = [&](int32_t v) -> Value {
    return arith::ConstantOp::create(b_, loc_, DenseElementsAttr::get(ints, v));
  };
  SmallVector<Value> values;
  for (Value word : turnWords(b_, loc_, words))
    for (int32_t byte = 0; byte < 4; ++byte) {
      Value code = arith::ShLIOp::create(b_, loc_, word, constant(24 - 8 * byte));
      code = arith::ShRSIOp::create(b_, loc_, code, constant(24));
      Value number = arith::SIToFPOp::create(b_, loc_, floats, code);
      values.push_back(arith::MulFOp::create(b_, loc_, scale, number));
    }
  return values;
}

// Whether a part is 16 rows of 16 bytes that vectors of rows can hold.
static bool turnsByWords(const BlockFormat &format, RankedTensorType part, int64_t lanes) {
  constexpr int64_t kRows = 16;
  int64_t last = part.getRank() - 1;
  return lanes == kRows && last > 0 && part.getDimSize(last) == kRows &&
         part.getDimSize(last - 1) == kRows && part.getNumElements() == kRows * kRows &&
         byteBlocks(format).has_value();
}

// The first byte of the block that holds an element; of zeros where the view has none.
Value Emitter::blockAt(const EmittedView &view, const BlockFormat &format, ArrayRef<Value> at) {
  Place place = placeOf(view, at, -1, 1);
  Value number = arith::DivUIOp::create(b_, loc_, place.elements, index(format.blockLength));
  Value block = bytesAt(view.base, mul(number, index(format.blockBytes)));
  return place.valid ? arith::SelectOp::create(b_, loc_, place.valid, block, scratch_).getResult()
                     : block;
}

// Elements of a row that lies as in the file.
Value Emitter::dequantizeWhole(const EmittedView &view, const BlockFormat &format,
                               ArrayRef<Value> at, int64_t first, int64_t width) {
  WholeBlock block(b_, loc_, blockAt(view, format, at));
  return BlockDequantizer(b_, loc_, block, format, first, width).dequantize(tableOf(format));
}

// Elements of a block of zero bits, some of which are negative zeros.
static Value zeroBlock(OpBuilder &b, Location loc, const BlockFormat &format, int64_t first,
                       int64_t width) {
  std::vector<uint8_t> block(format.blockBytes);
  std::vector<float> values(format.blockLength);
  dequantizeRow(format, block, values);
  auto type = VectorType::get({width}, b.getF32Type());
  return arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(type, ArrayRef(values).slice(first, width)));
}

// Elements of a row that lies packed beside others; a block of zero bits where the view has none.
Value Emitter::dequantizePacked(const EmittedView &view, const DotPacking &packing,
                                ArrayRef<Value> at, int64_t first, int64_t width) {
  Place place = placeOf(view, at, -1, 1);
  const BlockFormat &format = *packing.format;
  Value table = tableOf(format), rows = index(kInterleavedRows);
  auto branch = scf::IfOp::create(b_, loc_, VectorType::get({width}, b_.getF32Type()), place.valid,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(branch.thenBlock());
  Value number = arith::DivUIOp::create(b_, loc_, place.elements,
                                        index(int64_t(format.blockLength) * kInterleavedRows));
  Value blocks =
      bytesAt(view.base, mul(number, index(int64_t(format.blockBytes) * kInterleavedRows)));
  PackedRow row(b_, loc_, blocks, packing, arith::RemUIOp::create(b_, loc_, place.elements, rows));
  Value dequantized = BlockDequantizer(b_, loc_, row, format, first, width).dequantize(table);
  scf::YieldOp::create(b_, loc_, dequantized);
  b_.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b_, loc_, zeroBlock(b_, loc_, format, first, width));
  return branch.getResult(0);
}

// Elements of `shape` from `start` on in a tile of whole blocks.
LogicalResult Emitter::dequantizePart(tile::DequantizeOp op, Value into, ArrayRef<int64_t> start) {
  auto type = cast<RankedTensorType>(into.getType());
  auto from = cast<RankedTensorType>(op.getValue().getType());
  auto load = op.getValue().getDefiningOp<tile::LoadOp>();
  const BlockFormat *format = tile::blockFormatOf(from.getElementType());
  if (!load || !format)
    return op.emitOpError() << "dequantizes " << from << ": "
                            << (format ? "expected a tile loaded from a view"
                                       : "format is unknown");
  const EmittedView &view = views_.find(load.getView())->second;
  int64_t length = format->blockLength, last = type.getRank() - 1;
  std::optional<DotPacking> packing;
  if (view.type.getInterleave()) {
    Result<DotPacking> found = dotPacking(*format);
    if (!found)
      return op.emitOpError() << "reads packed rows: " << found.error().message;
    packing = std::move(*found);
  }
  bool readable =
      packing ? view.type.getInterleave() == kInterleavedRows : !view.type.getInterleave();
  if (type.getDimSize(last) % facts_.lanes != 0 || start[last] % facts_.lanes != 0 || !readable)
    return op.emitOpError() << "dequantizes " << type << " of " << view.type
                            << ", expected whole vectors of rows, which lie alone or packed by "
                            << kInterleavedRows;
  SmallVector<Value> offsets = scalarsOf(load.getOffsets());
  bool turns = !packing && turnsByWords(*format, type, facts_.lanes);
  Pieces pieces{SmallVector<int64_t>(type.getShape()), turns ? last - 1 : last, false, {}};
  SmallVector<Value> blocks; // of what is turned
  forEachPiece(type.getShape(), last, [&](ArrayRef<int64_t> at, int64_t width) {
    SmallVector<Value> where;
    for (auto [offset, first, step] : llvm::zip_equal(offsets, start, at))
      where.push_back(add(offset, index(first + step)));
    int64_t first = (start[last] + at[last]) % length;
    if (turns)
      blocks.push_back(blockAt(view, *format, where));
    else
      pieces.values.push_back(packing ? dequantizePacked(view, *packing, where, first, width)
                                      : dequantizeWhole(view, *format, where, first, width));
  });
  if (turns)
    pieces.values = dequantizeColumns(*byteBlocks(*format), blocks, start[last] % length);
  tiles_[into] = pieces;
  return success();
}

// Parts that slices take are dequantized where they are taken.
LogicalResult Emitter::emitDequantize(tile::DequantizeOp op) {
  if (llvm::all_of(op->getUsers(), [](Operation *user) { return isa<tile::SliceOp>(user); }))
    return success();
  SmallVector<int64_t> start(cast<RankedTensorType>(op.getType()).getRank(), 0);
  return dequantizePart(op, op.getResult(), start);
}

LogicalResult Emitter::emitSlice(tile::SliceOp op) {
  auto dequantize = op.getValue().getDefiningOp<tile::DequantizeOp>();
  if (!dequantize)
    return op.emitOpError() << "takes a part of " << op.getValue().getType()
                            << " in registers, expected one of a dequantized tile";
  return dequantizePart(dequantize, op.getResult(), op.getOffsets());
}

} // namespace sinter::targets::cpu
