// Each known key and tensor name, a row for each.
#include "format/known_names.h"

namespace sinter {
namespace {

constexpr NameEffect kHarmless = NameEffect::Harmless;
constexpr NameEffect kChanges = NameEffect::ChangesResults;

// Neutral values of numbers are those that llama.cpp takes for "not set", those that it writes for
// models without the feature, and those that multiply by one or count one.
constexpr KnownName kArchitectureKeys[] = {
    {"vocab_size", kChanges, "", "a vocabulary size"},
    {"context_length", kChanges, "", "a context length"},
    {"embedding_length", kChanges, "", "a width"},
    {"embedding_length_out", kChanges, "0", "an output row of another width"},
    {"embedding_length_per_layer_input", kChanges, "0", "embeddings for each layer"},
    {"features_length", kChanges, "", "rows of features as input"},
    {"block_count", kChanges, "", "a layer count"},
    {"leading_dense_block_count", kChanges, "0", "dense layers before those of experts"},
    {"feed_forward_length", kChanges, "", "a hidden width"},
    {"use_parallel_residual", kChanges, "false", "attention and feed-forward side by side"},
    {"hidden_activation", kChanges, "silu", "another activation"},
    {"activation.*", kChanges, "0|1", "another activation"},
    {"swiglu_clamp_exp", kChanges, "0", "a clamped SwiGLU"},
    {"swiglu_clamp_shexp", kChanges, "0", "a clamped SwiGLU"},
    {"tensor_data_layout", kHarmless},
    {"pooling_type", kHarmless}, // of embeddings, which a decoder's step does not give

    {"expert_count", kChanges, "0", "experts"},
    {"expert_used_count", kChanges, "0", "experts"},
    {"expert_feed_forward_length", kChanges, "0", "experts"},
    {"expert_shared_feed_forward_length", kChanges, "0", "shared experts"},
    {"expert_chunk_feed_forward_length", kChanges, "0", "chunk experts"},
    {"expert_shared_count", kChanges, "0", "shared experts"},
    {"expert_group_count", kChanges, "0|1", "groups of experts"},
    {"expert_group_used_count", kChanges, "0|1", "groups of experts"},
    {"expert_group_scale", kChanges, "0|1|0.05", "groups of experts"},
    {"expert_weights_scale", kChanges, "0|1", "a scale of expert weights"},
    {"expert_weights_norm", kChanges, "false", "renormalized expert weights"},
    {"expert_gating_func", kChanges, "0", "a router of experts"},
    {"expert_latent_length", kChanges, "0", "latent experts"},
    {"experts_per_group", kChanges, "0|1", "groups of experts"},
    {"moe_every_n_layers", kChanges, "0", "experts in some layers"},
    {"moe_latent_size", kChanges, "0", "latent experts"},
    {"interleave_moe_layer_step", kChanges, "0", "experts in some layers"},

    {"attention.head_count", kChanges, "", "a head count"},
    {"attention.head_count_kv", kChanges, "", "a head count"},
    {"attention.key_length", kChanges, "", "a head size"},
    {"attention.value_length", kChanges, "", "a head size"},
    {"attention.layer_norm_rms_epsilon", kChanges, "0", "an epsilon"},
    {"attention.layer_norm_epsilon", kHarmless}, // of a norm that the model has or has not
    {"attention.group_norm_epsilon", kHarmless},
    {"attention.group_norm_groups", kHarmless},
    {"attention.causal", kChanges, "true", "attention to later tokens"},
    {"attention.max_alibi_bias", kChanges, "0", "ALiBi"},
    {"attention.clamp_kqv", kChanges, "0", "clamped queries, keys and values"},
    {"attention.scale", kChanges, "0", "a scale of attention scores"},
    {"attention.output_scale", kChanges, "0|1", "a scale of attention's result"},
    {"attention.value_scale", kChanges, "0|1", "a scale of values"},
    {"attention.temperature_length", kChanges, "0", "queries scaled by position"},
    {"attention.temperature_scale", kChanges, "0", "queries scaled by position"},
    {"attention.sliding_window", kChanges, "0", "windowed attention"},
    {"attention.sliding_window_pattern", kChanges, "0|false", "windowed attention"},
    {"attention.key_length_swa", kHarmless},   // of layers with a window, which read it
    {"attention.value_length_swa", kHarmless}, // of layers with a window, which read it
    {"attention.rope_pattern", kChanges, "1|true", "layers without RoPE"},
    {"attention.relative_buckets_count", kChanges, "0", "relative position biases"},
    {"attention.*lora_rank*", kChanges, "0", "low-rank attention"},
    {"attention.*_mla*", kChanges, "0", "latent attention"},
    {"attention.indexer.*", kChanges, "0|true", "sparse attention"},
    {"attention.compress_*", kChanges, "0", "compressed attention"},
    {"attention.output_group_count", kChanges, "0|1", "groups of attention's result"},
    {"attention.shared_kv_layers", kChanges, "0", "layers that share keys and values"},
    {"attention.recurrent_layers", kChanges, "0|false", "recurrent layers"},
    {"full_attention_interval", kChanges, "0|1", "linear attention"},
    {"attn_logit_softcapping", kChanges, "0|50", "a soft cap of attention scores"},
    {"router_logit_softcapping", kChanges, "0|30", "a soft cap of router logits"},
    {"final_logit_softcapping", kChanges, "0|30", "a soft cap of logits"},

    {"logit_scale", kChanges, "0|1", "a scale of logits"},
    {"residual_scale", kChanges, "0|1", "a scale of residuals"},
    {"embedding_scale", kChanges, "0|1", "a scale of embeddings"},
    {"swin_norm", kChanges, "false", "norms after their blocks"},

    {"rope.dimension_count", kChanges, "", "a RoPE size"},
    {"rope.dimension_count_swa", kHarmless}, // of layers with a window, which read it
    {"rope.dimension_sections", kChanges, "0", "RoPE of several axes"},
    {"rope.freq_base", kChanges, "", "a RoPE base"},
    {"rope.freq_base_swa", kHarmless}, // of layers with a window, which read it
    {"rope.scale_linear", kChanges, "0|1", "linear RoPE scaling"},
    {"rope.scaling.type", kChanges, "none", "RoPE scaling"},
    {"rope.scaling.factor", kChanges, "0|1", "RoPE scaling"},
    {"rope.scaling.original_context_length", kHarmless}, // read with the scaling that needs it
    {"rope.scaling.attn_factor", kChanges, "1", "a magnitude of RoPE"},
    {"rope.scaling.finetuned", kHarmless},
    {"rope.scaling.alpha", kChanges, "0|1", "NTK-aware RoPE scaling"},
    {"rope.scaling.yarn_log_multiplier", kChanges, "0", "another magnitude of YaRN"},
    {"rope.scaling.yarn_ext_factor", kChanges, "-1|1", "another extrapolation of YaRN"},
    {"rope.scaling.yarn_attn_factor", kChanges, "1", "another magnitude of YaRN"},
    {"rope.scaling.yarn_beta_fast", kChanges, "32", "another ramp of YaRN"},
    {"rope.scaling.yarn_beta_slow", kChanges, "1", "another ramp of YaRN"},

    {"ssm.*", kChanges, "0|false", "state-space layers"},
    {"kda.*", kChanges, "0|false|-inf", "linear attention"},
    {"wkv.*", kChanges, "0", "RWKV layers"},
    {"rescale_every_n_layers", kChanges, "0", "RWKV layers"},
    {"time_mix_extra_dim", kChanges, "0", "RWKV layers"},
    {"time_decay_extra_dim", kChanges, "0", "RWKV layers"},
    {"token_shift_count", kChanges, "0|2", "RWKV layers"},
    {"shortconv.*", kChanges, "0", "short convolutions"},
    {"hyper_connection.*", kChanges, "0", "hyper-connections"},
    {"ple.*", kChanges, "0", "embeddings for each layer"},
    {"attn_res.*", kChanges, "0", "residuals over layers"},
    {"hash_layer_count", kChanges, "0", "hash-routed layers"},
    {"num_loops", kChanges, "0|1", "layers that run again"},
    {"skip_loop_final_norm", kHarmless}, // of layers that run again
    {"hrm.*", kChanges, "0|false", "stacks of layers in cycles"},
    {"nextn_predict_layers", kChanges, "0", "layers that predict further tokens"},
    {"n_deepstack_layers", kChanges, "0", "rows of images in layers"},
    {"deepstack_mapping", kChanges, "-1", "rows of images in layers"},
    {"decoder_start_token_id", kChanges, "-1", "an encoder before the decoder"},
    {"decoder_block_count", kChanges, "0", "an encoder before the decoder"},
    {"adapters.*", kChanges, "0", "adapters inside the model"},
    {"posnet.*", kChanges, "0", "audio layers"},
    {"convnext.*", kChanges, "0", "audio layers"},
    {"target_layers", kChanges, "", "drafting for another model"},
    {"target_hidden_size", kChanges, "", "drafting for another model"},
    {"norm_before_residual", kChanges, "false", "drafting for another model"},
    {"norm_before_fc", kChanges, "false", "drafting for another model"},
    {"block_size", kChanges, "0", "drafting for another model"},
    {"conv_kernel_size", kChanges, "0", "drafting for another model"},
    {"conv_group_size", kChanges, "0", "drafting for another model"},
    {"selector_rank", kChanges, "0", "drafting for another model"},
    {"selector_top_k", kChanges, "0", "drafting for another model"},

    {"classifier.*", kHarmless}, // labels and pooling of a head beside the logits
    {"dense_*", kHarmless},      // heads of embeddings
    {"vision.*", kHarmless},     // what makes rows of images and sounds, which texts do without
    {"audio.*", kHarmless},
    {"mm.*", kHarmless},
};

constexpr KnownName kFileKeys[] = {
    {"general.architecture", kChanges, "", "an architecture"},
    {"general.type", kChanges, "model", "a file that is no model"},
    {"general.*", kHarmless}, // who made the file and how; settings that its makers propose
    {"xielu.*", kChanges, "0", "another activation"},
    {"adapter.*", kChanges, "", "an adapter"},
    {"split.*", kHarmless}, // GgufFile::openModel
    {"quantize.*", kHarmless},
    {"imatrix.*", kHarmless},

    {"tokenizer.ggml.model", kChanges, "", "a tokenizer"},
    {"tokenizer.ggml.pre", kChanges, "", "a pre-tokenizer"},
    {"tokenizer.ggml.tokens", kChanges, "", "tokens"},
    {"tokenizer.ggml.token_type", kChanges, "", "types of tokens"},
    {"tokenizer.ggml.merges", kChanges, "", "merges"},
    {"tokenizer.ggml.bos_token_id", kChanges, "", "a begin-of-text token"},
    {"tokenizer.ggml.eos_token_id", kChanges, "", "an end-of-text token"},
    {"tokenizer.ggml.eot_token_id", kChanges, "", "an end-of-turn token"},
    {"tokenizer.ggml.eom_token_id", kChanges, "", "an end-of-message token"},
    {"tokenizer.ggml.fim_pad_token_id", kChanges, "", "an end token"},
    {"tokenizer.ggml.fim_rep_token_id", kChanges, "", "an end token"},
    {"tokenizer.ggml.fim_sep_token_id", kChanges, "", "an end token"},
    {"tokenizer.ggml.add_bos_token", kChanges, "", "a begin-of-text token"},
    {"tokenizer.ggml.add_eos_token", kChanges, "", "an end-of-text token"},
    {"tokenizer.ggml.suppress_tokens", kChanges, "", "tokens that are never generated"},
    // What some kinds of tokenizers read, and tokens that no prompt and no end needs.
    {"tokenizer.ggml.token_type_count", kHarmless},
    {"tokenizer.ggml.scores", kChanges, "", "scores of tokens"},
    {"tokenizer.ggml.unknown_token_id", kChanges, "", "an unknown token"},
    {"tokenizer.ggml.seperator_token_id", kChanges, "", "a separator token"}, // as GGUF spells it
    {"tokenizer.ggml.separator_token_id", kChanges, "", "a separator token"},
    {"tokenizer.ggml.padding_token_id", kHarmless},
    {"tokenizer.ggml.cls_token_id", kHarmless},
    {"tokenizer.ggml.mask_token_id", kHarmless},
    {"tokenizer.ggml.fim_pre_token_id", kChanges, "", "a token of infilling"},
    {"tokenizer.ggml.fim_suf_token_id", kChanges, "", "a token of infilling"},
    {"tokenizer.ggml.fim_mid_token_id", kChanges, "", "a token of infilling"},
    {"tokenizer.ggml.prefix_token_id", kChanges, "", "a token of infilling"},
    {"tokenizer.ggml.suffix_token_id", kChanges, "", "a token of infilling"},
    {"tokenizer.ggml.middle_token_id", kChanges, "", "a token of infilling"},
    {"tokenizer.ggml.add_sep_token", kChanges, "", "a separator token"},
    {"tokenizer.ggml.add_space_prefix", kChanges, "", "a space before prompts"},
    {"tokenizer.ggml.remove_extra_whitespaces", kChanges, "", "a treatment of spaces"},
    {"tokenizer.ggml.precompiled_charsmap", kChanges, "", "normalization rules"},
    {"tokenizer.ggml.normalizer.lowercase", kChanges, "", "a normalizer"},
    {"tokenizer.ggml.normalizer.strip_accents", kChanges, "", "a normalizer"},
    {"tokenizer.ggml.normalizer.*", kHarmless},
    {"tokenizer.ggml.added_tokens", kHarmless},
    {"tokenizer.huggingface.json", kHarmless},
    {"tokenizer.rwkv.world", kHarmless},
    {"tokenizer.chat_template*",
     kHarmless}, // how conversations are written, which says itself what it lacks
};

constexpr KnownName kTensorNames[] = {
    {"blk.*.attn_rot_embd.*", kHarmless}, // what the RoPE base says already
    {"rope.freqs", kHarmless},
    {"blk.*", kChanges},
    {"token_embd*", kChanges},
    {"token_types*", kChanges},
    {"position_embd*", kChanges},
    {"output*", kChanges},
    {"rope_freqs*", kChanges},
    {"rope_factors_*", kChanges},
    {"per_layer_*", kChanges},
    {"altup_*", kChanges},
    {"nextn.*", kChanges},
    {"hrm.*", kChanges},
    {"enc.*", kChanges},
    {"dec.*", kChanges},
    {"conv1d*", kChanges},
    {"convnext.*", kChanges},
    {"posnet.*", kChanges},
    {"cls*", kHarmless},    // a classifier beside the logits
    {"dense_*", kHarmless}, // heads of embeddings
    {"v.*", kHarmless},     // what makes rows of images and sounds, and what drafts
    {"a.*", kHarmless},
    {"s.*", kHarmless},
    {"mm.*", kHarmless},
    {"mtp.*", kHarmless},
};

} // namespace

std::span<const KnownName> architectureKeys() {
  return kArchitectureKeys;
}

std::span<const KnownName> fileKeys() {
  return kFileKeys;
}

std::span<const KnownName> tensorNames() {
  return kTensorNames;
}

} // namespace sinter
