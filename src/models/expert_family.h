// What an architecture's name alone decides of its experts: one row of a table for each.
#pragma once

#include "graph/graph.h"

#include <cstdint>
#include <string_view>

namespace sinter::models {

// How many elements an expert's hidden row has where the file does not say
// (expert_feed_forward_length): it must, its share of feed_forward_length, or that whole.
enum class ExpertHidden : uint8_t { Required, Shared, Whole };

// expert_weights_norm decides, and is false where the file has none.
enum class Normalized : uint8_t { No, Yes, ByKey };

// An expert that all tokens pass: of expert_shared_count times an expert's hidden row, of
// expert_shared_feed_forward_length or feed_forward_length, or of the former where it is there.
enum class SharedExpert : uint8_t { None, Count, Length, OptionalLength };

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
  Normalized normalized = Normalized::Yes;
  bool scaled = false;       // expert_weights_scale
  bool leadingDense = false; // leading_dense_block_count layers have no experts
  bool byStep = false;       // of interleave_moe_layer_step layers the last one has experts
  bool second = false;       // of moe_every_n_layers layers the second one has experts
  bool gated = true;         // else experts have no gates
  ExpertHidden hidden = ExpertHidden::Whole;
  SharedExpert shared = SharedExpert::None;
  bool sharedGate = false; // a sigmoid of the token's row scales the shared expert
  ExpertActivation activation = ExpertActivation::Family;
};

// Null: no family of that name has experts.
const ExpertFamily *findExpertFamily(std::string_view architecture);

} // namespace sinter::models
