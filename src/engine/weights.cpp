// Packing recipes from the block format table.
#include "tile/mlir_pch.h"

#include "base/check.h"
#include "engine/elements.h"
#include "engine/weights.h"
#include "numeric/formats/dot_packing.h"

namespace sinter::engine {

Result<DotPacking> packingFor(const BlockFormat &format, TargetKind kind) {
  return kind == TargetKind::Cpu ? dotPacking(format) : plainDotPacking(format);
}

const ActivationFormat *activationFor(const BlockFormat *format, MatmulPrecision rules) {
  if (!format || rules.activations == Activations::F32 || rules.bfloatRows)
    return nullptr;
  Result<DotPacking> packing = packingFor(*format, rules.kind);
  if (!packing)
    return nullptr;
  uint32_t length = format->blockLength;
  while (length > kActivationLength && length > rules.scaleLength)
    length /= 2;
  return &activationFormatFor(packing->groupLength, length);
}

// Tasks read blocks side by side for integer dots alone, threads in any case.
int64_t interleavedRows(const kernel::Element &element, MatmulPrecision rules) {
  bool tasks = rules.kind == TargetKind::Cpu;
  if (!element.isBlock())
    return tasks ? kInterleavedRows : 1;
  bool beside = tasks ? activationFor(blockFormatOf(element), rules) != nullptr
                      : packingFor(*blockFormatOf(element), rules.kind).has_value();
  return beside ? kInterleavedRows : 1;
}

Result<plan::PackRecipe> interleavedRecipe(mlir::Type element, int64_t columns, int64_t rows) {
  ElementBytes size = elementBytes(element);
  SINTER_CHECK(columns % size.length == 0);
  plan::PackRecipe recipe;
  recipe.mode = plan::PackMode::Interleave;
  recipe.rowsPerAtom = static_cast<uint32_t>(rows);
  recipe.blockBytes = static_cast<uint32_t>(size.bytes);
  recipe.blocksPerRow = static_cast<uint32_t>(columns / size.length);
  const BlockFormat *format = blockFormatOf(element);
  if (rows == 1) {
    recipe.blockBytes *= recipe.blocksPerRow;
    recipe.blocksPerRow = 1;
  }
  if (!format || rows == 1) {
    recipe.fields = plan::consecutive({{0, recipe.blockBytes, recipe.blockBytes, 0}});
    return recipe;
  }
  SINTER_ASSIGN(DotPacking packing, dotPacking(*format));
  for (const PackedField &field : packing.fields)
    recipe.fields.push_back({field.offset, field.bytes, field.unitBytes, field.xorByte,
                             field.itemBits, field.place, field.step});
  return recipe;
}

} // namespace sinter::engine
