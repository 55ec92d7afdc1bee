// Decoder-only language models as features: what distinguishes one from another, read from metadata
// and checked.
#pragma once

#include "graph/graph.h"
#include "models/model_source.h"
#include "models/rope_scaling.h"

namespace sinter::models {

// What the architecture's name alone decides.
struct DecoderFamily {
  std::string_view architecture; // general.architecture, and the prefix of its keys
  graph::Pairing rope;
  bool qkvBias = false;   // queries, keys and values have biases
  bool headNorms = false; // heads of queries and of keys are normalized before RoPE
};

inline constexpr DecoderFamily kDecoderFamilies[] = {
    {.architecture = "llama", .rope = graph::Pairing::Neighbours},
    {.architecture = "qwen2", .rope = graph::Pairing::Halves, .qkvBias = true},
    {.architecture = "qwen3", .rope = graph::Pairing::Halves, .headNorms = true},
};

struct DecoderFeatures {
  DecoderFamily family;
  int64_t layers = 0;
  int64_t width = 0;       // elements of a token's row
  int64_t feedForward = 0; // elements of the hidden row
  int64_t heads = 0, kvHeads = 0, headDim = 0;
  int64_t ropeDims = 0;
  int64_t contextLength = 0; // positions that the model was made for
  int64_t vocabulary = 0;
  float ropeBase = 0, normEps = 0;
  RopeScaling ropeScaling;
  bool tiedOutput = false; // the embedding is the output matrix too
};

// Unsupported: an architecture or a feature that no family here has. NotFound and Corrupt: a key is
// missing, or its value is not one that a model can have. Each message names the key, what was
// found and what was expected. Unsupported too: a key that changes results (format/known_names.h)
// and is not read here has a value that is not neutral. Tensors are not checked but for the
// embedding's number of rows, which is the vocabulary.
Result<DecoderFeatures> readDecoder(const ModelSource &source);

} // namespace sinter::models
