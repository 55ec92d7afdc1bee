// Builds a decoder's step: embedding, layers of attention and gated feed-forward, rows of logits.
#include "tile/mlir_pch.h"

#include "format/known_names.h"
#include "models/decoder.h"
#include "models/tensor_names.h"
#include "plan/contract.h"

#include <map>

using namespace mlir;

namespace sinter::models {

using graph::Extent;
using graph::tensorOf;

namespace {

using Size = contract::Symbol;

std::string shapeText(llvm::ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t extent : shape)
    text += (text.empty() ? "[" : ", ") + std::to_string(extent);
  return text + "]";
}

// The graph's name for a file's format; null where it has none.
Type elementOf(MLIRContext *context, const BlockFormat &format) {
  switch (format.type) {
  case TensorType::F32:
    return Float32Type::get(context);
  case TensorType::F16:
    return Float16Type::get(context);
  case TensorType::BF16:
    return BFloat16Type::get(context);
  default:
    if (format.isPlain())
      return {};
    return tile::BlockType::get(context, StringRef(format.name).lower());
  }
}

Extent extentOf(Size symbol) {
  return contract::nameOf(symbol);
}
Extent extentOf(const contract::Extent &extent) {
  return extent.symbol ? extentOf(*extent.symbol) : Extent(extent.size);
}

// What the engine reads of a symbol beside its extents.
graph::SymbolRole roleOf(Size symbol) {
  switch (symbol) {
  case Size::Tokens:
    return graph::SymbolRole::Tokens;
  case Size::Phase:
    return graph::SymbolRole::Decode;
  case Size::LongestContext:
    return graph::SymbolRole::LongestContext;
  case Size::KeysHeld:
    return graph::SymbolRole::KeysHeld;
  case Size::KeysSeen:
    return graph::SymbolRole::KeysSeen;
  default:
    return graph::SymbolRole::Extent;
  }
}

// Rows that attend: where they lie in their sequences, and by what their heads rotate.
struct Rows {
  Value positions, blocks, rotations;
};

// A layer's pages of keys and of values.
struct KvCache {
  Value keys, values;
};

// The inputs that say where tokens are.
struct Placement {
  Rows tokens;
  Value slots, pageTable, lengths;
};

class Builder {
public:
  Builder(MLIRContext &context, const DecoderFeatures &features, const ModelSource &source,
          const DecoderOptions &options)
      : b_(&context), loc_(UnknownLoc::get(&context)), f_(features), source_(source),
        options_(options) {}

  Result<OwningOpRef<ModuleOp>> build();

private:
  Value input(contract::Input id) {
    const contract::TensorRow &row = contract::rowOf(id);
    SmallVector<Extent> shape = {extentOf(row.rows)};
    if (row.columns)
      shape.push_back(extentOf(*row.columns));
    const bool integers = row.element == contract::ElementType::I32;
    Type element = integers ? Type(b_.getI32Type()) : Type(b_.getF32Type());
    return graph::InputOp::create(b_, loc_, tensorOf(shape, element), row.name);
  }
  RankedTensorType rowsLike(Value like, int64_t columns) {
    StringRef symbol = graph::symbolOf(cast<RankedTensorType>(like.getType()), 0);
    return tensorOf({symbol, columns}, b_.getF32Type());
  }
  Value reshape(Value value, int64_t heads) {
    StringRef symbol = graph::symbolOf(cast<RankedTensorType>(value.getType()), 0);
    auto type = tensorOf({symbol, heads, f_.headDim}, b_.getF32Type());
    return graph::ReshapeOp::create(b_, loc_, type, value);
  }
  Value add(Value a, Value b);
  Value siluMul(Value gate, Value up);
  Result<Value> weight(std::string name, std::vector<int64_t> shape);
  Result<Value> norm(Value x, std::string name);
  Result<Value> linear(Value x, std::string name, int64_t rows);
  Result<Value> projection(Value x, int64_t layer, std::string_view part, int64_t heads);
  Result<Value> headNorm(Value heads, int64_t layer, std::string_view part);
  Result<Value> ropeDivisors();
  Rows rowsOf(Size symbol, Value positions, Value blocks, Value divisors);
  Value rope(Value heads, const Rows &rows);
  Result<KvCache> store(Value n, int64_t layer, const Placement &at);
  Result<Value> attention(Value n, Value attending, int64_t layer, const Placement &at,
                          const Rows &rows);
  Result<Value> feedForward(Value x, int64_t layer);
  Result<Value> layer(Value x, int64_t number, const Placement &at, const Rows &rows,
                      Value wanted = {});
  void declareSymbols(ModuleOp module);
  Result<void> checkHeads() const;
  Result<void> buildStep();
  Result<void> checkAllUsed() const;

