// Each difference between what Ollama's converter and llama.cpp's write, a row for each.
//
// Sources: Ollama's repository at fb30760, convert/ (what it writes now) and llama/compat/ (what
// files have that were published before). Tensors of images and sounds in the same file ("v.*",
// "mm.*", "a.*") need no row: text does without them.
#include "format/ollama_dialect.h"

namespace sinter {
namespace {

using enum DialectChange;
using enum DialectMarker;

constexpr DialectRow kRows[] = {
    // Written as gpt-oss today.
    {"gptoss", SizeOfTensor, "expert_feed_forward_length", "blk.0.ffn_gate_exps.weight"},
    {"gptoss", DefaultText, "rope.scaling.type", "yarn"},
    {"gptoss", Text, "tokenizer.ggml.pre", "gpt-4o"},
    {"gptoss", TensorEnd, ".attn_out.weight", ".attn_output.weight"},
    {"gptoss", TensorEnd, ".attn_out.bias", ".attn_output.bias"},
    {"gptoss", TensorEnd, ".attn_sinks", ".attn_sinks.weight"},
    {"gptoss", TensorEnd, ".ffn_norm.weight", ".post_attention_norm.weight"},
    {"gptoss", Architecture, "", "gpt-oss"},

    {"gemma3", Key, "rope.global.freq_base", "rope.freq_base"},
    {"gemma3", Key, "rope.local.freq_base", "rope.freq_base_swa"},
    {"gemma3", DefaultNumber, "attention.layer_norm_rms_epsilon", "1e-6"},
    {"gemma3", DefaultNumber, "rope.freq_base_swa", "10000"},
    // Of 4 billion parameters and more, which are those that see.
    {"gemma3", DefaultNumber, "rope.freq_base", "1000000", HasTensor, "v."},
    {"gemma3", DefaultNumber, "rope.scaling.factor", "8", HasTensor, "v."},
    {"gemma3", DefaultText, "rope.scaling.type", "linear", HasTensor, "v."},
    {"gemma3", CutToEmbedding, "tokenizer.ggml.tokens", ""},
    {"gemma3", CutToEmbedding, "tokenizer.ggml.scores", ""},
    {"gemma3", CutToEmbedding, "tokenizer.ggml.token_type", ""},
    // A model of embeddings by its two dense layers.
    {"gemma3", TensorEnd, "dense.0.weight", "dense_2.weight", HasTensor, "dense.0.weight"},
    {"gemma3", TensorEnd, "dense.1.weight", "dense_3.weight", HasTensor, "dense_2.weight"},
    {"gemma3", TensorEnd, "norm.weight", "output_norm.weight", HasTensor, "dense_2.weight"},
    {"gemma3", Architecture, "", "gemma-embedding", HasTensor, "dense_2.weight"},

    {"gemma4", TextInPlace, "tokenizer.ggml.model", "gemma4", None, "llama"},
    {"gemma4", TensorEnd, ".ffn_gate_inp.per_expert_scale", ".ffn_down_exps.scale"},

    {"lfm2", SizeOfTensor, "feed_forward_length", "blk.0.ffn_gate.weight", LacksTensor,
     "token_embd_norm.weight"},
    {"lfm2", Text, "tokenizer.ggml.pre", "lfm2", LacksTensor, "token_embd_norm.weight"},
    {"lfm2", TensorEnd, "output_norm.weight", "token_embd_norm.weight", LacksTensor,
     "token_embd_norm.weight"},

    {"olmo3", Architecture, "", "olmo2"},

    {"mistral3", Key, "rope.scaling.beta_fast", "rope.scaling.yarn_beta_fast"},
    {"mistral3", Key, "rope.scaling.beta_slow", "rope.scaling.yarn_beta_slow"},
    {"mistral3", Key, "rope.scaling.mscale_all_dim", "rope.scaling.yarn_log_multiplier"},
    {"mistral3", Key, "rope.scaling_beta", "attention.temperature_scale"},
    {"mistral3", TextInPlace, "tokenizer.ggml.pre", "tekken", None, "|default"},

    {"qwen35|qwen35moe|qwen3next", Largest, "attention.head_count_kv", ""},
    {"qwen35|qwen35moe|qwen3next", TensorEnd, ".ssm_dt", ".ssm_dt.bias"},
    {"qwen35|qwen35moe", FourSections, "rope.dimension_sections", "rope.dimension_sections"},

    {"qwen25vl", FourSections, "rope.mrope_section", "rope.dimension_sections"},
    {"qwen25vl", Architecture, "", "qwen2vl"},
    {"qwen3vl|qwen3vlmoe", FourSections, "rope.mrope_section", "rope.dimension_sections"},
    {"qwen3vl|qwen3vlmoe", ListLength, "n_deepstack_layers", "vision.deepstack_visual_indexes"},

    {"laguna", Key, "rope.swa.dimension_count", "rope.dimension_count_swa"},
    {"laguna", Key, "rope.swa.freq_base", "rope.freq_base_swa"},
    {"laguna", TensorEnd, ".attn_g.weight", ".attn_gate.weight"},

    {"llama", TextInPlace, "tokenizer.ggml.pre", "llama-bpe", HasLlama3Token, "|default"},
};

} // namespace

std::span<const DialectRow> ollamaDialect() {
  return kRows;
}

} // namespace sinter
