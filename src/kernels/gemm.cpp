// The GEMM kernel in the tile language.
#include "kernels/gemm.h"

namespace sinter::kernels {

using namespace kernel;

// A view of `rows` x `columns`, or of a batch of such.
static std::vector<int64_t> shapeOf(const Gemm &p, int64_t rows, int64_t columns) {
  return p.batched ? std::vector<int64_t>{dyn, rows, columns} : std::vector<int64_t>{rows, columns};
}

// A tile of matrix `batch`, turned where the view holds it so.
static Tile loadTile(const Gemm &p, const View &view, const Scalar &batch, const TilePlace &place,
                     bool turned) {
  TilePlace at = place;
  if (turned)
    at = {place.column, place.row, place.columns, place.rows};
  if (!p.batched)
    return load(view, {at.row, at.column}, {at.rows, at.columns});
  Tile tile = load(view, {batch, at.row, at.column}, {1, at.rows, at.columns});
  return reshape(tile, {at.rows, at.columns});
}

// Whether rows of a become what unquantized weights are.
static bool multipliesInB(const Gemm &p) {
  return !p.b.isBlock() && p.activation == p.b;
}

// The tile of a as the matmul takes it.
static Tile loadA(KernelBuilder &k, const Gemm &p, const View &a, const Scalar &batch,
                  const TilePlace &place) {
  Tile tile = loadTile(p, a, batch, place, p.transposeA);
  if (p.transposeA)
    tile = permute(tile, {1, 0});
  Element element = p.a;
  if (p.prologue.apply) {
    tile = p.prologue(k, toF32(tile, element), place);
    element = F32;
  }
  if (p.b.isBlock() && p.activation.isBlock())
    return element.isBlock() ? tile : quantize(convert(tile, F32), p.activation);
  if (p.b.isBlock() && p.activation != F32)
    return fromF32(toF32(tile, element), p.activation);
  if (element == p.b)
    return tile;
  return multipliesInB(p) ? fromF32(toF32(tile, element), p.b) : toF32(tile, element);
}

// A tile of b as the matmul takes it; `place` is in (K, N).
static Tile loadRun(const Gemm &p, const View &b, const Scalar &batch, const TilePlace &place) {
  Tile tile = loadTile(p, b, batch, place, p.transposeB);
  if (p.b.isBlock())
    return p.activation.isBlock() ? tile : fromF32(dequantize(tile), p.activation);
  bool same = multipliesInB(p) || (!p.prologue.apply ? p.a == p.b : p.b == F32);
  return same ? tile : convert(tile, F32);
}

// The same of the program's columns, part after part.
static Tile loadB(KernelBuilder &k, const Gemm &p, const View &b, const Scalar &batch,
                  const TilePlace &place) {
  if (p.parts == 1)
    return loadRun(p, b, batch, place);
  const int64_t width = place.columns / p.parts;
  Scalar first = k.programId(0) * width, rest = first % p.partRows;
  Scalar column = (first - rest) * p.parts + rest;
  std::vector<Tile> tiles;
  for (int64_t part = 0; part < p.parts; ++part)
    tiles.push_back(
        loadRun(p, b, batch, {place.row, column + part * p.partRows, place.rows, width}));
  return concat(tiles, 0);
}

// The place of each of the program's row tiles.
static std::vector<TilePlace> rowPlaces(const Gemm &p, const TilePlace &place) {
  std::vector<TilePlace> places = {place};
  for (int64_t tile = 1; tile < p.rowTiles; ++tile)
    places.push_back({place.row + tile * p.blockM, place.column, place.rows, place.columns, tile});
  return places;
}

// The sums of the program's row tiles; b's columns from `column` on.
static std::vector<Tile> multiply(KernelBuilder &k, const Gemm &p, const View &a, const View &b,
                                  const Scalar &batch, const std::vector<TilePlace> &places,
                                  const Scalar &column) {
  const int matrix = p.batched ? 1 : 0; // the axis of its rows
  const std::vector<Value> zeros(places.size(), k.zeros(F32, {p.blockM, p.blockN}));
  Scalar depth = a.dim(matrix + (p.transposeA ? 0 : 1));
  auto share = [&](const Operand &first) {
    return k.forLoop(first, depth, p.shares * p.blockK, zeros,
                     [&](Scalar step, std::span<const Value> sums) {
                       std::vector<Tile> rows;
                       for (const TilePlace &place : places)
                         rows.push_back(loadA(k, p, a, batch,
                                              {place.row, step, p.blockM, p.blockK, place.part}));
                       Tile columns = loadB(k, p, b, batch, {step, column, p.blockK, p.blockN});
                       std::vector<Value> next;
                       for (size_t tile = 0; tile < rows.size(); ++tile)
                         next.push_back(dot(rows[tile], columns, Tile(sums[tile]), p.transposeB));
                       return next;
                     });
  };
  auto whole = [&] {
    if (p.shares == 1)
      return share(0);
    return k.forLoop(0, p.shares * p.blockK, p.blockK, zeros,
                     [&](Scalar first, std::span<const Value> totals) {
                       std::vector<Value> next = share(first);
                       for (size_t tile = 0; tile < next.size(); ++tile)
                         next[tile] = Tile(totals[tile]) + Tile(next[tile]);
                       return next;
                     });
  };
  std::vector<Tile> sums;
  for (const Value &sum : whole())
    sums.push_back(Tile(sum));
  return sums;
}

Tile gemmTile(KernelBuilder &k, const Gemm &p, const View &a, const View &b, const TilePlace &place,
              const Scalar &column) {
  return multiply(k, p, a, b, Scalar(), {place}, column).front();
}

static void storeResult(const Gemm &p, const View &out, const Scalar &batch, const TilePlace &place,
                        const Tile &result) {
  if (!p.batched)
    return storeF32(out, p.out, place, result);
  store(out, {batch, place.row, place.column},
        fromF32(reshape(result, {1, place.rows, place.columns}), p.out));
}

void gemm(KernelBuilder &k, const Gemm &p) {
  const int matrix = p.batched ? 1 : 0; // the axis of its rows
  View a = k.in("a", p.a, p.transposeA ? shapeOf(p, p.k, dyn) : shapeOf(p, dyn, p.k));
  View b = k.in("b", p.b, p.transposeB ? shapeOf(p, p.n, p.k) : shapeOf(p, p.k, p.n),
                {.interleave = p.interleave, .constant = p.constantB});
  View out;
  if (p.epilogueStore)
    p.epilogueStore.declare(k);
  else
    out = k.out("out", p.out, shapeOf(p, dyn, p.n));
  p.prologue.open(k);
  p.epilogue.open(k);
  Scalar columns = p.epilogueStore ? b.dim(matrix + (p.transposeB ? 0 : 1)) : out.dim(matrix + 1);
  Scalar rows = p.epilogueStore ? a.dim(matrix + (p.transposeA ? 1 : 0)) : out.dim(matrix);
  k.grid(ceilDiv(columns, p.blockN), ceilDiv(rows, p.rowTiles * p.blockM),
         p.batched ? Operand(out.dim(0)) : Operand(1));
  Scalar batch = p.batched ? k.programId(2) : Scalar();
  TilePlace place = {k.programId(1) * (p.rowTiles * p.blockM), k.programId(0) * p.blockN, p.blockM,
                     p.blockN};

  const std::vector<TilePlace> places = rowPlaces(p, place);
  for (const TilePlace &rows : places)
    p.prologue.begin(k, a, {rows.row, k.constant(Index, 0), p.blockM, p.blockK, rows.part});
  const std::vector<Tile> sums = multiply(k, p, a, b, batch, places, place.column);
  for (size_t tile = 0; tile < sums.size(); ++tile) {
    Tile result = p.epilogue(k, sums[tile], places[tile]);
    if (p.epilogueStore)
      p.epilogueStore(k, result, places[tile]);
    else
      storeResult(p, out, batch, places[tile], result);
  }
}

void visitMatmul(Gemm &p, FieldVisitor &visitor) {
  visitor.format("a", p.a, "element type of a");
  visitor.format("b", p.b, "element type of b");
  visitor.format("out", p.out, "element type of out");
  visitor.format("activation", p.activation,
                 "what rows of a become where b is a block format: one too, or a float as which b "
                 "is dequantized");
  visitor.flag("transpose_b", p.transposeB, "b is [N, K]");
  visitor.flag("constant_b", p.constantB, "b is the same in every launch");
  visitor.extent("n", p.n, "N where it is static");
  visitor.extent("k", p.k, "K where it is static");
  visitor.integer("block_m", p.blockM, 1, kMaxBlock, "rows of one program");
  visitor.integer("block_n", p.blockN, 1, kMaxBlock, "columns of one program");
  visitor.integer("block_k", p.blockK, 1, kMaxBlock, "contracted extent of one step");
  visitor.integer("interleave", p.interleave, 0, 64,
                  "rows of b in a row-interleaved group; 0: not packed");
  visitor.integer("shares", p.shares, 1, 16, "shares of the steps along K, added up one by one");
  visitor.integer("parts", p.parts, 1, 16, "parts of b's rows of which a program has some each");
  visitor.integer("part_rows", p.partRows, 1, kMaxBlock, "rows of a part before the next one's");
}

void visitFields(Gemm &p, FieldVisitor &visitor) {
  visitMatmul(p, visitor);
  visitor.flag("batched", p.batched, "a batch of matmuls: a, b and out have one axis more");
  visitor.flag("transpose_a", p.transposeA, "a is [K, M]");
  visitor.option("row_tiles", p.rowTiles, 1, 1, 64,
                 "tiles of block_m rows that a program multiplies by what it reads of b");
}

} // namespace sinter::kernels
