// Decoders read from metadata and tensor tables: the graph that comes out, and one sentence for
// each way to be wrong.
#include "models/decoder.h"
#include "models/fake_source.h"
#include "tile/mlir_pch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::models {
namespace {

using testing::HasSubstr;

// What building the model says when it fails.
std::string refusal(const FakeSource &source) {
  auto features = readDecoder(source);
  if (!features)
    return features.error().message;
  mlir::MLIRContext context;
  graph::loadDialects(context);
  auto module = buildDecoder(context, *features, source);
  return module ? "" : module.error().message;
}

template <class Op> int64_t countOf(mlir::ModuleOp module) {
  int64_t count = 0;
  module.walk([&](Op) { ++count; });
  return count;
}

TEST(Decoder, FeaturesComeFromTheFamilysKeys) {
  auto f = readDecoder(smallLlama());
  ASSERT_TRUE(f) << f.error().message;
  EXPECT_EQ(f->layers, 2);
  EXPECT_EQ(f->width, 64);
  EXPECT_EQ(f->feedForward, 96);
  EXPECT_EQ(f->heads, 4);
  EXPECT_EQ(f->kvHeads, 2);
  EXPECT_EQ(f->headDim, 16);
  EXPECT_EQ(f->ropeDims, 16);
  EXPECT_EQ(f->vocabulary, 100);
  EXPECT_EQ(f->ropeBase, 10000.0f);
  EXPECT_TRUE(f->tiedOutput);
}

TEST(Decoder, GraphHasTheOperationsOfEachLayer) {
  FakeSource source = smallLlama();
  mlir::MLIRContext context;
  graph::loadDialects(context);
  auto module = buildDecoder(context, *readDecoder(source), source);
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_EQ(countOf<graph::AttendOp>(**module), 2);
  EXPECT_EQ(countOf<graph::ScatterOp>(**module), 2);
  EXPECT_EQ(countOf<graph::ContractOp>(**module), 2 * 7 + 1);
  // The last layer's first norm is of all tokens, for keys, and of those whose logits are wanted.
  EXPECT_EQ(countOf<graph::NormOp>(**module), 2 * 2 + 1 + 1);
  EXPECT_EQ(countOf<graph::InputOp>(**module), 9);
  // One for each tensor: the embedding is the output matrix too.
  EXPECT_EQ(countOf<graph::WeightOp>(**module), static_cast<int64_t>(source.tensorNames().size()));
  EXPECT_EQ(countOf<graph::OutputOp>(**module), 1);
}

// Keys and values are made of all tokens; whatever else the last layer does works on the rows whose
// logits are wanted.
TEST(Decoder, TheLastLayerWorksOnRowsWhoseLogitsAreWanted) {
  FakeSource source = smallLlama();
  mlir::MLIRContext context;
  graph::loadDialects(context);
  auto module = buildDecoder(context, *readDecoder(source), source);
  ASSERT_TRUE(module) << module.error().message;
  std::map<std::string, int> contracts, attends;
  const auto rows = [](mlir::Operation *op) {
    return graph::symbolOf(llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType()), 0).str();
  };
  (*module)->walk([&](graph::ContractOp op) { ++contracts[rows(op)]; });
  (*module)->walk([&](graph::AttendOp op) { ++attends[rows(op)]; });
  EXPECT_EQ(contracts, (std::map<std::string, int>{{"T", 7 + 2}, {"R", 5 + 1}}));
  EXPECT_EQ(attends, (std::map<std::string, int>{{"T", 1}, {"R", 1}}));
}

TEST(Decoder, UntiedOutputUsesItsOwnMatrix) {
  FakeSource source = smallLlama();
  source.matrix("output.weight", {100, 64}, TensorType::Q8_0);
  mlir::MLIRContext context;
  graph::loadDialects(context);
  auto module = buildDecoder(context, *readDecoder(source), source);
  ASSERT_TRUE(module) << module.error().message;
  std::string text;
  llvm::raw_string_ostream(text) << **module;
  EXPECT_THAT(text,
              HasSubstr("graph.weight [\"output.weight\"] : tensor<100x64x!tile.block<\"q8_0\">>"));
}

TEST(Decoder, EachMissingKeyIsNamed) {
  const FakeSource whole = smallLlama();
  for (std::string key :
       {"llama.block_count", "llama.embedding_length", "llama.feed_forward_length",
        "llama.attention.head_count", "llama.context_length",
        "llama.attention.layer_norm_rms_epsilon", "general.architecture"}) {
    FakeSource source = whole;
    source.values.erase(key);
    EXPECT_THAT(refusal(source), HasSubstr(key));
  }
}

