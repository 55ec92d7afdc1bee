// Dequantizing of blocks as they lie in a file, whole or word by word beside those of other rows:
// elements as arithmetic of one thread, derived from the format table alone.
#pragma once

#include "numeric/formats/block_format.h"
#include "numeric/formats/level_table.h"
#include "numeric/formats/word_packing.h"
#include "tile/mlir_pch.h"

#include <map>
#include <tuple>

namespace sinter::sched {

/// An element of a block, or an item of one of its fields: number `varying | fixed`. Threads and
/// steps of loops decide `varying`; its bits lie in `mask`, where `fixed` has none. What has equal
/// `byte` and `varying`, as values, shares what is read of the block.
struct BlockElement {
  mlir::Value byte;    // index: the block's first byte; in words that of the row's first word
  mlir::Value when;    // i1: whether the block exists; else its bytes are zero
  mlir::Value varying; // i32; null where `mask` is 0
  uint32_t mask = 0, fixed = 0;
  mlir::Value row = {}; // index: of blocks in words, the row's number in its group
};

/// Builds where the builder stands, each value after those before it.
class BlockReader {
public:
  /// Of the view `argument` of blocks in the file's order, or in words where elements have rows.
  /// `bfloatPairs` is SimtFacts'.
  BlockReader(mlir::OpBuilder &b, mlir::Location loc, mlir::Value argument,
              const BlockFormat &format, bool bfloatPairs)
      : b_(b), loc_(loc), argument_(argument), format_(format), bfloatPairs_(bfloatPairs),
        words_(wordPacking(format)) {}
  /// An element's value (f32), rounded as numeric/formats/block_format.h says.
  mlir::Value value(const BlockElement &at);
  /// What the scale multiplies of the element and its neighbour, exactly, as bf16 in an i32, and
  /// biasOf more. The element's number is even, and its lowest two bits are fixed.
  mlir::Value numbers(const BlockElement &at);
  /// What numbers are too large by: nothing, unless a matmul adds up activations for a minimum in
  /// any case, which can take this away too.
  /// min + bias * scale, of an element's scale.
  mlir::Value biasedMin(mlir::Value scale, const BlockElement &at);
  static int32_t biasOf(const BlockFormat &format);
  /// A scale or minimum (f32), whose items of one word are read together.
  mlir::Value groupFactor(const GroupFactor &factor, const BlockElement &at);

private:
  using Value = mlir::Value;
  /// A code, and which of its elements.
  struct CodePlace {
    BlockElement code, lane;
  };

  // What an element is made of.
  CodePlace codeOf(const BlockElement &at);
  CodePlace codeInRuns(const BlockElement &at);
  Value number(const BlockElement &at); // T - zero, f32
  Value entry(const CodeTable &table, Value code, const BlockElement &lane);
  Value levelOf(llvm::ArrayRef<int8_t> levels, Value index);
  Value withSign(const BlockElement &at, Value number);
  Value signsOf(const BlockElement &item);
  Value factor(const GroupFactor &factor, const BlockElement &at);
  Value floatOf(const Field &field, const BlockElement &item);

  // Four neighbours at once, a byte each.
  Value fourOf(const BitPlane &plane, const BlockElement &item);
  Value fourBeside(const BitPlane &plane, const BlockElement &item);
  Value rawFour(const Field &field, const BlockElement &item);
  Value byTable(Value codes);
  using Pairs = std::array<Value, 2>; // of 16 bits each
  Pairs pairsOf(Value bytes, int64_t above);
  Pairs masked(Pairs pairs, int64_t mask);
  template <class Op> Pairs ofPairs(Pairs a, Pairs b);
  Pairs signedBytes(Value bytes);
  Pairs unsignedBytes(Value codes);
  Pairs smallFloats(Value codes);
  Pairs throughSingles(Value four, int32_t zero);
  Value permuted(Value low, Value high, Value selector);
  Value aboveBase(const Field &field, const BlockElement &item);
  Value liftedByte(Value four, uint32_t number);
  /// A number that is `base` too large.
  struct Lifted {
    Value value; // null where the format has no such form
    int32_t base = 0;
  };
  Lifted liftedNumber(const BlockElement &at);

  // Bits of fields.
  BlockElement itemOf(const BlockElement &at, uint32_t length);
  BlockElement lowBits(const BlockElement &at, uint32_t length);
  Value raw(const Field &field, const BlockElement &item);
  Value bitsOf(const BitPlane &plane, const BlockElement &item);
  struct Bytes;
  Value wordAround(const BlockElement &item, const Bytes &bytes);
  Value load(const BlockElement &item, const Bytes &bytes);
  Value placed(const BlockElement &item, const Bytes &bytes);
  Value varyingBytes(const BlockElement &item, llvm::ArrayRef<uint32_t> weights);
  Value weighted(const BlockElement &item, llvm::ArrayRef<uint32_t> weights);

  // Small builders, folded where they can be; a null value is 0.
  Value int32(int64_t value);
  Value real(float value);
  template <class Op> Value fold(Value a, Value c) { return b_.createOrFold<Op>(loc_, a, c); }
  Value plus(Value a, Value c);
  Value plus(Value a, uint32_t more);
  Value bitsFrom(Value word, Value from, uint32_t first, uint32_t width);
  Value signExtended(Value value, uint32_t width);
  Value is(mlir::arith::CmpIPredicate predicate, Value value, int64_t other);
  Value select(Value when, Value then, Value otherwise);
  Value fromInteger(Value value); // to f32
  Value reinterpreted(Value bits);
  Value fromUe4m3(Value bits);
  Value fromE8m0Half(Value bits);

  using Key = std::tuple<const void *, const void *, const void *, uint64_t>;
  static Key keyOf(const void *what, const BlockElement &item, uint64_t number) {
    return {what, item.byte.getAsOpaquePointer(), item.varying.getAsOpaquePointer(), number};
  }

  mlir::OpBuilder &b_;
  mlir::Location loc_;
  Value argument_;
  const BlockFormat &format_;
  bool bfloatPairs_;
  std::optional<LevelTable> levels_; // once needed
  WordPacking words_;
  std::map<Key, Value> raws_, factors_, signs_, loads_, fours_;
  std::map<Key, Pairs> pairs_;
  std::map<std::pair<const void *, std::vector<uint32_t>>, Value> sums_;
};

} // namespace sinter::sched
