// The kernel front's elementwise operations: broadcasting, literals, and one table from operation
// to arith and math.
#include "tile/front/session.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::tile {

// What an operation is called by its author, how many operands it takes, and what it becomes on
// floats and on integers; a null name means that such elements are refused. "compare" and "own" are
// built by hand below.
struct Rule {
  const char *name;
  unsigned operands;
  const char *onFloats;
  const char *onIntegers;
};

static constexpr const char *kOwn = "own";
static constexpr Rule kRules[] = {
    {"+", 2, "arith.addf", "arith.addi"},
    {"-", 2, "arith.subf", "arith.subi"},
    {"*", 2, "arith.mulf", "arith.muli"},
    {"/", 2, "arith.divf", "arith.divsi"},
    {"%", 2, "arith.remf", "arith.remsi"},
    {"ceilDiv", 2, nullptr, "arith.ceildivsi"},
    {"floorDiv", 2, nullptr, "arith.floordivsi"},
    {"max", 2, "arith.maximumf", "arith.maxsi"},
    {"min", 2, "arith.minimumf", "arith.minsi"},
    {"pow", 2, "math.powf", nullptr},
    {"==", 2, kOwn, kOwn},
    {"!=", 2, kOwn, kOwn},
    {"<", 2, kOwn, kOwn},
    {"<=", 2, kOwn, kOwn},
    {">", 2, kOwn, kOwn},
    {">=", 2, kOwn, kOwn},
    {"&", 2, nullptr, "arith.andi"},
    {"|", 2, nullptr, "arith.ori"},
    {"^", 2, nullptr, "arith.xori"},
    {"<<", 2, nullptr, "arith.shli"},
    {">>", 2, nullptr, "arith.shrsi"},
    {"shiftRightLogical", 2, nullptr, "arith.shrui"},
    {"logicalAnd", 2, nullptr, "arith.andi"},
    {"logicalOr", 2, nullptr, "arith.ori"},
    {"unary -", 1, "arith.negf", kOwn},
    {"~", 1, nullptr, kOwn},
    {"logicalNot", 1, nullptr, kOwn},
    {"abs", 1, "math.absf", "math.absi"},
    {"exp", 1, "math.exp", nullptr},
    {"exp2", 1, "math.exp2", nullptr},
    {"log", 1, "math.log", nullptr},
    {"log2", 1, "math.log2", nullptr},
    {"sqrt", 1, "math.sqrt", nullptr},
    {"rsqrt", 1, "math.rsqrt", nullptr},
    {"sin", 1, "math.sin", nullptr},
    {"cos", 1, "math.cos", nullptr},
    {"tanh", 1, "math.tanh", nullptr},
    {"erf", 1, "math.erf", nullptr},
    {"floor", 1, "math.floor", nullptr},
    {"ceil", 1, "math.ceil", nullptr},
    {"roundEven", 1, "math.roundeven", nullptr},
    {"fma", 3, "math.fma", nullptr},
    {"select", 3, kOwn, kOwn},
};
static_assert(std::size(kRules) == SINTER_OP_COUNT);

static bool isLogical(uint32_t op) {
  return op == SINTER_OP_LOGICAL_AND || op == SINTER_OP_LOGICAL_OR || op == SINTER_OP_LOGICAL_NOT;
}

