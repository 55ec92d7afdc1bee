// Emission: rounding numbers to the blocks of an activation format. What is found of many elements
// stays in vectors of four equal lanes, and blocks are written by few stores.
#include "target/cpu/activation_blocks.h"

#include <limits>
#include <string>

using namespace mlir;

namespace sinter::target::cpu {

static constexpr int64_t kFew = 4; // lanes of the shortest vector of all targets

static Value splatOf(OpBuilder &b, Location loc, Type type, float value) {
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(cast<VectorType>(type), value));
}

static Value splatOf(OpBuilder &b, Location loc, Type type, int32_t value) {
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(cast<VectorType>(type), value));
}

static int64_t lanesOf(Value vector) {
  return cast<VectorType>(vector.getType()).getDimSize(0);
}

// What `join` makes of all elements, in each of four lanes.
static Value foldToFew(OpBuilder &b, Location loc, Value vector,
                       llvm::function_ref<Value(Value, Value)> join) {
  auto picked = [&](ArrayRef<int64_t> lanes) -> Value {
    return vector::ShuffleOp::create(b, loc, vector, vector, lanes);
  };
  for (int64_t half = lanesOf(vector) / 2; half >= kFew; half /= 2)
    vector = join(picked(llvm::to_vector(llvm::seq<int64_t>(0, half))),
                  picked(llvm::to_vector(llvm::seq<int64_t>(half, 2 * half))));
  vector = join(vector, picked({2, 3, 0, 1}));
  return join(vector, picked({1, 0, 3, 2}));
}

static Value bitsOf(OpBuilder &b, Location loc, Value vector) {
  return arith::BitcastOp::create(b, loc, cast<VectorType>(vector.getType()).clone(b.getI32Type()),
                                  vector);
}

// Found as integers: the bits of magnitudes are in the same order, with NaN above all of them.
Value largestMagnitude(OpBuilder &b, Location loc, ArrayRef<Value> vectors) {
  auto larger = [&](Value x, Value y) -> Value { return arith::MaxSIOp::create(b, loc, x, y); };
  Value most;
  for (Value v : vectors) {
    Value bits = bitsOf(b, loc, v);
    Value size =
        arith::AndIOp::create(b, loc, bits, splatOf(b, loc, bits.getType(), int32_t(0x7fffffff)));
    most = most ? larger(most, size) : size;
  }
  return arith::BitcastOp::create(b, loc, VectorType::get({kFew}, b.getF32Type()),
                                  foldToFew(b, loc, most, larger));
}

// To whole numbers, ties to even. What NaN becomes is left to the instruction: the least number on
// x86, zero on ARM, whose low 16 bits are zero.
static Value wholeNumbers(OpBuilder &b, Location loc, Value vector) {
  auto type = cast<VectorType>(vector.getType()).clone(b.getI32Type());
  std::string lanes = "v" + std::to_string(type.getDimSize(0));
  std::string name = "llvm.lrint." + lanes + "i32." + lanes + "f32";
  return LLVM::CallIntrinsicOp::create(b, loc, type, b.getStringAttr(name), vector).getResult(0);
}

// Up to four vectors of bytes one behind the other, which are no longer than one of words.
static Value joined(OpBuilder &b, Location loc, ArrayRef<Value> vectors) {
  if (vectors.size() == 1)
    return vectors.front();
  Value low = joined(b, loc, vectors.take_front(vectors.size() / 2)),
        high = joined(b, loc, vectors.drop_front(vectors.size() / 2));
  return vector::ShuffleOp::create(b, loc, low, high,
                                   llvm::to_vector(llvm::seq<int64_t>(0, 2 * lanesOf(low))));
}

