// Embeddings and scores of compiled encoders against llama.cpp, alone and in batches.
#include "golden_model.h"
#include "llm/embedder.h"
#include "llm/model.h"
#include "llm/ragged.h"

#include <gmock/gmock.h>

namespace sinter {
namespace {

using testing::HasSubstr;

// A golden as a file, its plan and its runner.
class EmbedderTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (!haveCompiler())
      GTEST_SKIP() << compilerPath() << " was not built";
    golden_ = GoldenModel::read(std::string(SINTER_TEST_DIR "/data/encoders/") + GetParam() +
                                ".txt");
    const std::vector<uint8_t> bytes = golden_.bytes();
    std::ofstream(folder_.file("model.gguf"), std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    const auto plan = planByCompiler(folder_.file("model.gguf"),
                                     {"--output", "embeddings", "--activations", "f32"});
    ASSERT_TRUE(plan);
    auto file = ModelFile::open(folder_.file("model.gguf"), TextNeed::Optional);
    ASSERT_TRUE(file) << file.error().toString();
    auto model = Model::create(std::move(*file), plan, *device_,
                               {.sequences = 4, .maxStepTokens = UINT32_MAX});
    ASSERT_TRUE(model) << model.error().toString();
    model_ = std::move(*model);
  }

  Result<std::vector<std::vector<float>>> run(std::span<const TextTokens> texts,
                                              const EmbeddingOptions &options) {
    std::vector<std::vector<float>> rows;
    SINTER_TRY(embed(model_->runner(), model_->pages(), texts, options,
                     [&](size_t number, std::span<const float> found) -> Result<void> {
                       EXPECT_EQ(number, rows.size());
                       rows.emplace_back(found.begin(), found.end());
                       return {};
                     }));
    return rows;
  }
  const GgufFile &file() const { return model_->file().gguf(); }

