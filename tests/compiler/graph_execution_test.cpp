// Graphs compiled and executed on devices agree with the reference evaluator.
#include "compiler/graph_execution.h"
#include "engine/graph_plan.h"
#include "graph/attention_graph.h"
#include "graph/evaluation.h"
#include "graph/random_graph.h"
#include "hal/cuda/cuda_driver.h"
#include "hal/target_choice.h"
#include "hal/vulkan/vulkan_driver.h"
#include "sampling.h"
#include "tile/mlir_pch.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace sinter::compiler {
namespace {

using graph::Evaluation;

Result<graph::Outcome> run(Evaluation &evaluation, const std::string &target,
                           bool ownsStates = false) {
  SINTER_ASSIGN(plan::Plan plan,
                engine::buildGraphPlan(evaluation.function(), {target, 1, ownsStates},
                                       [](std::string_view, uint32_t, uint32_t) {}));
  SINTER_ASSIGN(const auto device, openDeviceOf(plan));
  return executeGraph(*device, std::move(plan), evaluation.function(), evaluation.edges());
}

// Its outputs alone.
Result<graph::NamedTensors> execute(Evaluation &evaluation, const std::string &target) {
  SINTER_ASSIGN(graph::Outcome outcome, run(evaluation, target));
  return std::move(outcome.outputs);
}

// The target of this machine's first device of a driver; empty where there is none.
template <class Add> std::string targetOf(Add addDriver) {
  hal::DriverRegistry registry;
  if (!addDriver(registry))
    return "";
  const auto devices = registry.drivers().front()->devices();
  return devices && !devices->empty() ? devices->front().target : "";
}

std::string vulkanTarget() {
  return targetOf([](hal::DriverRegistry &registry) { return hal::addVulkanDriver(registry); });
}

std::string cudaTarget() {
  return targetOf([](hal::DriverRegistry &registry) { return hal::addCudaDriver(registry); });
}

void expectAgreement(uint64_t seed, const std::string &target) {
  const graph::RandomGraph random = graph::randomGraph(seed, 10, graph::Vocabulary::Generic);
  SCOPED_TRACE(std::to_string(seed) + "\n" + random.body);
  Evaluation evaluation(random.body);
  ASSERT_TRUE(evaluation.parsed());
  graph::giveEdges(evaluation, random);
  const Result<graph::Outcome> exact = evaluation.run(graph::Precision::F64);
  ASSERT_TRUE(exact) << exact.error().message;
  const Result<graph::NamedTensors> found = execute(evaluation, target);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_LT(largestError(*found, exact->outputs), 2e-5);
}

// Of each driver the machine's first device; empty where it has none.
std::string targetNamed(std::string_view device) {
  return device == "cpu" ? "host" : device == "vulkan" ? vulkanTarget() : cudaTarget();
}

class RandomGraphs : public testing::TestWithParam<std::tuple<std::string, uint64_t>> {
protected:
  void expectAgreementOfCase() {
    const auto &[device, seed] = GetParam();
    const std::string target = targetNamed(device);
    if (target.empty())
      GTEST_SKIP() << "this machine has no " << device << " device";
    expectAgreement(seed, target);
  }
};
TEST_P(RandomGraphs, AgreeWithTheEvaluator) {
  expectAgreementOfCase();
}

std::string nameOf(const testing::TestParamInfo<RandomGraphs::ParamType> &info) {
  return std::get<0>(info.param) + "_" + std::to_string(std::get<1>(info.param));
}

// A few of them in `./test`.
INSTANTIATE_TEST_SUITE_P(OnCpu, RandomGraphs,
                         testing::Combine(testing::Values("cpu"), testing::Range<uint64_t>(0, 20)),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(OnVulkan, RandomGraphs,
                         testing::Combine(testing::Values("vulkan"),
                                          testing::Range<uint64_t>(0, 4)),
                         nameOf);

// All of them: `ctest -L full -R RandomGraphs`.
class FullRandomGraphs : public RandomGraphs {};
TEST_P(FullRandomGraphs, AgreeWithTheEvaluator) {
  expectAgreementOfCase();
}
// Seeds of one device stand together, so that each part of the suite has as many of each device.
INSTANTIATE_TEST_SUITE_P(Full, FullRandomGraphs,
                         testing::Combine(testing::Values("cpu", "vulkan", "cuda"),
                                          testing::Range<uint64_t>(0, 200)),
                         nameOf);

// ---- attention ----

// As a decoder declares its symbols.
void declareRoles(Evaluation &evaluation) {
  using graph::SymbolRole;
  mlir::Builder b(&evaluation.context());
  llvm::SmallVector<graph::SymbolAttr> symbols;
  for (auto [name, min, max, role] :
       {std::tuple("T", int64_t(1), int64_t(65536), SymbolRole::Tokens),
        {"B", 1, 65536, SymbolRole::Extent},
        {"G", 0, 1, SymbolRole::Decode},
        {"L", 256, int64_t(1) << 31, SymbolRole::LongestContext}})
    symbols.push_back(
        graph::SymbolAttr::get(b.getContext(), b.getStringAttr(name), min, max, role));
  graph::declareSymbols(evaluation.module(), symbols);
}

// Pools hold rounded numbers, of which one may round otherwise.
double errorOfAttention(graph::AttentionForm form, const std::string &target) {
  graph::AttentionGraph maker(form);
  const graph::RandomGraph random = maker.make();
  Evaluation evaluation(random.body);
  EXPECT_TRUE(evaluation.parsed()) << random.body;
  graph::giveEdges(evaluation, maker, random);
  declareRoles(evaluation);
  // A decode token's keys are summed up in partitions.
  const bool decodes = form.decodes && !form.freshCache;
  evaluation.symbol("L", decodes ? 2048 : 256).symbol("G", decodes);
  const Result<graph::Outcome> exact = evaluation.run(graph::Precision::F64);
  EXPECT_TRUE(exact) << exact.error().message;
  const Result<graph::Outcome> found = run(evaluation, target, form.freshCache);
  EXPECT_TRUE(found) << found.error().message;
  if (!exact || !found)
    return HUGE_VAL;
  // A fresh cache's keys lie in an order of the plan's choice.
  if (!form.freshCache)
    for (const auto &[name, state] : exact->states)
      EXPECT_LE(largestError(found->states.at(name), state), 2 * roundingOf(state.element)) << name;
  return largestError(found->outputs, exact->outputs);
}

struct FormOnDevice {
  size_t form;
  std::string device;
  bool fresh; // a step's own keys in the order of the plan's choice, else with earlier ones' too
};
class AttentionForms : public testing::TestWithParam<FormOnDevice> {};

TEST_P(AttentionForms, AgreeWithTheEvaluator) {
  const auto &[index, device, fresh] = GetParam();
  const std::string target = device == "host" ? device : vulkanTarget();
  if (target.empty())
    GTEST_SKIP() << "this machine has no Vulkan device";
  graph::AttentionForm form = graph::attentionForms()[index].second;
  form.freshCache = fresh;
  EXPECT_LT(errorOfAttention(form, target), 5e-4);
}

std::string ropeOf(const graph::AttentionForm &form) {
  return form.ropeDims == 0 ? "none" : form.ropeDims == form.headDim ? "whole" : "part";
}

// What a form asks of fusion and of kernels.
std::vector<std::string> propertiesOf(const graph::AttentionForm &form) {
  std::vector<std::string> properties = {
      std::string(form.pairing) + " " + ropeOf(form) + (form.normsBefore ? " before" : "") +
          (form.normsAfter ? " after" : ""),
      "pool " + form.pool,
      std::string("decodes ") + (form.decodes ? "yes" : "no"),
      std::string("reads ") + (form.scalesQueries || form.queriesAreRead ? "other" : "attention"),
      std::string("keys ") + (form.rotatesKeys ? "turn" : "stay") + (form.joined ? "" : " apart"),
      std::string("values ") + (form.valueDim == form.headDim ? "as keys" : "smaller"),
      std::string("tile ") + (form.headDim % 32 ? "of rows" : "of columns"),
      std::string("sinks ") + (form.sinks ? "some" : "none")};
  for (const char *word : {"window", "chunk", "soft_cap", "slopes"})
    if (form.attributes.find(word) != std::string::npos)
      properties.push_back(word);
  return properties;
}

// What decides the order of the rows of a plan's own keys, and what their order meets: each alone,
// since kept keys show how RoPE, norms and matmuls go together.
std::vector<std::string> propertiesOfOrder(const graph::AttentionForm &form) {
  std::vector<std::string> properties = propertiesOf(form);
  properties.front() = "rope " + ropeOf(form);
  if (form.ropeDims)
    properties.push_back(form.pairing);
  for (const auto &[shown, word] :
       {std::pair(form.normsBefore, "before"), {form.normsAfter, "after"}, {!form.joined, "apart"}})
    if (shown)
      properties.emplace_back(word);
  for (std::string &property : properties)
    if (property.ends_with(" apart"))
      property.resize(property.size() - std::string_view(" apart").size());
  std::erase_if(properties, [&](const std::string &property) {
    return property.starts_with("reads ") || property.starts_with("sinks ") ||
           form.attributes.find(property) != std::string::npos;
  });
  for (std::string &property : properties)
    property = "fresh " + property;
  return properties;
}

// Apart, three matmuls are compiled instead of one.
double costOf(const FormOnDevice &one) {
  return graph::attentionForms()[one.form].second.joined ? 1 : 1.7;
}

std::vector<FormOnDevice> formsOnDevices() {
  std::vector<FormOnDevice> all;
  for (size_t i = 0; i < graph::attentionForms().size(); ++i)
    for (const char *device : {"host", "vulkan"})
      for (const bool fresh : {false, true})
        all.push_back({i, device, fresh});
  return sampled(
      all,
      [](const FormOnDevice &one) {
        const graph::AttentionForm form = graph::attentionForms()[one.form].second;
        if (one.device != "host")
          return std::vector<std::string>{one.device + (one.fresh ? " fresh" : "")};
        return one.fresh ? propertiesOfOrder(form) : propertiesOf(form);
      },
      costOf);
}

INSTANTIATE_TEST_SUITE_P(GraphExecution, AttentionForms, testing::ValuesIn(formsOnDevices()),
                         [](const auto &info) {
                           return graph::attentionForms()[info.param.form].first + "_" +
                                  info.param.device + (info.param.fresh ? "_fresh" : "");
                         });

// Two branches, a softmax over a middle axis, a batched product of two values, a concat, an odd
// broadcast.
constexpr const char *kNoDecoder = R"(
    %a = graph.input "a" : tensor<?x3x4xf32, #graph.dims<T>>
    %scale = graph.input "scale" : tensor<3x1xf32>
    %w = graph.weight ["w"] : tensor<5x4xf16>
    %max = graph.reduce max %a over [1] : tensor<?x3x4xf32, #graph.dims<T>>
        -> tensor<?x1x4xf32, #graph.dims<T>>
    %e = graph.map %a, %max : tensor<?x3x4xf32, #graph.dims<T>>, tensor<?x1x4xf32, #graph.dims<T>>
        -> tensor<?x3x4xf32, #graph.dims<T>> {
    ^bb0(%x: f32, %m: f32):
      %d = arith.subf %x, %m : f32
      %r = math.exp %d : f32
      graph.yield %r : f32
    }
    %sum = graph.reduce sum %e over [1] : tensor<?x3x4xf32, #graph.dims<T>>
        -> tensor<?x1x4xf32, #graph.dims<T>>
    %p = graph.map %e, %sum : tensor<?x3x4xf32, #graph.dims<T>>, tensor<?x1x4xf32, #graph.dims<T>>
        -> tensor<?x3x4xf32, #graph.dims<T>> {
    ^bb0(%x: f32, %s: f32):
      %r = arith.divf %x, %s : f32
      graph.yield %r : f32
    }
    %scaled = graph.map %a, %scale : tensor<?x3x4xf32, #graph.dims<T>>, tensor<3x1xf32>
        -> tensor<?x3x4xf32, #graph.dims<T>> {
    ^bb0(%x: f32, %s: f32):
      %r = arith.mulf %x, %s : f32
      graph.yield %r : f32
    }
    %scores = graph.dot_general %p, %scaled batch [0] x [0] contract [1] x [1]
        : tensor<?x3x4xf32, #graph.dims<T>>, tensor<?x3x4xf32, #graph.dims<T>>
        -> tensor<?x4x4xf32, #graph.dims<T>>
    %back = graph.dot_general %scaled, %scores batch [0] x [0] contract [2] x [1]
        : tensor<?x3x4xf32, #graph.dims<T>>, tensor<?x4x4xf32, #graph.dims<T>>
        -> tensor<?x3x4xf32, #graph.dims<T>>
    %wide = graph.dot_general %a, %w : tensor<?x3x4xf32, #graph.dims<T>>, tensor<5x4xf16>
        -> tensor<?x3x5xf32, #graph.dims<T>>
    %y = graph.concat %wide, %back along 2 : tensor<?x3x5xf32, #graph.dims<T>>,
        tensor<?x3x4xf32, #graph.dims<T>> -> tensor<?x3x9xf32, #graph.dims<T>>
    graph.output "y", %y : tensor<?x3x9xf32, #graph.dims<T>>)";

