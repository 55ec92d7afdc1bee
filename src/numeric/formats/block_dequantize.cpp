// The generic reader of quantised blocks, derived from the format table alone.
#include "base/check.h"
#include "numeric/formats/block_format.h"
#include "numeric/half.h"

#include <bit>
#include <cstring>

// A fused multiply-add would round once where the formats' definition rounds twice.
#pragma clang fp contract(off)

namespace sinter {
namespace {

// `width` bits from bit `at`; the bytes that hold them must exist.
uint64_t readBits(const uint8_t *block, uint32_t at, uint32_t width) {
  uint64_t bits = 0;
  uint32_t shift = at % 8;
  for (uint32_t byte = at / 8, done = 0; done < width + shift; ++byte, done += 8)
    bits |= static_cast<uint64_t>(block[byte]) << done;
  return bits >> shift & (~uint64_t{0} >> (64 - width));
}

int64_t signExtended(uint64_t raw, uint32_t width) {
  return static_cast<int64_t>(raw << (64 - width)) >> (64 - width);
}

float e8m0Half(uint8_t raw) {
  if (raw < 2)
    return std::bit_cast<float>(0x00200000u << raw);
  return std::bit_cast<float>(static_cast<uint32_t>(raw - 1) << 23);
}

float ue4m3(uint8_t raw) {
  return raw == 0x7f ? 0.0f : detail::widenMagnitude(raw & 0x7fu, 3, 7);
}

} // namespace

uint64_t Field::raw(const uint8_t *block, uint32_t index) const {
  uint64_t bits = 0;
  for (const BitPlane &plane : used())
    bits |= readBits(block, plane.map.bit(index), plane.width) << plane.shift;
  return bits;
}

void Field::store(uint8_t *block, uint32_t index, uint64_t raw) const {
  for (const BitPlane &plane : used()) {
    const uint32_t at = plane.map.bit(index), shift = at % 8;
    const uint64_t bits = (raw >> plane.shift & (~uint64_t{0} >> (64 - plane.width))) << shift;
    for (uint32_t done = 0; done < plane.width + shift; done += 8)
      block[(at + done) / 8] |= static_cast<uint8_t>(bits >> done);
  }
}

float Field::value(const uint8_t *block, uint32_t index) const {
  uint64_t bits = raw(block, index);
  switch (number) {
  case Number::Unsigned:
    return static_cast<float>(bits);
  case Number::Signed:
    return static_cast<float>(signExtended(bits, width()));
  case Number::F16:
    return f16ToF32(static_cast<uint16_t>(bits));
  case Number::BF16:
    return bf16ToF32(static_cast<uint16_t>(bits));
  case Number::F32:
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  case Number::F64:
    return static_cast<float>(std::bit_cast<double>(bits));
  case Number::E8m0Half:
    return e8m0Half(static_cast<uint8_t>(bits));
  case Number::Ue4m3:
    return ue4m3(static_cast<uint8_t>(bits));
  case Number::E4m3:
    return e4m3ToF32(static_cast<uint8_t>(bits));
  }
  SINTER_CHECK(false);
}

float GroupFactor::value(const uint8_t *block, uint32_t element) const {
  float outer = level1.value(block, element / level1Length);
  float inner = offset;
  if (level2Length)
    inner += step * level2.value(block, element / level2Length);
  return outer * inner;
}

float ZeroPoint::value(const uint8_t *block, uint32_t element) const {
  return field.present() ? base + step * field.value(block, element / groupLength) : base;
}

CodeAt BlockFormat::codeOf(uint32_t element) const {
  uint32_t r = runCount - 1u;
  while (element < runs[r].firstElement)
    --r;
  const CodeRun &run = runs[r];
  uint32_t at = element - run.firstElement;
  uint32_t code = run.strided ? at % run.codes : at / run.lanes;
  uint32_t lane = run.strided ? at / run.codes : at % run.lanes;
  return {run.firstCode + code, lane};
}

bool BlockFormat::negated(const uint8_t *block, uint32_t element) const {
  if (!sign.present())
    return false;
  uint64_t signs = sign.raw(block, element / kSignLanes);
  uint32_t lane = element % kSignLanes;
  return lane < sign.width() ? signs >> lane & 1 : std::popcount(signs) & 1;
}

float BlockFormat::number(const uint8_t *block, uint32_t element) const {
  CodeAt at = codeOf(element);
  float value = table.present() ? table.values[code.raw(block, at.code) * table.lanes + at.lane]
                                : code.value(block, at.code);
  return (negated(block, element) ? -value : value) - zero.value(block, element);
}

namespace {

void dequantizeBlock(const BlockFormat &format, const uint8_t *block, float *out) {
  float scale = 0, min = 0;
  for (uint32_t e = 0; e < format.blockLength; ++e) {
    // Every group length of every format is a multiple of 8.
    if (e % 8 == 0) {
      scale = format.scale.value(block, e);
      min = format.min.present() ? format.min.value(block, e) : 0;
    }
    float scaled = scale * format.number(block, e);
    out[e] = format.min.present() ? scaled - min : scaled;
  }
}

template <typename Raw, typename Read>
void readPlain(std::span<const uint8_t> bytes, std::span<float> out, Read read) {
  for (size_t e = 0; e < out.size(); ++e) {
    Raw raw;
    std::memcpy(&raw, bytes.data() + e * sizeof raw, sizeof raw);
    out[e] = read(raw);
  }
}

// The types that weights come in are read whole, the others by their field.
void dequantizePlain(const BlockFormat &format, std::span<const uint8_t> bytes,
                     std::span<float> out) {
  static_assert(std::endian::native == std::endian::little, "numbers are read as they lie");
  switch (format.code.number) {
  case Number::F16:
    return readPlain<uint16_t>(bytes, out, f16ToF32);
  case Number::BF16:
    return readPlain<uint16_t>(bytes, out, bf16ToF32);
  case Number::F32:
    return readPlain<float>(bytes, out, [](float value) { return value; });
  default:
    for (size_t e = 0; e < out.size(); ++e)
      out[e] = format.code.value(bytes.data() + e * format.blockBytes, 0);
  }
}

} // namespace

void dequantizeRow(const BlockFormat &format, std::span<const uint8_t> blocks,
                   std::span<float> out) {
  auto bytes = format.rowBytes(out.size());
  SINTER_CHECK(bytes && *bytes == blocks.size());
  if (format.isPlain())
    return dequantizePlain(format, blocks, out);
  for (size_t b = 0; b < out.size() / format.blockLength; ++b)
    dequantizeBlock(format, blocks.data() + b * format.blockBytes,
                    out.data() + b * format.blockLength);
}

} // namespace sinter
