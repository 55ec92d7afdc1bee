// Lowering, attention: blocks of many rows, single rows, and single rows whose keys are so many
// that partitions of them are summed up by programs of their own.
#include "tile/mlir_pch.h"

#include "base/check.h"
#include "engine/choice/attention.h"
#include "engine/elements.h"
#include "engine/lowering.h"
#include "numeric/formats/dot_packing.h"
#include "plan/contract.h"

using namespace mlir;

namespace sinter::engine {

using plan::BufferKind;
using plan::Expr;
using plan::KernelId;

// Split-KV partitions of all rows of a step, where each has as many as the longest: enough for any
// device, and their sums stay small.
static constexpr int64_t kMostPartitions = 8192;

struct Lowering::Attend {
  graph::LaunchOp launch;
  mutable graph::PagedAttentionOp op; // a handle whose getters are not const
  Value result;                       // as it is stored
  bool joined;                        // heads side by side
  AttentionShape shape;
  std::vector<BoundArgument> keys, rows; // q to page_table; blocks to positions
  std::string pageTable, tiles;          // the names of their buffers
  BoundArgument out, scale;
  std::vector<BoundArgument> slopes, sinks, softCap; // none or one of each
};

static AttentionShape shapeOf(graph::PagedAttentionOp op) {
  graph::PoolShape cache = graph::poolShapeOf(op.getValues().getType());
  const int64_t headDim = op.keyHeadDim();
  return {cache.heads,
          op.getQuery().getType().getDimSize(1) / cache.heads,
          headDim,
          cache.rows,
          elementOf(op.getValues()),
          cache.dim == headDim ? 0 : cache.dim};
}

// Positions are 32-bit numbers: a longer window, or chunk, is none.
static int64_t positionsOf(std::optional<uint64_t> count) {
  return count && *count <= INT32_MAX ? static_cast<int64_t>(*count) : 0;
}

static int64_t valueDimOf(const AttentionShape &shape) {
  return shape.valueDim ? shape.valueDim : shape.headDim;
}

static std::vector<BoundArgument> listed(std::initializer_list<std::vector<BoundArgument>> parts) {
  std::vector<BoundArgument> all;
  for (const std::vector<BoundArgument> &part : parts)
    llvm::append_range(all, part);
  return all;
}

// A program instance reads keys in steps of several pages, so the first step may begin up to
// stepPages - 1 pages before the first key that its rows see.
void Lowering::noteLookBack(const Attend &a, const kernels::Attention &p) {
  const int64_t seen = p.causal ? std::max(p.window, p.chunk) : 0;
  const int64_t pagesBefore = (p.stepPages - 1) * p.pageRows;
  const int64_t positions = seen ? std::min<int64_t>(seen - 1 + pagesBefore, INT32_MAX) : INT64_MAX;
  int64_t &most = lookBacks_[a.pageTable];
  most = std::max(most, positions);
}

void Lowering::describeLookBacks() {
  for (const contract::KvGroup &group : contract::kKvGroups) {
    const auto found = lookBacks_.find(std::string_view(contract::rowOf(group.pageTable).name));
    if (found != lookBacks_.end() && found->second <= INT32_MAX)
      plan_.properties[group.lookBack.name] = found->second;
  }
}

kernels::Attention Lowering::attentionOf(const Attend &a, MBucket rows) {
  kernels::Attention p = chooseAttention(a.shape, elementOf(a.result), options_.queryTile, rows,
                                         options_.profile, options_.quantizes);
  if (rows == MBucket::One)
    p = pipelined(p, options_.profile);
  p.joinHeads = a.joined;
  p.window = positionsOf(a.op.getWindow());
  p.chunk = positionsOf(a.op.getChunk());
  p.causal = !a.op.getBoth();
  p.slopes = !a.slopes.empty();
  p.sinks = !a.sinks.empty();
  if (!a.softCap.empty())
    p.scores = kernels::softCapSlot();
  noteLookBack(a, p);
  return p;
}

// What fills the slot of scores.
static std::vector<plan::KernelSlot> slotsOf(const kernels::Attention &p) {
  if (!p.scores.apply)
    return {};
  return {{"scores", "soft_cap", ""}};
}

Result<Lowering::Steps> Lowering::attendWhole(const Attend &a, const kernels::Attention &p) {
  SINTER_ASSIGN(KernelId kernel, kernels_.add("attention", p, kernels::attention, slotsOf(p)));
  Steps steps;
  addLaunch(steps, kernel, listed({a.keys, a.rows, {a.out, a.scale}, a.slopes, a.sinks, a.softCap}),
            a.launch);
  return steps;
}

// 1 where the formula is at least 1, else 0.
static Expr flagOf(const Expr &count) {
  return plan::minOf(Expr(1), plan::maxOf(Expr(0), count));
}

static Expr minus(const Expr &a, const Expr &b) {
  return plan::add(a, plan::mul(b, Expr(-1)));
}

// 1 where each query tile of these rows has one, else 0: a function of decode has no others, and
// without phases query tiles are of one row if there are as many as tokens.
Expr Lowering::singleRows(const Attend &a) {
  if (hasPhase_)
    return phase_;
  Expr blocks = extentOf(a.op.getQueryTiles().getType(), 0),
       tokens = extentOf(a.op.getQuery().getType(), 0);
  Expr apart = plan::maxOf(minus(blocks, tokens), minus(tokens, blocks));
  return minus(Expr(1), flagOf(apart));
}

// The sums of partitions, where `used` is 1. `places` has the extents before and after the heads.
std::vector<BoundArgument>
Lowering::allocatePartitions(const Attend &a, const std::pair<Expr, std::vector<Expr>> &places,
                             const Expr &used) {
  std::vector<BoundArgument> sums;
  auto add = [&](bool hasValues) {
    std::vector<Expr> extents = {places.first, Expr(a.shape.kvHeads * a.shape.groupHeads)};
    llvm::append_range(extents, places.second);
    if (hasValues)
      extents.emplace_back(valueDimOf(a.shape));
    Expr bytes = plan::mul(used, Expr(int64_t(sizeof(float))));
    for (const Expr &extent : extents)
      bytes = plan::mul(bytes, extent);
    std::string name = "temp." + std::to_string(plan_.buffers.size());
    plan::BufferId buffer = addBuffer(std::move(name), BufferKind::Temp, std::move(bytes));
    sums.push_back(BoundView{buffer, Expr(0), extents, packedStrides(extents)});
  };
  add(/*hasValues=*/true);
  add(/*hasValues=*/false);
  add(/*hasValues=*/false);
  return sums;
}

// What the launches of partitions move: sums of no more partitions than keys fill, one of them in
// part.
void Lowering::setPartitionCosts(const Attend &a, const kernels::Attention &p, Steps &steps) {
  auto &sum = std::get<plan::Launch>(steps[0].op), &join = std::get<plan::Launch>(steps[1].op);
  Expr partitions =
      plan::add(extentOf(a.op.getQuery().getType(), 0),
                plan::ceilDiv(symbolOf(graph::SymbolRole::KeysHeld), Expr(partitionKeys(p))));
  if (p.mostPartitions)
    partitions = plan::minOf(
        partitions, plan::mul(extentOf(a.op.getQuery().getType(), 0), Expr(p.mostPartitions)));
  Expr numbers = plan::mul(partitions, Expr(p.kvHeads * p.groupHeads * (valueDimOf(a.shape) + 2)));
  Expr bytes = plan::mul(numbers, Expr(int64_t(sizeof(float))));
  Expr out = bytesOf(cast<RankedTensorType>(a.result.getType()));
  sum.bytesMoved = plan::add(minus(sum.bytesMoved, out), bytes);
  join.bytesMoved = plan::add(bytes, out);
  join.operations = plan::mul(numbers, Expr(3)); // two products and their sum
  sum.covers = {"attention of partitions"};
  join.covers.front() = "combine partitions";
}

// `list` is empty where each row has as many partitions as the longest.
Result<Lowering::Steps> Lowering::attendPartitions(const Attend &a, kernels::Attention p,
                                                   const std::vector<BoundArgument> &sums,
                                                   const std::vector<BoundArgument> &list) {
  const bool isListed = !list.empty();
  kernels::Attention part = p;
  part.out = kernel::F32;
  part.joinHeads = part.sinks = false;
  SINTER_ASSIGN(
      KernelId sum,
      kernels_.add(isListed ? "attention_partitions_ragged" : "attention_partitions", part,
                   isListed ? kernels::attentionPartitionsRagged : kernels::attentionPartitions,
                   slotsOf(p)));
  p.queryTile = 1; // a decode token's
  p = combining(p, options_.profile);
  SINTER_ASSIGN(
      KernelId join,
      kernels_.add(isListed ? "attention_combine_ragged" : "attention_combine", p,
                   isListed ? kernels::attentionCombineRagged : kernels::attentionCombine));
  std::vector<BoundArgument> rows = a.rows;
  if (isListed)
    rows[0] = list[0];
  Steps steps;
  addLaunch(steps, sum, listed({a.keys, rows, sums, {a.scale}, a.slopes, a.softCap}), a.launch);
  addLaunch(steps, join, listed({sums, a.rows, list, {a.out}, a.sinks}), a.launch);
  setPartitionCosts(a, p, steps);
  return steps;
}

Expr Lowering::symbolOf(contract::Symbol symbol) {
  const contract::SymbolRow &row = contract::kSymbols[static_cast<size_t>(symbol)];
  auto [found, isNew] = symbols_.try_emplace(row.name);
  if (isNew) {
    found->second = {static_cast<uint32_t>(plan_.symbols.size())};
    plan_.symbols.push_back({row.name, row.min, row.max});
  }
  return plan::symbol(found->second);
}

// Whether the runtime's list of a KV cache group is of such partitions. All lists of a plan are of
// partitions of equally many keys, but that those of the first group may grow with sequences.
bool Lowering::listsSuch(const kernels::Attention &p, bool firstGroup) {
  const int64_t most = firstGroup ? mostPartitions_.value_or(p.mostPartitions) : 0;
  if (most != p.mostPartitions)
    return false;
  if (firstGroup)
    mostPartitions_ = most;
  const auto states = [&](const contract::PropertyRow &row, int64_t value) {
    return plan_.properties.try_emplace(row.name, value).first->second == value;
  };
  return states(contract::kPartitionKeys, partitionKeys(p)) &&
         (!p.mostPartitions || (states(contract::kMostPartitions, p.mostPartitions) &&
                                states(contract::kPartitionStep, stepKeys(p))));
}

// The runtime's list of the operation's partitions; none where it makes no such list.
std::optional<BoundView> Lowering::partitionList(const Attend &a, const kernels::Attention &p) {
  const auto group = llvm::find_if(contract::kKvGroups, [&](const contract::KvGroup &each) {
    return a.pageTable == contract::rowOf(each.pageTable).name;
  });
  const bool ofTokens = a.tiles == contract::rowOf(contract::Input::QueryTiles).name,
             ofLogits = a.tiles == contract::rowOf(contract::Input::LogitTiles).name;
  if (!options_.listsPartitions || !hasPhase_ || group == contract::kKvGroups.end() ||
      (!ofTokens && !ofLogits))
    return std::nullopt;
  if (!listsSuch(p, group == contract::kKvGroups.begin()))
    return std::nullopt;
  const std::string name =
      contract::rowOf(ofTokens ? group->partitions : group->logitPartitions).name;
  const Expr rows = symbolOf(group->partitionCount);
  auto [found, isNew] = named_.try_emplace("input " + name);
  if (isNew)
    found->second =
        addBuffer(name, BufferKind::Input,
                  plan::mul(rows, Expr(contract::kPartitionColumns * int64_t(sizeof(int32_t)))));
  const std::vector<Expr> extents = {rows, Expr(contract::kPartitionColumns)};
  return BoundView{found->second, Expr(0), extents, packedStrides(extents)};
}

// A step's partitions side by side, as many programs as there are; a single one as any rows. Sums
// take memory by the partitions of all sequences, however long the longest is.
Result<Lowering::Steps> Lowering::attendListed(const Attend &a, const kernels::Attention &whole,
                                               const kernels::Attention &p, const BoundView &list) {
  const Expr several = flagOf(minus(
      plan::ceilDiv(symbolOf(graph::SymbolRole::LongestContext), Expr(partitionKeys(p))), Expr(1)));
  const std::vector<BoundArgument> sums =
      allocatePartitions(a, {list.extents[0], {}}, plan::mul(singleRows(a), several));
  SINTER_ASSIGN(Steps one, attendWhole(a, whole));
  SINTER_ASSIGN(Steps apart, attendPartitions(a, p, sums, {list}));
  Steps steps;
  steps.push_back({plan::If{several, std::move(apart), std::move(one)}});
  return steps;
}

// Single rows: with one partition as any rows; with several one beside another, or one after
// another where rows are so many that they fill a device by themselves.
Result<Lowering::Steps> Lowering::attendSingle(const Attend &a) {
  kernels::Attention whole = attentionOf(a, MBucket::One), p = partitioned(whole);
  if (!roles_.contains(graph::SymbolRole::LongestContext))
    return attendWhole(a, whole);
  const kernels::Attention longer = lengthened(p, options_.profile);
  if (const std::optional<BoundView> list = partitionList(a, longer))
    return attendListed(a, whole, longer, *list);
  Expr partitions =
      plan::ceilDiv(symbolOf(graph::SymbolRole::LongestContext), Expr(partitionKeys(p)));
  Expr tokens = extentOf(a.op.getQuery().getType(), 0);
  Expr several = flagOf(minus(partitions, Expr(partitionsOfOneProgram(options_.profile))));
  Expr few = flagOf(minus(Expr(kMostPartitions + 1), plan::mul(tokens, partitions)));
  Expr used = plan::mul(singleRows(a), plan::mul(several, few));
  SINTER_ASSIGN(Steps one, attendWhole(a, whole));
  SINTER_ASSIGN(Steps together, attendWhole(a, p));
  SINTER_ASSIGN(Steps apart,
                attendPartitions(a, p, allocatePartitions(a, {tokens, {partitions}}, used), {}));
  Steps inPartitions, steps;
  inPartitions.push_back({plan::If{few, std::move(apart), std::move(together)}});
  steps.push_back({plan::If{several, std::move(inPartitions), std::move(one)}});
  return steps;
}

// What the operation's attributes and sinks are to kernels.
Result<void> Lowering::addScoreArguments(Attend &a) {
  if (std::optional<ArrayRef<float>> slopes = a.op.getSlopes()) {
    const auto heads = static_cast<int64_t>(slopes->size());
    BoundView row = floatTable("slopes", std::vector<float>(slopes->begin(), slopes->end()));
    row.extents = {Expr(1), Expr(heads)};
    row.strides = {Expr(heads), Expr(1)};
    a.slopes = {row};
  }
  if (Value sinks = a.op.getSinks()) {
    SINTER_ASSIGN(const Stored stored, operand(sinks));
    a.sinks = {asRow(stored)};
  }
  if (std::optional<APFloat> cap = a.op.getSoftCap())
    a.softCap = {f32Scalar(cap->convertToFloat())};
  return {};
}

Result<void> Lowering::lowerAttention(graph::LaunchOp launch) {
  auto op = graph::mainOf<graph::PagedAttentionOp>(launch);
  Value result = launch.getResult(0);
  Stored out = allocate(result);
  const bool joins = cast<RankedTensorType>(result.getType()).getRank() == 2;
  const bool joined = joins && joinsHeads(options_.profile);
  if (joins && !joined) { // rows of joined heads, seen head by head
    const Expr row = out.strides[0];
    out.extents = extentsOf(op.getResult().getType());
    out.strides = packedStrides(out.extents);
    out.strides[0] = row;
  }
  std::vector<BoundArgument> keys, rows;
  for (Value value : {op.getQuery(), op.getKeys(), op.getValues(), op.getPageTable()}) {
    SINTER_ASSIGN(const BoundView view, operandView(value));
    keys.push_back(view);
  }
  SINTER_ASSIGN(const BoundView pageTable, operandView(op.getPageTable()));
  for (Value value : {op.getQueryTiles(), op.getLengths()}) {
    SINTER_ASSIGN(const BoundView view, operandView(value));
    rows.push_back(view);
  }
  SINTER_ASSIGN(const Stored positions, operand(op.getPositions()));
  rows.push_back(asColumn(positions));
  const std::string tiles = plan_.buffers[std::get<BoundView>(rows[0]).buffer.index].name;
  Attend a{launch,
           op,
           result,
           joined,
           shapeOf(op),
           std::move(keys),
           std::move(rows),
           plan_.buffers[pageTable.buffer.index].name,
           tiles,
           out.view(),
           f32Scalar(op.getScale().convertToFloat()),
           {},
           {},
           {}};
  SINTER_TRY(addScoreArguments(a));
  std::optional<Steps> many, single;
  const ArrayAttr buckets = launch.getBucketsAttr();
  for (StringRef name : buckets.getAsValueRange<StringAttr>()) {
    if (name == graph::kPrefillBucket) {
      SINTER_ASSIGN(many, attendWhole(a, attentionOf(a, MBucket::Prefill)));
    } else if (name == graph::kOneBucket) {
      SINTER_ASSIGN(single, attendSingle(a));
    }
  }
  if (many && single)
    steps_.push_back({plan::If{singleRows(a), std::move(*single), std::move(*many)}});
  else if (many || single)
    llvm::move(many ? *many : *single, std::back_inserter(steps_));
  else
    return fail(Code::Unsupported, "attention has the bucket small alone, expected prefill or one");
  return {};
}

} // namespace sinter::engine
