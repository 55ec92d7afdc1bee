// Steps that a device begins ahead: its guesses against the host's sampler, and its loss.
#include "hal/chaos/chaos_driver.h"
#include "llm/ragged.h"
#include "llm/scheduler_check.h"

namespace sinter {
namespace {

constexpr uint32_t kVocabulary = 320; // a plan of DeviceModelTest

class AheadModelTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (!haveCompiler())
      GTEST_SKIP() << compilerPath() << " was not built";
    auto device = openFirst(GetParam(), 2);
    if (!device)
      GTEST_SKIP() << device.error().message;
    device_ = std::move(*device);
    RandomLlama shape;
    shape.matrices = shape.embedding = TensorType::F32;
    shape.vocabulary = kVocabulary;
    const std::vector<uint8_t> bytes = randomLlama(shape);
    std::ofstream(folder_.file("model.gguf"), std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    model_ = LoadedModel::open(folder_.file("model.gguf"),
                               {"--page-rows", "16", "--target", device_->info().target});
    ASSERT_TRUE(static_cast<bool>(model_));
  }
  Result<std::unique_ptr<PlanRunner>> runner(hal::Device &device,
                                             std::optional<bool> overlap = std::nullopt) {
    return PlanRunner::create(
        device, *model_.file, model_.plan,
        {.contextTokens = 128, .sequences = 4, .maxStepTokens = 64, .overlap = overlap});
  }
  Sampler samplerOf(const SamplerSettings &settings) const {
    return *Sampler::create(settings, kVocabulary, &tokenizer_);
  }

