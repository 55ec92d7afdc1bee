// What an architecture's name alone decides of a decoder: one row of a table for each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::models {

enum class Rotation : uint8_t { None, Neighbours, Halves };

// Rms: over the root mean square; Layer: to mean 0 and variance 1.
enum class NormKind : uint8_t { Rms, Layer };

// Before a block, of what it adds (After), both (Around), or of what it adds and read (OfSum).
enum class NormPlace : uint8_t { Before, After, Around, OfSum };

// Whether attention and feed-forward read the same rows and are added together.
enum class Parallel : uint8_t {
  No,
  Yes,
  ByKey,          // use_parallel_residual
  WithoutFfnNorm, // where the layer has no norm of its own for the feed-forward
};

// Norms of queries and keys: with one weight for every head, with a weight of each head's own, of
// the whole row, with a gain of each query head and none for keys, or without any in layers that
// rotate.
enum class QkNorm : uint8_t { None, Heads, OwnHeads, Rows, Gains, Bare };

enum class Activation : uint8_t { Silu, Gelu, Relu2, Xielu };

// Gated: activation(gate) * up, of two matrices or of one that holds both, gate first.
enum class Gating : uint8_t {
  None,
  Gated,
  Fused,
  ByTensors, // whichever of these the tensors are
};

// Layers with a state of each sequence instead of keys and values: those without key heads, or all
// but the last of each full_attention_interval unless the file has a list.
enum class Recurrence : uint8_t { None, ShortConv, DeltaNet };

// Which layers rotate queries and keys.
enum class RotatedLayers : uint8_t {
  All,
  Windowed,       // those with a window, where any has one
  WindowedOrDense, // the same and those without experts
  ThreeOfFour,    // all but every fourth
  ByPattern,      // attention.rope_pattern
  UnlessDisabled, // rope.scaling.finetuned false: none
};

// Frequencies of windowed layers: those of the others, or of a base of their own with or without
// the others' scaling.
enum class WindowRotation : uint8_t { Same, Scaled, Plain };

// Whether attention.sliding_window may be absent, or 0 for none.
enum class WindowRule : uint8_t { None, Optional, Required, NeverNone };

// Of queries, more the later their position: by attention.temperature_scale, or by constants in
// layers that do not rotate.
enum class PositionScale : uint8_t { None, Key, Unrotated };

// What attention's result is multiplied by: a function of attn_gate.
enum class AttentionGate : uint8_t { None, Sigmoid, Softplus };

enum class LogitScale : uint8_t { None, Multiplies, Divides };

enum class EmbeddingScale : uint8_t { None, RootOfWidth, Key };

enum class EmbeddingNorm : uint8_t { None, Weighted, Plain };

struct DecoderFamily {
  std::string_view architecture; // general.architecture, and the prefix of its keys
  Rotation rotation = Rotation::Neighbours;
  RotatedLayers rotated = RotatedLayers::All;
  int64_t rotatedDepth = 0; // only models of so many layers rotate; 0: all
  int64_t unwindowedDivisor = 1; // of rope.dimension_count in layers without a window
  float yarnFastTurns = 32;      // rope.scaling.yarn_beta_fast's default
  float fixedRopeBase = 0;  // whatever the file says; 0: the file's
  bool sections = false;    // rope.dimension_sections: RoPE of several axes, which are alike in text
  bool interleaved = false; // the axes' pairs take turns
  bool alphaScaling = false; // rope.scaling.alpha raises the base

  // Each token sees all of its text, where attention.causal does not say otherwise, and rows of the
  // last layer are what the model gives: there are no logits.
  bool encoder = false;

  NormKind norm = NormKind::Rms;
  bool normKindByKey = false; // whichever of the epsilons the file has: that of Rms first
  bool normWeights = true;
  NormPlace place = NormPlace::Before;
  bool placeByKey = false;    // swin_norm: after
  float postNormEpsilon = 0;  // of norms of what a block adds; 0: the others'
  std::string_view ffnNorm = "ffn_norm";
  std::string_view attentionPostNorm = "post_attention_norm";
  std::string_view ffnPostNorm = "post_ffw_norm"; // which counts where the file has no other
  std::string_view outputNorm = "output_norm"; // empty: none
  bool firstNormOptional = false;              // of the first layer's attention
  EmbeddingNorm embeddingNorm = EmbeddingNorm::None;
  Parallel parallel = Parallel::No;

