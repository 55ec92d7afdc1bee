// What an architecture's name alone decides of its experts: one row of a table for each.
#pragma once

#include "graph/graph.h"

#include <cstdint>
#include <string_view>

namespace sinter::models {

// How many elements an expert's hidden row has where the file does not say
// (expert_feed_forward_length): it must, its share of feed_forward_length, or that whole; Whole:
// that, whatever the file says.
enum class ExpertHidden : uint8_t { Required, Shared, OptionalWhole, Whole };

// expert_weights_norm decides, and is false where the file has none.
enum class Normalized : uint8_t { No, Yes, ByKey };

// An expert that all tokens pass, and the elements of its hidden row.
enum class SharedExpert : uint8_t {
  None,
  Count,          // expert_shared_count times an expert's hidden row
  Length,         // expert_shared_feed_forward_length or feed_forward_length
  OptionalLength, // the former where it is there; else there is none
  LengthOrCount,  // the former or as Count; none where the count is 0
  LengthOrOne,    // the former or an expert's hidden row
  One,            // an expert's hidden row
};

// What the router reads: what the experts read, the layer's input, or the sum that the feed-forward
// reads before its norm, with a norm of the router's own.
enum class RouterInput : uint8_t { Rows, LayerInput, OwnNorm };

// A feed-forward without experts beside them.
enum class DenseBeside : uint8_t {
  None,
  Optional, // where the file has one: the sum of both times the root of 1/2
  Residual, // as wide as the model; experts read the layer's input by a norm of their own
  OwnNorms, // norms of its result, and of what experts read and give
};

enum class ExpertActivation : uint8_t {
  Family, // that of the family's feed-forward
  Relu,
  ClampedSilu, // of gate below 7, with factor 1.702 in the sigmoid, times up in [-7, 7] plus 1
};

struct ExpertFamily {
  std::string_view architecture;
  bool optional = false; // models without expert_count have none
  graph::RouterKind router = graph::RouterKind::Softmax;
  bool routerByKey = false; // expert_gating_func
  bool byLogits = false;    // which choose experts, not the scores
  RouterInput routerInput = RouterInput::Rows;
  Normalized normalized = Normalized::Yes;
  bool scaled = false;       // expert_weights_scale
  bool leadingDense = false; // leading_dense_block_count layers have no experts
  bool byStep = false;       // of interleave_moe_layer_step layers the last one has experts
  bool second = false;       // of moe_every_n_layers layers the second one has experts
  bool byTensor = false;     // layers with a router's matrix have experts
  bool gated = true;         // else experts have no gates
  bool weighsInput = false;  // weights are of what experts read, not of what they give
  bool clamped = false;      // swiglu_clamp_exp and swiglu_clamp_shexp, for each layer
  ExpertHidden hidden = ExpertHidden::Whole;
  SharedExpert shared = SharedExpert::None;
  int64_t sharedCount = 0; // where the file has no expert_shared_count and need not
  bool sharedMean = false; // the mean of both instead of their sum
  DenseBeside beside = DenseBeside::None;
  bool chunks = false;     // experts_per_group experts share one more, which reads their sum
  bool sharedGate = false; // a sigmoid of the token's row scales the shared expert
  ExpertActivation activation = ExpertActivation::Family;
};

// Null: no family of that name has experts.
const ExpertFamily *findExpertFamily(std::string_view architecture);

} // namespace sinter::models
