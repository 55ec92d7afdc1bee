// Models with windows over real kernels: where pages are filled again whose rows left the window,
// all rows of logits have the bits that they have where all pages are kept.
#include "golden_model.h"
#include "llm/ragged.h"
#include "llm/recording_runner.h"
#include "llm/scheduler_check.h"
#include "plan/contract.h"

namespace sinter {
namespace {

// Notes all rows of logits in their order.
class ListingRunner : public StepRunner {
public:
  explicit ListingRunner(StepRunner &runner) : runner_(runner) {}

  std::vector<uint32_t> bits;

  const RunnerLimits &limits() const override { return runner_.limits(); }
  Result<std::span<const float>> step(const Batch &batch) override {
    auto logits = runner_.step(batch);
    if (logits)
      for (const float logit : *logits)
        bits.push_back(std::bit_cast<uint32_t>(logit));
    return logits;
  }

private:
  StepRunner &runner_;
};

// Page 0 of each group, which no sequence has, holds NaNs in all layers. Page tables name it where
// no page is read.
class PoisonedRunner : public StepRunner {
public:
  PoisonedRunner(PlanRunner &runner, PagePool &pool) : runner_(runner) {
    for (size_t group = 0; group < pool.groupCount(); ++group)
      EXPECT_EQ(pool.take(group), PageId{0});
  }

  const RunnerLimits &limits() const override { return runner_.limits(); }

  // The first step makes the KV cache, and a page before what it reads is none's.
  Result<std::span<const float>> step(const Batch &batch) override {
    auto logits = runner_.step(batch);
    if (logits && !poisoned_)
      SINTER_TRY(poison());
    poisoned_ = true;
    return logits;
  }

private:
  Result<void> poison() {
    const plan::Plan &plan = runner_.executor().plan();
    std::vector<int64_t> ones;
    for (const plan::Symbol &symbol : plan.symbols)
      ones.push_back(std::max<int64_t>(symbol.min, 1));
    for (const plan::Buffer &buffer : plan.buffers)
      if (buffer.kind == plan::BufferKind::State) {
        const std::vector<uint8_t> page(static_cast<size_t>(*plan::evaluate(buffer.bytes, ones)),
                                        0xff);
        SINTER_TRY(runner_.executor().setBuffer(buffer.name, page));
      }
    return {};
  }

  PlanRunner &runner_;
  bool poisoned_ = false;
};

// A model with a window of 32 positions in one layer of two, or in both.
struct WindowCase {
  const char *name, *driver;
  bool everywhere;

  friend void PrintTo(const WindowCase &window, std::ostream *stream) { *stream << window.name; }
};

class WindowModelTest : public testing::TestWithParam<WindowCase> {
protected:
  static constexpr uint32_t kVocabulary = 128, kContext = 256;

