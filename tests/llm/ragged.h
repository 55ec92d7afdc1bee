// Runs schedules of steps over several sequences and keeps every row of logits, for tests on what
// the bits of a sequence depend on.
#pragma once

#include "hal/cpu/cpu_driver.h"
#include "hal/cuda/cuda_driver.h"
#include "hal/vulkan/vulkan_driver.h"
#include "llm/plan_runner.h"
#include "llm/tiny_model.h"
#include "llm/top_of.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

namespace sinter {

// The next `count` tokens of sequence `sequence`.
struct Portion {
  size_t sequence;
  uint32_t count;
  Phase phase = Phase::Prefill;
  LogitsWanted logits = LogitsWanted::All;

  uint32_t rows() const {
    return logits == LogitsWanted::All ? count : logits == LogitsWanted::Last ? 1 : 0;
  }
};
// Each inner list is one batch.
using Schedule = std::vector<std::vector<Portion>>;

// A model with its plan and device, from which runners are made.
struct LoadedModel {
  std::unique_ptr<GgufFile> file;
  std::shared_ptr<const plan::Plan> plan;

  explicit operator bool() const { return file && plan; }

  static LoadedModel open(const std::string &path, const std::vector<std::string> &options) {
    auto file = GgufFile::open(path);
    EXPECT_TRUE(file.has_value()) << file.error().toString();
    if (!file)
      return {};
    return {std::make_unique<GgufFile>(std::move(*file)), planByCompiler(path, options)};
  }
};

struct RaggedOptions {
  uint32_t threads = 2;
  bool shuffledPages = false;
  uint32_t context = 256;
  std::string driver = "cpu";
};

// The driver's first device.
inline Result<std::unique_ptr<hal::Device>> openFirst(const std::string &driver, uint32_t threads) {
  hal::DriverRegistry registry;
  SINTER_TRY(hal::addCpuDriver(registry));
  SINTER_TRY(hal::addCudaDriver(registry));
  SINTER_TRY(hal::addVulkanDriver(registry));
  SINTER_ASSIGN(hal::Driver * found, registry.find(driver));
  return found->open(0, {threads});
}

inline std::unique_ptr<hal::Device> openCpu(uint32_t threads) {
  auto device = openFirst("cpu", threads);
  EXPECT_TRUE(device.has_value()) << device.error().toString();
  return device ? std::move(*device) : nullptr;
}

// Bits of the rows of logits of one sequence, from its first token on.
using Logits = std::vector<uint32_t>;

// A plan that is loaded on a device. Runs over it begin with new sequences, one run at a time:
// devices that compile kernels when they load them do so once.
class LoadedPlan {
public:
  // `model` must outlive the loaded plan. Null, and a failed test, where it cannot be loaded.
  static std::shared_ptr<LoadedPlan> load(const LoadedModel &model, uint32_t sequences,
                                          const RaggedOptions &options) {
    auto device = openFirst(options.driver, options.threads);
    EXPECT_TRUE(device.has_value()) << device.error().toString();
    if (!device)
      return nullptr;
    PlanRunnerOptions runner;
    runner.contextTokens = options.context;
    runner.poolTokens = options.context * (sequences + 1);
    runner.sequences = sequences;
    auto made = PlanRunner::create(**device, *model.file, model.plan, runner);
    EXPECT_TRUE(made.has_value()) << made.error().toString();
    if (!made)
      return nullptr;
    auto loaded = std::make_shared<LoadedPlan>();
    loaded->device_ = std::move(*device);
    loaded->runner_ = std::move(*made);
    return loaded;
  }
  PlanRunner &runner() { return *runner_; }

private:
  std::unique_ptr<hal::Device> device_;
  std::unique_ptr<PlanRunner> runner_;
};

class RaggedRun {
public:
  RaggedRun(const LoadedModel &model, const std::vector<std::vector<TokenId>> &sequences,
            const RaggedOptions &options = {})
      : RaggedRun(LoadedPlan::load(model, static_cast<uint32_t>(sequences.size()), options),
                  sequences, options.shuffledPages) {}

  RaggedRun(std::shared_ptr<LoadedPlan> plan, const std::vector<std::vector<TokenId>> &sequences,
            bool shuffledPages = false)
      : sequences_(sequences), plan_(std::move(plan)), logits_(sequences.size()) {
    if (!plan_)
      return;
    runner_ = &plan_->runner();
    pool_ = std::make_unique<PagePool>(makePool(runner_->limits(), shuffledPages));
    for (size_t i = 0; i < sequences.size(); ++i)
      pages_.emplace_back(*pool_);
    done_.assign(sequences.size(), 0);
  }

