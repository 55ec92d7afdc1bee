// The evaluator gives closed forms, and one sentence for what does not fit together.
#include "graph/evaluate/scalar_program.h"
#include "graph/evaluation.h"
#include "graph/ir/scalar_ops.h"
#include "tile/mlir_pch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::graph {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

TEST(Evaluate, MapBroadcastsAsNumPy) {
  Evaluation graph(R"(
    %a = graph.input "a" : tensor<?x3xf32, #graph.dims<T>>
    %b = graph.input "b" : tensor<3xf32>
    %c = graph.input "c" : tensor<?x1xf32, #graph.dims<T>>
    %y = graph.map %a, %b, %c : tensor<?x3xf32, #graph.dims<T>>, tensor<3xf32>, tensor<?x1xf32, #graph.dims<T>>
        -> tensor<?x3xf32, #graph.dims<T>> {
    ^bb0(%l: f32, %m: f32, %r: f32):
      %s = math.fma %l, %m, %r : f32
      graph.yield %s : f32
    }
    graph.output "y", %y : tensor<?x3xf32, #graph.dims<T>>)");
  graph.input("a", {2, 3}).input("b", {3}, {1, 10, 100}).input("c", {2, 1}, {1000, 2000});
  EXPECT_THAT(graph.result(), ElementsAre(1000, 1010, 1200, 2003, 2040, 2500));
}

TEST(Evaluate, MapSelectsComparesAndConverts) {
  Evaluation graph(R"(
    %a = graph.input "a" : tensor<4xf32>
    %i = graph.iota along 0 : tensor<4xi32>
    %y = graph.map %a, %i : tensor<4xf32>, tensor<4xi32> -> tensor<4xbf16> {
    ^bb0(%l: f32, %n: i32):
      %two = arith.constant 2 : i32
      %less = arith.cmpi slt, %n, %two : i32
      %f = arith.sitofp %n : i32 to f32
      %s = arith.select %less, %l, %f : f32
      %t = arith.truncf %s : f32 to bf16
      graph.yield %t : bf16
    }
    graph.output "y", %y : tensor<4xbf16>)");
  graph.input("a", {4}, {1.00390625, -3, 7, 7});
  EXPECT_THAT(graph.result(), ElementsAre(1.0, -3, 2, 3)); // 1 + 2^-8 ties to even
}

TEST(Evaluate, EveryOperationOfAMapHasAFunction) {
  for (llvm::StringRef name : scalarOps())
    EXPECT_TRUE(hasScalarFunction(name)) << name.str();
}

std::vector<double> reduced(const std::string &kind, const std::string &element,
                            const std::vector<double> &values) {
  Evaluation graph(R"(
    %a = graph.input "a" : tensor<2x3x2x)" +
                   element + R"(>
    %y = graph.reduce )" +
                   kind + R"( %a over [1] : tensor<2x3x2x)" + element + R"(> -> tensor<2x2x)" +
                   element + R"(>
    graph.output "y", %y : tensor<2x2x)" +
                   element + ">");
  return graph.input("a", {2, 3, 2}, values).result();
}

