// One vector of a product's weights: bytes for integer dots, scales and minima, from packed blocks
// or from an expanded part of a panel.
#pragma once

#include "target/cpu/block_fields.h"
#include "target/cpu/facts.h"

#include "numeric/dot_packing.h"

#include <functional>

namespace sinter::target::cpu {

using mlir::Location;
using mlir::SmallVector;
using mlir::Value;

/// Lanes are rows of the weights; elements are counted from the operand's first.
class DotOperand {
public:
  virtual ~DotOperand() = default;
  /// Numbers + zero() of elements [4 * group, 4 * group + 4), as bytes.
  virtual Value codes(uint32_t group) = 0;
  virtual Value scale(uint32_t element) = 0;
  /// Null where the format has none.
  virtual Value min(uint32_t element) = 0;
  virtual int32_t zero() const = 0;
  virtual uint32_t groupLength() const = 0;
  /// The groups of four from `element` on, those that read the same memory one after another.
  virtual SmallVector<uint32_t> order(uint32_t element) const;
};

/// What stands for 0 in weights as the machine's dots take them: the packing's own zero where the
/// bytes of every number fit, one that centres them where they are signed and would not.
int32_t zeroOf(const DotPacking &packing, const CpuFacts &facts);
/// The same in panels, for weights of all formats; those with minima have no negative numbers.
int32_t panelZeroOf(const CpuFacts &facts, bool minima);

/// Packed blocks, as they lie in memory from `base` on.
class PackedOperand : public DotOperand {
public:
  PackedOperand(mlir::OpBuilder &b, Location loc, const CpuFacts &facts, const DotPacking &packing,
                Value base, uint32_t firstRow)
      : b_(b), loc_(loc), packing_(packing), lookup_(facts.instructions.byteLookup),
        zero_(zeroOf(packing, facts)), blocks_(b, loc, base, packing, firstRow, facts.lanes),
        fields_(b, loc, blocks_), bytes_(mlir::VectorType::get({facts.lanes * 4}, b.getI8Type())) {}

  Value codes(uint32_t group) override { return codes(group, zero_); }
  /// Numbers + `zero`.
  Value codes(uint32_t group, int32_t zero);
  Value scale(uint32_t element) override;
  Value min(uint32_t element) override;
  int32_t zero() const override { return zero_; }
  uint32_t groupLength() const override { return packing_.groupLength; }
  SmallVector<uint32_t> order(uint32_t element) const override;

private:
  Value partOf(const CodePart &part);
  Value fromTable(Value codes, int32_t more);
  Value constant(int64_t byte);

  mlir::OpBuilder &b_;
  Location loc_;
  const DotPacking &packing_;
  const char *lookup_;
  int32_t zero_;
  PackedBlocks blocks_;
  FieldReader fields_;
  mlir::VectorType bytes_;
};

/// An expanded part, read register by register: rows of words, of scales and of minima.
class PanelOperand : public DotOperand {
public:
  using Rows = std::function<Value(uint32_t row)>;
  PanelOperand(mlir::OpBuilder &b, Location loc, const CpuFacts &facts, uint32_t groupLength,
               Rows words, Rows scales, Rows mins)
      : b_(b), loc_(loc), zero_(panelZeroOf(facts, static_cast<bool>(mins))),
        groupLength_(groupLength), words_(std::move(words)), scales_(std::move(scales)),
        mins_(std::move(mins)) {}

  Value codes(uint32_t group) override;
  Value scale(uint32_t element) override { return scales_(element / groupLength_); }
  Value min(uint32_t element) override { return mins_ ? mins_(element / groupLength_) : Value(); }
  int32_t zero() const override { return zero_; }
  uint32_t groupLength() const override { return groupLength_; }

private:
  mlir::OpBuilder &b_;
  Location loc_;
  int32_t zero_;
  uint32_t groupLength_;
  Rows words_, scales_, mins_; // mins_: none where the format has none
};

} // namespace sinter::target::cpu
