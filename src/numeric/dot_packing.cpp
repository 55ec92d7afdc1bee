// Derives a format's interleaved layout for byte dots from its row of the table.
#include "numeric/dot_packing.h"

#include "base/check.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

namespace sinter {

static constexpr uint32_t kWordBytes = 4;
static constexpr uint32_t kTableCodes = 16; // that a byte shuffle looks up

static Fail refuse(const BlockFormat &format, const char *why) {
  return fail(Code::Unsupported, "format " + std::string(format.name) + " has " + why +
                                     ", which the integer dot has no packing for");
}

// ---- items of a word ----

static uint32_t moveItems(uint32_t word, uint8_t itemBits, bool back) {
  uint32_t result = 0, mask = (uint32_t{1} << itemBits) - 1;
  for (uint32_t j = 0; j < 32u / itemBits; ++j) {
    uint32_t plain = j * itemBits, turned = j % kWordBytes * 8 + j / kWordBytes * itemBits;
    result |= (word >> (back ? turned : plain) & mask) << (back ? plain : turned);
  }
  return result;
}

uint32_t turnItems(uint32_t word, uint8_t itemBits) {
  return itemBits == 8 ? word : moveItems(word, itemBits, false);
}

uint32_t turnItemsBack(uint32_t word, uint8_t itemBits) {
  return itemBits == 8 ? word : moveItems(word, itemBits, true);
}

// ---- fields ----

DotPacking::FieldAt DotPacking::fieldAt(uint32_t byte) const {
  uint32_t before = 0;
  for (const PackedField &field : fields) {
    if (byte - field.offset < field.bytes)
      return {&field, before};
    before += field.bytes;
  }
  SINTER_CHECK(false);
}

uint32_t DotPacking::packedByte(uint32_t byte, uint32_t row) const {
  auto [field, before] = fieldAt(byte);
  uint32_t inField = byte - field->offset, unit = inField / field->unitBytes;
  return (before + unit * field->unitBytes) * kInterleavedRows + row * field->unitBytes +
         inField % field->unitBytes;
}

namespace {

// What one byte of a block belongs to.
struct ByteKind {
  uint8_t unitBytes = 1;
  uint8_t itemBits = 8;
  bool codes = false;
  friend bool operator==(const ByteKind &, const ByteKind &) = default;
};

} // namespace

// Whether neighbouring codes are neighbouring bits, so that words of them turn.
static bool isLinear(const BitPlane &plane, uint32_t items) {
  for (uint32_t e = 0; e < items; ++e)
    if (plane.map.bit(e) != plane.map.base + plane.width * e)
      return false;
  return plane.width < 8 && plane.map.base % 8 == 0 && items * plane.width % (8 * kWordBytes) == 0;
}

static std::vector<ByteKind> kindsOf(const BlockFormat &format) {
  std::vector<ByteKind> kinds(format.blockBytes);
  for (const GroupFactor *factor : {&format.scale, &format.min}) {
    const Field &outer = factor->level1;
    if (!factor->present() || outer.planeCount != 1)
      continue;
    auto bytes = static_cast<uint8_t>(std::max(outer.width() / 8, 1u));
    for (uint32_t i = 0; i * factor->level1Length < format.blockLength; ++i)
      std::fill_n(kinds.begin() + outer.planes[0].map.byte(i), bytes, ByteKind{bytes});
  }
  for (const BitPlane &plane : format.code.used()) {
    bool turns = isLinear(plane, format.blockLength);
    auto bits = static_cast<uint8_t>(turns ? plane.width : 8);
    for (uint32_t e = 0; e < format.blockLength; ++e)
      kinds[plane.map.byte(e)] = {kWordBytes, bits, true};
  }
  return kinds;
}

static std::vector<PackedField> fieldsOf(const BlockFormat &format) {
  std::vector<PackedField> fields;
  std::vector<ByteKind> kinds = kindsOf(format);
  bool isSigned = format.code.number == Number::Signed;
  for (uint32_t first = 0, end = 0; first < kinds.size(); first = end) {
    while (end < kinds.size() && kinds[end] == kinds[first])
      ++end;
    const ByteKind &kind = kinds[first];
    fields.push_back({first, end - first, kind.unitBytes,
                      static_cast<uint8_t>(kind.codes && isSigned ? 0x80 : 0), kind.itemBits});
  }
  return fields;
}

// The first stretch of kActivationLength elements that has codes in a byte; past all where none
// has.
static std::vector<uint32_t> firstUses(const BlockFormat &format) {
  std::vector<uint32_t> uses(format.blockBytes, format.blockLength);
  for (const BitPlane &plane : format.code.used())
    for (uint32_t e = format.blockLength; e-- > 0;) {
      uint32_t &use = uses[plane.map.byte(e)];
      use = std::min(use, e / kActivationLength);
    }
  return uses;
}

// Codes in the order in which dots read them first, all else after them: what a product of few rows
// reads is one run of addresses, which hardware fetches ahead (Llama-3.2-1B's shape in Q6_K on a
// Zen 4: 28, 34 and 28 tokens per second in turns with 27, 26 and 31 of planes one after the
// other).
static std::vector<PackedField> inOrderOfUse(const BlockFormat &format,
                                             const std::vector<PackedField> &fields) {
  const std::vector<uint32_t> uses = firstUses(format);
  std::vector<std::pair<uint32_t, PackedField>> parts; // by use
  for (const PackedField &field : fields)
    for (uint32_t at = 0; at < field.bytes; at += field.unitBytes) {
      const uint32_t use =
          *std::min_element(&uses[field.offset + at], &uses[field.offset + at] + field.unitBytes);
      bool follows = at > 0 && parts.back().first == use;
      if (!follows)
        parts.push_back(
            {use, {field.offset + at, 0, field.unitBytes, field.xorByte, field.itemBits}});
      parts.back().second.bytes += field.unitBytes;
    }
  std::ranges::sort(parts, {},
                    [](const auto &part) { return std::pair(part.first, part.second.offset); });
  std::vector<PackedField> result;
  for (const auto &[use, part] : parts)
    result.push_back(part);
  return result;
}

// ---- codes ----

// Where bits of the four codes from element `e` on lie in the packed block; none where they do not
// lie at one shift of one unit's bytes.
static std::optional<CodePart> partOf(const DotPacking &packing, const BitPlane &plane,
                                      uint32_t e) {
  auto [field, before] = packing.fieldAt(plane.map.byte(e));
  uint32_t bit = plane.map.bit(e) - field->offset * 8, unit = bit / (8 * kWordBytes);
  CodePart part{before + unit * kWordBytes, 0, plane.width, plane.shift};
  if (field->itemBits != 8) {
    uint32_t item = bit % (8 * kWordBytes) / plane.width;
    part.shift = static_cast<uint8_t>(item / kWordBytes * plane.width);
    return item % kWordBytes == 0 ? std::optional(part) : std::nullopt;
  }
  part.shift = static_cast<uint8_t>(bit % 8);
  for (uint32_t i = 0; i < kWordBytes; ++i)
    if (plane.map.bit(e + i) != (field->offset + unit * kWordBytes + i) * 8 + part.shift)
      return std::nullopt;
  return part;
}

static Result<void> packCodes(const BlockFormat &format, DotPacking &packing) {
  for (const PackedField &field : packing.fields)
    if (field.bytes % field.unitBytes != 0)
      return refuse(format, "codes that are no whole words");
  for (uint32_t e = 0; e < format.blockLength; e += kWordBytes) {
    CodeGroup &group = packing.groups.emplace_back();
    for (const BitPlane &plane : format.code.used()) {
      std::optional<CodePart> part = partOf(packing, plane, e);
      if (!part)
        return refuse(format, "neighbouring codes in different places");
      group.parts[group.partCount++] = *part;
    }
  }
  return {};
}

// Numbers of a table stand above a zero that is a power of two, as starts of dots like it.
static void packTable(const BlockFormat &format, DotPacking &packing) {
  std::span<const int8_t> values(format.table.values, kTableCodes);
  int32_t least = *std::ranges::min_element(values);
  packing.zero = 1;
  while (packing.zero < -least)
    packing.zero *= 2;
  for (int8_t value : values)
    packing.table.push_back(static_cast<uint8_t>(value + packing.zero));
}

static Result<void> checkCodes(const BlockFormat &format) {
  const Field &code = format.code;
  const CodeTable &table = format.table;
  if (format.isPlain() || format.sign.present() || format.zero.field.present())
    return refuse(format, "no scaled codes with one zero point");
  if (table.present() && (table.lanes != 1 || table.count != kTableCodes || code.width() != 4))
    return refuse(format, "a table of several lanes or many codes");
  if (format.runCount != 1 || format.runs[0].lanes != 1 ||
      format.runs[0].codes != format.blockLength)
    return refuse(format, "codes of several elements");
  if (code.planeCount > 2 || code.width() > 8 || format.blockLength % kActivationLength != 0)
    return refuse(format, "codes in many planes or blocks of odd lengths");
  if (code.number == Number::Signed && code.width() != 8)
    return refuse(format, "signed codes narrower than a byte");
  return {};
}

uint32_t dotGroupLength(const BlockFormat &format) {
  uint32_t length = std::gcd(kActivationLength, format.scale.groupLength());
  return format.min.present() ? std::gcd(length, format.min.groupLength()) : length;
}

Result<DotPacking> dotPacking(const BlockFormat &format) {
  SINTER_TRY(checkCodes(format));
  DotPacking packing;
  packing.format = &format;
  packing.groupLength = dotGroupLength(format);
  packing.fields = fieldsOf(format);
  if (format.code.planeCount > 1 && format.blockLength > kActivationLength)
    packing.fields = inOrderOfUse(format, packing.fields);
  SINTER_TRY(packCodes(format, packing));
  packing.zero = static_cast<int32_t>(format.zero.base) +
                 (format.code.number == Number::Signed ? kActivationStartZero : 0);
  if (format.table.present())
    packTable(format, packing);
  return packing;
}

NumberRange numbersOf(const DotPacking &packing) {
  if (packing.table.empty())
    return {-packing.zero, (1 << packing.format->code.width()) - 1 - packing.zero};
  auto [least, most] = std::ranges::minmax(packing.table);
  return {least - packing.zero, most - packing.zero};
}

static bool isPerBlockHalf(const GroupFactor &factor) {
  return factor.level1.planeCount == 1 && factor.level1.number == Number::F16 &&
         factor.level2Length == 0 && factor.level1Length == kActivationLength &&
         std::fabs(factor.offset) == 1;
}

Result<DotPacking> plainDotPacking(const BlockFormat &format) {
  SINTER_ASSIGN(DotPacking packing, dotPacking(format));
  if (!packing.table.empty() || format.code.planeCount != 1 || packing.fields.back().itemBits != 8)
    return refuse(format, "codes in several planes or a table");
  if (format.derived.length)
    return refuse(format, "sums beside its codes");
  if (format.blockLength != kActivationLength || !isPerBlockHalf(format.scale) ||
      (format.min.present() && !isPerBlockHalf(format.min)))
    return refuse(format, "scales within the block");
  return packing;
}

} // namespace sinter
