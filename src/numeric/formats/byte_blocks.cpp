// Which rows of the format table hold plain signed bytes.
#include "numeric/formats/byte_blocks.h"

#include <string>

namespace sinter {

static bool areBytesInOrder(const Field &code) {
  const BitPlane &plane = code.planes[0];
  bool bytes = code.number == Number::Signed && code.planeCount == 1 && plane.width == 8 &&
               plane.map.base % 8 == 0;
  for (uint32_t bit = 0; bytes && bit < plane.map.weight.size(); ++bit)
    bytes = plane.map.weight[bit] == 8u << bit;
  return bytes;
}

static bool isOneHalf(const GroupFactor &factor, uint32_t blockLength) {
  return factor.level1.number == Number::F16 && factor.level1Length == blockLength &&
         !factor.level2Length && factor.offset == 1;
}

Result<ByteBlocks> byteBlocks(const BlockFormat &format) {
  bool plain = !format.table.present() && !format.min.present() && !format.zero.field.present() &&
               format.zero.base == 0;
  if (format.rounding != Rounding::AbsMax || !plain || !areBytesInOrder(format.code) ||
      !isOneHalf(format.scale, format.blockLength))
    return fail(Code::Unsupported,
                "format " + std::string(format.name) +
                    " is not rounded to within a kernel, expected one of a signed byte for each "
                    "element and one F16 scale, such as Q8_0");
  return ByteBlocks{format.scale.level1.planes[0].map.byte(0), format.code.planes[0].map.byte(0),
                    127};
}

} // namespace sinter
