// A router, matmuls of the rows that chose each expert, and the sum of their results.
#include "tile/mlir_pch.h"

#include "graph/ir/extent.h"
#include "models/experts.h"
#include "models/tensor_names.h"

using namespace mlir;

namespace sinter::models {
namespace {

// One kind of experts: how many, elements of their hidden rows, and their matrices' names.
struct Matrices {
  int64_t count = 0, hidden = 0;
  std::string_view gates, ups, gatesAndUps, downs;
};

class ExpertBuilder {
public:
  ExpertBuilder(GraphBuilder &g, const DecoderFeatures &f, const LayerFeatures &layer)
      : g_(g), f_(f), layer_(layer), experts_(f.experts) {}

  Result<Value> build(const ExpertInputs &inputs);

private:
  // Of the rows: experts and their weights [T, used], and where the choices lie. No expert has more
  // rows than there are choices by `divisor`.
  struct Choices {
    Value weights, experts, places, groups;
    int64_t divisor = 1;
  };

  std::string name(std::string_view part) const { return layerName(layer_.block, part); }
  Result<Value> logitsOf(Value rows);
  Result<Choices> choose(Value logits, int64_t sharing);
  RankedTensorType choicesLike(Value places, int64_t columns);
  Value columnOf(Value ofChoices);
  Value beside(Value ofChoices, const Choices &choices);
  Result<Value> scalesOf(std::string_view part, const Choices &choices);
  Result<Value> multiply(Value rows, std::string_view part, std::array<int64_t, 2> shape,
                         const Choices &choices);
  Result<Value> projected(Value spread, std::string_view part, int64_t columns,
                          const Matrices &matrices, const Choices &choices);
  bool upIsFactor(const Matrices &matrices) const;
  Result<Value> hiddenRows(Value spread, const Matrices &matrices, const Choices &choices);
  Result<Value> sumOf(Value rows, const Matrices &matrices, const Choices &choices);
  Result<Value> shared(Value rows);
  Value activated(Value gate, Value up, float clamp);