std::vector<double> numbers(size_t count) {
  std::mt19937_64 random(count);
  std::vector<double> numbers(count);
  for (double &number : numbers)
    number = static_cast<float>(static_cast<double>(random() >> 40) * 0x1p-23 - 1);
  return numbers;
}

TEST(GraphExecution, WhatIsNoDecoderHasTwiceTheErrorOfTheEvaluatorInF32AtMost) {
  for (const std::string &target : {std::string("host"), vulkanTarget(), cudaTarget()}) {
    if (target.empty())
      continue;
    Evaluation evaluation(kNoDecoder);
    ASSERT_TRUE(evaluation.parsed());
    evaluation.input("a", {7, 3, 4}, numbers(84)).input("scale", {3, 1}, numbers(3));
    evaluation.weight("w", {5, 4}, numbers(20));
    const Result<graph::Outcome> exact = evaluation.run(graph::Precision::F64);
    const Result<graph::Outcome> narrow = evaluation.run(graph::Precision::F32);
    ASSERT_TRUE(exact && narrow);
    const Result<graph::NamedTensors> found = execute(evaluation, target);
    ASSERT_TRUE(found) << found.error().message;
    const double own = largestError(narrow->outputs, exact->outputs);
    EXPECT_GT(own, 0);
    EXPECT_LE(largestError(*found, exact->outputs), 2 * own) << target;
  }
}

