// Words in the file's order: nothing but what is left over depends on the format.
#include "numeric/formats/word_packing.h"

#include "base/check.h"

#include <algorithm>
#include <string>

namespace sinter {

uint32_t WordPacking::packedByte(uint32_t byte) const {
  if (!inWords(byte))
    return alone * kWordRows + (byte - alone);
  const uint32_t in = (byte - first) % kWordBytes;
  return (byte - in) * kWordRows + in;
}

WordPacking wordPacking(const BlockFormat &format) {
  WordPacking packing;
  packing.aloneBytes = format.blockBytes % WordPacking::kWordBytes;
  packing.words = format.blockBytes / WordPacking::kWordBytes;
  if (packing.aloneBytes == 0)
    return packing;
  SINTER_CHECK(format.scale.present()); // else the block is a number
  const bool begins = format.scale.level1.planes[0].map.byte(0) == 0;
  packing.first = begins ? packing.aloneBytes : 0;
  packing.alone = begins ? 0 : format.blockBytes - packing.aloneBytes;
  return packing;
}

static std::vector<PackedField> fieldsOf(const WordPacking &packing) {
  auto field = [](uint32_t offset, uint32_t bytes, uint32_t unit) {
    return PackedField{offset, bytes, unit, 0, 8, offset, unit};
  };
  std::vector<PackedField> fields = {
      field(packing.first, packing.words * WordPacking::kWordBytes, WordPacking::kWordBytes)};
  if (packing.aloneBytes)
    fields.push_back(field(packing.alone, packing.aloneBytes, packing.aloneBytes));
  std::ranges::sort(fields, {}, &PackedField::offset);
  return fields;
}

Result<std::vector<PackedField>> packedFields(const BlockFormat &format, uint32_t rows) {
  if (rows == kWordRows && !format.isPlain())
    return fieldsOf(wordPacking(format));
  if (rows != kInterleavedRows)
    return fail(Code::Unsupported, "format " + std::string(format.name) + " has no packing of " +
                                       std::to_string(rows) + " rows, expected " +
                                       std::to_string(kInterleavedRows) + ", or " +
                                       std::to_string(kWordRows) + " of blocks with a scale");
  SINTER_ASSIGN(DotPacking packing, dotPacking(format));
  return packing.fields;
}

} // namespace sinter