static void storeAt(OpBuilder &b, Location loc, Value value, Value block, uint32_t offset) {
  Value at = LLVM::GEPOp::create(b, loc, block.getType(), b.getI8Type(), block,
                                 ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
  LLVM::StoreOp::create(b, loc, value, at, 1);
}

namespace {
// The words before a block's codes, four by four.
class Head {
public:
  Head(OpBuilder &b, Location loc, const ActivationFormat &format)
      : b_(b), loc_(loc), format_(format), fours_(llvm::divideCeil(format.codeOffset(), 16)) {}

  // `word`: in each of four lanes.
  void place(Value word, uint32_t offset) {
    Value &four = fours_[offset / 16];
    SmallVector<int64_t> order{0, 1, 2, 3};
    order[offset / 4 % kFew] += kFew;
    four = four ? vector::ShuffleOp::create(b_, loc_, four, word, order).getResult() : word;
  }

  // What a block holds of its scale.
  void placeScale(Value scale) {
    Value bits = bitsOf(b_, loc_, scale);
    if (!format_.isStepped())
      return place(bits, 0);
    constexpr int32_t kExponent = 0x7f800000;
    auto all = [&](int32_t number) { return splatOf(b_, loc_, bits.getType(), number); };
    Value power = arith::AndIOp::create(b_, loc_, bits, all(kExponent));
    power = arith::BitcastOp::create(b_, loc_, scale.getType(), power);
    Value anchor =
        arith::MulFOp::create(b_, loc_, power, splatOf(b_, loc_, scale.getType(), kUnitAnchor));
    Value factor = arith::AndIOp::create(b_, loc_, bits, all(~kExponent));
    factor = arith::OrIOp::create(b_, loc_, factor, all(llvm::bit_cast<int32_t>(shiftedFactor(0))));
    place(factor, 0);
    scale_ = scale;
    anchor_ = bitsOf(b_, loc_, anchor);
    place(anchor_, ActivationFormat::kAnchorOffset);
  }

  // The two numbers of a sum of `length` codes, after the scale.
  void placeSum(Value sum, uint32_t length, uint32_t part) {
    Value number = arith::SIToFPOp::create(b_, loc_, VectorType::get({kFew}, b_.getF32Type()), sum);
    if (scale_)
      number = arith::MulFOp::create(b_, loc_, number, scale_);
    place(bitsOf(b_, loc_, number), format_.sumOffset(length, part));
    Value zero = splatOf(b_, loc_, sum.getType(), -kActivationStartZero);
    Value start = arith::MulIOp::create(b_, loc_, sum, zero);
    if (anchor_)
      start = arith::AddIOp::create(b_, loc_, start, anchor_);
    place(start, format_.startOffset(length, part));
  }

  void store(Value blocks, uint32_t offset) {
    for (Value four : fours_) {
      storeAt(b_, loc_, four, blocks, offset);
      offset += 16;
    }
  }

private:
  OpBuilder &b_;
  Location loc_;
  const ActivationFormat &format_;
  SmallVector<Value> fours_;
  Value scale_, anchor_; // where the scale is stepped
};
} // namespace

// The sum of codes of up to a block, whose low 16 bits say it.
static Value sumOf(OpBuilder &b, Location loc, ArrayRef<Value> codes) {
  auto add = [&](Value x, Value y) -> Value { return arith::AddIOp::create(b, loc, x, y); };
  Value sum = codes.front();
  for (Value more : codes.drop_front())
    sum = add(sum, more);
  sum = foldToFew(b, loc, sum, add);
  Value half = splatOf(b, loc, sum.getType(), int32_t(16));
  return arith::ShRSIOp::create(b, loc, arith::ShLIOp::create(b, loc, sum, half), half);
}

// As bytes, by stores of at most the length of a vector of words.
static void storeCodes(OpBuilder &b, Location loc, ArrayRef<Value> codes, Value blocks,
                       uint32_t offset) {
  SmallVector<Value> bytes;
  for (Value vector : codes)
    bytes.push_back(arith::TruncIOp::create(
        b, loc, cast<VectorType>(vector.getType()).clone(b.getI8Type()), vector));
  for (ArrayRef<Value> rest = bytes; !rest.empty();) {
    ArrayRef<Value> together = rest.take_front(4);
    rest = rest.drop_front(together.size());
    storeAt(b, loc, joined(b, loc, together), blocks, offset);
    offset += static_cast<uint32_t>(together.size() * lanesOf(together.front()));
  }
}

// One block at `offset`. Its head is stored with the place of its first codes, before them.
static void emitBlock(OpBuilder &b, Location loc, const ActivationFormat &format,
                      ArrayRef<Value> codes, Value scale, Value blocks, uint32_t offset) {
  Head head(b, loc, format);
  head.placeScale(scale);
  const size_t perPart = codes.size() / format.parts();
  Value whole;
  for (uint32_t part = 0; part < format.parts(); ++part) {
    Value sum = sumOf(b, loc, codes.slice(part * perPart, perPart));
    whole = whole ? arith::AddIOp::create(b, loc, whole, sum).getResult() : sum;
    if (format.partSums())
      head.placeSum(sum, format.partLength, part);
  }
  head.placeSum(whole, kActivationLength, 0);
  head.store(blocks, offset);
  storeCodes(b, loc, codes, blocks, offset + format.codeOffset());
}

namespace {
// Of the elements of a scale, in each of four lanes.
struct Rounding {
  Value scale, factor;
};
} // namespace

static Value zeroWhere(OpBuilder &b, Location loc, Value isZero, Value number) {
  return arith::SelectOp::create(b, loc, isZero, splatOf(b, loc, number.getType(), 0.0f), number);
}

static Rounding freeRounding(OpBuilder &b, Location loc, Value most) {
  Value full = splatOf(b, loc, most.getType(), 127.0f);
  Value factor = arith::DivFOp::create(b, loc, full, most);
  Value limit = splatOf(b, loc, most.getType(), std::numeric_limits<float>::max());
  Value isOver = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, limit, factor);
  return {arith::DivFOp::create(b, loc, most, full), zeroWhere(b, loc, isOver, factor)};
}

