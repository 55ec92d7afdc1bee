// The bits of a sequence's logits do not depend on how its tokens are cut into steps, on what else
// is in a step, on where its pages lie or on the number of threads.
#include "llm/ragged.h"
#include "sampling.h"

namespace sinter {
namespace {

// A matrix format, the instruction level that it is compiled for and the type of the KV cache.
struct Setting {
  const char *name;
  TensorType matrices, embedding;
  const char *target;
  const char *kvType = "f16";
  const char *activations = "fastest";
  const char *pageRows = "16";

  friend void PrintTo(const Setting &setting, std::ostream *stream) { *stream << setting.name; }
};

class RaggedBatchTest : public testing::TestWithParam<Setting> {
protected:
  static constexpr uint32_t kVocabulary = 320;

  void SetUp() override {
    if (!haveCompiler())
      GTEST_SKIP() << compilerPath() << " was not built";
    RandomLlama shape;
    shape.matrices = GetParam().matrices;
    shape.embedding = GetParam().embedding;
    shape.vocabulary = kVocabulary;
    shape.context = 2048;
    const std::vector<uint8_t> bytes = randomLlama(shape);
    std::ofstream(folder_.file("model.gguf"), std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    model_ = LoadedModel::open(folder_.file("model.gguf"),
                               {"--target", GetParam().target, "--page-rows", GetParam().pageRows,
                                "--query-block", "4", "--kv-type", GetParam().kvType,
                                "--activations", GetParam().activations});
    ASSERT_TRUE(static_cast<bool>(model_));
    sequences_ = randomSequences({5, 37, 70}, kVocabulary);
  }

  // Each sequence alone, computed once.
  const Logits &alone(size_t sequence, uint32_t context = RaggedOptions().context) {
    Logits &logits = alone_[sequence];
    if (logits.empty())
      logits = logitsAlone(model_, sequences_[sequence], {.context = context});
    EXPECT_EQ(logits.size(), sequences_[sequence].size() * size_t{kVocabulary});
    return logits;
  }
  void expectAlone(const std::vector<Logits> &found, uint32_t context = RaggedOptions().context) {
    ASSERT_EQ(found.size(), sequences_.size());
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_EQ(firstDifference(found[i], alone(i, context), kVocabulary), "") << "sequence " << i;
  }
  // `length` tokens of one sequence in steps of `chunk`.
  static Schedule chunks(size_t sequence, size_t length, uint32_t chunk) {
    Schedule schedule;
    for (uint32_t at = 0; at < length; at += chunk)
      schedule.push_back({{sequence, std::min(chunk, static_cast<uint32_t>(length) - at)}});
    return schedule;
  }

  const ScratchFolder folder_;
  LoadedModel model_;
  std::vector<std::vector<TokenId>> sequences_;
  std::map<size_t, Logits> alone_;
};

TEST_P(RaggedBatchTest, ThreeUnequalSequencesOverShuffledPagesGiveTheSameBitsAsEachAlone) {
  RaggedRun run(model_, sequences_, {.shuffledPages = true});
  expectAlone(run.run({{{0, 5}, {1, 37}, {2, 70}}}));
  const auto pages = run.pagesOf(2);
  EXPECT_FALSE(std::is_sorted(pages.begin(), pages.end())) << "the pages were not shuffled";
}

// The last layer works on rows whose logits are wanted alone, single ones in other kernels.
TEST_P(RaggedBatchTest, ARowOfLogitsThatAloneIsWantedHasTheBitsOfThatAmongAll) {
  sequences_ = randomSequences({5, 37, 1100}, kVocabulary);
  RaggedRun run(model_, sequences_, {.shuffledPages = true, .context = 2048});
  constexpr Phase kPrompt = Phase::Prefill;
  const std::vector<Logits> &found =
      run.run({{{2, 500, kPrompt, LogitsWanted::None}, {1, 20, kPrompt, LogitsWanted::None}},
               {{2, 300, kPrompt, LogitsWanted::None},
                {0, 5, kPrompt, LogitsWanted::Last},
                {1, 17, kPrompt, LogitsWanted::Last}},
               {{2, 300, kPrompt, LogitsWanted::Last}}});
  for (size_t i = 0; i < found.size(); ++i) {
    const Logits &all = alone(i, 2048);
    const Logits last(all.end() - kVocabulary, all.end());
    EXPECT_EQ(firstDifference(found[i], last, kVocabulary), "") << "sequence " << i;
  }
}

TEST_P(RaggedBatchTest, TheOrderOfSequencesInABatchChangesNoBit) {
  RaggedRun run(model_, sequences_);
  expectAlone(run.run({{{2, 70}, {0, 5}, {1, 37}}}));
}

TEST_P(RaggedBatchTest, APromptInChunksGivesTheBitsOfThePromptAtOnce) {
  for (const uint32_t chunk : {2u, 7u, 16u, 33u}) {
    RaggedRun run(model_, {sequences_[2]});
    const Schedule schedule = chunks(0, sequences_[2].size(), chunk);
    EXPECT_EQ(firstDifference(run.run(schedule)[0], alone(2), kVocabulary), "")
        << "chunks of " << chunk;
  }
}

TEST_P(RaggedBatchTest, OneTokenAStepGivesTheBitsOfThePromptAtOnce) {
  RaggedRun run(model_, sequences_, {.shuffledPages = true});
  for (size_t i = 0; i < sequences_.size(); ++i)
    run.run(chunks(i, sequences_[i].size(), 1));
  expectAlone(run.run({}));
}

TEST_P(RaggedBatchTest, GeneratingInABatchOfThreeGivesTheBitsOfABatchOfOne) {
  RaggedRun run(model_, sequences_, {.shuffledPages = true});
  run.run({{{0, 1}, {1, 33}, {2, 66}}});
  for (int step = 0; step < 4; ++step)
    run.run({{{1, 1}, {0, 1}, {2, 1}}});
  expectAlone(run.run({}));
}

TEST_P(RaggedBatchTest, GeneratingBesideAPromptChangesNoBitOfEither) {
  RaggedRun run(model_, sequences_, {.shuffledPages = true});
  expectAlone(run.run({{{1, 34}},
                       {{1, 1}, {2, 20}},
                       {{0, 2}, {2, 30}, {1, 1}},
                       {{2, 20}, {0, 1}, {1, 1}},
                       {{0, 2}}}));
}

// Single tokens after so many have their spans of keys summed up by programs of their own.
TEST_P(RaggedBatchTest, GeneratingAfterManySpansOfKeysGivesTheBitsOfThePromptAtOnce) {
  sequences_ = randomSequences({1030, 3, 259}, kVocabulary);
  RaggedRun run(model_, sequences_, {.shuffledPages = true, .context = 2048});
  run.run({{{0, 1027}, {1, 1}, {2, 257}}});
  for (int step = 0; step < 2; ++step)
    run.run({{{1, 1}, {0, 1}, {2, 1}}});
  run.run({{{0, 1}}});
  expectAlone(run.run({}), 2048);
}

TEST_P(RaggedBatchTest, TheNumberOfThreadsChangesNoBit) {
  for (const uint32_t threads : {1u, 3u, 4u}) {
    RaggedRun run(model_, sequences_, {.threads = threads});
    expectAlone(run.run({{{0, 5}, {1, 37}, {2, 70}}}));
  }
}

// Without it the tests above could pass on a model that forgets what it was given.
TEST_P(RaggedBatchTest, TheLastLogitsDependOnTheFirstToken) {
  std::vector<TokenId> other = sequences_[2];
  other[0] = 100;
  const Logits changed = logitsAlone(model_, other);
  ASSERT_EQ(changed.size(), alone(2).size());
  EXPECT_FALSE(
      std::equal(changed.end() - kVocabulary, changed.end(), alone(2).end() - kVocabulary));
}

TEST_P(RaggedBatchTest, LogitsAreFiniteAndUnequal) {
  const Logits &logits = alone(1);
  for (const uint32_t bits : logits)
    ASSERT_TRUE(std::isfinite(std::bit_cast<float>(bits)));
  EXPECT_GT(std::set<uint32_t>(logits.begin(), logits.end()).size(), logits.size() / 2);
}

// Weights; caches and the pages that they lie in, whose lengths choose how attention multiplies;
// and the instructions of each.
std::vector<std::string> propertiesOf(const Setting &setting) {
  const std::string cache = setting.kvType, level = setting.target;
  const bool blocks = blockFormat(setting.matrices).blockLength > 1;
  return {"weights " + std::string(blockFormat(setting.matrices).name),
          "embedding " + std::string(blockFormat(setting.embedding).name),
          std::string("activations ") + setting.activations,
          std::string("pages of ") + setting.pageRows + " at " + level,
          "cache " + cache,
          "cache " + std::string(cache == "q8_0" ? "in blocks" : "in numbers") + " at " + level,
          std::string(blocks ? "blocks" : "numbers") + " at " + level};
}

std::vector<Setting> settings() {
  const std::vector<Setting> all = {
      Setting{"Q4_1", TensorType::Q4_1, TensorType::Q8_0, "host"},
      Setting{"Q8_0", TensorType::Q8_0, TensorType::Q8_0, "host"},
      Setting{"F16", TensorType::F16, TensorType::F16, "host"},
      Setting{"BF16", TensorType::BF16, TensorType::F32, "host"},
      Setting{"F32", TensorType::F32, TensorType::F32, "host"},
      Setting{"Q4_1_avx2", TensorType::Q4_1, TensorType::Q8_0, "avx2"},
      Setting{"Q4_1_kv_q8_0", TensorType::Q4_1, TensorType::Q8_0, "host", "q8_0"},
      Setting{"Q4_1_kv_fp8", TensorType::Q4_1, TensorType::Q8_0, "host", "fp8"},
      Setting{"Q4_1_f32", TensorType::Q4_1, TensorType::Q8_0, "host", "f16", "f32"},
      // Pages of whole pairs of bf16, in which attention multiplies where that is fast.
      Setting{"Q4_1_pairs", TensorType::Q4_1, TensorType::Q8_0, "host", "f16", "fastest", "32"},
      Setting{"Q4_1_pairs_kv_auto", TensorType::Q4_1, TensorType::Q8_0, "host", "auto", "fastest",
              "32"},
      // Pages of 64 rows: a prompt reads half a page where few keys are left, a single row never.
      Setting{"Q4_1_half_pages", TensorType::Q4_1, TensorType::Q8_0, "host", "auto", "fastest",
              "64"},
      Setting{"F16_half_pages", TensorType::F16, TensorType::F16, "host", "f16", "fastest", "64"},
      Setting{"Q4_1_half_pages_avx2", TensorType::Q4_1, TensorType::Q8_0, "avx2", "f16", "fastest",
              "64"},
      Setting{"Q4_1_kv_bf16", TensorType::Q4_1, TensorType::Q8_0, "host", "bf16"},
      Setting{"Q4_1_pairs_kv_q8_0", TensorType::Q4_1, TensorType::Q8_0, "host", "q8_0", "fastest",
              "32"},
      Setting{"F16_kv_q8_0_avx2", TensorType::F16, TensorType::F16, "avx2", "q8_0"}};
  return sampled(all, propertiesOf);
}

INSTANTIATE_TEST_SUITE_P(Formats, RaggedBatchTest, testing::ValuesIn(settings()),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace sinter
