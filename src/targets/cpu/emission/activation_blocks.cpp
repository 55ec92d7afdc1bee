// Emission: rounding numbers to the blocks of an activation format. What is found of many elements
// stays in vectors of four equal lanes, and blocks are written by few stores.
#include "targets/cpu/emission/activation_blocks.h"

#include <limits>
#include <string>

using namespace mlir;

namespace sinter::targets::cpu {

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

static Value picked(OpBuilder &b, Location loc, Value x, Value y, ArrayRef<int64_t> lanes) {
  return vector::ShuffleOp::create(b, loc, x, y, lanes);
}

using Join = llvm::function_ref<Value(Value, Value)>;

// Lanes [half * width / 2, (half + 1) * width / 2) of every `width`, of `count` lanes.
static SmallVector<int64_t> halvesOf(int64_t count, int64_t width, int64_t half) {
  SmallVector<int64_t> lanes;
  for (int64_t lane = 0; lane < count; ++lane)
    if (lane % width / (width / 2) == half)
      lanes.push_back(lane);
  return lanes;
}

// What `join` makes of all elements of each vector, in each of four lanes of one vector, the first
// vector's first. Each step halves what is left of two vectors at once.
static Value foldToFew(OpBuilder &b, Location loc, ArrayRef<Value> vectors, Join join) {
  const int64_t lanes = lanesOf(vectors.front());
  SmallVector<Value> left(vectors);
  int64_t width = lanes; // of what is left of a vector
  for (; left.size() > 1; width /= 2) {
    SmallVector<Value> joined;
    for (size_t at = 0; at < left.size(); at += 2) {
      Value x = left[at], y = at + 1 < left.size() ? left[at + 1] : x;
      joined.push_back(join(picked(b, loc, x, y, halvesOf(2 * lanes, width, 0)),
                            picked(b, loc, x, y, halvesOf(2 * lanes, width, 1))));
    }
    left = joined;
  }
  Value vector = left.front();
  for (; width > kFew; width /= 2)
    vector = join(picked(b, loc, vector, vector, halvesOf(lanesOf(vector), width, 0)),
                  picked(b, loc, vector, vector, halvesOf(lanesOf(vector), width, 1)));
  for (int64_t turn : {2, 1}) {
    SmallVector<int64_t> turned;
    for (int64_t lane = 0; lane < lanesOf(vector); ++lane)
      turned.push_back(lane ^ turn);
    vector = join(vector, picked(b, loc, vector, vector, turned));
  }
  return vector;
}

// Four lanes of those, of each of `rows`, `times` times.
static Value fewOf(OpBuilder &b, Location loc, Value vector, ArrayRef<int64_t> rows,
                   int64_t times = 1) {
  SmallVector<int64_t> lanes;
  for (int64_t row : rows)
    for (int64_t lane = 0; lane < times * kFew; ++lane)
      lanes.push_back(row * kFew + lane % kFew);
  return picked(b, loc, vector, vector, lanes);
}

static Value bitsOf(OpBuilder &b, Location loc, Value vector) {
  return arith::BitcastOp::create(b, loc, cast<VectorType>(vector.getType()).clone(b.getI32Type()),
                                  vector);
}

static Value larger(OpBuilder &b, Location loc, Value x, Value y) {
  return arith::MaxSIOp::create(b, loc, x, y);
}

// Lane by lane. Found as integers: the bits of magnitudes are in the same order, with NaN above all
// of them.
static Value magnitudes(OpBuilder &b, Location loc, ArrayRef<Value> vectors) {
  Value most;
  for (Value v : vectors) {
    Value bits = bitsOf(b, loc, v);
    Value size =
        arith::AndIOp::create(b, loc, bits, splatOf(b, loc, bits.getType(), int32_t(0x7fffffff)));
    most = most ? larger(b, loc, most, size) : size;
  }
  return most;
}

// The largest of each vector, in each of four lanes.
static Value largestOf(OpBuilder &b, Location loc, ArrayRef<Value> magnitudes) {
  Value bits =
      foldToFew(b, loc, magnitudes, [&](Value x, Value y) { return larger(b, loc, x, y); });
  return arith::BitcastOp::create(b, loc, cast<VectorType>(bits.getType()).clone(b.getF32Type()),
                                  bits);
}

Value largestMagnitude(OpBuilder &b, Location loc, ArrayRef<Value> vectors) {
  return largestOf(b, loc, magnitudes(b, loc, vectors));
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
// The words before some blocks' codes, four by four, those of one block beside the next one's.
class Heads {
public:
  Heads(OpBuilder &b, Location loc, const ActivationFormat &format)
      : b_(b), loc_(loc), format_(format), fours_(llvm::divideCeil(format.codeOffset(), 16)) {}

  // `word`: of each block in four lanes.
  void place(Value word, uint32_t offset) {
    Value &four = fours_[offset / 16];
    auto order = llvm::to_vector(llvm::seq<int64_t>(0, lanesOf(word)));
    for (int64_t at = offset / 4 % kFew; at < lanesOf(word); at += kFew)
      order[at] += lanesOf(word);
    four = four ? picked(b_, loc_, four, word, order) : word;
  }

  // The two numbers of a sum of `length` codes, after the scale.
  void placeSum(Value sum, uint32_t length, uint32_t part) {
    Value number = arith::SIToFPOp::create(
        b_, loc_, cast<VectorType>(sum.getType()).clone(b_.getF32Type()), sum);
    place(bitsOf(b_, loc_, number), format_.sumOffset(length, part));
    Value zero = splatOf(b_, loc_, sum.getType(), -kActivationStartZero);
    Value start = arith::MulIOp::create(b_, loc_, sum, zero);
    place(start, format_.startOffset(length, part));
  }

  SmallVector<Value> wordsOf(int64_t block) {
    return llvm::map_to_vector(fours_, [&](Value four) { return fewOf(b_, loc_, four, block); });
  }

private:
  OpBuilder &b_;
  Location loc_;
  const ActivationFormat &format_;
  SmallVector<Value> fours_;
};
} // namespace

// The sums of each block's codes in a part, of which the low 16 bits say them.
static Value sumsOf(OpBuilder &b, Location loc, ArrayRef<SmallVector<Value>> codes, uint32_t part,
                    uint32_t parts) {
  auto add = [&](Value x, Value y) -> Value { return arith::AddIOp::create(b, loc, x, y); };
  SmallVector<Value> sums;
  for (const SmallVector<Value> &block : codes) {
    ArrayRef<Value> vectors =
        ArrayRef(block).slice(part * block.size() / parts, block.size() / parts);
    Value sum = vectors.front();
    for (Value more : vectors.drop_front())
      sum = add(sum, more);
    sums.push_back(sum);
  }
  Value sum = foldToFew(b, loc, sums, add);
  Value half = splatOf(b, loc, sum.getType(), int32_t(16));
  return arith::ShRSIOp::create(b, loc, arith::ShLIOp::create(b, loc, sum, half), half);
}

// As bytes, in vectors of at most the length of one of words.
static SmallVector<Value> bytesOf(OpBuilder &b, Location loc, ArrayRef<Value> codes) {
  SmallVector<Value> bytes, together;
  for (Value vector : codes)
    bytes.push_back(arith::TruncIOp::create(
        b, loc, cast<VectorType>(vector.getType()).clone(b.getI8Type()), vector));
  for (ArrayRef<Value> rest = bytes; !rest.empty();
       rest = rest.drop_front(std::min<size_t>(4, rest.size())))
    together.push_back(joined(b, loc, rest.take_front(4)));
  return together;
}

// Blocks of words in vectors, each of the scale beside it.
static SmallVector<QuantizedBlock> quantizedBlocks(OpBuilder &b, Location loc,
                                                   const ActivationFormat &format,
                                                   ArrayRef<SmallVector<Value>> codes,
                                                   Value scales) {
  Heads heads(b, loc, format);
  heads.place(bitsOf(b, loc, scales), 0);
  Value whole;
  for (uint32_t part = 0; part < format.parts(); ++part) {
    Value sums = sumsOf(b, loc, codes, part, format.parts());
    whole = whole ? arith::AddIOp::create(b, loc, whole, sums).getResult() : sums;
    if (format.partSums())
      heads.placeSum(sums, format.partLength, part);
  }
  heads.placeSum(whole, kActivationLength, 0);
  SmallVector<QuantizedBlock> blocks;
  for (auto [at, each] : llvm::enumerate(codes))
    blocks.push_back({heads.wordsOf(static_cast<int64_t>(at)), bytesOf(b, loc, each)});
  return blocks;
}

namespace {
// Of the elements of each scale, in each of four lanes.
struct Rounding {
  Value scale, factor;
};
} // namespace

static Value zeroWhere(OpBuilder &b, Location loc, Value isZero, Value number) {
  return arith::SelectOp::create(b, loc, isZero, splatOf(b, loc, number.getType(), 0.0f), number);
}

static Rounding roundingTo(OpBuilder &b, Location loc, Value most, float largestCode) {
  Value full = splatOf(b, loc, most.getType(), largestCode);
  Value factor = arith::DivFOp::create(b, loc, full, most);
  Value limit = splatOf(b, loc, most.getType(), std::numeric_limits<float>::max());
  Value isOver = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, limit, factor);
  return {arith::DivFOp::create(b, loc, most, full), zeroWhere(b, loc, isOver, factor)};
}

