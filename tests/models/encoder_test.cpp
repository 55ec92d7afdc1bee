// Encoders read from metadata and tensor tables: what distinguishes them from decoders, and one
// sentence for each way to be wrong.
#include "graph/graph.h"
#include "models/decoder.h"
#include "models/fake_source.h"
#include "plan/contract.h"
#include "tile/mlir_pch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::models {
namespace {

using testing::HasSubstr;

FakeSource smallBert() {
  constexpr int64_t kWidth = 32, kHidden = 64;
  FakeSource source;
  source.values = {{"general.architecture", std::string("bert")},
                   {"bert.embedding_length", kWidth},
                   {"bert.context_length", int64_t(64)},
                   {"bert.block_count", int64_t(2)},
                   {"bert.feed_forward_length", kHidden},
                   {"bert.attention.head_count", int64_t(2)},
                   {"bert.attention.layer_norm_epsilon", 1e-5},
                   {"bert.attention.causal", false}};
  const auto vector = [&](const std::string &name, int64_t length) {
    source.matrix(name + ".weight", {length}, TensorType::F32);
    source.matrix(name + ".bias", {length}, TensorType::F32);
  };
  const auto matrix = [&](const std::string &name, int64_t rows, int64_t columns) {
    source.matrix(name + ".weight", {rows, columns}, TensorType::F16);
    source.matrix(name + ".bias", {rows}, TensorType::F32);
  };
  source.matrix("token_embd.weight", {100, kWidth}, TensorType::F16);
  source.matrix("position_embd.weight", {64, kWidth}, TensorType::F32);
  source.matrix("token_types.weight", {2, kWidth}, TensorType::F32);
  vector("token_embd_norm", kWidth);
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    for (const char *part : {"attn_q", "attn_k", "attn_v", "attn_output"})
      matrix(layer + part, kWidth, kWidth);
    vector(layer + "attn_output_norm", kWidth);
    matrix(layer + "ffn_up", kHidden, kWidth);
    matrix(layer + "ffn_down", kWidth, kHidden);
    vector(layer + "layer_output_norm", kWidth);
  }
  return source;
}

std::string refusal(const FakeSource &source) {
  auto features = readDecoder(source);
  if (!features)
    return features.error().message;
  mlir::MLIRContext context;
  graph::loadDialects(context);
  auto module = buildDecoder(context, *features, source);
  return module ? "" : module.error().message;
}

TEST(Encoder, GivesEmbeddingsOfTokensThatSeeBothWays) {
  FakeSource source = smallBert();
  auto features = readDecoder(source);
  ASSERT_TRUE(features) << features.error().message;
  EXPECT_FALSE(features->givesLogits());
  mlir::MLIRContext context;
  graph::loadDialects(context);
  auto module = buildDecoder(context, *features, source);
  ASSERT_TRUE(module) << module.error().message;
  int64_t both = 0;
  (*module)->walk([&](graph::PagedAttentionOp op) { both += op.getBoth(); });
  EXPECT_EQ(both, 2);
  std::vector<std::string> outputs;
  (*module)->walk([&](graph::OutputOp op) { outputs.push_back(op.getName().str()); });
  EXPECT_EQ(outputs, std::vector<std::string>{contract::kEmbeddings.name});
}

TEST(Encoder, TokensSeeBothWaysUnlessTheFileSaysOtherwise) {
  FakeSource silent = smallBert(), causal = smallBert();
  silent.values.erase("bert.attention.causal");
  causal.values["bert.attention.causal"] = true;
  EXPECT_TRUE(readDecoder(silent)->bothWays);
  EXPECT_FALSE(readDecoder(causal)->bothWays);
  EXPECT_FALSE(readDecoder(causal)->givesLogits()); // there is no output matrix
}

TEST(Encoder, DecodersThatSeeBothWaysGiveNoLogits) {
  FakeSource source = smallLlama();
  EXPECT_TRUE(readDecoder(source)->givesLogits());
  source.values["llama.attention.causal"] = false;
  EXPECT_FALSE(readDecoder(source)->givesLogits());
  EXPECT_EQ(refusal(source), "");
}

TEST(Encoder, WindowsThatAreNotSymmetricDoNotLookAhead) {
  FakeSource source = smallLlama();
  for (auto values = source.values; const auto &[key, value] : values)
    if (key.starts_with("llama."))
      source.values["gemma2." + key.substr(6)] = value;
  source.values["general.architecture"] = std::string("gemma2");
  source.values["gemma2.attention.sliding_window"] = int64_t(8);
  source.values["gemma2.attention.causal"] = false;
  EXPECT_THAT(refusal(source), HasSubstr("'gemma2.attention.causal' is false, expected true with "
                                         "the windows of 'gemma2'"));
}

TEST(Encoder, TensorsOfOtherShapesAreRefused) {
  FakeSource types = smallBert(), positions = smallBert(), norm = smallBert();
  types.matrix("token_types.weight", {2, 31}, TensorType::F32);
  positions.matrix("position_embd.weight", {63, 32}, TensorType::F32);
  norm.tensors.erase("blk.1.layer_output_norm.weight");
  EXPECT_THAT(refusal(types), HasSubstr("'token_types.weight' has shape [2, 31], expected [2, 32]"));
  EXPECT_THAT(refusal(positions), HasSubstr("has shape [63, 32], expected [64, 32]"));
  EXPECT_THAT(refusal(norm), HasSubstr("no tensor 'blk.1.layer_output_norm.weight'"));
}

TEST(Encoder, TensorsOfOtherEncodersAreRefused) {
  FakeSource source = smallBert();
  source.matrix("blk.0.ffn_gate.weight", {64, 32}, TensorType::F16);
  EXPECT_THAT(refusal(source), HasSubstr("'blk.0.ffn_gate.weight'"));
}

} // namespace
} // namespace sinter::models