constexpr const char *kPower = R"(
    %x = graph.input "x" : tensor<18xf32>
    %y = graph.input "y" : tensor<18xf32>
    %p = graph.map %x, %y : tensor<18xf32>, tensor<18xf32> -> tensor<18xf32> {
    ^bb0(%a: f32, %b: f32):
      %r = math.powf %a, %b : f32
      graph.yield %r : f32
    }
    graph.output "p", %p : tensor<18xf32>)";

TEST(GraphExecution, PowersAreThoseOfTheStandard) {
  using Limits = std::numeric_limits<double>;
  constexpr double inf = Limits::infinity(), nan = Limits::quiet_NaN();
  const std::vector<double> x = {2, 3, 0.5, 1.5, -2,  -2, -2,   0,   0,
                                 0, 1, nan, inf, inf, 10, 1e-3, 100, -0.5};
  const std::vector<double> y = {10, 2.5, -3, 0.25, 3,  4,  0.5, 2,   -1,
                                 0,  inf, 0,  2,    -2, -5, 7,   -30, -7};
  for (const std::string &target : {std::string("host"), vulkanTarget(), cudaTarget()}) {
    if (target.empty())
      continue;
    Evaluation evaluation(kPower);
    ASSERT_TRUE(evaluation.parsed());
    evaluation.input("x", {18}, x).input("y", {18}, y);
    const Result<graph::NamedTensors> found = execute(evaluation, target);
    ASSERT_TRUE(found) << found.error().message;
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = std::pow(x[i], y[i]), p = found->at("p").values[i];
      if (!std::isfinite(exact))
        EXPECT_TRUE(std::isnan(exact) ? std::isnan(p) : p == exact) << x[i] << "^" << y[i];
      else if (std::fabs(exact) > 0x1p-120) // smaller ones may be 0
        EXPECT_NEAR(p / exact, 1, 6e-7 * (1 + std::fabs(std::log(std::fabs(exact)))))
            << x[i] << "^" << y[i];
    }
  }
}

