// Elements and tiles of the interpreter: storage and conversion between types.
#include "tile/mlir_pch.h"

#include "base/check.h"
#include "numeric/formats/dot_packing.h"
#include "numeric/half.h"
#include "tile/interpreter/value.h"
#include "tile/tile.h"

#include <bit>
#include <cfloat>
#include <cmath>

using namespace mlir;

namespace sinter::tile {

static Element integerElement(unsigned bits) {
  uint16_t bytes = bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
  return {ElementKind::Int, static_cast<uint8_t>(bits), bytes};
}

static std::optional<Element> blockElement(BlockType type) {
  std::string name = type.getFormat().upper();
  if (const ActivationFormat *activation = findActivationFormat(name))
    return Element{ElementKind::Block, 0,       static_cast<uint16_t>(activation->bytes()),
                   kActivationLength,  nullptr, activation};
  const BlockFormat *format = findBlockFormat(name);
  if (!format)
    return std::nullopt;
  return Element{ElementKind::Block, 0, format->blockBytes, format->blockLength, format};
}

std::optional<Element> elementOf(Type type) {
  if (auto block = dyn_cast<BlockType>(type))
    return blockElement(block);
  if (type.isIndex())
    return integerElement(64);
  if (auto integer = dyn_cast<IntegerType>(type)) {
    if (integer.getWidth() == 0 || integer.getWidth() > 64)
      return std::nullopt;
    return integerElement(integer.getWidth());
  }
  if (type.isF16())
    return Element{ElementKind::F16, 16, 2};
  if (type.isBF16())
    return Element{ElementKind::BF16, 16, 2};
  if (type.isF32())
    return Element{ElementKind::F32, 32, 4};
  if (type.isF64())
    return Element{ElementKind::F64, 64, 8};
  if (isa<Float8E4M3FNType>(type))
    return Element{ElementKind::E4M3, 8, 1};
  if (isa<Float8E5M2Type>(type))
    return Element{ElementKind::E5M2, 8, 1};
  return std::nullopt;
}

int64_t signExtend(uint64_t value, unsigned bits) {
  return static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
}

// ---- tiles ----

Tile::Tile(Element element, ArrayRef<int64_t> shape, MemoryMeter *meter)
    : element_(element), shape_(shape), count_(1) {
  for (int64_t extent : shape)
    count_ *= extent;
  SINTER_CHECK(count_ > 0 && (!element.isBlock() || shape.back() % element.length == 0));
  if (byteCount() <= sizeof small_)
    return;
  if (meter)
    meter->live += byteCount();
  heap_ = std::make_shared<Storage>(std::make_unique<std::byte[]>(byteCount()), byteCount(), meter);
}

Tile Tile::integer(Element element, uint64_t value) {
  Tile tile(element, {}, nullptr);
  writeInts(tile, 0, value);
  return tile;
}

Tile Tile::index(int64_t value) {
  return integer(integerElement(64), static_cast<uint64_t>(value));
}

uint64_t Tile::unsignedAt(int64_t at) const {
  uint64_t value = 0;
  readInts(*this, at, value);
  return value;
}

int64_t Tile::signedAt(int64_t at) const {
  return signExtend(unsignedAt(at), element_.bits);
}

// ---- integers ----

template <typename T>
static void widenInts(const std::byte *data, int64_t start, MutableArrayRef<uint64_t> out) {
  const T *from = reinterpret_cast<const T *>(data) + start;
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = from[i];
}

void readInts(const Tile &tile, int64_t start, MutableArrayRef<uint64_t> out) {
  switch (tile.element().bytes) {
  case 1:
    return widenInts<uint8_t>(tile.data(), start, out);
  case 2:
    return widenInts<uint16_t>(tile.data(), start, out);
  case 4:
    return widenInts<uint32_t>(tile.data(), start, out);
  default:
    return widenInts<uint64_t>(tile.data(), start, out);
  }
}

template <typename T>
static void narrowInts(std::byte *data, int64_t start, ArrayRef<uint64_t> values, uint64_t mask) {
  T *to = reinterpret_cast<T *>(data) + start;
  for (size_t i = 0; i < values.size(); ++i)
    to[i] = static_cast<T>(values[i] & mask);
}

void writeInts(Tile &tile, int64_t start, ArrayRef<uint64_t> values) {
  uint64_t mask = tile.element().mask();
  switch (tile.element().bytes) {
  case 1:
    return narrowInts<uint8_t>(tile.data(), start, values, mask);
  case 2:
    return narrowInts<uint16_t>(tile.data(), start, values, mask);
  case 4:
    return narrowInts<uint32_t>(tile.data(), start, values, mask);
  default:
    return narrowInts<uint64_t>(tile.data(), start, values, mask);
  }
}

void clearUnusedBits(Tile &tile) {
  Element element = tile.element();
  if (!element.isInt() || element.bits == element.bytes * 8)
    return;
  uint64_t values[kChunk];
  for (int64_t start = 0; start < tile.count(); start += kChunk) {
    MutableArrayRef<uint64_t> chunk(values, std::min(kChunk, tile.count() - start));
    readInts(tile, start, chunk);
    writeInts(tile, start, chunk);
  }
}

// ---- floats ----

template <typename T, typename F, typename Out>
static void convert(const Tile &tile, int64_t start, MutableArrayRef<Out> out, F widen) {
  const T *from = tile.as<T>() + start;
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<Out>(widen(from[i]));
}

template <typename Out>
static void readFloatsAs(const Tile &tile, int64_t start, MutableArrayRef<Out> out) {
  switch (tile.element().kind) {
  case ElementKind::F16:
    return convert<uint16_t>(tile, start, out, f16ToF32);
  case ElementKind::BF16:
    return convert<uint16_t>(tile, start, out, bf16ToF32);
  case ElementKind::F32:
    return convert<float>(tile, start, out, [](float v) { return v; });
  case ElementKind::F64:
    return convert<double>(tile, start, out, [](double v) { return v; });
  case ElementKind::E4M3:
    return convert<uint8_t>(tile, start, out, e4m3ToF32);
  case ElementKind::E5M2:
    return convert<uint8_t>(tile, start, out, e5m2ToF32);
  case ElementKind::Int:
  case ElementKind::Block:
    SINTER_CHECK(!"not a float tile");
  }
}

void readDoubles(const Tile &tile, int64_t start, MutableArrayRef<double> out) {
  readFloatsAs(tile, start, out);
}

SmallVector<float, 0> toFloats(const Tile &tile) {
  SmallVector<float, 0> out(tile.count());
  readFloatsAs<float>(tile, 0, out);
  return out;
}

float roundToOdd(double value) {
  float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value))
    return nearest;
  if (std::isinf(nearest))
    return std::copysign(FLT_MAX, nearest);
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value))
    --bits;
  return std::bit_cast<float>(bits | 1);
}

