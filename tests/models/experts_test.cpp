// What metadata says of experts: routers by family and by key, and numbers that do not fit.
#include "models/decoder_features.h"
#include "models/fake_source.h"
#include "tile/mlir_pch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::models {
namespace {

using testing::HasSubstr;

FakeSource modelOf(const std::string &architecture) {
  FakeSource source;
  auto key = [&](const char *name) { return architecture + "." + name; };
  source.values = {{"general.architecture", architecture},
                   {key("block_count"), int64_t(4)},
                   {key("embedding_length"), int64_t(128)},
                   {key("feed_forward_length"), int64_t(256)},
                   {key("expert_count"), int64_t(16)},
                   {key("expert_used_count"), int64_t(4)},
                   {key("expert_feed_forward_length"), int64_t(64)},
                   {key("attention.head_count"), int64_t(2)},
                   {key("context_length"), int64_t(256)},
                   {key("attention.layer_norm_rms_epsilon"), 1e-6}};
  source.matrix("token_embd.weight", {64, 128}, TensorType::Q8_0);
  return source;
}

DecoderFeatures featuresOf(const FakeSource &source) {
  Result<DecoderFeatures> features = readDecoder(source);
  EXPECT_TRUE(features) << features.error().message;
  return features ? *features : DecoderFeatures();
}

TEST(Experts, AFamilyDecidesWhatTheFileDoesNotSay) {
  const DecoderFeatures f = featuresOf(modelOf("qwen3moe"));
  EXPECT_EQ(f.experts.count, 16);
  EXPECT_EQ(f.experts.router, graph::RouterKind::Softmax);
  EXPECT_TRUE(f.experts.normalized);
  EXPECT_EQ(f.layers[0].experts.used, 4);
  EXPECT_EQ(f.layers[0].experts.hidden, 64);
  FakeSource whole = modelOf("qwen3moe");
  whole.values.erase("qwen3moe.expert_feed_forward_length");
  EXPECT_EQ(featuresOf(whole).layers[0].experts.hidden, 256 / 4);
}

TEST(Experts, KeysDecideWhatTheFamilyLeavesToThem) {
  FakeSource source = modelOf("bailingmoe2");
  source.values["bailingmoe2.expert_gating_func"] = int64_t(2);
  source.values["bailingmoe2.expert_weights_norm"] = true;
  source.values["bailingmoe2.expert_weights_scale"] = 2.5;
  source.values["bailingmoe2.expert_shared_count"] = int64_t(2);
  source.values["bailingmoe2.expert_group_count"] = int64_t(4);
  source.values["bailingmoe2.expert_group_used_count"] = int64_t(2);
  source.values["bailingmoe2.leading_dense_block_count"] = int64_t(1);
  const DecoderFeatures f = featuresOf(source);
  EXPECT_EQ(f.experts.router, graph::RouterKind::Sigmoid);
  EXPECT_TRUE(f.experts.normalized);
  EXPECT_EQ(f.experts.scale, 2.5f);
  EXPECT_EQ(f.experts.sharedHidden, 2 * 64);
  EXPECT_EQ(f.experts.usedGroups, 2);
  EXPECT_EQ(f.layers[0].experts.used, 0);
  EXPECT_EQ(f.layers[1].experts.used, 4);
}

TEST(Experts, DenseModelsOfAFamilyThatMayHaveThemHaveNone) {
  FakeSource source = modelOf("llama");
  source.values["llama.expert_count"] = int64_t(0);
  source.values["llama.expert_used_count"] = int64_t(0);
  source.values.erase("llama.expert_feed_forward_length");
  EXPECT_EQ(featuresOf(source).layers[0].experts.used, 0);
}

// llama.cpp makes ernie4_5 of a file that counts experts and has none.
TEST(Experts, FamiliesWithoutThemNoteACountWithoutRouters) {
  FakeSource source = modelOf("ernie4_5");
  const DecoderFeatures f = featuresOf(source);
  EXPECT_EQ(f.layers[0].experts.used, 0);
  EXPECT_THAT(f.unusedKeys, testing::Contains(HasSubstr("ernie4_5.expert_used_count")));
  source.matrix("blk.0.ffn_gate_inp.weight", {16, 128}, TensorType::F32);
  const Result<DecoderFeatures> features = readDecoder(source);
  ASSERT_FALSE(features);
  EXPECT_THAT(features.error().message, HasSubstr("no support for experts in 'ernie4_5'"));
}

TEST(Experts, LayersWithARouterHaveThemWhereTheFamilySaysSo) {
  FakeSource source = modelOf("hy_v3");
  source.matrix("blk.2.ffn_gate_inp.weight", {16, 128}, TensorType::F32);
  const DecoderFeatures f = featuresOf(source);
  EXPECT_EQ(f.layers[1].experts.used, 0);
  EXPECT_EQ(f.layers[2].experts.used, 4);
}

// With keys whose values are arrays.
struct ArraySource : FakeSource {
  std::map<std::string, std::vector<std::string>, std::less<>> arrays;