// Rows of as many columns as a symbol says are no embedding's.
// Vectors of columns, before and behind rows, of the model file or computed.
TEST(GraphExecution, VectorsRepeatForAllRowsWhereverTheyStand) {
  Evaluation evaluation(R"(
    %x = graph.input "x" : tensor<3x64xf32>
    %b = graph.input "b" : tensor<64xf32>
    %v = graph.weight ["v"] : tensor<64xf32>
    %w = graph.weight ["w"] : tensor<64x64xf32>
    %c = graph.dot_general %x, %w : tensor<3x64xf32>, tensor<64x64xf32> -> tensor<3x64xf32>
    %m = graph.map %c, %b : tensor<3x64xf32>, tensor<64xf32> -> tensor<3x64xf32> {
    ^bb0(%e: f32, %f: f32):
      %r = arith.subf %e, %f : f32
      graph.yield %r : f32
    }
    %d = graph.dot_general %m, %w : tensor<3x64xf32>, tensor<64x64xf32> -> tensor<3x64xf32>
    %n = graph.map %v, %d : tensor<64xf32>, tensor<3x64xf32> -> tensor<3x64xf32> {
    ^bb0(%e: f32, %f: f32):
      %r = arith.subf %e, %f : f32
      graph.yield %r : f32
    }
    %y = graph.map %b, %x, %n : tensor<64xf32>, tensor<3x64xf32>, tensor<3x64xf32>
        -> tensor<3x64xf32> {
    ^bb0(%e: f32, %f: f32, %g: f32):
      %r = arith.subf %e, %f : f32
      %s = arith.mulf %r, %g : f32
      graph.yield %s : f32
    }
    graph.output "y", %y : tensor<3x64xf32>)");
  ASSERT_TRUE(evaluation.parsed());
  evaluation.input("x", {3, 64}).input("b", {64}).weight("v", {64}).weight("w", {64, 64});
  const Result<graph::NamedTensors> found = execute(evaluation, "host");
  ASSERT_TRUE(found) << found.error().message;
  const std::vector<double> expected = evaluation.result();
  double largest = 1;
  for (const double value : expected)
    largest = std::max(largest, std::abs(value));
  EXPECT_THAT(found->at("y").values,
              testing::Pointwise(testing::DoubleNear(2e-6 * largest), expected));
}

