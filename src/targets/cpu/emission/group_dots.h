// Integer dots of groups of blocks, and their scales and minima: the arithmetic that matmuls with
// packed blocks and with panels share, derived from the format table.
#pragma once

#include "targets/cpu/emission/dot_operand.h"

#include "numeric/formats/activation_format.h"

namespace sinter::targets::cpu {

/// Accumulators of matmuls by vector of columns and row of a.
using Accumulators = SmallVector<SmallVector<Value *>>;

/// Matmuls of some vectors of b's rows with every row of a, group by group. All operands have the
/// same groups.
class GroupDots {
public:
  GroupDots(mlir::OpBuilder &b, Location loc, const CpuFacts &facts,
            mlir::ArrayRef<DotOperand *> operands, const ActivationFormat &activation,
            mlir::ArrayRef<Value> rows)
      : b_(b), loc_(loc), facts_(facts), operands_(operands), activation_(activation), rows_(rows),
        floats_(mlir::VectorType::get({facts.lanes}, b.getF32Type())),
        words_(mlir::VectorType::get({facts.lanes}, b.getI32Type())),
        pairs_(mlir::VectorType::get({facts.lanes * 2}, b.getI16Type())),
        bytes_(mlir::VectorType::get({facts.lanes * 4}, b.getI8Type())) {}

  /// Called before the products of each word of codes, with the words before it.
  using BeforeWord = mlir::function_ref<void(uint32_t words)>;

  /// accumulators[vector][row] += each of `groups` groups from `element` on: an exact integer dot
  /// times b's scale, then the minima. Their codes are read in the order in which they lie.
  void add(
      uint32_t element, uint32_t groups, const Accumulators &accumulators,
      BeforeWord before = [](uint32_t) {});
  /// The same with integer scales: totals of groups, or of pairs of them as pairs of words.
  void addTotals(
      uint32_t element, uint32_t groups, const GroupScales &scales, const Accumulators &totals,
      BeforeWord before = [](uint32_t) {});
  /// The totals of a block of one operand as the accumulators that `add` would have: scaled, then
  /// the minima.
  SmallVector<Value> scaledTotals(DotOperand &operand, uint32_t length,
                                  mlir::ArrayRef<Value> totals);
  /// acc[row] += accumulators[row] times a's scale at `element`.
  void addScaled(uint32_t element, mlir::ArrayRef<Value> accumulators, mlir::ArrayRef<Value *> acc);

private:
  /// Of an exact dot: what is summed up so far, and words that are not yet.
  struct PartialDot {
    Value row;
    uint32_t element;
    Value dot;         // null before there is any
    Value pairs = {};  // words, where some are held
    uint32_t held = 0; // accumulators in each word
  };

  /// By vector and row.
  using PartialDots = SmallVector<SmallVector<PartialDot>>;

  PartialDots startsOf(uint32_t element);
  void addWord(uint32_t word, uint32_t element, PartialDots &dots);
  SmallVector<SmallVector<SmallVector<Value>>> integerDots(uint32_t element, uint32_t groups,
                                                           BeforeWord before);
  Value scaledPair(Value total, mlir::ArrayRef<Value> dots, Value numbers,
                   const GroupScales &scales);
  Value addNumber(Value dot, Value scale, Value sum);
  Value negatedMin(DotOperand &operand, uint32_t element);
  Value lessMinimum(Value sum, Value negatedMin, Value row, uint32_t element);
  void addVector(uint32_t element, DotOperand &operand, mlir::ArrayRef<Value> dots,
                 mlir::ArrayRef<Value *> accumulators);
  Value startOf(Value row, uint32_t element);
  Value callOf(const char *name, mlir::VectorType type, mlir::ValueRange operands);
  Value halfOf(Value bytes, bool second, bool isSigned);
  Value pairAccumulators(Value acc, Value accumulators);
  Value wordDots(Value acc, Value codes, Value activation);
  Value byteDot(Value acc, Value codes, Value activation);
  Value signedBy(Value codes, Value activation);
  Value pairsOf(Value codes, Value activation);
  void addPairs(PartialDot &to);
  void addProducts(PartialDot &to, Value codes, Value activation);
  /// A number of a's block that holds the element.
  Value numberAt(Value row, uint32_t element, uint32_t offset, mlir::Type type);
  /// The same in all lanes.
  Value spread(Value row, uint32_t element, uint32_t offset, mlir::VectorType type);

  Value constant(int64_t value) {
    return mlir::arith::ConstantOp::create(
        b_, loc_, mlir::DenseElementsAttr::get(words_, static_cast<int32_t>(value)));
  }
  DotMethod method() { return operands_.front()->method(); }
  uint32_t groupLength() { return operands_.front()->groupLength(); }
  uint32_t part(uint32_t element) { return element % kActivationLength / groupLength(); }

  mlir::OpBuilder &b_;
  Location loc_;
  const CpuFacts &facts_;
  mlir::ArrayRef<DotOperand *> operands_;
  const ActivationFormat &activation_;
  mlir::ArrayRef<Value> rows_; // the first block of each row of a
  mlir::VectorType floats_, words_, pairs_, bytes_;
};

} // namespace sinter::targets::cpu
