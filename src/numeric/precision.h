// What a model's plan may round beside its weights, and what it gives, as options and plans name it.
#pragma once

#include "numeric/formats/kv_type.h"

#include <optional>

namespace sinter {

// Rows of activations where they meet weights: as is fastest on the target, or never rounded.
enum class Activations { Fastest, F32 };
inline constexpr std::string_view kDefaultActivations = "fastest";

// "fastest", "f32"; nothing where the name is neither.
std::optional<Activations> findActivations(std::string_view name);
// "fastest, f32"
std::string activationsNames();

// Rows that a step gives: by default logits of models that have any, else these.
inline constexpr std::string_view kEmbeddingsOutput = "embeddings";

// By name; what is empty was not asked for.
struct Precision {
  std::string kvType; // numeric/formats/kv_type.h
  std::string activations;
  std::string output = {}; // empty or kEmbeddingsOutput

  std::string kvTypeOrDefault() const {
    return kvType.empty() ? std::string(kDefaultKvType) : kvType;
  }
  std::string activationsOrDefault() const {
    return activations.empty() ? std::string(kDefaultActivations) : activations;
  }
};

} // namespace sinter
