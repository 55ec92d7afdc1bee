// Which type each tensor of a model gets when the model is quantised.
#pragma once

#include "format/gguf.h"

#include <optional>
#include <string>
#include <vector>

namespace sinter::host {

enum class LayerSet : uint8_t {
  All,
  FirstFour,
  FirstEighth,
  MoreBits, // the first and last eighth, and every third between
};

// Tensors whose names hold `part` get another type in these layers.
struct SchemeException {
  std::string_view part;
  LayerSet layers;
  TensorType type;
};

// What --type names: one type for all matrices, or a mix.
struct QuantizeScheme {
  std::string_view name;
  TensorType type;
  uint32_t fileType; // general.file_type as ggml numbers it
  std::span<const SchemeException> exceptions{};
};

// By name, in any case; null where there is none.
const QuantizeScheme *findScheme(std::string_view name);
// A type that rows can be fitted to, by name, in any case; null where there is none.
const BlockFormat *findFittedFormat(std::string_view name);
// All names, with commas between them.
std::string schemeNames();
std::string fittedFormatNames();

struct QuantizeTypes {
  const QuantizeScheme *scheme = nullptr;
  const BlockFormat *output = nullptr;    // of the output matrix; null: as the scheme says
  const BlockFormat *embedding = nullptr; // of the token embedding
};

struct TensorChoice {
  const BlockFormat *format;
  const BlockFormat *wanted; // what the rows did not fit, if anything
};

// One choice for each tensor, in their order. A tensor keeps its type if it has one dimension, is
// no weight, holds integers, or is of a kind that is small and sensitive (norms, routers,
// convolutions). Where rows are no whole blocks, a type of smaller blocks and no fewer bits stands
// in, F16 at last.
std::vector<TensorChoice> chooseTypes(const GgufFile &model, const QuantizeTypes &types);

} // namespace sinter::host
