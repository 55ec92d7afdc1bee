// Graphs that are no decoders become plans: what has no kernel of its own runs on generic kernels.
#include "engine/choice/fusion.h"
#include "engine/lowering.h"
#include "engine/profiles.h"
#include "graph/evaluation.h"
#include "graph/random_graph.h"
#include "graph/rewrite/passes.h"
#include "tile/mlir_pch.h"

#include <gtest/gtest.h>

namespace sinter::engine {
namespace {

using graph::Evaluation;

Result<plan::Plan> lowered(Evaluation &evaluation, const targets::TargetProfile &profile) {
  mlir::Builder b(&evaluation.context());
  const auto T = graph::SymbolAttr::get(&evaluation.context(), b.getStringAttr("T"), 0, 8,
                                        graph::SymbolRole::Extent);
  graph::declareSymbols(evaluation.module(), {T});
  graph::decomposeNorms(evaluation.module(), [](graph::NormOp) { return true; });
  graph::fuse(evaluation.module(), fuseOptions(profile));
  KernelSet kernels(evaluation.context());
  const LoweringOptions options{profile};
  return Lowering(kernels, options).run(evaluation.module());
}

TEST(LoweringGeneric, RandomGraphsBecomePlansOnCpusAndSimtTargets) {
  int plans = 0;
  for (uint64_t seed = 0; seed < 12; ++seed)
    for (const targets::TargetProfile &profile : {cpuProfile(), simtProfile()}) {
      const graph::RandomGraph random = graph::randomGraph(seed, 10, graph::Vocabulary::Generic);
      Evaluation evaluation(random.body);
      ASSERT_TRUE(evaluation.parsed());
      const Result<plan::Plan> plan = lowered(evaluation, profile);
      if (!plan) // of an input, or of what only views another value
        EXPECT_NE(plan.error().message.find("is no computed tensor"), std::string::npos)
            << plan.error().message << "\n"
            << random.body;
      plans += plan.has_value();
    }
  EXPECT_GT(plans, 4);
}

// A product of two values and a map of one axis.
TEST(LoweringGeneric, FormsThatNoDecoderGivesHaveAPlan) {
  Evaluation evaluation(R"(
    %x = graph.input "x" : tensor<?x64xf32, #graph.dims<T>>
    %y = graph.input "y" : tensor<8x64xf32>
    %c = graph.dot_general %x, %y : tensor<?x64xf32, #graph.dims<T>>, tensor<8x64xf32>
        -> tensor<?x8xf32, #graph.dims<T>>
    %v = graph.input "v" : tensor<?xf32, #graph.dims<T>>
    %m = graph.map %v : tensor<?xf32, #graph.dims<T>> -> tensor<?xf32, #graph.dims<T>> {
    ^bb0(%e: f32):
      %n = arith.negf %e : f32
      graph.yield %n : f32
    }
    graph.output "c", %c : tensor<?x8xf32, #graph.dims<T>>
    graph.output "m", %m : tensor<?xf32, #graph.dims<T>>)");
  ASSERT_TRUE(evaluation.parsed());
  const Result<plan::Plan> plan = lowered(evaluation, simtProfile());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_TRUE(plan::findBuffer(*plan, "c") && plan::findBuffer(*plan, "m"));
}

TEST(LoweringGeneric, ExtentsAreFormulasOfTheDeclaredSymbols) {
  Evaluation evaluation(R"(
    %x = graph.input "x" : tensor<?x2xf32, #graph.dims<T>>
    %y = graph.concat %x, %x, %x along 0 : tensor<?x2xf32, #graph.dims<T>>, tensor<?x2xf32, #graph.dims<T>>,
        tensor<?x2xf32, #graph.dims<T>> -> tensor<?x2xf32, #graph.dims<"3*T">>
    graph.output "y", %y : tensor<?x2xf32, #graph.dims<"3*T">>)");
  ASSERT_TRUE(evaluation.parsed());
  const Result<plan::Plan> plan = lowered(evaluation, cpuProfile());
  ASSERT_TRUE(plan) << plan.error().message;
  const auto y = plan::findBuffer(*plan, "y");
  ASSERT_TRUE(y);
  EXPECT_EQ(*plan::evaluate(plan->buffers[y->index].bytes, std::vector<int64_t>{5}), 3 * 5 * 2 * 4);
  EXPECT_EQ(plan->procedures.at(0).steps.size(), 3u); // a copy each
}

} // namespace
} // namespace sinter::engine