TEST(Decoder, EachAbsurdCountIsNamedWithItsBounds) {
  const FakeSource whole = smallLlama();
  for (std::string key :
       {"llama.block_count", "llama.embedding_length", "llama.feed_forward_length",
        "llama.attention.head_count", "llama.attention.head_count_kv", "llama.context_length"})
    for (int64_t value : {int64_t(0), int64_t(-1), INT64_MAX}) {
      FakeSource source = whole;
      source.values[key] = value;
      EXPECT_THAT(refusal(source),
                  HasSubstr("'" + key + "' is " + std::to_string(value) + ", expected 1 to"));
    }
}

TEST(Decoder, AbsurdNumbersAreNamed) {
  const FakeSource whole = smallLlama();
  for (std::string key : {"llama.rope.freq_base", "llama.attention.layer_norm_rms_epsilon"})
    for (double value : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), 1e300}) {
      FakeSource source = whole;
      source.values[key] = value;
      EXPECT_THAT(refusal(source), HasSubstr("'" + key + "' is")) << value;
    }
}

TEST(Decoder, AnotherArchitectureIsRefusedWithThoseKnown) {
  FakeSource source = smallLlama();
  source.values["general.architecture"] = std::string("mamba");
  EXPECT_EQ(refusal(source), "the model's architecture is 'mamba', expected one of: llama");
}

TEST(Decoder, HeadsThatDoNotGroupAreRefused) {
  FakeSource source = smallLlama();
  source.values["llama.attention.head_count_kv"] = int64_t(3);
  EXPECT_THAT(refusal(source), HasSubstr("is 3, expected a divisor of the 4 heads"));
}

TEST(Decoder, FeaturesWithoutAFormAreRefused) {
  FakeSource experts = smallLlama(), window = smallLlama(), scaled = smallLlama();
  experts.values["llama.expert_count"] = int64_t(8);
  window.values["llama.attention.sliding_window"] = int64_t(4096);
  scaled.values["llama.rope.scaling.type"] = std::string("yarn");
  EXPECT_THAT(refusal(experts), HasSubstr("'llama.expert_count' is 8"));
  EXPECT_THAT(refusal(window), HasSubstr("'llama.attention.sliding_window' is 4096"));
  EXPECT_THAT(refusal(scaled), HasSubstr("'llama.rope.scaling.type' is 'yarn', expected 'none'"));
}

TEST(Decoder, VocabularyOfAnotherSizeThanTheEmbeddingIsRefused) {
  FakeSource source = smallLlama();
  source.values["llama.vocab_size"] = int64_t(99);
  EXPECT_THAT(refusal(source), HasSubstr("'llama.vocab_size' is 99, expected 100"));
}

TEST(Decoder, EachMissingTensorIsNamed) {
  const FakeSource whole = smallLlama();
  for (const std::string &name : whole.tensorNames()) {
    FakeSource source = whole;
    source.tensors.erase(name);
    EXPECT_THAT(refusal(source), HasSubstr("'" + name + "'"));
  }
}

TEST(Decoder, EachTensorOfAnotherShapeIsNamed) {
  const FakeSource whole = smallLlama();
  for (const std::string &name : whole.tensorNames()) {
    FakeSource source = whole;
    source.tensors[name].shape.back() += 32;
    EXPECT_THAT(refusal(source), HasSubstr("tensor '" + name + "' has shape")) << name;
  }
}

TEST(Decoder, TensorTypesWithoutAGraphElementAreRefused) {
  FakeSource integers = smallLlama(), norms = smallLlama();
  integers.matrix("blk.0.attn_q.weight", {64, 64}, TensorType::I32);
  norms.matrix("blk.1.ffn_norm.weight", {64}, TensorType::F16);
  EXPECT_THAT(refusal(integers),
              HasSubstr("tensor 'blk.0.attn_q.weight' has type I32, expected F32, F16"));
  EXPECT_THAT(refusal(norms),
              HasSubstr("tensor 'blk.1.ffn_norm.weight' has type F16, expected F32"));
}

TEST(Decoder, TensorThatTheDecoderHasNoPlaceForIsRefused) {
  FakeSource source = smallLlama();
  source.matrix("blk.0.attn_q.bias", {64}, TensorType::F32);
  EXPECT_THAT(
      refusal(source),
      HasSubstr("'blk.0.attn_q.bias', which a decoder of architecture 'llama' has no place for"));
}

} // namespace
} // namespace sinter::models
