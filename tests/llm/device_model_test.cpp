// Small models on every device that this machine has: their greedy tokens are the CPU's, and the
// bits of a sequence do not depend on what else is in a step.
#include "llm/ragged.h"
#include "sampling.h"

#include <algorithm>

namespace sinter {
namespace {

constexpr uint32_t kVocabulary = 320;

struct OnDevice {
  const char *driver;
  TensorType matrices;

  friend void PrintTo(const OnDevice &on, std::ostream *stream) {
    *stream << on.driver << " " << blockFormat(on.matrices).name;
  }
};

// A model of one format on a device, for all tests of the suite.
struct ModelOnDevice {
  ScratchFolder folder;
  LoadedModel model;
  std::shared_ptr<LoadedPlan> plan; // null where it could not be loaded
};

class DeviceModelTest : public testing::TestWithParam<OnDevice> {
protected:
  static constexpr uint32_t kSequences = 3; // at a time, at most

  static void TearDownTestSuite() { models().clear(); }

  void SetUp() override {
    if (!haveCompiler())
      GTEST_SKIP() << compilerPath() << " was not built";
    const auto device = openFirst(GetParam().driver, 2);
    if (!device)
      GTEST_SKIP() << device.error().message;
    plan_ = planOn(GetParam().driver, (*device)->info().target);
    ASSERT_TRUE(plan_);
  }
  // The model of the case's format, loaded once.
  static std::shared_ptr<LoadedPlan> planOn(const std::string &driver, const std::string &target) {
    const TensorType type = GetParam().matrices;
    const auto [found, isNew] = models().try_emplace({driver, type});
    ModelOnDevice &on = found->second;
    if (!isNew)
      return on.plan;
    RandomLlama shape;
    shape.matrices = shape.embedding = type;
    shape.vocabulary = kVocabulary;
    const std::vector<uint8_t> bytes = randomLlama(shape);
    const std::string path = on.folder.file("model.gguf");
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    on.model = LoadedModel::open(
        path, {"--page-rows", "16", "--target", target.starts_with("cpu:") ? "host" : target});
    if (on.model)
      on.plan = LoadedPlan::load(on.model, kSequences, {.context = 512, .driver = driver});
    return on.plan;
  }
  static std::span<const uint32_t> rowOf(const Logits &logits, size_t token) {
    return std::span(logits).subspan(token * kVocabulary, kVocabulary);
  }
  static float logitOf(uint32_t bits) { return std::bit_cast<float>(bits); }
  static TokenId likeliest(std::span<const uint32_t> row) {
    return static_cast<TokenId>(std::ranges::max_element(row, {}, logitOf) - row.begin());
  }
  // How far the token's logit lies below the largest, as a share of what the row spans.
  static float distance(std::span<const uint32_t> row, TokenId token) {
    const auto [low, high] = std::ranges::minmax_element(row, {}, logitOf);
    const float most = logitOf(*high), span = most - logitOf(*low);
    return span > 0 ? (most - logitOf(row[static_cast<size_t>(token)])) / span : 1;
  }
  void expectAlone(const std::vector<Logits> &found,
                   const std::vector<std::vector<TokenId>> &sequences) {
    ASSERT_EQ(found.size(), sequences.size());
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_FALSE(found[i].empty());
      EXPECT_EQ(firstDifference(found[i], logitsAlone(plan_, sequences[i]), kVocabulary), "")
          << "sequence " << i;
    }
  }

