// Weights by name, rows and heads, norms and linear layers.
#include "tile/mlir_pch.h"

#include "format/known_names.h"
#include "models/graph_builder.h"

using namespace mlir;

namespace sinter::models {

using graph::tensorOf;

std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t extent : shape)
    text += (text.empty() ? "[" : ", ") + std::to_string(extent);
  return text + "]";
}

Type elementOf(MLIRContext *context, const BlockFormat &format) {
  switch (format.type) {
  case TensorType::F32:
    return Float32Type::get(context);
  case TensorType::F16:
    return Float16Type::get(context);
  case TensorType::BF16:
    return BFloat16Type::get(context);
  case TensorType::FP8:
    return Float8E4M3FNType::get(context);
  default:
    if (format.isPlain())
      return {};
    return tile::BlockType::get(context, StringRef(format.name).lower());
  }
}

// ---- weights ----

Result<Value> GraphBuilder::weight(const std::string &name, std::vector<int64_t> shape) {
  return weightAs(name, shape, shape);
}

Result<Value> GraphBuilder::matrices(const std::string &name, int64_t count, int64_t rows,
                                     int64_t columns) {
  return weightAs(name, {count, rows, columns}, {count * rows, columns});
}

Result<Value> GraphBuilder::weightAs(const std::string &name, std::vector<int64_t> shape,
                                     std::vector<int64_t> as) {
  std::optional<TensorInfo> tensor = source_.tensor(name);
  if (!tensor)
    return fail(Code::NotFound, "the model has no tensor '" + name + "', expected one of shape " +
                                    shapeText(shape));
  if (tensor->shape != shape)
    return fail(Code::Corrupt, "tensor '" + name + "' has shape " + shapeText(tensor->shape) +
                                   ", expected " + shapeText(shape));
  Type element = elementOf(b.getContext(), *tensor->format);
  if (!element || (shape.size() == 1 && !element.isF32()))
    return fail(Code::Unsupported, "tensor '" + name + "' has type " +
                                       std::string(tensor->format->name) + ", expected " +
                                       (shape.size() == 1 ? "F32" : "F32, F16, BF16 or blocks"));
  Value &value = weights_[name];
  if (!value)
    value = graph::WeightOp::create(b, loc, RankedTensorType::get(as, element),
                                    b.getStrArrayAttr({name}));
  return value;
}

