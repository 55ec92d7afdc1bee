// Many sequences over real kernels: every row of logits has the bits that it has alone, also where
// pages run out and sequences are computed again, and where steps begin ahead.
#include "llm/ragged.h"
#include "llm/recording_runner.h"
#include "llm/scheduler_check.h"
#include "sampling.h"

namespace sinter {
namespace {

struct OnDevice {
  const char *name, *driver;
  TensorType matrices, embedding;

  friend void PrintTo(const OnDevice &on, std::ostream *stream) { *stream << on.name; }
};

class SchedulerModelTest : public testing::TestWithParam<OnDevice> {
protected:
  static constexpr uint32_t kVocabulary = 320, kContext = 128;

  void SetUp() override {
    if (!haveCompiler())
      GTEST_SKIP() << compilerPath() << " was not built";
    auto device = openFirst(GetParam().driver, 2);
    if (!device)
      GTEST_SKIP() << device.error().message;
    device_ = std::move(*device);
    RandomLlama shape;
    shape.matrices = GetParam().matrices;
    shape.embedding = GetParam().embedding;
    shape.vocabulary = kVocabulary;
    const std::vector<uint8_t> bytes = randomLlama(shape);
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
        {.contextTokens = kContext, .sequences = sequences, .maxStepTokens = 48});
    EXPECT_TRUE(made.has_value()) << made.error().toString();
    return made ? std::move(*made) : nullptr;
  }

  // Greedy ones and drawn ones, with prompts of unequal lengths.
  static std::vector<Order> orders() {
    std::vector<Order> orders;
    for (const auto &prompt : randomSequences({3, 70, 17, 33, 1, 48, 60, 25}, kVocabulary)) {
      const bool drawn = orders.size() % 2;
      orders.push_back({.prompt = prompt,
                        .maxTokens = 30 + 3 * orders.size(),
                        .settings = {.temperature = drawn ? 1.0 : 0.0,
                                     .topK = drawn ? 40 : 0,
                                     .seed = orders.size()},
                        .ignoreEndTokens = true});
    }
    return orders;
  }

  // Submits one more request after every other step and runs to the end.
  void runTogether(Scheduler &scheduler, std::deque<Client> &clients) {
    size_t next = 0;
    for (int step = 0; step == 0 || scheduler.step() || next < clients.size(); ++step)
      if (step % 2 == 0 && next < clients.size())
        submit(scheduler, clients[next++]);
  }
  void submit(Scheduler &scheduler, Client &client) {
    auto id = scheduler.submit({.prompt = client.order.prompt,
                                .maxTokens = client.order.maxTokens,
                                .sampler = samplerOf(client.order, kVocabulary, tokenizer_),
                                .ignoreEndTokens = true,
                                .onEnd = [&](Result<Generation> end) { client.end = end; }});
    EXPECT_TRUE(id.has_value()) << id.error().toString();
  }

  // The same with one head of 40 tokens before most of the prompts.
  static std::vector<Order> ordersWithAHead() {
    std::vector<Order> made = orders();
    const std::vector<TokenId> head = randomSequences({40}, kVocabulary).front();
    for (size_t i = 0; i < made.size(); ++i)
      if (std::vector<TokenId> &prompt = made[i].prompt; i % 4 != 3 && prompt.size() < 50)
        prompt.insert(prompt.begin(), head.begin(), head.end() - static_cast<ptrdiff_t>(i));
    return made;
  }

  // Every row of logits and every token as alone.
  SchedulerCounters expectAsAlone(uint32_t poolPages) {
    return expectAsAlone(poolPages, orders(), {.promptTokens = 20});
  }
  SchedulerCounters expectAsAlone(uint32_t poolPages, const std::vector<Order> &orders,
                                  const SchedulerOptions &options) {
    const auto alone = runner(1), together = runner(8);
    if (!alone || !together)
      return {};
    EXPECT_EQ(together->limits().phasesAgree, onCores()) << "threads share K out by the phase";
    RecordingRunner expected(*alone), found(*together);
    std::deque<Client> clients;
    for (const Order &order : orders)
      clients.emplace_back().order = order;
    PagePool pool = *PagePool::create(poolPages, together->limits().pageRows);
    Scheduler scheduler(found, pool, tokenizer_, options);
    runTogether(scheduler, clients);
    for (const Client &client : clients) {
      const Generation generation = aloneOn(expected, tokenizer_, client.order);
      EXPECT_TRUE(client.end && *client.end && (*client.end)->tokens == generation.tokens);
    }
    const SchedulerCounters &counters = scheduler.counters();
    // Rows after wrong guesses are none of the answers'.
    const size_t thrown = std::erase_if(
        found.rows, [&](const auto &row) { return !expected.rows.contains(row.first); });
    EXPECT_LE(thrown, counters.thrownRows);
    EXPECT_TRUE(found.rows == expected.rows) << "some rows of logits have other bits";
    EXPECT_EQ(found.changedRows, 0);
    EXPECT_EQ(counters.aheadSteps > 20, !onCores()) << counters.aheadSteps;
    // Of a sequence that is computed again the next token is known, and none is chosen.
    EXPECT_LE(counters.thrownRows, counters.rows / 20 + counters.recomputedRows);
    return counters;
  }

  const ScratchFolder folder_;
  const Tokenizer tokenizer_ = *Tokenizer::create(smallVocabulary());
  LoadedModel model_;
  std::unique_ptr<hal::Device> device_;
};

TEST_P(SchedulerModelTest, SequencesThatComeAndGoHaveTheBitsOfEachAlone) {
  const SchedulerCounters counters = expectAsAlone(64);
  EXPECT_EQ(counters.preemptions, 0u);
}

TEST_P(SchedulerModelTest, SequencesThatAreStoppedAndComputedAgainHaveTheBitsOfEachAlone) {
  const SchedulerCounters counters = expectAsAlone(9);
  EXPECT_GT(counters.preemptions, 0u);
}

TEST_P(SchedulerModelTest, SequencesThatSharePagesHaveTheBitsOfEachAlone) {
  for (const uint32_t pages : {64u, 11u}) {
    if (!onCores() && pages == 64)
      continue; // software devices take their time
    const SchedulerCounters counters =
        expectAsAlone(pages, ordersWithAHead(), {.promptTokens = 20, .prefixCache = true});
    EXPECT_GT(counters.reusedTokens, 64u);
    EXPECT_EQ(counters.preemptions > 0, pages < 64);
  }
}

// A sample has blocks and numbers on the CPU; which blocks is RaggedBatchTest's.
std::vector<OnDevice> onDevices() {
  const std::vector<OnDevice> all = {{"cpu_Q4_1", "cpu", TensorType::Q4_1, TensorType::Q8_0},
                                     {"cpu_Q8_0", "cpu", TensorType::Q8_0, TensorType::Q8_0},
                                     {"cpu_F16", "cpu", TensorType::F16, TensorType::F16},
                                     {"vulkan_Q8_0", "vulkan", TensorType::Q8_0, TensorType::Q8_0},
                                     {"cuda_Q8_0", "cuda", TensorType::Q8_0, TensorType::Q8_0}};
  return sampled(all, [](const OnDevice &on) {
    const bool blocks = blockFormat(on.matrices).blockLength > 1;
    return std::vector<std::string>{std::string(on.driver) + (blocks ? " blocks" : " numbers")};
  });
}

INSTANTIATE_TEST_SUITE_P(Devices, SchedulerModelTest, testing::ValuesIn(onDevices()),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace sinter
