// Block formats in the interpreter: loading and storing whole blocks, tile.quantize,
// tile.dequantize and tile.dot of two block formats, all from the format table.
#include "tile/mlir_pch.h"

#include "numeric/formats/integer_scales.h"
#include "numeric/formats/word_packing.h"
#include "tile/interpreter/engine.h"
#include "tile/interpreter/races.h"

#include <cmath>
#include <cstring>
#include <numeric>

using namespace mlir;

namespace sinter::tile {

static std::span<const uint8_t> bytesOf(const Tile &tile) {
  return {tile.as<uint8_t>(), tile.byteCount()};
}

// ---- memory ----

// One block of the view at element `at`; none where no block begins there.
template <typename Plain, typename Packed>
static bool visitBlock(const View &view, int64_t at, Plain plain, Packed packed) {
  int64_t rows = std::max<int64_t>(view.interleave, 1), length = view.element.length * rows;
  int64_t row = at % length;
  if (row >= rows)
    return false;
  std::byte *group = view.data + at / length * view.element.bytes * rows;
  if (view.interleave)
    packed(group, row);
  else
    plain(group);
  return true;
}

static void turnBack(const PackedField &field, std::byte *unit) {
  if (field.itemBits == 8)
    return;
  uint32_t word;
  std::memcpy(&word, unit, sizeof word);
  word = turnItemsBack(word, field.itemBits);
  std::memcpy(unit, &word, sizeof word);
}

// Gathers one row's block from `rows` blocks that are interleaved unit by unit.
static void unpackBlock(std::span<const PackedField> fields, const std::byte *group, int64_t row,
                        int64_t rows, std::byte *to) {
  for (const PackedField &field : fields) {
    for (uint32_t unit = 0; unit < field.units(); ++unit) {
      std::byte *into = to + field.offset + unit * field.unitBytes;
      const std::byte *from = group + field.placeOf(unit) * rows + row * field.unitBytes;
      for (uint32_t byte = 0; byte < field.unitBytes; ++byte)
        into[byte] = from[byte] ^ std::byte(field.xorByte);
      turnBack(field, into);
    }
  }
}

// Calls body(block of the tile, element of the view) for each block that the view has; the body
// says whether to go on.
template <typename Body>
static bool forBlocks(const View &view, ArrayRef<int64_t> offsets, const Tile &tile, Body body) {
  int64_t length = tile.element().length;
  SmallVector<int64_t, 6> coordinates(offsets.size());
  for (int64_t block = 0; block < tile.count() / length; ++block) {
    int64_t rest = block * length;
    bool inside = true;
    for (int64_t axis = tile.rank() - 1; axis >= 0; --axis) {
      int64_t extent = tile.shape()[axis];
      inside &= !__builtin_add_overflow(offsets[axis], rest % extent, &coordinates[axis]);
      rest /= extent;
    }
    std::optional<int64_t> at = inside ? view.locate(coordinates) : std::nullopt;
    if (at && !body(block, *at))
      return false;
  }
  return true;
}

std::optional<int64_t> loadBlocks(const View &view, ArrayRef<int64_t> offsets, Tile &tile) {
  size_t bytes = view.element.bytes;
  std::vector<PackedField> fields;
  if (view.interleave)
    fields = *packedFields(*view.element.format, static_cast<uint32_t>(view.interleave));
  int64_t loaded = 0;
  bool whole = forBlocks(view, offsets, tile, [&](int64_t block, int64_t at) {
    std::byte *to = tile.data() + block * bytes;
    loaded += view.element.length;
    if (view.log)
      view.log->read(at / view.element.length);
    return visitBlock(
        view, at, [&](const std::byte *from) { std::memcpy(to, from, bytes); },
        [&](const std::byte *group, int64_t row) {
          unpackBlock(fields, group, row, view.interleave, to);
        });
  });
  return whole ? std::optional(loaded) : std::nullopt;
}

std::optional<int64_t> storeBlocks(const Tile &tile, const View &view, ArrayRef<int64_t> offsets) {
  size_t bytes = view.element.bytes;
  int64_t stored = 0;
  // Interleaved views are read only.
  bool whole = forBlocks(view, offsets, tile, [&](int64_t block, int64_t at) {
    stored += view.element.length;
    const std::byte *from = tile.data() + block * bytes;
    auto storeBlock = [&](std::byte *to) {
      if (view.log)
        view.log->write(at / view.element.length, std::memcmp(to, from, bytes) != 0);
      std::memcpy(to, from, bytes);
    };
    return visitBlock(view, at, storeBlock, [](std::byte *, int64_t) {});
  });
  return whole ? std::optional(stored) : std::nullopt;
}

// Block `block` of a tile of activations.
static const uint8_t *activationAt(const Tile &tile, int64_t block) {
  return tile.as<uint8_t>() + block * tile.element().bytes;
}

// ---- quantize and dequantize ----

static Result<void> quantize(OpCall &call) {
  const Tile &from = call.tile(0);
  Tile &out = call.out();
  if (const ActivationFormat *activation = out.element().activation) {
    const int64_t length = activation->scaleLength;
    const size_t bytes = length / kActivationLength * activation->bytes();
    for (int64_t at = 0; at < out.count() / length; ++at)
      quantizeActivation(*activation, {from.as<float>() + at * length, size_t(length)},
                         {out.as<uint8_t>() + at * bytes, bytes});
    return {};
  }
  auto result = quantizeRow(*out.element().format, {from.as<float>(), size_t(from.count())},
                            {out.as<uint8_t>(), out.byteCount()});
  if (!result)
    return call.fail(result.error().code, result.error().message);
  return {};
}

static Result<void> dequantize(OpCall &call) {
  const Tile &from = call.tile(0);
  Tile &out = call.out();
  if (from.element().format) {
    dequantizeRow(*from.element().format, bytesOf(from), {out.as<float>(), size_t(out.count())});
    return {};
  }
  for (int64_t i = 0; i < out.count(); ++i) {
    const uint8_t *block = activationAt(from, i / kActivationLength);
    out.as<float>()[i] = activationScale(*from.element().activation, block) *
                         activationCode(*from.element().activation, block, i % kActivationLength);
  }
  return {};
}

// ---- dot ----

namespace {

// A tile of blocks taken apart: value = scale * number - min, scale and min per group of elements.
// Integer scales are numbers, and `totals` is for all groups of a block.
struct Parts {
  int64_t group = 0; // elements
  bool hasMin = false;
  std::optional<IntegerScales> integers;
  SmallVector<float, 0> numbers, scales, mins;
  SmallVector<TotalScale, 0> totals;
};

// Sums over a group: exact, since they are of codes.
struct GroupSums {
  double dot = 0, codes = 0;
};

} // namespace

// Elements that share one scale, and one minimum where the format has any.
static int64_t groupOf(Element element) {
  if (!element.format)
    return kActivationLength;
  const BlockFormat &format = *element.format;
  int64_t group = format.scale.groupLength();
  return format.min.present() ? std::gcd(group, int64_t(format.min.groupLength())) : group;
}

static void appendActivation(const Tile &tile, int64_t block, Parts &parts) {
  const uint8_t *bytes = activationAt(tile, block);
  for (uint32_t e = 0; e < kActivationLength; ++e)
    parts.numbers.push_back(activationCode(*tile.element().activation, bytes, e));
  parts.scales.append(kActivationLength / parts.group,
                      activationScale(*tile.element().activation, bytes));
}

static void appendBlock(const Tile &tile, int64_t block, Parts &parts) {
  const BlockFormat &format = *tile.element().format;
  const uint8_t *bytes = tile.as<uint8_t>() + block * format.blockBytes;
  for (uint32_t e = 0; e < format.blockLength; ++e) {
    parts.numbers.push_back(format.number(bytes, e));
    if (e % parts.group != 0)
      continue;
    parts.scales.push_back(parts.integers ? static_cast<float>(scaleNumber(format, bytes, e))
                                          : format.scale.value(bytes, e));
    if (parts.hasMin)
      parts.mins.push_back(format.min.value(bytes, e));
  }
  if (parts.integers)
    parts.totals.push_back(totalScale(format, bytes));
}

// `beside`: the activations that it is multiplied by; null where they are none.
static Parts takeApart(const Tile &tile, int64_t group, const ActivationFormat *beside) {
  Parts parts;
  parts.group = group;
  parts.hasMin = tile.element().format && tile.element().format->min.present();
  if (beside && tile.element().format)
    parts.integers = integerScales(*tile.element().format, *beside);
  for (int64_t block = 0; block < tile.count() / tile.element().length; ++block)
    tile.element().format ? appendBlock(tile, block, parts) : appendActivation(tile, block, parts);
  return parts;
}

// The numbers of group `left` of a times those of group `right` of b, and those of a.
static GroupSums sumsOf(const Parts &a, const Parts &b, int64_t left, int64_t right) {
  GroupSums sums;
  for (int64_t e = 0; e < a.group; ++e) {
    double number = a.numbers[left * a.group + e];
    sums.dot += number * b.numbers[right * a.group + e];
    sums.codes += number;
  }
  return sums;
}

// The products of `count` groups, each scaled and followed by its minimum.
static float scaledSums(const Parts &a, const Parts &b, int64_t left, int64_t right,
                        int64_t count) {
  float sum = -0.0f;
  for (int64_t g = 0; g < count; ++g) {
    GroupSums sums = sumsOf(a, b, left + g, right + g);
    sum = std::fma(static_cast<float>(sums.dot), b.scales[right + g], sum);
    if (b.hasMin)
      sum = std::fma(-b.mins[right + g], static_cast<float>(sums.codes), sum);
  }
  return sum;
}

// The same where scales are integers: their total as a sum, then all minima.
static float integerSums(const Parts &a, const Parts &b, int64_t left, int64_t right,
                         int64_t count) {
  int32_t total = 0;
  SmallVector<float> codes;
  for (int64_t g = 0; g < count; ++g) {
    GroupSums sums = sumsOf(a, b, left + g, right + g);
    total += b.integers->shortened(static_cast<int32_t>(sums.dot)) *
             static_cast<int32_t>(b.scales[right + g]);
    codes.push_back(static_cast<float>(sums.codes));
  }
  float sum = b.totals[right / count].of(total);
  for (int64_t g = 0; g < count && b.hasMin; ++g)
    sum = std::fma(-b.mins[right + g], codes[g], sum);
  return sum;
}

// acc plus the products of row i of a and row j of b: `together` groups, which share a scale of a,
// are summed up, then scaled.
static float dotRows(const Parts &a, const Parts &b, int64_t i, int64_t j, int64_t groups,
                     int64_t together, float acc) {
  auto sumsOfGroups = b.integers ? integerSums : scaledSums;
  for (int64_t first = 0; first < groups; first += together) {
    const int64_t left = i * groups + first, right = j * groups + first;
    acc = std::fma(sumsOfGroups(a, b, left, right, together), a.scales[left], acc);
  }
  return acc;
}

// Elements of whole groups that are scaled at once.
static int64_t lengthTogether(const Tile &a, int64_t group) {
  const ActivationFormat *activation = a.element().activation;
  return activation ? activation->scaleLength : group;
}

Result<void> blockDot(OpCall &call) {
  const Tile &a = call.tile(0), &b = call.tile(1), &acc = call.tile(2);
  for (const Tile *tile : {&a, &b})
    if (tile->element().format && tile->element().format->isPlain())
      return call.fail(Code::Unsupported, "multiplies blocks without a scale");
  if (a.element().format && a.element().format->min.present())
    return call.fail(Code::Unsupported, "has an a with minima, expected them in b only");
  int64_t k = a.shape()[1], group = std::gcd(groupOf(a.element()), groupOf(b.element()));
  uint64_t elements = uint64_t(a.count()) + uint64_t(b.count());
  SINTER_TRY(call.engine().reserve(call.op, 3 * elements * sizeof(float), call.task));
  SINTER_TRY(call.engine().charge(call.op, uint64_t(acc.count()) * uint64_t(k), call.task));
  Parts left = takeApart(a, group, nullptr), right = takeApart(b, group, a.element().activation);
  int64_t n = acc.shape()[1], together = lengthTogether(a, group) / group;
  for (int64_t at = 0; at < acc.count(); ++at)
    call.out().as<float>()[at] =
        dotRows(left, right, at / n, at % n, k / group, together, acc.as<float>()[at]);
  return {};
}

void addBlockHandlers(Handlers &handlers) {
  handlers.add<QuantizeOp>(quantize);
  handlers.add<DequantizeOp>(dequantize);
}

} // namespace sinter::tile