  QkNorm qkNorm = QkNorm::None;
  NormKind qkNormKind = NormKind::Rms;
  bool qkNormAfterRope = false;
  bool qkNormOptional = false;
  int64_t qkNormlessExperts = 0; // models of so many experts have none

  Activation activation = Activation::Silu;
  bool activationByKey = false; // hidden_activation
  Gating gating = Gating::Gated;
  int64_t hiddenDivisor = 1; // of feed_forward_length

  bool learnedPositions = false, learnedPositionsOptional = false;
  bool tokenTypes = false; // an embedding that all tokens of one text share, where the file has it
  float alibi = 0;        // the largest slope's exponent
  bool alibiByKey = false; // attention.max_alibi_bias
  int64_t alibiDepth = 0; // only models of so many layers have it; 0: all
  bool clampsQkv = false; // attention.clamp_kqv
  bool sinks = false, sinksOptional = false; // optional: in each layer
  PositionScale positionScale = PositionScale::None;

  WindowRule window = WindowRule::None;
  int64_t windowDefault = 0;
  int64_t windowFixed = 0;    // of layers that have one, whatever the file says
  bool chunked = false;       // a token sees keys from the last multiple of the window on
  int64_t windowPattern = 0;  // every so many-th layer has none, where the file does not say
  int64_t windowedDepth = 0;  // only models of so many layers have windows; 0: all
  bool windowsFollow = false; // of each windowPattern layers the first has none, not the last
  bool symmetricWindow = false; // half of it to each side
  WindowRotation windowRotation = WindowRotation::Same;
  bool windowBaseByKey = false; // rope.freq_base_swa
  float windowBaseDefault = 0;  // where the file has none; 0: the others'
  float attentionSoftCap = 0;  // attn_logit_softcapping's default; 0: none
  float outputScaleDefault = 0; // attention.output_scale, of scores; 0: none
  bool valueScale = false;      // attention.value_scale, of attention's result
  bool logitSoftCap = false;   // final_logit_softcapping
  float logitSoftCapDefault = 0;

  bool attentionScaleByKey = false;    // attention.scale
  bool attentionScaleLinear = false;   // 1 / head size
  int64_t attentionScaleOfWidth = 0;   // models of so many layers: (width / heads)^-1/2
  EmbeddingScale embeddingScale = EmbeddingScale::None;
  float embeddingScaleDefault = 1;
  bool residualScale = false;
  LogitScale logitScale = LogitScale::None;
  float logitScaleDefault = 1;
  bool scalesByDepth = false; // defaults: embedding 12, residual 1.4 / sqrt(layers), logits

  bool attentionScaleOne = false;
  bool valueNorm = false;         // of each head of values, without a weight
  bool valuesOfKeys = false;      // keys' projections are values where there are none for these
  bool sharedKv = false;          // attention.shared_kv_layers
  bool perLayerEmbedding = false; // embedding_length_per_layer_input
  bool altup = false;             // several streams of rows, one of which layers work on
  int64_t ownKvLayers = 0;        // later layers read the keys of these; 0: all or as a key says
  int64_t sparseLayers = 0;       // whose gates are cut to about their largest twentieth
  bool outputScale = false;       // of a layer's result, where the file has one
  Recurrence recurrence = Recurrence::None;
  bool jointDelta = false;     // of a delta net: beta and alpha are of one matrix, by key head
  bool queryGate = false;      // each query head comes with a gate of attention's result
  AttentionGate attentionGate = AttentionGate::None;
  bool attentionGateOptional = false;
  bool embeddingSkip = false;  // the embedding is added again after each layer, times a weight
  bool subNorms = false;       // of attention's result and of the hidden row
  bool loops = false;          // num_loops
  bool cycles = false;         // hrm.*: two stacks of layers take turns
  bool tied = false;           // the embedding is the output matrix, whatever the file has
  int64_t firstImageToken = 0, endImageTokens = 0; // never expected
  // Parts of tensor names with '|' between ('*' stands for any text) that the reference
  // implementation loads and does not use either.
  std::string_view unused = "*.input_scale|*ffn_*.scale";
};

std::span<const DecoderFamily> decoderFamilies();
std::span<const DecoderFamily> encoderFamilies();
// Null: no family of either has this name.
const DecoderFamily *findDecoderFamily(std::string_view architecture);
// The names of all of them, sorted.
std::vector<std::string> architectures();

} // namespace sinter::models
