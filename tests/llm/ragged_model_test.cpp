// Ragged batches of the default model, where this machine has its file.
#include "llm/likelihood.h"
#include "llm/model.h"
#include "llm/ragged.h"
#include "llm/session.h"
#include "llm/tokenizer/detokenizer.h"

namespace sinter {
namespace {

// By the type of the KV cache.
class RaggedModelTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (realModelPath().empty())
      GTEST_SKIP()
          << "the default model is not here: ./demo fetches it, SINTER_TEST_MODEL names it";
    if (!haveCompiler())
      GTEST_SKIP() << compilerPath() << " was not built";
    model_ = LoadedModel::open(realModelPath(), {"--kv-type", GetParam()});
    ASSERT_TRUE(static_cast<bool>(model_));
    vocabulary_ = static_cast<uint32_t>(model_.plan->properties.at("vocab_size"));
  }
  // The steps over three sequences, then each sequence alone over the same loaded weights.
  void expectAlone(const std::vector<std::vector<TokenId>> &sequences, const Schedule &schedule) {
    const auto plan = LoadedPlan::load(model_, static_cast<uint32_t>(sequences.size()), {});
    ASSERT_TRUE(plan);
    const std::vector<Logits> found = RaggedRun(plan, sequences, true).run(schedule);
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_EQ(firstDifference(found[i], logitsAlone(plan, sequences[i]), vocabulary_), "")
          << "sequence " << i;
  }

  LoadedModel model_;
  uint32_t vocabulary_ = 0;
};

TEST_P(RaggedModelTest, ThreeUnequalSequencesOverShuffledPagesGiveTheSameBitsAsEachAlone) {
  const auto sequences = randomSequences({9, 67, 131}, vocabulary_);
  expectAlone(sequences, {{{0, 9}, {1, 67}, {2, 131}}});
}

TEST_P(RaggedModelTest, ChunksAndGeneratingInABatchOfThreeGiveTheSameBitsAsEachAlone) {
  const auto sequences = randomSequences({7, 35, 75}, vocabulary_);
  Schedule schedule = {{{2, 40}, {1, 11}}, {{1, 21}, {0, 4}}, {{2, 32}}};
  for (int step = 0; step < 3; ++step)
    schedule.push_back({{1, 1}, {0, 1}, {2, 1}});
  expectAlone(sequences, schedule);
}

// The answer itself is not the property; that it is a sentence says that weights, tokenizer and
// attention are those of the file.
TEST_P(RaggedModelTest, TheModelKnowsTheCapitalOfFrance) {
  auto file = ModelFile::open(realModelPath());
  ASSERT_TRUE(file.has_value()) << file.error().toString();
  const auto prompt = file->encodeRaw("The capital of France is");
  ASSERT_TRUE(prompt.has_value()) << prompt.error().toString();
  const auto device = openCpu(2);
  const auto model = Model::create(std::move(*file), model_.plan, *device, {.contextTokens = 64});
  ASSERT_TRUE(model.has_value()) << model.error().toString();
  Session session((*model)->runner(), (*model)->pages(), (*model)->tokenizer());
  const auto generation =
      session.generate(*prompt, {.maxTokens = 4}, [](TokenId) -> Result<void> { return {}; });
  ASSERT_TRUE(generation.has_value()) << generation.error().toString();
  const auto text = detokenize((*model)->tokenizer(), generation->tokens);
  ASSERT_TRUE(text.has_value()) << text.error().toString();
  EXPECT_NE(text->find("Paris"), std::string::npos) << *text;
}

// Logits of a text, with activations that nothing rounds.
std::vector<float> logitsOf(const char *kvType, const std::vector<TokenId> &tokens) {
  const LoadedModel model =
      LoadedModel::open(realModelPath(), {"--kv-type", kvType, "--activations", "f32"});
  EXPECT_TRUE(static_cast<bool>(model));
  std::vector<float> logits;
  for (const uint32_t bits : logitsAlone(model, tokens))
    logits.push_back(std::bit_cast<float>(bits));
  return logits;
}

TEST(KvTypesOfAModel, MovePredictionsLessThanTheirBounds) {
  if (realModelPath().empty() || !haveCompiler())
    GTEST_SKIP() << "the default model or the compiler is not here";
  auto file = ModelFile::open(realModelPath());
  ASSERT_TRUE(file.has_value()) << file.error().toString();
  const auto tokens = file->encodeRaw(
      "Alice was beginning to get very tired of sitting by her sister on the bank, and of having "
      "nothing to do: once or twice she had peeped into the book her sister was reading, but it "
      "had "
      "no pictures or conversations in it.");
  ASSERT_TRUE(tokens.has_value()) << tokens.error().toString();
  const std::vector<float> base = logitsOf("f16", *tokens);
  const size_t columns = base.size() / tokens->size();
  for (auto [type, most] : {std::pair{"bf16", 2e-3}, {"fp8", 4e-2}}) {
    const std::vector<float> found = logitsOf(type, *tokens);
    double sum = 0;
    for (size_t at = 0; at < base.size(); at += columns)
      sum +=
          divergence(std::span(base).subspan(at, columns), std::span(found).subspan(at, columns));
    EXPECT_LT(sum / static_cast<double>(tokens->size()), most) << type;
    EXPECT_GT(sum, 0) << type;
  }
}

INSTANTIATE_TEST_SUITE_P(KvTypes, RaggedModelTest, testing::Values("auto", "f16", "q8_0"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace sinter