  const ScratchFolder folder_;
  const std::unique_ptr<hal::Device> device_ = openCpu(1);
  GoldenModel golden_;
  std::unique_ptr<Model> model_;
};
INSTANTIATE_TEST_SUITE_P(Goldens, EmbedderTest,
                         testing::Values("bert", "modern-bert", "gemma-embedding", "qwen3-rank"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(EmbedderTest, PooledRowsAndScoresAreThoseOfTheReferenceImplementation) {
  for (const auto &[name, expected] : golden_.pooled) {
    const bool ranks = name == "rank";
    const auto pooling = ranks ? rankPoolingOf(file()) : Result<Pooling>(*findPooling(name));
    ASSERT_TRUE(pooling) << pooling.error().toString();
    const size_t width = model_->runner().limits().embeddingLength;
    const auto head =
        ranks ? EmbeddingHead::ranking(file(), width) : EmbeddingHead::dense(file(), width);
    ASSERT_TRUE(head) << head.error().toString();
    const std::vector<TextTokens> texts = {golden_.tokens};
    const auto rows = run(texts, {*pooling, false, &*head});
    ASSERT_TRUE(rows) << rows.error().toString();
    ASSERT_EQ(rows->front().size(), expected.size());
    EXPECT_LT(GoldenModel::distance(expected, rows->front()), 4e-3) << name;
    if (ranks && !golden_.transformersRank.empty())
      EXPECT_LT(GoldenModel::distance(golden_.transformersRank, rows->front()), 4e-3)
          << "from transformers";
  }
}

TEST_P(EmbedderTest, ATextHasTheSameBitsAloneAndBesideOthers) {
  const std::span<const TokenId> tokens = golden_.tokens;
  const auto part = [&](size_t first, size_t count) {
    const auto some = tokens.subspan(first, count);
    return TextTokens(some.begin(), some.end());
  };
  const std::vector<TextTokens> texts = {part(3, 1), part(0, 40), part(5, 17), part(3, 1)};
  for (const Pooling pooling : {Pooling::None, Pooling::Mean, Pooling::First, Pooling::Last}) {
    const auto together = run(texts, {.pooling = pooling});
    ASSERT_TRUE(together) << together.error().toString();
    ASSERT_EQ(together->size(), texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      const auto alone = run(std::span(texts).subspan(i, 1), {.pooling = pooling});
      ASSERT_TRUE(alone) << alone.error().toString();
      EXPECT_EQ((*together)[i], alone->front()) << "text " << i;
    }
  }
}

TEST_P(EmbedderTest, PoolingsChooseOrAverageRowsOfTokens) {
  const std::vector<TextTokens> texts = {golden_.tokens};
  const size_t width = model_->runner().limits().embeddingLength;
  const auto rows = run(texts, {Pooling::None, false});
  ASSERT_TRUE(rows) << rows.error().toString();
  const std::span<const float> all = rows->front();
  ASSERT_EQ(all.size(), golden_.tokens.size() * width);
  const auto vectorOf = [](std::span<const float> row) {
    return std::vector<float>(row.begin(), row.end());
  };
  EXPECT_EQ(run(texts, {Pooling::First, false})->front(), vectorOf(all.first(width)));
  EXPECT_EQ(run(texts, {Pooling::Last, false})->front(), vectorOf(all.last(width)));
  EXPECT_EQ(run(texts, {Pooling::Mean, false})->front(), pooled(all, width));
  std::vector<float> unit = pooled(all, width);
  normalize(unit, width);
  EXPECT_EQ(run(texts, {Pooling::Mean, true})->front(), unit);
}

TEST_P(EmbedderTest, TextsThatAreEmptyOrLongerThanTheContextAreRefusedWithTheirNumber) {
  const std::vector<TextTokens> texts = {golden_.tokens, TextTokens(257, 1)},
                                empty = {golden_.tokens, {}};
  EXPECT_THAT(run(texts, {}).error().message,
              HasSubstr("text 2 has 257 tokens, expected at most 256: a text is embedded whole"));
  EXPECT_THAT(run(empty, {}).error().message, HasSubstr("text 2 has no tokens"));
}

// ---- files without a plan ----

std::vector<uint8_t> changed(const char *name, const auto &change) {
  GoldenModel golden =
      GoldenModel::read(std::string(SINTER_TEST_DIR "/data/encoders/") + name + ".txt");
  change(golden);
  return golden.bytes();
}

// Its file with another tokenizer.
Result<ModelFile> openWith(const ScratchFolder &folder, const char *name,
                           const std::vector<GoldenModel::Key> &tokenizer) {
  const auto bytes = changed(name, [&](GoldenModel &golden) {
    std::erase_if(golden.keys, [](const auto &key) { return key.name.starts_with("tokenizer."); });
    golden.keys.insert(golden.keys.end(), tokenizer.begin(), tokenizer.end());
  });
  std::ofstream(folder.file("model.gguf"), std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  return ModelFile::open(folder.file("model.gguf"));
}

const std::vector<GoldenModel::Key> kWordPiece = {
    {"tokenizer.ggml.model", "str", {"bert"}},
    {"tokenizer.ggml.tokens",
     "arr",
     {"str", "[PAD]", "[UNK]", "[CLS]", "[SEP]", "\u2581who", "\u2581me", "{query}"}},
    {"tokenizer.ggml.token_type", "arr", {"i32", "3", "2", "3", "3", "1", "1", "1"}},
    {"tokenizer.ggml.unknown_token_id", "u32", {"1"}},
    {"tokenizer.ggml.bos_token_id", "u32", {"2"}},
    {"tokenizer.ggml.seperator_token_id", "u32", {"3"}}};

TEST(PairsOfTexts, HaveTheSeparatorBetweenAndAfterThem) {
  const ScratchFolder folder;
  const auto file = openWith(folder, "bert", kWordPiece);
  ASSERT_TRUE(file) << file.error().toString();
  EXPECT_THAT(*file->encodePair("who", "me"), testing::ElementsAre(2, 4, 3, 5, 3));
  EXPECT_THAT(file->encodePair("who", "\xff").error().message,
              HasSubstr("the document is not UTF-8"));
}

// What is put in it cannot become markup.
TEST(PairsOfTexts, AreAsTheFilesTemplateSays) {
  const ScratchFolder folder;
  std::vector<GoldenModel::Key> keys = kWordPiece;
  keys.push_back({"tokenizer.chat_template.rerank", "str", {"[CLS]{document}[SEP]{query}"}});
  const auto file = openWith(folder, "bert", keys);
  ASSERT_TRUE(file) << file.error().toString();
  EXPECT_THAT(*file->encodePair("who", "me"), testing::ElementsAre(2, 5, 3, 4));
  const auto ids = file->encodePair("[SEP]", "me");
  EXPECT_EQ(std::ranges::count(*ids, 3), 1);
}

TEST(GivesLogits, IsRefusedWithWhatToUseInsteadWhereTokensSeeBothWays) {
  const ScratchFolder folder;
  const auto encoder = openWith(folder, "bert", kWordPiece);
  ASSERT_TRUE(encoder) << encoder.error().toString();
  EXPECT_THAT(encoder->givesLogits().error().message, HasSubstr("`sinter embed` gives its"));
  const auto decoder = openWith(folder, "qwen3-rank", kWordPiece);
  ASSERT_TRUE(decoder) << decoder.error().toString();
  EXPECT_TRUE(decoder->givesLogits());
}

TEST(EmbeddingHead, FilesWithoutOneCannotRank) {
  const auto bytes = changed("nomic-bert", [](GoldenModel &) {});
  const auto file = GgufFile::parse(bytes);
  EXPECT_THAT(EmbeddingHead::ranking(*file, 64).error().message,
              HasSubstr("no tensor 'cls.weight' and none 'cls.output.weight'"));
}

TEST(EmbeddingHead, TensorsOfOtherShapesAreRefused) {
  const auto shorter = [](const char *name) {
    return [name](GoldenModel &golden) {
      std::ranges::find(golden.tensors, name, &GoldenModel::Tensor::name)->extents[0] /= 2;
    };
  };
  const auto matrix = changed("bert", shorter("cls.output.weight")),
             bias = changed("bert", shorter("cls.bias")),
             dense = changed("gemma-embedding", shorter("dense_3.weight"));
  EXPECT_THAT(EmbeddingHead::ranking(*GgufFile::parse(matrix), 64).error().message,
              HasSubstr("'cls.output.weight' has rows of 32 elements, expected a matrix with rows "
                        "of 64"));
  EXPECT_THAT(EmbeddingHead::ranking(*GgufFile::parse(bias), 64).error().message,
              HasSubstr("'cls.bias' has 32 elements, expected 64"));
  EXPECT_THAT(EmbeddingHead::dense(*GgufFile::parse(dense), 64).error().message,
              HasSubstr("'dense_3.weight' has rows of 48 elements"));
}

TEST(PoolingOfFiles, IsTheFilesOrAsTokensSee) {
  const auto with = [](const char *name, const char *type) {
    return changed(name, [type](GoldenModel &golden) {
      if (type)
        golden.keys.push_back({golden.keys[0].words[0] + ".pooling_type", "u32", {type}});
    });
  };
  const auto poolingIn = [&](const char *name, const char *type) {
    const auto bytes = with(name, type);
    return poolingOf(*GgufFile::parse(bytes));
  };
  EXPECT_EQ(*poolingIn("bert", nullptr), Pooling::Mean);
  EXPECT_EQ(*poolingIn("qwen3-rank", nullptr), Pooling::Last);
  EXPECT_EQ(*poolingIn("bert", "2"), Pooling::First);
  EXPECT_THAT(poolingIn("bert", "4").error().message, HasSubstr("which `sinter rerank` does"));
  EXPECT_THAT(poolingIn("bert", "9").error().message,
              HasSubstr("'bert.pooling_type' is 9, expected 0 to 4"));
}

} // namespace
} // namespace sinter