static RankedTensorType tileTypeOf(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

static Type elementOf(Type type) {
  return getElementTypeOrSelf(type);
}

static Type sameShape(Type like, Type element) {
  if (auto tile = dyn_cast<RankedTensorType>(like))
    return RankedTensorType::get(tile.getShape(), element);
  return element;
}

// ---- what operands have in common ----

bool FrontSession::addShape(Common &common, Value value, ArrayRef<Value> all, At at) {
  RankedTensorType tile = tileTypeOf(value);
  if (!tile)
    return true;
  ArrayRef<int64_t> shape = tile.getShape();
  if (common.shape.empty())
    common.shape.assign(shape.begin(), shape.end());
  bool fits = common.shape.size() == shape.size();
  for (size_t axis = 0; fits && axis < shape.size(); ++axis) {
    int64_t &extent = common.shape[axis];
    fits = extent == shape[axis] || extent == 1 || shape[axis] == 1;
    extent = std::max(extent, shape[axis]);
  }
  if (fits)
    return true;
  std::vector<std::string> texts;
  for (Value other : all)
    if (other && tileTypeOf(other))
      texts.push_back(describe(other.getType()));
  error(at, "operands are " + llvm::join(texts, " and ") +
                ", expected the same number of dimensions, with equal extents or 1");
  return false;
}

// The first `conditions` values are i1 and do not take part in the element type.
std::optional<FrontSession::Common> FrontSession::commonOf(ArrayRef<Value> values,
                                                           size_t conditions, At at) {
  Common common;
  for (auto [index, value] : llvm::enumerate(values)) {
    if (!value)
      continue;
    Type element = elementOf(value.getType());
    if (!element.isIntOrIndexOrFloat()) {
      StringRef hint = isa<ViewType>(element) ? "a tile or scalar: load it first"
                                              : "plain elements: dequantize it first";
      error(at, "operand is " + describe(value.getType()) + ", expected " + hint);
      return std::nullopt;
    }
    if (index < conditions && !element.isInteger(1)) {
      error(at, "condition is " + describe(value.getType()) + ", expected i1 elements");
      return std::nullopt;
    }
    if (index >= conditions && common.element && common.element != element) {
      error(at, "operands have " + describe(common.element) + " and " + describe(element) +
                    " elements, expected the same: convert one");
      return std::nullopt;
    }
    if (index >= conditions)
      common.element = element;
    if (!addShape(common, value, values, at))
      return std::nullopt;
  }
  if (common.element)
    return common;
  error(at, "operands are literals only, expected at least one tile or scalar");
  return std::nullopt;
}

Value FrontSession::expand(Value value, ArrayRef<int64_t> shape, At at) {
  RankedTensorType tile = tileTypeOf(value);
  if (shape.empty() || (tile && tile.getShape() == shape))
    return value;
  auto to = RankedTensorType::get(shape, elementOf(value.getType()));
  if (tile)
    return BroadcastOp::create(builder_, loc(at), to, value);
  return SplatOp::create(builder_, loc(at), to, value);
}

std::optional<SmallVector<Value>> FrontSession::unify(uint32_t op, ArrayRef<SinterOperand> operands,
                                                      At at) {
  SmallVector<Value> values;
  bool poisoned = false;
  for (const SinterOperand &operand : operands) {
    bool literal = operand.kind != SINTER_OPERAND_VALUE;
    values.push_back(literal ? Value() : use(operand.value, at));
    poisoned |= !literal && !values.back();
  }
  if (poisoned || !inKernel(at))
    return std::nullopt;
  auto common = commonOf(values, op == SINTER_OP_SELECT ? 1 : 0, at);
  if (!common)
    return std::nullopt;
  for (auto [operand, value] : llvm::zip_equal(operands, values)) {
    if (value) {
      bool keepScalar = op == SINTER_OP_SELECT && &value == &values[0] && !tileTypeOf(value);
      value = keepScalar ? value : expand(value, common->shape, at);
      continue;
    }
    TypedAttr number = literal(operand, common->element, at);
    if (!number)
      return std::nullopt;
    if (!common->shape.empty())
      number =
          DenseElementsAttr::get(RankedTensorType::get(common->shape, common->element), number);
    value = constant(number, at);
  }
  return values;
}

// ---- operations ----

static Value compare(OpBuilder &builder, Location loc, uint32_t op, Value a, Value b) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  constexpr F onFloats[] = {F::OEQ, F::UNE, F::OLT, F::OLE, F::OGT, F::OGE};
  constexpr I onIntegers[] = {I::eq, I::ne, I::slt, I::sle, I::sgt, I::sge};
  uint32_t index = op - SINTER_OP_EQ;
  if (isa<FloatType>(elementOf(a.getType())))
    return arith::CmpFOp::create(builder, loc, onFloats[index], a, b);
  return arith::CmpIOp::create(builder, loc, onIntegers[index], a, b);
}

// A constant of every element `value`, in the type of `like`.
static TypedAttr fill(Type like, int64_t value) {
  Type element = elementOf(like);
  unsigned width = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  TypedAttr number = IntegerAttr::get(
      element, llvm::APInt(width, static_cast<uint64_t>(value), true, /*implicitTrunc=*/true));
  if (auto tile = dyn_cast<RankedTensorType>(like))
    return DenseElementsAttr::get(tile, number);
  return number;
}

static Value named(OpBuilder &builder, Location loc, StringRef name, ValueRange operands) {
  OperationState state(loc, name);
  state.addOperands(operands);
  state.addTypes(operands[0].getType());
  return builder.create(state)->getResult(0);
}