TEST(GraphExecution, GathersTakeRowsOfAnyLength) {
  Evaluation evaluation(R"(
    %x = graph.input "x" : tensor<3x?xf32, #graph.dims<T>>
    %i = graph.input "i" : tensor<2xi32>
    %y = graph.gather %x, %i along 0 : tensor<3x?xf32, #graph.dims<T>>, tensor<2xi32>
        -> tensor<2x?xf32, #graph.dims<T>>
    graph.output "y", %y : tensor<2x?xf32, #graph.dims<T>>)");
  ASSERT_TRUE(evaluation.parsed());
  evaluation.input("x", {3, 5}).input("i", {2}, {2, 1});
  const Result<graph::NamedTensors> found = execute(evaluation, "host");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->at("y").values, evaluation.result());
}

// On threads the format's blocks stay in the file's order.
TEST(GraphExecution, WeightsOfBlocksMeetOperandsOfAnyRank) {
  for (const std::string &target : {std::string("host"), vulkanTarget()}) {
    if (target.empty())
      continue;
    SCOPED_TRACE(target);
    Evaluation evaluation(R"(
      %x = graph.input "x" : tensor<2x4x64xf32>
      %i = graph.input "i" : tensor<2x3xi32>
      %w = graph.weight ["w"] : tensor<8x64x!tile.block<"q5_1">>
      %d = graph.dot_general %x, %w : tensor<2x4x64xf32>, tensor<8x64x!tile.block<"q5_1">>
          -> tensor<2x4x8xf32>
      %g = graph.gather %w, %i along 0 : tensor<8x64x!tile.block<"q5_1">>, tensor<2x3xi32>
          -> tensor<2x3x64xf32>
      graph.output "d", %d : tensor<2x4x8xf32>
      graph.output "g", %g : tensor<2x3x64xf32>)");
    ASSERT_TRUE(evaluation.parsed());
    evaluation.input("x", {2, 4, 64}).input("i", {2, 3}, {7, 0, 3, 3, 1, 6}).weight("w", {8, 64});
    const Result<graph::Outcome> exact = evaluation.run(graph::Precision::F64);
    ASSERT_TRUE(exact) << exact.error().message;
    const Result<graph::NamedTensors> found = execute(evaluation, target);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_LT(largestError(*found, exact->outputs), 2e-5);
  }
}

