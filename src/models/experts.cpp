// A router, matmuls of the rows that chose each expert, and the sum of their results.
#include "tile/mlir_pch.h"

#include "graph/ir/extent.h"
#include "models/experts.h"
#include "models/tensor_names.h"

using namespace mlir;

namespace sinter::models {
namespace {

constexpr std::string_view kRouter = "ffn_gate_inp", kChoiceBias = "exp_probs_b";
constexpr std::string_view kGates = "ffn_gate_exps", kUps = "ffn_up_exps",
                           kGatesAndUps = "ffn_gate_up_exps", kDowns = "ffn_down_exps";
constexpr std::string_view kSharedGate = "ffn_gate_shexp", kSharedUp = "ffn_up_shexp",
                           kSharedDown = "ffn_down_shexp", kSharedRouter = "ffn_gate_inp_shexp";

class ExpertBuilder {
public:
  ExpertBuilder(GraphBuilder &g, const DecoderFeatures &f, const LayerFeatures &layer)
      : g_(g), f_(f), layer_(layer), experts_(f.experts) {}

  Result<Value> build(Value rows);

private:
  // Where the choices of the rows lie.
  struct Choices {
    Value weights, places, groups;
  };

  std::string name(std::string_view part) const { return layerName(layer_.block, part); }
  Result<Choices> choose(Value rows);
  RankedTensorType choicesLike(Value places, int64_t columns);
  Result<Value> multiply(Value rows, std::string_view part, int64_t columns,
                         const Choices &choices);
  Result<Value> hiddenRows(Value spread, const Choices &choices);
  Result<Value> shared(Value rows);
  Value activated(Value gate, Value up);

  GraphBuilder &g_;
  const DecoderFeatures &f_;
  const LayerFeatures &layer_;
  const ExpertFeatures &experts_;
};

} // namespace

static Value activation(ScalarBuilder &s, const DecoderFeatures &f, Value gate, Value up) {
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
  return s.mul(f.family.activation == Activation::Gelu ? s.gelu(gate) : s.silu(gate), up);
}

Value ExpertBuilder::activated(Value gate, Value up) {
  return g_.map({gate, up},
                [&](ScalarBuilder &s, ValueRange v) { return activation(s, f_, v[0], v[1]); });
}

// ---- choices ----

Result<ExpertBuilder::Choices> ExpertBuilder::choose(Value rows) {
  SINTER_ASSIGN(Value logits, g_.linear(rows, name(kRouter), experts_.count, f_.family));
  SINTER_ASSIGN(Value bias, g_.optionalWeight(name(kChoiceBias) + ".bias", {experts_.count}));
  StringRef symbol = graph::symbolOf(cast<RankedTensorType>(rows.getType()), 0);
  OpBuilder &b = g_.b;
  auto type = [&](Type element) { return graph::tensorOf({symbol, layer_.experts.used}, element); };
  auto route = graph::RouteOp::create(
      b, g_.loc, type(b.getF32Type()), type(b.getI32Type()), experts_.router, logits, bias,
      static_cast<uint64_t>(experts_.groups), static_cast<uint64_t>(experts_.usedGroups),
      /*by_logits=*/false, experts_.normalized, llvm::APFloat(experts_.scale));
  auto group = graph::GroupRowsOp::create(
      b, g_.loc, type(b.getI32Type()), RankedTensorType::get({experts_.count, 3}, b.getI32Type()),
      route.getExperts());
  return Choices{route.getWeights(), group.getPlaces(), group.getGroups()};
}

// A row for each choice.
RankedTensorType ExpertBuilder::choicesLike(Value places, int64_t columns) {
  const auto rows = graph::SymbolicExtent::of(cast<RankedTensorType>(places.getType()), 0);
  const std::string symbol = rows.times(layer_.experts.used)->text();
  return graph::tensorOf({StringRef(symbol), columns}, g_.b.getF32Type());
}

// ---- matmuls ----

// By each expert's matrix of `part`.weight [experts, columns, K], plus its `part`.bias where there
// is one.
Result<Value> ExpertBuilder::multiply(Value rows, std::string_view part, int64_t columns,
                                      const Choices &choices) {
  const int64_t depth = cast<RankedTensorType>(rows.getType()).getDimSize(1);
  SINTER_ASSIGN(Value matrices,
                g_.weight(name(part) + ".weight", {experts_.count, columns, depth}));
  SINTER_ASSIGN(Value bias, g_.optionalWeight(name(part) + ".bias", {experts_.count, columns}));
  if (bias && !getElementTypeOrSelf(bias.getType()).isF32())
    return fail(Code::Unsupported, "tensor '" + name(part) + ".bias' is not of type F32");
  Value result = graph::GroupedDotOp::create(g_.b, g_.loc, choicesLike(choices.places, columns),
                                             rows, matrices, choices.groups, bias,
                                             static_cast<uint64_t>(layer_.experts.used));
  return result;
}

Result<Value> ExpertBuilder::hiddenRows(Value spread, const Choices &choices) {
  const int64_t hidden = layer_.experts.hidden;
  Value gate, up;
  if (!experts_.family.gated) {
    SINTER_ASSIGN(up, multiply(spread, kUps, hidden, choices));
    return g_.map({up}, [&](ScalarBuilder &s, ValueRange v) {
      return f_.family.activation == Activation::Gelu ? s.gelu(v[0]) : s.silu(v[0]);
    });
  }
  if (g_.has(name(kGatesAndUps) + ".weight")) {
    SINTER_ASSIGN(Value both, multiply(spread, kGatesAndUps, 2 * hidden, choices));
    gate = g_.columns(both, 0, hidden);
    up = g_.columns(both, hidden, hidden);
  } else {
    SINTER_ASSIGN(gate, multiply(spread, kGates, hidden, choices));
    SINTER_ASSIGN(up, multiply(spread, kUps, hidden, choices));
  }
  return activated(gate, up);
}

// What all tokens pass.
Result<Value> ExpertBuilder::shared(Value rows) {
  const int64_t hidden = experts_.sharedHidden;
  SINTER_ASSIGN(Value gate, g_.linear(rows, name(kSharedGate), hidden, f_.family));
  SINTER_ASSIGN(Value up, g_.linear(rows, name(kSharedUp), hidden, f_.family));
  SINTER_ASSIGN(Value result,
                g_.linear(activated(gate, up), name(kSharedDown), f_.width, f_.family));
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

Result<Value> ExpertBuilder::build(Value rows) {
  Value beside;
  if (experts_.sharedHidden) {
    SINTER_ASSIGN(beside, shared(rows));
  }
  SINTER_ASSIGN(const Choices choices, choose(rows));
  auto spread = graph::SpreadRowsOp::create(g_.b, g_.loc, choicesLike(choices.places, f_.width),
                                            rows, choices.places);
  SINTER_ASSIGN(Value hidden, hiddenRows(spread, choices));
  SINTER_ASSIGN(Value results, multiply(hidden, kDowns, f_.width, choices));
  Value sum = graph::CombineRowsOp::create(g_.b, g_.loc, g_.rowsLike(rows, f_.width), results,
                                           choices.places, choices.weights);
  return beside ? g_.add(sum, beside) : sum;
}

Result<Value> buildExperts(GraphBuilder &builder, const DecoderFeatures &features,
                           const LayerFeatures &layer, Value rows) {
  return ExpertBuilder(builder, features, layer).build(rows);
}

} // namespace sinter::models
