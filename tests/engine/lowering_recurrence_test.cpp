// The delta rule in chunks where steps have phases, and row by row elsewhere.
#include "engine/lowered.h"
#include "plan/contract.h"

#include <gmock/gmock.h>

namespace sinter::engine {
namespace {

using testing::ElementsAre;

// Four heads of 64, of rows that a step has.
constexpr const char *kRule = R"(
    %q = graph.input "q" : tensor<?x2x64xf32, #graph.dims<T>>
    %v = graph.input "v" : tensor<?x4x64xf32, #graph.dims<T>>
    %d = graph.input "d" : tensor<?x4xf32, #graph.dims<T>>
    %p = graph.input "spans" : tensor<?x4xi32, #graph.dims<S>>
    %s = graph.state "matrices" : tensor<?x4x64x64xf32, #graph.dims<N>>
    %y, %n = graph.delta_rule %q, %q, %v, %d, %d of %p from %s scale 0.5
        : tensor<?x2x64xf32, #graph.dims<T>>, tensor<?x2x64xf32, #graph.dims<T>>,
          tensor<?x4x64xf32, #graph.dims<T>>, tensor<?x4xf32, #graph.dims<T>>,
          tensor<?x4xf32, #graph.dims<T>> of tensor<?x4xi32, #graph.dims<S>>
          from tensor<?x4x64x64xf32, #graph.dims<N>>
          -> tensor<?x4x64xf32, #graph.dims<T>>, tensor<?x4x64x64xf32, #graph.dims<N>>
    graph.output "y", %y : tensor<?x4x64xf32, #graph.dims<T>>)";

std::vector<std::string> kernelsOf(Lowered &lowered, const std::vector<plan::Step> &steps) {
  std::vector<std::string> names;
  for (const plan::Step &step : steps)
    if (const auto *launch = std::get_if<plan::Launch>(&step.op))
      names.push_back(lowered.symbolOf(*launch));
  return names;
}

TEST(LoweringRecurrence, PrefillTakesChunksAndDecodeRows) {
  for (const LoweringOptions &options : {LoweringOptions{cpuProfile()}, {simtProfile()}}) {
    Lowered lowered(kRule, options);
    ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
    const auto &byPhase = lowered.step<plan::If>(0);
    EXPECT_EQ(lowered.text(byPhase.condition), "G");
    EXPECT_THAT(kernelsOf(lowered, byPhase.thenSteps), ElementsAre("delta_rule_1"));
    EXPECT_THAT(kernelsOf(lowered, byPhase.elseSteps), ElementsAre("delta_rule_chunks_0"));
    EXPECT_GT(lowered.plan().properties.at(contract::kChunkRows.name), 1);
  }
}

// Whoever runs such steps knows of no chunks to cut prompts between.
TEST(LoweringRecurrence, StepsWithoutPhasesTakeRows) {
  Lowered lowered(kRule, {cpuProfile()},
                  R"(#graph.symbol<"T", 1 to 512>, #graph.symbol<"S", 1 to 8>,
                     #graph.symbol<"N", 1 to 8>)");
  ASSERT_TRUE(lowered.result()) << lowered.result().error().message;
  EXPECT_THAT(kernelsOf(lowered, lowered.steps()), ElementsAre("delta_rule_0"));
  EXPECT_FALSE(lowered.plan().properties.contains(contract::kChunkRows.name));
}

} // namespace
} // namespace sinter::engine