// The next step that is no less. What NaN holds is not carried beyond it.
static Value steppedUp(OpBuilder &b, Location loc, Value scale) {
  constexpr int32_t kBelow = (1 << (23 - kScaleStepBits)) - 1, kNan = 0x7fc00000;
  Value bits = bitsOf(b, loc, scale);
  auto all = [&](int32_t number) { return splatOf(b, loc, bits.getType(), number); };
  bits = arith::MinSIOp::create(b, loc, bits, all(kNan));
  bits = arith::AddIOp::create(b, loc, bits, all(kBelow));
  bits = arith::AndIOp::create(b, loc, bits, all(~kBelow));
  return arith::BitcastOp::create(b, loc, scale.getType(), bits);
}

static Rounding steppedRounding(OpBuilder &b, Location loc, Value most) {
  auto all = [&](float number) { return splatOf(b, loc, most.getType(), number); };
  Value scale = steppedUp(b, loc, arith::MulFOp::create(b, loc, most, all(1 / 127.0f)));
  Value factor = arith::DivFOp::create(b, loc, all(1), scale);
  Value isLittle =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, scale, all(kLeastScale));
  return {zeroWhere(b, loc, isLittle, scale), zeroWhere(b, loc, isLittle, factor)};
}

void emitActivationBlocks(OpBuilder &b, Location loc, const ActivationFormat &format,
                          ArrayRef<Value> vectors, Value blocks) {
  Value most = largestMagnitude(b, loc, vectors);
  Rounding by = format.isStepped() ? steppedRounding(b, loc, most) : freeRounding(b, loc, most);
  Value one = vector::ExtractOp::create(b, loc, by.factor, 0);
  Value factor = vector::BroadcastOp::create(b, loc, vectors.front().getType(), one);
  const size_t perBlock = kActivationLength / lanesOf(vectors.front());
  for (size_t block = 0; block * perBlock < vectors.size(); ++block) {
    SmallVector<Value> codes;
    for (Value v : vectors.slice(block * perBlock, perBlock))
      codes.push_back(wholeNumbers(b, loc, arith::MulFOp::create(b, loc, v, factor)));
    emitBlock(b, loc, format, codes, by.scale, blocks,
              static_cast<uint32_t>(block * format.bytes()));
  }
}

} // namespace sinter::target::cpu
