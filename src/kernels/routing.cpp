// Choices of experts and rows by expert in the tile language. Choices are made one after another by
// reductions over a row, since rows have as many columns as there are experts.
#include "kernels/routing.h"

#include <limits>

namespace sinter::kernels {

using namespace kernel;

static constexpr double kLowest = -std::numeric_limits<double>::infinity();
static constexpr int64_t kLanes = 32; // tiles of one row have whole multiples
static constexpr int64_t kCountedTogether = 16;

static int64_t wholeLanes(int64_t extent) {
  return (extent + kLanes - 1) / kLanes * kLanes;
}

// ---- choices ----

namespace {

// Tiles [1, wholeLanes(choices)], of which the first elements are for the choices in their order.
struct Choices {
  Tile values, indices;
};

// A row of `columns` elements in a tile that may be wider.
struct Row {
  KernelBuilder &k;
  int64_t columns;

  int64_t width() const { return wholeLanes(columns); }
  Tile numbers() const { return k.iota({1, width()}, 1); }
};

} // namespace

// Of the elements that `ranks`, which has no NaN, puts first: their `values`.
static Choices largestOf(const Row &row, const Tile &ranks, const Tile &values, int64_t choices) {
  KernelBuilder &k = row.k;
  const int64_t wide = wholeLanes(choices);
  Tile numbers = row.numbers(), places = k.iota({1, wide}, 1);
  // 1 where an element is there and not chosen.
  Tile open = select(numbers < row.columns, k.full(I32, {1, row.width()}, 1),
                     k.zeros(I32, {1, row.width()}));
  auto [rest, found, indices] =
      k.forLoop(0, choices, 1, std::tuple{open, k.zeros(F32, {1, wide}), k.zeros(I32, {1, wide})},
                [&](Scalar at, Tile left, Tile found, Tile indices) {
                  Tile most = reduceMax(select(left == 1, ranks, kLowest), 1);
                  Tile first = reduceMin(
                      select(logicalAnd(left == 1, ranks == most), numbers, row.width()), 1);
                  Tile here = numbers == first;
                  Tile value = reduceSum(select(here, values, 0), 1);
                  Tile place = places == convert(at, I32);
                  return std::tuple{select(here, 0, left), select(place, value, found),
                                    select(place, first, indices)};
                });
  (void)rest;
  return {found, indices};
}

static Tile withoutNan(const Tile &tile) {
  return select(tile == tile, tile, kLowest);
}

// Choices whose numbers, divided by `sharing`, name other elements of `values`.
static Choices sharedOf(const Row &row, const Choices &chosen, const Tile &values, int64_t choices,
                        int64_t sharing) {
  KernelBuilder &k = row.k;
  Tile numbers = row.numbers(), places = k.iota({1, wholeLanes(choices)}, 1);
  Tile indices = chosen.indices / sharing;
  Tile found =
      k.forLoop(0, choices, 1, k.zeros(F32, {1, wholeLanes(choices)}), [&](Scalar at, Tile found) {
        Tile place = places == convert(at, I32);
        Tile number = reduceSum(select(place, indices, 0), 1);
        return select(place, reduceSum(select(numbers == number, values, 0), 1), found);
      });
  return {found, indices};
}

static Tile softmaxOf(const Tile &tile) {
  Tile powers = exp(tile - reduceMax(tile, 1));
  return powers / reduceSum(powers, 1);
}

// The sum of the two largest ranks of experts of a group, of which `own` says which these are.
static Tile sumOfGroup(const Row &row, const Tile &ranks, const Tile &own, int64_t width) {
  Tile ofGroup = select(own, ranks, kLowest);
  Tile most = reduceMax(ofGroup, 1);
  if (width == 1)
    return most;
  Tile numbers = row.numbers();
  Tile first = reduceMin(select(logicalAnd(own, ranks == most), numbers, row.width()), 1);
  return most + reduceMax(select(numbers == first, kLowest, ofGroup), 1);
}

// Minus infinity for experts outside the groups that count.
static Tile ranksOfGroups(const Row &row, const Route &p, const Tile &ranks) {
  KernelBuilder &k = row.k;
  const int64_t width = p.experts / p.groups;
  const Row groups{k, p.groups};
  Tile groupOf = row.numbers() / width, places = groups.numbers();
  Tile sums =
      k.forLoop(0, p.groups, 1, k.zeros(F32, {1, groups.width()}), [&](Scalar group, Tile sums) {
        Tile sum = sumOfGroup(row, ranks, groupOf == convert(group, I32), width);
        return select(places == convert(group, I32), sum, sums);
      });
  const Choices kept = largestOf(groups, withoutNan(sums), sums, p.usedGroups);
  Tile none = k.full(F32, {1, row.width()}, kLowest);
  return k.forLoop(0, p.usedGroups, 1, none, [&](Scalar at, Tile limited) {
    Tile slot = k.iota({1, wholeLanes(p.usedGroups)}, 1) == convert(at, I32);
    Tile group = reduceSum(select(slot, kept.indices, 0), 1);
    return select(groupOf == group, ranks, limited);
  });
}

static Tile weightsOf(KernelBuilder &k, const Route &p, Tile weights, const Scalar &scale) {
  constexpr double kLeastSum = 1.0 / 16384; // 2^-14
  Tile there = k.iota({1, wholeLanes(p.choices)}, 1) < p.choices;
  if (p.scores == RouterScores::ChosenSoftmax)
    weights = softmaxOf(select(there, weights, kLowest));
  if (p.normalized)
    weights = weights / max(reduceSum(select(there, weights, 0), 1), kLeastSum);
  return weights * scale;
}

void route(KernelBuilder &k, const Route &p) {
  View logits = k.in("logits", F32, {dyn, p.experts}), bias;
  if (p.biased)
    bias = k.in("bias", F32, {1, p.experts});
  View weights = k.out("weights", F32, {dyn, p.choices});
  View chosen = k.out("chosen", I32, {dyn, p.choices});
  Scalar scale = k.scalar("scale", F32);
  k.grid(logits.dim(0));
  const Row row{k, p.experts};
  Scalar number = k.programId(0);
  Tile inputs = load(logits, {number, 0}, {1, row.width()}, kLowest), scores = inputs;
  if (p.scores == RouterScores::Softmax)
    scores = softmaxOf(inputs);
  else if (p.scores == RouterScores::Sigmoid)
    scores = 1.0 / (1.0 + exp(-inputs));
  Tile ranks = p.byLogits ? inputs : scores;
  if (p.biased)
    ranks = ranks + load(bias, {0, 0}, {1, row.width()});
  ranks = withoutNan(ranks);
  if (p.groups > 1)
    ranks = ranksOfGroups(row, p, ranks);
  Choices choices = largestOf(row, ranks, scores, p.choices);
  if (p.sharing > 1)
    choices = sharedOf(row, choices, scores, p.choices, p.sharing);
  store(weights, {number, 0}, weightsOf(k, p, choices.values, scale));
  store(chosen, {number, 0}, choices.indices);
}

// ---- rows by expert ----

// 1 where a condition of so many rows and columns holds.
static Tile onesWhere(KernelBuilder &k, const Tile &condition, int64_t rows, int64_t columns) {
  return select(condition, k.full(I32, {rows, columns}, 1), k.zeros(I32, {rows, columns}));
}

namespace {
// The choices of one program.
struct Span {
  Scalar first, end;

