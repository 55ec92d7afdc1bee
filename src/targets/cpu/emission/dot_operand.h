// One vector of a matmul's weights: bytes for integer dots, scales and minima, from packed blocks
// or from an expanded part of a panel.
#pragma once

#include "targets/cpu/emission/block_fields.h"
#include "targets/cpu/emission/dot_method.h"
#include "targets/cpu/facts.h"

#include "numeric/formats/integer_scales.h"

#include <functional>

namespace sinter::targets::cpu {

using mlir::Location;
using mlir::SmallVector;
using mlir::Value;

/// How the scales of groups multiply their dots: as f32, or as integers, two at a time where an
/// instruction multiplies pairs of words.
struct GroupScales {
  std::optional<IntegerScales> integers;
  bool pairs = false;

  uint32_t together() const { return pairs ? 2 : 1; } // groups
};
GroupScales groupScalesOf(const BlockFormat &weights, const ActivationFormat &activation,
                          const CpuFacts &facts);

/// Low words of `low` beside high words of `high`, both i32.
Value wordPairs(mlir::OpBuilder &b, Location loc, Value low, Value high);
/// Both words of each lane, summed.
Value sumOfWords(mlir::OpBuilder &b, Location loc, Value pairs);

/// The sum of the numbers of integer scales that were read so far, each group's once: of all groups
/// of a block, those in words do not overflow.
class ScaleNumbers {
public:
  void add(mlir::OpBuilder &b, Location loc, Value numbers, bool pairs);
  bool present() const { return static_cast<bool>(sum_); }
  Value sum(mlir::OpBuilder &b, Location loc) const;

private:
  Value sum_; // i32, or words in pairs
};

/// Lanes are rows of the weights; elements are counted from the operand's first.
class DotOperand {
public:
  virtual ~DotOperand() = default;
  /// Numbers + method().zero of elements [4 * group, 4 * group + 4), as bytes.
  virtual Value codes(uint32_t group) = 0;
  virtual Value scale(uint32_t element) = 0;
  /// Integer scales (i32) of the group at `element`, or of it and the next as pairs of words.
  virtual Value scaleNumbers(uint32_t element, bool pairs) = 0;
  /// What the totals of a block become accumulators by: scale and centre. Its scales' numbers have
  /// been read all or not at all.
  virtual std::pair<Value, Value> totalScale() = 0;
  /// Null where the format has none.
  virtual Value min(uint32_t element) = 0;
  virtual DotMethod method() const = 0;
  virtual uint32_t groupLength() const = 0;
  /// The groups of four of `length` elements from `element` on, in the order in which they lie.
  virtual SmallVector<uint32_t> order(uint32_t element, uint32_t length) const;
};

/// Packed blocks, as they lie in memory from `base` on.
class PackedOperand : public DotOperand {
public:
  PackedOperand(mlir::OpBuilder &b, Location loc, const CpuFacts &facts, const DotPacking &packing,
                Value base, uint32_t firstRow)
      : b_(b), loc_(loc), packing_(packing), lookup_(facts.instructions.byteLookup),
        method_(dotMethodOf(facts, packing)), blocks_(b, loc, base, packing, firstRow, facts.lanes),
        fields_(b, loc, blocks_), bytes_(mlir::VectorType::get({facts.lanes * 4}, b.getI8Type())) {}

  Value codes(uint32_t group) override { return codes(group, method_.zero); }
  /// Numbers + `zero`.
  Value codes(uint32_t group, int32_t zero);
  Value scale(uint32_t element) override;
  Value scaleNumbers(uint32_t element, bool pairs) override;
  std::pair<Value, Value> totalScale() override;
  Value min(uint32_t element) override;
  DotMethod method() const override { return method_; }
  uint32_t groupLength() const override { return packing_.groupLength; }
  SmallVector<uint32_t> order(uint32_t element, uint32_t length) const override;

private:
  Value partOf(const CodePart &part);
  Value fromTable(Value codes, int32_t more);
  Value constant(int64_t byte);

  mlir::OpBuilder &b_;
  Location loc_;
  const DotPacking &packing_;
  const char *lookup_;
  DotMethod method_;
  ScaleNumbers scaleNumbers_;
  PackedBlocks blocks_;
  FieldReader fields_;
  mlir::VectorType bytes_;
};

/// An expanded part, read register by register.
class PanelOperand : public DotOperand {
public:
  using Rows = std::function<Value(uint32_t row)>;
  struct Parts {
    Rows words, scales, mins, totals; // none where the panel has none
  };
  PanelOperand(mlir::OpBuilder &b, Location loc, DotMethod method, uint32_t groupLength,
               Parts parts)
      : b_(b), loc_(loc), method_(method), groupLength_(groupLength), parts_(std::move(parts)) {}

  Value codes(uint32_t group) override;
  Value scale(uint32_t element) override { return parts_.scales(element / groupLength_); }
  Value scaleNumbers(uint32_t element, bool pairs) override {
    return parts_.scales(element / groupLength_ / (pairs ? 2 : 1));
  }
  std::pair<Value, Value> totalScale() override { return {parts_.totals(0), parts_.totals(1)}; }
  Value min(uint32_t element) override {
    return parts_.mins ? parts_.mins(element / groupLength_) : Value();
  }
  DotMethod method() const override { return method_; }
  uint32_t groupLength() const override { return groupLength_; }

private:
  mlir::OpBuilder &b_;
  Location loc_;
  DotMethod method_;
  uint32_t groupLength_;
  Parts parts_;
};

} // namespace sinter::targets::cpu
