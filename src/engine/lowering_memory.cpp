// Lowering, memory: symbols, buffers and views of tensors, and what launches cost.
#include "tile/mlir_pch.h"

#include "base/check.h"
#include "engine/choice/packing.h"
#include "engine/elements.h"
#include "engine/lowering.h"
#include "graph/ir/extent.h"
#include "numeric/formats/dot_packing.h"

using namespace mlir;

namespace sinter::engine {

using plan::BufferId;
using plan::BufferKind;
using plan::Expr;

Expr Lowering::extentOf(RankedTensorType type, int64_t axis) {
  if (!type.isDynamicDim(axis))
    return Expr(type.getDimSize(axis));
  Expr sum(0);
  const graph::SymbolicExtent extent = graph::SymbolicExtent::of(type, axis);
  for (const auto &[symbols, coefficient] : extent.terms()) {
    Expr product(coefficient);
    for (const std::string &symbol : symbols) {
      auto found = symbols_.find(symbol);
      SINTER_CHECK(found != symbols_.end()); // run() asks that the module declares all
      const Expr value = plan::symbol(found->second);
      product = product == Expr(1) ? value : plan::mul(product, value);
    }
    sum = sum == Expr(0) ? product : plan::add(sum, product);
  }
  return sum;
}

std::vector<Expr> Lowering::extentsOf(RankedTensorType type) {
  std::vector<Expr> extents;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    extents.push_back(extentOf(type, axis));
  return extents;
}

// Blocks lie along the last axis.
Expr Lowering::bytesOf(RankedTensorType type) {
  ElementBytes size = elementBytes(type.getElementType());
  std::vector<Expr> extents = extentsOf(type);
  if (extents.empty())
    return Expr(size.bytes);
  Expr bytes = size.length == 1 ? plan::mul(extents.back(), Expr(size.bytes))
                                : Expr(type.getShape().back() / size.length * size.bytes);
  for (size_t axis = extents.size() - 1; axis-- > 0;)
    bytes = plan::mul(bytes, extents[axis]);
  return bytes;
}

Stored Lowering::makeStored(BufferId buffer, RankedTensorType type) {
  std::vector<Expr> extents = extentsOf(type);
  std::vector<Expr> strides = packedStrides(extents);
  return {buffer, Expr(0), std::move(extents), std::move(strides)};
}

BufferId Lowering::addBuffer(std::string name, BufferKind kind, Expr bytes) {
  BufferId id{static_cast<uint32_t>(plan_.buffers.size())};
  plan_.buffers.push_back({std::move(name), kind, std::move(bytes), {}, {}, {}});
  return id;
}

// Rows of activations on threads, apart in banks.
std::optional<Stored> Lowering::allocateRows(Value value, const std::string &name,
                                             BufferKind kind) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() != 2 || !tile::activationFormatOf(type.getElementType()))
    return std::nullopt;
  ElementBytes size = elementBytes(type.getElementType());
  const std::optional<int64_t> blocks =
      paddedBlocks(type.getDimSize(1) / size.length, size.bytes, options_.profile);
  if (!blocks)
    return std::nullopt;
  std::vector<Expr> extents = extentsOf(type);
  BufferId buffer = addBuffer(name, kind, plan::mul(extents[0], Expr(*blocks * size.bytes)));
  return Stored{buffer, Expr(0), std::move(extents), {Expr(*blocks * size.length), Expr(1)}};
}

Stored Lowering::allocate(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  auto output = outputs_.find(value);
  std::string name =
      output != outputs_.end() ? output->second : "temp." + std::to_string(plan_.buffers.size());
  BufferKind kind = output != outputs_.end() ? BufferKind::Output : BufferKind::Temp;
  if (kind == BufferKind::Output) // which another phase may have too
    if (auto found = named_.find("output " + name); found != named_.end())
      return stored_[value] = makeStored(found->second, type);
  std::optional<Stored> rows = allocateRows(value, name, kind);
  if (!rows)
    rows = makeStored(addBuffer(name, kind, bytesOf(type)), type);
  if (kind == BufferKind::Output)
    named_["output " + name] = rows->buffer;
  else
    plan_.buffers.back().bytes = plan::mul(plan_.buffers.back().bytes, phase_);
  return stored_[value] = *rows;
}