  void SetUp() override {
    if (!haveCompiler())
      GTEST_SKIP() << compilerPath() << " was not built";
    auto device = openFirst(GetParam().driver, 2);
    if (!device)
      GTEST_SKIP() << device.error().message;
    device_ = std::move(*device);
    GoldenModel golden = GoldenModel::read(SINTER_TEST_DIR "/data/architectures/gemma3.txt");
    for (GoldenModel::Key &key : golden.keys)
      if (GetParam().everywhere && key.name == "gemma3.attention.sliding_window_pattern")
        key.words.back() = "1";
    const std::vector<uint8_t> bytes = golden.bytes();
    std::ofstream(folder_.file("model.gguf"), std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    model_ = LoadedModel::open(folder_.file("model.gguf"),
                               {"--target", onCores() ? "host" : device_->info().target,
                                "--page-rows", "16", "--query-block", "4"});
    ASSERT_TRUE(static_cast<bool>(model_));
    auto keeping = std::make_shared<plan::Plan>(*model_.plan);
    keeping->properties.erase(contract::kLookBack.name);
    keeping->properties.erase(contract::kWindowLookBack.name);
    keepingPlan_ = std::move(keeping);
  }
  static bool onCores() { return std::string_view(GetParam().driver) == "cpu"; }

  std::unique_ptr<PlanRunner> runner(const std::shared_ptr<const plan::Plan> &plan,
                                     uint32_t sequences) {
    auto made = PlanRunner::create(
        *device_, *model_.file, plan,
        {.contextTokens = kContext, .sequences = sequences, .maxStepTokens = 24});
    EXPECT_TRUE(made.has_value()) << made.error().toString();
    return made ? std::move(*made) : nullptr;
  }
  static PagePool poolOf(const RunnerLimits &limits) {
    return *PagePool::create(limits.kvGroups, limits.pageRows);
  }
  Generation say(Session &session, const std::vector<TokenId> &prompt, uint64_t count) {
    auto result = session.generate(prompt, {.maxTokens = count, .ignoreEndTokens = true},
                                   [](TokenId) -> Result<void> { return {}; });
    EXPECT_TRUE(result.has_value()) << result.error().toString();
    return result ? *result : Generation();
  }
  static const KvGroupPages &windowOf(const RunnerLimits &limits) { return limits.kvGroups.back(); }

  const ScratchFolder folder_;
  const Tokenizer tokenizer_ = *Tokenizer::create(smallVocabulary());
  LoadedModel model_;
  std::shared_ptr<const plan::Plan> keepingPlan_;
  std::unique_ptr<hal::Device> device_;
};

TEST_P(WindowModelTest, FewPagesHoldALongSequence) {
  const auto keeping = runner(keepingPlan_, 1), filling = runner(model_.plan, 2);
  ASSERT_TRUE(keeping && filling);
  EXPECT_FALSE(windowOf(keeping->limits()).isRing());
  // For 31 positions and the 24 of a step, wherever these begin in a page of 16.
  EXPECT_EQ(windowOf(filling->limits()).sequencePages, 5u);
  PagePool all = poolOf(keeping->limits()), few = poolOf(filling->limits());
  PoisonedRunner poisoned(*filling, few);
  ListingRunner expected(*keeping), found(poisoned);
  Session whole(expected, all, tokenizer_), session(found, few, tokenizer_);
  const std::vector<TokenId> prompt = randomSequences({100}, kVocabulary)[0];
  EXPECT_EQ(say(session, prompt, 80).tokens, say(whole, prompt, 80).tokens);
  EXPECT_TRUE(found.bits == expected.bits) << "some rows of logits have other bits";
  EXPECT_EQ(few.pageCount(few.groupCount() - 1) - few.freePages(few.groupCount() - 1), 5u + 1);
}

TEST_P(WindowModelTest, MemoryIsThatOfThePagesOfEachGroup) {
  const PlanRunnerOptions options{.contextTokens = kContext, .maxStepTokens = 24};
  const auto few = limitsOf(*model_.plan, options), all = limitsOf(*keepingPlan_, options);
  ASSERT_TRUE(few && all);
  const auto kvOf = [](const plan::Plan &plan, const RunnerLimits &limits) {
    uint64_t bytes = 0;
    for (size_t group = 0; group < limits.kvGroups.size(); ++group)
      bytes += *kvBytes(plan, limits, group).value();
    return bytes;
  };
  const uint64_t bytes = kvOf(*model_.plan, *few), whole = kvOf(*keepingPlan_, *all);
  // 5 of 16 pages, in both layers or in one.
  EXPECT_EQ(bytes, GetParam().everywhere ? whole * 5 / 16 : whole / 2 + whole / 2 * 5 / 16);
  // What else is kept, such as guesses, is alike.
  EXPECT_EQ(whole - bytes,
            memoryNeedOf(*keepingPlan_, *all)->state - memoryNeedOf(*model_.plan, *few)->state);
}

TEST_P(WindowModelTest, PreemptedSequencesHaveTheBitsOfEachAlone) {
  if (GetParam().everywhere)
    GTEST_SKIP() << "no page table tells all tokens before a row";
  const auto alone = runner(keepingPlan_, 1), together = runner(model_.plan, 3);
  ASSERT_TRUE(alone && together);
  std::vector<KvGroupPages> groups = together->limits().kvGroups;
  groups[0].pages = 18;
  groups[1].pages = 12; // of two sequences
  PagePool pool = *PagePool::create(groups, together->limits().pageRows);
  PoisonedRunner poisoned(*together, pool);
  RecordingRunner expected(*alone), found(poisoned);
  Scheduler scheduler(found, pool, tokenizer_, {.promptTokens = 20});
  std::deque<Client> clients;
  for (const auto &prompt : randomSequences({60, 3, 41, 52}, kVocabulary)) {
    Client &client = clients.emplace_back();
    client.order = {.prompt = prompt, .maxTokens = 60, .ignoreEndTokens = true};
    ASSERT_TRUE(scheduler.submit({.prompt = prompt,
                                  .maxTokens = 60,
                                  .ignoreEndTokens = true,
                                  .onEnd = [&](Result<Generation> end) { client.end = end; }}));
  }
  while (scheduler.step()) {
  }
  EXPECT_GT(scheduler.counters().preemptions, 0u);
  for (const Client &client : clients) {
    ASSERT_TRUE(client.end && *client.end);
    EXPECT_EQ((*client.end)->tokens, aloneOn(expected, tokenizer_, client.order).tokens);
  }
  EXPECT_TRUE(found.rows == expected.rows) << "some rows of logits have other bits";
  EXPECT_EQ(found.changedRows, 0);
}

// Where phases differ, an answer that becomes a part of the prompt keeps the bits of its phase.
TEST_P(WindowModelTest, TurnsAndEditsHaveTheBitsOfAFreshRun) {
  if (!onCores() || GetParam().everywhere)
    GTEST_SKIP() << "phases have bits of their own";
  const auto filling = runner(model_.plan, 2), keeping = runner(keepingPlan_, 1);
  ASSERT_TRUE(filling && keeping);
  PagePool pool = poolOf(filling->limits()), other = poolOf(keeping->limits());
  PoisonedRunner poisoned(*filling, pool);
  RecordingRunner found(poisoned), expected(*keeping);
  Session session(found, pool, tokenizer_);
  const auto expectAsFresh = [&](const std::vector<TokenId> &prompt, uint64_t reused) {
    Session again(expected, other, tokenizer_);
    const Generation answer = say(session, prompt, 6);
    EXPECT_EQ(answer.reusedTokens, reused);
    EXPECT_EQ(answer.tokens, say(again, prompt, 6).tokens);
    return answer;
  };
  std::vector<TokenId> prompt = randomSequences({120}, kVocabulary)[0];
  const Generation first = expectAsFresh(prompt, 0);
  std::vector<TokenId> turn = prompt;
  turn.insert(turn.end(), first.tokens.begin(), first.tokens.end());
  turn.insert(turn.end(), 20, 7);
  expectAsFresh(turn, 125);
  turn[120] ^= 1; // an edit that the window's pages reach
  expectAsFresh(turn, 120);
  turn[50] ^= 1; // and one before them
  expectAsFresh(turn, 0);
  for (const auto &[tokens, bits] : expected.rows)
    EXPECT_TRUE(found.rows.contains(tokens) && found.rows.at(tokens) == bits)
        << "after " << tokens.size() << " tokens";
}

INSTANTIATE_TEST_SUITE_P(Devices, WindowModelTest,
                         testing::Values(WindowCase{"cpu_some", "cpu", false},
                                         WindowCase{"cpu_everywhere", "cpu", true},
                                         WindowCase{"vulkan_some", "vulkan", false},
                                         WindowCase{"cuda_some", "cuda", false},
                                         WindowCase{"cuda_everywhere", "cuda", true}),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace sinter
