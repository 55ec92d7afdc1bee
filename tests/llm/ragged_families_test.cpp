// Model families over real kernels with three sequences a step, prefilled and decoded together: the
// logits are llama.cpp's, and the bits are those of each sequence alone. The goldens of all
// families run so in the evaluator (tests/engine/architectures_test.cpp).
#include "golden_model.h"
#include "llm/ragged.h"
#include "sampling.h"

namespace sinter {
namespace {

struct FamilyOnDevice {
  std::string golden, driver;

  friend void PrintTo(const FamilyOnDevice &on, std::ostream *stream) {
    *stream << on.driver << " " << on.golden;
  }
};

class RaggedFamiliesTest : public testing::TestWithParam<FamilyOnDevice> {
protected:
  void SetUp() override {
    if (!haveCompiler())
      GTEST_SKIP() << compilerPath() << " was not built";
    const auto device = openFirst(GetParam().driver, 2);
    if (!device)
      GTEST_SKIP() << device.error().message;
    golden_ =
        GoldenModel::read(SINTER_TEST_DIR "/data/architectures/" + GetParam().golden + ".txt");
    ASSERT_EQ(golden_.beside.size(), 2u) << "tests/archs/make_ragged.py adds them";
    const std::vector<uint8_t> bytes = golden_.bytes();
    std::ofstream(folder_.file("model.gguf"), std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    const std::string target = (*device)->info().target;
    model_ = LoadedModel::open(folder_.file("model.gguf"),
                               {"--target", target.starts_with("cpu:") ? "host" : target,
                                "--page-rows", "16", "--activations", "f32"});
    ASSERT_TRUE(static_cast<bool>(model_));
    plan_ = LoadedPlan::load(model_, 3, {.context = 128, .driver = GetParam().driver});
    ASSERT_TRUE(plan_);
    sequences_ = golden_.beside;
    sequences_.push_back({golden_.tokens, golden_.logits});
  }

  // All but the last tokens of each sequence in one step, then steps of one token of each.
  std::vector<Logits> run(const std::vector<size_t> &which) {
    std::vector<std::vector<TokenId>> tokens;
    std::vector<Portion> prefill, decode;
    for (size_t i = 0; i < which.size(); ++i) {
      const std::vector<int32_t> &all = sequences_[which[i]].tokens;
      tokens.emplace_back(all.begin(), all.end());
      prefill.push_back({i, static_cast<uint32_t>(all.size() - GoldenModel::kDecoded)});
      decode.push_back({i, 1, Phase::Decode});
    }
    RaggedRun run(plan_, tokens, true);
    vocabulary_ = run.vocabulary();
    run.run({prefill});
    return run.run(Schedule(GoldenModel::kDecoded, decode));
  }

  const ScratchFolder folder_;
  GoldenModel golden_;
  std::vector<GoldenModel::Sequence> sequences_;
  LoadedModel model_;
  std::shared_ptr<LoadedPlan> plan_;
  uint32_t vocabulary_ = 0;
};

TEST_P(RaggedFamiliesTest, ThreeTogetherAgreeWithTheReferenceImplementationAndWithEachAlone) {
  const std::vector<Logits> together = run({0, 1, 2});
  for (size_t i = 0; i < sequences_.size(); ++i) {
    const Logits &found = together[i];
    ASSERT_EQ(found.size(), sequences_[i].tokens.size() * vocabulary_);
    for (const auto &[position, row] : sequences_[i].logits) {
      const uint32_t *own = found.data() + position * vocabulary_;
      EXPECT_LT(GoldenModel::divergence(
                    row, [&](int32_t token) { return std::bit_cast<float>(own[token]); }),
                1e-4)
          << "at position " << position << " of sequence " << i;
    }
    EXPECT_EQ(firstDifference(found, run({i})[0], vocabulary_), "") << "sequence " << i;
  }
}

// Windows and soft caps, experts beside delta nets, and short convolutions; in full all families.
std::vector<FamilyOnDevice> families() {
  std::vector<FamilyOnDevice> all;
  for (const char *driver : {"cpu", "vulkan", "cuda"}) {
    if (!testsInFull()) {
      for (const char *golden : {"gemma2", "qwen35moe", "lfm2"})
        all.push_back({golden, driver});
      continue;
    }
    for (const std::filesystem::path &path : goldenModels(SINTER_TEST_DIR "/data"))
      all.push_back({path.stem(), driver});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Goldens, RaggedFamiliesTest, testing::ValuesIn(families()),
                         [](const auto &info) {
                           std::string name = info.param.driver + "_" + info.param.golden;
                           std::ranges::replace_if(
                               name, [](char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

} // namespace
} // namespace sinter
