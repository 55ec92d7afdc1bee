// Decoder-only language models as features: what distinguishes one from another, read from metadata
// and checked.
#pragma once

#include "models/decoder_family.h"
#include "models/expert_features.h"
#include "models/model_source.h"
#include "models/rope_scaling.h"

namespace sinter::models {

// Of models whose layers are two stacks in turns: the low one runs several times, then the high one.
enum class Stack : uint8_t { None, Low, High };

// What mixes the rows of a sequence. All but attention have a state of each sequence.
enum class Mixer : uint8_t { Attention, ShortConv, DeltaNet };

// Of layers with a state.
struct RecurrentFeatures {
  int64_t convWidth = 0;                  // rows that a convolution is over
  int64_t keyHeads = 0, valueHeads = 0;   // of a delta net
  int64_t keyDim = 0, valueDim = 0;       // elements of their heads
};

// One layer of the step, in its order.
struct LayerFeatures {
  int64_t block = 0;           // of its tensors' names
  Mixer mixer = Mixer::Attention;
  int64_t heads = 0;           // 0: no attention
  int64_t kvHeads = 0;         // 0 with heads: one matrix stands for attention
  int64_t headDim = 0;         // of queries and keys
  int64_t valueDim = 0;        // of values
  int64_t ropeDims = 0;        // of a head, the first ones; 0: queries and keys do not rotate
  int64_t feedForward = 0;     // elements of the hidden row; 0: no feed-forward
  LayerExperts experts;
  int64_t window = 0;          // keys that a token sees; 0: all
  int64_t chunk = 0;           // it sees keys from the last multiple of this on; 0: all
  bool windowed = false;       // of the kind that may have a window
  int64_t kvOf = -1;           // the layer whose keys and values it reads; -1: its own
  bool normsResult = false;    // the output norm follows, as before the stack runs again
  Stack stack = Stack::None;
  bool beginsStack = false;    // it reads the sum of both stacks' last results
  struct {
    float alphaNegative = 0, alphaPositive = 0, beta = 0, epsilon = 0;
  } xielu;

  bool attends() const { return heads > 0 && kvHeads > 0; }
  bool hasState() const { return mixer != Mixer::Attention; }
};

// The frequencies of one kind of layers.
struct RopeFeatures {
  float base = 10000;
  RopeScaling scaling;
};

struct DecoderFeatures {
  DecoderFamily family;
  std::vector<LayerFeatures> layers; // at least one; the last one has a feed-forward
  int64_t blocks = 0;                // of the file, those that predict further tokens too
  int64_t width = 0;                 // elements of a token's row
  int64_t heads = 0, kvHeads = 0;    // the most of any layer
  int64_t headDim = 0, ropeDims = 0; // of layers without a window
  int64_t contextLength = 0;         // positions that the model was made for
  int64_t vocabulary = 0;
  ExpertFeatures experts;
  float normEps = 0, qkNormEps = 0;
  Rotation rotation = Rotation::None;
  RopeFeatures rope, windowRope;
  RecurrentFeatures recurrent;
  std::vector<int64_t> sections; // pairs of each axis; empty: one axis
  bool bothWays = false; // each token sees all of its text
  bool parallel = false;
  bool normsAfter = false; // the norms before blocks are after them
  float alibi = 0, clampQkv = 0;
  float attentionScale = 0; // of scores; 0: 1 / sqrt(head size)
  float valueScale = 1;     // of attention's result
  float attentionSoftCap = 0, logitSoftCap = 0;
  float embeddingScale = 1, residualScale = 1, logitScale = 1;
  int64_t perLayerWidth = 0; // of an embedding for each layer; 0: none
  // Of queries: 1 + scale * ln(1 + floor((position + offset) / length)).
  struct {
    float scale = 0, offset = 0, length = 1;
  } positions;
  bool tiedOutput = false; // the embedding is the output matrix too
  bool givesLogits() const { return !family.encoder && !bothWays; }
  // Keys that change what other decoders compute and have no meaning for this one, as it has none
  // for the reference implementation: "'KEY' is VALUE".
  std::vector<std::string> unusedKeys;

  // Keys and values of layers with a window or chunks are a group of their own
  // (contract::kKvGroups) where some layer sees more and steps go on where earlier ones ended.
  bool hasWindowGroup() const;
  size_t kvGroupOf(const LayerFeatures &layer) const {
    return hasWindowGroup() && looksBackLess(layer);
  }

  bool hasStates() const;
  // Bytes of a sequence's states in all layers.
  int64_t stateBytes() const;

private:
  // Whether its window or chunk hides any key of the context.
  bool looksBackLess(const LayerFeatures &layer) const {
    const int64_t seen = std::max(layer.window, layer.chunk);
    return seen > 0 && seen < contextLength;
  }
};

// Unsupported: an architecture or a feature that no family here has. NotFound and Corrupt: a key is
// missing, or its value is not one that a model can have. Each message names the key, what was
// found and what was expected. Tensors are not checked but for the embedding's number of rows,
// which is the vocabulary.
Result<DecoderFeatures> readDecoder(const ModelSource &source);

} // namespace sinter::models
