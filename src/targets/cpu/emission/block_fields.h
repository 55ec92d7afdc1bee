// Fields of the block format table as arithmetic: which bytes an item takes, and what number its
// bits are.
#pragma once

#include "numeric/formats/block_format.h"
#include "tile/mlir_pch.h"

namespace sinter {
struct DotPacking;
struct PackedField;
} // namespace sinter

namespace sinter::targets::cpu {

/// Bytes of blocks, one for each lane of a vector, or one for all lanes.
class BlockBytes {
public:
  BlockBytes(mlir::OpBuilder &b, mlir::Location loc) : b_(b), loc_(loc) {}
  virtual ~BlockBytes() = default;
  /// The bytes at these places of a block, as i32: one a lane, or one place for all lanes.
  virtual mlir::Value bytes(mlir::ArrayRef<uint32_t> at) = 0;
  /// `count` (2 or 4) bytes from one place on as i32; null where no single load has them.
  virtual mlir::Value word(uint32_t first, uint32_t count) = 0;

protected:
  mlir::Value load(mlir::Value base, uint32_t byte, mlir::Type type);
  mlir::Value toWords(mlir::Value loaded);
  /// Those of a vector's bytes as i32 that `moves` names, one a lane.
  mlir::Value toLanes(mlir::Value loaded, mlir::ArrayRef<int64_t> moves);

  mlir::OpBuilder &b_;
  mlir::Location loc_;
};

/// One block in the file's order: lanes are elements, and one place is a scalar.
class WholeBlock : public BlockBytes {
public:
  WholeBlock(mlir::OpBuilder &b, mlir::Location loc, mlir::Value block)
      : BlockBytes(b, loc), block_(block) {}
  mlir::Value bytes(mlir::ArrayRef<uint32_t> at) override;
  mlir::Value word(uint32_t first, uint32_t count) override;

private:
  mlir::Value block_;
};

/// One of the interleaved rows that begin at `base`, in the file's order: lanes are
/// elements, and one place is a scalar. `row` (index) is below kInterleavedRows.
class PackedRow : public BlockBytes {
public:
  PackedRow(mlir::OpBuilder &b, mlir::Location loc, mlir::Value base, const DotPacking &packing,
            mlir::Value row)
      : BlockBytes(b, loc), base_(base), packing_(packing), row_(row) {}
  mlir::Value bytes(mlir::ArrayRef<uint32_t> at) override;
  mlir::Value word(uint32_t first, uint32_t count) override;

private:
  mlir::Value unit(const PackedField &field, uint32_t first);
  mlir::Value inFilesOrder(const PackedField &field, mlir::Value words);

  mlir::Value base_;
  const DotPacking &packing_;
  mlir::Value row_;
};

/// Packed blocks of interleaved rows: lanes are rows from `firstRow` on.
class PackedBlocks : public BlockBytes {
public:
  PackedBlocks(mlir::OpBuilder &b, mlir::Location loc, mlir::Value base, const DotPacking &packing,
               uint32_t firstRow, int64_t lanes)
      : BlockBytes(b, loc), base_(base), packing_(packing), firstRow_(firstRow), lanes_(lanes) {}
  mlir::Value bytes(mlir::ArrayRef<uint32_t> at) override;
  mlir::Value word(uint32_t first, uint32_t count) override;
  /// A unit of codes of each row, as bytes; `byte` is its place in a row's packed block.
  mlir::Value codes(uint32_t byte);

private:
  mlir::Value unitAt(uint32_t byte, uint32_t unitBytes);

  mlir::Value base_;
  const DotPacking &packing_;
  uint32_t firstRow_;
  int64_t lanes_;
};

/// Arithmetic on the items of fields: of one item where all lanes read the same.
class FieldReader {
public:
  FieldReader(mlir::OpBuilder &b, mlir::Location loc, BlockBytes &source)
      : b_(b), loc_(loc), source_(source) {}

  /// Item `items[lane]` of the field as raw bits (i32) and as a number (f32).
  mlir::Value raw(const Field &field, mlir::ArrayRef<uint32_t> items);
  mlir::Value number(const Field &field, mlir::ArrayRef<uint32_t> items);
  /// The scale or minimum of these elements (f32).
  mlir::Value factor(const GroupFactor &factor, mlir::ArrayRef<uint32_t> elements);
  /// Its number of steps (step * level 2 + offset, whole numbers) as i32.
  mlir::Value steps(const GroupFactor &factor, mlir::ArrayRef<uint32_t> elements);

  mlir::Value ints(mlir::Type like, mlir::ArrayRef<int32_t> values);
  mlir::Value splat(mlir::Type like, float value);

private:
  mlir::Value bitsOf(const BitPlane &plane, mlir::ArrayRef<uint32_t> items);
  mlir::Value heldBits(const BitPlane &plane, mlir::ArrayRef<uint32_t> items, uint32_t bytes);
  mlir::Value signExtended(mlir::Value bits, const Field &field);
  mlir::Value e8m0Half(mlir::Value raw, mlir::Type floats);
  mlir::Value ue4m3(mlir::Value raw, mlir::Type floats);
  /// `value` with as many lanes as `like` has.
  mlir::Value spread(mlir::Value value, mlir::Type like);

  mlir::OpBuilder &b_;
  mlir::Location loc_;
  BlockBytes &source_;
};

} // namespace sinter::targets::cpu
