// The names of a decoder's tensors in model files.
#pragma once

#include <string>
#include <string_view>

namespace sinter::models {

inline constexpr std::string_view kTokenEmbedding = "token_embd.weight";
inline constexpr std::string_view kEmbeddingNorm = "token_embd_norm";
inline constexpr std::string_view kPositionEmbedding = "position_embd.weight";
inline constexpr std::string_view kTokenTypes = "token_types.weight";
inline constexpr std::string_view kOutputNorm = "output_norm";
inline constexpr std::string_view kOutputName = "output";
inline constexpr std::string_view kOutput = "output.weight";
// What divides pairs' frequencies: always, or in contexts beyond that of training and within it.
inline constexpr std::string_view kRopeDivisors = "rope_freqs.weight";
inline constexpr std::string_view kLongRopeDivisors = "rope_factors_long.weight";
inline constexpr std::string_view kShortRopeDivisors = "rope_factors_short.weight";

inline constexpr std::string_view kAttentionNorm = "attn_norm";
inline constexpr std::string_view kSecondAttentionNorm = "attn_norm_2";   // then attention reads it
inline constexpr std::string_view kAttentionSumNorm = "attn_output_norm"; // of sums
inline constexpr std::string_view kLayerSumNorm = "layer_output_norm";
inline constexpr std::string_view kAttentionSubNorm = "attn_sub_norm";
inline constexpr std::string_view kQuery = "attn_q";
inline constexpr std::string_view kKey = "attn_k";
inline constexpr std::string_view kValue = "attn_v";
inline constexpr std::string_view kQkv = "attn_qkv"; // queries, keys, values
inline constexpr std::string_view kQueryNorm = "attn_q_norm";
inline constexpr std::string_view kKeyNorm = "attn_k_norm";
inline constexpr std::string_view kAttentionGate = "attn_gate"; // of each element or each head
inline constexpr std::string_view kAttentionSinks = "attn_sinks";
inline constexpr std::string_view kShortConvIn = "shortconv.in_proj"; // gate, gate after it, rows
inline constexpr std::string_view kShortConv = "shortconv.conv";
inline constexpr std::string_view kShortConvOut = "shortconv.out_proj";
inline constexpr std::string_view kDeltaConv = "ssm_conv1d"; // over queries, keys, values
inline constexpr std::string_view kDeltaBeta = "ssm_beta";
inline constexpr std::string_view kDeltaBetaAlpha = "ssm_ba"; // both, by key head
inline constexpr std::string_view kDeltaIn = "ssm_in"; // queries, keys, values, gates, by key head
inline constexpr std::string_view kDeltaAlpha = "ssm_alpha"; // what decays follow from
inline constexpr std::string_view kDeltaStep = "ssm_dt.bias";
inline constexpr std::string_view kDeltaRate = "ssm_a";
inline constexpr std::string_view kDeltaNorm = "ssm_norm";
inline constexpr std::string_view kDeltaOut = "ssm_out";
inline constexpr std::string_view kAttentionOutput = "attn_output";
inline constexpr std::string_view kFeedForwardPostNorm = "post_ffw_norm";
inline constexpr std::string_view kFeedForwardSubNorm = "ffn_sub_norm";
inline constexpr std::string_view kGate = "ffn_gate";
inline constexpr std::string_view kUp = "ffn_up";
inline constexpr std::string_view kDown = "ffn_down";
inline constexpr std::string_view kActivationScales = "ffn.act"; // which divide the activations

inline constexpr std::string_view kRouter = "ffn_gate_inp"; // its scale is of what it reads
inline constexpr std::string_view kChoiceBias = "exp_probs_b";
inline constexpr std::string_view kExpertGates = "ffn_gate_exps";
inline constexpr std::string_view kExpertUps = "ffn_up_exps";
inline constexpr std::string_view kExpertGatesAndUps = "ffn_gate_up_exps";
inline constexpr std::string_view kExpertDowns = "ffn_down_exps";
inline constexpr std::string_view kChunkGates = "ffn_gate_chexps";
inline constexpr std::string_view kChunkUps = "ffn_up_chexps";
inline constexpr std::string_view kChunkDowns = "ffn_down_chexps";
inline constexpr std::string_view kExpertNorm = "ffn_norm_exps"; // of a layer's input
inline constexpr std::string_view kSharedGate = "ffn_gate_shexp";
inline constexpr std::string_view kSharedUp = "ffn_up_shexp";
inline constexpr std::string_view kSharedDown = "ffn_down_shexp";
inline constexpr std::string_view kSharedRouter = "ffn_gate_inp_shexp";
// Beside a feed-forward without experts: norms of its result, of what experts read and give.
inline constexpr std::string_view kDensePostNorm = "post_ffw_norm_1";
inline constexpr std::string_view kExpertPreNorm = "pre_ffw_norm_2";
inline constexpr std::string_view kExpertPostNorm = "post_ffw_norm_2";

// Of the embedding that is added again, or of a layer's result.
inline constexpr std::string_view kLayerScale = "layer_output_scale";

// Embeddings for each layer: of the token, and projected from the embedding of all layers.
inline constexpr std::string_view kLayerEmbedding = "per_layer_token_embd.weight";
inline constexpr std::string_view kLayerProjection = "per_layer_model_proj.weight";
inline constexpr std::string_view kLayerProjectionNorm = "per_layer_proj_norm";
inline constexpr std::string_view kLayerInputGate = "inp_gate";
inline constexpr std::string_view kLayerInputProjection = "proj";
inline constexpr std::string_view kLayerInputNorm = "post_norm";

// Streams: matrices from one to the others and back, and each layer's coefficients.
inline constexpr std::string_view kStreamProjection = "altup_proj.weight";
inline constexpr std::string_view kStreamUnprojection = "altup_unembd_proj.weight";
inline constexpr std::string_view kStreamRouter = "altup_router";
inline constexpr std::string_view kStreamRouterNorm = "altup_router_norm";
inline constexpr std::string_view kStreamPrediction = "altup_predict_coef";
inline constexpr std::string_view kStreamCorrection = "altup_correct_coef";
inline constexpr std::string_view kStreamScale = "altup_correct_scale";
inline constexpr std::string_view kLaurelLeft = "laurel_l"; // a residual of low rank
inline constexpr std::string_view kLaurelRight = "laurel_r";
inline constexpr std::string_view kLaurelNorm = "laurel_post_norm";

inline constexpr std::string_view kLowStackStart = "hrm.z_l_init"; // of two stacks in turns

// "blk.3.attn_q"
inline std::string layerName(int64_t layer, std::string_view part) {
  return "blk." + std::to_string(layer) + "." + std::string(part);
}

} // namespace sinter::models
