// Derives a format's interleaved layout for byte dots from its row of the table.
#include "numeric/dot_packing.h"

#include <cmath>
#include <string>

namespace sinter {

static Fail refuse(const BlockFormat &format, const char *why) {
  return fail(Code::Unsupported, "format " + std::string(format.name) + " has " + why +
                                     ", which the integer dot has no packing for");
}

static bool isPerBlockHalf(const GroupFactor &factor, const BlockFormat &format) {
  return factor.level1.planeCount == 1 && factor.level1.number == Number::F16 &&
         factor.level2Length == 0 && factor.level1Length == format.blockLength &&
         std::fabs(factor.offset) == 1;
}

static Result<void> packCodes(const BlockFormat &format, DotPacking &packing) {
  const BitPlane &plane = format.code.planes[0];
  uint32_t first = plane.map.byte(0), last = first;
  for (uint32_t e = 0; e < format.blockLength; ++e) {
    if (format.codeOf(e).code != e)
      return refuse(format, "codes of several elements");
    first = std::min(first, plane.map.byte(e));
    last = std::max(last, plane.map.byte(e));
  }
  for (uint32_t e = 0; e < format.blockLength; e += 4) {
    CodeGroup group{(plane.map.byte(e) - first) / 4, plane.map.shift(e)};
    for (uint32_t i = 0; i < 4; ++i)
      if (plane.map.byte(e + i) - first != group.unit * 4 + i ||
          plane.map.shift(e + i) != group.shift)
        return refuse(format, "neighbouring codes in different places");
    packing.groups.push_back(group);
  }
  bool isSigned = format.code.number == Number::Signed;
  if (isSigned && plane.width != 8)
    return refuse(format, "signed codes narrower than a byte");
  packing.mask = static_cast<uint8_t>((1u << plane.width) - 1);
  packing.zero = static_cast<int32_t>(format.zero.base) + (isSigned ? 128 : 0);
  packing.fields.push_back({first, last - first + 1, 4, static_cast<uint8_t>(isSigned ? 0x80 : 0)});
  return {};
}

Result<DotPacking> dotPacking(const BlockFormat &format) {
  if (format.isPlain() || format.table.present() || format.sign.present())
    return refuse(format, "no plain scaled codes");
  if (format.blockLength != kActivationLength || format.code.planeCount != 1 ||
      format.code.planes[0].width > 8)
    return refuse(format, "blocks of another length or codes in several planes");
  if (!isPerBlockHalf(format.scale, format) ||
      (format.min.present() && !isPerBlockHalf(format.min, format)) || format.zero.field.present())
    return refuse(format, "scales within the block");
  DotPacking packing;
  packing.format = &format;
  packing.fields.push_back({format.scale.level1.planes[0].map.byte(0), 2, 2, 0});
  packing.hasMin = format.min.present();
  if (packing.hasMin) {
    packing.minSign = format.min.offset;
    packing.fields.push_back({format.min.level1.planes[0].map.byte(0), 2, 2, 0});
  }
  SINTER_TRY(packCodes(format, packing));
  uint32_t packed = 0;
  for (const PackedField &field : packing.fields)
    packed += field.bytes;
  if (packed != format.blockBytes)
    return refuse(format, "bytes beside scales, minima and codes");
  return packing;
}

} // namespace sinter
