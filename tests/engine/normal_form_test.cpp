// The frozen form of plans: what a change of the compiler that should change no launch and no code
// must keep. tests/data/normal_forms.txt has a digest for each plan. With
// SINTER_NORMAL_FORMS=FOLDER the texts and that file are written there, to be compared with those
// of another build.
#include "base/sha256.h"
#include "engine/engine.h"
#include "engine/tiny_gguf.h"
#include "sampling.h"

#include <gtest/gtest.h>

#include <fstream>

namespace sinter::engine {
namespace {

struct Shape {
  std::string name;
  int64_t width, heads, kvHeads, headDim, feedForward, vocabulary;
  bool tied;
};
const Shape kSmall{"small", 576, 9, 3, 64, 1536, 1000, true};
const Shape kMiddle{"middle", 2048, 16, 8, 128, 6144, 1000, false};

const std::map<std::string, std::string> kTargets = {
    {"avx2", "avx2"},
    {"avx512vnni", "avx512vnni"},
    {"aarch64", "dotprod"},
    {"sm_90a", "cuda:sm_90a"},
    // What Mesa's CPU driver offers.
    {"vulkan", "vulkan:1.3+subgroup8+dot+even16+float16+float64+int16+int8+threads1024+"
               "shared32768"}};

struct FrozenPlan {
  Shape shape;
  TensorType type;
  std::string target; // a key of kTargets

  std::string name() const {
    return shape.name + "-" + std::string(blockFormat(type).name) + "-" + target;
  }
};

std::vector<FrozenPlan> frozenPlans() {
  std::vector<FrozenPlan> plans;
  for (const Shape &shape : {kSmall, kMiddle})
    for (TensorType type : {TensorType::F16, TensorType::BF16, TensorType::Q8_0, TensorType::Q4_0,
                            TensorType::Q5_1, TensorType::Q4_K})
      for (const auto &[target, full] : kTargets)
        plans.push_back({shape, type, target});
  return plans;
}

// Two layers: the first of several and the last, whose rows are those of logits.
models::FakeSource llamaOf(const Shape &s, TensorType type) {
  models::FakeSource source;
  source.values = {{"general.architecture", std::string("llama")},
                   {"llama.block_count", int64_t(2)},
                   {"llama.embedding_length", s.width},
                   {"llama.feed_forward_length", s.feedForward},
                   {"llama.attention.head_count", s.heads},
                   {"llama.attention.head_count_kv", s.kvHeads},
                   {"llama.attention.key_length", s.headDim},
                   {"llama.attention.value_length", s.headDim},
                   {"llama.context_length", int64_t(8192)},
                   {"llama.rope.freq_base", 10000.0},
                   {"llama.attention.layer_norm_rms_epsilon", 1e-5}};
  // A row that is no whole number of blocks stays in F16, as llama.cpp's quantizer leaves it.
  auto matrix = [&](const std::string &name, int64_t rows, int64_t columns) {
    const bool whole = columns % blockFormat(type).blockLength == 0;
    source.matrix(name, {rows, columns}, whole ? type : TensorType::F16);
  };
  auto vector = [&](const std::string &name) { source.matrix(name, {s.width}, TensorType::F32); };
  matrix("token_embd.weight", s.vocabulary, s.width);
  vector("output_norm.weight");
  if (!s.tied)
    matrix("output.weight", s.vocabulary, s.width);
  for (std::string layer : {"blk.0.", "blk.1."}) {
    vector(layer + "attn_norm.weight");
    matrix(layer + "attn_q.weight", s.heads * s.headDim, s.width);
    matrix(layer + "attn_k.weight", s.kvHeads * s.headDim, s.width);
    matrix(layer + "attn_v.weight", s.kvHeads * s.headDim, s.width);
    matrix(layer + "attn_output.weight", s.width, s.heads * s.headDim);
    vector(layer + "ffn_norm.weight");
    matrix(layer + "ffn_gate.weight", s.feedForward, s.width);
    matrix(layer + "ffn_up.weight", s.feedForward, s.width);
    matrix(layer + "ffn_down.weight", s.width, s.feedForward);
  }
  return source;
}

// "refused" where the target has no kernels for the format: messages may change.
std::string normalFormOf(const FrozenPlan &plan) {
  const std::vector<uint8_t> bytes = ggufOf(llamaOf(plan.shape, plan.type));
  Result<GgufFile> file = GgufFile::parse(bytes);
  EXPECT_TRUE(file);
  EngineOptions options;
  options.target = kTargets.at(plan.target);
  Result<std::string> text =
      buildNormalForm(*file, options, [](std::string_view, uint32_t, uint32_t) {});
  if (!text)
    EXPECT_EQ(text.error().code, Code::Unsupported) << text.error().message;
  return text ? *text : "refused";
}

std::string digestOf(const std::string &text) {
  Result<Sha256Digest> digest =
      sha256({std::span(reinterpret_cast<const uint8_t *>(text.data()), text.size())});
  return digest->hex().substr(0, 16);
}

std::map<std::string, std::string> reference() {
  std::ifstream file(std::string(SINTER_TEST_DIR) + "/data/normal_forms.txt");
  std::map<std::string, std::string> digests;
  for (std::string name, digest; file >> name >> digest;)
    digests[name] = digest;
  return digests;
}

TEST(NormalForm, EachFrozenPlanHasALineOfTheReference) {
  const std::map<std::string, std::string> digests = reference();
  EXPECT_EQ(digests.size(), frozenPlans().size());
  for (const FrozenPlan &plan : frozenPlans())
    EXPECT_TRUE(digests.contains(plan.name())) << plan.name();
}

TEST(NormalForm, PlansAreThoseOfTheReference) {
  const std::map<std::string, std::string> digests = reference();
  const char *folder = std::getenv("SINTER_NORMAL_FORMS");
  std::ofstream lines(folder ? std::string(folder) + "/normal_forms.txt" : "/dev/null");
  auto properties = [](const FrozenPlan &plan) {
    return std::vector{plan.shape.name, std::string(blockFormat(plan.type).name), plan.target};
  };
  for (const FrozenPlan &plan : folder ? frozenPlans() : sampled(frozenPlans(), properties)) {
    const std::string text = normalFormOf(plan), digest = digestOf(text);
    lines << plan.name() << " " << digest << "\n";
    if (folder)
      std::ofstream(std::string(folder) + "/" + plan.name() + ".txt") << text;
    auto found = digests.find(plan.name());
    EXPECT_EQ(digest, found == digests.end() ? "" : found->second)
        << plan.name() << ": compare the texts that SINTER_NORMAL_FORMS=FOLDER writes";
  }
}

} // namespace
} // namespace sinter::engine
