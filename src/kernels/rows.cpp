// Row normalisation in the tile language.
#include "kernels/rows.h"

#include <limits>
#include <map>
#include <memory>

namespace sinter::kernels {

using namespace kernel;

static constexpr int64_t kMostParts = 1 << 16;

// A row block's place at a column.
static TilePlace placeAt(const RowBlocks &p, const Scalar &row, const Scalar &column) {
  return {row, column, p.blockRows, p.blockColumns};
}

// The first row of this program; opens grid and slots.
static Scalar openRows(KernelBuilder &k, const RowBlocks &p, const View &x) {
  p.prologue.open(k);
  p.epilogue.open(k);
  k.grid(ceilDiv(x.dim(0), p.blockRows));
  return k.programId(0) * p.blockRows;
}

static Tile loadRows(KernelBuilder &k, const RowBlocks &p, const View &x, const TilePlace &place) {
  return p.prologue(k, loadF32(x, p.in, place), place);
}

static void storeRows(KernelBuilder &k, const RowBlocks &p, const View &out, const TilePlace &place,
                      const Tile &tile) {
  storeF32(out, p.out, place, p.epilogue(k, tile, place));
}

// One row of parameters, alike for all rows.
static Tile loadShared(const View &view, Element element, const TilePlace &place) {
  return convert(load(view, {0, place.column}, {1, place.columns}), F32);
}

// The columns of x and out, of a row or of all its parts.
static int64_t allColumns(const NormRows &p) {
  return p.parts == 1 ? p.columns : p.parts * p.columns;
}

// The part of the row that this program takes. Opens grid and slots.
struct NormPart {
  Scalar row, columns; // the first row; columns of a part
  Scalar first;        // column of x; none where a row is one part
  bool apart = false;