  const ScratchFolder folder_;
  const Tokenizer tokenizer_ = *Tokenizer::create(smallVocabulary());
  LoadedModel model_;
  std::unique_ptr<hal::Device> device_;
};

// Each step alone and with the others, for draws all over [0, 1).
std::vector<SamplerSettings> guessedSettings() {
  std::vector<SamplerSettings> all = {
      {},
      {.temperature = 1, .topK = 1},
      {.temperature = 1, .topK = 40},
      {.temperature = 1, .topK = 128},
      {.temperature = 0.8, .topK = 40, .topP = 0.95, .minP = 0.05},
      {.temperature = 1, .topK = 100, .topP = 0.5},
      {.temperature = 1, .topK = 100, .topP = 0.01},
      {.temperature = 1, .topK = 100, .minP = 0.6},
      {.temperature = 1, .minP = 0.9},
      {.temperature = 30, .topK = 100},
      {.temperature = 0.01, .topK = 100},
      {.temperature = 1e-40, .topK = 100},
      {.temperature = 1, .topK = 60, .xtcProbability = 0.5, .xtcThreshold = 0.01},
      {.temperature = 0.2, .topK = 60, .xtcProbability = 1, .xtcThreshold = 0.001},
      {.temperature = 2, .topK = 90, .topP = 0.8, .xtcProbability = 1, .xtcThreshold = 0.4}};
  for (size_t i = 0; i < all.size(); ++i)
    all[i].seed = i;
  return all;
}

TEST_P(AheadModelTest, GuessesAreTheTokensThatTheSamplerChooses) {
  const auto made = runner(*device_);
  ASSERT_TRUE(made.has_value()) << made.error().toString();
  PlanRunner &runner = **made;
  ASSERT_TRUE(runner.runsAhead());
  const auto settings = guessedSettings();
  PagePool pool = *PagePool::create(runner.limits().kvGroups, runner.limits().pageRows);
  size_t guessed = 0, different = 0;
  for (const std::vector<TokenId> &tokens : randomSequences({60, 57, 48}, kVocabulary)) {
    SequencePages pages(pool);
    ASSERT_TRUE(pages.reserve(tokens.size()));
    const BatchPart part{tokens, 0, &pages, LogitsWanted::All, Phase::Prefill};
    Batch batch;
    ASSERT_TRUE(buildBatch({&part, 1}, runner.limits().batchShape(), batch));
    std::vector<Sampler> samplers;
    std::vector<RowOrder> orders;
    for (size_t row = 0; row < tokens.size(); ++row) {
      samplers.push_back(samplerOf(settings[row % settings.size()]));
      orders.push_back({.guess = samplers.back().guessRule(0)});
      EXPECT_TRUE(orders.back().guess.isAny()) << row;
    }
    orders[7].guess = {};
    const std::vector<int32_t> sources(tokens.size(), -1);
    ASSERT_TRUE(runner.begin(batch, {sources, orders}));
    const auto rows = runner.finish();
    ASSERT_TRUE(rows.has_value()) << rows.error().toString();
    EXPECT_EQ(rows->guess(7), -1);
    SamplerScratch scratch;
    for (size_t row = 0; row < tokens.size(); ++row) {
      const auto chosen = samplers[row].sampleTop(rows->top(row), scratch);
      ASSERT_TRUE(chosen.has_value()) << chosen.error().toString();
      if (!*chosen || row == 7) // the host reads the whole row
        continue;
      ++guessed;
      different += **chosen != rows->guess(row);
    }
  }
  EXPECT_GT(guessed, 140u);
  EXPECT_LE(different, 1u) << "of " << guessed; // a draw at an edge
}

TEST_P(AheadModelTest, StepsBeginAheadUnlessThatIsOff) {
  const auto off = runner(*device_, false), on = runner(*device_, true);
  ASSERT_TRUE(off.has_value() && on.has_value());
  EXPECT_FALSE((*off)->runsAhead());
  EXPECT_TRUE((*on)->runsAhead());
}

struct LostRun {
  uint64_t commands = 0, aheadSteps = 0;
};

TEST_P(AheadModelTest, ALostDeviceEndsTheRequestsOfBothStepsUnderWay) {
  const auto run = [&](uint64_t lost) -> LostRun {
    hal::DriverRegistry registry, inner;
    const bool isCuda = std::string_view(GetParam()) == "cuda";
    EXPECT_TRUE(isCuda ? hal::addCudaDriver(inner) : hal::addVulkanDriver(inner));
    const auto ledger = std::make_shared<hal::ChaosLedger>();
    EXPECT_TRUE(hal::addChaosDriver(registry, std::move(inner), {.lostFromCommand = lost}, ledger));
    LostRun result;
    {
      const auto device = registry.find("chaos").value()->open(0, {2}).value();
      const auto made = runner(*device);
      EXPECT_TRUE(made.has_value()) << made.error().toString();
      PagePool pool = *PagePool::create((*made)->limits().kvGroups, (*made)->limits().pageRows);
      Scheduler scheduler(**made, pool, tokenizer_);
      std::vector<Result<Generation>> ends;
      for (const TokenId first : {1, 2})
        EXPECT_TRUE(scheduler.submit(
            {.prompt = {first, 5, 9},
             .maxTokens = 12,
             .ignoreEndTokens = true,
             .onEnd = [&](Result<Generation> end) { ends.push_back(std::move(end)); }}));
      while (scheduler.step())
        if (const auto &error = scheduler.deviceLost())
          scheduler.endAll(*error);
      EXPECT_EQ(ends.size(), 2u) << lost;
      const auto expected = lost == UINT64_MAX ? std::nullopt : std::optional(Code::DeviceLost);
      for (const auto &end : ends)
        EXPECT_EQ(end ? std::nullopt : std::optional(end.error().code), expected) << lost;
      EXPECT_EQ(pool.availablePages(0), pool.pageCount(0)) << lost;
      result = {ledger->commands, scheduler.counters().aheadSteps};
    }
    EXPECT_EQ(ledger->living(), 0) << lost;
    return result;
  };
  const LostRun whole = run(UINT64_MAX);
  EXPECT_GT(whole.aheadSteps, 5u);
  for (uint64_t back = 3; back < whole.commands / 2; back += whole.commands / 9)
    run(whole.commands - back);
}

INSTANTIATE_TEST_SUITE_P(Devices, AheadModelTest, testing::Values("vulkan", "cuda"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace sinter
