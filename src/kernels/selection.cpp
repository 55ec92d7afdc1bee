// Choices by counting: an element's rank is the number of elements before it.
#include "kernels/selection.h"

#include <array>
#include <limits>

namespace sinter::kernels {

using namespace kernel;

static constexpr int64_t kTopsOfProgram = 128;
static constexpr int64_t kRanksOfProgram = 16;
// Whose loads wait for memory together.
static constexpr int64_t kGroupsOfProgram = 8;
static constexpr int64_t kComparedTogether = 512;

// Integers compare alike on every device, while some take the smallest floats for zero.
static Tile keysOf(const Tile &values) {
  constexpr int32_t kMagnitude = std::numeric_limits<int32_t>::max(), kInfinity = 0x7f800000;
  Tile bits = bitcast(values, I32);
  Tile magnitude = bits & kMagnitude;
  Tile key = select(bits < 0, 0 - magnitude, magnitude);
  return select(magnitude > kInfinity, kMagnitude, key);
}

static Tile valuesOf(const Tile &keys) {
  constexpr int32_t kSign = std::numeric_limits<int32_t>::min();
  return bitcast(select(keys < 0, (0 - keys) | kSign, keys), F32);
}

// `count` keys of a row, as a row. What lies beyond its end has the key of -infinity or a smaller
// one, and a higher index than all elements: it comes last.
static Tile loadKeys(const View &in, const Element &element, const Scalar &row,
                     const Scalar &column, int64_t count) {
  if (element == I32)
    return load(in, {row, column}, {1, count}, std::numeric_limits<int32_t>::min());
  return keysOf(load(in, {row, column}, {1, count}, -std::numeric_limits<double>::infinity()));
}

// Indices of the elements from `column` on.
static Tile loadNumbers(KernelBuilder &k, const View &numbers, bool numbered, const Scalar &row,
                        const Scalar &column, int64_t count) {
  if (numbered)
    return load(numbers, {row, column}, {1, count});
  return k.iota({1, count}, 1) + convert(column, I32);
}

void groupTops(KernelBuilder &k, const GroupTops &p) {
  View in = k.in("in", p.in, {dyn, dyn});
  View tops = k.out("tops", I32, {dyn, dyn});
  k.grid(ceilDiv(tops.dim(1), kTopsOfProgram), tops.dim(0));
  Scalar first = k.programId(0) * kTopsOfProgram, row = k.programId(1);
  Tile keys = loadKeys(in, p.in, row, first * kGroupElements, kTopsOfProgram * kGroupElements);
  Tile most = reduceMax(reshape(keys, {kTopsOfProgram, kGroupElements}), 1);
  store(tops, {row, first}, reshape(most, {1, kTopsOfProgram}));
}

void rankElements(KernelBuilder &k, const RankElements &p) {
  View in = k.in("in", p.in, {dyn, dyn}), numbers;
  if (p.numbered)
    numbers = k.in("numbers", I32, {dyn, dyn});
  View ranks = k.out("ranks", I32, {dyn, dyn});
  k.grid(ceilDiv(ranks.dim(1), kRanksOfProgram), ranks.dim(0));
  Scalar first = k.programId(0) * kRanksOfProgram, row = k.programId(1);
  auto column = [](const Tile &tile) { return reshape(tile, {kRanksOfProgram, 1}); };
  Tile own = column(loadKeys(in, p.in, row, first, kRanksOfProgram));
  Tile ownNumber = column(loadNumbers(k, numbers, p.numbered, row, first, kRanksOfProgram));
  Tile zero = k.zeros(I32, {kRanksOfProgram, kComparedTogether});
  Tile counts = k.forLoop(0, in.dim(1), kComparedTogether, zero, [&](Scalar at, Tile counts) {
    Tile keys = loadKeys(in, p.in, row, at, kComparedTogether);
    Tile number = loadNumbers(k, numbers, p.numbered, row, at, kComparedTogether);
    Tile before = logicalOr(keys > own, logicalAnd(keys == own, number < ownNumber));
    return counts + convert(before, I32, Sign::Unsigned);
  });
  store(ranks, {row, first}, reshape(reduceSum(counts, 1), {1, kRanksOfProgram}));
}

void spreadGroups(KernelBuilder &k, const SpreadGroups &p) {
  View in = k.in("in", p.in, {dyn, dyn});
  View ranks = k.in("ranks", I32, {dyn, dyn}), numbers;
  if (p.numbered)
    numbers = k.in("numbers", I32, {dyn, dyn});
  const int64_t width = p.choices * kGroupElements;
  View keys = k.out("keys", I32, {dyn, width}), indices = k.out("indices", I32, {dyn, width});
  k.grid(ceilDiv(ranks.dim(1), kGroupsOfProgram), ranks.dim(0));
  Scalar first = k.programId(0) * kGroupsOfProgram, row = k.programId(1);
  std::array<Scalar, kGroupsOfProgram> from, rank;
  for (int64_t i = 0; i < kGroupsOfProgram; ++i) {
    Scalar at = first + i;
    from[i] = p.numbered ? convert(loadScalar(numbers, {row, at}), Index) : at;
    rank[i] = convert(loadScalar(ranks, {row, at}), Index);
  }
  std::array<Tile, kGroupsOfProgram> group;
  for (int64_t i = 0; i < kGroupsOfProgram; ++i) {
    from[i] = from[i] * kGroupElements;
    group[i] = loadKeys(in, p.in, row, from[i], kGroupElements);
  }
  for (int64_t i = 0; i < kGroupsOfProgram; ++i) {
    // What is not chosen, or no group, lies beyond the views.
    Scalar to = select(first + i < ranks.dim(1), rank[i], p.choices) * kGroupElements;
    store(keys, {row, to}, group[i]);
    store(indices, {row, to}, k.iota({1, kGroupElements}, 1) + convert(from[i], I32));
  }
}

void chooseRanked(KernelBuilder &k, const ChooseRanked &p) {
  View in = k.in("in", p.in, {dyn, dyn});
  View ranks = k.in("ranks", I32, {dyn, dyn}), numbers;
  if (p.numbered)
    numbers = k.in("numbers", I32, {dyn, dyn});
  View largest = k.out("largest", F32, {dyn, p.choices});
  View indices = k.out("indices", I32, {dyn, p.choices});
  k.grid((p.choices - 1) / kRanksOfProgram + 1, largest.dim(0));
  Scalar first = k.programId(0) * kRanksOfProgram, row = k.programId(1);
  Tile wanted = k.iota({kRanksOfProgram, 1}, 0) + convert(first, I32);
  Tile zero = k.zeros(I32, {kRanksOfProgram, kComparedTogether});
  auto [found, places] = k.forLoop(
      0, in.dim(1), kComparedTogether, std::tuple{zero, zero},
      [&](Scalar at, Tile found, Tile places) {
        Tile rank = load(ranks, {row, at}, {1, kComparedTogether}, -1);
        Tile keys = loadKeys(in, p.in, row, at, kComparedTogether);
        Tile number = loadNumbers(k, numbers, p.numbered, row, at, kComparedTogether);
        Tile here = rank == wanted;
        return std::tuple{found + select(here, keys, 0), places + select(here, number, 0)};
      });
  auto asRow = [](const Tile &tile) { return reshape(tile, {1, kRanksOfProgram}); };
  store(largest, {row, first}, valuesOf(asRow(reduceSum(found, 1))));
  store(indices, {row, first}, asRow(reduceSum(places, 1)));
}

// ---- fields ----

static void visitIn(kernel::Element &in, FieldVisitor &visitor) {
  visitor.format("in", in, "f32: values; i32: their keys");
}

static void visitNumbered(bool &numbered, FieldVisitor &visitor) {
  visitor.flag("numbered", numbered, "indices are given, else they are places in the row");
}

static void visitChoices(int64_t &choices, FieldVisitor &visitor) {
  visitor.integer("choices", choices, 1, kMaxBlock, "so many are chosen");
}

void visitFields(GroupTops &p, FieldVisitor &visitor) {
  visitIn(p.in, visitor);
}

void visitFields(RankElements &p, FieldVisitor &visitor) {
  visitIn(p.in, visitor);
  visitNumbered(p.numbered, visitor);
}

void visitFields(SpreadGroups &p, FieldVisitor &visitor) {
  visitIn(p.in, visitor);
  visitNumbered(p.numbered, visitor);
  visitChoices(p.choices, visitor);
}

void visitFields(ChooseRanked &p, FieldVisitor &visitor) {
  visitIn(p.in, visitor);
  visitNumbered(p.numbered, visitor);
  visitChoices(p.choices, visitor);
}

} // namespace sinter::kernels