// "attn_q.bias" of "blk.3.attn_q.bias"; the name itself where it is of no layer.
static std::string partOf(const std::string &name) {
  constexpr StringRef kLayer = "blk.";
  const size_t dot =
      StringRef(name).starts_with(kLayer) ? name.find('.', kLayer.size()) : std::string::npos;
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

Result<Value> GraphBuilder::optionalWeight(const std::string &name, std::vector<int64_t> shape) {
  const bool present = has(name);
  const auto [first, isNew] = optional_.try_emplace(partOf(name), name, present);
  const auto &[firstName, firstPresent] = first->second;
  if (firstPresent != present)
    return fail(Code::Corrupt, "the model has a tensor '" + (present ? name : firstName) +
                                   "' and none '" + (present ? firstName : name) +
                                   "', expected both or neither");
  return present ? weight(name, std::move(shape)) : Result<Value>(Value());
}

bool isUnused(const DecoderFamily &family, std::string_view tensor) {
  std::string_view rest = family.unused;
  while (!rest.empty()) {
    const size_t bar = std::min(rest.find('|'), rest.size());
    if (matchesPattern(rest.substr(0, bar), tensor))
      return true;
    rest.remove_prefix(std::min(bar + 1, rest.size()));
  }
  return false;
}

// The layer of a tensor's name; -1 where it is of none.
static int64_t blockOf(StringRef name) {
  int64_t block = -1;
  if (name.consume_front("blk.") &&
      name.take_until([](char c) { return c == '.'; }).getAsInteger(10, block))
    return -1;
  return block;
}

Result<void> GraphBuilder::checkAllUsed(const DecoderFamily &family,
                                        int64_t firstUnusedBlock) const {
  for (const std::string &name : source_.tensorNames()) {
    const KnownName *row = findKnownTensor(name);
    if (weights_.contains(name) || !row || row->effect == NameEffect::Harmless ||
        leftOut_.contains(name) || blockOf(name) >= firstUnusedBlock || isUnused(family, name))
      continue;
    return fail(Code::Unsupported, "the model has a tensor '" + name +
                                       "', which a decoder of architecture '" +
                                       std::string(family.architecture) + "' has no place for");
  }
  return {};
}

// ---- shapes ----

static StringRef rowsOf(Value value) {
  return graph::symbolOf(cast<RankedTensorType>(value.getType()), 0);
}

RankedTensorType GraphBuilder::rowsLike(Value like, int64_t columns) {
  return tensorOf({rowsOf(like), columns}, b.getF32Type());
}

Value GraphBuilder::asHeads(Value rows, int64_t heads, int64_t size) {
  auto type = tensorOf({rowsOf(rows), heads, size}, b.getF32Type());
  return graph::ReshapeOp::create(b, loc, type, rows);
}

Value GraphBuilder::asRows(Value heads) {
  auto type = cast<RankedTensorType>(heads.getType());
  return graph::ReshapeOp::create(b, loc, rowsLike(heads, type.getDimSize(1) * type.getDimSize(2)),
                                  heads);
}

Value GraphBuilder::columns(Value rows, int64_t first, int64_t count) {
  return graph::SliceOp::create(b, loc, rowsLike(rows, count), rows, ArrayRef<int64_t>{0, first},
                                DenseI64ArrayAttr());
}

Value GraphBuilder::rowsAt(Value rows, Value index) {
  const int64_t columns = cast<RankedTensorType>(rows.getType()).getDimSize(1);
  return graph::GatherOp::create(b, loc, rowsLike(index, columns), rows, index);
}

// ---- maps ----

Value GraphBuilder::map(RankedTensorType type, ArrayRef<Value> operands, Body body) {
  auto map = graph::MapOp::create(b, loc, type, operands);
  OpBuilder::InsertionGuard guard(b);
  mlir::Block *block = b.createBlock(&map.getBody());
  for (Value operand : operands)
    block->addArgument(getElementTypeOrSelf(operand.getType()), loc);
  ScalarBuilder scalars(b, loc);
  Value result = body(scalars, block->getArguments());
  graph::YieldOp::create(b, loc, result);
  return map.getResult();
}

Value GraphBuilder::map(ArrayRef<Value> operands, Body body) {
  return map(cast<RankedTensorType>(operands[0].getType()), operands, body);
}

Value GraphBuilder::scaled(Value value, float factor) {
  if (factor == 1)
    return value;
  return map({value},
             [&](ScalarBuilder &s, ValueRange v) { return s.mul(v[0], s.number(factor)); });
}

Value GraphBuilder::add(Value a, Value addend, float factor) {
  return map({a, addend}, [&](ScalarBuilder &s, ValueRange v) {
    return s.add(v[0], factor == 1 ? Value(v[1]) : s.mul(v[1], s.number(factor)));
  });
}

Value GraphBuilder::softCapped(Value value, float cap) {
  if (cap == 0)
    return value;
  return map({value}, [&](ScalarBuilder &s, ValueRange v) {
    return s.mul(s.tanh(s.mul(v[0], s.number(1 / cap))), s.number(cap));
  });
}

Value GraphBuilder::clamped(Value value, float most) {
  if (most == 0)
    return value;
  return map({value}, [&](ScalarBuilder &s, ValueRange v) { return s.within(v[0], most); });
}

// ---- layers ----

Value GraphBuilder::norm(Value x, NormKind kind, Value weight, Value bias, float eps) {
  const bool rms = kind == NormKind::Rms;
  if (rms && weight && !bias)
    return graph::NormOp::create(b, loc, x.getType(), x, weight, b.getF32FloatAttr(eps));
  const auto of = rms ? graph::NormKind::Rms : graph::NormKind::Layer;
  return graph::NormOp::create(b, loc, x.getType(), graph::NormKindAttr::get(b.getContext(), of), x,
                               weight, bias, Value(), DenseI64ArrayAttr(), b.getF32FloatAttr(eps));
}

Result<Value> GraphBuilder::norm(Value x, NormKind kind, const std::string &name, float eps) {
  const int64_t columns = cast<RankedTensorType>(x.getType()).getShape().back();
  const bool bare = !has(name + ".weight") && has(name);
  SINTER_ASSIGN(Value gain, weight(bare ? name : name + ".weight", {columns}));
  SINTER_ASSIGN(Value bias, optionalWeight(name + ".bias", {columns}));
  if (kind == NormKind::Layer || !bias)
    return norm(x, kind, gain, bias, eps);
  return add(norm(x, kind, gain, {}, eps), bias);
}

Result<Value> GraphBuilder::linear(Value x, const std::string &name, int64_t rowCount,
                                   const DecoderFamily &family, bool biasFirst) {
  const int64_t columns = cast<RankedTensorType>(x.getType()).getDimSize(1);
  SINTER_ASSIGN(Value matrix, weight(name + ".weight", {rowCount, columns}));
  Value rows = graph::DotGeneralOp::create(b, loc, rowsLike(x, rowCount), x, matrix);
  const auto biased = [&]() -> Result<void> {
    if (isUnused(family, name + ".bias"))
      return {};
    SINTER_ASSIGN(Value bias, optionalWeight(name + ".bias", {rowCount}));
    if (bias)
      rows = add(rows, bias);
    return {};
  };
  if (biasFirst)
    SINTER_TRY(biased());
  if (!isUnused(family, name + ".scale")) {
    SINTER_ASSIGN(Value scale, optionalWeight(name + ".scale", {1}));
    if (scale)
      rows = map({rows, scale}, [](ScalarBuilder &s, ValueRange v) { return s.mul(v[0], v[1]); });
  }
  if (!biasFirst)
    SINTER_TRY(biased());
  return rows;
}

} // namespace sinter::models
