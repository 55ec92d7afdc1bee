// Ragged batches of the default model, where this machine has its file.
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
  void expectAlone(const std::vector<Logits> &found,
                   const std::vector<std::vector<TokenId>> &sequences) {
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_EQ(firstDifference(found[i], logitsAlone(model_, sequences[i]), vocabulary_), "")
          << "sequence " << i;
  }

  LoadedModel model_;
  uint32_t vocabulary_ = 0;
};

TEST_P(RaggedModelTest, ThreeUnequalSequencesOverShuffledPagesGiveTheSameBitsAsEachAlone) {
  const auto sequences = randomSequences({9, 67, 131}, vocabulary_);
  RaggedRun run(model_, sequences, {.shuffledPages = true});
  expectAlone(run.run({{{0, 9}, {1, 67}, {2, 131}}}), sequences);
}

TEST_P(RaggedModelTest, ChunksAndGeneratingInABatchOfThreeGiveTheSameBitsAsEachAlone) {
  const auto sequences = randomSequences({7, 35, 75}, vocabulary_);
  RaggedRun run(model_, sequences, {.shuffledPages = true});
  run.run({{{2, 40}, {1, 11}}, {{1, 21}, {0, 4}}, {{2, 32}}});
  for (int step = 0; step < 3; ++step)
    run.run({{{1, 1}, {0, 1}, {2, 1}}});
  expectAlone(run.run({}), sequences);
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

INSTANTIATE_TEST_SUITE_P(KvTypes, RaggedModelTest, testing::Values("auto", "f16", "q8_0"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace sinter