  // Runs the steps and returns the logits of each sequence's tokens so far, of those that are
  // wanted.
  const std::vector<Logits> &run(const Schedule &schedule) {
    for (const std::vector<Portion> &step : schedule)
      if (runner_ && !testing::Test::HasFailure())
        runStep(step);
    return logits_;
  }
  std::span<const PageId> pagesOf(size_t sequence) const { return pages_[sequence].pages(); }
  uint32_t vocabulary() const { return runner_ ? runner_->limits().vocabSize : 0; }

private:
  // Pages of models with windows are in groups, in their own order.
  static PagePool makePool(const RunnerLimits &limits, bool shuffled) {
    if (limits.kvGroups.size() > 1)
      return *PagePool::create(limits.kvGroups, limits.pageRows, limits.stateSlots);
    std::vector<PageId> order(limits.kvGroups[0].pages);
    for (uint32_t i = 0; i < order.size(); ++i)
      order[i].index = i;
    if (shuffled)
      shuffle(order);
    return *PagePool::createInOrder(order, limits.pageRows, limits.stateSlots);
  }
  static void shuffle(std::vector<PageId> &order) {
    std::mt19937 random(7);
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[random() % i]);
  }

  void runStep(const std::vector<Portion> &step) {
    std::vector<BatchPart> parts;
    for (const Portion &portion : step) {
      const uint32_t begin = done_[portion.sequence];
      const auto reserved = pages_[portion.sequence].reserve(begin + portion.count);
      ASSERT_TRUE(reserved.has_value()) << reserved.error().toString();
      parts.push_back({std::span(sequences_[portion.sequence]).subspan(begin, portion.count), begin,
                       &pages_[portion.sequence], portion.logits, portion.phase});
    }
    Batch batch;
    const auto built = buildBatch(parts, runner_->limits().batchShape(), batch);
    ASSERT_TRUE(built.has_value()) << built.error().toString();
    const auto rows = runner_->stepToChoose(batch);
    ASSERT_TRUE(rows.has_value()) << rows.error().toString();
    size_t next = 0;
    for (const Portion &portion : step) {
      for (uint32_t i = 0; i < portion.rows(); ++i, ++next) {
        const auto row = rows->row(next);
        ASSERT_TRUE(row.has_value()) << row.error().toString();
        expectTop(rows->top(next), *row);
        for (const float logit : *row)
          logits_[portion.sequence].push_back(std::bit_cast<uint32_t>(logit));
      }
      done_[portion.sequence] += portion.count;
    }
  }
  // What a plan gives of the largest logits is what sorting gives.
  static void expectTop(const TopLogits &top, std::span<const float> row) {
    if (top.tokens.empty())
      return;
    EXPECT_EQ(top.rowLength, row.size());
    TopOfRows expected;
    expected.set(row, row.size(), top.tokens.size());
    EXPECT_TRUE(std::ranges::equal(top.tokens, expected.tokens));
    EXPECT_TRUE(std::ranges::equal(top.logits, expected.logits));
  }

  std::vector<std::vector<TokenId>> sequences_;
  std::shared_ptr<LoadedPlan> plan_;
  PlanRunner *runner_ = nullptr;
  std::unique_ptr<PagePool> pool_;
  std::vector<SequencePages> pages_;
  std::vector<uint32_t> done_;
  std::vector<Logits> logits_;
};

// Of these lengths, with tokens below `vocabulary`; no two begin alike.
inline std::vector<std::vector<TokenId>> randomSequences(const std::vector<uint32_t> &lengths,
                                                         uint32_t vocabulary) {
  std::mt19937 random(3);
  std::vector<std::vector<TokenId>> sequences;
  for (const uint32_t length : lengths) {
    std::vector<TokenId> &tokens = sequences.emplace_back(length);
    for (TokenId &token : tokens)
      token = static_cast<TokenId>(random() % vocabulary);
    tokens[0] = static_cast<TokenId>(sequences.size());
  }
  return sequences;
}

// The logits of one sequence that runs alone, at once, over pages in order.
inline Logits logitsAlone(const LoadedModel &model, const std::vector<TokenId> &tokens,
                          const RaggedOptions &options = {}) {
  RaggedRun run(model, {tokens}, options);
  return run.run({{{0, static_cast<uint32_t>(tokens.size())}}})[0];
}

inline Logits logitsAlone(const std::shared_ptr<LoadedPlan> &plan,
                          const std::vector<TokenId> &tokens) {
  RaggedRun run(plan, {tokens});
  return run.run({{{0, static_cast<uint32_t>(tokens.size())}}})[0];
}

// The first token whose logits differ, with the largest difference of that row; empty where all
// bits are equal.
inline std::string firstDifference(const Logits &found, const Logits &expected,
                                   uint32_t vocabulary) {
  if (found.size() != expected.size())
    return std::to_string(found.size()) + " logits, expected " + std::to_string(expected.size());
  const auto at = std::mismatch(found.begin(), found.end(), expected.begin()).first - found.begin();
  if (static_cast<size_t>(at) == found.size())
    return {};
  const size_t row = static_cast<size_t>(at) / vocabulary;
  float largest = 0;
  for (size_t i = row * vocabulary; i < (row + 1) * vocabulary; ++i)
    largest = std::max(
        largest, std::fabs(std::bit_cast<float>(found[i]) - std::bit_cast<float>(expected[i])));
  return "token " + std::to_string(row) + " differs by " + std::to_string(largest);
}

} // namespace sinter