// The squared errors of a scale's elements in one vector: those of element i of each block, block
// after block, then those of i and of i + 16, ... joined until a vector is left.
static Value squaredErrors(OpBuilder &b, Location loc, ArrayRef<Value> vectors, Value factor) {
  const auto perBlock = static_cast<size_t>(kActivationLength / lanesOf(vectors.front()));
  SmallVector<Value> sums(perBlock);
  for (auto [at, vector] : llvm::enumerate(vectors)) {
    Value scaled = arith::MulFOp::create(b, loc, vector, factor);
    Value error = arith::SubFOp::create(b, loc, scaled, math::RoundEvenOp::create(b, loc, scaled));
    Value square = arith::MulFOp::create(b, loc, error, error), &sum = sums[at % perBlock];
    sum = sum ? arith::AddFOp::create(b, loc, sum, square).getResult() : square;
  }
  for (size_t half = perBlock / 2; half > 0; half /= 2)
    for (size_t at = 0; at < half; ++at)
      sums[at] = arith::AddFOp::create(b, loc, sums[at], sums[at + half]);
  return sums.front();
}

int64_t scalesTogether(int64_t lanes) {
  return std::max<int64_t>(lanes / kFew, 1);
}

// The numbers of a scale's elements, block by block.
static void appendCodes(OpBuilder &b, Location loc, ArrayRef<Value> vectors, Value factor,
                        SmallVectorImpl<SmallVector<Value>> &blocks) {
  const size_t perBlock = kActivationLength / lanesOf(vectors.front());
  for (size_t at = 0; at < vectors.size(); at += perBlock) {
    SmallVector<Value> &codes = blocks.emplace_back();
    for (Value v : vectors.slice(at, perBlock))
      codes.push_back(wholeNumbers(b, loc, arith::MulFOp::create(b, loc, v, factor)));
  }
}

