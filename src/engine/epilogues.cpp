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

Result<std::optional<Epilogue>> Lowering::mapEpilogue(graph::DotGeneralOp op) {
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
    epilogue.sink.columns = epilogue.columnMultiple = parts * together;
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

// Queries, keys and values of one contraction, or some of them in that order: the first two rotate
// alike, the last two go into the KV state.
struct HeadsOfContract {
  graph::RopeOp query, key; // null where the contraction does not make them
  bool values = false;
  graph::KvAppendOp scatter;        // of its keys or values
  SmallVector<Operation *> between; // slices and reshapes
  RankedTensorType heads;           // of its last part

  graph::RopeOp rope() const { return query ? query : key; }
};

template <class Op> static Op onlyUser(Value value) {
  return value.hasOneUse() ? dyn_cast<Op>(*value.user_begin()) : Op();
}

static bool rotateAlike(graph::RopeOp a, graph::RopeOp b) {
  return a.getTable() == b.getTable() && a.getPairing() == b.getPairing();
}

// Adds a part of a contraction's columns, if it may follow those before.
static bool matchPart(Value part, HeadsOfContract &match) {
  auto reshape = onlyUser<graph::ReshapeOp>(part);
  if (!reshape || reshape.getResult().getType().getRank() != 3 || match.values)
    return false;
  match.between.push_back(reshape);
  match.heads = reshape.getResult().getType();
  Value heads = reshape.getResult();
  auto rope = onlyUser<graph::RopeOp>(heads);
  auto scatter = onlyUser<graph::KvAppendOp>(rope ? rope.getResult() : heads);
  if (rope && !scatter) {
    bool first = !match.query && !match.key;
    match.query = rope;
    return first;
  }
  bool isPart = scatter && (rope ? scatter.getKeys() : scatter.getValues()) ==
                               (rope ? rope.getResult() : heads);
  if (!isPart || (rope && match.key) || (match.scatter && match.scatter != scatter))
    return false;
  match.scatter = scatter;
  match.values = !rope;
  if (rope)
    match.key = rope;
  return true;
}

static std::optional<HeadsOfContract> matchHeads(Value result) {
  HeadsOfContract match;
  SmallVector<Value> parts;
  for (graph::SliceOp slice : slicesOf(result)) {
    parts.push_back(slice.getResult());
    match.between.push_back(slice);
  }
  if (parts.empty())
    parts.push_back(result);
  if (!llvm::all_of(parts, [&](Value part) { return matchPart(part, match); }))
    return std::nullopt;
  int64_t headDim = match.heads.getDimSize(2);
  auto rotates = [&](graph::RopeOp rope) {
    return !rope ||
           (rope.getValue().getType().getDimSize(2) == headDim && rotateAlike(rope, match.rope()));
  };
  bool fits = headDim % (2 * kInterleavedRows) == 0 && headDim <= kMostHeadColumns &&
              rotates(match.query) && rotates(match.key) &&
              (!match.scatter || canBePool(match.scatter.getValuePool().getType()));
  return fits ? std::optional(match) : std::nullopt;
}

// The contraction whose columns, or some of them, are these heads.
static graph::DotGeneralOp makerOf(Value heads) {
  if (auto rope = heads.getDefiningOp<graph::RopeOp>())
    heads = rope.getValue();
  auto reshape = heads.getDefiningOp<graph::ReshapeOp>();
  Value columns = reshape ? reshape.getValue() : Value();
  if (auto slice = columns ? columns.getDefiningOp<graph::SliceOp>() : graph::SliceOp())
    columns = slice.getValue();
  return columns ? columns.getDefiningOp<graph::DotGeneralOp>() : graph::DotGeneralOp();
}

// Rows in which columns that rotate together lie `group` apart; as they come where they do already.
static std::vector<RowSegment> rotationOrder(const kernels::Heads &p, bool halves) {
  uint32_t half = number(p.headDim / 2), width = number(p.headDim);
  uint32_t group = p.group ? number(p.group) : half;
  if ((halves && group == half) || !(p.heads || p.keys))
    return {};
  uint32_t next = halves ? 1 : 2, partner = halves ? half : 1, first = 0;
  std::vector<RowSegment> order;
  auto rotated = [&](int64_t heads) {
    std::vector<plan::RowMode> modes = {{group, next}, {2, partner}};
    if (group < half)
      modes.push_back({half / group, group * next});
    modes.push_back({number(heads), width});
    order.push_back({first, std::move(modes)});
    first += number(heads * p.headDim);
  };
  if (p.heads)
    rotated(p.heads);
  if (p.keys)
    rotated(p.kvHeads);
  if (p.values)
    order.push_back({first, {{number(p.kvHeads * p.headDim), 1}}});
  return order;
}

// The heads of a contraction that nothing but what takes them reads.
std::optional<HeadsOfContract> Lowering::headsOf(graph::DotGeneralOp op) const {
  auto match = op && !outputs_.contains(op.getResult()) ? matchHeads(op.getResult()) : std::nullopt;
  bool readElsewhere = match && match->query && outputs_.contains(match->query.getResult());
  return readElsewhere ? std::nullopt : match;
}

// Whether contractions store what a scatter does: its keys and its values, since it is one
// operation.
bool Lowering::takeAll(graph::KvAppendOp scatter) const {
  auto keys = headsOf(makerOf(scatter.getKeys())), values = headsOf(makerOf(scatter.getValues()));
  return keys && values && keys->key && keys->scatter == scatter && values->values &&
         values->scatter == scatter;
}

static kernels::Heads headsFor(HeadsOfContract match) {
  kernels::Heads p;
  p.heads = match.query ? match.query.getValue().getType().getDimSize(1) : 0;
  p.headDim = match.heads.getDimSize(2);
  p.keys = match.key != nullptr;
  p.values = match.values;
  if (graph::KvAppendOp scatter = match.scatter) {
    graph::PoolShape pool = graph::poolShapeOf(scatter.getValuePool().getType());
    p.kvHeads = pool.heads;
    p.pageRows = pool.rows;
    p.pool = elementOf(scatter.getValuePool());
  }
  return p;
}

static std::string textOf(const kernels::Heads &p) {
  std::string text = " heads " + std::to_string(p.heads) + " kv_heads " +
                     std::to_string(p.kvHeads) + " head_dim " + std::to_string(p.headDim) +
                     " page_rows " + std::to_string(p.pageRows) + " pool " + plainName(p.pool);
  if (p.group)
    text += " group " + std::to_string(p.group);
  return text + (p.keys ? "" : " no keys") + (p.values ? "" : " no values");
}

// The sink's arguments and what they move.
void Lowering::bindHeads(HeadsOfContract &match, Epilogue &epilogue) {
  if (graph::RopeOp rope = match.rope()) {
    epilogue.arguments.push_back(stored(rope.getTable()).view());
    epilogue.bytes = plan::add(epilogue.bytes, bytesOf(rope.getTable().getType()));
  }
  if (graph::KvAppendOp scatter = match.scatter) {
    auto [keys, values] = poolsByRow(scatter.getKeyPool(), scatter.getValuePool());
    epilogue.arguments.push_back(stored(scatter.getSlots()).view());
    Expr pools =
        plan::mul(extentOf(match.heads, 0), bytesOf(rowOfPool(scatter.getValuePool().getType())));
    if (match.key) {
      epilogue.arguments.push_back(keys);
      epilogue.bytes = plan::add(epilogue.bytes, pools);
    }
    if (match.values) {
      epilogue.arguments.push_back(values);
      epilogue.bytes = plan::add(epilogue.bytes, pools);
    }
    stored_[scatter.getNewKeys()] = stored(scatter.getKeyPool());
    stored_[scatter.getNewValues()] = stored(scatter.getValuePool());
  }
  if (match.query) {
    epilogue.arguments.push_back(allocate(match.query.getResult()).view());
    epilogue.bytes = plan::add(epilogue.bytes, bytesOf(match.query.getValue().getType()));
  }
}

Result<std::optional<Epilogue>> Lowering::headEpilogue(graph::DotGeneralOp op) {
  std::optional<HeadsOfContract> match = headsOf(op);
  if (!match || (match->scatter && !takeAll(match->scatter)))
    return std::nullopt;
  if (match->rope() && !stored_.contains(match->rope().getTable()))
    return std::nullopt; // they are made after the product
  kernels::Heads p = headsFor(*match);
  int64_t columns = p.pool.isBlock() ? kActivationLength : kGroupColumns;
  if (options_.programs == Programs::Threads && p.headDim % (4 * columns) == 0)
    p.group = columns;
  Epilogue epilogue;
  epilogue.sink = kernels::headSink(p);
  epilogue.text = textOf(p);
  graph::RopeOp rope = match->rope();
  epilogue.rowOrder = rotationOrder(p, rope && rope.getPairing() == graph::Pairing::Halves);
  epilogue.blockColumns = p.headDim;
  epilogue.blockColumnsOfOne = p.group ? 2 * p.group : p.headDim;
  bindHeads(*match, epilogue);
  done_.insert(match->between.begin(), match->between.end());
  auto take = [&](Operation *taken, bool told) {
    if (taken && told)
      epilogue.covers.push_back(describe(taken));
    if (taken)
      done_.insert(taken);
  };
  take(match->query, true);
  take(match->key, true);
  take(match->scatter, match->values);
  return epilogue;
}

// ---- the choice ----

Epilogue Lowering::plainEpilogue(graph::DotGeneralOp op) {
  Epilogue epilogue;
  epilogue.arguments = {allocate(op.getResult()).view()};
  epilogue.bytes = bytesOf(op.getResult().getType());
  return epilogue;
}

Result<Epilogue> Lowering::epilogueOf(graph::DotGeneralOp op) {
  for (auto find : {&Lowering::headEpilogue, &Lowering::mapEpilogue}) {
    SINTER_ASSIGN(std::optional<Epilogue> found, (this->*find)(op));
    if (found)
      return std::move(*found);
  }
  return plainEpilogue(op);
}

} // namespace sinter::engine
