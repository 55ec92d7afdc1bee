// Model files whose metadata lie: each gets one error that names the key or the tensor.
#include "engine/gguf_source.h"
#include "golden_model.h"
#include "graph/graph.h"
#include "models/decoder.h"
#include "sampling.h"
#include "tile/mlir_pch.h"

#include <gmock/gmock.h>

#include <random>

namespace sinter::engine {
namespace {

// What is changed of a golden: "KEY=TYPE VALUE...", "KEY=" to drop it, "TENSOR:EXTENTS" (the
// fastest first) or "TENSOR:" to drop it; and a part of the error.
struct Lie {
  const char *golden, *change, *error;
};

const Lie kLies[] = {
    {"llama", "general.architecture=", "general.architecture"},
    {"llama", "general.architecture=str marble", "architecture is 'marble', expected one of the"},
    {"llama", "general.architecture=str lama", "'lama' (did you mean 'llama'?)"},
    {"llama", "general.architecture=u32 7", "general.architecture"},
    {"llama", "llama.block_count=", "llama.block_count"},
    {"llama", "llama.block_count=str two", "llama.block_count"},
    {"llama", "llama.block_count=u32 0", "'llama.block_count' is 0, expected 1 to 4096"},
    {"llama", "llama.block_count=u32 5000", "'llama.block_count' is 5000, expected 1 to"},
    {"llama", "llama.block_count=u32 3", "no tensor 'blk.2.attn_norm.weight'"},
    {"llama", "llama.block_count=u32 1", "'blk.1."},
    {"llama", "llama.nextn_predict_layers=u32 2", "'llama.nextn_predict_layers' is 2"},
    {"llama", "llama.embedding_length=u32 0", "'llama.embedding_length' is 0"},
    {"llama", "llama.embedding_length=u32 4000000000", "'llama.embedding_length' is 4000000000"},
    {"llama", "llama.embedding_length=f32 256", "llama.embedding_length"},
    {"llama", "llama.embedding_length=u32 128", "has shape"},
    {"llama", "llama.feed_forward_length=u32 100", "'blk.0.ffn_gate.weight' has shape"},
    {"llama", "llama.feed_forward_length=i32 -1", "'llama.feed_forward_length' is -1"},
    {"llama", "llama.feed_forward_length=arr u32 384 0", "is 0 for the last layer"},
    {"llama", "llama.feed_forward_length=arr u32 384 9000000", "'llama.feed_forward_length' is"},
    {"llama", "llama.context_length=", "llama.context_length"},
    {"llama", "llama.context_length=u32 0", "'llama.context_length' is 0"},
    {"llama", "llama.vocab_size=u32 127", "'llama.vocab_size' is 127, expected 128"},
    {"llama", "token_embd.weight:", "no matrix 'token_embd.weight'"},
    {"llama", "token_embd.weight:256", "no matrix 'token_embd.weight'"},
    {"llama", "output_norm.weight:255", "'output_norm.weight' has shape [255], expected [256]"},
    {"llama", "llama.attention.head_count=", "llama.attention.head_count"},
    {"llama", "llama.attention.head_count=u32 0", "'llama.attention.head_count' is 0"},
    {"llama", "llama.attention.head_count=u32 4097", "'llama.attention.head_count' is 4097"},
    {"llama", "llama.attention.head_count=u32 3", "'llama.attention.key_length' is 0"},
    {"llama", "llama.attention.head_count=arr u32 2 0", "'blk.1.attn"},
    {"llama", "llama.attention.head_count=arr u32 0 0", "is 0 for each layer"},
    {"llama", "llama.attention.head_count=arr str a b", "'llama.attention.head_count' is 'a'"},
    {"llama", "llama.attention.head_count_kv=u32 0", "'llama.attention.head_count_kv' is 0"},
    {"llama", "llama.attention.head_count_kv=u32 3", "is 3, expected a divisor of the 2 heads"},
    {"llama", "llama.attention.head_count_kv=u32 4", "is 4, expected a divisor of the 2 heads"},
    {"llama", "llama.attention.key_length=u32 64", "has shape"},
    {"llama", "llama.attention.key_length=u32 0", "'llama.attention.key_length' is 0"},
    {"llama", "llama.attention.value_length=u32 64", "'blk.0.attn_v.weight' has shape"},
    {"llama", "llama.attention.layer_norm_rms_epsilon=", "layer_norm_rms_epsilon"},
    {"llama", "llama.attention.layer_norm_rms_epsilon=f32 -1", "layer_norm_rms_epsilon' is -1"},
    {"llama", "llama.attention.layer_norm_rms_epsilon=f32 nan", "layer_norm_rms_epsilon' is nan"},
    {"llama", "llama.attention.layer_norm_rms_epsilon=f32 2", "layer_norm_rms_epsilon' is 2"},
    {"llama", "llama.expert_count=u32 8", "'llama.expert_used_count' is missing"},
    {"llama", "llama.expert_count=i32 -1", "'llama.expert_count' is -1"},
    {"llama", "llama.rope.dimension_count=u32 0", "'llama.rope.dimension_count' is 0"},
    {"llama", "llama.rope.dimension_count=u32 7", "is 7, expected an even number of at most 128"},
    {"llama", "llama.rope.dimension_count=u32 200", "is 200, expected an even number"},
    {"llama", "llama.rope.dimension_count=u32 64", "'rope_freqs.weight' has shape [64]"},
    {"llama", "llama.rope.freq_base=f32 0", "'llama.rope.freq_base' is 0"},
    {"llama", "llama.rope.freq_base=f32 inf", "'llama.rope.freq_base' is inf"},
    {"llama", "llama.rope.scaling.type=str ntk", "'llama.rope.scaling.type' is 'ntk'"},
    {"llama", "llama.rope.scaling.factor=f32 -2", "'llama.rope.scaling.factor' is -2"},
    {"llama", "llama.rope.scaling.attn_factor=f32 0", "'llama.rope.scaling.attn_factor' is 0"},
    {"llama", "rope_freqs.weight:63", "'rope_freqs.weight' has shape [63], expected [64]"},
    {"llama", "blk.1.attn_q.bias:", "'blk.0.attn_q.bias' and none 'blk.1.attn_q.bias'"},
    {"llama-yarn", "llama.rope.freq_base=f32 1", "expected more than 1 for YaRN"},
    {"llama-yarn", "llama.rope.scaling.yarn_beta_slow=f32 -1", "yarn_beta_slow' is -1"},
    {"llama-yarn", "llama.rope.scaling.original_context_length=u32 0", "context_length' is 0"},
    {"llama-longrope", "rope_factors_long.weight:63", "'rope_factors_long.weight' has shape [63]"},
    {"gemma3", "gemma3.attention.sliding_window=i32 -1", "sliding_window' is -1"},
    {"gemma3", "gemma3.attention.sliding_window_pattern=arr u32 2 0", "pattern' is '2'"},
    {"gemma3", "gemma3.rope.freq_base_swa=f32 0", "'gemma3.rope.freq_base_swa' is 0"},
    {"gemma3", "gemma3.final_logit_softcapping=f32 -1", "final_logit_softcapping' is -1"},
    {"gemma3", "gemma3.feed_forward_length=arr u32 384", "an array of 1 element"},
    {"gemma3", "gemma3.attention.key_length_swa=u32 64", "an even number of at most 64"},
    {"gemma3", "gemma3.attention.value_length_swa=u32 64", "'blk.0.attn_v.weight' has shape"},
    {"gemma3", "blk.0.post_ffw_norm.weight:", "no tensor 'blk.0.post_ffw_norm.weight'"},
    {"cohere2", "cohere2.attention.sliding_window=u32 0", "sliding_window' is 0, expected 1"},
    {"cohere2", "cohere2.attention.sliding_window=", "cohere2.attention.sliding_window"},
    {"gemma4", "gemma4.attention.sliding_window_pattern=", "sliding_window_pattern"},
    {"gemma4", "gemma4.attention.shared_kv_layers=u32 6", "shared_kv_layers' is 6"},
    {"gemma4", "gemma4.attention.shared_kv_layers=u32 5", "read the keys of layer"},
    {"gemma4", "gemma4.attention.head_count_kv=arr u32 2 1", "an array of 2 elements"},
    {"gemma4", "gemma4.embedding_length_per_layer_input=u32 31", "'per_layer_token_embd.weight'"},
    {"granite", "granite.residual_scale=f32 -1", "'granite.residual_scale' is -1"},
    {"granite", "granite.logit_scale=f32 inf", "'granite.logit_scale' is inf"},
    {"granite", "granite.embedding_scale=f32 nan", "'granite.embedding_scale' is nan"},
    {"granite_swa", "blk.0.attn_sinks.weight:3", "'blk.0.attn_sinks.weight' has shape [3]"},
    {"granite_swa", "granite_swa.attention.rope_pattern=arr u32 2 1", "rope_pattern' is '2'"},
    {"mpt", "mpt.attention.clamp_kqv=f32 -1", "'mpt.attention.clamp_kqv' is -1"},
    {"mpt", "mpt.attention.max_alibi_bias=f32 1e9", "'mpt.attention.max_alibi_bias' is 1000000"},
    {"apertus", "xielu.alpha_n=", "no key 'xielu.alpha_n'"},
    {"apertus", "xielu.alpha_p=arr f32 0.8 1e9", "'xielu.alpha_p' is"},
    {"apertus", "xielu.beta=arr str a b", "'xielu.beta' is 'a'"},
    {"qwen2vl", "qwen2vl.rope.dimension_sections=arr i32 32 -1 0 0", "dimension_sections' is '-1'"},
    {"qwen", "qwen.feed_forward_length=u32 383", "is 383, expected a multiple of 2"},
    {"nanbeige", "nanbeige.num_loops=u32 0", "'nanbeige.num_loops' is 0"},
    {"nanbeige", "nanbeige.num_loops=u32 100000", "'nanbeige.num_loops' is 100000"},
    {"mistral3", "mistral3.attention.temperature_scale=f32 -1", "temperature_scale' is -1"},
    {"hunyuan-dense", "hunyuan-dense.rope.scaling.alpha=f32 -1", "alpha' is -1"},
    {"gptneox", "gptneox.use_parallel_residual=u32 2", "is 2, expected true or false"},
    {"gpt2", "position_embd.weight:256 255", "'position_embd.weight' has shape [255, 256]"},
    {"phi3", "blk.0.ffn_up.weight:256 384", "'blk.0.ffn_up.weight' has shape [384, 256]"},
    {"phi2", "phi2.attention.head_count=arr u32 0 2", "layer 0 has no attention heads"},
    {"olmo2", "blk.0.attn_q_norm.weight:128", "'blk.0.attn_q_norm.weight' has shape [128]"},
    {"chameleon", "chameleon.swin_norm=u32 2",
     "'chameleon.swin_norm' is 2, expected true or false"},
    {"chameleon", "blk.0.attn_q_norm.weight:32 2", "'blk.0.attn_q_norm.weight' has shape [2, 32]"},
    {"hrm_text", "hrm_text.block_count=u32 5", "'hrm_text.block_count' is 5, expected 6: 2 cycles"},
    {"hrm_text", "hrm_text.hrm.layers_per_stack=u32 0", "'hrm_text.hrm.layers_per_stack' is 0"},
    {"hrm_text", "hrm_text.hrm.h_cycles=u32 4000000", "'hrm_text.hrm.h_cycles' is 4000000"},
    {"hrm_text", "hrm_text.hrm.l_cycles=", "hrm_text.hrm.l_cycles"},
    {"hrm_text", "hrm.z_l_init:255", "'hrm.z_l_init' has shape [255], expected [256]"},
    // Experts.
    {"qwen35moe", "qwen35moe.expert_count=", "qwen35moe.expert_count"},
    {"qwen35moe", "qwen35moe.expert_count=u32 0", "'qwen35moe.expert_count' is 0, expected 1 to"},
    {"qwen35moe", "qwen35moe.expert_count=u32 3", "'blk.0.ffn_gate_inp.weight' has shape [2, 256]"},
    {"qwen35moe", "qwen35moe.expert_count=u32 100000000", "'qwen35moe.expert_count' is 100000000"},
    {"qwen35moe", "qwen35moe.expert_used_count=u32 0", "'qwen35moe.expert_used_count' is 0"},
    {"qwen35moe", "qwen35moe.expert_used_count=u32 3", "is 3, expected at most the 2 experts"},
    {"qwen35moe", "qwen35moe.expert_used_count=arr u32 2", "an array of 1 element"},
    {"qwen35moe", "qwen35moe.expert_group_count=u32 3", "'qwen35moe.expert_group_count' is 3"},
    {"lfm2moe", "lfm2moe.expert_gating_func=u32 9", "'lfm2moe.expert_gating_func' is 9"},
    {"lfm2moe", "lfm2moe.expert_weights_scale=f32 nan", "'lfm2moe.expert_weights_scale' is nan"},
    {"lfm2moe", "lfm2moe.leading_dense_block_count=u32 3", "leading_dense_block_count' is 3"},
    {"lfm2moe", "lfm2moe.leading_dense_block_count=u32 0", "no tensor 'blk.0.ffn_gate_inp.weight'"},
    {"lfm2moe", "lfm2moe.expert_feed_forward_length=u32 383", "_exps.weight' has shape"},
    {"lfm2moe", "blk.1.exp_probs_b.bias:3", "'blk.1.exp_probs_b.bias' has shape [3], expected [2]"},
    {"lfm2moe", "blk.1.ffn_down_exps.weight:384 256 1", "'blk.1.ffn_down_exps.weight' has shape"},
    {"qwen35moe", "qwen35moe.expert_shared_feed_forward_length=u32 96", "shexp.weight' has shape"},
    {"qwen35moe", "blk.0.ffn_gate_up_exps.weight:", "'blk.0.ffn_"},
    // States of sequences.
    {"lfm2", "lfm2.shortconv.l_cache=u32 0", "'lfm2.shortconv.l_cache' is 0"},
    {"lfm2", "lfm2.shortconv.l_cache=u32 4", "'blk.1.shortconv.conv.weight' has shape [256, 3]"},
    {"lfm2", "lfm2.shortconv.l_cache=u32 1000", "'lfm2.shortconv.l_cache' is 1000"},
    {"qwen35", "qwen35.ssm.state_size=u32 0", "'qwen35.ssm.state_size' is 0"},
    {"qwen35", "qwen35.ssm.state_size=u32 64", "'qwen35.ssm.inner_size' is"},
    {"qwen35", "qwen35.ssm.group_count=u32 0", "'qwen35.ssm.group_count' is 0"},
    {"qwen35", "qwen35.ssm.group_count=u32 3", "expected a multiple of the 3"},
    {"qwen35", "qwen35.ssm.time_step_rank=u32 4097", "'qwen35.ssm.time_step_rank' is 4097"},
    {"qwen35", "qwen35.ssm.conv_kernel=u32 1", "'qwen35.ssm.conv_kernel' is 1"},
    {"qwen35", "qwen35.ssm.conv_kernel=", "qwen35.ssm.conv_kernel"},
    {"qwen35", "qwen35.full_attention_interval=u32 0", "'qwen35.full_attention_interval' is 0"},
    {"qwen35", "qwen35.attention.recurrent_layers=arr u32 1 2", "recurrent_layers' is '2'"},
    {"qwen35", "qwen35.attention.recurrent_layers=arr u32 1", "an array of 1 element"},
    {"qwen35", "blk.0.ssm_a:3", "'blk.0.ssm_a' has shape [3], expected [2]"},
    {"qwen35", "blk.0.ssm_conv1d.weight:4 767", "'blk.0.ssm_conv1d.weight' has shape"},
    // Encoders.
    {"bert", "bert.context_length=u32 300", "'position_embd.weight' has shape [256, 64]"},
    {"bert", "bert.attention.layer_norm_epsilon=", "layer_norm_epsilon"},
    {"bert", "bert.attention.causal=str no", "bert.attention.causal"},
    {"bert", "token_types.weight:63 2", "'token_types.weight' has shape"},
    {"modern-bert", "modern-bert.attention.causal=bool 1", "expected false with the windows"},
    {"modern-bert", "modern-bert.hidden_activation=str relu", "hidden_activation' is 'relu'"},
    {"modern-bert", "modern-bert.attention.sliding_window=i32 -4", "sliding_window' is -4"},
    {"nomic-bert", "blk.0.attn_qkv.weight:64 191", "'blk.0.attn_qkv.weight' has shape [191, 64]"},
    {"nomic-bert-moe", "nomic-bert-moe.moe_every_n_layers=u32 9000", "moe_every_n_layers' is 9000"},
    {"nomic-bert-moe", "nomic-bert-moe.expert_used_count=u32 5", "is 5, expected at most the 4"},
};

void apply(GoldenModel &model, const std::string &change) {
  const size_t at = change.find_first_of("=:");
  const std::string name = change.substr(0, at);
  std::istringstream words(change.substr(at + 1));
  if (change[at] == '=') {
    std::erase_if(model.keys, [&](const auto &key) { return key.name == name; });
    GoldenModel::Key key{name, "", {}};
    if (!(words >> key.type))
      return;
    for (std::string word; words >> word;)
      key.words.push_back(word);
    model.keys.push_back(std::move(key));
    return;
  }
  const auto tensor = std::ranges::find(model.tensors, name, &GoldenModel::Tensor::name);
  tensor->extents.clear();
  for (uint64_t extent; words >> extent;)
    tensor->extents.push_back(extent);
  if (tensor->extents.empty())
    model.tensors.erase(tensor);
}

// The error of the first step that refuses the model; empty where a graph was built.
std::string errorOf(const GoldenModel &model) {
  const std::vector<uint8_t> bytes = model.bytesOfZeros(TensorType::F32);
  const Result<GgufFile> file = GgufFile::parse(bytes);
  if (!file)
    return file.error().message;
  const GgufSource source(*file);
  const auto features = models::readDecoder(source);
  if (!features)
    return features.error().message;
  mlir::MLIRContext context;
  graph::loadDialects(context);
  const auto module = models::buildDecoder(context, *features, source);
  return module ? "" : module.error().message;
}

GoldenModel goldenOf(const std::string &name) {
  const std::filesystem::path data = SINTER_TEST_DIR "/data";
  const auto decoder = data / "architectures" / (name + ".txt");
  return GoldenModel::read(exists(decoder) ? decoder : data / "encoders" / (name + ".txt"));
}

TEST(LyingMetadata, EachLieHasOneErrorThatNamesIt) {
  for (const Lie &lie : kLies) {
    GoldenModel model = goldenOf(lie.golden);
    apply(model, lie.change);
    EXPECT_THAT(errorOf(model), testing::HasSubstr(lie.error)) << lie.golden << ": " << lie.change;
  }
}

// One key or tensor of a model changed at random.
std::string randomLie(const GoldenModel &model, std::mt19937 &random) {
  static const char *const kValues[] = {
      "u32 0",          "u32 1",     "u32 2",   "u32 3",     "u32 7",          "u32 255",
      "u32 4294967295", "i32 -1",    "f32 0",   "f32 -1",    "f32 nan",        "f32 inf",
      "f32 1e-30",      "bool 1",    "str x",   "str ",      "arr u32 1 2",    "arr u32 0 0 0",
      "arr f32 1 1",    "arr str a", "arr u32", "u32 65536", "arr bool 1 0 1", ""};
  static const uint64_t kExtents[] = {1, 2, 3, 31, 32, 63, 64, 128, 255, 257};
  if (random() % 4 > 0) {
    const auto &key = model.keys[random() % model.keys.size()];
    return key.name + "=" + kValues[random() % std::size(kValues)];
  }
  const auto &tensor = model.tensors[random() % model.tensors.size()];
  std::string change = tensor.name + ":";
  for (size_t rank = random() % 4; rank > 0; --rank)
    change += std::to_string(kExtents[random() % std::size(kExtents)]) + " ";
  return change;
}

TEST(LyingMetadata, ManyRandomLiesAreRefusedOrBuilt) {
  std::mt19937 random(inFullOr(5u, 1u));
  const auto decoders = goldenModels(SINTER_TEST_DIR "/data"),
             encoders = goldenModels(SINTER_TEST_DIR "/data", "encoders");
  std::vector<std::filesystem::path> paths(decoders);
  paths.insert(paths.end(), encoders.begin(), encoders.end());
  int refused = 0;
  const int count = inFullOr(5000, 200);
  for (int i = 0; i < count; ++i) {
    GoldenModel model = GoldenModel::read(paths[random() % paths.size()]);
    std::string changes = model.name;
    for (size_t lies = 1 + random() % 2; lies > 0 && !model.tensors.empty(); --lies) {
      const std::string change = randomLie(model, random);
      changes += ", " + change;
      apply(model, change);
    }
    SCOPED_TRACE(changes);
    refused += !errorOf(model).empty();
  }
  EXPECT_GT(refused, count / 2);
}

} // namespace
} // namespace sinter::engine