  OpBuilder b_;
  Location loc_;
  const DecoderFeatures &f_;
  const ModelSource &source_;
  const DecoderOptions &options_;
  std::map<std::string, Value, std::less<>> weights_; // by tensor: one value each
};

Result<Value> Builder::weight(std::string name, std::vector<int64_t> shape) {
  std::optional<TensorInfo> tensor = source_.tensor(name);
  if (!tensor)
    return fail(Code::NotFound, "the model has no tensor '" + name + "', expected one of shape " +
                                    shapeText(shape));
  if (tensor->shape != shape)
    return fail(Code::Corrupt, "tensor '" + name + "' has shape " + shapeText(tensor->shape) +
                                   ", expected " + shapeText(shape));
  Type element = elementOf(b_.getContext(), *tensor->format);
  if (!element || (shape.size() == 1 && !element.isF32()))
    return fail(Code::Unsupported, "tensor '" + name + "' has type " +
                                       std::string(tensor->format->name) + ", expected " +
                                       (shape.size() == 1 ? "F32" : "F32, F16, BF16 or blocks"));
  Value &value = weights_[name];
  if (!value)
    value = graph::WeightOp::create(b_, loc_, RankedTensorType::get(shape, element),
                                    b_.getStrArrayAttr({name}));
  return value;
}

Result<Value> Builder::norm(Value x, std::string name) {
  SINTER_ASSIGN(Value gain, weight(std::move(name), {f_.width}));
  Value result =
      graph::NormOp::create(b_, loc_, x.getType(), x, gain, b_.getF32FloatAttr(f_.normEps));
  return result;
}

Result<Value> Builder::linear(Value x, std::string name, int64_t rowCount) {
  int64_t columns = cast<RankedTensorType>(x.getType()).getDimSize(1);
  SINTER_ASSIGN(Value matrix, weight(std::move(name), {rowCount, columns}));
  Value result = graph::DotGeneralOp::create(b_, loc_, rowsLike(x, rowCount), x, matrix);
  return result;
}

// An elementwise map of two equal tensors.
static Value mapOf(OpBuilder &b, Location loc, Value left, Value right,
                   llvm::function_ref<Value(Value, Value)> body) {
  auto map = graph::MapOp::create(b, loc, left.getType(), ValueRange{left, right});
  OpBuilder::InsertionGuard guard(b);
  Type element = getElementTypeOrSelf(left.getType());
  mlir::Block *block = b.createBlock(&map.getBody(), {}, {element, element}, {loc, loc});
  graph::YieldOp::create(b, loc, body(block->getArgument(0), block->getArgument(1)));
  return map.getResult();
}

Value Builder::add(Value a, Value b) {
  return mapOf(b_, loc_, a, b,
               [&](Value x, Value y) -> Value { return arith::AddFOp::create(b_, loc_, x, y); });
}

// gate / (1 + exp(-gate)) * up
Value Builder::siluMul(Value gate, Value up) {
  return mapOf(b_, loc_, gate, up, [&](Value x, Value y) -> Value {
    Value one = arith::ConstantOp::create(b_, loc_, b_.getF32FloatAttr(1));
    Value power = math::ExpOp::create(b_, loc_, arith::NegFOp::create(b_, loc_, x));
    Value silu = arith::DivFOp::create(b_, loc_, x, arith::AddFOp::create(b_, loc_, one, power));
    return arith::MulFOp::create(b_, loc_, silu, y);
  });
}

// Queries, keys or values of a layer as heads.
Result<Value> Builder::projection(Value x, int64_t layer, std::string_view part, int64_t heads) {
  const int64_t columns = heads * f_.headDim;
  SINTER_ASSIGN(Value rows, linear(x, layerTensor(layer, part), columns));
  if (f_.family.qkvBias) {
    SINTER_ASSIGN(Value bias, weight(layerTensor(layer, part, "bias"), {columns}));
    rows = add(rows, bias);
  }
  return reshape(rows, heads);
}

// Heads, each over its own root mean square where the family has such norms.
Result<Value> Builder::headNorm(Value heads, int64_t layer, std::string_view part) {
  if (!f_.family.headNorms)
    return heads;
  SINTER_ASSIGN(Value gain, weight(layerTensor(layer, part), {f_.headDim}));
  Value result =
      graph::NormOp::create(b_, loc_, heads.getType(), heads, gain, b_.getF32FloatAttr(f_.normEps));
  return result;
}

// Null where the model has none.
Result<Value> Builder::ropeDivisors() {
  if (!source_.tensor(kRopeDivisors))
    return Value();
  return weight(std::string(kRopeDivisors), {f_.ropeDims / 2});
}

Rows Builder::rowsOf(Size symbol, Value positions, Value blocks, Value divisors) {
  std::vector<float> scales = frequencyScales(f_.ropeScaling, f_.ropeDims, f_.ropeBase);
  const float magnitude = rotationMagnitude(f_.ropeScaling);
  Value rotations = graph::RopeTableOp::create(
      b_, loc_, tensorOf({extentOf(symbol), f_.ropeDims}, b_.getF32Type()), positions, divisors,
      static_cast<uint64_t>(f_.ropeDims), llvm::APFloat(f_.ropeBase),
      scales.empty() ? DenseF32ArrayAttr() : b_.getDenseF32ArrayAttr(scales),
      magnitude == 1 ? FloatAttr() : b_.getF32FloatAttr(magnitude));
  return {positions, blocks, rotations};
}

Value Builder::rope(Value heads, const Rows &rows) {
  const bool whole = f_.ropeDims == f_.headDim;
  return graph::RopeOp::create(b_, loc_, heads.getType(), heads, rows.rotations, f_.family.rope,
                               whole ? IntegerAttr() : b_.getI64IntegerAttr(f_.ropeDims));
}

// The KV cache of a layer with the keys and values of all tokens.
Result<KvCache> Builder::store(Value n, int64_t layer, const Placement &at) {
  SINTER_ASSIGN(Value k, projection(n, layer, kKey, f_.kvHeads));
  SINTER_ASSIGN(k, headNorm(k, layer, kKeyNorm));
  SINTER_ASSIGN(Value values, projection(n, layer, kValue, f_.kvHeads));
  Type element = elementOf(b_.getContext(), *options_.kv);
  const Extent pages = extentOf(Size::PoolPages);
  auto valueType = tensorOf({pages, f_.kvHeads, options_.pageRows, f_.headDim}, element);
  auto keyType = options_.kv->isPlain()
                     ? tensorOf({pages, f_.kvHeads, f_.headDim, options_.pageRows}, element)
                     : valueType; // blocks lie along a head
  std::string name = "kv." + std::to_string(layer);
  Value keyPool = graph::StateOp::create(b_, loc_, keyType, name + ".keys");
  Value valuePool = graph::StateOp::create(b_, loc_, valueType, name + ".values");
  Value keys = rope(k, at.tokens);
  auto append = [&](graph::KvPart part, Value rows, Value pool) -> Value {
    return graph::KvAppendOp::create(b_, loc_, pool.getType(), part, rows, at.slots, pool);
  };
  return KvCache{append(graph::KvPart::Keys, keys, keyPool),
                 append(graph::KvPart::Values, values, valuePool)};
}

// Of the keys and values of all tokens, which `n` has, by `attending`, those of them that are
// `rows`.
Result<Value> Builder::attention(Value n, Value attending, int64_t layer, const Placement &at,
                                 const Rows &rows) {
  int64_t columns = f_.heads * f_.headDim;
  SINTER_ASSIGN(Value q, projection(attending, layer, kQuery, f_.heads));
  SINTER_ASSIGN(q, headNorm(q, layer, kQueryNorm));
  SINTER_ASSIGN(const KvCache cache, store(n, layer, at));
  Value query = rope(q, rows);
  float scale = 1.0f / std::sqrt(static_cast<float>(f_.headDim));
  Value attended = graph::PagedAttentionOp::create(
      b_, loc_, query.getType(), query, cache.keys, cache.values, rows.positions, at.pageTable,
      at.lengths, rows.blocks, b_.getF32FloatAttr(scale));
  Value flat = graph::ReshapeOp::create(b_, loc_, rowsLike(q, columns), attended);
  return linear(flat, layerTensor(layer, kAttentionOutput), f_.width);
}

Result<Value> Builder::feedForward(Value x, int64_t layer) {
  SINTER_ASSIGN(Value n, norm(x, layerTensor(layer, kFeedForwardNorm)));
  SINTER_ASSIGN(Value gate, linear(n, layerTensor(layer, kGate), f_.feedForward));
  SINTER_ASSIGN(Value up, linear(n, layerTensor(layer, kUp), f_.feedForward));
  return linear(siluMul(gate, up), layerTensor(layer, kDown), f_.width);
}

Result<void> Builder::checkHeads() const {
  if (f_.headDim % options_.kv->blockLength == 0)
    return {};
  return fail(Code::Unsupported, "heads have " + std::to_string(f_.headDim) +
                                     " elements, a KV cache in " + std::string(options_.kv->name) +
                                     " takes multiples of " +
                                     std::to_string(options_.kv->blockLength));
}

// With `wanted` the layer's results are of these of its rows alone, which are `rows`.
Result<Value> Builder::layer(Value x, int64_t number, const Placement &at, const Rows &rows,
                             Value wanted) {
  const std::string normName = layerTensor(number, kAttentionNorm);
  SINTER_ASSIGN(Value n, norm(x, normName));
  Value attending = n;
  if (wanted) {
    auto rowsWanted = tensorOf({extentOf(Size::LogitRows), f_.width}, b_.getF32Type());
    x = graph::GatherOp::create(b_, loc_, rowsWanted, x, wanted);
    SINTER_ASSIGN(attending, norm(x, normName));
  }
  SINTER_ASSIGN(Value attended, attention(n, attending, number, at, rows));
  x = add(x, attended);
  SINTER_ASSIGN(Value fed, feedForward(x, number));
  return add(x, fed);
}

Result<void> Builder::buildStep() {
  SINTER_TRY(checkHeads());
  using contract::Input;
  Value tokens = input(Input::TokenIds);
  Value positions = input(Input::Positions), slots = input(Input::KvSlots);
  Value pageTable = input(Input::PageTable), lengths = input(Input::KvLengths);
  Value tiles = input(Input::QueryTiles), wanted = input(Input::LogitIndices);
  Value wantedPositions = input(Input::LogitPositions);
  Value wantedTiles = input(Input::LogitTiles);
  Type f32 = b_.getF32Type();
  SINTER_ASSIGN(Value divisors, ropeDivisors());
  Placement at{rowsOf(Size::Tokens, positions, tiles, divisors), slots, pageTable, lengths};
  Rows last = rowsOf(Size::LogitRows, wantedPositions, wantedTiles, divisors);
  SINTER_ASSIGN(Value table, weight(std::string(kTokenEmbedding), {f_.vocabulary, f_.width}));
  Value x = graph::GatherOp::create(b_, loc_, tensorOf({extentOf(Size::Tokens), f_.width}, f32),
                                    table, tokens);
  for (int64_t number = 0; number + 1 < f_.layers; ++number) {
    SINTER_ASSIGN(x, layer(x, number, at, at.tokens));
  }
  SINTER_ASSIGN(x, layer(x, f_.layers - 1, at, last, wanted));
  SINTER_ASSIGN(Value n, norm(x, std::string(kOutputNorm)));
  std::string_view output = f_.tiedOutput ? kTokenEmbedding : kOutput;
  SINTER_ASSIGN(Value logits, linear(n, std::string(output), f_.vocabulary));
  graph::OutputOp::create(b_, loc_, contract::kLogits.name, logits);
  return {};
}

// A tensor that the step leaves out may change what the model computes.
Result<void> Builder::checkAllUsed() const {
  for (const std::string &name : source_.tensorNames()) {
    const KnownName *row = findKnownTensor(name);
    if (weights_.contains(name) || !row || row->effect == NameEffect::Harmless)
      continue;
    return fail(Code::Unsupported, "the model has a tensor '" + name +
                                       "', which a decoder of architecture '" +
                                       std::string(f_.family.architecture) + "' has no place for");
  }
  return {};
}

// A sequence has no more pages than the model's context.
void Builder::declareSymbols(ModuleOp module) {
  SmallVector<graph::SymbolAttr> symbols;
  for (const contract::SymbolRow &row : contract::kSymbols) {
    const int64_t most = row.id == Size::PagesPerSequence
                             ? int64_t(llvm::divideCeil(f_.contextLength, options_.pageRows))
                             : row.max;
    symbols.push_back(graph::SymbolAttr::get(b_.getContext(), b_.getStringAttr(row.name), row.min,
                                             most, roleOf(row.id)));
  }
  graph::declareSymbols(module, symbols);
}

Result<OwningOpRef<ModuleOp>> Builder::build() {
  OwningOpRef<ModuleOp> module(ModuleOp::create(loc_));
  b_.setInsertionPointToEnd(module->getBody());
  declareSymbols(*module);
  auto step = func::FuncOp::create(b_, loc_, contract::kStepProcedure, b_.getFunctionType({}, {}));
  b_.setInsertionPointToStart(step.addEntryBlock());
  SINTER_TRY(buildStep());
  func::ReturnOp::create(b_, loc_);
  SINTER_TRY(checkAllUsed());
  if (failed(verify(*module)))
    return fail(Code::Internal, "the decoder's graph is not well formed");
  return module;
}

} // namespace

Result<OwningOpRef<ModuleOp>> buildDecoder(MLIRContext &context, const DecoderFeatures &features,
                                           const ModelSource &source,
                                           const DecoderOptions &options) {
  return Builder(context, features, source, options).build();
}

} // namespace sinter::models
