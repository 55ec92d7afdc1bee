// The table of GGUF's tensor types.
#include "base/check.h"
#include "base/checked.h"
#include "numeric/formats/block_format.h"
#include "numeric/formats/iq_grids.h"

#include <algorithm>
#include <initializer_list>

namespace sinter {
namespace {

using enum TensorType;

constexpr BitMap map(uint32_t byte, uint32_t bit, std::initializer_list<uint16_t> weights) {
  BitMap m;
  m.base = byte * 8 + bit;
  std::copy(weights.begin(), weights.end(), m.weight.begin());
  return m;
}

// Items `stride` bits apart.
constexpr BitMap linear(uint32_t byte, uint32_t bit, uint16_t stride) {
  BitMap m;
  m.base = byte * 8 + bit;
  for (size_t k = 0; k < m.weight.size(); ++k)
    m.weight[k] = static_cast<uint16_t>(stride << k);
  return m;
}

constexpr Field field(Number number, std::initializer_list<BitPlane> planes) {
  Field f;
  std::copy(planes.begin(), planes.end(), f.planes.begin());
  f.planeCount = static_cast<uint8_t>(planes.size());
  f.number = number;
  return f;
}
constexpr Field field(std::initializer_list<BitPlane> planes) {
  return field(Number::Unsigned, planes);
}

// One number per block at `byte`.
constexpr Field single(Number number, uint32_t byte, uint8_t width) {
  return field(number, {{map(byte, 0, {}), width, 0}});
}
constexpr Field f16At(uint32_t byte) {
  return single(Number::F16, byte, 16);
}

constexpr std::array<CodeRun, 3> codes(uint16_t count, uint8_t lanes = 1) {
  return {CodeRun{0, 0, count, lanes, false}};
}

constexpr GroupFactor perBlock(Field level1, uint16_t blockLength, float factor = 1) {
  return {.level1 = level1, .level1Length = blockLength, .offset = factor};
}
constexpr GroupFactor perGroup(Field level1, Field level2, uint16_t group, float step,
                               float offset = 0) {
  return {.level1 = level1,
          .level2 = level2,
          .level1Length = 256,
          .level2Length = group,
          .step = step,
          .offset = offset};
}
constexpr ZeroPoint zeroAt(float base) {
  return {.base = base};
}

// A type whose elements are stored as they are.
constexpr BlockFormat plain(TensorType type, std::string_view name, Number number, uint16_t bytes,
                            Rounding rounding = Rounding::None) {
  return {.type = type,
          .name = name,
          .blockLength = 1,
          .blockBytes = bytes,
          .code = single(number, 0, static_cast<uint8_t>(bytes * 8)),
          .runs = codes(1),
          .rounding = rounding};
}

// Nibble planes: the low nibbles of `half` bytes are the first `half` elements, the high nibbles
// the next.
constexpr BitMap nibbles16(uint32_t byte) {
  return map(byte, 0, {8, 16, 32, 64, 4, 128, 256, 512});
}
constexpr BitMap nibbles32(uint32_t byte) {
  return map(byte, 0, {8, 16, 32, 64, 128, 4, 256, 512});
}
constexpr BitMap nibbles64(uint32_t byte) {
  return map(byte, 0, {8, 16, 32, 64, 128, 256, 4, 512});
}
// Two bits from each of 32 bytes, four times; then the next 32 bytes.
constexpr BitMap pairs32(uint32_t byte) {
  return map(byte, 0, {8, 16, 32, 64, 128, 2, 4, 256});
}
// One bit from each of 32 bytes, eight times.
constexpr BitMap bits32(uint32_t byte) {
  return map(byte, 0, {8, 16, 32, 64, 128, 1, 2, 4});
}

constexpr Field kNibbleCodes2 = field({{nibbles16(2), 4, 0}});
constexpr Field kNibbleCodes4 = field({{nibbles16(4), 4, 0}});

// The 6-bit scales and minima of Q4_K and Q5_K: 12 bytes from byte 4.
constexpr Field kScales6 = field({{map(4, 0, {8, 16, 64}), 4, 0}, {map(4, 4, {8, 16, 2}), 2, 4}});
constexpr Field kMins6 = field({{map(8, 0, {8, 16, 36}), 4, 0}, {map(8, 4, {8, 16, 2}), 2, 4}});

constexpr int8_t kBinaryValues[] = {-1, 1};
constexpr int8_t kIq4Values[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                 1,    13,   25,  38,  53,  69,  89,  113};
// E2M1 doubled, so that it is whole.
constexpr int8_t kE2m1Values[] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// A byte holds five ternary digits as the fraction byte / 256: digit k is floor(3 * frac(byte * 3^k
// / 256)).
constexpr auto kTernaryValues = [] {
  std::array<int8_t, 256 * 5> values{};
  for (uint32_t byte = 0; byte < 256; ++byte)
    for (uint32_t lane = 0, fraction = byte; lane < 5; ++lane, fraction = fraction * 3 % 256)
      values[byte * 5 + lane] = static_cast<int8_t>(static_cast<int>(fraction * 3 / 256) - 1);
  return values;
}();

constexpr CodeTable kBinary{kBinaryValues, 2, 1};
constexpr CodeTable kIq4{kIq4Values, 16, 1};
constexpr CodeTable kE2m1{kE2m1Values, 16, 1};
constexpr CodeTable kTernary{kTernaryValues.data(), 256, 5};

constexpr BlockFormat kQ4_0{.type = Q4_0,
                            .name = "Q4_0",
                            .blockLength = 32,
                            .blockBytes = 18,
                            .code = kNibbleCodes2,
                            .runs = codes(32),
                            .zero = zeroAt(8),
                            .scale = perBlock(f16At(0), 32),
                            .rounding = Rounding::SignedExtreme};

constexpr BlockFormat kQ4_1{.type = Q4_1,
                            .name = "Q4_1",
                            .blockLength = 32,
                            .blockBytes = 20,
                            .code = kNibbleCodes4,
                            .runs = codes(32),
                            .scale = perBlock(f16At(0), 32),
                            .min = perBlock(f16At(2), 32, -1),
                            .rounding = Rounding::MinMax};

constexpr BlockFormat kQ5_0{.type = Q5_0,
                            .name = "Q5_0",
                            .blockLength = 32,
                            .blockBytes = 22,
                            .code = field({{nibbles16(6), 4, 0}, {linear(2, 0, 1), 1, 4}}),
                            .runs = codes(32),
                            .zero = zeroAt(16),
                            .scale = perBlock(f16At(0), 32),
                            .rounding = Rounding::SignedExtreme};

constexpr BlockFormat kQ5_1{.type = Q5_1,
                            .name = "Q5_1",
                            .blockLength = 32,
                            .blockBytes = 24,
                            .code = field({{nibbles16(8), 4, 0}, {linear(4, 0, 1), 1, 4}}),
                            .runs = codes(32),
                            .scale = perBlock(f16At(0), 32),
                            .min = perBlock(f16At(2), 32, -1),
                            .rounding = Rounding::MinMax};

constexpr BlockFormat kQ8_0{.type = Q8_0,
                            .name = "Q8_0",
                            .blockLength = 32,
                            .blockBytes = 34,
                            .code = field(Number::Signed, {{linear(2, 0, 8), 8, 0}}),
                            .runs = codes(32),
                            .scale = perBlock(f16At(0), 32),
                            .rounding = Rounding::AbsMax};

constexpr BlockFormat kQ8_1{.type = Q8_1,
                            .name = "Q8_1",
                            .blockLength = 32,
                            .blockBytes = 36,
                            .code = field(Number::Signed, {{linear(4, 0, 8), 8, 0}}),
                            .runs = codes(32),
                            .scale = perBlock(f16At(0), 32),
                            .derived = {2, 2}};

constexpr BlockFormat kQ2_K{.type = Q2_K,
                            .name = "Q2_K",
                            .blockLength = 256,
                            .blockBytes = 84,
                            .code = field({{pairs32(16), 2, 0}}),
                            .runs = codes(256),
                            .scale = perGroup(f16At(80), field({{linear(0, 0, 8), 4, 0}}), 16, 1),
                            .min = perGroup(f16At(82), field({{linear(0, 4, 8), 4, 0}}), 16, 1)};

constexpr BlockFormat kQ3_K{
    .type = Q3_K,
    .name = "Q3_K",
    .blockLength = 256,
    .blockBytes = 110,
    .code = field({{pairs32(32), 2, 0}, {bits32(0), 1, 2}}),
    .runs = codes(256),
    .zero = zeroAt(4),
    .scale = perGroup(
        f16At(108), field({{map(96, 0, {8, 16, 32, 4}), 4, 0}, {map(104, 0, {8, 16, 2, 4}), 2, 4}}),
        16, 1, -32)};

constexpr BlockFormat kQ4_K{.type = Q4_K,
                            .name = "Q4_K",
                            .blockLength = 256,
                            .blockBytes = 144,
                            .code = field({{nibbles32(16), 4, 0}}),
                            .runs = codes(256),
                            .scale = perGroup(f16At(0), kScales6, 32, 1),
                            .min = perGroup(f16At(2), kMins6, 32, 1)};

constexpr BlockFormat kQ5_K{.type = Q5_K,
                            .name = "Q5_K",
                            .blockLength = 256,
                            .blockBytes = 176,
                            .code = field({{nibbles32(48), 4, 0}, {bits32(16), 1, 4}}),
                            .runs = codes(256),
                            .scale = perGroup(f16At(0), kScales6, 32, 1),
                            .min = perGroup(f16At(2), kMins6, 32, 1)};

constexpr BlockFormat kQ6_K{
    .type = Q6_K,
    .name = "Q6_K",
    .blockLength = 256,
    .blockBytes = 210,
    .code = field({{nibbles64(0), 4, 0}, {pairs32(128), 2, 4}}),
    .runs = codes(256),
    .zero = zeroAt(32),
    .scale = perGroup(f16At(208), field(Number::Signed, {{linear(192, 0, 8), 8, 0}}), 16, 1)};

constexpr BlockFormat kQ8_K{.type = Q8_K,
                            .name = "Q8_K",
                            .blockLength = 256,
                            .blockBytes = 292,
                            .code = field(Number::Signed, {{linear(4, 0, 8), 8, 0}}),
                            .runs = codes(256),
                            .scale = perBlock(single(Number::F32, 0, 32), 256),
                            .derived = {260, 32}};

// Each 8 bytes: four 8-bit codes, four 7-bit signs, a 4-bit scale.
constexpr BlockFormat kIQ2_XXS{
    .type = IQ2_XXS,
    .name = "IQ2_XXS",
    .blockLength = 256,
    .blockBytes = 66,
    .code = field({{map(2, 0, {8, 16, 64, 128, 256}), 8, 0}}),
    .runs = codes(32, 8),
    .table = {kIq2XxsGrid.data(), 256, 8},
    .sign = field({{map(6, 0, {7, 14, 64, 128, 256}), 7, 0}}),
    .scale = perGroup(f16At(0), field({{linear(6, 28, 64), 4, 0}}), 32, 0.25f, 0.125f)};

constexpr BlockFormat kIQ2_XS{
    .type = IQ2_XS,
    .name = "IQ2_XS",
    .blockLength = 256,
    .blockBytes = 74,
    .code = field({{linear(2, 0, 16), 9, 0}}),
    .runs = codes(32, 8),
    .table = {kIq2XsGrid.data(), 512, 8},
    .sign = field({{linear(2, 9, 16), 7, 0}}),
    .scale = perGroup(f16At(0), field({{linear(66, 0, 4), 4, 0}}), 16, 0.25f, 0.125f)};

constexpr BlockFormat kIQ3_XXS{
    .type = IQ3_XXS,
    .name = "IQ3_XXS",
    .blockLength = 256,
    .blockBytes = 98,
    .code = field({{linear(2, 0, 8), 8, 0}}),
    .runs = codes(64, 4),
    .table = {kIq3XxsGrid.data(), 256, 4},
    .sign = field({{map(66, 0, {7, 14, 32, 64, 128}), 7, 0}}),
    .scale = perGroup(f16At(0), field({{linear(66, 28, 32), 4, 0}}), 32, 0.5f, 0.25f)};

// The zero point is -1/8 or +1/8 by one bit.
constexpr BlockFormat kIQ1_S{
    .type = IQ1_S,
    .name = "IQ1_S",
    .blockLength = 256,
    .blockBytes = 50,
    .code = field({{linear(2, 0, 8), 8, 0}, {map(34, 0, {3, 6, 16, 32, 64}), 3, 8}}),
    .runs = codes(32, 8),
    .table = {kIq1Grid.data(), 2048, 8},
    .zero = {-0.125f, 0.25f, field({{linear(34, 15, 16), 1, 0}}), 32},
    .scale = perGroup(f16At(0), field({{linear(34, 12, 16), 3, 0}}), 32, 2, 1)};

constexpr BlockFormat kIQ4_NL{.type = IQ4_NL,
                              .name = "IQ4_NL",
                              .blockLength = 32,
                              .blockBytes = 18,
                              .code = kNibbleCodes2,
                              .runs = codes(32),
                              .table = kIq4,
                              .scale = perBlock(f16At(0), 32)};

constexpr BlockFormat kIQ3_S{.type = IQ3_S,
                             .name = "IQ3_S",
                             .blockLength = 256,
                             .blockBytes = 110,
                             .code = field({{linear(2, 0, 8), 8, 0}, {linear(66, 0, 1), 1, 8}}),
                             .runs = codes(64, 4),
                             .table = {kIq3SGrid.data(), 512, 4},
                             .sign = field({{linear(74, 0, 8), 8, 0}}),
                             .scale =
                                 perGroup(f16At(0), field({{linear(106, 0, 4), 4, 0}}), 32, 2, 1)};

constexpr BlockFormat kIQ2_S{
    .type = IQ2_S,
    .name = "IQ2_S",
    .blockLength = 256,
    .blockBytes = 82,
    .code = field({{linear(2, 0, 8), 8, 0}, {linear(66, 0, 2), 2, 8}}),
    .runs = codes(32, 8),
    .table = {kIq2SGrid.data(), 1024, 8},
    .sign = field({{linear(34, 0, 8), 8, 0}}),
    .scale = perGroup(f16At(0), field({{linear(74, 0, 4), 4, 0}}), 16, 0.25f, 0.125f)};

constexpr BlockFormat kIQ4_XS{
    .type = IQ4_XS,
    .name = "IQ4_XS",
    .blockLength = 256,
    .blockBytes = 136,
    .code = field({{nibbles16(8), 4, 0}}),
    .runs = codes(256),
    .table = kIq4,
    .scale =
        perGroup(f16At(0), field({{linear(4, 0, 4), 4, 0}, {linear(2, 0, 2), 2, 4}}), 32, 1, -32)};

// The F16 scale lies in four nibbles, one at the top of each 16-bit word of scales.
constexpr BlockFormat kIQ1_M{.type = IQ1_M,
                             .name = "IQ1_M",
                             .blockLength = 256,
                             .blockBytes = 56,
                             .code = field({{linear(0, 0, 8), 8, 0}, {linear(32, 0, 4), 3, 8}}),
                             .runs = codes(32, 8),
                             .table = {kIq1Grid.data(), 2048, 8},
                             .zero = {-0.125f, 0.25f, field({{linear(32, 3, 4), 1, 0}}), 8},
                             .scale =
                                 perGroup(field(Number::F16, {{map(48, 12, {}), 4, 0},
                                                              {map(50, 12, {}), 4, 4},
                                                              {map(52, 12, {}), 4, 8},
                                                              {map(54, 12, {}), 4, 12}}),
                                          field({{map(48, 0, {3, 6, 16, 32}), 3, 0}}), 16, 2, 1)};

constexpr BlockFormat kTQ1_0{
    .type = TQ1_0,
    .name = "TQ1_0",
    .blockLength = 256,
    .blockBytes = 54,
    .code = field({{linear(0, 0, 8), 8, 0}}),
    .runs = {CodeRun{0, 0, 32, 5, true}, {160, 32, 16, 5, true}, {240, 48, 4, 4, true}},
    .runCount = 3,
    .table = kTernary,
    .scale = perBlock(f16At(52), 256)};

constexpr BlockFormat kTQ2_0{.type = TQ2_0,
                             .name = "TQ2_0",
                             .blockLength = 256,
                             .blockBytes = 66,
                             .code = field({{pairs32(0), 2, 0}}),
                             .runs = codes(256),
                             .zero = zeroAt(1),
                             .scale = perBlock(f16At(64), 256)};

constexpr BlockFormat kMXFP4{.type = MXFP4,
                             .name = "MXFP4",
                             .blockLength = 32,
                             .blockBytes = 17,
                             .code = field({{nibbles16(1), 4, 0}}),
                             .runs = codes(32),
                             .table = kE2m1,
                             .scale = perBlock(single(Number::E8m0Half, 0, 8), 32)};

constexpr BlockFormat kNVFP4{
    .type = NVFP4,
    .name = "NVFP4",
    .blockLength = 64,
    .blockBytes = 36,
    .code = field({{map(4, 0, {8, 16, 32, 4, 64, 128}), 4, 0}}),
    .runs = codes(64),
    .table = kE2m1,
    .scale = perBlock(field(Number::Ue4m3, {{linear(0, 0, 8), 8, 0}}), 16, 0.5f)};

constexpr BlockFormat kQ1_0{.type = Q1_0,
                            .name = "Q1_0",
                            .blockLength = 128,
                            .blockBytes = 18,
                            .code = field({{linear(2, 0, 1), 1, 0}}),
                            .runs = codes(128),
                            .table = kBinary,
                            .scale = perBlock(f16At(0), 128)};

constexpr BlockFormat kQ2_0{.type = Q2_0,
                            .name = "Q2_0",
                            .blockLength = 64,
                            .blockBytes = 18,
                            .code = field({{linear(2, 0, 2), 2, 0}}),
                            .runs = codes(64),
                            .zero = zeroAt(1),
                            .scale = perBlock(f16At(0), 64)};

constexpr BlockFormat kFormats[] = {
    plain(F32, "F32", Number::F32, 4, Rounding::Convert),
    plain(F16, "F16", Number::F16, 2, Rounding::Convert),
    kQ4_0,
    kQ4_1,
    kQ5_0,
    kQ5_1,
    kQ8_0,
    kQ8_1,
    kQ2_K,
    kQ3_K,
    kQ4_K,
    kQ5_K,
    kQ6_K,
    kQ8_K,
    kIQ2_XXS,
    kIQ2_XS,
    kIQ3_XXS,
    kIQ1_S,
    kIQ4_NL,
    kIQ3_S,
    kIQ2_S,
    kIQ4_XS,
    plain(I8, "I8", Number::Signed, 1),
    plain(I16, "I16", Number::Signed, 2),
    plain(I32, "I32", Number::Signed, 4),
    plain(I64, "I64", Number::Signed, 8),
    plain(F64, "F64", Number::F64, 8),
    kIQ1_M,
    plain(BF16, "BF16", Number::BF16, 2, Rounding::Convert),
    kTQ1_0,
    kTQ2_0,
    kMXFP4,
    kNVFP4,
    kQ1_0,
    kQ2_0,
};

constexpr BlockFormat kCacheFormats[] = {
    plain(FP8, "FP8", Number::E4m3, 1, Rounding::Convert),
};

} // namespace

std::span<const BlockFormat> blockFormats() {
  return kFormats;
}

std::span<const BlockFormat> cacheFormats() {
  return kCacheFormats;
}

const BlockFormat &blockFormat(TensorType type) {
  for (const BlockFormat &format : kCacheFormats)
    if (format.type == type)
      return format;
  const BlockFormat *format = findBlockFormat(static_cast<uint32_t>(type));
  SINTER_CHECK(format);
  return *format;
}

const BlockFormat *findBlockFormat(uint32_t ggufType) {
  auto *found = std::ranges::lower_bound(
      kFormats, ggufType, {}, [](const BlockFormat &f) { return static_cast<uint32_t>(f.type); });
  bool hit = found != std::end(kFormats) && static_cast<uint32_t>(found->type) == ggufType;
  return hit ? found : nullptr;
}

const BlockFormat *findBlockFormat(std::string_view name) {
  auto *found = std::ranges::find(kFormats, name, &BlockFormat::name);
  return found != std::end(kFormats) ? found : nullptr;
}

std::optional<uint64_t> BlockFormat::rowBytes(uint64_t elements) const {
  if (elements % blockLength != 0)
    return std::nullopt;
  return (CheckedSize(elements / blockLength) * CheckedSize(blockBytes)).value();
}

} // namespace sinter
