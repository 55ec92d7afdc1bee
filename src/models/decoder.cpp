// Builds a decoder's step: embedding, layers, rows of logits.
#include "tile/mlir_pch.h"

#include "models/decoder.h"
#include "models/decoder_layer.h"
#include "models/tensor_names.h"
#include "plan/contract.h"

using namespace mlir;

namespace sinter::models {

using graph::Extent;
using graph::tensorOf;

namespace {

using contract::Input;
using Size = contract::Symbol;

Extent extentOf(const contract::Extent &extent) {
  return extent.symbol ? Extent(contract::nameOf(*extent.symbol)) : Extent(extent.size);
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

class StepBuilder {
public:
  StepBuilder(MLIRContext &context, const DecoderFeatures &features, const ModelSource &source,
              const DecoderOptions &options)
      : g_(context, source), f_(features), options_(options) {}

  Result<OwningOpRef<ModuleOp>> build();

private:
  Value input(Input id);
  std::vector<KvPlaces> kvGroups(Value slots, Value pageTable);
  Result<Value> firstTokenType();
  Result<Value> embed(Value tokens, Value positions);
  Result<Value> normed(Value x);
  Result<Value> logits(Value n);
  Value withoutImageTokens(Value rows);
  Result<void> output(Value x);
  void outputTop(Value logits);
  Result<void> buildStep();
  Result<void> checkHeads() const;
  void declareSymbols(ModuleOp module);

  GraphBuilder g_;
  const DecoderFeatures &f_;
  const DecoderOptions &options_;
};

} // namespace

Value StepBuilder::input(Input id) {
  const contract::TensorRow &row = contract::rowOf(id);
  SmallVector<Extent> shape = {extentOf(row.rows)};
  if (row.columns)
    shape.push_back(extentOf(*row.columns));
  const bool integers = row.element == contract::ElementType::I32;
  Type element = integers ? Type(g_.b.getI32Type()) : Type(g_.b.getF32Type());
  return graph::InputOp::create(g_.b, g_.loc, tensorOf(shape, element), row.name);
}

std::vector<KvPlaces> StepBuilder::kvGroups(Value slots, Value pageTable) {
  std::vector<KvPlaces> groups = {{contract::nameOf(Size::PoolPages), slots, pageTable}};
  if (f_.hasWindowGroup()) {
    Value windowSlots = input(Input::WindowKvSlots), windowPages = input(Input::WindowPageTable);
    groups.push_back({contract::nameOf(Size::WindowPoolPages), windowSlots, windowPages});
  }
  return groups;
}

Result<void> StepBuilder::checkHeads() const {
  const int64_t length = options_.kv->blockLength;
  for (const LayerFeatures &layer : f_.layers)
    for (int64_t size : {layer.headDim, layer.valueDim})
      if (layer.attends() && size % length != 0)
        return fail(Code::Unsupported, "heads have " + std::to_string(size) +
                                           " elements, a KV cache in " +
                                           std::string(options_.kv->name) + " takes multiples of " +
                                           std::to_string(length));
  return {};
}

// That of the first text of a pair, [1, width].
Result<Value> StepBuilder::firstTokenType() {
  const std::string name(kTokenTypes);
  const std::optional<TensorInfo> info = g_.source().tensor(name);
  const int64_t types = info && info->shape.size() == 2 ? info->shape[0] : 2;
  SINTER_ASSIGN(Value table, g_.weight(name, {types, f_.width}));
  auto type = RankedTensorType::get({1}, g_.b.getI32Type());
  Value first = graph::ConstantOp::create(
      g_.b, g_.loc, type, cast<ElementsAttr>(DenseElementsAttr::get(type, ArrayRef<int32_t>{0})));
  auto row = RankedTensorType::get({1, f_.width}, g_.b.getF32Type());
  return graph::GatherOp::create(g_.b, g_.loc, row, table, first).getResult();
}

Result<Value> StepBuilder::embed(Value tokens, Value positions) {
  SINTER_ASSIGN(Value table, g_.weight(std::string(kTokenEmbedding), {f_.vocabulary, f_.width}));
  const auto rowsOf = [&](Value from, Value index) -> Value {
    return graph::GatherOp::create(g_.b, g_.loc, g_.rowsLike(index, f_.width), from, index);
  };
  Value x = g_.scaled(rowsOf(table, tokens), f_.embeddingScale);
  if (f_.family.tokenTypes && g_.has(std::string(kTokenTypes))) {
    SINTER_ASSIGN(Value shared, firstTokenType());
    x = g_.add(x, shared);
  }
  const std::string learned(kPositionEmbedding);
  if (f_.family.learnedPositions || (f_.family.learnedPositionsOptional && g_.has(learned))) {
    SINTER_ASSIGN(Value places, g_.weight(learned, {f_.contextLength, f_.width}));
    x = g_.add(x, rowsOf(places, positions));
  }
  if (f_.family.embeddingNorm == EmbeddingNorm::Plain)
    return g_.norm(x, f_.family.norm, {}, {}, f_.normEps);
  if (f_.family.embeddingNorm == EmbeddingNorm::Weighted)
    return g_.norm(x, f_.family.norm, std::string(kEmbeddingNorm), f_.normEps);
  return x;
}

// Rows after the last layer.
Result<Value> StepBuilder::normed(Value x) {
  const DecoderFamily &family = f_.family;
  if (family.outputNorm.empty())
    return x;
  if (!family.normWeights)
    return g_.norm(x, family.norm, {}, {}, f_.normEps);
  return g_.norm(x, family.norm, std::string(family.outputNorm), f_.normEps);
}

Result<Value> StepBuilder::logits(Value n) {
  const DecoderFamily &family = f_.family;
  Value rows;
  if (f_.tiedOutput) {
    SINTER_ASSIGN(Value table, g_.weight(std::string(kTokenEmbedding), {f_.vocabulary, f_.width}));
    rows = graph::DotGeneralOp::create(g_.b, g_.loc, g_.rowsLike(n, f_.vocabulary), n, table);
    for (const char *name : {"output.weight", "output.scale", "output.bias"})
      g_.leaveOut(name);
  } else {
    SINTER_ASSIGN(rows, g_.linear(n, std::string(kOutputName), f_.vocabulary, family));
  }
  rows = g_.softCapped(g_.scaled(rows, f_.logitScale), f_.logitSoftCap);
  return family.endImageTokens == 0 ? rows : withoutImageTokens(rows);
}

// Image tokens are never expected: their logits are lower than those of text.
Value StepBuilder::withoutImageTokens(Value rows) {
  std::vector<float> mask(static_cast<size_t>(f_.vocabulary), 0.0f);
  for (int64_t i = f_.family.firstImageToken; i < std::min(f_.family.endImageTokens, f_.vocabulary);
       ++i)
    mask[static_cast<size_t>(i)] = std::numeric_limits<float>::lowest();
  auto type = RankedTensorType::get({f_.vocabulary}, g_.b.getF32Type());
  Value masked = graph::ConstantOp::create(
      g_.b, g_.loc, type, cast<ElementsAttr>(DenseElementsAttr::get(type, ArrayRef<float>(mask))));
  return g_.add(rows, masked);
}

void StepBuilder::outputTop(Value logits) {
  const int64_t count = std::min(options_.topLogits, f_.vocabulary);
  RankedTensorType values = g_.rowsLike(logits, count);
  auto top = graph::TopKOp::create(g_.b, g_.loc, values,
                                   RankedTensorType(values.clone(g_.b.getI32Type())), logits);
  graph::OutputOp::create(g_.b, g_.loc, contract::kTopLogits.name, top.getLargest());
  graph::OutputOp::create(g_.b, g_.loc, contract::kTopTokens.name, top.getIndices());
}

Result<void> StepBuilder::output(Value x) {
  SINTER_ASSIGN(Value rows, normed(x));
  if (!options_.embeddings && f_.givesLogits()) {
    SINTER_ASSIGN(rows, logits(rows));
    graph::OutputOp::create(g_.b, g_.loc, contract::kLogits.name, rows);
    if (options_.topLogits > 0)
      outputTop(rows);
    return {};
  }
  for (const char *name : {"output.weight", "output.scale", "output.bias"})
    g_.leaveOut(name);
  graph::OutputOp::create(g_.b, g_.loc, contract::kEmbeddings.name, rows);
  return {};
}

Result<void> StepBuilder::buildStep() {
  SINTER_TRY(checkHeads());
  Value tokens = input(Input::TokenIds);
  Value positions = input(Input::Positions), slots = input(Input::KvSlots);
  Value pageTable = input(Input::PageTable), lengths = input(Input::KvLengths);
  Value tiles = input(Input::QueryTiles), wanted = input(Input::LogitIndices);
  Value wantedPositions = input(Input::LogitPositions);
  Value wantedTiles = input(Input::LogitTiles);
  LayerBuilder layers(g_, f_,
                      {options_.pageRows, elementOf(g_.b.getContext(), *options_.kv),
                       options_.kv->isPlain()});
  Value spans = f_.hasStates() ? input(Input::StateSpans) : Value();
  SINTER_TRY(layers.place({positions, tiles, lengths, spans, kvGroups(slots, pageTable)},
                          {wantedPositions, wantedTiles, wanted}));
  SINTER_ASSIGN(Value x, embed(tokens, positions));
  SINTER_TRY(layers.keepEmbedding(x, tokens));
  SINTER_ASSIGN(x, layers.expandStreams(x));
  for (size_t i = 0; i < f_.layers.size(); ++i) {
    SINTER_ASSIGN(x, layers.build(x, i));
  }
  SINTER_ASSIGN(x, layers.mergeStreams(x));
  return output(x);
}

// A sequence has no more pages than the model's context.
void StepBuilder::declareSymbols(ModuleOp module) {
  SmallVector<graph::SymbolAttr> symbols;
  for (const contract::SymbolRow &row : contract::kSymbols) {
    if ((row.id == Size::StateSlots && !f_.hasStates()) ||
        (row.id == Size::WindowPoolPages && !f_.hasWindowGroup()) ||
        row.id == Size::Partitions || row.id == Size::WindowPartitions) // lowering adds these
      continue;
    const int64_t most = row.id == Size::PagesPerSequence
                             ? int64_t(llvm::divideCeil(f_.contextLength, options_.pageRows))
                             : row.max;
    symbols.push_back(graph::SymbolAttr::get(g_.b.getContext(), g_.b.getStringAttr(row.name),
                                             row.min, most, roleOf(row.id)));
  }
  graph::declareSymbols(module, symbols);
}

Result<OwningOpRef<ModuleOp>> StepBuilder::build() {
  OwningOpRef<ModuleOp> module(ModuleOp::create(g_.loc));
  g_.b.setInsertionPointToEnd(module->getBody());
  declareSymbols(*module);
  auto step =
      func::FuncOp::create(g_.b, g_.loc, contract::kStepProcedure, g_.b.getFunctionType({}, {}));
  g_.b.setInsertionPointToStart(step.addEntryBlock());
  SINTER_TRY(buildStep());
  func::ReturnOp::create(g_.b, g_.loc);
  const bool predictsFurther = f_.blocks > f_.layers.back().block + 1;
  SINTER_TRY(g_.checkAllUsed(f_.family, predictsFurther ? f_.layers.back().block + 1 : INT64_MAX));
  if (failed(verify(*module)))
    return fail(Code::Internal, "the decoder's graph is not well formed");
  return module;
}

Result<OwningOpRef<ModuleOp>> buildDecoder(MLIRContext &context, const DecoderFeatures &features,
                                           const ModelSource &source,
                                           const DecoderOptions &options) {
  return StepBuilder(context, features, source, options).build();
}

} // namespace sinter::models