Result<Stored> Lowering::stored(Value value) const {
  auto found = stored_.find(graph::outerValue(value));
  if (found == stored_.end())
    return fail(Code::Unsupported, "an operation reads what '" +
                                       (value.getDefiningOp() ? labelOf(value.getDefiningOp())
                                                              : std::string("a weight")) +
                                       "' makes, which no launch has stored for it");
  return found->second;
}

static std::string joinedName(graph::WeightOp op) {
  std::string name;
  for (Attribute tensor : op.getTensors())
    name += (name.empty() ? "" : "+") + cast<StringAttr>(tensor).getValue().str();
  return name;
}

static std::vector<std::string> tensorsOf(graph::WeightOp op) {
  std::vector<std::string> names;
  for (Attribute tensor : op.getTensors())
    names.push_back(cast<StringAttr>(tensor).getValue().str());
  return names;
}

// The file's own order.
Result<Stored> Lowering::directWeight(graph::WeightOp op) {
  RankedTensorType type = op.getResult().getType();
  std::string name = joinedName(op);
  auto [found, isNew] = named_.try_emplace("weight " + name);
  if (isNew) {
    found->second = addBuffer(name, BufferKind::Weight, bytesOf(type));
    plan_.buffers.back().tensors = tensorsOf(op);
  }
  return makeStored(found->second, type);
}

// Interleaved rows, as matrix products read them.
static std::string textOf(const std::vector<plan::RowSegment> &order) {
  std::string text;
  for (const plan::RowSegment &segment : order) {
    text += " from " + std::to_string(segment.firstSource);
    for (const plan::RowMode &mode : segment.modes)
      text += " " + std::to_string(mode.extent) + ":" + std::to_string(mode.stride);
  }
  return text;
}

// Matrices of experts are not multiplied by groups.
MatmulPrecision Lowering::precisionFor(RankedTensorType weight) const {
  MatmulPrecision rules = options_.matmulPrecision();
  rules.sharesDepth &= weight.getRank() == 2;
  rules.readsWords &= weight.getRank() == 2;
  return rules;
}

int64_t Lowering::interleavedRowsOf(RankedTensorType weight) const {
  return interleavedRows(kernelElement(weight.getElementType()), weight.getNumElements(),
                         precisionFor(weight));
}

Result<Stored> Lowering::packedWeight(graph::WeightOp op, std::vector<plan::RowSegment> rowOrder) {
  RankedTensorType type = op.getResult().getType();
  std::string name = joinedName(op);
  const int64_t rowInterleave = interleavedRowsOf(type);
  const int64_t columns = type.getShape().back(), matrixRows = type.getNumElements() / columns;
  auto recipe = interleavedRecipe(type.getElementType(), columns, rowInterleave);
  if (!recipe)
    return fail(recipe.error().code, "tensor '" + name + "': " + recipe.error().message);
  const std::string packed = name + " interleaved" + textOf(rowOrder);
  auto [found, isNew] = named_.try_emplace("weight " + packed);
  if (isNew) {
    int64_t rows = llvm::alignTo(matrixRows, rowInterleave);
    auto padded = RankedTensorType::get({rows, columns}, type.getElementType());
    found->second = addBuffer(packed, BufferKind::Weight, bytesOf(padded));
    plan_.buffers.back().tensors = tensorsOf(op);
    plan_.buffers.back().pack = std::move(*recipe);
    plan_.buffers.back().pack.rowOrder = std::move(rowOrder);
  }
  return makeStored(found->second, type);
}

Result<Stored> Lowering::packedVector(graph::WeightOp op, std::vector<plan::RowSegment> rowOrder) {
  if (rowOrder.empty())
    return directWeight(op);
  RankedTensorType type = op.getResult().getType();
  SINTER_ASSIGN(plan::PackRecipe recipe, interleavedRecipe(type.getElementType(), 1, 1));
  auto [found, isNew] = named_.try_emplace(joinedName(op) + " in order" + textOf(rowOrder));
  if (isNew) {
    found->second = addBuffer(found->first, BufferKind::Weight, bytesOf(type));
    plan_.buffers.back().tensors = tensorsOf(op);
    plan_.buffers.back().pack = std::move(recipe);
    plan_.buffers.back().pack.rowOrder = std::move(rowOrder);
  }
  return makeStored(found->second, type);
}