  explicit ArraySource(FakeSource source) : FakeSource(std::move(source)) {}
  bool has(std::string_view key) const override {
    return arrays.contains(key) || FakeSource::has(key);
  }
  std::vector<std::string> texts(std::string_view key) const override {
    const auto found = arrays.find(key);
    return found == arrays.end() ? FakeSource::texts(key) : found->second;
  }
};

TEST(Experts, ClampsAreOfLayers) {
  ArraySource source(modelOf("step35"));
  source.values["step35.attention.sliding_window"] = int64_t(32);
  source.values["step35.attention.sliding_window_pattern"] = int64_t(2);
  source.arrays["step35.swiglu_clamp_exp"] = {"0", "7", "0", "0"};
  source.arrays["step35.swiglu_clamp_shexp"] = {"0", "0", "16", "0"};
  const DecoderFeatures f = featuresOf(source);
  EXPECT_EQ(f.layers[1].experts.clamp, 7);
  EXPECT_EQ(f.layers[1].experts.sharedClamp, 0);
  EXPECT_EQ(f.layers[2].experts.sharedClamp, 16);
  source.arrays["step35.swiglu_clamp_exp"] = {"0", "7"};
  const Result<DecoderFeatures> features = readDecoder(source);
  ASSERT_FALSE(features);
  EXPECT_THAT(features.error().message, HasSubstr("'step35.swiglu_clamp_exp' is an array of 2"));
}

// llama.cpp's numbers, whatever the file says: chunks of 8192 tokens in three layers of four, and
// queries of the fourth, which does not rotate, grow after each.
TEST(Experts, Llama4HasChunksAndQueriesThatGrow) {
  FakeSource source = modelOf("llama4");
  source.values["llama4.interleave_moe_layer_step"] = int64_t(2);
  source.values["llama4.attention.sliding_window"] = int64_t(100);
  DecoderFeatures f = featuresOf(source);
  EXPECT_EQ(f.layers[2].chunk, 8192);
  EXPECT_EQ(f.layers[2].window, 0);
  EXPECT_EQ(f.layers[2].ropeDims, 64);
  EXPECT_EQ(f.layers[3].chunk, 0);
  EXPECT_EQ(f.layers[3].ropeDims, 0);
  EXPECT_EQ(f.positions.length, 8192);
  EXPECT_EQ(f.family.qkNorm, QkNorm::Bare);
  source.values["llama4.expert_count"] = int64_t(128);
  EXPECT_EQ(featuresOf(source).family.qkNorm, QkNorm::None);
}

TEST(Experts, ChunkExpertsAreAsWideAsAHeadWhereTheFileDoesNotSay) {
  FakeSource source = modelOf("grovemoe");
  source.values["grovemoe.experts_per_group"] = int64_t(2);
  source.values["grovemoe.expert_group_scale"] = 0.05;
  const DecoderFeatures f = featuresOf(source);
  EXPECT_EQ(f.experts.sharing, 2);
  EXPECT_EQ(f.experts.chunkScale, 0.05f);
  for (int64_t wrong : {3, 8, 17}) {
    source.values["grovemoe.experts_per_group"] = wrong;
    const Result<DecoderFeatures> features = readDecoder(source);
    ASSERT_FALSE(features) << wrong;
    EXPECT_THAT(features.error().message, HasSubstr("'grovemoe.experts_per_group' is"));
  }
}

struct Shared {
  const char *architecture;
  int64_t count, length; // 0: the file has no such key
  int64_t hidden;
};

class SharedExperts : public testing::TestWithParam<Shared> {};
INSTANTIATE_TEST_SUITE_P(
    Rules, SharedExperts,
    testing::Values(Shared{"exaone-moe", 2, 0, 64}, Shared{"exaone-moe", 1, 96, 96},
                    Shared{"cohere2moe", 0, 96, 0}, Shared{"cohere2moe", 2, 0, 128},
                    Shared{"cohere2moe", 2, 96, 96}, Shared{"laguna", 0, 0, 64},
                    Shared{"llama4", 0, 96, 64}, Shared{"hunyuan-moe", 0, 0, 256},
                    Shared{"granitemoe", 0, 0, 0}, Shared{"bailingmoe2", 2, 96, 192}));

TEST_P(SharedExperts, HaveTheHiddenRowOfTheirFamily) {
  FakeSource source = modelOf(GetParam().architecture);
  auto key = [&](const char *name) { return GetParam().architecture + std::string(".") + name; };
  for (const char *name : {"interleave_moe_layer_step", "attention.sliding_window"})
    source.values[key(name)] = int64_t(1);
  if (GetParam().count)
    source.values[key("expert_shared_count")] = GetParam().count;
  if (GetParam().length)
    source.values[key("expert_shared_feed_forward_length")] = GetParam().length;
  EXPECT_EQ(featuresOf(source).experts.sharedHidden, GetParam().hidden);
}

struct Lie {
  const char *architecture, *key;
  FakeSource::Value value;
  const char *message;
};

class ExpertLies : public testing::TestWithParam<Lie> {};
INSTANTIATE_TEST_SUITE_P(
    Keys, ExpertLies,
    testing::Values(
        Lie{"qwen3moe", "expert_count", int64_t(0), "'qwen3moe.expert_count' is 0, expected 1 to"},
        Lie{"qwen3moe", "expert_count", int64_t(100000), "expected 1 to 4096 experts"},
        Lie{"qwen3moe", "expert_used_count", int64_t(17),
            "'qwen3moe.expert_used_count' is 17, expected at most the 16 experts"},
        Lie{"qwen3moe", "expert_used_count", int64_t(0), "'qwen3moe.expert_used_count' is 0"},
        Lie{"qwen3moe", "expert_used_count", int64_t(-1), "'qwen3moe.expert_used_count' is -1"},
        Lie{"qwen3moe", "expert_group_count", int64_t(3),
            "'qwen3moe.expert_group_count' is 3, expected a divisor of the 16 experts"},
        Lie{"qwen3moe", "expert_group_count", int64_t(8), "qwen3moe.expert_group_used_count"},
        Lie{"qwen3moe", "expert_feed_forward_length", int64_t(-64),
            "'qwen3moe.expert_feed_forward_length' is -64"},
        Lie{"glm4moe", "expert_gating_func", int64_t(9), "'glm4moe.expert_gating_func' is 9"},
        Lie{"glm4moe", "leading_dense_block_count", int64_t(5),
            "'glm4moe.leading_dense_block_count' is 5, expected 0 to 4"},
        Lie{"ernie4_5-moe", "interleave_moe_layer_step", int64_t(0),
            "'ernie4_5-moe.interleave_moe_layer_step' is 0"},
        Lie{"llama4", "attention.sliding_window", int64_t(0),
            "'llama4.attention.sliding_window' is 0, expected 1 to"},
        Lie{"step35", "rope.dimension_count", int64_t(30),
            "'step35.rope.dimension_count' is 30, expected a multiple of 4"}));

TEST_P(ExpertLies, AreRefusedByKey) {
  const Lie &lie = GetParam();
  FakeSource source = modelOf(lie.architecture);
  source.values[std::string(lie.architecture) + ".expert_shared_count"] = int64_t(1);
  if (lie.architecture == std::string("step35")) {
    source.values["step35.attention.sliding_window"] = int64_t(32);
    source.values["step35.attention.sliding_window_pattern"] = int64_t(2);
  }
  if (lie.architecture == std::string("llama4"))
    source.values["llama4.interleave_moe_layer_step"] = int64_t(1);
  source.values[std::string(lie.architecture) + "." + lie.key] = lie.value;
  const Result<DecoderFeatures> features = readDecoder(source);
  ASSERT_FALSE(features);
  EXPECT_THAT(features.error().message, HasSubstr(lie.message));
}

} // namespace
} // namespace sinter::models
