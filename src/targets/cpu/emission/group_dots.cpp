// Emission of integer dots: an exact dot of each group, then its scale and minimum.
#include "targets/cpu/emission/group_dots.h"

#include <numeric>

using namespace mlir;

namespace sinter::targets::cpu {

Value GroupDots::numberAt(Value row, uint32_t element, uint32_t offset, Type type) {
  auto at = static_cast<int32_t>(element / kActivationLength * activation_.bytes() + offset);
  Value from =
      LLVM::GEPOp::create(b_, loc_, row.getType(), b_.getI8Type(), row, ArrayRef<LLVM::GEPArg>{at});
  return LLVM::LoadOp::create(b_, loc_, type, from, 4);
}

Value GroupDots::spread(Value row, uint32_t element, uint32_t offset, VectorType type) {
  return vector::BroadcastOp::create(b_, loc_, type,
                                     numberAt(row, element, offset, type.getElementType()));
}

Value GroupDots::callOf(const char *name, VectorType type, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b_, loc_, type, b_.getStringAttr(name), operands)
      .getResult(0);
}

// The first or the second byte of every pair as a word.
Value GroupDots::halfOf(Value bytes, bool second, bool isSigned) {
  Value pairs = LLVM::BitcastOp::create(b_, loc_, pairs_, bytes);
  Value eight = arith::ConstantOp::create(b_, loc_, DenseElementsAttr::get(pairs_, int16_t(8)));
  if (!second)
    pairs = arith::ShLIOp::create(b_, loc_, pairs, eight);
  return isSigned ? arith::ShRSIOp::create(b_, loc_, pairs, eight).getResult()
                  : arith::ShRUIOp::create(b_, loc_, pairs, eight).getResult();
}

// Pairs of products summed: of signed bytes, one of which is no less than -127, they fit a word.
Value GroupDots::pairAccumulators(Value acc, Value accumulators) {
  Value pairs = LLVM::BitcastOp::create(b_, loc_, words_, accumulators);
  return arith::AddIOp::create(b_, loc_, acc, sumOfWords(b_, loc_, pairs));
}

// Without an instruction on bytes: products of words, of every second byte each time.
Value GroupDots::wordDots(Value acc, Value codes, Value activation) {
  Value accumulators;
  for (bool second : {false, true}) {
    Value x = halfOf(codes, second, facts_.instructions.signedBytes);
    Value product = arith::MulIOp::create(b_, loc_, x, halfOf(activation, second, true));
    accumulators =
        accumulators ? arith::AddIOp::create(b_, loc_, accumulators, product).getResult() : product;
  }
  return pairAccumulators(acc, accumulators);
}

Value GroupDots::byteDot(Value acc, Value codes, Value activation) {
  if (!facts_.instructions.byteDot)
    return wordDots(acc, codes, activation);
  return callOf(facts_.instructions.byteDot, words_, {acc, codes, activation});
}

// Activations where weights are positive, negated where they are negative.
Value GroupDots::signedBy(Value codes, Value activation) {
  if (const char *sign = facts_.instructions.byteSign)
    return callOf(sign, bytes_, {activation, codes});
  Value zero = arith::ConstantOp::create(b_, loc_, DenseElementsAttr::get(bytes_, int8_t(0)));
  Value negative =
      arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::slt, codes, zero).getResult();
  return arith::SelectOp::create(b_, loc_, negative,
                                 arith::SubIOp::create(b_, loc_, zero, activation), activation);
}

// Words of two products each.
Value GroupDots::pairsOf(Value codes, Value activation) {
  if (method().signs) {
    activation = signedBy(codes, activation);
    codes = math::AbsIOp::create(b_, loc_, codes);
  }
  return callOf(facts_.instructions.pairDot, pairs_, {codes, activation});
}

// The sum starts when there is something to add: until then no register holds it.
void GroupDots::addPairs(PartialDot &to) {
  if (!to.held)
    return;
  Value before = to.dot ? to.dot : startOf(to.row, to.element);
  Value ones = arith::ConstantOp::create(b_, loc_, DenseElementsAttr::get(pairs_, int16_t(1)));
  Value sum = callOf(facts_.instructions.wordDot, words_, {to.pairs, ones});
  to.dot = arith::AddIOp::create(b_, loc_, before, sum);
  to.held = 0;
}