BufferId Lowering::constantBuffer(const std::string &name, std::vector<uint8_t> bytes) {
  auto [found, isNew] = named_.try_emplace("constant " + name);
  if (isNew) {
    found->second = addBuffer(name, BufferKind::Constant, Expr(static_cast<int64_t>(bytes.size())));
    plan_.buffers.back().data = std::move(bytes);
  }
  return found->second;
}

RankedTensorType rowOfKvCache(RankedTensorType pool, int64_t headDim) {
  return RankedTensorType::get({pool.getDimSize(1), headDim}, pool.getElementType());
}

// Rows choose at most as many experts as they are, so that no more experts' weights are read.
void Lowering::countTouched(graph::GroupedDotOp op, llvm::DenseMap<Value, Expr> &bytes) {
  const Expr touched = plan::minOf(Expr(op.getExperts()), extentOf(op.getA().getType(), 0));
  for (Value weights : {Value(op.getB()), Value(op.getBias())})
    if (weights) {
      const auto type = cast<RankedTensorType>(weights.getType());
      const ElementBytes size = elementBytes(type.getElementType());
      bytes[weights] = plan::mul(
          touched, Expr(type.getNumElements() / size.length * size.bytes / op.getExperts()));
    }
}

// One slot for each sequence.
Expr Lowering::stateBytes(Operation *op) {
  auto state = cast<RankedTensorType>(graph::stateBefore(op).getType());
  auto spans = llvm::TypeSwitch<Operation *, Value>(op)
                   .Case<graph::CausalConvOp, graph::DeltaRuleOp>(
                       [](auto o) -> Value { return o.getSpans(); })
                   .Default(Value());
  auto slot = RankedTensorType::get(state.getShape().drop_front(), state.getElementType());
  return plan::mul(extentOf(cast<RankedTensorType>(spans.getType()), 0), bytesOf(slot));
}

// Bytes of the operands and results, each once; of tables and pools the rows that are read or
// written, of experts' weights those that rows can choose.
Expr Lowering::movedBytes(graph::LaunchOp launch) {
  llvm::DenseMap<Value, Expr> inPart; // of which fewer bytes move than there are
  for (Operation &op : launch.getBody().front()) {
    if (auto attend = dyn_cast<graph::PagedAttentionOp>(op)) {
      auto rows = [&](RankedTensorType pool, int64_t headDim) {
        return plan::mul(keysHeld(attend), bytesOf(rowOfKvCache(pool, headDim)));
      };
      RankedTensorType values = attend.getValues().getType();
      inPart[attend.getKeys()] = rows(attend.getKeys().getType(), attend.keyHeadDim());
      inPart[attend.getValues()] = rows(values, graph::poolShapeOf(values).dim);
    } else if (auto append = dyn_cast<graph::KvAppendOp>(op)) {
      RankedTensorType rows = append.getRows().getType();
      auto row = RankedTensorType::get(rows.getShape().drop_front(),
                                       append.getPool().getType().getElementType());
      inPart[append.getPool()] = Expr(0);
      inPart[append.getResult()] = plan::mul(extentOf(rows, 0), bytesOf(row));
    } else if (auto gather = dyn_cast<graph::GatherOp>(op); gather && gather.isEmbedding()) {
      RankedTensorType table = gather.getTable().getType();
      auto row = RankedTensorType::get(table.getShape().drop_front(), table.getElementType());
      inPart[gather.getTable()] = plan::mul(extentOf(gather.getIndex().getType(), 0), bytesOf(row));
    } else if (auto grouped = dyn_cast<graph::GroupedDotOp>(op)) {
      countTouched(grouped, inPart);
    } else if (Value state = graph::stateBefore(&op)) {
      inPart[state] = inPart[graph::stateAfter(&op)] = stateBytes(&op);
    }
  }
  Expr total(0);
  auto count = [&](Value value) {
    auto found = inPart.find(value);
    total =
        plan::add(total, found != inPart.end() ? found->second
                                               : bytesOf(cast<RankedTensorType>(value.getType())));
  };
  llvm::for_each(launch.getBody().front().getArguments(), count);
  llvm::for_each(launch.getBody().front().getTerminator()->getOperands(), count);
  return total;
}

