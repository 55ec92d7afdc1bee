// Decoders read from metadata and tensor tables: the graph that comes out, and one sentence for
// each way to be wrong.
#include "format/known_names.h"
#include "graph/graph.h"
#include "models/decoder.h"
#include "models/fake_source.h"
#include "tile/mlir_pch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::models {
namespace {

using testing::ElementsAre;
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
  ASSERT_EQ(f->layers.size(), 2u);
  EXPECT_EQ(f->width, 64);
  EXPECT_EQ(f->layers[1].feedForward, 96);
  EXPECT_EQ(f->heads, 4);
  EXPECT_EQ(f->kvHeads, 2);
  EXPECT_EQ(f->headDim, 16);
  EXPECT_EQ(f->ropeDims, 16);
  EXPECT_EQ(f->vocabulary, 100);
  EXPECT_EQ(f->rope.base, 10000.0f);
  EXPECT_TRUE(f->tiedOutput);
}

TEST(Decoder, GraphHasTheOperationsOfEachLayer) {
  FakeSource source = smallLlama();
  mlir::MLIRContext context;
  graph::loadDialects(context);
  auto module = buildDecoder(context, *readDecoder(source), source);
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_EQ(countOf<graph::PagedAttentionOp>(**module), 2);
  EXPECT_EQ(countOf<graph::KvAppendOp>(**module), 4);
  EXPECT_EQ(countOf<graph::DotGeneralOp>(**module), 2 * 7 + 1);
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
  (*module)->walk([&](graph::DotGeneralOp op) { ++contracts[rows(op)]; });
  (*module)->walk([&](graph::PagedAttentionOp op) { ++attends[rows(op)]; });
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

TEST(Decoder, LayersThatLookBackLessAreAKvGroupOfTheirOwnWhereOthersSeeMore) {
  struct Sight {
    int64_t window, chunk;
  };
  const auto groupsOf = [](std::vector<Sight> layers, bool bothWays = false) {
    DecoderFeatures f;
    f.contextLength = 256;
    f.bothWays = bothWays;
    for (const Sight &sight : layers) {
      LayerFeatures &layer = f.layers.emplace_back();
      layer.heads = layer.kvHeads = 1;
      layer.window = sight.window;
      layer.chunk = sight.chunk;
    }
    std::vector<size_t> groups;
    for (const LayerFeatures &layer : f.layers)
      groups.push_back(f.kvGroupOf(layer));
    return groups;
  };
  EXPECT_THAT(groupsOf({{32, 0}, {0, 0}, {32, 0}}), ElementsAre(1, 0, 1));
  EXPECT_THAT(groupsOf({{0, 64}, {0, 0}}), ElementsAre(1, 0));
  EXPECT_THAT(groupsOf({{32, 0}, {32, 0}}), ElementsAre(0, 0));
  EXPECT_THAT(groupsOf({{256, 0}, {0, 256}, {0, 0}}), ElementsAre(0, 0, 0)) << "whole contexts";
  EXPECT_THAT(groupsOf({{32, 0}, {0, 0}}, true), ElementsAre(0, 0)) << "one step holds a text";
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
    for (double value : {-1.0, std::numeric_limits<double>::quiet_NaN(), 1e300}) {
      FakeSource source = whole;
      source.values[key] = value;
      EXPECT_THAT(refusal(source), HasSubstr("'" + key + "' is")) << value;
    }
}

TEST(Decoder, AnotherArchitectureIsRefusedWithThoseKnown) {
  FakeSource source = smallLlama();
  source.values["general.architecture"] = std::string("mamba");
  EXPECT_THAT(refusal(source),
              testing::MatchesRegex("the model's architecture is 'mamba', expected one of the "
                                    "[0-9]+ that `sinter-compiler architectures` lists.*"));
}

TEST(Decoder, HeadsThatDoNotGroupAreRefused) {
  FakeSource source = smallLlama();
  source.values["llama.attention.head_count_kv"] = int64_t(3);
  EXPECT_THAT(refusal(source), HasSubstr("is 3, expected a divisor of the 4 heads"));
}

TEST(Decoder, ExpertsWithoutTheNumberThatATokenUsesAreRefused) {
  FakeSource experts = smallLlama();
  experts.values["llama.expert_count"] = int64_t(8);
  EXPECT_THAT(refusal(experts), HasSubstr("no key 'llama.expert_used_count'"));
}

TEST(Decoder, NeutralValuesOfFeaturesWithoutAFormAreAccepted) {
  FakeSource source = smallLlama();
  source.values["llama.expert_count"] = int64_t(0);
  source.values["llama.attention.causal"] = true;
  source.values["llama.logit_scale"] = 1.0;
  source.values["llama.rope.scaling.yarn_beta_fast"] = 32.0;
  EXPECT_EQ(refusal(source), "");
}

// Either the decoder reads the key and says what is wrong, or it says that the key goes unused.
TEST(Decoder, NoKeyThatChangesResultsIsLeftOutInSilence) {
  for (auto [table, prefix] : {std::pair(architectureKeys(), "llama."), std::pair(fileKeys(), "")})
    for (const KnownName &row : table) {
      std::string key = prefix + std::string(row.pattern);
      if (row.effect == NameEffect::Harmless || key.starts_with("tokenizer."))
        continue;
      for (size_t star; (star = key.find('*')) != std::string::npos;)
        key.replace(star, 1, "x");
      FakeSource source = smallLlama();
      source.values[key] = std::string("no such value");
      const auto features = readDecoder(source);
      const bool isArchitecture = key == "general.architecture";
      const std::string named = isArchitecture ? "no such value" : "'" + key + "'";
      if (features)
        EXPECT_THAT(features->unusedKeys, testing::Contains(HasSubstr(named)));
      else
        EXPECT_THAT(features.error().message, HasSubstr(named));
    }
}

TEST(Decoder, HarmlessAndUnknownKeysAndTensorsAreAccepted) {
  FakeSource source = smallLlama();
  for (const char *key : {"general.name", "llama.tensor_data_layout", "llama.nobody_knows"})
    source.values[key] = std::string("anything");
  source.matrix("nobody.knows", {64}, TensorType::F32);
  source.matrix("v.patch_embd.weight", {64, 64}, TensorType::F16);
  EXPECT_EQ(refusal(source), "");
}

RopeScaling scalingOf(const std::map<std::string, FakeSource::Value> &values) {
  FakeSource source = smallLlama();
  for (const auto &[key, value] : values)
    source.values["llama.rope." + key] = value;
  auto features = readDecoder(source);
  EXPECT_TRUE(features) << features.error().message;
  return features ? features->rope.scaling : RopeScaling();
}

TEST(Decoder, AScalingFactorWithoutATypeIsLinear) {
  for (const char *key : {"scaling.factor", "scale_linear"}) {
    const RopeScaling scaling = scalingOf({{key, 4.0}});
    EXPECT_EQ(scaling.kind, RopeScaling::Kind::Linear) << key;
    EXPECT_EQ(scaling.factor, 4) << key;
  }
  EXPECT_EQ(scalingOf({{"scaling.factor", 2.0}, {"scale_linear", 4.0}}).factor, 2);
  EXPECT_EQ(scalingOf({{"scaling.factor", 0.0}, {"scale_linear", 4.0}}).factor, 1);
}

TEST(Decoder, TheTypeOfScalingDecidesWhatTheFactorDoes) {
  const auto typed = [](const char *type) {
    return scalingOf({{"scaling.type", std::string(type)}, {"scaling.factor", 4.0}});
  };
  EXPECT_EQ(typed("none").kind, RopeScaling::Kind::None);
  EXPECT_EQ(typed("linear").kind, RopeScaling::Kind::Linear);
  EXPECT_EQ(typed("yarn").kind, RopeScaling::Kind::Yarn);
  EXPECT_EQ(typed("yarn").originalContext, 256); // the model's own where the file names none
}

TEST(Decoder, ScalingThatIsNotSupportedIsRefused) {
  const auto refusalOf = [](const std::string &key, const FakeSource::Value &value) {
    FakeSource source = smallLlama();
    source.values["llama.rope." + key] = value;
    return refusal(source);
  };
  EXPECT_EQ(refusalOf("scaling.type", std::string("ntk")),
            "'llama.rope.scaling.type' is 'ntk', expected 'none', 'linear', 'yarn' or 'longrope'");
  for (double factor : {-4.0, 1e-30, 1e30, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THAT(refusalOf("scaling.factor", factor), HasSubstr("'llama.rope.scaling.factor' is"));
  EXPECT_THAT(refusalOf("scaling.attn_factor", 0.0),
              HasSubstr("'llama.rope.scaling.attn_factor' is"));
  EXPECT_THAT(refusalOf("scaling.yarn_beta_fast", -1.0),
              HasSubstr("'llama.rope.scaling.yarn_beta_fast' is -1"));
}

// The rotations of a model with these keys.
std::vector<graph::RopeTableOp> rotationsOf(mlir::MLIRContext &context, const FakeSource &source,
                                            mlir::OwningOpRef<mlir::ModuleOp> &module) {
  graph::loadDialects(context);
  auto built = buildDecoder(context, *readDecoder(source), source);
  EXPECT_TRUE(built) << built.error().message;
  std::vector<graph::RopeTableOp> found;
  if (built)
    module = std::move(*built);
  if (module)
    module->walk([&](graph::RopeTableOp op) { found.push_back(op); });
  EXPECT_EQ(found.size(), 2u); // of all tokens, and of those whose logits are wanted
  return found;
}

TEST(Decoder, ScalingIsInEachRotation) {
  FakeSource source = smallLlama();
  source.values["llama.rope.scaling.factor"] = 4.0;
  source.values["llama.rope.scaling.attn_factor"] = 0.5;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  for (graph::RopeTableOp op : rotationsOf(context, source, module)) {
    EXPECT_EQ(op.getScales()->vec(), std::vector<float>(8, 0.25f));
    EXPECT_EQ(op.getMagnitude()->convertToFloat(), 0.5f);
    EXPECT_FALSE(op.getDivisors());
  }
}

TEST(Decoder, DivisorsOfFrequenciesAreAWeightOfEachRotation) {
  FakeSource source = smallLlama();
  source.matrix("rope_freqs.weight", {8}, TensorType::F32);
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  for (graph::RopeTableOp op : rotationsOf(context, source, module)) {
    EXPECT_TRUE(op.getDivisors().getDefiningOp<graph::WeightOp>());
    EXPECT_FALSE(op.getScales() || op.getMagnitude());
  }
}

TEST(Decoder, DivisorsOfOtherPairsThanRotateAreRefused) {
  FakeSource other = smallLlama(), longer = smallLlama();
  other.matrix("rope_freqs.weight", {9}, TensorType::F32);
  EXPECT_THAT(refusal(other), HasSubstr("'rope_freqs.weight' has shape [9], expected [8]"));
  longer.values["llama.rope.scaling.original_context_length"] = int64_t(128);
  longer.matrix("rope_factors_long.weight", {7}, TensorType::F32);
  EXPECT_THAT(refusal(longer), HasSubstr("'rope_factors_long.weight' has shape [7], expected [8]"));
}

TEST(Decoder, RopeOfAPartOfAHeadHasATableAndDivisorsOfThatPart) {
  FakeSource source = smallLlama();
  source.values["llama.rope.dimension_count"] = int64_t(8);
  source.matrix("rope_freqs.weight", {4}, TensorType::F32);
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  for (graph::RopeTableOp op : rotationsOf(context, source, module)) {
    EXPECT_EQ(op.getDims(), 8u);
    EXPECT_EQ(op.getDivisors().getType().getDimSize(0), 4);
  }
  module->walk([](graph::RopeOp op) { EXPECT_EQ(op.rotating(), 8); });
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
  source.matrix("blk.0.attn_q_norm.weight", {16}, TensorType::F32);
  EXPECT_THAT(refusal(source), HasSubstr("'blk.0.attn_q_norm.weight', which a decoder of "
                                         "architecture 'llama' has no place for"));
}

} // namespace
} // namespace sinter::models