void GroupDots::addProducts(PartialDot &to, Value codes, Value activation) {
  activation = LLVM::BitcastOp::create(b_, loc_, bytes_, activation);
  if (!method().pairs) {
    to.dot = byteDot(to.dot, codes, activation);
    return;
  }
  Value pairs = pairsOf(codes, activation);
  to.pairs = to.held ? arith::AddIOp::create(b_, loc_, to.pairs, pairs).getResult() : pairs;
  if (++to.held == method().pairs)
    addPairs(to);
}

// Where a row's integer dot starts: what the codes' zero point takes off. The stored start is that
// of kActivationStartZero, which leaves no remainder.
Value GroupDots::startOf(Value row, uint32_t element) {
  const int32_t zero = method().zero;
  if (!zero)
    return constant(0);
  auto divisor = static_cast<int32_t>(std::gcd(zero, kActivationStartZero));
  uint32_t offset = activation_.startOffset(groupLength(), part(element));
  Value start = spread(row, element, offset, words_);
  if (divisor != kActivationStartZero)
    start = arith::ShRSIOp::create(b_, loc_, start,
                                   constant(llvm::Log2_32(kActivationStartZero / divisor)));
  if (divisor != zero)
    start = arith::MulIOp::create(b_, loc_, start, constant(zero / divisor));
  return start;
}

GroupDots::PartialDots GroupDots::startsOf(uint32_t element) {
  SmallVector<PartialDot> starts = llvm::map_to_vector(rows_, [&](Value row) {
    return PartialDot{row, element, method().pairs ? Value() : startOf(row, element)};
  });
  return PartialDots(operands_.size(), starts);
}

// Four codes of each vector with every row of a, which is read once for all vectors. Rows are the
// innermost loop but for them, so that neighbouring instructions are independent.
void GroupDots::addWord(uint32_t word, uint32_t element, PartialDots &dots) {
  SmallVector<Value> codes =
      llvm::map_to_vector(operands_, [&](DotOperand *operand) { return operand->codes(word); });
  uint32_t offset = activation_.codeOffset() + 4 * word % kActivationLength;
  for (auto [at, row] : llvm::enumerate(rows_)) {
    Value activation = spread(row, element, offset, words_);
    for (auto [vector, code] : llvm::zip_equal(dots, codes))
      addProducts(vector[at], code, activation);
  }
}

// Exact integer dots by group, vector and row.
SmallVector<SmallVector<SmallVector<Value>>>
GroupDots::integerDots(uint32_t element, uint32_t groups, BeforeWord before) {
  const uint32_t length = groupLength();
  SmallVector<PartialDots> dots(groups);
  SmallVector<uint32_t> left(groups, length / 4);
  SmallVector<uint32_t> order = operands_.front()->order(element, groups * length);
  for (auto [words, word] : llvm::enumerate(order)) {
    const uint32_t group = (4 * word - element) / length, first = element + group * length;
    before(static_cast<uint32_t>(words));
    if (dots[group].empty())
      dots[group] = startsOf(first);
    addWord(word, first, dots[group]);
    if (--left[group] == 0)
      for (SmallVector<PartialDot> &vector : dots[group])
        llvm::for_each(vector, [&](PartialDot &dot) { addPairs(dot); });
  }
  return llvm::map_to_vector(dots, [&](PartialDots &group) {
    return llvm::map_to_vector(group, [&](SmallVector<PartialDot> &vector) {
      return llvm::map_to_vector(vector, [](const PartialDot &dot) { return dot.dot; });
    });
  });
}

void GroupDots::add(uint32_t element, uint32_t groups, const Accumulators &accumulators,
                    BeforeWord before) {
  auto dots = integerDots(element, groups, before);
  for (auto [g, group] : llvm::enumerate(dots))
    for (auto [operand, vector, into] : llvm::zip_equal(operands_, group, accumulators))
      addVector(element + static_cast<uint32_t>(g) * groupLength(), *operand, vector, into);
}

