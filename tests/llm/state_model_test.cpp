// Models with states of sequences over real kernels: many sequences, preemption, turns and edits
// change no bit.
#include "golden_model.h"
#include "llm/prefix_cache.h"
#include "llm/ragged.h"
#include "llm/recording_runner.h"
#include "llm/scheduler_check.h"

namespace sinter {
namespace {

struct ModelOnDevice {
  const char *name, *golden, *driver;

  friend void PrintTo(const ModelOnDevice &on, std::ostream *stream) { *stream << on.name; }
};

class StateModelTest : public testing::TestWithParam<ModelOnDevice> {
protected:
  static constexpr uint32_t kVocabulary = 128, kContext = 128;

  void SetUp() override {
    if (!haveCompiler())
      GTEST_SKIP() << compilerPath() << " was not built";
    auto device = openFirst(GetParam().driver, 2);
    if (!device)
      GTEST_SKIP() << device.error().message;
    device_ = std::move(*device);
    const GoldenModel golden = GoldenModel::read(SINTER_TEST_DIR "/data/architectures/" +
                                                 std::string(GetParam().golden) + ".txt");
    const std::vector<uint8_t> bytes = golden.bytes();
    std::ofstream(folder_.file("model.gguf"), std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    model_ = LoadedModel::open(folder_.file("model.gguf"),
                               {"--target", onCores() ? "host" : device_->info().target,
                                "--page-rows", "16", "--query-block", "4"});
    ASSERT_TRUE(static_cast<bool>(model_));
  }
  static bool onCores() { return std::string_view(GetParam().driver) == "cpu"; }

  std::unique_ptr<PlanRunner> runner(uint32_t sequences) {
    auto made = PlanRunner::create(
        *device_, *model_.file, model_.plan,
        {.contextTokens = kContext, .sequences = sequences, .maxStepTokens = 24});
    EXPECT_TRUE(made.has_value()) << made.error().toString();
    return made ? std::move(*made) : nullptr;
  }
  static PagePool poolOf(const RunnerLimits &limits, uint32_t pages) {
    return *PagePool::create(pages, limits.pageRows, limits.stateSlots);
  }
  Generation say(Session &session, const std::vector<TokenId> &prompt, uint64_t count) {
    auto result = session.generate(prompt, {.maxTokens = count, .ignoreEndTokens = true},
                                   [](TokenId) -> Result<void> { return {}; });
    EXPECT_TRUE(result.has_value()) << result.error().toString();
    return result ? *result : Generation();
  }

  const ScratchFolder folder_;
  const Tokenizer tokenizer_ = *Tokenizer::create(smallVocabulary());
  LoadedModel model_;
  std::unique_ptr<hal::Device> device_;
};

TEST_P(StateModelTest, PreemptedSequencesHaveTheBitsOfEachAlone) {
  const auto alone = runner(1), together = runner(3);
  ASSERT_TRUE(alone && together);
  RecordingRunner expected(*alone), found(*together);
  PagePool pool = poolOf(together->limits(), 8);
  Scheduler scheduler(found, pool, tokenizer_, {.promptTokens = 10});
  std::deque<Client> clients;
  for (const auto &prompt : randomSequences({40, 3, 21, 33}, kVocabulary)) {
    Client &client = clients.emplace_back();
    client.order = {.prompt = prompt, .maxTokens = 24, .ignoreEndTokens = true};
    ASSERT_TRUE(scheduler.submit({.prompt = prompt,
                                  .maxTokens = 24,
                                  .ignoreEndTokens = true,
                                  .onEnd = [&](Result<Generation> end) { client.end = end; }}));
  }
  while (scheduler.step()) {
  }
  EXPECT_GT(scheduler.counters().preemptions, 0u);
  for (const Client &client : clients)
    EXPECT_EQ((*client.end)->tokens, aloneOn(expected, tokenizer_, client.order).tokens);
  EXPECT_TRUE(found.rows == expected.rows) << "some rows of logits have other bits";
  EXPECT_EQ(found.changedRows, 0);
  EXPECT_EQ(pool.freeStates(), pool.stateSlots());
}

TEST_P(StateModelTest, TurnsAndEditsHaveTheBitsOfAFreshRun) {
  const auto kept = runner(1), fresh = runner(1);
  ASSERT_TRUE(kept && fresh);
  RecordingRunner found(*kept), expected(*fresh);
  PagePool pool = poolOf(kept->limits(), 8), other = poolOf(fresh->limits(), 8);
  Session session(found, pool, tokenizer_);
  const auto expectAsFresh = [&](const std::vector<TokenId> &prompt, uint64_t reused) {
    Session again(expected, other, tokenizer_);
    const Generation answer = say(session, prompt, 6);
    EXPECT_EQ(answer.reusedTokens, reused);
    EXPECT_EQ(answer.tokens, say(again, prompt, 6).tokens);
    return answer;
  };
  std::vector<TokenId> prompt = randomSequences({40}, kVocabulary)[0];
  const Generation first = expectAsFresh(prompt, 0);
  // Where phases differ, an answer that becomes a part of the prompt keeps the bits of its phase.
  if (kept->limits().phasesAgree) {
    std::vector<TokenId> turn = prompt;
    turn.insert(turn.end(), first.tokens.begin(), first.tokens.end());
    turn.insert(turn.end(), 20, 7);
    expectAsFresh(turn, 45);
  }
  prompt.back() ^= 1; // an edit of the first turn
  expectAsFresh(prompt, 24 - 24 % kept->limits().chunkRows);
  prompt.front() ^= 1;
  expectAsFresh(prompt, 0);
  for (const auto &[tokens, bits] : expected.rows)
    EXPECT_TRUE(found.rows.contains(tokens) && found.rows.at(tokens) == bits)
        << "after " << tokens.size() << " tokens";
}

TEST_P(StateModelTest, PromptsThatGoOnFromAKeptStateHaveTheBitsOfEachAlone) {
  const auto alone = runner(1), together = runner(3);
  ASSERT_TRUE(alone && together);
  if (const auto caches = PrefixCache::check(together->limits()); !caches)
    GTEST_SKIP() << caches.error().message;
  RecordingRunner expected(*alone), found(*together);
  PagePool pool = poolOf(together->limits(), 24);
  Scheduler scheduler(found, pool, tokenizer_, {.promptTokens = 10, .prefixCache = true});
  const std::vector<TokenId> head = randomSequences({70}, kVocabulary).front();
  for (const auto &tail : randomSequences({20, 25, 9, 30}, kVocabulary)) {
    Order order{.prompt = head, .maxTokens = 8, .ignoreEndTokens = true};
    order.prompt.insert(order.prompt.end(), tail.begin(), tail.end());
    std::vector<TokenId> tokens;
    ASSERT_TRUE(scheduler.submit({.prompt = order.prompt,
                                  .maxTokens = 8,
                                  .ignoreEndTokens = true,
                                  .onEnd = [&](Result<Generation> end) { tokens = end->tokens; }}));
    while (scheduler.step()) {
    }
    EXPECT_EQ(tokens, aloneOn(expected, tokenizer_, order).tokens);
  }
  EXPECT_GE(scheduler.counters().prefixHits, 2u) << "of the third prompt and the fourth";
  EXPECT_TRUE(found.rows == expected.rows) << "some rows of logits have other bits";
  EXPECT_EQ(found.changedRows, 0);
  EXPECT_EQ(pool.availableStates(), pool.stateSlots());
}

INSTANTIATE_TEST_SUITE_P(Devices, StateModelTest,
                         testing::Values(ModelOnDevice{"cpu_lfm2", "lfm2", "cpu"},
                                         ModelOnDevice{"cpu_qwen35", "qwen35-grouped", "cpu"},
                                         ModelOnDevice{"vulkan_qwen35", "qwen35-grouped",
                                                       "vulkan"}),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace sinter
