// Qwen2 and Qwen3 as plans: what a bias and norms of heads cost in launches, and that neither
// brings a launch of its own kind.
#include "engine/engine.h"
#include "engine/tiny_gguf.h"
#include "plan/walk.h"

#include <gmock/gmock.h>

namespace sinter::engine {
namespace {

using testing::Contains;

// The small llama of the models' tests as another family, with heads of 64 and three layers.
models::FakeSource familyOf(const std::string &architecture) {
  constexpr int64_t kHeads = 2, kKvHeads = 1, kHeadDim = 64, kWidth = 128, kHidden = 256;
  models::FakeSource source;
  auto key = [&](const char *name) { return architecture + "." + name; };
  source.values = {{"general.architecture", architecture},
                   {key("block_count"), int64_t(3)},
                   {key("embedding_length"), kWidth},
                   {key("feed_forward_length"), kHidden},
                   {key("attention.head_count"), kHeads},
                   {key("attention.head_count_kv"), kKvHeads},
                   {key("attention.key_length"), kHeadDim},
                   {key("context_length"), int64_t(256)},
                   {key("attention.layer_norm_rms_epsilon"), 1e-6}};
  auto matrix = [&](const std::string &name, int64_t rows, int64_t columns) {
    source.matrix(name, {rows, columns}, TensorType::Q8_0);
  };
  auto vector = [&](const std::string &name, int64_t length) {
    source.matrix(name, {length}, TensorType::F32);
  };
  matrix("token_embd.weight", 64, kWidth);
  vector("output_norm.weight", kWidth);
  for (int layer = 0; layer < 3; ++layer) {
    const std::string at = "blk." + std::to_string(layer) + ".";
    vector(at + "attn_norm.weight", kWidth);
    matrix(at + "attn_q.weight", kHeads * kHeadDim, kWidth);
    matrix(at + "attn_k.weight", kKvHeads * kHeadDim, kWidth);
    matrix(at + "attn_v.weight", kKvHeads * kHeadDim, kWidth);
    matrix(at + "attn_output.weight", kWidth, kHeads * kHeadDim);
    if (architecture == "qwen2") {
      vector(at + "attn_q.bias", kHeads * kHeadDim);
      vector(at + "attn_k.bias", kKvHeads * kHeadDim);
      vector(at + "attn_v.bias", kKvHeads * kHeadDim);
    } else if (architecture == "qwen3") {
      vector(at + "attn_q_norm.weight", kHeadDim);
      vector(at + "attn_k_norm.weight", kHeadDim);
    }
    vector(at + "ffn_norm.weight", kWidth);
    matrix(at + "ffn_gate.weight", kHidden, kWidth);
    matrix(at + "ffn_up.weight", kHidden, kWidth);
    matrix(at + "ffn_down.weight", kWidth, kHidden);
  }
  return source;
}

plan::Plan planFor(const std::string &architecture, const std::string &target) {
  EngineOptions options;
  options.target = target;
  Result<plan::Plan> plan = planOf(familyOf(architecture), options);
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? std::move(*plan) : plan::Plan();
}

// What the launches of a step of 64 prefill tokens do, in order.
void collect(const plan::Plan &plan, const std::vector<plan::Step> &steps,
             std::vector<std::vector<std::string>> &launches) {
  std::vector<int64_t> values;
  for (const plan::Symbol &symbol : plan.symbols)
    values.push_back(symbol.name == "T"   ? 64
                     : symbol.name == "G" ? 0
                                          : std::max<int64_t>(1, symbol.min));
  for (const plan::Step &step : steps) {
    if (auto *launch = std::get_if<plan::Launch>(&step.op))
      launches.push_back(launch->covers);
    else if (auto *branch = std::get_if<plan::If>(&step.op)) {
      const Result<int64_t> condition = plan::evaluate(branch->condition, values);
      ASSERT_TRUE(condition) << condition.error().message;
      collect(plan, *condition ? branch->thenSteps : branch->elseSteps, launches);
    }
  }
}

std::vector<std::vector<std::string>> launchesOf(const plan::Plan &plan) {
  std::vector<std::vector<std::string>> launches;
  collect(plan, plan.procedures.at(0).steps, launches);
  return launches;
}

// Launches of a layer that is not the last: from one attention to the next.
size_t launchesOfALayer(const std::vector<std::vector<std::string>> &launches) {
  std::vector<size_t> attention;
  for (size_t i = 0; i < launches.size(); ++i)
    if (launches[i].front() == "paged_attention")
      attention.push_back(i);
  EXPECT_EQ(attention.size(), 3u);
  return attention.size() == 3 ? attention[1] - attention[0] : 0;
}

class Families : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Targets, Families, testing::Values("avx2", "cuda:sm_90a"));

TEST_P(Families, ABiasCostsNoLaunch) {
  const auto launches = launchesOf(planFor("qwen2", GetParam()));
  EXPECT_LE(launchesOfALayer(launches), 7u);
  EXPECT_THAT(launches, Contains(testing::ElementsAre("dot_general (3 joined)", "map (addf)",
                                                      "rope", "rope", "kv_append", "kv_append")));
}

TEST_P(Families, NormsOfHeadsCostOneLaunch) {
  const auto launches = launchesOf(planFor("qwen3", GetParam()));
  EXPECT_LE(launchesOfALayer(launches), 8u);
  EXPECT_THAT(launches, Contains(testing::ElementsAre("norm", "norm", "rope", "rope", "kv_append",
                                                      "kv_append")));
}

TEST_P(Families, ABiasIsPackedInTheOrderOfItsWeightsRows) {
  const plan::Plan plan = planFor("qwen2", GetParam());
  for (const plan::Buffer &weight : plan.buffers) {
    if (weight.tensors.empty() || !weight.tensors[0].ends_with("attn_q.weight"))
      continue;
    std::string bias = weight.tensors[0];
    bias.replace(bias.size() - 6, 6, "bias");
    const auto found = std::ranges::find_if(plan.buffers, [&](const plan::Buffer &buffer) {
      return !buffer.tensors.empty() && buffer.tensors[0] == bias;
    });
    ASSERT_NE(found, plan.buffers.end()) << bias;
    EXPECT_EQ(found->tensors.size(), weight.tensors.size());
    EXPECT_EQ(found->pack.rowOrder, weight.pack.rowOrder) << bias;
  }
}

TEST(FamilyTensors, AMissingBiasOrNormIsNamed) {
  for (auto [architecture, tensor] :
       {std::pair("qwen2", "blk.1.attn_k.bias"), std::pair("qwen3", "blk.2.attn_q_norm.weight")}) {
    models::FakeSource source = familyOf(architecture);
    source.tensors.erase(tensor);
    const Result<plan::Plan> plan = planOf(source);
    ASSERT_FALSE(plan) << tensor;
    EXPECT_THAT(plan.error().message, testing::HasSubstr(tensor));
  }
}

} // namespace
} // namespace sinter::engine