// Blocks that only move keep their bits; others are dequantized for kernels of scalars.
TEST(GraphExecution, WeightsOfBlocksAreOperandsOfGeneralOperations) {
  for (const std::string &target : {std::string("host"), vulkanTarget(), cudaTarget()}) {
    if (target.empty())
      continue;
    SCOPED_TRACE(target);
    Evaluation evaluation(R"(
      %x = graph.input "x" : tensor<2x4x64xf32>
      %i = graph.input "i" : tensor<2xi32>
      %w = graph.weight ["w"] : tensor<2x3x64x!tile.block<"q4_0">>
      %v = graph.weight ["v"] : tensor<3x64x!tile.block<"q8_0">>
      %d = graph.dot_general %x, %w batch [0] x [0] contract [2] x [2]
          : tensor<2x4x64xf32>, tensor<2x3x64x!tile.block<"q4_0">> -> tensor<2x4x3xf32>
      %e = graph.dot_general %v, %w contract [1] x [2]
          : tensor<3x64x!tile.block<"q8_0">>, tensor<2x3x64x!tile.block<"q4_0">> -> tensor<3x2x3xf32>
      %t = graph.transpose %w to [1, 0, 2]
          : tensor<2x3x64x!tile.block<"q4_0">> -> tensor<3x2x64x!tile.block<"q4_0">>
      %s = graph.slice %t from [1, 0, 32]
          : tensor<3x2x64x!tile.block<"q4_0">> -> tensor<2x2x32x!tile.block<"q4_0">>
      %c = graph.concat %s, %s along 2 : tensor<2x2x32x!tile.block<"q4_0">>,
          tensor<2x2x32x!tile.block<"q4_0">> -> tensor<2x2x64x!tile.block<"q4_0">>
      %f = graph.dequantize %c : tensor<2x2x64x!tile.block<"q4_0">> -> tensor<2x2x64xf32>
      %g = graph.gather %t, %i batch [1] x [0]
          : tensor<3x2x64x!tile.block<"q4_0">>, tensor<2xi32> -> tensor<2x64xf32>
      graph.output "d", %d : tensor<2x4x3xf32>
      graph.output "e", %e : tensor<3x2x3xf32>
      graph.output "f", %f : tensor<2x2x64xf32>
      graph.output "g", %g : tensor<2x64xf32>
      graph.output "c", %c : tensor<2x2x64x!tile.block<"q4_0">>
      graph.output "v", %v : tensor<3x64x!tile.block<"q8_0">>)");
    ASSERT_TRUE(evaluation.parsed());
    evaluation.input("x", {2, 4, 64}, numbers(512)).input("i", {2}, {2, 1});
    evaluation.weight("w", {2, 3, 64}, numbers(384)).weight("v", {3, 64}, numbers(192));
    const Result<graph::Outcome> exact = evaluation.run(graph::Precision::F64);
    ASSERT_TRUE(exact) << exact.error().message;
    const Result<graph::NamedTensors> found = execute(evaluation, target);
    ASSERT_TRUE(found) << found.error().message;
    for (const char *moved : {"f", "g", "c", "v"})
      EXPECT_EQ(largestError(found->at(moved), exact->outputs.at(moved)), 0) << moved;
    EXPECT_LT(largestError(*found, exact->outputs), 2e-5);
  }
}

