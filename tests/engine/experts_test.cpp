// Decoders with experts as plans: what a layer costs in launches, and that costs count the experts
// that tokens can choose.
#include "engine/tiny_gguf.h"
#include "plan/walk.h"

#include <gmock/gmock.h>

namespace sinter::engine {
namespace {

constexpr int64_t kExperts = 16, kUsed = 2, kWidth = 128, kHidden = 64;

// Three layers whose 16 experts have three matrices each.
models::FakeSource modelOfExperts() {
  constexpr int64_t kHeads = 2, kHeadDim = 64;
  models::FakeSource source;
  const std::string prefix = "qwen3moe.";
  source.values = {{"general.architecture", std::string("qwen3moe")},
                   {prefix + "block_count", int64_t(3)},
                   {prefix + "embedding_length", kWidth},
                   {prefix + "feed_forward_length", int64_t(256)},
                   {prefix + "expert_count", kExperts},
                   {prefix + "expert_used_count", kUsed},
                   {prefix + "expert_feed_forward_length", kHidden},
                   {prefix + "attention.head_count", kHeads},
                   {prefix + "attention.key_length", kHeadDim},
                   {prefix + "context_length", int64_t(256)},
                   {prefix + "attention.layer_norm_rms_epsilon", 1e-6}};
  auto add = [&](const std::string &name, std::vector<int64_t> shape) {
    const bool plain = shape.size() == 1 || name.ends_with("gate_inp.weight");
    source.matrix(name, std::move(shape), plain ? TensorType::F32 : TensorType::Q8_0);
  };
  add("token_embd.weight", {64, kWidth});
  add("output_norm.weight", {kWidth});
  for (int layer = 0; layer < 3; ++layer) {
    const std::string at = "blk." + std::to_string(layer) + ".";
    for (const char *norm : {"attn_norm", "ffn_norm"})
      add(at + norm + ".weight", {kWidth});
    for (const char *norm : {"attn_q_norm", "attn_k_norm"})
      add(at + norm + ".weight", {kHeadDim});
    for (const char *part : {"attn_q", "attn_k", "attn_v", "attn_output"})
      add(at + part + ".weight", {kHeads * kHeadDim, kWidth});
    add(at + "ffn_gate_inp.weight", {kExperts, kWidth});
    add(at + "ffn_gate_exps.weight", {kExperts, kHidden, kWidth});
    add(at + "ffn_up_exps.weight", {kExperts, kHidden, kWidth});
    add(at + "ffn_down_exps.weight", {kExperts, kWidth, kHidden});
  }
  return source;
}

// The launches of a step of so many tokens, in order.
void collect(const plan::Plan &plan, const std::vector<plan::Step> &steps, int64_t tokens,
             std::vector<const plan::Launch *> &launches) {
  std::vector<int64_t> values;
  for (const plan::Symbol &symbol : plan.symbols)
    values.push_back(symbol.name == "T"   ? tokens
                     : symbol.name == "G" ? 0
                                          : std::max<int64_t>(1, symbol.min));
  for (const plan::Step &step : steps)
    if (auto *launch = std::get_if<plan::Launch>(&step.op))
      launches.push_back(launch);
    else if (auto *branch = std::get_if<plan::If>(&step.op))
      collect(plan,
              *plan::evaluate(branch->condition, values) ? branch->thenSteps : branch->elseSteps,
              tokens, launches);
}

std::vector<const plan::Launch *> launchesOf(const plan::Plan &plan, int64_t tokens) {
  std::vector<const plan::Launch *> launches;
  collect(plan, plan.procedures.at(0).steps, tokens, launches);
  return launches;
}

int64_t bytesOf(const plan::Plan &plan, const plan::Launch &launch, int64_t tokens) {
  std::vector<int64_t> values;
  for (const plan::Symbol &symbol : plan.symbols)
    values.push_back(symbol.name == "T" ? tokens : std::max<int64_t>(1, symbol.min));
  return *plan::evaluate(launch.bytesMoved, values);
}

class Experts : public testing::TestWithParam<const char *> {
protected:
  // One for each target: building it takes longer than the tests.
  static const plan::Plan &plan() {
    static std::map<std::string, plan::Plan> plans;
    const auto [found, isNew] = plans.try_emplace(GetParam());
    if (isNew) {
      EngineOptions options;
      options.target = GetParam();
      Result<plan::Plan> plan = planOf(modelOfExperts(), options);
      EXPECT_TRUE(plan) << plan.error().message;
      if (plan)
        found->second = std::move(*plan);
    }
    return found->second;
  }
};
INSTANTIATE_TEST_SUITE_P(Targets, Experts, testing::Values("avx2", "cuda:sm_90a"));

// Attention's four launches and one of head norms, the norm and its quantized form, the router, its
// choices, two for their rows, the spread rows, gate and up, down, the sum with the residual.
TEST_P(Experts, ALayerIsSixteenLaunches) {
  const plan::Plan &plan = this->plan();
  ASSERT_FALSE(plan.procedures.empty());
  const auto launches = launchesOf(plan, 64);
  std::vector<size_t> attention;
  for (size_t i = 0; i < launches.size(); ++i)
    if (launches[i]->covers.front() == "paged_attention")
      attention.push_back(i);
  ASSERT_EQ(attention.size(), 3u);
  EXPECT_LE(attention[1] - attention[0], 16u);
  std::vector<std::vector<std::string>> covers;
  for (const plan::Launch *launch : launches)
    covers.push_back(launch->covers);
  EXPECT_THAT(covers, testing::Contains(testing::Contains("grouped_dot (2 joined)")));
  EXPECT_THAT(covers, testing::Contains(testing::ElementsAre("combine_rows", "map (addf)")));
}

// Two experts of one token, all 16 of 64 tokens.
TEST_P(Experts, CostsCountTheExpertsThatTokensCanChoose) {
  const plan::Plan &plan = this->plan();
  ASSERT_FALSE(plan.procedures.empty());
  const int64_t ofExpert = 2 * kHidden * kWidth / 32 * 34; // gate and up in Q8_0
  for (auto [tokens, touched] : {std::pair(int64_t(1), kUsed), {int64_t(64), kExperts}}) {
    const auto launches = launchesOf(plan, tokens);
    const auto first = std::ranges::find_if(launches, [](const plan::Launch *launch) {
      return launch->covers.front() == "grouped_dot (2 joined)";
    });
    ASSERT_NE(first, launches.end());
    const int64_t bytes = bytesOf(plan, **first, tokens);
    EXPECT_GE(bytes, touched * ofExpert) << tokens;
    EXPECT_LT(bytes, touched * ofExpert + tokens * kUsed * (kWidth + kHidden) * 4 + 1024) << tokens;
  }
}

} // namespace
} // namespace sinter::engine