// Four lanes of the factor of scale `at` as a whole vector.
static Value spreadFactor(OpBuilder &b, Location loc, Value factors, size_t at, int64_t lanes) {
  return fewOf(b, loc, factors, static_cast<int64_t>(at), lanes / kFew);
}

// The sums of squared errors of each scale's elements, in each of four lanes.
static Value errorsBy(OpBuilder &b, Location loc, ArrayRef<ArrayRef<Value>> scales, Value factors) {
  const int64_t lanes = lanesOf(scales.front().front());
  SmallVector<Value> errors;
  for (auto [at, vectors] : llvm::enumerate(scales))
    errors.push_back(squaredErrors(b, loc, vectors, spreadFactor(b, loc, factors, at, lanes)));
  return foldToFew(b, loc, errors,
                   [&](Value x, Value y) -> Value { return arith::AddFOp::create(b, loc, x, y); });
}

static Rounding bestRounding(OpBuilder &b, Location loc, ArrayRef<ArrayRef<Value>> scales) {
  Value most = largestOf(b, loc, llvm::map_to_vector(scales, [&](ArrayRef<Value> vectors) {
                           return magnitudes(b, loc, vectors);
                         }));
  const Rounding fine = roundingTo(b, loc, most, kLargestCode),
                 coarse = roundingTo(b, loc, most, kSecondLargestCode);
  Value limit = arith::MulFOp::create(b, loc, errorsBy(b, loc, scales, fine.factor),
                                      splatOf(b, loc, most.getType(), kSquaredSteps));
  Value isBetter = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT,
                                         errorsBy(b, loc, scales, coarse.factor), limit);
  return {arith::SelectOp::create(b, loc, isBetter, coarse.scale, fine.scale),
          arith::SelectOp::create(b, loc, isBetter, coarse.factor, fine.factor)};
}