// What a run appends stays, beside what the state held, also of a pool in blocks.
TEST(GraphExecution, StatesAreAsTheRunLeavesThem) {
  for (const std::string &target : {std::string("host"), vulkanTarget(), cudaTarget()}) {
    if (target.empty())
      continue;
    SCOPED_TRACE(target);
    Evaluation evaluation(R"(
      %rows = graph.input "rows" : tensor<2x1x32xf32>
      %slots = graph.input "slots" : tensor<2xi32>
      %k = graph.state "k" : tensor<2x1x32x2xf16>
      %v = graph.state "v" : tensor<2x1x2x32x!tile.block<"q8_0">>
      %a = graph.kv_append keys %rows at %slots into %k
          : tensor<2x1x32xf32>, tensor<2xi32> into tensor<2x1x32x2xf16> -> tensor<2x1x32x2xf16>
      %b = graph.kv_append values %rows at %slots into %v
          : tensor<2x1x32xf32>, tensor<2xi32> into tensor<2x1x2x32x!tile.block<"q8_0">>
          -> tensor<2x1x2x32x!tile.block<"q8_0">>
      %y = graph.reduce sum %rows over [2] : tensor<2x1x32xf32> -> tensor<2x1xf32>
      graph.output "y", %y : tensor<2x1xf32>)");
    ASSERT_TRUE(evaluation.parsed());
    evaluation.input("rows", {2, 1, 32}, numbers(64)).input("slots", {2}, {3, 0});
    evaluation.state("k", {2, 1, 32, 2}, numbers(128)).state("v", {2, 1, 2, 32}, numbers(128));
    const Result<graph::Outcome> exact = evaluation.run(graph::Precision::F64);
    ASSERT_TRUE(exact) << exact.error().message;
    const Result<graph::Outcome> found = run(evaluation, target);
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(found->states.size(), 2u);
    for (const auto &[name, state] : exact->states) {
      EXPECT_LE(largestError(found->states.at(name), state), roundingOf(state.element)) << name;
      const graph::Tensor &before = evaluation.edges().states.at(name);
      EXPECT_GT(largestError(before, state), 0.1) << "nothing was appended to " << name;
    }
  }
}

// An input may leave as it came, under its own name, and twice.
TEST(GraphExecution, OutputsMayBeEdgesViewsAndOneAnother) {
  Evaluation evaluation(R"(
    %x = graph.input "x" : tensor<2x6xf32>
    %w = graph.weight ["w"] : tensor<6xf16>
    %r = graph.reshape %x : tensor<2x6xf32> -> tensor<3x4xf32>
    %s = graph.slice %x from [0, 2] : tensor<2x6xf32> -> tensor<2x3xf32>
    %t = graph.reshape %s : tensor<2x3xf32> -> tensor<6xf32>
    %v = graph.reshape %w : tensor<6xf16> -> tensor<3x2xf16>
    graph.output "x", %x : tensor<2x6xf32>
    graph.output "again", %x : tensor<2x6xf32>
    graph.output "w", %w : tensor<6xf16>
    graph.output "r", %r : tensor<3x4xf32>
    graph.output "s", %s : tensor<2x3xf32>
    graph.output "t", %t : tensor<6xf32>
    graph.output "v", %v : tensor<3x2xf16>)");
  ASSERT_TRUE(evaluation.parsed());
  evaluation.input("x", {2, 6}).weight("w", {6});
  const Result<graph::Outcome> exact = evaluation.run();
  ASSERT_TRUE(exact) << exact.error().message;
  const Result<graph::NamedTensors> found = execute(evaluation, "host");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->size(), 7u);
  EXPECT_EQ(largestError(*found, exact->outputs), 0);
}

} // namespace
} // namespace sinter::compiler
