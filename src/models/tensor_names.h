// The names of a decoder's tensors in model files.
#pragma once

#include <string>
#include <string_view>

namespace sinter::models {

inline constexpr std::string_view kTokenEmbedding = "token_embd.weight";
inline constexpr std::string_view kOutputNorm = "output_norm.weight";
inline constexpr std::string_view kOutput = "output.weight";
inline constexpr std::string_view kRopeDivisors = "rope_freqs.weight"; // of pairs' frequencies

inline constexpr std::string_view kAttentionNorm = "attn_norm";
inline constexpr std::string_view kQuery = "attn_q";
inline constexpr std::string_view kKey = "attn_k";
inline constexpr std::string_view kValue = "attn_v";
inline constexpr std::string_view kQueryNorm = "attn_q_norm"; // of each head
inline constexpr std::string_view kKeyNorm = "attn_k_norm";
inline constexpr std::string_view kAttentionOutput = "attn_output";
inline constexpr std::string_view kFeedForwardNorm = "ffn_norm";
inline constexpr std::string_view kGate = "ffn_gate";
inline constexpr std::string_view kUp = "ffn_up";
inline constexpr std::string_view kDown = "ffn_down";

inline std::string layerTensor(int64_t layer, std::string_view part,
                               std::string_view kind = "weight") {
  return "blk." + std::to_string(layer) + "." + std::string(part) + "." + std::string(kind);
}

} // namespace sinter::models