  std::shared_ptr<LoadedPlan> plan_;

private:
  static std::map<std::pair<std::string, TensorType>, ModelOnDevice> &models() {
    static std::map<std::pair<std::string, TensorType>, ModelOnDevice> models;
    return models;
  }
};

// At each step of the CPU's own answer. Where two tokens are nearly as likely, either will do:
// rounding decides.
TEST_P(DeviceModelTest, GreedyTokensAreTheCpusButForNearTies) {
  constexpr size_t kSteps = 12;
  constexpr float kNearTie = 0.02f;
  const std::shared_ptr<LoadedPlan> onCpu = planOn("cpu", "host");
  ASSERT_TRUE(onCpu);
  std::vector<TokenId> tokens = randomSequences({21}, kVocabulary)[0];
  const size_t prompt = tokens.size();
  for (size_t step = 0; step < kSteps; ++step) {
    const Logits logits = logitsAlone(onCpu, tokens);
    ASSERT_EQ(logits.size(), tokens.size() * kVocabulary);
    tokens.push_back(likeliest(rowOf(logits, tokens.size() - 1)));
  }
  RaggedRun run(plan_, {tokens});
  run.run({{{0, static_cast<uint32_t>(prompt)}}});
  const Logits found =
      run.run(Schedule(kSteps, {{0, 1, Phase::Decode}})).front(); // as a session does
  ASSERT_EQ(found.size(), tokens.size() * kVocabulary);
  size_t same = 0;
  for (size_t at = prompt; at < tokens.size(); ++at) {
    EXPECT_LE(distance(rowOf(found, at - 1), tokens[at]), kNearTie) << "token " << at;
    same += likeliest(rowOf(found, at - 1)) == tokens[at];
  }
  EXPECT_GE(same, kSteps - 2);
}

TEST_P(DeviceModelTest, RowsOfOneEightAndSixtyFiveTokensHaveEqualBits) {
  const auto sequences = randomSequences({65}, kVocabulary);
  RaggedRun run(plan_, sequences);
  for (uint32_t at = 0; at < 65; at += at < 56 ? 8 : 1)
    run.run({{{0, at < 56 ? 8u : 1u}}});
  expectAlone(run.run({}), sequences);
}

TEST_P(DeviceModelTest, ThreeUnequalSequencesInStepsTogetherHaveTheBitsOfEachAlone) {
  const auto sequences = randomSequences({5, 19, 34}, kVocabulary);
  RaggedRun run(plan_, sequences, true);
  expectAlone(run.run({{{2, 30}, {1, 17}}, {{0, 3}, {1, 1}, {2, 1}}, {{1, 1}, {2, 3}, {0, 2}}}),
              sequences);
}

// One sequence is long enough for spans of keys, so the short ones beside it take that path too.
TEST_P(DeviceModelTest, GeneratedRowsOfSequencesTogetherHaveTheBitsOfEachAlone) {
  const auto sequences = randomSequences({5, 19, 300}, kVocabulary);
  constexpr uint32_t kGenerated = 3;
  const auto promptOf = [&](size_t i) {
    return Portion{i, static_cast<uint32_t>(sequences[i].size()) - kGenerated};
  };
  const auto next = [](size_t i) { return Portion{i, 1, Phase::Decode}; };
  RaggedRun together(plan_, sequences);
  const auto &found = together.run({{promptOf(0), promptOf(1), promptOf(2)},
                                    {next(2), next(0)},
                                    {next(0), next(1), next(2)},
                                    {next(1), next(2), next(0)},
                                    {next(1)}});
  for (size_t i = 0; i < sequences.size(); ++i) {
    RaggedRun alone(plan_, sequences);
    const auto &own = alone.run({{promptOf(i)}, {next(i)}, {next(i)}, {next(i)}});
    EXPECT_EQ(firstDifference(found[i], own[i], kVocabulary), "") << "sequence " << i;
  }
}

// More tokens than are ranked at once; each step compares the largest logits with sorted rows.
TEST(DeviceModel, GivesTheLargestLogitsOfAWideVocabulary) {
  if (!haveCompiler())
    GTEST_SKIP() << compilerPath() << " was not built";
  RandomLlama shape;
  shape.matrices = shape.embedding = TensorType::F32;
  shape.vocabulary = 2500;
  const std::vector<uint8_t> bytes = randomLlama(shape);
  const ScratchFolder folder;
  std::ofstream(folder.file("model.gguf"), std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  bool any = false;
  for (const char *driver : {"vulkan", "cuda"}) {
    const auto device = openFirst(driver, 2);
    if (!device)
      continue;
    any = true;
    const LoadedModel model = LoadedModel::open(
        folder.file("model.gguf"), {"--page-rows", "16", "--target", (*device)->info().target});
    ASSERT_TRUE(static_cast<bool>(model));
    EXPECT_EQ(model.plan->properties.at(contract::kTopCount.name), 128);
    RaggedRun run(model, randomSequences({5}, shape.vocabulary), {.driver = driver});
    run.run({{{0, 4, Phase::Prefill, LogitsWanted::Last}}, {{0, 1, Phase::Decode}}});
  }
  if (!any)
    GTEST_SKIP() << "no device has memory of its own";
}

// A sample has the formats that ask most of a device that compiles kernels as it loads them; those
// of the CPU are what all devices' tokens are compared with.
std::vector<std::string> propertiesOf(const OnDevice &on) {
  const BlockFormat &format = blockFormat(on.matrices);
  const std::string driver = on.driver;
  if (driver == "cpu")
    return {driver + " " + std::string(format.name)};
  std::vector<std::string> properties = {driver +
                                         (format.blockLength > 1 ? " blocks" : " numbers")};
  if (on.matrices == TensorType::F16)
    properties.push_back(driver + " halves");
  if (format.min.present())
    properties.push_back(driver + " minima");
  return properties;
}

std::vector<OnDevice> everywhere() {
  std::vector<OnDevice> all;
  for (const char *driver : {"cpu", "vulkan", "cuda"})
    for (const TensorType type :
         {TensorType::F32, TensorType::F16, TensorType::Q8_0, TensorType::Q4_1})
      all.push_back({driver, type});
  return sampled(all, propertiesOf);
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceModelTest, testing::ValuesIn(everywhere()),
                         [](const auto &info) {
                           return std::string(info.param.driver) + "_" +
                                  std::string(blockFormat(info.param.matrices).name);
                         });

} // namespace
} // namespace sinter
