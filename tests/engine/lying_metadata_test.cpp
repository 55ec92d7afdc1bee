// Model files whose metadata lie: each gets one error that names the key or the tensor.
#include "engine/gguf_source.h"
#include "golden_model.h"
#include "graph/graph.h"
#include "models/decoder.h"
#include "tile/mlir_pch.h"

#include <gmock/gmock.h>

namespace sinter::engine {
namespace {

// What is changed of a golden: "KEY=TYPE VALUE...", "KEY=" to drop it, "TENSOR:EXTENTS" (the
// fastest first) or "TENSOR:" to drop it; and a part of the error.
struct Lie {
  const char *golden, *change, *error;
};

const Lie kLies[] = {
    {"llama", "general.architecture=", "general.architecture"},
    {"llama", "general.architecture=str marble", "architecture is 'marble', expected one of"},
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
    {"olmo2", "blk.0.attn_q_norm.weight:128", "'blk.0.attn_q_norm.weight' has shape [128]"},
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

std::string errorOf(const Lie &lie) {
  GoldenModel model =
      GoldenModel::read(std::string(SINTER_TEST_DIR "/data/architectures/") + lie.golden + ".txt");
  apply(model, lie.change);
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

TEST(LyingMetadata, EachLieHasOneErrorThatNamesIt) {
  for (const Lie &lie : kLies)
    EXPECT_THAT(errorOf(lie), testing::HasSubstr(lie.error)) << lie.golden << ": " << lie.change;
}

} // namespace
} // namespace sinter::engine