  NormPart(KernelBuilder &k, const NormRows &p, const View &x) : apart(p.parts > 1) {
    p.prologue.open(k);
    p.epilogue.open(k);
    const Operand blocks = ceilDiv(x.dim(0), p.blockRows);
    if (apart) {
      k.grid(blocks, p.parts);
      columns = k.constant(Index, p.columns);
      first = k.programId(1) * p.columns;
    } else {
      k.grid(blocks);
    }
    row = k.programId(0) * p.blockRows;
    if (!apart)
      columns = x.dim(1);
  }
  // Of a column of the part.
  TilePlace inRow(const RowBlocks &p, const Scalar &column) const {
    return placeAt(p, row, apart ? first + column : column);
  }
};

void rmsNorm(KernelBuilder &k, const RmsNorm &p) {
  View x = k.in("x", p.in, {dyn, allColumns(p)});
  View weight;
  if (p.weighted)
    weight = k.in("weight", p.weight, {1, p.columns});
  View out = k.out("out", p.out, {dyn, allColumns(p)});
  Scalar eps = k.scalar("eps", F32);
  const NormPart part(k, p, x);
  const Scalar columns = part.columns;

  Tile zero = k.zeros(F32, {p.blockRows, 1});
  Tile squares = k.forLoop(0, columns, p.blockColumns, zero, [&](Scalar column, Tile sum) {
    Tile value = loadRows(k, p, x, part.inRow(p, column));
    return sum + reduceSum(value * value, 1);
  });
  Tile scale = rsqrt(squares / convert(columns, F32) + eps);
  k.forLoop(0, columns, p.blockColumns, [&](Scalar column) {
    TilePlace place = part.inRow(p, column);
    Tile value = loadRows(k, p, x, place) * scale;
    if (p.weighted)
      value = value * loadShared(weight, p.weight, placeAt(p, part.row, column));
    storeRows(k, p, out, place, value);
  });
}

Slot rmsNormSlot(Element weight, int64_t columns) {
  struct State {
    View gain;
    Scalar eps;
    std::map<int64_t, Tile> scales; // by part
  };
  auto state = std::make_shared<State>();
  Slot slot;
  slot.declare = [state, weight, columns](KernelBuilder &k) {
    state->gain = k.in("norm_weight", weight, {1, columns}, {.constant = true});
    state->eps = k.scalar("norm_eps", F32);
  };
  slot.prepare = [state](KernelBuilder &k, const View &x, const TilePlace &place) {
    Scalar count = x.dim(1);
    Tile zero = k.zeros(F32, {place.rows, 1});
    Tile squares = k.forLoop(0, count, place.columns, zero, [&](Scalar column, Tile sum) {
      Tile value = load(x, {place.row, column}, {place.rows, place.columns});
      return sum + reduceSum(value * value, 1);
    });
    state->scales[place.part] = rsqrt(squares / convert(count, F32) + state->eps);
  };
  slot.apply = [state, weight](KernelBuilder &, const Tile &tile, const TilePlace &place) {
    return tile * state->scales.at(place.part) * loadShared(state->gain, weight, place);
  };
  return slot;
}

void layerNorm(KernelBuilder &k, const LayerNorm &p) {
  View x = k.in("x", p.in, {dyn, allColumns(p)});
  View weight, bias;
  if (p.weighted)
    weight = k.in("weight", p.weight, {1, p.columns});
  if (p.biased)
    bias = k.in("bias", p.weight, {1, p.columns});
  View out = k.out("out", p.out, {dyn, allColumns(p)});
  Scalar eps = k.scalar("eps", F32);
  const NormPart part(k, p, x);
  const Scalar columns = part.columns;
  Scalar count = convert(columns, F32);

  Tile zero = k.zeros(F32, {p.blockRows, 1});
  Tile lanes = k.iota({1, p.blockColumns}, 1);
  // Columns beyond the row count neither for the mean nor for the variance, whatever the prologue
  // makes of them.
  auto inRow = [&](const Tile &value, const Scalar &column) {
    return select(lanes < convert(columns - column, I32), value, 0);
  };
  Tile total = k.forLoop(0, columns, p.blockColumns, zero, [&](Scalar column, Tile sum) {
    Tile value = loadRows(k, p, x, part.inRow(p, column));
    return sum + reduceSum(inRow(value, column), 1);
  });
  Tile mean = total / count;
  Tile squares = k.forLoop(0, columns, p.blockColumns, zero, [&](Scalar column, Tile sum) {
    Tile deviation = loadRows(k, p, x, part.inRow(p, column)) - mean;
    return sum + reduceSum(inRow(deviation * deviation, column), 1);
  });
  Tile scale = rsqrt(squares / count + eps);
  k.forLoop(0, columns, p.blockColumns, [&](Scalar column) {
    TilePlace place = part.inRow(p, column), shared = placeAt(p, part.row, column);
    Tile value = (loadRows(k, p, x, place) - mean) * scale;
    if (p.weighted)
      value = value * loadShared(weight, p.weight, shared);
    if (p.biased)
      value = value + loadShared(bias, p.weight, shared);
    storeRows(k, p, out, place, value);
  });
}

void softmax(KernelBuilder &k, const Softmax &p) {
  View x = k.in("x", p.in, {dyn, p.columns});
  View out = k.out("out", p.out, {dyn, p.columns});
  Scalar row = openRows(k, p, x), columns = x.dim(1);
  auto values = [&](const TilePlace &place) {
    Tile tile = load(x, {place.row, place.column}, {place.rows, place.columns},
                     -std::numeric_limits<double>::infinity());
    return p.prologue(k, convert(tile, F32), place);
  };

  // The running maximum starts finite, so that padding of minus infinity never meets itself in a
  // difference.
  Tile lowest = k.full(F32, {p.blockRows, 1}, std::numeric_limits<float>::lowest());
  Tile zero = k.zeros(F32, {p.blockRows, 1});
  auto [highest, total] =
      k.forLoop(0, columns, p.blockColumns, std::tuple{lowest, zero},
                [&](Scalar column, Tile high, Tile sum) {
                  Tile value = values(placeAt(p, row, column));
                  Tile next = max(high, reduceMaxAnyNan(value, 1));
                  return std::tuple{next, sum * exp(high - next) + reduceSum(exp(value - next), 1)};
                });
  Tile top = highest, scale = 1.0 / total;
  k.forLoop(0, columns, p.blockColumns, [&](Scalar column) {
    TilePlace place = placeAt(p, row, column);
    storeRows(k, p, out, place, exp(values(place) - top) * scale);
  });
}

static void visitBlocks(RowBlocks &p, FieldVisitor &visitor) {
  visitor.format("in", p.in, "element type of x");
  visitor.format("out", p.out, "element type of out");
  visitor.extent("columns", p.columns, "N where it is static");
  visitor.integer("block_rows", p.blockRows, 1, kMaxBlock, "rows of one program");
  visitor.integer("block_columns", p.blockColumns, 1, kMaxBlock, "columns of one step");
}

static void visitNorm(NormRows &p, FieldVisitor &visitor) {
  visitBlocks(p, visitor);
  visitor.format("weight", p.weight, "element type of weight and bias");
  visitor.flag("weighted", p.weighted, "whether there is a weight");
  visitor.integer("parts", p.parts, 1, kMostParts, "parts of a row that are taken apart");
}

void visitFields(RmsNorm &p, FieldVisitor &visitor) {
  visitNorm(p, visitor);
}

void visitFields(LayerNorm &p, FieldVisitor &visitor) {
  visitNorm(p, visitor);
  visitor.flag("biased", p.biased, "whether there is a bias");
}

void visitFields(Softmax &p, FieldVisitor &visitor) {
  visitBlocks(p, visitor);
}

} // namespace sinter::kernels