void GroupDots::addVector(uint32_t element, DotOperand &operand, ArrayRef<Value> dots,
                          ArrayRef<Value *> accumulators) {
  Value minB = negatedMin(operand, element);
  for (auto [sum, dot, row] : llvm::zip_equal(accumulators, dots, rows_)) {
    *sum = addNumber(dot, operand.scale(element), *sum);
    *sum = lessMinimum(*sum, minB, row, element);
  }
}

Value GroupDots::addNumber(Value dot, Value scale, Value sum) {
  Value number = arith::SIToFPOp::create(b_, loc_, floats_, dot);
  return math::FmaOp::create(b_, loc_, number, scale, sum);
}

Value GroupDots::negatedMin(DotOperand &operand, uint32_t element) {
  Value min = operand.min(element);
  return min ? arith::NegFOp::create(b_, loc_, min).getResult() : min;
}

// The sum as it is where the format has no minima.
Value GroupDots::lessMinimum(Value sum, Value negatedMin, Value row, uint32_t element) {
  if (!negatedMin)
    return sum;
  uint32_t offset = activation_.sumOffset(groupLength(), part(element));
  return math::FmaOp::create(b_, loc_, negatedMin, spread(row, element, offset, floats_), sum);
}

// total + shortened dots of a group, or of two, times the numbers of their scales.
Value GroupDots::scaledPair(Value total, ArrayRef<Value> dots, Value numbers,
                            const GroupScales &scales) {
  const auto shift = static_cast<int32_t>(scales.integers->shift);
  Value low = dots.front();
  if (shift)
    low = arith::ShRSIOp::create(b_, loc_, low, constant(shift));
  Value product;
  if (scales.pairs) {
    Value high = arith::ShLIOp::create(b_, loc_, dots.back(), constant(16 - shift));
    Value pairs[] = {wordPairs(b_, loc_, low, high), numbers};
    for (Value &pair : pairs)
      pair = LLVM::BitcastOp::create(b_, loc_, pairs_, pair);
    product = callOf(facts_.instructions.wordDot, words_, pairs);
  } else {
    product = arith::MulIOp::create(b_, loc_, low, numbers);
  }
  return arith::AddIOp::create(b_, loc_, total, product);
}

void GroupDots::addTotals(uint32_t element, uint32_t groups, const GroupScales &scales,
                          const Accumulators &totals, BeforeWord before) {
  const uint32_t together = scales.together();
  auto dots = integerDots(element, groups, before);
  for (uint32_t g = 0; g < groups; g += together)
    for (auto [v, operand] : llvm::enumerate(operands_)) {
      Value numbers = operand->scaleNumbers(element + g * groupLength(), scales.pairs);
      for (auto [r, total] : llvm::enumerate(totals[v])) {
        auto pair = llvm::map_to_vector(ArrayRef(dots).slice(g, together),
                                        [&](auto &group) { return group[v][r]; });
        *total = scaledPair(*total, pair, numbers, scales);
      }
    }
}

SmallVector<Value> GroupDots::scaledTotals(DotOperand &operand, uint32_t length,
                                           ArrayRef<Value> totals) {
  auto [scale, centre] = operand.totalScale();
  SmallVector<Value> accumulators =
      llvm::map_to_vector(totals, [&, s = scale, c = centre](Value total) {
        Value number = arith::SIToFPOp::create(b_, loc_, floats_, total);
        return math::FmaOp::create(b_, loc_, number, s, c).getResult();
      });
  for (uint32_t at = 0; at < length; at += operand.groupLength()) {
    Value minB = negatedMin(operand, at);
    for (auto [sum, row] : llvm::zip_equal(accumulators, rows_))
      sum = lessMinimum(sum, minB, row, at);
  }
  return accumulators;
}

void GroupDots::addScaled(uint32_t element, ArrayRef<Value> accumulators, ArrayRef<Value *> acc) {
  for (auto [sum, into, row] : llvm::zip_equal(accumulators, acc, rows_))
    *into = math::FmaOp::create(b_, loc_, sum, spread(row, element, /*offset=*/0, floats_), *into);
}

} // namespace sinter::targets::cpu