template <typename T, typename F>
static void convertBack(Tile &tile, int64_t start, ArrayRef<double> values, F narrow) {
  T *to = tile.as<T>() + start;
  for (size_t i = 0; i < values.size(); ++i)
    to[i] = narrow(values[i]);
}

void writeDoubles(Tile &tile, int64_t start, ArrayRef<double> values) {
  switch (tile.element().kind) {
  case ElementKind::F16:
    return convertBack<uint16_t>(tile, start, values,
                                 [](double v) { return f32ToF16(roundToOdd(v)); });
  case ElementKind::BF16:
    return convertBack<uint16_t>(tile, start, values,
                                 [](double v) { return f32ToBf16(roundToOdd(v)); });
  case ElementKind::F32:
    return convertBack<float>(tile, start, values, [](double v) { return static_cast<float>(v); });
  case ElementKind::F64:
    return convertBack<double>(tile, start, values, [](double v) { return v; });
  case ElementKind::E4M3:
    return convertBack<uint8_t>(tile, start, values,
                                [](double v) { return f32ToE4m3(roundToOdd(v)); });
  case ElementKind::E5M2:
    return convertBack<uint8_t>(tile, start, values,
                                [](double v) { return f32ToE5m2(roundToOdd(v)); });
  case ElementKind::Int:
  case ElementKind::Block:
    SINTER_CHECK(!"not a float tile");
  }
}

double roundTo(Element element, double value) {
  switch (element.kind) {
  case ElementKind::F16:
    return f16ToF32(f32ToF16(roundToOdd(value)));
  case ElementKind::BF16:
    return bf16ToF32(f32ToBf16(roundToOdd(value)));
  case ElementKind::F32:
    return static_cast<float>(value);
  case ElementKind::E4M3:
    return e4m3ToF32(f32ToE4m3(roundToOdd(value)));
  case ElementKind::E5M2:
    return e5m2ToF32(f32ToE5m2(roundToOdd(value)));
  case ElementKind::F64:
  case ElementKind::Int:
  case ElementKind::Block:
    return value;
  }
}

} // namespace sinter::tile