TEST(Evaluate, ReductionsCombineAlongAMiddleAxis) {
  const std::vector<double> values = {1, 2, 3, -4, 5, 6, 7, 8, 9, 10, -11, 12};
  EXPECT_THAT(reduced("sum", "f32", values), ElementsAre(9, 4, 5, 30));
  EXPECT_THAT(reduced("product", "i32", values), ElementsAre(15, -48, -693, 960));
  EXPECT_THAT(reduced("max", "f32", values), ElementsAre(5, 6, 9, 12));
  EXPECT_THAT(reduced("min", "i32", values), ElementsAre(1, -4, -11, 8));
  const std::vector<double> bits = {1, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_THAT(reduced("all", "i1", bits), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(reduced("any", "i1", bits), ElementsAre(1, 1, 0, 0));
}

TEST(Evaluate, DotGeneralOfBatchesInAnyOrderOfAxes) {
  Evaluation graph(R"(
    %a = graph.input "a" : tensor<2x2x3xf32>
    %b = graph.input "b" : tensor<3x4x2xf32>
    %y = graph.dot_general %a, %b batch [0] x [2] contract [2] x [0]
        : tensor<2x2x3xf32>, tensor<3x4x2xf32> -> tensor<2x2x4xf32>
    graph.output "y", %y : tensor<2x2x4xf32>)");
  std::vector<double> a, b;
  for (int i = 0; i < 12; ++i)
    a.push_back(0.5 * i - 1);
  for (int i = 0; i < 24; ++i)
    b.push_back(0.25 * i - 2);
  graph.input("a", {2, 2, 3}, a).input("b", {3, 4, 2}, b);
  // numpy.einsum("bmk,knb->bmn")
  EXPECT_THAT(graph.result(), ElementsAreArray({2.0, 1.25, 0.5, -0.25, 2.0, 3.5, 5.0, 6.5, 3.875,
                                                7.625, 11.375, 15.125, 5.0, 11.0, 17.0, 23.0}));
}

TEST(Evaluate, LayerNormOverAMiddleAxis) {
  Evaluation graph(R"(
    %x = graph.input "x" : tensor<2x3x2xf32>
    %w = graph.weight ["w"] : tensor<3xf32>
    %b = graph.weight ["b"] : tensor<3xf32>
    %y = graph.norm layer %x, %w bias %b over [1] eps 1.0e-5
        : tensor<2x3x2xf32>, tensor<3xf32> bias tensor<3xf32> -> tensor<2x3x2xf32>
    graph.output "y", %y : tensor<2x3x2xf32>)");
  graph.input("x", {2, 3, 2}, {1, 2, 3, 5, 2, -1, 0, 1, 4, 1, 2, 7})
      .weight("w", {3}, {1, 2, 0.5})
      .weight("b", {3}, {0, 1, -1});
  EXPECT_THAT(graph.result(),
              Pointwise(FloatNear(1e-6f),
                        {-1.2247357, 0.0000000, 3.4494714, 3.4494877, -1.0000000, -1.6123719,
                         -1.2247426, -0.7071063, 3.4494852, -0.4142127, -1.0000000, -0.2928937}));
}

TEST(Evaluate, RmsNormOfRows) {
  Evaluation graph(R"(
    %x = graph.input "x" : tensor<2x2xf32>
    %y = graph.norm %x eps 0.0 : tensor<2x2xf32> -> tensor<2x2xf32>
    graph.output "y", %y : tensor<2x2xf32>)");
  graph.input("x", {2, 2}, {3, -3, 0.5, 0.5});
  EXPECT_THAT(graph.result(), ElementsAre(1, -1, 1, 1));
}

TEST(Evaluate, ShapesMoveElements) {
  Evaluation graph(R"(
    %a = graph.input "a" : tensor<?x4xi32, #graph.dims<T>>
    %t = graph.transpose %a to [1, 0] : tensor<?x4xi32, #graph.dims<T>> -> tensor<4x?xi32, #graph.dims<T>>
    %s = graph.slice %t from [1, 0] step [2, 1] : tensor<4x?xi32, #graph.dims<T>> -> tensor<2x?xi32, #graph.dims<T>>
    %p = graph.pad %s low [0, 1] high [1, 0] fill -7 : i32
        : tensor<2x?xi32, #graph.dims<T>> -> tensor<3x?xi32, #graph.dims<"T+1">>
    %c = graph.concat %p, %p along 1 : tensor<3x?xi32, #graph.dims<"T+1">>, tensor<3x?xi32, #graph.dims<"T+1">>
        -> tensor<3x?xi32, #graph.dims<"2*T+2">>
    %y = graph.reshape %c : tensor<3x?xi32, #graph.dims<"2*T+2">> -> tensor<?xi32, #graph.dims<"6*T+6">>
    graph.output "y", %y : tensor<?xi32, #graph.dims<"6*T+6">>)");
  graph.input("a", {2, 4}); // columns 1 and 3: {1, 5}, {3, 7}
  EXPECT_THAT(graph.result(),
              ElementsAre(-7, 1, 5, -7, 1, 5, -7, 3, 7, -7, 3, 7, -7, -7, -7, -7, -7, -7));
}

TEST(Evaluate, GatherAlongAnAxisGivesZerosOutside) {
  Evaluation graph(R"(
    %a = graph.input "a" : tensor<2x3x2xf16>
    %i = graph.constant dense<[[2, -1], [0, 3]]> : tensor<2x2xi32>
    %y = graph.gather %a, %i along 1 : tensor<2x3x2xf16>, tensor<2x2xi32> -> tensor<2x2x2x2xf32>
    graph.output "y", %y : tensor<2x2x2x2xf32>)");
  EXPECT_THAT(graph.input("a", {2, 3, 2}).result(),
              ElementsAre(4, 5, 0, 0, 0, 1, 0, 0, 10, 11, 0, 0, 6, 7, 0, 0));
}

TEST(Evaluate, GatherOfBatchesTakesEachBatchsOwnIndices) {
  Evaluation evaluation(R"(
    %t = graph.input "t" : tensor<2x3x2xf32>
    %i = graph.input "i" : tensor<2x2xi32>
    %y = graph.gather %t, %i batch [2] x [0] along 1 : tensor<2x3x2xf32>, tensor<2x2xi32>
        -> tensor<2x2x2xf32>
    graph.output "y", %y : tensor<2x2x2xf32>)");
  ASSERT_TRUE(evaluation.parsed());
  evaluation.input("t", {2, 3, 2}).input("i", {2, 2}, {2, 0, 1, 7});
  // y[a, j, b] = t[a, i[b, j], b], zero where the index is outside.
  EXPECT_THAT(evaluation.result(), ElementsAre(4, 3, 0, 0, 10, 9, 6, 0));
}

// The accumulators take elements in row-major order, whatever the order of the axes.
TEST(Evaluate, FoldsTakeElementsOneAfterAnother) {
  Evaluation evaluation(R"(
    %x = graph.input "x" : tensor<2x2x3xf32>
    %i = graph.iota along 2 : tensor<2x2x3xi32>
    %y, %at, %odd = graph.fold %x, %i from [-1.0 : f32, -1 : i32, false] over [2, 0]
        : tensor<2x2x3xf32>, tensor<2x2x3xi32> -> tensor<2xf32>, tensor<1x2x1xi32>, tensor<2xi1> {
    ^bb0(%a: f32, %n: i32, %o: i1, %e: f32, %k: i32):
      %ten = arith.constant 10.0 : f32
      %s = math.fma %a, %ten, %e : f32
      %five = arith.constant 5.0 : f32
      %l = arith.cmpf oge, %e, %five : f32
      %p = arith.select %l, %k, %n : i32
      %q = arith.xori %o, %l : i1
      graph.yield %s, %p, %q : f32, i32, i1
    }
    graph.output "y", %y : tensor<2xf32>
    graph.output "at", %at : tensor<1x2x1xi32>
    graph.output "odd", %odd : tensor<2xi1>)");
  ASSERT_TRUE(evaluation.parsed());
  evaluation.input("x", {2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3});
  const Result<Outcome> outcome = evaluation.run();
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_THAT(outcome->outputs.at("y").values, ElementsAre(-1e6 + 123789, -1e6 + 456123));
  EXPECT_THAT(outcome->outputs.at("at").values, ElementsAre(2, 2));
  EXPECT_THAT(outcome->outputs.at("odd").values, ElementsAre(1, 0));
}

TEST(Evaluate, BlockFormatsRoundOnceInBothPrecisions) {
  Evaluation graph(R"(
    %x = graph.input "x" : tensor<1x32xf32>
    %w = graph.weight ["w"] : tensor<2x32x!tile.block<"q8_0">>
    %a = graph.quantize %x : tensor<1x32xf32> -> tensor<1x32x!tile.block<"q8a">>
    %y = graph.dot_general %a, %w : tensor<1x32x!tile.block<"q8a">>, tensor<2x32x!tile.block<"q8_0">>
        -> tensor<1x2xf32>
    graph.output "y", %y : tensor<1x2xf32>)");
  std::vector<double> x(32, 0), w(64, 0);
  x[0] = 127, x[1] = 3;    // whole codes
  w[0] = 127, w[1] = 2.25; // rounds to 2
  w[32 + 1] = 254;
  graph.input("x", {1, 32}, x).weight("w", {2, 32}, w);
  EXPECT_THAT(graph.result(Precision::F64), ElementsAre(127 * 127 + 6, 3 * 254));
  EXPECT_THAT(graph.result(Precision::F32), ElementsAre(127 * 127 + 6, 3 * 254));
}

TEST(Evaluate, RopeTurnsPairsByTheirAngles) {
  Evaluation graph(R"(
    %p = graph.input "p" : tensor<?xi32, #graph.dims<T>>
    %x = graph.input "x" : tensor<?x1x4xf32, #graph.dims<T>>
    %t = graph.rope_table %p dims 4 base 1.0e4 : tensor<?xi32, #graph.dims<T>> -> tensor<?x4xf32, #graph.dims<T>>
    %y = graph.rope halves %x, %t : tensor<?x1x4xf32, #graph.dims<T>>, tensor<?x4xf32, #graph.dims<T>>
        -> tensor<?x1x4xf32, #graph.dims<T>>
    graph.output "y", %y : tensor<?x1x4xf32, #graph.dims<T>>)");
  graph.input("p", {2}, {0, 100}).input("x", {2, 1, 4}, {1, 2, 3, 4, 1, 0, 0, 1});
  const double c0 = std::cos(100.0), s0 = std::sin(100.0), c1 = std::cos(1.0), s1 = std::sin(1.0);
  EXPECT_THAT(graph.result(), Pointwise(FloatNear(1e-6f), {1.0, 2.0, 3.0, 4.0, c0, -s1, s0, c1}));
}

TEST(Evaluate, RopeOfAPartLeavesTheOtherElements) {
  for (const bool halves : {true, false}) {
    Evaluation graph(R"(
    %p = graph.input "p" : tensor<1xi32>
    %d = graph.input "d" : tensor<2xf32>
    %x = graph.input "x" : tensor<1x1x6xf32>
    %t = graph.rope_table %p over %d dims 4 base 1.0e4 : tensor<1xi32> over tensor<2xf32> -> tensor<1x4xf32>
    %y = graph.rope )" +
                     std::string(halves ? "halves" : "neighbours") +
                     R"( %x, %t dims 4 : tensor<1x1x6xf32>, tensor<1x4xf32> -> tensor<1x1x6xf32>
    graph.output "y", %y : tensor<1x1x6xf32>)");
    graph.input("p", {1}, {100}).input("d", {2}, {2, 4}).input("x", {1, 1, 6}, {1, 0, 0, 1, 5, 6});
    const double c0 = std::cos(50.0), s0 = std::sin(50.0), c1 = std::cos(.25), s1 = std::sin(.25);
    const std::vector<double> expected = halves ? std::vector<double>{c0, -s1, s0, c1, 5, 6}
                                                : std::vector<double>{c0, s0, -s1, c1, 5, 6};
    for (Precision precision : {Precision::F32, Precision::F64})
      EXPECT_THAT(graph.result(precision), Pointwise(FloatNear(1e-6f), expected));
  }
}

// One head of two elements, pages of two rows; the keys of a sequence lie on pages 2 and 0.
constexpr const char *kAttention = R"(
  %q = graph.input "q" : tensor<?x2x2xf32, #graph.dims<T>>
  %k = graph.input "k" : tensor<?x1x2xf32, #graph.dims<T>>
  %positions = graph.input "positions" : tensor<?xi32, #graph.dims<T>>
  %slots = graph.input "slots" : tensor<?xi32, #graph.dims<T>>
  %pages = graph.input "pages" : tensor<?x?xi32, #graph.dims<S, P>>
  %lengths = graph.input "lengths" : tensor<?xi32, #graph.dims<S>>
  %tiles = graph.input "tiles" : tensor<?x3xi32, #graph.dims<B>>
  %ks = graph.state "keys" : tensor<?x1x2x2xf16, #graph.dims<C>>
  %vs = graph.state "values" : tensor<?x1x2x2xf16, #graph.dims<C>>
  %k1 = graph.kv_append keys %k at %slots into %ks
      : tensor<?x1x2xf32, #graph.dims<T>>, tensor<?xi32, #graph.dims<T>> into tensor<?x1x2x2xf16, #graph.dims<C>>
      -> tensor<?x1x2x2xf16, #graph.dims<C>>
  %v1 = graph.kv_append values %k at %slots into %vs
      : tensor<?x1x2xf32, #graph.dims<T>>, tensor<?xi32, #graph.dims<T>> into tensor<?x1x2x2xf16, #graph.dims<C>>
      -> tensor<?x1x2x2xf16, #graph.dims<C>>
  %y = graph.paged_attention %q, %k1, %v1, %positions, %pages, %lengths, %tiles scale 1.0
      : tensor<?x2x2xf32, #graph.dims<T>>, tensor<?x1x2x2xf16, #graph.dims<C>>, tensor<?x1x2x2xf16, #graph.dims<C>>,
        tensor<?xi32, #graph.dims<T>>, tensor<?x?xi32, #graph.dims<S, P>>, tensor<?xi32, #graph.dims<S>>,
        tensor<?x3xi32, #graph.dims<B>> -> tensor<?x2x2xf32, #graph.dims<T>>
  graph.output "y", %y : tensor<?x2x2xf32, #graph.dims<T>>)";

Evaluation &withPages(Evaluation &graph, std::vector<double> pages) {
  return graph.input("q", {3, 2, 2}, {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0})
      .input("k", {3, 1, 2}, {1, 10, 2, 20, 3, 30})
      .input("positions", {3}, {0, 1, 2})
      .input("slots", {3}, {4, 5, 0})
      .input("pages", {1, 2}, std::move(pages))
      .input("lengths", {1}, {3})
      .input("tiles", {1, 3}, {0, 0, 3})
      .symbol("C", 3);
}

TEST(Evaluate, AttentionSeesTheKeysOfItsSequenceUpToItsPosition) {
  Evaluation graph(kAttention);
  withPages(graph, {2, 0});
  const double e = std::exp(1.0), first = (2 * e + 1) / (e + 1),
               all = (3 * e * e + 2 * e + 1) / (e * e + e + 1);
  EXPECT_THAT(graph.result(), Pointwise(FloatNear(1e-5f), {1.0, 10.0, 1.0, 10.0, first, 10 * first,
                                                           1.5, 15.0, all, 10 * all, 2.0, 20.0}));
  const Result<Outcome> outcome = graph.run();
  // Keys have their rows last: page 0, dims of row 0; pages 1 and the rest stay zero.
  EXPECT_THAT(outcome->states.at("keys").values,
              ElementsAre(3, 0, 30, 0, 0, 0, 0, 0, 1, 2, 10, 20));
  EXPECT_THAT(outcome->states.at("values").values,
              ElementsAre(3, 30, 0, 0, 0, 0, 0, 0, 1, 10, 2, 20));
}

// The results of the first head, whose scores are 1, 2, 3 at three positions, as weights of these.
std::vector<double> weightsOf(const std::string &words, Precision precision) {
  std::string text = kAttention;
  const std::string before = "%tiles scale 1.0", types = "x3xi32, #graph.dims<B>> -> ";
  text.replace(text.find(before), before.size(), "%tiles " + words);
  if (words.starts_with("sinks")) {
    text.replace(text.find(types), types.size(), "x3xi32, #graph.dims<B>> sinks tensor<2xf32> -> ");
    text = "%w = graph.weight [\"w\"] : tensor<2xf32>\n" + text;
  }
  Evaluation graph(text);
  EXPECT_TRUE(graph.parsed()) << text;
  withPages(graph, {2, 0}).weight("w", {2}, {2, 0});
  const std::vector<double> y = graph.result(precision);
  std::vector<double> first;
  for (size_t row = 0; row < 3 && y.size() == 12; ++row)
    first.push_back(y[4 * row]);
  return first;
}

// Row t's mean of the values 1, 2, 3 up to t by these scores, where `extra` joins the denominator.
double meanOf(std::vector<std::pair<double, double>> valuesAndScores, double extra = 0) {
  double sum = extra, mean = 0;
  for (auto [value, score] : valuesAndScores) {
    sum += std::exp(score);
    mean += value * std::exp(score);
  }
  return mean / sum;
}

TEST(Evaluate, AttentionOfEachFormWeightsTheKeysThatRowsSee) {
  using testing::Pointwise;
  const auto capped = [](double score) { return 2 * std::tanh(score / 2); };
  for (Precision precision : {Precision::F32, Precision::F64}) {
    auto expects = [&](const std::string &words, const std::vector<double> &expected) {
      EXPECT_THAT(weightsOf(words, precision), Pointwise(FloatNear(1e-5f), expected)) << words;
    };
    expects("scale 1.0 window 1", {1, 2, 3});
    expects("scale 1.0 window 2", {1, meanOf({{1, 1}, {2, 2}}), meanOf({{2, 2}, {3, 3}})});
    expects("scale 1.0 chunk 2", {1, meanOf({{1, 1}, {2, 2}}), 3});
    expects("scale 1.0 soft_cap 2.0", {1, meanOf({{1, capped(1)}, {2, capped(2)}}),
                                       meanOf({{1, capped(1)}, {2, capped(2)}, {3, capped(3)}})});
    expects("scale 1.0 slopes [0.5, 0.0]",
            {1, meanOf({{1, 0.5}, {2, 2}}), meanOf({{1, 0}, {2, 1.5}, {3, 3}})});
    const double all = meanOf({{1, 1}, {2, 2}, {3, 3}});
    expects("scale 1.0 both", {all, all, all});
    expects("scale 1.0 window 3 both", {meanOf({{1, 1}, {2, 2}}), all, meanOf({{2, 2}, {3, 3}})});
    expects("scale 1.0 slopes [0.5, 0.0] both",
            {meanOf({{1, 1}, {2, 1.5}, {3, 2}}), meanOf({{1, 0.5}, {2, 2}, {3, 2.5}}),
             meanOf({{1, 0}, {2, 1.5}, {3, 3}})});
    const double sink = std::exp(2.0);
    expects("sinks %w scale 1.0", {meanOf({{1, 1}}, sink), meanOf({{1, 1}, {2, 2}}, sink),
                                   meanOf({{1, 1}, {2, 2}, {3, 3}}, sink)});
  }
}

// A page that left the window may be another's.
TEST(Evaluate, PagesBeforeTheWindowAreNotRead) {
  std::string text = kAttention;
  const std::string before = "scale 1.0";
  text.replace(text.find(before), before.size(), "scale 1.0 window 1");
  Evaluation graph(text);
  withPages(graph, {2, 0}).input("pages", {1, 2}, {-1, 0}).input("tiles", {1, 3}, {0, 2, 1});
  EXPECT_EQ(graph.refusal(), "");
}

TEST(Evaluate, PageBeyondTheCacheIsRefused) {
  Evaluation graph(kAttention);
  EXPECT_THAT(withPages(graph, {2, 3}).refusal(),
              HasSubstr("the page table names page 3, but the KV cache has 3"));
}

constexpr const char *kTwoRows = R"(
  %a = graph.input "a" : tensor<?x2xf32, #graph.dims<T>>
  %b = graph.input "b" : tensor<?x2xf32, #graph.dims<T>>
  %y = graph.slice %a from [1, 0] : tensor<?x2xf32, #graph.dims<T>> -> tensor<3x2xf32>
  graph.output "y", %y : tensor<3x2xf32>)";

TEST(Evaluate, EdgesThatDoNotFitAreRefused) {
  EXPECT_EQ(Evaluation(kTwoRows).input("a", {2, 2}).refusal(), "input 'b' is missing");
  EXPECT_EQ(Evaluation(kTwoRows).input("a", {2, 2}).input("b", {3, 2}).refusal(),
            "axis 0 of 'b' is 3, expected 'T', which is 2");
  EXPECT_THAT(Evaluation(kTwoRows).input("a", {2, 3}).input("b", {2, 2}).refusal(),
              HasSubstr("axis 1 of 'a' is 3, expected 2"));
}

TEST(Evaluate, SliceBeyondABoundExtentIsRefused) {
  EXPECT_THAT(Evaluation(kTwoRows).input("a", {3, 2}).input("b", {3, 2}).refusal(),
              HasSubstr("a slice takes 3 elements of axis 0 from 1 by steps of 1, but it has 3"));
  EXPECT_EQ(Evaluation(kTwoRows).input("a", {4, 2}).input("b", {4, 2}).refusal(), "");
}

TEST(Evaluate, StateWithoutTensorIsZeroAndNeedsItsSymbols) {
  constexpr const char *kState = R"(%y = graph.state "s" : tensor<?xf32, #graph.dims<C>>
    graph.output "y", %y : tensor<?xf32, #graph.dims<C>>)";
  EXPECT_THAT(Evaluation(kState).symbol("C", 2).result(), ElementsAre(0, 0));
  EXPECT_THAT(Evaluation(kState).refusal(), HasSubstr("symbol 'C' has no value"));
  EXPECT_THAT(Evaluation(kState).symbol("C", int64_t(1) << 40).refusal(), HasSubstr("more than"));
}

TEST(Evaluate, FunctionOfOtherOperationsIsRefused) {
  EXPECT_THAT(Evaluation("%c = arith.constant 1.0 : f32").refusal(),
              HasSubstr("operation 'arith.constant' is none of the graph dialect"));
}

} // namespace
} // namespace sinter::graph
