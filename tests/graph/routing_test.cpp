// Routing is what its parts compose to, and an expert's rows are what it makes of them alone.
#include "graph/evaluation.h"
#include "tile/mlir_pch.h"

#include <gtest/gtest.h>

namespace sinter::graph {
namespace {

// Numbers without an order, from -1 to 1.
std::vector<double> numbers(size_t count) {
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(static_cast<double>(i * i * 37 % 101) / 50 - 1);
  return values;
}

void expectNear(const Result<Outcome> &outcome, const std::string &a, const std::string &b) {
  ASSERT_TRUE(outcome) << outcome.error().message;
  const std::vector<double> &left = outcome->outputs.at(a).values,
                            &right = outcome->outputs.at(b).values;
  ASSERT_EQ(left.size(), right.size());
  for (size_t i = 0; i < left.size(); ++i)
    EXPECT_NEAR(left[i], right[i], 1e-12) << a << " at " << i;
}

TEST(Routing, NormalizedSoftmaxIsTheSoftmaxOfTheChosen) {
  Evaluation evaluation(R"(
    %l = graph.input "l" : tensor<5x12xf32>
    %w, %e = graph.route softmax %l {normalized} : tensor<5x12xf32> -> tensor<5x3xf32>, tensor<5x3xi32>
    %v, %f = graph.route chosen_softmax %l : tensor<5x12xf32> -> tensor<5x3xf32>, tensor<5x3xi32>
    %t, %i = graph.top_k %l : tensor<5x12xf32> -> tensor<5x3xf32>, tensor<5x3xi32>
    graph.output "w", %w : tensor<5x3xf32>
    graph.output "v", %v : tensor<5x3xf32>
    graph.output "e", %e : tensor<5x3xi32>
    graph.output "i", %i : tensor<5x3xi32>)");
  ASSERT_TRUE(evaluation.parsed());
  const Result<Outcome> outcome = evaluation.input("l", {5, 12}, numbers(60)).run();
  expectNear(outcome, "w", "v");
  expectNear(outcome, "e", "i");
}

// Scores plus a bias choose, among the experts of the groups with the best two; weights are without
// bias.
constexpr const char *kGrouped = R"(
    %l = graph.input "l" : tensor<5x12xf32>
    %b = graph.input "b" : tensor<12xf32>
    %w, %e = graph.route sigmoid %l bias %b {groups = 3 : i64, used_groups = 2 : i64, normalized, scale = 2.5 : f32}
        : tensor<5x12xf32> bias tensor<12xf32> -> tensor<5x4xf32>, tensor<5x4xi32>
    %s = graph.map %l : tensor<5x12xf32> -> tensor<5x12xf32> {
    ^bb0(%x: f32):
      %one = arith.constant 1.0 : f32
      %n = arith.negf %x : f32
      %p = math.exp %n : f32
      %d = arith.addf %one, %p : f32
      %r = arith.divf %one, %d : f32
      graph.yield %r : f32
    }
    %c = graph.map %s, %b : tensor<5x12xf32>, tensor<12xf32> -> tensor<5x12xf32> {
    ^bb0(%x: f32, %y: f32):
      %r = arith.addf %x, %y : f32
      graph.yield %r : f32
    }
    %g = graph.reshape %c : tensor<5x12xf32> -> tensor<5x3x4xf32>
    %two, %at = graph.top_k %g : tensor<5x3x4xf32> -> tensor<5x3x2xf32>, tensor<5x3x2xi32>
    %sum = graph.reduce sum %two over [2] : tensor<5x3x2xf32> -> tensor<5x3xf32>
    %best, %kept = graph.top_k %sum : tensor<5x3xf32> -> tensor<5x2xf32>, tensor<5x2xi32>
    %k = graph.reshape %kept : tensor<5x2xi32> -> tensor<5x2x1xi32>
    %number = graph.iota along 2 : tensor<1x1x3xi32>
    %is = graph.map %k, %number : tensor<5x2x1xi32>, tensor<1x1x3xi32> -> tensor<5x2x3xi1> {
    ^bb0(%x: i32, %y: i32):
      %r = arith.cmpi eq, %x, %y : i32
      graph.yield %r : i1
    }
    %any = graph.reduce any %is over [1] : tensor<5x2x3xi1> -> tensor<5x3xi1>
    %wide = graph.reshape %any : tensor<5x3xi1> -> tensor<5x3x1xi1>
    %m = graph.map %g, %wide : tensor<5x3x4xf32>, tensor<5x3x1xi1> -> tensor<5x3x4xf32> {
    ^bb0(%x: f32, %y: i1):
      %none = arith.constant -1.0e30 : f32
      %r = arith.select %y, %x, %none : f32
      graph.yield %r : f32
    }
    %flat = graph.reshape %m : tensor<5x3x4xf32> -> tensor<5x12xf32>
    %top, %chosen = graph.top_k %flat : tensor<5x12xf32> -> tensor<5x4xf32>, tensor<5x4xi32>
    %h = graph.reshape %chosen : tensor<5x4xi32> -> tensor<5x4x1xi32>
    %expert = graph.iota along 2 : tensor<1x1x12xi32>
    %scores = graph.reshape %s : tensor<5x12xf32> -> tensor<5x1x12xf32>
    %one = graph.map %h, %expert, %scores : tensor<5x4x1xi32>, tensor<1x1x12xi32>, tensor<5x1x12xf32>
        -> tensor<5x4x12xf32> {
    ^bb0(%x: i32, %y: i32, %z: f32):
      %t = arith.cmpi eq, %x, %y : i32
      %zero = arith.constant 0.0 : f32
      %r = arith.select %t, %z, %zero : f32
      graph.yield %r : f32
    }
    %own = graph.reduce sum %one over [2] : tensor<5x4x12xf32> -> tensor<5x4xf32>
    %all = graph.reduce sum %own over [1] : tensor<5x4xf32> -> tensor<5x1xf32>
    %v = graph.map %own, %all : tensor<5x4xf32>, tensor<5x1xf32> -> tensor<5x4xf32> {
    ^bb0(%x: f32, %y: f32):
      %f = arith.constant 2.5 : f32
      %q = arith.divf %x, %y : f32
      %r = arith.mulf %q, %f : f32
      graph.yield %r : f32
    }
    graph.output "w", %w : tensor<5x4xf32>
    graph.output "v", %v : tensor<5x4xf32>
    graph.output "e", %e : tensor<5x4xi32>
    graph.output "i", %chosen : tensor<5x4xi32>)";

TEST(Routing, GroupsOfExpertsWithABiasAreAComposition) {
  Evaluation evaluation(kGrouped);
  ASSERT_TRUE(evaluation.parsed());
  evaluation.input("l", {5, 12}, numbers(60)).input("b", {12}, numbers(12));
  const Result<Outcome> outcome = evaluation.run();
  expectNear(outcome, "w", "v");
  expectNear(outcome, "e", "i");
}

// Experts out of range have no row, and the others lie side by side.
TEST(Routing, RowsAreNumberedByExpertThenByToken) {
  Evaluation evaluation(R"(
    %e = graph.input "e" : tensor<3x2xi32>
    %p, %g = graph.group_rows %e : tensor<3x2xi32> -> tensor<3x2xi32>, tensor<4x3xi32>
    graph.output "p", %p : tensor<3x2xi32>
    graph.output "g", %g : tensor<4x3xi32>)");
  ASSERT_TRUE(evaluation.parsed());
  const Result<Outcome> outcome = evaluation.input("e", {3, 2}, {3, 1, 4, 3, 1, -1}).run();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->outputs.at("p").values, (std::vector<double>{2, 0, -1, 3, 1, -1}));
  EXPECT_EQ(outcome->outputs.at("g").values,
            (std::vector<double>{1, 0, 2, 3, 2, 2, 0, 0, 0, 0, 0, 0}));
}