SinterValue FrontSession::elementwise(uint32_t op, ArrayRef<SinterOperand> operands, At at) {
  if (op >= SINTER_OP_COUNT || operands.size() != kRules[op].operands)
    return error(at, "elementwise operation " + Twine(op) + " with " + Twine(operands.size()) +
                         " operands is not known");
  const Rule &rule = kRules[op];
  auto values = unify(op, operands, at);
  if (!values)
    return SINTER_VALUE_POISON;
  Value last = values->back();
  Type element = elementOf(last.getType());
  const char *name = isa<FloatType>(element) ? rule.onFloats : rule.onIntegers;
  StringRef expected = isLogical(op)      ? "i1"
                       : !rule.onFloats   ? "integer"
                       : !rule.onIntegers ? "float"
                                          : "";
  if (!name || (isLogical(op) && !element.isInteger(1)))
    return error(at, Twine(rule.name) + " of " + describe(last.getType()) + ", expected " +
                         expected + " elements");
  Location place = loc(at);
  if (name != kOwn)
    return add(named(builder_, place, name, *values));
  if (op >= SINTER_OP_EQ && op <= SINTER_OP_GE)
    return add(compare(builder_, place, op, (*values)[0], last));
  if (op == SINTER_OP_SELECT)
    return add(arith::SelectOp::create(builder_, place, (*values)[0], (*values)[1], last));
  if (op == SINTER_OP_NEG)
    return add(arith::SubIOp::create(builder_, place, constant(fill(last.getType(), 0), at), last));
  return add(arith::XOrIOp::create(builder_, place, last, constant(fill(last.getType(), -1), at)));
}

// ---- conversions ----

// Two steps where no single operation exists: through f32 between 16-bit floats, through i64
// between index and float.
Value FrontSession::convertValue(Value value, Type to, bool isUnsigned, At at) {
  Type from = elementOf(value.getType());
  if (from == to)
    return value;
  Type result = sameShape(value.getType(), to);
  auto step = [&](StringRef name) {
    OperationState state(loc(at), name);
    state.addOperands(value);
    state.addTypes(result);
    return builder_.create(state)->getResult(0);
  };
  bool floats = isa<FloatType>(from), toFloats = isa<FloatType>(to);
  isUnsigned |= from.isInteger(1);
  if (from.isIndex() && toFloats)
    return convertValue(convertValue(value, builder_.getI64Type(), false, at), to, isUnsigned, at);
  if (floats && to.isIndex())
    return convertValue(convertValue(value, builder_.getI64Type(), isUnsigned, at), to, false, at);
  if (from.isIndex() || to.isIndex())
    return step(isUnsigned ? "arith.index_castui" : "arith.index_cast");
  unsigned width = from.getIntOrFloatBitWidth(), toWidth = to.getIntOrFloatBitWidth();
  if (floats && toFloats && width == toWidth)
    return convertValue(convertValue(value, builder_.getF32Type(), false, at), to, false, at);
  if (floats && toFloats)
    return step(width < toWidth ? "arith.extf" : "arith.truncf");
  if (floats)
    return step(isUnsigned ? "arith.fptoui" : "arith.fptosi");
  if (toFloats)
    return step(isUnsigned ? "arith.uitofp" : "arith.sitofp");
  if (width > toWidth)
    return step("arith.trunci");
  return step(isUnsigned ? "arith.extui" : "arith.extsi");
}

SinterValue FrontSession::convert(SinterValue id, StringRef element, bool isUnsigned, At at) {
  Value value = use(id, at);
  if (!value)
    return SINTER_VALUE_POISON;
  Type to = elementType(element, at);
  if (!to)
    return SINTER_VALUE_POISON;
  Type from = elementOf(value.getType());
  if (isa<ViewType>(from))
    return error(at, "convert of " + describe(from) + ", expected a tile or scalar: load it first");
  if (isa<BlockType>(from))
    return error(at, "convert of " + describe(value.getType()) +
                         ", expected plain elements: dequantize it first");
  if (isa<BlockType>(to))
    return error(at, "convert to " + describe(to) + ", expected plain elements: quantize instead");
  if (isa<FloatType>(from) && to.isInteger(1))
    return error(at, "convert of " + describe(value.getType()) + " to i1, expected a comparison");
  return from == to ? id : add(convertValue(value, to, isUnsigned, at));
}

SinterValue FrontSession::bitcast(SinterValue id, StringRef element, At at) {
  Value value = use(id, at);
  if (!value)
    return SINTER_VALUE_POISON;
  Type to = elementType(element, at);
  if (!to)
    return SINTER_VALUE_POISON;
  Type from = elementOf(value.getType());
  if (!from.isIntOrFloat() || !to.isIntOrFloat() ||
      from.getIntOrFloatBitWidth() != to.getIntOrFloatBitWidth())
    return error(at, "bitcast of " + describe(value.getType()) + " to " + describe(to) +
                         ", expected elements of the same width");
  if (from == to)
    return id;
  return add(arith::BitcastOp::create(builder_, loc(at), sameShape(value.getType(), to), value));
}

} // namespace sinter::tile
