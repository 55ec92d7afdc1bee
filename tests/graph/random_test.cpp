// Random graphs: each verifies, and evaluates in f32 to what f64 gives within rounding errors.
#include "graph/evaluation.h"
#include "graph/ir/symbols.h"
#include "graph/random_graph.h"
#include "graph/rewrite/passes.h"
#include "tile/mlir_pch.h"

#include <gtest/gtest.h>

namespace sinter::graph {
namespace {

constexpr uint64_t kGraphs = 200;

// Errors grow with the magnitudes that a graph's operations pass on.
void expectClose(const std::string &name, const Tensor &narrow, const Tensor &wide) {
  ASSERT_EQ(narrow.values.size(), wide.values.size());
  double largest = 1;
  for (double value : wide.values)
    largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < wide.values.size(); ++i)
    ASSERT_NEAR(narrow.values[i], wide.values[i], largest * 2e-5) << name << " at " << i;
}

// Operations that only fusion makes.
bool isOfLaunch(mlir::RegisteredOperationName name) {
  return llvm::is_contained({LaunchOp::getOperationName(), ReturnOp::getOperationName(),
                             SquareSumsOp::getOperationName()},
                            name.getStringRef());
}

TEST(RandomGraph, EvaluatesAlikeInBothPrecisions) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    const RandomGraph graph = randomGraph(seed);
    Evaluation evaluation(graph.body);
    ASSERT_TRUE(evaluation.parsed()) << seed << "\n" << graph.body;
    giveEdges(evaluation, graph);
    evaluation.function().walk(
        [&](mlir::Operation *op) { seen.insert(op->getName().getStringRef().str()); });
    ASSERT_TRUE(mlir::succeeded(verifySymbols(evaluation.function()))) << seed;
    const Result<Outcome> narrow = evaluation.run(Precision::F32),
                          wide = evaluation.run(Precision::F64);
    ASSERT_TRUE(narrow) << seed << ": " << narrow.error().message << "\n" << graph.body;
    ASSERT_TRUE(wide) << seed << ": " << wide.error().message;
    for (const auto &[name, tensor] : wide->outputs)
      expectClose(std::to_string(seed) + " " + name, narrow->outputs.at(name), tensor);
    if (HasFatalFailure())
      FAIL() << graph.body;
  }
  // Those with states of sequences read spans of tokens, which random graphs do not have.
  const std::set<std::string> elsewhere = {"graph.causal_conv", "graph.delta_rule"};
  Evaluation none("");
  for (mlir::RegisteredOperationName name : none.context().getRegisteredOperations())
    if (name.getDialectNamespace() == "graph" && !isOfLaunch(name) &&
        !elsewhere.contains(name.getStringRef().str()))
      EXPECT_TRUE(seen.contains(name.getStringRef().str())) << name.getStringRef().str();
}

// The decomposition computes what the norm does.
TEST(RandomGraph, DecomposedNormsEvaluateAlike) {
  int norms = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const RandomGraph graph = randomGraph(seed);
    Evaluation evaluation(graph.body);
    giveEdges(evaluation, graph);
    const Result<Outcome> whole = evaluation.run(Precision::F64);
    decomposeNorms(evaluation.module(), [&](NormOp) { return ++norms > 0; });
    ASSERT_TRUE(mlir::succeeded(mlir::verify(evaluation.module()))) << seed;
    const Result<Outcome> parts = evaluation.run(Precision::F64);
    ASSERT_TRUE(whole && parts) << seed;
    for (const auto &[name, tensor] : whole->outputs)
      expectClose(std::to_string(seed) + " " + name, parts->outputs.at(name), tensor);
  }
  EXPECT_GT(norms, 10);
}

TEST(RandomGraph, SameSeedGivesTheSameGraph) {
  EXPECT_EQ(randomGraph(3).body, randomGraph(3).body);
  EXPECT_NE(randomGraph(3).body, randomGraph(4).body);
}

} // namespace
} // namespace sinter::graph