// A value's share of work that is not a product, an operation each: a norm squares, adds, scales
// twice; half of a rotation is two products and their sum.
static int64_t operationsOfElement(Operation *op) {
  if (auto map = dyn_cast<graph::MapOp>(op)) {
    int64_t steps = 0;
    for (Operation &step : map.getBody().front().without_terminator())
      steps += !isa<arith::ConstantOp>(step);
    return steps;
  }
  return isa<graph::NormOp>(op) ? 4 : isa<graph::RopeOp>(op) ? 3 : 1;
}

// Positions that a row looks back at most; none: any number.
static std::optional<Expr> lookBack(graph::PagedAttentionOp op) {
  const std::optional<uint64_t> most = op.getWindow() ? op.getWindow() : op.getChunk();
  return most ? std::optional(Expr(static_cast<int64_t>(std::min<uint64_t>(*most, INT32_MAX))))
              : std::nullopt;
}

// Keys that are read: of each sequence those before the window of its first row are not.
Expr Lowering::keysHeld(graph::PagedAttentionOp op) {
  Expr all = symbolOf(graph::SymbolRole::KeysHeld);
  const std::optional<Expr> most = lookBack(op);
  if (!most)
    return all;
  const Expr sequences = extentOf(op.getLengths().getType(), 0);
  return plan::minOf(all,
                     plan::add(plan::mul(sequences, *most), extentOf(op.getQuery().getType(), 0)));
}

// Those of all tokens are counted. Of few rows each sees all keys of its sequence, of which one has
// as many as another.
Expr Lowering::keysSeen(graph::PagedAttentionOp op) {
  RankedTensorType rows = op.getQuery().getType();
  Expr seen = symbolOf(graph::SymbolRole::KeysSeen);
  const bool ofAll = extentOf(rows, 0) == symbolOf(graph::SymbolRole::Tokens);
  if (op.getBoth() || !ofAll) {
    Expr each = plan::ceilDiv(extentOf(rows, 0), extentOf(op.getLengths().getType(), 0));
    Expr whole = plan::mul(symbolOf(graph::SymbolRole::KeysHeld), each);
    seen = op.getBoth() ? whole : plan::minOf(seen, whole);
  }
  const std::optional<Expr> most = lookBack(op);
  return most ? plan::minOf(seen, plan::mul(extentOf(rows, 0), *most)) : seen;
}

Expr Lowering::operations(Operation *op) {
  auto elements = [&](RankedTensorType type) {
    Expr product(1);
    for (const Expr &extent : extentsOf(type))
      product = plan::mul(product, extent);
    return product;
  };
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  if (auto contract = dyn_cast<graph::DotGeneralOp>(op)) {
    Expr products(2);
    for (int64_t axis : contract.getAContracting())
      products = plan::mul(products, extentOf(contract.getA().getType(), axis));
    return plan::mul(elements(result), products);
  }
  if (auto grouped = dyn_cast<graph::GroupedDotOp>(op))
    return plan::mul(elements(result), Expr(2 * grouped.getB().getType().getDimSize(2)));
  if (auto attend = dyn_cast<graph::PagedAttentionOp>(op)) {
    // Scores and weighted sums.
    Expr perKey(2 * result.getDimSize(1) * (attend.keyHeadDim() + result.getDimSize(2)));
    return plan::mul(keysSeen(attend), perKey);
  }
  if (auto conv = dyn_cast<graph::CausalConvOp>(op))
    return plan::mul(elements(result), Expr(2 * conv.getWeight().getType().getDimSize(1)));
  if (auto rule = dyn_cast<graph::DeltaRuleOp>(op)) // decay, two sums of products, one product
    return plan::mul(elements(result), Expr(7 * rule.getKey().getType().getDimSize(2)));
  return isa<graph::KvAppendOp>(op) ? Expr(0)
                                    : plan::mul(elements(result), Expr(operationsOfElement(op)));
}

} // namespace sinter::engine