// Of as many scales as are found side by side.
static SmallVector<QuantizedBlock> quantizeTogether(OpBuilder &b, Location loc,
                                                    const ActivationFormat &format,
                                                    ArrayRef<ArrayRef<Value>> scales) {
  const int64_t lanes = lanesOf(scales.front().front()), together = scalesTogether(lanes);
  const int64_t perScale = format.scaleLength / kActivationLength;
  const Rounding by = bestRounding(b, loc, scales);
  SmallVector<SmallVector<Value>> codes;
  for (auto [at, vectors] : llvm::enumerate(scales))
    appendCodes(b, loc, vectors, spreadFactor(b, loc, by.factor, at, lanes), codes);
  SmallVector<QuantizedBlock> rounded;
  for (size_t at = 0; at < codes.size(); at += together) {
    auto some = ArrayRef(codes).slice(at, std::min<size_t>(together, codes.size() - at));
    SmallVector<int64_t> rows;
    for (size_t row = 0; row < llvm::PowerOf2Ceil(some.size()); ++row)
      rows.push_back(static_cast<int64_t>(std::min(at + row, codes.size() - 1)) / perScale);
    rounded.append(quantizedBlocks(b, loc, format, some, fewOf(b, loc, by.scale, rows)));
  }
  return rounded;
}

SmallVector<QuantizedBlock> quantizeActivations(OpBuilder &b, Location loc,
                                                const ActivationFormat &format,
                                                ArrayRef<ArrayRef<Value>> scales) {
  const auto together = static_cast<size_t>(scalesTogether(lanesOf(scales.front().front())));
  SmallVector<QuantizedBlock> rounded;
  for (; !scales.empty(); scales = scales.drop_front(std::min(together, scales.size())))
    rounded.append(quantizeTogether(b, loc, format, scales.take_front(together)));
  return rounded;
}

// The head is stored with the place of the first codes, before them.
void storeActivations(OpBuilder &b, Location loc, const ActivationFormat &format,
                      const QuantizedBlock &rounded, Value block) {
  uint32_t offset = 0;
  for (Value four : rounded.words) {
    storeAt(b, loc, four, block, offset);
    offset += 4 * kFew;
  }
  offset = format.codeOffset();
  for (Value bytes : rounded.codes) {
    storeAt(b, loc, bytes, block, offset);
    offset += static_cast<uint32_t>(lanesOf(bytes));
  }
}

} // namespace sinter::targets::cpu