  GraphBuilder &g_;
  const DecoderFeatures &f_;
  const LayerFeatures &layer_;
  const ExpertFeatures &experts_;
};

} // namespace

static Value activation(ScalarBuilder &s, const DecoderFeatures &f, Value gate, Value up,
                        float clamp) {
  constexpr float kLimit = 7, kFactor = 1.702f;
  switch (f.experts.family.activation) {
  case ExpertActivation::Relu:
    return s.mul(s.most(gate, s.number(0)), up);
  case ExpertActivation::ClampedSilu: {
    Value limit = s.number(kLimit);
    Value below = s.least(gate, limit);
    Value within = s.most(s.least(up, limit), s.number(-kLimit));
    Value silu = s.mul(below, s.sigmoid(s.mul(below, s.number(kFactor))));
    return s.mul(silu, s.add(within, s.number(1)));
  }
  case ExpertActivation::Family:
    break;
  }
  Value activated = f.family.activation == Activation::Gelu ? s.gelu(gate) : s.silu(gate);
  if (clamp > 0)
    activated = s.least(activated, s.number(clamp));
  return s.mul(activated, s.within(up, clamp));
}

Value ExpertBuilder::activated(Value gate, Value up, float clamp) {
  return g_.map({gate, up}, [&](ScalarBuilder &s, ValueRange v) {
    return activation(s, f_, v[0], v[1], clamp);
  });
}

// ---- choices ----

Result<Value> ExpertBuilder::logitsOf(Value rows) {
  SINTER_ASSIGN(Value matrix, g_.weight(name(kRouter) + ".weight", {experts_.count, f_.width}));
  Value logits =
      graph::DotGeneralOp::create(g_.b, g_.loc, g_.rowsLike(rows, experts_.count), rows, matrix);
  SINTER_ASSIGN(Value added, g_.optionalWeight(name(kRouter) + ".bias", {experts_.count}));
  return added ? g_.add(logits, added) : logits;
}

Result<ExpertBuilder::Choices> ExpertBuilder::choose(Value logits, int64_t sharing) {
  const std::string bare = name(kChoiceBias);
  SINTER_ASSIGN(Value bias,
                g_.optionalWeight(g_.has(bare) ? bare : bare + ".bias", {experts_.count}));
  StringRef symbol = graph::symbolOf(cast<RankedTensorType>(logits.getType()), 0);
  OpBuilder &b = g_.b;
  auto type = [&](Type element) { return graph::tensorOf({symbol, layer_.experts.used}, element); };
  auto route = graph::RouteOp::create(
      b, g_.loc, type(b.getF32Type()), type(b.getI32Type()), experts_.router, logits, bias,
      static_cast<uint64_t>(experts_.groups), static_cast<uint64_t>(experts_.usedGroups),
      static_cast<uint64_t>(sharing), experts_.family.byLogits, experts_.normalized,
      llvm::APFloat(experts_.scale));
  auto group = graph::GroupRowsOp::create(
      b, g_.loc, type(b.getI32Type()),
      RankedTensorType::get({experts_.count / sharing, 3}, b.getI32Type()), route.getExperts());
  return Choices{route.getWeights(), route.getExperts(), group.getPlaces(), group.getGroups(),
                 sharing > 1 ? 1 : layer_.experts.used};
}

// A row for each choice.
RankedTensorType ExpertBuilder::choicesLike(Value places, int64_t columns) {
  const auto rows = graph::SymbolicExtent::of(cast<RankedTensorType>(places.getType()), 0);
  const std::string symbol = rows.times(layer_.experts.used)->text();
  return graph::tensorOf({StringRef(symbol), columns}, g_.b.getF32Type());
}

// A row of one element for each choice, by token.
Value ExpertBuilder::columnOf(Value ofChoices) {
  RankedTensorType type = choicesLike(ofChoices, 1);
  Type element = getElementTypeOrSelf(ofChoices.getType());
  return graph::ReshapeOp::create(g_.b, g_.loc, type.clone(element), ofChoices);
}

// Numbers of choices [T, used] beside the rows of these, [rows, 1].
Value ExpertBuilder::beside(Value ofChoices, const Choices &choices) {
  return graph::SpreadRowsOp::create(g_.b, g_.loc, choicesLike(choices.places, 1),
                                     columnOf(ofChoices), columnOf(choices.places));
}

// `part`.scale of the chosen experts, [T, used]; null where there is none.
Result<Value> ExpertBuilder::scalesOf(std::string_view part, const Choices &choices) {
  const std::string tensor = name(part) + ".scale";
  if (isUnused(f_.family, tensor) || !g_.has(tensor))
    return Value();
  SINTER_ASSIGN(Value scales, g_.weight(tensor, {experts_.count}));
  return graph::GatherOp::create(g_.b, g_.loc, choices.weights.getType(), scales, choices.experts)
      .getResult();
}

static Value product(GraphBuilder &g, Value a, Value b) {
  return g.map({a, b}, [](ScalarBuilder &s, ValueRange v) { return s.mul(v[0], v[1]); });
}

// ---- matmuls ----

// By each expert's matrix of `part`.weight [shape, K], then whatever there is of `part`.bias.
Result<Value> ExpertBuilder::multiply(Value rows, std::string_view part,
                                      std::array<int64_t, 2> shape, const Choices &choices) {
  const auto [count, columns] = shape;
  const int64_t depth = cast<RankedTensorType>(rows.getType()).getDimSize(1);
  SINTER_ASSIGN(Value matrices, g_.weight(name(part) + ".weight", {count, columns, depth}));
  SINTER_ASSIGN(Value bias, g_.optionalWeight(name(part) + ".bias", {count, columns}));
  if (bias && !getElementTypeOrSelf(bias.getType()).isF32())
    return fail(Code::Unsupported, "tensor '" + name(part) + ".bias' is not of type F32");
  const std::string scale = name(part) + ".scale";
  if (bias && g_.has(scale) && !isUnused(f_.family, scale))
    return fail(Code::Unsupported, "the model has a tensor '" + name(part) + ".bias' and one '" +
                                       scale + "', expected one of them");
  return graph::GroupedDotOp::create(g_.b, g_.loc, choicesLike(choices.places, columns), rows,
                                     matrices, choices.groups, bias,
                                     static_cast<uint64_t>(choices.divisor))
      .getResult();
}

// The same times the scales of `part` where there are some.
Result<Value> ExpertBuilder::projected(Value spread, std::string_view part, int64_t columns,
                                       const Matrices &matrices, const Choices &choices) {
  SINTER_ASSIGN(Value rows, multiply(spread, part, {matrices.count, columns}, choices));
  SINTER_ASSIGN(Value scales, scalesOf(part, choices));
  return scales ? product(g_, rows, beside(scales, choices)) : rows;
}

// Whether what an expert gives is a multiple of what `ups` gives, so that scales can wait.
bool ExpertBuilder::upIsFactor(const Matrices &matrices) const {
  return experts_.family.gated && layer_.experts.clamp == 0 &&
         experts_.family.activation != ExpertActivation::ClampedSilu &&
         !g_.has(name(matrices.downs) + ".bias");
}

Result<Value> ExpertBuilder::hiddenRows(Value spread, const Matrices &matrices,
                                        const Choices &choices) {
  const int64_t hidden = matrices.hidden;
  Value gate, up;
  if (!experts_.family.gated) {
    SINTER_ASSIGN(up, projected(spread, matrices.ups, hidden, matrices, choices));
    return g_.map({up}, [&](ScalarBuilder &s, ValueRange v) {
      return f_.family.activation == Activation::Gelu ? s.gelu(v[0]) : s.silu(v[0]);
    });
  }
  if (!matrices.gatesAndUps.empty() && g_.has(name(matrices.gatesAndUps) + ".weight")) {
    SINTER_ASSIGN(Value both,
                  projected(spread, matrices.gatesAndUps, 2 * hidden, matrices, choices));
    gate = g_.columns(both, 0, hidden);
    up = g_.columns(both, hidden, hidden);
  } else {
    SINTER_ASSIGN(gate, projected(spread, matrices.gates, hidden, matrices, choices));
    SINTER_ASSIGN(up, upIsFactor(matrices)
                          ? multiply(spread, matrices.ups, {matrices.count, hidden}, choices)
                          : projected(spread, matrices.ups, hidden, matrices, choices));
  }
  return activated(gate, up, layer_.experts.clamp);
}

// The weighted sum of what the chosen experts make of the rows.
Result<Value> ExpertBuilder::sumOf(Value rows, const Matrices &matrices, const Choices &choices) {
  Value spread = graph::SpreadRowsOp::create(g_.b, g_.loc, choicesLike(choices.places, f_.width),
                                             rows, choices.places);
  Value weights = choices.weights;
  if (experts_.family.weighsInput) {
    spread = product(g_, spread, beside(weights, choices));
    weights = g_.map({weights}, [](ScalarBuilder &s, ValueRange) { return s.number(1); });
  }
  SINTER_ASSIGN(Value hidden, hiddenRows(spread, matrices, choices));
  SINTER_ASSIGN(Value results,
                multiply(hidden, matrices.downs, {matrices.count, f_.width}, choices));
  for (std::string_view part : {matrices.ups, matrices.downs}) {
    if (part == matrices.ups && !upIsFactor(matrices))
      continue;
    SINTER_ASSIGN(Value scales, scalesOf(part, choices));
    if (scales)
      weights = product(g_, weights, scales);
  }
  return graph::CombineRowsOp::create(g_.b, g_.loc, g_.rowsLike(rows, f_.width), results,
                                      choices.places, weights)
      .getResult();
}

// What all tokens pass.
Result<Value> ExpertBuilder::shared(Value rows) {
  const int64_t hidden = experts_.sharedHidden;
  SINTER_ASSIGN(Value gate, g_.linear(rows, name(kSharedGate), hidden, f_.family));
  SINTER_ASSIGN(Value up, g_.linear(rows, name(kSharedUp), hidden, f_.family));
  SINTER_ASSIGN(Value result, g_.linear(activated(gate, up, layer_.experts.sharedClamp),
                                        name(kSharedDown), f_.width, f_.family));
  if (!experts_.family.sharedGate)
    return result;
  SINTER_ASSIGN(Value router, g_.weight(name(kSharedRouter) + ".weight", {f_.width}));
  OpBuilder &b = g_.b;
  Value products =
      g_.map({rows, router}, [](ScalarBuilder &s, ValueRange v) { return s.mul(v[0], v[1]); });
  Value logit = graph::ReduceOp::create(b, g_.loc, g_.rowsLike(rows, 1), graph::ReduceKind::Sum,
                                        products, b.getDenseI64ArrayAttr({1}));
  return g_.map({result, logit},
                [](ScalarBuilder &s, ValueRange v) { return s.mul(v[0], s.sigmoid(v[1])); });
}

Result<Value> ExpertBuilder::build(const ExpertInputs &inputs) {
  Value sharedResult;
  if (experts_.sharedHidden) {
    SINTER_ASSIGN(sharedResult, shared(inputs.rows));
  }
  SINTER_ASSIGN(Value logits, logitsOf(inputs.routed));
  SINTER_ASSIGN(const Choices choices, choose(logits, 1));
  const Matrices matrices{experts_.count, layer_.experts.hidden, kExpertGates,
                          kExpertUps,     kExpertGatesAndUps,    kExpertDowns};
  SINTER_ASSIGN(Value sum, sumOf(inputs.rows, matrices, choices));
  if (experts_.family.chunks) {
    const Matrices chunks{experts_.count / experts_.sharing,
                          experts_.chunkHidden ? experts_.chunkHidden : layer_.headDim,
                          kChunkGates,
                          kChunkUps,
                          "",
                          kChunkDowns};
    SINTER_ASSIGN(const Choices shares, choose(logits, experts_.sharing));
    SINTER_ASSIGN(Value more, sumOf(sum, chunks, shares));
    sum = g_.add(sum, more, experts_.chunkScale);
  }
  if (!sharedResult)
    return sum;
  sum = g_.add(sum, sharedResult);
  return experts_.family.sharedMean ? g_.scaled(sum, 0.5f) : sum;
}

Result<Value> buildExperts(GraphBuilder &builder, const DecoderFeatures &features,
                           const LayerFeatures &layer, const ExpertInputs &inputs) {
  return ExpertBuilder(builder, features, layer).build(inputs);
}

} // namespace sinter::models
