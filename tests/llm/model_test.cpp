// Model files and plans put together: what fits runs, what does not is refused in one sentence.
#include "llm/model.h"
#include "llm/ragged.h"
#include "llm/session.h"

#include <gmock/gmock.h>

namespace sinter {
namespace {

using testing::AllOf;
using testing::HasSubstr;

RandomLlama withVocabulary() {
  RandomLlama model;
  model.matrices = TensorType::Q4_1;
  model.vocabularyFile = std::string(SINTER_TEST_DIR) + "/data/vocab/smollm2.gguf.vocab";
  return model;
}

class ModelTest : public testing::Test {
protected:
  // The path of a file of these bytes.
  std::string save(const std::string &name, const RandomLlama &model) {
    const std::vector<uint8_t> bytes = randomLlama(model);
    std::ofstream(folder_.file(name), std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return folder_.file(name);
  }
  Result<std::unique_ptr<Model>> create(const std::string &path,
                                        std::shared_ptr<const plan::Plan> plan,
                                        const PlanRunnerOptions &options = {}) {
    SINTER_ASSIGN(ModelFile file, ModelFile::open(path));
    return Model::create(std::move(file), std::move(plan), *device_, options);
  }

  const ScratchFolder folder_;
  const std::unique_ptr<hal::Device> device_ = openCpu(1);
};

// The same, with plans.
class ModelPlanTest : public ModelTest {
protected:
  void SetUp() override {
    if (!haveCompiler())
      GTEST_SKIP() << compilerPath() << " was not built";
  }
};

TEST_F(ModelTest, AFileWithoutTokenizerIsRefusedWithItsPath) {
  const std::string path = save("bare.gguf", {});
  const auto file = ModelFile::open(path);
  ASSERT_FALSE(file.has_value());
  EXPECT_THAT(file.error().message, AllOf(HasSubstr(path), HasSubstr("tokenizer")));
}

TEST_F(ModelTest, TheContextIsKnownWithoutAPlan) {
  const auto file = ModelFile::open(save("model.gguf", withVocabulary()));
  ASSERT_TRUE(file.has_value()) << file.error().toString();
  EXPECT_EQ(*file->contextTokens(0), 512u);
  EXPECT_EQ(*file->contextTokens(64), 64u);
  EXPECT_THAT(file->contextTokens(513).error().message, AllOf(HasSubstr("513"), HasSubstr("512")));
}

TEST_F(ModelTest, TextThatIsNotUtf8IsRefusedAtItsFirstSuchByte) {
  const auto file = ModelFile::open(save("model.gguf", withVocabulary()));
  ASSERT_TRUE(file.has_value()) << file.error().toString();
  const auto stray = file->encodeRaw("caf\xc3\xa9 \xff\xfe");
  ASSERT_FALSE(stray.has_value());
  EXPECT_THAT(stray.error().toString(),
              AllOf(HasSubstr("found byte 0xff"), HasSubstr("(at byte 6)")));
  const auto cut = file->encodeRaw("cut \xe2\x82");
  ASSERT_FALSE(cut.has_value());
  EXPECT_THAT(cut.error().toString(), AllOf(HasSubstr("ends inside"), HasSubstr("(at byte 4)")));
  EXPECT_TRUE(file->encodeRaw("caf\xc3\xa9 \xef\xbf\xbd").has_value()); // U+FFFD itself
}

TEST_F(ModelPlanTest, AnAnswerIsTheSameEachTime) {
  const std::string path = save("model.gguf", withVocabulary());
  const auto model = create(path, planByCompiler(path));
  ASSERT_TRUE(model.has_value()) << model.error().toString();
  const auto prompt = (*model)->file().encodeRaw("Once upon a time");
  ASSERT_TRUE(prompt.has_value()) << prompt.error().toString();
  Session session((*model)->runner(), (*model)->pages(), (*model)->tokenizer());
  std::vector<std::vector<TokenId>> answers;
  for (int i = 0; i < 2; ++i) {
    session.clear();
    const auto made = session.generate(*prompt, {.maxTokens = 8, .ignoreEndTokens = true},
                                       [](TokenId) -> Result<void> { return {}; });
    ASSERT_TRUE(made.has_value()) << made.error().toString();
    EXPECT_EQ(made->tokens.size(), 8u);
    answers.push_back(made->tokens);
  }
  EXPECT_EQ(answers[0], answers[1]);
}

TEST_F(ModelPlanTest, APlanOfAnotherFileIsRefused) {
  RandomLlama other = withVocabulary();
  other.context = 300;
  const std::string path = save("model.gguf", withVocabulary());
  const auto model = create(save("other.gguf", other), planByCompiler(path));
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().code, Code::InvalidArgument);
  EXPECT_THAT(model.error().message, HasSubstr("made for another model file"));
}

TEST_F(ModelPlanTest, AContextBeyondTheModelsIsRefusedWithBothNumbers) {
  const std::string path = save("model.gguf", withVocabulary());
  const auto model = create(path, planByCompiler(path), {.contextTokens = 513});
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().code, Code::InvalidArgument);
  EXPECT_THAT(model.error().message, AllOf(HasSubstr("513"), HasSubstr("512")));
}

TEST_F(ModelPlanTest, APromptLongerThanTheContextIsRefusedAndTheSessionGoesOn) {
  const std::string path = save("model.gguf", withVocabulary());
  const auto model = create(path, planByCompiler(path), {.contextTokens = 16});
  ASSERT_TRUE(model.has_value()) << model.error().toString();
  Session session((*model)->runner(), (*model)->pages(), (*model)->tokenizer());
  const auto sink = [](TokenId) -> Result<void> { return {}; };
  const auto refused = session.generate(std::vector<TokenId>(17, 1), {.maxTokens = 1}, sink);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("17"), HasSubstr("16")));
  EXPECT_TRUE(session.generate(std::vector<TokenId>(16, 1), {.maxTokens = 1}, sink).has_value());
}

} // namespace
} // namespace sinter
