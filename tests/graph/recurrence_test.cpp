// Operations with states of sequences: what they compute, and that steps may be cut anywhere.
#include "graph/evaluation.h"

#include <gmock/gmock.h>

namespace sinter::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string convGraph(int64_t rows) {
  const std::string r = "tensor<" + std::to_string(rows) + "x1xf32>";
  return R"(
    %r = graph.input "r" : )" +
         r + R"(
    %w = graph.weight ["w"] : tensor<1x3xf32>
    %p = graph.input "p" : tensor<1x4xi32>
    %s = graph.state "s" : tensor<2x2x1xf32>
    %y, %n = graph.causal_conv %r, %w of %p from %s : )" +
         r + R"(, tensor<1x3xf32> of tensor<1x4xi32>
      from tensor<2x2x1xf32> -> )" +
         r + R"(, tensor<2x2x1xf32>
    graph.output "y", %y : )" +
         r;
}

TEST(Recurrence, AConvolutionLooksBackOverItsStateAndKeepsTheLastRows) {
  Evaluation step(convGraph(2));
  ASSERT_TRUE(step.parsed());
  step.input("r", {2, 1}, {5, 7}).input("p", {1, 4}, {0, 1, 0, 2});
  step.weight("w", {1, 3}, {100, 10, 1}).state("s", {2, 2, 1}, {2, 3, 8, 9});
  const Result<Outcome> outcome = step.run();
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_THAT(outcome->outputs.at("y").values, ElementsAre(235, 357));
  EXPECT_THAT(outcome->states.at("s").values, ElementsAre(2, 3, 5, 7));
}

TEST(Recurrence, ASequenceWithoutAStateBeginsWithZeros) {
  Evaluation step(convGraph(1));
  step.input("r", {1, 1}, {5}).input("p", {1, 4}, {-1, 0, 0, 1});
  step.weight("w", {1, 3}, {100, 10, 1}).state("s", {2, 2, 1}, {2, 3, 8, 9});
  const Result<Outcome> outcome = step.run();
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_THAT(outcome->outputs.at("y").values, ElementsAre(5));
  EXPECT_THAT(outcome->states.at("s").values, ElementsAre(0, 5, 8, 9));
}

TEST(Recurrence, SpansOutsideOfRowsOrSlotsAreRefused) {
  Evaluation step(convGraph(1));
  step.input("r", {1, 1}).weight("w", {1, 3}).state("s", {2, 2, 1}, {0, 0, 0, 0});
  for (const std::vector<double> &span :
       {std::vector<double>{2, 0, 0, 1}, {0, -1, 0, 1}, {0, 0, 0, 2}, {0, 0, 1, -1}}) {
    step.input("p", {1, 4}, span);
    EXPECT_THAT(step.refusal(), HasSubstr("expected rows up to 1 and slots below 2"));
  }
}

// Two heads of values share a head of keys.
std::string deltaGraph(int64_t rows) {
  const std::string t = std::to_string(rows), k = "tensor<" + t + "x1x2xf32>",
                    v = "tensor<" + t + "x2x1xf32>", h = "tensor<" + t + "x2xf32>";
  return "%q = graph.input \"q\" : " + k + "\n%k = graph.input \"k\" : " + k +
         "\n%v = graph.input \"v\" : " + v + "\n%d = graph.input \"d\" : " + h +
         "\n%b = graph.input \"b\" : " + h + R"(
    %p = graph.input "p" : tensor<1x4xi32>
    %s = graph.state "s" : tensor<1x2x2x1xf32>
    %y, %n = graph.delta_rule %q, %k, %v, %d, %b of %p from %s scale 2.0 : )" +
         k + ", " + k + ", " + v + ", " + h + ", " + h +
         " of tensor<1x4xi32> from tensor<1x2x2x1xf32> -> " + v +
         ", tensor<1x2x2x1xf32>\ngraph.output \"y\", %y : " + v;
}

TEST(Recurrence, TheDeltaRuleReplacesWhatAKeyHeld) {
  Evaluation step(deltaGraph(1));
  ASSERT_TRUE(step.parsed());
  step.input("q", {1, 1, 2}, {1, 1}).input("k", {1, 1, 2}, {1, 0});
  step.input("v", {1, 2, 1}, {10, 20}).input("d", {1, 2}, {0, 0});
  step.input("b", {1, 2}, {1, 0.5}).input("p", {1, 4}, {0, 0, 0, 1});
  step.state("s", {1, 2, 2, 1}, {3, 4, 6, 8});
  const Result<Outcome> outcome = step.run();
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_THAT(outcome->states.at("s").values, ElementsAre(10, 4, 13, 8));
  EXPECT_THAT(outcome->outputs.at("y").values, ElementsAre(28, 42));
}

// Rows [first, first + count) of five, from a state.
Outcome runRows(int64_t first, int64_t count, const std::vector<double> &state) {
  Evaluation step(deltaGraph(count));
  const auto rows = [&](const char *name, Shape shape, int64_t width, double from, double by) {
    std::vector<double> values;
    for (int64_t i = first * width; i < (first + count) * width; ++i)
      values.push_back(from + by * static_cast<double>(i * 7 % 11) / 11);
    step.input(name, std::move(shape), values);
  };
  rows("q", {count, 1, 2}, 2, -1, 2);
  rows("k", {count, 1, 2}, 2, -0.5, 1);
  rows("v", {count, 2, 1}, 2, -2, 4);
  rows("d", {count, 2}, 2, -1, 1);
  rows("b", {count, 2}, 2, 0, 1);
  step.input("p", {1, 4}, {first == 0 ? -1.0 : 0.0, 0, 0, static_cast<double>(count)});
  step.state("s", {1, 2, 2, 1}, state);
  return *step.run(Precision::F32);
}

TEST(Recurrence, ARowIsTheSameHoweverItsSequenceIsCutIntoSteps) {
  const std::vector<double> garbage = {9, 9, 9, 9};
  const Outcome whole = runRows(0, 5, garbage);
  for (const int64_t cut : {1, 2, 4}) {
    const Outcome before = runRows(0, cut, garbage);
    const Outcome after = runRows(cut, 5 - cut, before.states.at("s").values);
    std::vector<double> rows = before.outputs.at("y").values;
    const std::vector<double> &rest = after.outputs.at("y").values;
    rows.insert(rows.end(), rest.begin(), rest.end());
    EXPECT_EQ(rows, whole.outputs.at("y").values) << "cut after " << cut;
    EXPECT_EQ(after.states.at("s").values, whole.states.at("s").values);
  }
}

} // namespace
} // namespace sinter::graph
