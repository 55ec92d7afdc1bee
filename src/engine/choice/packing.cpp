// Packing recipes from the block format table, and paddings from what the target reads at once.
#include "tile/mlir_pch.h"

#include "base/check.h"
#include "engine/choice/packing.h"
#include "numeric/formats/word_packing.h"

namespace sinter::engine {

Result<DotPacking> packingFor(const BlockFormat &format, TargetKind kind) {
  return kind == TargetKind::Cpu ? dotPacking(format) : plainDotPacking(format);
}

// CPU targets read interleaved rows for integer dots alone, SIMT targets in any case: in words what
// decode multiplies by groups or what is dequantized in both phases, in the packing of integer dots
// what else has the plain form.
int64_t interleavedRows(const kernel::Element &element, int64_t weights, MatmulPrecision rules) {
  bool tasks = rules.kind == TargetKind::Cpu;
  if (!element.isBlock())
    return tasks ? kInterleavedRows : 1;
  const BlockFormat &format = *blockFormatOf(element);
  if (tasks)
    return activationFor(&format, rules) ? kInterleavedRows : 1;
  const bool plain = packingFor(format, rules.kind).has_value();
  if ((rules.sharesDepth || rules.readsWords) && dotPacking(format) &&
      (!plain || weights >= kWeightsForShares))
    return kWordRows;
  return plain ? kInterleavedRows : 1;
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
  SINTER_ASSIGN(const std::vector<PackedField> fields,
                packedFields(*format, static_cast<uint32_t>(rows)));
  for (const PackedField &field : fields)
    recipe.fields.push_back({field.offset, field.bytes, field.unitBytes, field.xorByte,
                             field.itemBits, field.place, field.step});
  return recipe;
}

// So many blocks or up to seven more. Threads read the same 16 bytes of a block in eight rows at
// once. These fill the 32 banks of the first cache, of four bytes each, where rows begin an odd
// multiple of 16 bytes apart: with blocks of 44 bytes at four more than a multiple of eight. Other
// counts put two to eight rows into a bank, 18 blocks two and 48 four. Prefill of SmolLM2's shape
// in Q8_0 on an H200, 512 and 4,096 tokens: without padding 0.98 and 0.97 of the speed; with all
// eight rows in one bank (rows of 48 quantization blocks instead of 49) 0.90 and 0.95.
static int64_t padBanks(int64_t blocks, int64_t blockBytes) {
  constexpr int64_t kReadBytes = 16, kRows = 8;
  for (int64_t padded = blocks; padded < blocks + kRows; ++padded)
    if (padded * blockBytes % (2 * kReadBytes) == kReadBytes)
      return padded;
  return blocks;
}

std::optional<int64_t> paddedBlocks(int64_t blocks, int64_t blockBytes,
                                    const TargetProfile &profile) {
  if (profile.kind == TargetKind::Cpu)
    return std::nullopt;
  return padBanks(blocks, blockBytes);
}

} // namespace sinter::engine