  Span(KernelBuilder &k, const View &chosen)
      : first(k.programId(0) * kChoicesOfProgram),
        end(min(first + kChoicesOfProgram, chosen.dim(0))) {}
};
} // namespace

static Tile loadChosen(const View &chosen, const Scalar &at) {
  return load(chosen, {at, 0}, {kCountedTogether, 1}, -1);
}

void countRows(KernelBuilder &k, const CountRows &p) {
  View chosen = k.in("chosen", I32, {dyn, 1});
  View counts = k.out("counts", I32, {dyn, 2, p.experts});
  k.grid(ceilDiv(chosen.dim(0), kChoicesOfProgram));
  const Span span(k, chosen);
  const int64_t width = wholeLanes(p.experts);
  Tile experts = k.iota({1, width}, 1), zero = k.zeros(I32, {1, width});
  auto [own, below] =
      k.forLoop(span.first, span.end, kCountedTogether, std::tuple{zero, zero},
                [&](Scalar at, Tile own, Tile below) {
                  Tile expert = loadChosen(chosen, at);
                  auto count = [&](const Tile &condition) {
                    return reduceSum(onesWhere(k, condition, kCountedTogether, width), 0);
                  };
                  return std::tuple{own + count(expert == experts),
                                    below + count(logicalAnd(expert >= 0, expert < experts))};
                });
  Scalar program = k.programId(0);
  store(counts, {program, 0, 0}, reshape(own, {1, 1, width}));
  store(counts, {program, 1, 0}, reshape(below, {1, 1, width}));
}

// The first row of each expert for the choices of program `program`.
static Tile firstRows(KernelBuilder &k, const View &counts, const Scalar &program, int64_t width) {
  auto add = [&](const Scalar &end, int64_t which, const Tile &from) {
    return k.forLoop(0, end, 1, from, [&](Scalar at, Tile sum) {
      return sum + reshape(load(counts, {at, which, 0}, {1, 1, width}), {1, width});
    });
  };
  return add(program, 0, add(counts.dim(0), 1, k.zeros(I32, {1, width})));
}

// Program 0 stores the groups.
static void storeGroups(KernelBuilder &k, const PlaceRows &p, const View &counts,
                        const View &groups) {
  Scalar experts = select(k.programId(0) == 0, k.constant(Index, p.experts), 0);
  Tile columns = k.iota({1, 4}, 1);
  auto [used, rows] = k.forLoop(
      0, experts, 1, std::tuple{k.constant(Index, 0), k.constant(I32, 0)},
      [&](Scalar expert, Scalar group, Scalar first) {
        Scalar count =
            k.forLoop(0, counts.dim(0), 1, k.constant(I32, 0), [&](Scalar at, Scalar sum) {
              return sum + loadScalar(counts, {at, 0, expert});
            });
        Tile numbers = select(columns == 0, splat(convert(expert, I32), {1, 4}),
                              select(columns == 1, splat(first, {1, 4}), splat(count, {1, 4})));
        store(groups, {select(count > 0, group, k.constant(Index, p.experts)), 0}, numbers);
        return std::tuple{group + select(count > 0, k.constant(Index, 1), 0), first + count};
      });
  (void)rows;
  k.forLoop(used, experts, 1, [&](Scalar at) { store(groups, {at, 0}, k.zeros(I32, {1, 4})); });
}

void placeRows(KernelBuilder &k, const PlaceRows &p) {
  View chosen = k.in("chosen", I32, {dyn, 1}), chosenRow = k.in("chosen_row", I32, {1, dyn});
  View counts = k.in("counts", I32, {dyn, 2, p.experts});
  View places = k.out("places", I32, {dyn, 1}), groups = k.out("groups", I32, {p.experts, 3});
  k.grid(max(ceilDiv(chosen.dim(0), kChoicesOfProgram), 1));
  const Span span(k, chosen);
  const int64_t width = wholeLanes(p.experts);
  Tile experts = k.iota({1, width}, 1);
  Tile first = firstRows(k, counts, k.programId(0), width);
  Tile all = load(chosenRow, {0, span.first}, {1, kChoicesOfProgram}, -1);
  Tile numbers = k.iota({1, kChoicesOfProgram}, 1);
  k.forLoop(span.first, span.end, kCountedTogether, [&](Scalar at) {
    Tile expert = loadChosen(chosen, at);
    Tile own = k.iota({kCountedTogether, 1}, 0) + convert(at - span.first, I32);
    Tile before = reduceSum(
        onesWhere(k, logicalAnd(expert == all, numbers < own), kCountedTogether, kChoicesOfProgram),
        1);
    Tile start = reduceSum(select(expert == experts, first, 0), 1);
    Tile exists = logicalAnd(expert >= 0, expert < p.experts);
    store(places, {at, 0}, select(exists, start + before, -1));
  });
  storeGroups(k, p, counts, groups);
}

void spreadRows(KernelBuilder &k, const SpreadRows &p) {
  View rows = k.in("rows", p.element, {dyn, dyn}), places = k.in("places", I32, {dyn});
  View out = k.out("out", p.element, {dyn, 1, dyn});
  k.grid(ceilDiv(rows.dim(1), p.blockColumns), places.dim(0));
  Scalar column = k.programId(0) * p.blockColumns, choice = k.programId(1);
  store(gatherRows(out, places), {choice, column},
        load(rows, {choice / p.choices, column}, {1, p.blockColumns}));
}

void combineRows(KernelBuilder &k, const CombineRows &p) {
  View rows = k.in("rows", F32, {dyn, p.columns});
  View places = k.in("places", I32, {dyn, p.choices});
  View weights = k.in("weights", F32, {dyn, p.choices});
  View out = k.out("out", p.out, {dyn, p.columns});
  p.epilogue.open(k);
  k.grid(ceilDiv(out.dim(1), p.blockColumns), out.dim(0));
  TilePlace place = {k.programId(1), k.programId(0) * p.blockColumns, 1, p.blockColumns};
  Tile zero = k.zeros(F32, {1, p.blockColumns});
  Tile sum = k.forLoop(0, p.choices, 1, zero, [&](Scalar choice, Tile sum) {
    Scalar row = convert(loadScalar(places, {place.row, choice}), Index);
    Tile tile = load(rows, {row, place.column}, {1, p.blockColumns});
    return sum + tile * loadScalar(weights, {place.row, choice});
  });
  storeF32(out, p.out, place, p.epilogue(k, sum, place));
}

// ---- fields ----

static constexpr int64_t kMostExperts = 4096; // as columns of a tile

void visitFields(Route &p, FieldVisitor &visitor) {
  int64_t scores = static_cast<int64_t>(p.scores);
  visitor.integer("scores", scores, 0, 2, "0 softmax, 1 sigmoid, 2 softmax of the chosen");
  p.scores = static_cast<RouterScores>(scores);
  visitor.integer("experts", p.experts, 1, kMostExperts, "experts of a token's logits");
  visitor.integer("choices", p.choices, 1, p.experts, "of which so many are chosen");
  visitor.integer("groups", p.groups, 1, p.experts, "groups of neighbouring experts");
  visitor.integer("used_groups", p.usedGroups, 1, p.groups, "groups that count");
  visitor.integer("sharing", p.sharing, 1, p.experts, "neighbouring experts that stand for one");
  visitor.flag("biased", p.biased, "experts are chosen by scores plus a bias");
  visitor.flag("by_logits", p.byLogits, "experts are chosen by logits");
  visitor.flag("normalized", p.normalized, "weights are divided by their sum");
}

void visitFields(CountRows &p, FieldVisitor &visitor) {
  visitor.integer("experts", p.experts, 1, kMostExperts, "experts that choices name");
}

void visitFields(PlaceRows &p, FieldVisitor &visitor) {
  visitor.integer("experts", p.experts, 1, kMostExperts, "experts that choices name");
}

void visitFields(SpreadRows &p, FieldVisitor &visitor) {
  visitor.format("element", p.element, "element type of rows");
  visitor.integer("choices", p.choices, 1, kMostExperts, "rows of out for each row");
  visitor.integer("block_columns", p.blockColumns, 1, kMaxBlock, "columns of one program");
}

void visitFields(CombineRows &p, FieldVisitor &visitor) {
  visitor.format("out", p.out, "element type of out");
  visitor.extent("columns", p.columns, "N where it is static");
  visitor.integer("choices", p.choices, 1, kMostExperts, "rows of each sum");
  visitor.integer("block_columns", p.blockColumns, 1, kMaxBlock, "columns of one program");
}

} // namespace sinter::kernels