// Weights are the scores of the numbers that are left, which may come twice.
TEST(Routing, NeighboursThatShareAreOneNumber) {
  Evaluation evaluation(R"(
    %l = graph.input "l" : tensor<1x6xf32>
    %w, %e = graph.route sigmoid %l {by_logits, sharing = 2 : i64}
        : tensor<1x6xf32> -> tensor<1x3xf32>, tensor<1x3xi32>
    graph.output "w", %w : tensor<1x3xf32>
    graph.output "e", %e : tensor<1x3xi32>)");
  ASSERT_TRUE(evaluation.parsed());
  const Result<Outcome> outcome = evaluation.input("l", {1, 6}, {-1, 0, 2, -3, 5, 4}).run();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->outputs.at("e").values, (std::vector<double>{2, 2, 1}));
  const std::vector<double> &weights = outcome->outputs.at("w").values;
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  EXPECT_NEAR(weights[0], sigmoid(2), 1e-12);
  EXPECT_NEAR(weights[1], sigmoid(2), 1e-12);
  EXPECT_NEAR(weights[2], sigmoid(0), 1e-12);
}

TEST(Routing, RowsMeetTheMatricesAndBiasesOfTheirExperts) {
  Evaluation evaluation(R"(
    %a = graph.input "a" : tensor<3x2xf32>
    %g = graph.input "g" : tensor<2x3xi32>
    %b = graph.weight ["b"] : tensor<4x1x2xf32>
    %c = graph.weight ["c"] : tensor<4x1xf32>
    %y = graph.grouped_dot %a, %b by %g bias %c choices 1
        : tensor<3x2xf32>, tensor<4x1x2xf32> by tensor<2x3xi32> bias tensor<4x1xf32> -> tensor<3x2xf32>
    graph.output "y", %y : tensor<3x2xf32>)");
  ASSERT_TRUE(evaluation.parsed());
  evaluation.input("a", {3, 2}, {1, 0, 0, 1, 1, 1}).input("g", {2, 3}, {0, 1, 2, 1, 0, 1});
  evaluation.weight("b", {4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8}).weight("c", {4, 1}, {.5, 0, 0, 0});
  // Part p of expert e is matrix 2 p + e.
  EXPECT_EQ(evaluation.result(), (std::vector<double>{3, 7, 2.5, 6, 3.5, 11}));
}

} // namespace
} // namespace sinter::graph
