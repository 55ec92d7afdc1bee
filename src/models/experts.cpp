// A router, matmuls of the rows that chose each expert, and the sum of their results.
#include "tile/mlir_pch.h"

#include "graph/ir/extent.h"
#include "models/experts.h"
#include "models/tensor_names.h"

using namespace mlir;

namespace sinter::models {
namespace {

class ExpertBuilder {
public:
  ExpertBuilder(GraphBuilder &g, const DecoderFeatures &f, const LayerFeatures &layer)
      : g_(g), f_(f), layer_(layer), experts_(f.experts) {}

  Result<Value> build(const ExpertInputs &inputs);

private:
  // Of the rows: experts and their weights [T, used], and where the choices lie.
  struct Choices {
    Value weights, experts, places, groups;
  };

  std::string name(std::string_view part) const { return layerName(layer_.block, part); }
  Result<Choices> choose(Value rows);
  RankedTensorType choicesLike(Value places, int64_t columns);
  Value columnOf(Value ofChoices);
  Value beside(Value ofChoices, const Choices &choices);
  Result<Value> scalesOf(std::string_view part, const Choices &choices);
  Result<Value> multiply(Value rows, std::string_view part, int64_t columns,
                         const Choices &choices);
  Result<Value> hiddenRows(Value spread, const Choices &choices);
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

Result<ExpertBuilder::Choices> ExpertBuilder::choose(Value rows) {
  SINTER_ASSIGN(Value matrix, g_.weight(name(kRouter) + ".weight", {experts_.count, f_.width}));
  Value logits = graph::DotGeneralOp::create(g_.b, g_.loc, g_.rowsLike(rows, experts_.count), rows,
                                             matrix);
  SINTER_ASSIGN(Value added, g_.optionalWeight(name(kRouter) + ".bias", {experts_.count}));
  if (added)
    logits = g_.add(logits, added);
  const std::string bare = name(kChoiceBias);
  SINTER_ASSIGN(Value bias,
                g_.optionalWeight(g_.has(bare) ? bare : bare + ".bias", {experts_.count}));
  StringRef symbol = graph::symbolOf(cast<RankedTensorType>(rows.getType()), 0);
  OpBuilder &b = g_.b;
  auto type = [&](Type element) { return graph::tensorOf({symbol, layer_.experts.used}, element); };
  auto route = graph::RouteOp::create(
      b, g_.loc, type(b.getF32Type()), type(b.getI32Type()), experts_.router, logits, bias,
      static_cast<uint64_t>(experts_.groups), static_cast<uint64_t>(experts_.usedGroups),
      experts_.family.byLogits, experts_.normalized, llvm::APFloat(experts_.scale));
  auto group = graph::GroupRowsOp::create(
      b, g_.loc, type(b.getI32Type()), RankedTensorType::get({experts_.count, 3}, b.getI32Type()),
      route.getExperts());
  return Choices{route.getWeights(), route.getExperts(), group.getPlaces(), group.getGroups()};
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

// By each expert's matrix of `part`.weight [experts, columns, K], then whatever there is of
// `part`.scale and `part`.bias of each expert. llama.cpp adds the bias last.
Result<Value> ExpertBuilder::multiply(Value rows, std::string_view part, int64_t columns,
                                      const Choices &choices) {
  const int64_t depth = cast<RankedTensorType>(rows.getType()).getDimSize(1);
  SINTER_ASSIGN(Value matrices,
                g_.weight(name(part) + ".weight", {experts_.count, columns, depth}));
  SINTER_ASSIGN(Value bias, g_.optionalWeight(name(part) + ".bias", {experts_.count, columns}));
  if (bias && !getElementTypeOrSelf(bias.getType()).isF32())
    return fail(Code::Unsupported, "tensor '" + name(part) + ".bias' is not of type F32");
  SINTER_ASSIGN(Value scales, scalesOf(part, choices));
  if (bias && scales)
    return fail(Code::Unsupported, "the model has a tensor '" + name(part) + ".bias' and one '" +
                                       name(part) + ".scale', expected one of them");
  Value result = graph::GroupedDotOp::create(g_.b, g_.loc, choicesLike(choices.places, columns),
                                             rows, matrices, choices.groups, bias,
                                             static_cast<uint64_t>(layer_.experts.used));
  return scales ? product(g_, result, beside(scales, choices)) : result;
}

Result<Value> ExpertBuilder::hiddenRows(Value spread, const Choices &choices) {
  const int64_t hidden = layer_.experts.hidden;
  Value gate, up;
  if (!experts_.family.gated) {
    SINTER_ASSIGN(up, multiply(spread, kExpertUps, hidden, choices));
    return g_.map({up}, [&](ScalarBuilder &s, ValueRange v) {
      return f_.family.activation == Activation::Gelu ? s.gelu(v[0]) : s.silu(v[0]);
    });
  }
  if (g_.has(name(kExpertGatesAndUps) + ".weight")) {
    SINTER_ASSIGN(Value both, multiply(spread, kExpertGatesAndUps, 2 * hidden, choices));
    gate = g_.columns(both, 0, hidden);
    up = g_.columns(both, hidden, hidden);
  } else {
    SINTER_ASSIGN(gate, multiply(spread, kExpertGates, hidden, choices));
    SINTER_ASSIGN(up, multiply(spread, kExpertUps, hidden, choices));
  }
  return activated(gate, up, layer_.experts.clamp);
}

// What all tokens pass.
Result<Value> ExpertBuilder::shared(Value rows) {
  const int64_t hidden = experts_.sharedHidden;
  SINTER_ASSIGN(Value gate, g_.linear(rows, name(kSharedGate), hidden, f_.family));
  SINTER_ASSIGN(Value up, g_.linear(rows, name(kSharedUp), hidden, f_.family));
  SINTER_ASSIGN(Value result,
                g_.linear(activated(gate, up, layer_.experts.sharedClamp), name(kSharedDown),
                          f_.width, f_.family));
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
  SINTER_ASSIGN(const Choices choices, choose(inputs.routed));
  Value spread = graph::SpreadRowsOp::create(g_.b, g_.loc, choicesLike(choices.places, f_.width),
                                             inputs.rows, choices.places);
  Value weights = choices.weights;
  if (experts_.family.weighsInput) {
    spread = product(g_, spread, beside(weights, choices));
    weights = g_.map({weights}, [](ScalarBuilder &s, ValueRange) { return s.number(1); });
  }
  SINTER_ASSIGN(Value hidden, hiddenRows(spread, choices));
  SINTER_ASSIGN(Value results, multiply(hidden, kExpertDowns, f_.width, choices));
  Value sum = graph::CombineRowsOp::create(g_.b, g_.loc, g_.rowsLike(inputs.rows, f_.width),
                                           results, choices.places, weights);
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
