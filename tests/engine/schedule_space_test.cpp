// What tuning may choose: a space of valid schedules, names that stay the same, and plans that have
// what was chosen.
#include "engine/choice/matmul.h"
#include "engine/choice/rows.h"
#include "engine/choice/schedule_space.h"
#include "engine/profiles.h"
#include "engine/tiny_gguf.h"
#include "plan/walk.h"
#include "sampling.h"
#include "tile/mlir_pch.h"

#include <gmock/gmock.h>
#include <set>

namespace sinter::engine {
namespace {

using testing::HasSubstr;

EngineOptions optionsFor(const char *target = "avx2") {
  EngineOptions options = quickOptions();
  options.target = target;
  return options;
}

const plan::Kernel *matmulOf(const plan::Plan &plan) {
  for (const plan::Kernel &kernel : plan.kernels)
    if (kernel.source == "gemm" && !kernel.alternatives.empty())
      return &kernel;
  return nullptr;
}

kernels::Gemm product(int64_t n, int64_t k, MBucket rows = MBucket::Prefill) {
  return chooseGemm(kernel::block("q8a"), kernel::block("q4_1"), n, k, rows);
}

ScheduleChoice rulesOf(kernels::Gemm p, const BlockSpace &space) {
  RulesReader reader(space);
  visitFields(p, reader);
  return reader.rules;
}

ScheduleSpace spaceOf(const kernels::Gemm &p, const Freedom &freedom) {
  BlockSpace blocks = blockSpace(p, freedom);
  ScheduleChoice rules = rulesOf(p, blocks);
  return {std::move(blocks), std::move(rules), {{"vectors", {1, 2}}}};
}

TEST(ScheduleSpace, OffersFewDistinctSchedulesThatAreItsOwn) {
  ScheduleSpace space = spaceOf(product(3072, 576), {.blocks = true});
  std::set<ScheduleChoice> distinct(space.alternatives().begin(), space.alternatives().end());
  EXPECT_EQ(distinct.size(), space.alternatives().size());
  EXPECT_GE(distinct.size(), 4u);
  EXPECT_LE(distinct.size(), 16u);
  for (const ScheduleChoice &choice : distinct) {
    EXPECT_TRUE(space.contains(choice)) << choice.text();
    EXPECT_FALSE(choice.byRules());
  }
}

TEST(ScheduleSpace, HoldsDecisionsOfBothKindsTogetherAndNoOthers) {
  ScheduleSpace space = spaceOf(product(3072, 576), {.blocks = true});
  EXPECT_TRUE(space.contains({{{"block_m", 144}, {"vectors", 2}}}));
  EXPECT_FALSE(space.contains({{{"block_m", 145}}}));
  EXPECT_FALSE(space.contains({{{"vectors", 3}}}));
  EXPECT_FALSE(space.contains({{{"interleave", 8}}}));
}

TEST(ScheduleSpace, ColumnsOfAProgramStayWhereTheEpilogueSaysSo) {
  ScheduleSpace fixed = spaceOf(product(3072, 576), {.blocks = true, .columns = false});
  EXPECT_FALSE(fixed.contains({{{"block_n", 128}}}));
  ScheduleSpace groups = spaceOf(product(3072, 576), {.blocks = true, .columnMultiple = 64});
  EXPECT_FALSE(groups.contains({{{"block_n", 32}}}));
  EXPECT_TRUE(groups.contains({{{"block_n", 128}}}));
}

TEST(ScheduleSpace, OneRowStaysOne) {
  ScheduleSpace space = spaceOf(product(3072, 576, MBucket::One), {.blocks = true});
  EXPECT_FALSE(space.contains({{{"block_m", 24}}}));
}

TEST(ScheduleSpace, StepsAreWholeBlocksOfAnyFormat) {
  for (const ScheduleDecision &decision :
       blockSpace(product(576, 1536), {.blocks = true}).decisions)
    if (decision.name == "block_k")
      for (int64_t step : decision.values)
        EXPECT_EQ(step % 256, 0);
}

TEST(ScheduleSpace, WithoutFreedomIsEmpty) {
  EXPECT_TRUE(blockSpace(product(3072, 576), {}).decisions.empty());
  EXPECT_TRUE(blockSpace(chooseNorm(576, kernel::F32, cpuProfile()), {}).decisions.empty());
  EXPECT_TRUE(blockSpace(product(kernel::dyn, 576), {.blocks = true}).decisions.empty());
}

TEST(ScheduleSpace, NormsKeepTheStepsInWhichTheySum) {
  for (const ScheduleDecision &decision :
       blockSpace(chooseNorm(576, kernel::F32, cpuProfile()), {.blocks = true}).decisions)
    EXPECT_EQ(decision.name, "block_rows");
}

// ---- plans ----

// With alternatives, built once for the tests that only look at it.
const Result<plan::Plan> &askedPlan() {
  static const Result<plan::Plan> plan = outlineOf(tinyLlama(), optionsFor());
  return plan;
}

TEST(TunedPlan, NamesKernelsAlikeEachTimeAndOtherwiseForAnotherTarget) {
  const Result<plan::Plan> &first = askedPlan();
  auto second = outlineOf(tinyLlama(), optionsFor());
  auto other = outlineOf(tinyLlama(), optionsFor("avx512"));
  ASSERT_TRUE(first && second && other);
  std::set<std::string> contents, others;
  for (size_t i = 0; i < first->kernels.size(); ++i) {
    EXPECT_EQ(first->kernels[i].content, second->kernels[i].content);
    contents.insert(first->kernels[i].content);
    others.insert(other->kernels[i].content);
  }
  contents.erase("");
  EXPECT_GE(contents.size(), 5u);
  for (const std::string &content : contents)
    EXPECT_FALSE(others.contains(content));
}

TEST(TunedPlan, HasTheScheduleThatWasChosenAndTheSameContent) {
  const Result<plan::Plan> &plan = askedPlan();
  ASSERT_TRUE(plan) << plan.error().toString();
  const plan::Kernel *kernel = matmulOf(*plan);
  ASSERT_NE(kernel, nullptr);
  EngineOptions options = quickOptions();
  options.tuning[kernel->content] = kernel->alternatives.front();
  auto tuned = outlineOf(tinyLlama(), options);
  ASSERT_TRUE(tuned) << tuned.error().toString();
  size_t found = 0;
  for (const plan::Kernel &other : tuned->kernels)
    if (other.content == kernel->content) {
      ++found;
      EXPECT_EQ(other.schedule, kernel->alternatives.front());
      EXPECT_TRUE(other.parameters != kernel->parameters);
    }
  EXPECT_EQ(found, 1u);
}

TEST(TunedPlan, RefusesAScheduleThatIsNoneOfTheKernels) {
  const Result<plan::Plan> &plan = askedPlan();
  ASSERT_TRUE(plan) << plan.error().toString();
  EngineOptions options = quickOptions();
  options.tuning[matmulOf(*plan)->content] = {{{"block_m", 7}}};
  auto tuned = outlineOf(tinyLlama(), options);
  ASSERT_FALSE(tuned);
  EXPECT_EQ(tuned.error().code, Code::InvalidArgument);
  EXPECT_THAT(tuned.error().message, HasSubstr("the schedule block_m=7, which is none of its own"));
}

TEST(TunedPlan, OfThreadsHasNoOtherSchedules) {
  EngineOptions options = optionsFor("cuda:sm_90a");
  options.pageRows = 64;
  auto plan = outlineOf(tinyLlama(), options);
  ASSERT_TRUE(plan) << plan.error().toString();
  for (const plan::Kernel &kernel : plan->kernels)
    EXPECT_EQ(kernel.content, "") << kernel.symbol;
}

// A kernel's other schedules; a sample has each value of each decision once.
std::vector<plan::ScheduleChoice> alternativesOf(const plan::Kernel &kernel) {
  return sampled(kernel.alternatives, [](const plan::ScheduleChoice &choice) {
    std::vector<std::string> properties;
    for (const auto &[name, value] : choice.values)
      properties.push_back(name + "=" + std::to_string(value));
    return properties;
  });
}

// Of a procedure's launches, in textual order.
std::vector<std::string> contentsOf(const plan::Plan &plan, const plan::Procedure &procedure) {
  std::vector<std::string> contents;
  for (plan::StepWalker walker(procedure.steps); walker.next();)
    if (const auto *launch = std::get_if<plan::Launch>(&walker.step().op))
      contents.push_back(plan.kernels[launch->kernel.index].content);
  return contents;
}

// Every schedule that a trial would ask for compiles, and the variants share all memory.
class EveryAlternative : public testing::TestWithParam<std::pair<TensorType, const char *>> {};

TEST_P(EveryAlternative, CompilesAsAVariantOfTheStep) {
  auto [type, target] = GetParam();
  auto plan = outlineOf(tinyLlama(type), optionsFor(target));
  ASSERT_TRUE(plan) << plan.error().toString();
  EngineOptions options = optionsFor(target);
  for (const plan::Kernel &kernel : plan->kernels) {
    const auto alternatives = alternativesOf(kernel);
    for (size_t i = 0; i < alternatives.size(); ++i) {
      options.variants.resize(std::max(options.variants.size(), i + 1));
      options.variants[i][kernel.content] = alternatives[i];
    }
  }
  ASSERT_FALSE(options.variants.empty());
  auto trials = planOf(tinyLlama(type), options);
  ASSERT_TRUE(trials) << trials.error().toString();
  ASSERT_EQ(trials->procedures.size(), options.variants.size() + 1);
  EXPECT_EQ(trials->procedures[0].name, "step");
  EXPECT_EQ(trials->procedures.back().name, "step." + std::to_string(options.variants.size()));
  for (const plan::Procedure &variant : trials->procedures)
    EXPECT_EQ(contentsOf(*trials, variant), contentsOf(*plan, plan->procedures[0])) << variant.name;
  EXPECT_EQ(trials->buffers, plan->buffers);
  EXPECT_GT(trials->kernels.size(), plan->kernels.size());
}

INSTANTIATE_TEST_SUITE_P(Formats, EveryAlternative,
                         testing::Values(std::pair{TensorType::Q4_1, "avx2"},
                                         std::pair{TensorType::F16, "avx512vnni"}));

} // namespace
} // namespace sinter::engine
