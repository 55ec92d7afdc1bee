// Lowering, matmuls: what the slots of a launch hold becomes the slots of the kernel, instance by
// instance for the M buckets that the launch names.
#include "tile/mlir_pch.h"

#include "base/check.h"
#include "engine/choice/matmul.h"
#include "engine/choice/packing.h"
#include "engine/choice/rows.h"
#include "engine/choice/shared_depth.h"
#include "engine/elements.h"
#include "engine/lowering.h"
#include "engine/map_program.h"
#include "graph/fuse/row_order.h"
#include "kernels/norm_squares.h"
#include "kernels/qkv_epilogue.h"
#include "kernels/rows.h"

using namespace mlir;

namespace sinter::engine {

using plan::Expr;
using plan::KernelId;

template <class Op> static Op onlyIn(graph::LaunchOp launch, StringRef slot) {
  Op found;
  for (Operation *op : graph::inSlot(launch, slot))
    if (auto match = dyn_cast<Op>(op))
      found = match;
  return found;
}

// ---- epilogues ----

// The values that a map reads as tiles: columns of the matmul's result, in their order.
static SmallVector<Value> partsOf(graph::LaunchOp launch) {
  SmallVector<Value> parts;
  for (Operation *op : graph::inSlot(launch, graph::kEpilogue))
    if (auto slice = dyn_cast<graph::SliceOp>(op))
      parts.push_back(slice.getResult());
  if (parts.empty())
    parts.push_back(graph::columnsMadeBy(launch));
  return parts;
}

Result<Epilogue> Lowering::mapEpilogue(graph::LaunchOp launch, graph::MapOp map) {
  SINTER_ASSIGN(MapProgram program, readMap(map));
  const SmallVector<Value> parts = partsOf(launch);
  Value result = launch.getResult(0);
  Epilogue epilogue;
  epilogue.columns = launch.getColumns().value_or(1);
  std::vector<uint32_t> operands;
  for (Value part : parts)
    operands.push_back(
        static_cast<uint32_t>(llvm::find(map.getValues(), part) - map.getValues().begin()));
  if (llvm::is_contained(operands, map.getValues().size()))
    return fail(Code::Unsupported, "a map reads no columns of its matmul, which has no kernel");
  const bool squares = graph::squaresOf(launch) != nullptr;
  epilogue.epilogueStore =
      mapStore(program, operands, graph::columnsOf(result), elementOf(result), squares);
  std::string detail = "to " + plainName(elementOf(result));
  for (uint32_t operand : operands)
    detail += " " + std::to_string(operand);
  epilogue.slots = {{"epilogue", "map", detail + " " + program.text()}};
  if (squares)
    epilogue.slots.push_back({"epilogue", "squares", std::to_string(graph::kSquareColumns)});
  if (parts.size() > 1)
    epilogue.epilogueStore.columns = epilogue.columns;
  epilogue.arguments = {allocate(result).view()};
  if (squares)
    epilogue.arguments.push_back(allocate(launch.getResult(1)).view());
  SINTER_ASSIGN(const std::vector<BoundArgument> others, mapOperands(map, parts));
  llvm::append_range(epilogue.arguments, others);
  return epilogue;
}

static int64_t countOf(const graph::MatmulHeads &heads, graph::HeadKind kind) {
  const graph::HeadPart *part = heads.find(kind);
  return part ? part->count() : 0;
}

static kernels::QkvEpilogue qkvFor(const graph::MatmulHeads &heads, int64_t columns) {
  kernels::QkvEpilogue p;
  p.heads = countOf(heads, graph::HeadKind::Queries);
  p.headDim = heads.headDim();
  p.rest = heads.rest();
  p.group = columns < p.headDim ? columns / 2 : 0;
  p.keys = heads.find(graph::HeadKind::Keys) != nullptr;
  p.values = heads.find(graph::HeadKind::Values) != nullptr;
  if (graph::KvAppendOp append = heads.append()) {
    const graph::PoolShape cache = graph::poolShapeOf(append);
    p.kvHeads = cache.heads;
    p.pageRows = cache.rows;
    p.cache = elementOf(append.getPool());
  }
  return p;
}

static std::string textOf(const kernels::QkvEpilogue &p) {
  std::string text = std::to_string(p.heads) + " kv_heads " + std::to_string(p.kvHeads) +
                     " head_dim " + std::to_string(p.headDim) + " page_rows " +
                     std::to_string(p.pageRows) + " pool " + plainName(p.cache);
  if (p.rest)
    text += " rest " + std::to_string(p.rest);
  if (p.group)
    text += " group " + std::to_string(p.group);
  return text + (p.keys ? "" : " no keys") + (p.values ? "" : " no values");
}

// The launch's result that a value of its body becomes; null where it is none.
static Value resultOf(graph::LaunchOp launch, Value inner) {
  Operation *end = launch.getBody().front().getTerminator();
  auto found = llvm::find(end->getOperands(), inner);
  return found == end->operand_end()
             ? Value()
             : launch.getResult(static_cast<unsigned>(found - end->operand_begin()));
}

// What a QKV epilogue stores to, in its kernel's order.
Result<std::vector<BoundArgument>> Lowering::qkvArguments(graph::LaunchOp launch,
                                                          const graph::MatmulHeads &heads) {
  std::vector<BoundArgument> arguments;
  if (graph::RopeOp rope = heads.rope()) {
    SINTER_ASSIGN(const BoundView table, operandView(rope.getTable()));
    arguments.push_back(table);
  }
  if (graph::KvAppendOp append = heads.append()) {
    SINTER_ASSIGN(const BoundView slots, operandView(append.getSlots()));
    arguments.push_back(slots);
  }
  for (const graph::HeadPart &part : heads.parts)
    if (graph::KvAppendOp append = part.append) {
      SINTER_ASSIGN(const Stored cache, stored(append.getPool()));
      arguments.push_back(poolByRow(append, cache));
      if (Value result = resultOf(launch, part.result))
        stored_[result] = cache;
    }
  if (const graph::HeadPart *queries = heads.find(graph::HeadKind::Queries))
    arguments.push_back(allocate(resultOf(launch, queries->result)).view());
  return arguments;
}

Result<Epilogue> Lowering::qkvEpilogue(graph::LaunchOp launch) {
  const std::optional<graph::MatmulHeads> heads =
      graph::matmulHeadsOf(graph::columnsMadeBy(launch));
  SINTER_CHECK(heads.has_value()); // the launch is verified
  Epilogue epilogue;
  epilogue.headColumns = launch.getHeadColumns().value_or(0);
  epilogue.columns = launch.getColumns().value_or(epilogue.headColumns);
  const kernels::QkvEpilogue p = qkvFor(*heads, epilogue.columns);
  if (p.allHeads() * p.headDim != graph::columnsOf(graph::mainOf(launch)->getResult(0)))
    return fail(Code::Unsupported,
                "a matmul's columns are not the heads of its epilogue, which has no kernel");
  epilogue.epilogueStore = kernels::qkvStore(p);
  epilogue.slots = {{"epilogue", "heads", textOf(p)}};
  SINTER_ASSIGN(epilogue.arguments, qkvArguments(launch, *heads));
  return epilogue;
}

// A launch of heads in memory: norms, RoPE and appends, or a norm alone.
Result<void> Lowering::lowerHeadRows(graph::LaunchOp launch) {
  const std::optional<graph::MatmulHeads> heads = graph::headRowsOf(launch);
  if (!heads)
    return fail(Code::Unsupported, "a norm of heads is no launch of its kernel's form");
  kernels::QkvRows p;
  p.heads = qkvFor(*heads, heads->headDim());
  p.normQueries = p.normKeys = false;
  p.normsFollow = heads->normsFollow();
  if (graph::RopeOp rope = heads->rope())
    p.halves = rope.getPairing() == graph::Pairing::Halves;
  std::vector<BoundArgument> arguments, gains;
  for (const graph::HeadPart &part : heads->parts) {
    SINTER_ASSIGN(const Stored rows, operand(part.heads));
    arguments.push_back(rows.view());
    graph::NormOp norm = part.before ? part.before : part.after;
    if (!norm)
      continue;
    graph::WeightOp weight = weightOf(norm.getWeight());
    if (!weight)
      return fail(Code::Unsupported, "a norm's weight is no weight, which has no kernel");
    SINTER_ASSIGN(const Stored gain, directWeight(weight));
    gains.push_back(asRow(gain));
    (part.kind() == graph::HeadKind::Queries ? p.normQueries : p.normKeys) = true;
  }
  if (graph::NormOp norm = heads->norm())
    gains.push_back(f32Scalar(norm.getEps().convertToFloat()));
  llvm::append_range(arguments, gains);
  SINTER_ASSIGN(const std::vector<BoundArgument> stores, qkvArguments(launch, *heads));
  llvm::append_range(arguments, stores);
  SINTER_ASSIGN(KernelId kernel, kernels_.add("qkv_rows", p, kernels::qkvRows));
  addLaunch(steps_, kernel, arguments, launch);
  return {};
}

Result<Epilogue> Lowering::epilogueOf(graph::LaunchOp launch) {
  if (launch.getHeadColumns())
    return qkvEpilogue(launch);
  auto map = onlyIn<graph::MapOp>(launch, graph::kEpilogue);
  if (map && map != graph::columnMapOf(launch))
    return mapEpilogue(launch, map);
  Epilogue epilogue;
  epilogue.arguments = {allocate(launch.getResult(0)).view()};
  return epilogue;
}

// ---- instances ----

static_assert(graph::kMostRowParts == plan::kMaxRowSegments);

std::vector<plan::RowSegment> rowSegments(ArrayRef<graph::RowPart> parts) {
  auto number = [](int64_t value) { return static_cast<uint32_t>(value); };
  std::vector<plan::RowSegment> segments;
  for (const graph::RowPart &part : parts) {
    plan::RowSegment segment{number(part.first), {}};
    for (auto [extent, stride] : part.digits)
      segment.modes.push_back({number(extent), number(stride)});
    segments.push_back(std::move(segment));
  }
  return segments;
}

// The slot of a map with vectors, whose elements lie in the order of the weight's rows.
Result<kernels::Slot> Lowering::columnSlot(graph::LaunchOp launch, graph::MapOp map,
                                           std::vector<plan::KernelSlot> &slots,
                                           std::vector<BoundArgument> &arguments) {
  SINTER_ASSIGN(MapProgram program, readMap(map));
  Value tile = graph::mainOf(launch)->getResult(0);
  auto operand = static_cast<uint32_t>(llvm::find(map.getValues(), tile) - map.getValues().begin());
  if (llvm::count(map.getValues(), tile) != 1)
    return fail(Code::Unsupported, "a map reads its matmul twice, which has no kernel");
  for (Value value : map.getValues()) {
    if (value == tile)
      continue;
    SINTER_ASSIGN(const Stored vector,
                  packedVector(weightOf(value), rowSegments(graph::rowOrderOf(launch))));
    arguments.push_back(asRow(vector));
  }
  slots.push_back({"epilogue", "columns", std::to_string(operand) + " " + program.text()});
  return mapSlot(program, operand, graph::columnsOf(tile), "column"); // beside other operands
}

int64_t programColumns(const kernels::Gemm &p, const Epilogue &epilogue, MBucket rows,
                       const TargetProfile &profile) {
  if (epilogue.headColumns)
    return rows == MBucket::One ? epilogue.columns : epilogue.headColumns;
  if (p.epilogueStore.columns)
    return columnsInParts(p, p.epilogueStore.columns, profile);
  return static_cast<int64_t>(llvm::alignTo(p.blockN, epilogue.columns));
}

// A launch of a matmul, and how its kernels read its rows.
struct Lowering::Matmul {
  graph::LaunchOp launch;
  const Epilogue &epilogue;
  const Stored &matrix;
  BoundView rows = {};
  kernels::Slot prologue = {};
  std::vector<BoundArgument> arguments = {}; // of the prologue
  std::vector<plan::KernelSlot> slots = {};
  bool scales = false; // f32 rows, by sums of squares
};

// A norm's arguments after its value and its sums.
Result<std::vector<BoundArgument>> Lowering::normArguments(graph::NormOp norm) {
  graph::WeightOp weight = weightOf(norm.getWeight());
  if (!weight)
    return fail(Code::Unsupported, "a norm's weight is no weight, which has no kernel");
  SINTER_ASSIGN(const Stored gain, directWeight(weight));
  return std::vector<BoundArgument>{asRow(gain), f32Scalar(norm.getEps().convertToFloat())};
}

static Expr moreThan(const Expr &rows, int64_t most) {
  return plan::maxOf(plan::add(rows, Expr(-most)), Expr(0));
}

Result<Lowering::Steps> Lowering::matmulOf(const Matmul &matmul, MBucket rows) {
  auto op = graph::mainOf<graph::DotGeneralOp>(matmul.launch);
  if (graph::normFromSquares(matmul.launch))
    return normThenMatmul(matmul, rows);
  auto norm = onlyIn<graph::NormOp>(matmul.launch, graph::kPrologue);
  SINTER_ASSIGN(const Stored left, operand(norm ? norm.getValue() : op.getA()));
  Matmul with = matmul;
  with.rows = left.view();
  if (norm) {
    SINTER_ASSIGN(with.arguments, normArguments(norm));
    with.prologue = kernels::rmsNormSlot(elementOf(norm.getWeight()), graph::columnsOf(op.getA()));
    with.slots = {{"prologue", "norm", ""}};
  }
  return tilesOf(with, rows);
}

static_assert(graph::kSquareColumns == kernels::kSquareColumns);

// Of few rows programs scale what they read; of more a launch stores the rows as the matmul takes
// them. Both make the same bits.
Result<Lowering::Steps> Lowering::normThenMatmul(const Matmul &matmul, MBucket rows) {
  auto op = graph::mainOf<graph::DotGeneralOp>(matmul.launch);
  graph::NormOp norm = graph::normFromSquares(matmul.launch);
  const kernels::Slot slot =
      kernels::squaresNormSlot(elementOf(norm.getWeight()), graph::columnsOf(op.getA()));
  SINTER_ASSIGN(const Stored x, operand(norm.getValue()));
  SINTER_ASSIGN(const Stored squares, operand(norm.getSquares()));
  std::vector<BoundArgument> arguments = {squares.view()};
  SINTER_ASSIGN(const std::vector<BoundArgument> parameters, normArguments(norm));
  llvm::append_range(arguments, parameters);
  const std::vector<plan::KernelSlot> slots = {{"prologue", "norm of squares", ""}};

  kernels::QuantizeRows stream =
      chooseStream(graph::columnsOf(op.getA()), elementOf(op.getA()), options_.profile);
  stream.prologue = slot;
  SINTER_ASSIGN(KernelId kernel,
                kernels_.add("norm_of_squares", stream, kernels::quantizeRows, slots, freedom()));
  Matmul apart = matmul;
  apart.rows = allocate(op.getA()).view();
  std::vector<BoundArgument> streamed = {x.view(), apart.rows};
  llvm::append_range(streamed, arguments);
  Steps steps;
  addLaunch(steps, kernel, streamed, matmul.launch);
  setNormCosts(matmul.launch, std::get<plan::Launch>(steps.back().op));
  SINTER_ASSIGN(Steps tiles, tilesOf(apart, rows));
  llvm::move(tiles, std::back_inserter(steps));

  const int64_t most = rows == MBucket::One ? normRows(matmul.launch, options_.matmulPrecision(),
                                                       options_.decodeNorms)
                                            : 0;
  if (most == 0)
    return steps;
  const Matmul scaling{matmul.launch, matmul.epilogue, matmul.matrix, x.view(),
                       slot,          arguments,       slots,         true};
  SINTER_ASSIGN(Steps few, tilesOf(scaling, rows));
  const Expr tokens = extentOf(op.getA().getType(), 0);
  return Steps{plan::Step{plan::If{moreThan(tokens, most), std::move(steps), std::move(few)}}};
}

// What a launch does and moves that makes a norm for the matmul that would make it.
void Lowering::setNormCosts(graph::LaunchOp matmul, plan::Launch &launch) {
  graph::NormOp norm = graph::normFromSquares(matmul);
  launch.covers.clear();
  for (Operation *op : graph::inSlot(matmul, graph::kPrologue))
    launch.covers.push_back(describe(op));
  launch.operations = operations(norm);
  launch.bytesMoved = bytesOf(graph::mainOf<graph::DotGeneralOp>(matmul).getA().getType());
  for (Value read : norm->getOperands())
    launch.bytesMoved =
        plan::add(launch.bytesMoved, bytesOf(cast<RankedTensorType>(read.getType())));
}

static bool holdsSquares(const kernels::Gemm &p, graph::LaunchOp launch) {
  return !graph::squaresOf(launch) || p.blockN % kernels::kSquareColumns == 0;
}

Result<Lowering::Steps> Lowering::tilesOf(const Matmul &matmul, MBucket rows) {
  graph::LaunchOp launch = matmul.launch;
  const Epilogue &epilogue = matmul.epilogue;
  auto op = graph::mainOf<graph::DotGeneralOp>(launch);
  kernels::Gemm p =
      chooseGemm(elementOf(op.getA()), elementOf(op.getB()), graph::columnsOf(op.getResult()),
                 graph::columnsOf(op.getA()), rows, options_.matmulPrecision());
  p.epilogueStore = epilogue.epilogueStore;
  p.blockN = programColumns(p, epilogue, rows, options_.profile);
  const bool shares = rows == MBucket::One && shareDepth(p, launch, options_.matmulPrecision());
  std::vector<BoundArgument> arguments = {matmul.rows, matmul.matrix.view()};
  llvm::append_range(arguments, epilogue.arguments);
  llvm::append_range(arguments, matmul.arguments);
  std::vector<plan::KernelSlot> slots = matmul.slots;
  p.prologue = matmul.prologue;
  if (graph::MapOp map = graph::columnMapOf(launch)) {
    SINTER_ASSIGN(p.epilogue, columnSlot(launch, map, slots, arguments));
  }
  const bool quantizesInKernel = !p.a.isBlock() && p.b.isBlock() && p.activation.isBlock();
  activations_[rows].insert(plainName(quantizesInKernel ? p.activation : p.a));
  p.constantB = true;
  if (!shares)
    finishTile(p, epilogue.headColumns == 0, options_.profile);
  if (!holdsSquares(p, launch))
    return fail(Code::Unsupported, "a matmul's tiles have " + std::to_string(p.blockN) +
                                       " columns, which are no whole groups of squares");
  if (matmul.scales) {
    p.activation = p.b.isBlock() ? p.activation : p.b;
    p.a = kernel::F32;
  }
  llvm::append_range(slots, epilogue.slots);
  const int64_t multiple = epilogue.headColumns ? 1 : epilogue.columns;
  auto launched = [&](const TokenGemm &tile) -> Result<Steps> {
    SINTER_ASSIGN(KernelId kernel, kernels_.add("gemm", tile.gemm, kernels::gemm, slots,
                                                {freedom().blocks, epilogue.headColumns == 0,
                                                 multiple, tile.decided}));
    Steps steps;
    addLaunch(steps, kernel, arguments, launch);
    if (graph::normFromSquares(launch) && !matmul.scales)
      llvm::erase_if(std::get<plan::Launch>(steps.back().op).covers, [&](const std::string &done) {
        return llvm::any_of(graph::inSlot(launch, graph::kPrologue),
                            [&](Operation *op) { return describe(op) == done; });
      });
    return steps;
  };
  const bool byTokens = shares && !matmul.scales;
  const Expr tokens = extentOf(op.getA().getType(), 0);
  Steps steps;
  for (const TokenGemm &tile :
       tilesByTokens(p, rows, byTokens, epilogue.headColumns, multiple, options_.profile)) {
    SINTER_ASSIGN(Steps larger, launched(tile));
    steps = steps.empty() ? std::move(larger)
                          : Steps{plan::Step{plan::If{moreThan(tokens, tile.leastTokens - 1),
                                                      std::move(larger), std::move(steps)}}};
  }
  return steps;
}

// Those of the steps that are for so many rows.
plan::Step Lowering::byRows(const Expr &rows, const Steps &many, const Steps &few,
                            const Steps &one) {
  plan::Step below{plan::If{moreThan(rows, 1), few, one}};
  return few == many ? below
                     : plan::Step{plan::If{moreThan(rows, kSmallBucketRows), many, {below}}};
}

bool hasBucket(graph::LaunchOp launch, StringRef bucket) {
  std::optional<ArrayAttr> buckets = launch.getBuckets();
  return buckets && llvm::is_contained(buckets->getAsValueRange<StringAttr>(), bucket);
}

Result<void> Lowering::lowerMatmul(graph::LaunchOp launch) {
  auto op = graph::mainOf<graph::DotGeneralOp>(launch);
  graph::WeightOp weight = weightOf(op.getB());
  if (!weight || !op.isLinear() || op.getA().getType().getRank() != 2)
    return fail(Code::Unsupported,
                "a matmul is not of rows [M, K] with a weight [N, K], which has no kernel");
  SINTER_ASSIGN(const Epilogue epilogue, epilogueOf(launch));
  SINTER_ASSIGN(const Stored matrix, packedWeight(weight, rowSegments(graph::rowOrderOf(launch))));
  std::map<MBucket, Steps> steps;
  for (auto [bucket, rows] : {std::pair(graph::kPrefillBucket, MBucket::Prefill),
                              {graph::kOneBucket, MBucket::One},
                              {graph::kSmallBucket, MBucket::Small}})
    if (hasBucket(launch, bucket)) {
      SINTER_ASSIGN(steps[rows], matmulOf({launch, epilogue, matrix}, rows));
    }
  if (steps.size() == 1)
    llvm::move(steps.begin()->second, std::back_inserter(steps_));
  else if (steps.size() == 3)
    steps_.push_back(byRows(extentOf(op.getA().getType(), 0), steps[MBucket::Prefill],
                            steps[MBucket::Small], steps[MBucket::One]));
  else
    return fail(Code::Unsupported, "a matmul has two buckets of rows, expected one or all three");
  return {};
}

} // namespace sinter::engine
