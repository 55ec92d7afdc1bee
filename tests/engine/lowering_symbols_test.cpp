// Symbols as plans get them: those that the module declares, whatever they are called and however
// many there are.
#include "engine/choice/fusion.h"
#include "engine/graph_text.h"
#include "engine/lowering.h"
#include "engine/profiles.h"
#include "tile/mlir_pch.h"

#include <gtest/gtest.h>

namespace sinter::engine {
namespace {

// Thirteen symbols, none of which has a role.
constexpr const char *kPlainSymbols = R"(
  #graph.symbol<"rows", 3 to 70>, #graph.symbol<"T", 1 to 8>, #graph.symbol<"S", 1 to 8>,
  #graph.symbol<"B", 1 to 8>, #graph.symbol<"P", 1 to 8>, #graph.symbol<"N", 1 to 8>,
  #graph.symbol<"1", 0 to 1>, #graph.symbol<"2", 0 to 1>, #graph.symbol<"3", 0 to 1>,
  #graph.symbol<"4", 0 to 1>, #graph.symbol<"5", 0 to 1>, #graph.symbol<"6", 0 to 1>,
  #graph.symbol<"heads", 0 to 1>)";

Result<plan::Plan> lowered(GraphText &graph, const LoweringOptions &options = {cpuProfile()}) {
  KernelSet kernels(graph.context());
  graph::fuse(graph.module(), fuseOptions(options.profile));
  return Lowering(kernels, options).run(graph.module());
}

TEST(LoweringSymbols, AreThoseThatTheModuleDeclares) {
  GraphText graph(R"(
    %x = graph.input "x" : tensor<?x64xf32, #graph.dims<rows>>
    %g = graph.weight ["g"] : tensor<64xf32>
    %n = graph.norm %x, %g eps 1.0e-5 : tensor<?x64xf32, #graph.dims<rows>>, tensor<64xf32>
        -> tensor<?x64xf32, #graph.dims<rows>>
    graph.output "n", %n : tensor<?x64xf32, #graph.dims<rows>>
)",
                  kPlainSymbols);
  const Result<plan::Plan> plan = lowered(graph);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->symbols.size(), 13u);
  EXPECT_EQ(plan->symbols[0], (plan::Symbol{"rows", 3, 70}));
  EXPECT_EQ(plan->symbols[12].name, "heads");
  std::vector<int64_t> values(13);
  values[0] = 5;
  const auto n = plan::findBuffer(*plan, "n");
  ASSERT_TRUE(n);
  EXPECT_EQ(*plan::evaluate(plan->buffers[n->index].bytes, values), 5 * 64 * 4);
}

// Without a phase every row is one of prefill, and without a longest context no split is decided.
TEST(LoweringSymbols, AttentionNeedsNoneWithARole) {
  for (TargetKind kind : {TargetKind::Cpu, TargetKind::Simt}) {
    GraphText graph(kAttend, kPlainSymbols);
    LoweringOptions options{kind == TargetKind::Cpu ? cpuProfile() : simtProfile()};
    const Result<plan::Plan> plan = lowered(graph, options);
    ASSERT_TRUE(plan) << plan.error().message;
    const auto &rows = std::get<plan::If>(plan->procedures.at(0).steps.at(0).op);
    ASSERT_EQ(rows.thenSteps.size(), 1u);
    EXPECT_TRUE(std::holds_alternative<plan::Launch>(rows.thenSteps[0].op));
    ASSERT_EQ(rows.elseSteps.size(), 1u);
    EXPECT_TRUE(std::holds_alternative<plan::Launch>(rows.elseSteps[0].op));
    if (kind == TargetKind::Simt)
      EXPECT_EQ(rows.condition, plan::Expr(0));
  }
}

TEST(LoweringSymbols, ThatTheModuleDoesNotDeclareAreRefused) {
  GraphText graph("%x = graph.input \"x\" : !x");
  graph.module()->removeAttr("graph.symbols");
  const Result<plan::Plan> plan = lowered(graph);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Code::Unsupported);
  EXPECT_EQ(plan.error().message,
            "'graph.input' uses symbol 'T', which the module does not declare");
}

} // namespace
} // namespace sinter::engine
