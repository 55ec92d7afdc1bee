// Lowering, epilogues: elementwise work, rounding, rotation and KV writes that follow a contraction
// run on its tiles.
#include "tile/mlir_pch.h"

#include "engine/elements.h"
#include "engine/lowering.h"
#include "engine/map_program.h"
#include "kernels/head_sink.h"
#include "numeric/dot_packing.h"

using namespace mlir;

namespace sinter::engine {

using plan::Expr;
using plan::RowSegment;

// Columns of each part in a program whose tiles hold several: whole groups of the activation
// format, and of interleaved rows.
static constexpr int64_t kPartColumns = 32;
static_assert(kPartColumns % kActivationLength == 0 && kPartColumns % kInterleavedRows == 0);

// Columns of a head that threads rotate with their partners beside them: those of one matrix
// instruction, so that many programs share a row.
static constexpr int64_t kGroupColumns = 8;

// The most columns of a program that holds a whole head.
static constexpr int64_t kMostHeadColumns = 256;

// ---- maps ----

namespace {

// A map that alone reads a contraction: whole, or as equal slices side by side.
struct MapOfContract {
  graph::MapOp map;
  SmallVector<Value> parts;
  SmallVector<Operation *> slices;
};

} // namespace

static graph::MapOp onlyMap(Value value) {
  return value.hasOneUse() ? dyn_cast<graph::MapOp>(*value.user_begin()) : graph::MapOp();
}

// The slices that read `value`, by ascending column, where they take each column once and nothing
// else reads it; none otherwise.
static SmallVector<graph::SliceOp> slicesOf(Value value) {
  SmallVector<graph::SliceOp> slices;
  for (Operation *user : value.getUsers())
    if (auto slice = dyn_cast<graph::SliceOp>(user))
      slices.push_back(slice);
    else
      return {};
  llvm::sort(slices,
             [](graph::SliceOp a, graph::SliceOp b) { return a.getOffset() < b.getOffset(); });
  int64_t end = 0;
  for (graph::SliceOp slice : slices) {
    if (static_cast<int64_t>(slice.getOffset()) != end)
      return {};
    end += columnsOf(slice.getResult());
  }
  return end == columnsOf(value) ? slices : SmallVector<graph::SliceOp>();
}

static std::optional<MapOfContract> matchMap(Value result) {
  if (graph::MapOp map = onlyMap(result))
    return MapOfContract{map, {result}, {}};
  MapOfContract match;
  for (graph::SliceOp slice : slicesOf(result)) {
    graph::MapOp map = onlyMap(slice.getResult());
    if (!map || (match.map && match.map != map) ||
        columnsOf(slice.getResult()) != columnsOf(map.getResult()))
      return std::nullopt;
    match.map = map;
    match.parts.push_back(slice.getResult());
    match.slices.push_back(slice);
  }
  if (!match.map || columnsOf(match.map.getResult()) % kPartColumns != 0)
    return std::nullopt;
  return match;
}

static uint32_t number(int64_t value) {
  return static_cast<uint32_t>(value);
}

Result<std::optional<Epilogue>> Lowering::mapEpilogue(graph::ContractOp op) {
  std::optional<MapOfContract> match = matchMap(op.getResult());
  if (!match || outputs_.contains(op.getResult()))
    return std::nullopt;
  for (Value operand : match->map.getValues())
    if (!llvm::is_contained(match->parts, operand) && !stored_.contains(operand))
      return std::nullopt;
  SINTER_ASSIGN(MapProgram program, readMap(match->map));
  Value result = storedForm(match->map.getResult());
  int64_t columns = columnsOf(result), parts = match->parts.size();
  Epilogue epilogue;
  std::vector<uint32_t> operands;
  for (Value part : match->parts)
    operands.push_back(
        number(llvm::find(match->map.getValues(), part) - match->map.getValues().begin()));
  epilogue.sink = mapSink(program, operands, columns, elementOf(result));
  if (const ActivationFormat *format =
          tile::activationFormatOf(cast<RankedTensorType>(result.getType()).getElementType()))
    epilogue.columnMultiple = format->scaleLength;
  epilogue.text = " map to " + std::string(elementOf(result).name());
  for (uint32_t operand : operands)
    epilogue.text += " " + std::to_string(operand);
  epilogue.text += " " + program.text();
  if (parts > 1) {
    int64_t together = std::max(kPartColumns, epilogue.columnMultiple);
    epilogue.rowOrder = {{0,
                          {{number(together), 1},
                           {number(parts), number(columns)},
                           {number(columns / together), number(together)}}}};
    epilogue.blockColumns = parts * together;
  }
  epilogue.arguments = {allocate(result).view()};
  llvm::append_range(epilogue.arguments, mapOperands(match->map, match->parts));
  epilogue.bytes = bytesOf(cast<RankedTensorType>(result.getType()));
  for (Value operand : match->map.getValues())
    if (!llvm::is_contained(match->parts, operand))
      epilogue.bytes =
          plan::add(epilogue.bytes, bytesOf(cast<RankedTensorType>(operand.getType())));
  epilogue.covers = {describe(match->map)};
  if (result != match->map.getResult())
    epilogue.covers.push_back(describe(result.getDefiningOp()));
  done_.insert(match->map);
  done_.insert(match->slices.begin(), match->slices.end());
  return epilogue;
}

// ---- heads ----

namespace {

// Queries, keys and values of one contraction: the first two rotate alike, the last two go into the
// KV state.
struct HeadsOfContract {
  graph::RopeOp query, key;
  graph::ScatterOp scatter;
  SmallVector<Operation *> between; // slices and reshapes
};

} // namespace

template <class Op> static Op onlyUser(Value value) {
  return value.hasOneUse() ? dyn_cast<Op>(*value.user_begin()) : Op();
}

static bool rotateAlike(graph::RopeOp a, graph::RopeOp b) {
  return a.getPositions() == b.getPositions() && a.getPairing() == b.getPairing() &&
         a.getBase() == b.getBase() && a.getDims() == b.getDims();
}

static std::optional<HeadsOfContract> matchHeads(Value result) {
  SmallVector<graph::SliceOp> slices = slicesOf(result);
  if (slices.size() != 3)
    return std::nullopt;
  HeadsOfContract match;
  SmallVector<Value> heads;
  for (graph::SliceOp slice : slices) {
    auto reshape = onlyUser<graph::ReshapeOp>(slice.getResult());
    if (!reshape || reshape.getResult().getType().getRank() != 3)
      return std::nullopt;
    heads.push_back(reshape.getResult());
    match.between.append({slice, reshape});
  }
  match.query = onlyUser<graph::RopeOp>(heads[0]);
  match.key = onlyUser<graph::RopeOp>(heads[1]);
  match.scatter = onlyUser<graph::ScatterOp>(heads[2]);
  if (!match.query || !match.key || !match.scatter || !rotateAlike(match.query, match.key) ||
      !match.key.getResult().hasOneUse() || match.scatter.getKeys() != match.key.getResult() ||
      match.scatter.getValues() != heads[2])
    return std::nullopt;
  int64_t headDim = match.query.getValue().getType().getDimSize(2);
  bool fits = headDim % (2 * kInterleavedRows) == 0 && headDim <= kMostHeadColumns &&
              static_cast<int64_t>(match.query.getDims()) == headDim &&
              canBePool(match.scatter.getValuePool().getType());
  return fits ? std::optional(match) : std::nullopt;
}

// Rows in which columns that rotate together lie `group` apart; as they come where they do already.
static std::vector<RowSegment> rotationOrder(const kernels::Heads &p, bool halves) {
  uint32_t half = number(p.headDim / 2), width = number(p.headDim);
  uint32_t group = p.group ? number(p.group) : half;
  if (halves && group == half)
    return {};
  uint32_t next = halves ? 1 : 2, partner = halves ? half : 1;
  uint32_t keys = number(p.heads * p.headDim), values = keys + number(p.kvHeads * p.headDim);
  auto order = [&](int64_t heads) {
    std::vector<plan::RowMode> modes = {{group, next}, {2, partner}};
    if (group < half)
      modes.push_back({half / group, group * next});
    modes.push_back({number(heads), width});
    return modes;
  };
  return {{0, order(p.heads)},
          {keys, order(p.kvHeads)},
          {values, {{number(p.kvHeads * p.headDim), 1}}}};
}

Result<std::optional<Epilogue>> Lowering::headEpilogue(graph::ContractOp op) {
  std::optional<HeadsOfContract> match = matchHeads(op.getResult());
  if (!match || outputs_.contains(op.getResult()) || outputs_.contains(match->query.getResult()))
    return std::nullopt;
  RankedTensorType query = match->query.getValue().getType();
  graph::ScatterOp scatter = match->scatter;
  graph::PoolShape pool = graph::poolShapeOf(scatter.getValuePool().getType());
  kernels::Heads p{query.getDimSize(1), pool.heads, pool.dim, pool.rows};
  p.pool = elementOf(scatter.getValuePool());
  int64_t columns = p.pool.isBlock() ? kActivationLength : kGroupColumns;
  if (options_.programs == Programs::Threads && p.headDim % (4 * columns) == 0)
    p.group = columns;
  Epilogue epilogue;
  epilogue.sink = kernels::headSink(p);
  epilogue.text = " heads " + std::to_string(p.heads) + " kv_heads " + std::to_string(p.kvHeads) +
                  " head_dim " + std::to_string(p.headDim) + " page_rows " +
                  std::to_string(p.pageRows) + " pool " + plainName(p.pool);
  if (p.group)
    epilogue.text += " group " + std::to_string(p.group);
  epilogue.rowOrder = rotationOrder(p, match->query.getPairing() == graph::Pairing::Halves);
  epilogue.blockColumns = p.headDim;
  epilogue.blockColumnsOfOne = p.group ? 2 * p.group : p.headDim;
  auto [keys, values] = poolsByRow(scatter.getKeyPool(), scatter.getValuePool());
  epilogue.arguments = {asColumn(stored(match->query.getPositions())),
                        frequencyTable(match->query),
                        stored(scatter.getSlots()).view(),
                        keys,
                        values,
                        allocate(match->query.getResult()).view()};
  stored_[scatter.getNewKeys()] = stored(scatter.getKeyPool());
  stored_[scatter.getNewValues()] = stored(scatter.getValuePool());
  Expr kvBytes = plan::mul(Expr(2), bytesOf(rowOfPool(scatter.getValuePool().getType())));
  epilogue.bytes = plan::add(bytesOf(query), plan::mul(extentOf(query, 0), kvBytes));
  done_.insert(match->between.begin(), match->between.end());
  for (Operation *taken :
       {match->query.getOperation(), match->key.getOperation(), scatter.getOperation()}) {
    epilogue.covers.push_back(describe(taken));
    done_.insert(taken);
  }
  return epilogue;
}

// ---- the choice ----

Epilogue Lowering::plainEpilogue(graph::ContractOp op) {
  Epilogue epilogue;
  epilogue.arguments = {allocate(op.getResult()).view()};
  epilogue.bytes = bytesOf(op.getResult().getType());
  return epilogue;
}

Result<Epilogue> Lowering::epilogueOf(graph::ContractOp op) {
  for (auto find : {&Lowering::headEpilogue, &Lowering::mapEpilogue}) {
    SINTER_ASSIGN(std::optional<Epilogue> found, (this->*find)(op));
    if (found)
      return std::move(*found);
  }
  return plainEpilogue(op);
}

} // namespace sinter::engine
