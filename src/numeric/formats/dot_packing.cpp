// Derives a format's interleaved layout for byte dots from its row of the table.
#include "numeric/formats/dot_packing.h"

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

const PackedField &DotPacking::fieldAt(uint32_t byte) const {
  auto field =
      std::ranges::find_if(fields, [&](const PackedField &f) { return byte - f.offset < f.bytes; });
  SINTER_CHECK(field != fields.end());
  return *field;
}

uint32_t DotPacking::packedByte(uint32_t byte, uint32_t row) const {
  const PackedField &field = fieldAt(byte);
  uint32_t inField = byte - field.offset;
  return field.placeOf(inField / field.unitBytes) * kInterleavedRows + row * field.unitBytes +
         inField % field.unitBytes;
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
                      static_cast<uint8_t>(kind.codes && isSigned ? 0x80 : 0), kind.itemBits, first,
                      kind.unitBytes});
  }
  return fields;
}

namespace {

// The first and the last element that has bits in a byte: none where last < first.
struct Uses {
  uint32_t first = UINT32_MAX, last = 0;

  bool any() const { return first <= last; }
  bool within(uint32_t length) const { return !any() || first / length == last / length; }
};

} // namespace

static std::vector<Uses> usesOf(const BlockFormat &format) {
  std::vector<Uses> uses(format.blockBytes);
  for (const BitPlane &plane : format.code.used())
    for (uint32_t e = 0; e < format.blockLength; ++e) {
      auto &[first, last] = uses[plane.map.byte(e)];
      first = std::min(first, e);
      last = std::max(last, e);
    }
  return uses;
}

// The fewest elements, as a power of two of kActivationLength, that share bytes with no others.
static uint32_t sharedLength(const BlockFormat &format, const std::vector<Uses> &uses) {
  uint32_t length = kActivationLength;
  while (!std::ranges::all_of(uses, [&](const Uses &use) { return use.within(length); }))
    length *= 2;
  return std::min<uint32_t>(length, format.blockLength);
}

// Fields cut into the codes of kActivationLength elements each, by the first of them that a field
// has; what has no codes whole.
static std::vector<std::pair<uint32_t, PackedField>>
cutByUse(const std::vector<PackedField> &fields, const std::vector<Uses> &uses) {
  std::vector<std::pair<uint32_t, PackedField>> parts; // by use
  for (const PackedField &field : fields)
    for (uint32_t at = 0, before = 0; at < field.bytes; at += field.unitBytes) {
      const uint32_t use = uses[field.offset + at].first;
      const bool codes = use != UINT32_MAX;
      if (at == 0 || (codes && (use <= before || use % kActivationLength == 0))) {
        parts.emplace_back(use, field);
        parts.back().second.offset += at;
        parts.back().second.bytes = 0;
      }
      parts.back().second.bytes += field.unitBytes;
      before = use;
    }
  return parts;
}

// Fields one after the other from `place` on, or their units in turns where they are as many and as
// large; and where they end.
static uint32_t placeFields(std::span<PackedField *const> fields, uint32_t place) {
  const bool turns = std::ranges::all_of(fields, [&](const PackedField *field) {
    return field->bytes == fields[0]->bytes && field->unitBytes == fields[0]->unitBytes;
  });
  for (PackedField *field : fields) {
    field->place = place;
    field->step = field->unitBytes * (turns ? static_cast<uint32_t>(fields.size()) : 1);
    place += turns ? field->unitBytes : field->bytes;
  }
  return turns ? fields[0]->place + fields[0]->bytes * static_cast<uint32_t>(fields.size()) : place;
}

// Codes in the order in which dots read them, word by word of those stretches that share bytes; all
// else after them. What a product of few rows reads is one run of addresses then, which hardware
// fetches ahead.
static std::vector<PackedField> inOrderOfUse(const std::vector<PackedField> &fields,
                                             const std::vector<Uses> &uses, uint32_t shared) {
  std::vector<std::pair<uint32_t, PackedField>> parts = cutByUse(fields, uses);
  std::ranges::sort(parts, {},
                    [](const auto &part) { return std::pair(part.first, part.second.offset); });
  std::vector<PackedField> result(parts.size());
  std::vector<PackedField *> together;
  uint32_t place = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    result[i] = parts[i].second;
    together.push_back(&result[i]);
    const bool codes = parts[i].first != UINT32_MAX;
    const bool last =
        i + 1 == parts.size() || !codes || parts[i].first / shared != parts[i + 1].first / shared;
    if (last) {
      place = placeFields(together, place);
      together.clear();
    }
  }
  return result;
}

// ---- codes ----

// Where bits of the four codes from element `e` on lie in the packed block; none where they do not
// lie at one shift of one unit's bytes.
static std::optional<CodePart> partOf(const DotPacking &packing, const BitPlane &plane,
                                      uint32_t e) {
  const PackedField &field = packing.fieldAt(plane.map.byte(e));
  uint32_t bit = plane.map.bit(e) - field.offset * 8, unit = bit / (8 * kWordBytes);
  CodePart part{field.placeOf(unit), 0, plane.width, plane.shift};
  if (field.itemBits != 8) {
    uint32_t item = bit % (8 * kWordBytes) / plane.width;
    part.shift = static_cast<uint8_t>(item / kWordBytes * plane.width);
    return item % kWordBytes == 0 ? std::optional(part) : std::nullopt;
  }
  part.shift = static_cast<uint8_t>(bit % 8);
  for (uint32_t i = 0; i < kWordBytes; ++i)
    if (plane.map.bit(e + i) != (field.offset + unit * kWordBytes + i) * 8 + part.shift)
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
  const std::vector<Uses> uses = usesOf(format);
  packing.sharedLength = sharedLength(format, uses);
  if (format.code.planeCount > 1 && format.blockLength > kActivationLength)
    packing.fields = inOrderOfUse(packing.fields, uses, packing.sharedLength);
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
