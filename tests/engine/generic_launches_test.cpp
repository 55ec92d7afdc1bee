// Random graphs as launches of generic kernels, each run by the tile interpreter on host memory,
// agree with the reference evaluator.
#include "engine/elements.h"
#include "engine/generic_launches.h"
#include "engine/region_program.h"
#include "graph/evaluate/tensor_bytes.h"
#include "graph/evaluation.h"
#include "graph/ir/extent.h"
#include "graph/ir/scalar_ops.h"
#include "graph/ir/symbols.h"
#include "graph/random_graph.h"
#include "graph/rewrite/passes.h"
#include "tile/front/front.h"
#include "tile/interpreter/interpreter.h"
#include "tile/mlir_pch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::engine {
namespace {

using graph::Evaluation;
using graph::Tensor;
using plan::Expr;

// Symbols are numbered as they are met.
class HostMemory : public ValueMemory {
public:
  explicit HostMemory(std::map<std::string, int64_t> symbols) : symbols_(std::move(symbols)) {}

  Result<BoundView> view(mlir::Value value) override {
    auto [found, isNew] = views_.try_emplace(value);
    if (isNew)
      found->second = room(extentsOf(type(value)), elementBytes(type(value).getElementType()));
    return found->second;
  }
  BoundView temporary(std::vector<Expr> extents, mlir::Type element) override {
    return room(std::move(extents), elementBytes(element));
  }
  BoundView constant(std::vector<Expr> extents, std::vector<uint8_t> bytes) override {
    BoundView view = room(std::move(extents), {});
    buffers_[view.buffer.index] = std::move(bytes);
    return view;
  }

  void write(mlir::Value value, const Tensor &tensor) {
    const BoundView to = *view(value);
    buffers_[to.buffer.index] = *graph::encodeTensor(tensor, type(value).getElementType());
  }
  std::vector<double> read(mlir::Value value) {
    const BoundView from = *view(value);
    graph::Shape shape;
    for (const Expr &extent : from.extents)
      shape.push_back(evaluate(extent));
    return graph::decodeTensor(type(value).getElementType(), shape, buffers_[from.buffer.index])
        ->values;
  }

  tile::HostView hostView(const BoundView &view) {
    tile::HostView host;
    host.data = reinterpret_cast<std::byte *>(buffers_[view.buffer.index].data()) +
                evaluate(view.byteOffset);
    for (size_t axis = 0; axis < view.extents.size(); ++axis) {
      host.shape.push_back(evaluate(view.extents[axis]));
      host.strides.push_back(evaluate(view.strides[axis]));
    }
    return host;
  }

  int64_t byteOffset(const BoundView &view) { return evaluate(view.byteOffset); }

private:
  static mlir::RankedTensorType type(mlir::Value value) {
    return llvm::cast<mlir::RankedTensorType>(value.getType());
  }
  int64_t evaluate(const Expr &expr) {
    std::vector<int64_t> values;
    for (const auto &[name, value] : symbols_)
      values.push_back(value);
    return *plan::evaluate(expr, values);
  }
  std::vector<Expr> extentsOf(mlir::RankedTensorType type) {
    std::vector<Expr> extents;
    for (int64_t axis = 0; axis < type.getRank(); ++axis) {
      Expr sum(0);
      const graph::SymbolicExtent extent = graph::SymbolicExtent::of(type, axis);
      for (const auto &[symbols, coefficient] : extent.terms()) {
        Expr product(coefficient);
        for (const std::string &symbol : symbols)
          product = plan::mul(product, plan::symbol({static_cast<uint32_t>(std::distance(
                                           symbols_.begin(), symbols_.find(symbol)))}));
        sum = plan::add(sum, product);
      }
      extents.push_back(sum);
    }
    return extents;
  }
  BoundView room(std::vector<Expr> extents, ElementBytes element) {
    int64_t count = 1;
    for (const Expr &extent : extents)
      count *= evaluate(extent);
    buffers_.emplace_back(count / element.length * element.bytes, 0xa5);
    std::vector<Expr> strides = packedStrides(extents);
    return {plan::BufferId{static_cast<uint32_t>(buffers_.size() - 1)}, Expr(0), std::move(extents),
            std::move(strides)};
  }
  std::map<std::string, int64_t> symbols_;
  llvm::DenseMap<mlir::Value, BoundView> views_;
  std::vector<std::vector<uint8_t>> buffers_;
};

// Builds the kernel of a launch and runs it in the tile interpreter.
void run(const GenericLaunch &launch, HostMemory &memory) {
  tile::KernelModule module = tile::KernelModule::build([&](kernel::Module &defined) {
    defined.kernel("generic", [&](kernel::KernelBuilder &k) {
      std::visit(
          [&](const auto &p) {
            using P = std::decay_t<decltype(p)>;
            if constexpr (std::is_same_v<P, kernels::MapViews>)
              kernels::mapViews(k, p);
            else if constexpr (std::is_same_v<P, kernels::ReduceViews>)
              kernels::reduceViews(k, p);
            else if constexpr (std::is_same_v<P, kernels::FoldViews>)
              kernels::foldViews(k, p);
            else if constexpr (std::is_same_v<P, kernels::IotaViews>)
              kernels::iotaViews(k, p);
            else if constexpr (std::is_same_v<P, kernels::GatherViews>)
              kernels::gatherViews(k, p);
            else
              kernels::gemm(k, p);
          },
          launch.params);
    });
  });
  ASSERT_TRUE(module.ok()) << module.diagnosticText();
  tile::KernelOp kernel = *module.module().getOps<tile::KernelOp>().begin();
  std::vector<tile::Argument> arguments;
  for (auto [view, argument] : llvm::zip(launch.views, kernel.getBody().getArguments())) {
    arguments.push_back(memory.hostView(view));
    auto type = llvm::dyn_cast<tile::ViewType>(argument.getType());
    if (type && !type.getStrided()) // threads may access 16 bytes of it at once
      EXPECT_EQ(memory.byteOffset(view) % 16, 0);
  }
  auto result = tile::interpretKernel(kernel, arguments);
  ASSERT_TRUE(result.has_value()) << result.error().message;
}

// Runs a function's operations one by one; inputs and weights are `given`.
void runAll(mlir::func::FuncOp function, const std::map<std::string, Tensor> &given,
            HostMemory &memory) {
  for (mlir::Operation &op : function.getBody().front()) {
    if (auto input = llvm::dyn_cast<graph::InputOp>(op))
      memory.write(input.getResult(), given.at(input.getName().str()));
    else if (auto weight = llvm::dyn_cast<graph::WeightOp>(op))
      memory.write(weight.getResult(),
                   given.at(llvm::cast<mlir::StringAttr>(weight.getTensors()[0]).str()));
    else if (!llvm::isa<graph::OutputOp, mlir::func::ReturnOp>(op)) {
      auto launches = genericLaunches(&op, memory);
      ASSERT_TRUE(launches.has_value()) << launches.error().message;
      for (const GenericLaunch &launch : *launches) {
        run(launch, memory);
        if (testing::Test::HasFatalFailure())
          return;
      }
    }
  }
}

TEST(GenericLaunches, RandomGraphsAgreeWithTheEvaluator) {
  for (uint64_t seed = 0; seed < 25; ++seed) {
    const graph::RandomGraph random = graph::randomGraph(seed, 10, graph::Vocabulary::Generic);
    Evaluation evaluation(random.body);
    ASSERT_TRUE(evaluation.parsed());
    std::map<std::string, Tensor> given;
    for (const auto *edges : {&random.inputs, &random.weights})
      for (const auto &[name, tensor] : *edges)
        given[name] = {{}, tensor.shape, tensor.values};
    for (const auto &[name, tensor] : random.inputs)
      evaluation.input(name, tensor.shape, tensor.values);
    for (const auto &[name, tensor] : random.weights)
      evaluation.weight(name, tensor.shape, tensor.values);
    const Result<graph::Outcome> expected = evaluation.run(graph::Precision::F64);
    ASSERT_TRUE(expected);
    graph::decomposeNorms(evaluation.module(), [](graph::NormOp) { return true; });
    HostMemory memory(random.symbols);
    runAll(evaluation.function(), given, memory);
    ASSERT_FALSE(HasFatalFailure()) << seed << "\n" << random.body;
    for (auto output : evaluation.function().getOps<graph::OutputOp>()) {
      const std::vector<double> &wide = expected->outputs.at(output.getName().str()).values;
      const std::vector<double> found = memory.read(output.getValue());
      double largest = 1;
      for (double value : wide)
        largest = std::max(largest, std::fabs(value));
      ASSERT_EQ(found.size(), wide.size());
      for (size_t i = 0; i < wide.size(); ++i)
        ASSERT_NEAR(found[i], wide[i], largest * 2e-5)
            << seed << " " << output.getName().str() << " at " << i << "\n"
            << random.body;
    }
  }
}

TEST(GenericLaunches, OperationsWithoutAGenericKernelAreRefused) {
  Evaluation evaluation(R"(
    %x = graph.input "x" : tensor<4x32xf32>
    %n = graph.norm %x eps 1.0e-5 : tensor<4x32xf32> -> tensor<4x32xf32>
    %w = graph.weight ["w"] : tensor<2x4x32x!tile.block<"q8_0">>
    %y = graph.input "y" : tensor<2x4x32x!tile.block<"q8a">>
    %d = graph.dot_general %y, %w batch [0] x [0] contract [2] x [2]
        : tensor<2x4x32x!tile.block<"q8a">>, tensor<2x4x32x!tile.block<"q8_0">> -> tensor<2x4x4xf32>
    %r = graph.input "r" : tensor<1x2x1x2x1x2x1xf32>
    %t = graph.transpose %r to [6, 5, 4, 3, 2, 1, 0] : tensor<1x2x1x2x1x2x1xf32> -> tensor<1x2x1x2x1x2x1xf32>)");
  ASSERT_TRUE(evaluation.parsed());
  HostMemory memory({});
  std::vector<std::string> refusals;
  for (mlir::Operation &op : evaluation.function().getBody().front())
    if (llvm::isa<graph::NormOp, graph::DotGeneralOp, graph::TransposeOp>(op)) {
      auto launches = genericLaunches(&op, memory);
      refusals.push_back(launches ? "" : launches.error().message);
    }
  EXPECT_THAT(refusals,
              testing::ElementsAre("operation 'graph.norm' has no generic kernel",
                                   "activations in blocks are dequantized, which no kernel does",
                                   "a kernel would have views of 7 axes, expected at most 6"));
}

// Axes without gaps between them become one, so that a tile is long and more axes fit.
TEST(GenericLaunches, NeighbouringAxesOfAllViewsAreJoined) {
  Evaluation evaluation(R"(
    %x = graph.input "x" : tensor<2x3x2x3x2x3x2xf32>
    %b = graph.input "b" : tensor<2x3x2xf32>
    %y = graph.map %x, %b : tensor<2x3x2x3x2x3x2xf32>, tensor<2x3x2xf32> -> tensor<2x3x2x3x2x3x2xf32> {
    ^bb0(%l: f32, %r: f32):
      %s = arith.addf %l, %r : f32
      graph.yield %s : f32
    }
    %z = graph.reduce max %x over [2, 3, 4] : tensor<2x3x2x3x2x3x2xf32> -> tensor<2x3x3x2xf32>)");
  ASSERT_TRUE(evaluation.parsed());
  HostMemory memory({});
  std::vector<std::vector<int64_t>> shapes;
  for (mlir::Operation &op : evaluation.function().getBody().front())
    if (llvm::isa<graph::MapOp, graph::ReduceOp>(op)) {
      auto launches = genericLaunches(&op, memory);
      ASSERT_TRUE(launches) << launches.error().message;
      for (const BoundView &view : launches->front().views) {
        const tile::HostView host = memory.hostView(view);
        shapes.emplace_back(host.shape.begin(), host.shape.end());
      }
    }
  using Shapes = std::vector<std::vector<int64_t>>;
  EXPECT_EQ(shapes, (Shapes{{36, 12}, {36, 12}, {36, 12}, {6, 12, 6}, {6, 6}}));
}

// ---- scalar operations ----

// A region's lines; %x and %y are f32, %n and %m i32, %t and %u i1, and it gives %r of `type`.
struct ScalarCase {
  std::string text, type;
};

std::vector<ScalarCase> mathCases(const std::string &name) {
  if (name == "math.fma")
    return {{"%r = math.fma %x, %y, %x : f32", "f32"}};
  if (name == "math.powf")
    return {{"%a = math.absf %x : f32\n%r = math.powf %a, %y : f32", "f32"}};
  if (name == "math.log" || name == "math.log2" || name == "math.sqrt" || name == "math.rsqrt")
    return {{"%a = math.absf %x : f32\n%r = " + name + " %a : f32", "f32"}};
  return {{"%r = " + name + " %x : f32", "f32"}};
}

std::vector<ScalarCase> conversionCases(const std::string &name) {
  const std::string made = "%r = " + name + " ";
  if (name == "arith.extf")
    return {{"%h = arith.truncf %x : f32 to f16\n%r = arith.extf %h : f16 to f32", "f32"}};
  if (name == "arith.truncf")
    return {{made + "%x : f32 to bf16", "bf16"}};
  if (name == "arith.extsi" || name == "arith.extui")
    return {{made + "%t : i1 to i32", "i32"}};
  if (name == "arith.trunci")
    return {{made + "%n : i32 to i1", "i1"}};
  if (name == "arith.sitofp" || name == "arith.uitofp")
    return {{made + "%n : i32 to f32", "f32"}, {made + "%t : i1 to f32", "f32"}};
  if (name == "arith.fptosi" || name == "arith.bitcast")
    return {{made + "%x : f32 to i32", "i32"}};
  return {};
}

std::vector<ScalarCase> comparisonCases(const std::string &name) {
  std::vector<ScalarCase> cases;
  const bool isFloat = name == "arith.cmpf";
  for (const char *predicate : {"oeq", "une", "olt", "ole", "ogt", "oge"})
    if (isFloat)
      cases.push_back({"%r = arith.cmpf " + std::string(predicate) + ", %x, %y : f32", "i1"});
  if (isFloat)
    cases.push_back({"%a = arith.truncf %x : f32 to bf16\n%b = arith.truncf %y : f32 to bf16\n"
                     "%r = arith.cmpf ogt, %a, %b : bf16",
                     "i1"});
  for (const char *predicate : {"eq", "ne", "slt", "sle", "sgt", "sge"})
    if (!isFloat)
      cases.push_back({"%r = arith.cmpi " + std::string(predicate) + ", %n, %m : i32", "i1"});
  return cases;
}

std::vector<ScalarCase> wholeCases(const std::string &name) {
  if (name.starts_with("arith.sh"))
    return {{"%c = arith.constant 31 : i32\n%s = arith.andi %m, %c : i32\n%r = " + name +
                 " %n, %s : i32",
             "i32"}};
  std::vector<ScalarCase> cases = {{"%r = " + name + " %n, %m : i32", "i32"}};
  if (name == "arith.andi" || name == "arith.ori" || name == "arith.xori")
    cases.push_back({"%r = " + name + " %t, %u : i1", "i1"});
  return cases;
}

std::vector<ScalarCase> casesOf(const std::string &name) {
  if (name.starts_with("math."))
    return mathCases(name);
  if (name.starts_with("arith.cmp"))
    return comparisonCases(name);
  if (name == "arith.select")
    return {{"%r = arith.select %t, %x, %y : f32", "f32"},
            {"%r = arith.select %t, %n, %m : i32", "i32"},
            {"%r = arith.select %t, %u, %t : i1", "i1"},
            {"%a = arith.truncf %x : f32 to f16\n%b = arith.truncf %y : f32 to f16\n"
             "%r = arith.select %t, %a, %b : f16",
             "f16"}};
  if (name == "arith.negf")
    return {{"%r = arith.negf %x : f32", "f32"}};
  if (std::vector<ScalarCase> conversions = conversionCases(name); !conversions.empty())
    return conversions;
  return name.ends_with("f") ? std::vector<ScalarCase>{{"%r = " + name + " %x, %y : f32", "f32"}}
                             : wholeCases(name);
}

// A map of all operands with that region.
std::string mapOf(const ScalarCase &c) {
  return R"(%ix = graph.input "x" : tensor<3x40xf32>
      %iy = graph.input "y" : tensor<3x40xf32>
      %in = graph.input "n" : tensor<3x40xi32>
      %im = graph.input "m" : tensor<3x40xi32>
      %it = graph.input "t" : tensor<3x40xi1>
      %iu = graph.input "u" : tensor<3x40xi1>
      %o = graph.map %ix, %iy, %in, %im, %it, %iu : tensor<3x40xf32>, tensor<3x40xf32>, tensor<3x40xi32>,
          tensor<3x40xi32>, tensor<3x40xi1>, tensor<3x40xi1> -> tensor<3x40x)" +
         c.type + R"(> {
      ^bb0(%x: f32, %y: f32, %n: i32, %m: i32, %t: i1, %u: i1):
        )" +
         c.text + "\ngraph.yield %r : " + c.type + "\n}\ngraph.output \"y\", %o : tensor<3x40x" +
         c.type + ">";
}

// Truth values, whole numbers from -20 to 20, and numbers from -4 to 4.
std::map<std::string, Tensor> scalarInputs() {
  std::mt19937_64 random(5);
  std::map<std::string, Tensor> given;
  for (const std::string name : {"x", "y", "n", "m", "t", "u"}) {
    Tensor tensor{{}, {3, 40}, {}};
    for (int i = 0; i < 120; ++i)
      tensor.values.push_back(name == "t" || name == "u" ? static_cast<double>(random() % 2)
                              : name == "n" || name == "m"
                                  ? static_cast<double>(random() % 41) - 20
                                  : static_cast<float>(random() % 4001) / 500 - 4);
    given[name] = tensor;
  }
  return given;
}

class ScalarOperation : public testing::TestWithParam<std::string> {};
TEST_P(ScalarOperation, ComputesWhatTheEvaluatorDoes) {
  const std::map<std::string, Tensor> given = scalarInputs();
  for (const ScalarCase &c : casesOf(GetParam())) {
    SCOPED_TRACE(c.text);
    Evaluation evaluation(mapOf(c));
    ASSERT_TRUE(evaluation.parsed());
    for (const auto &[name, tensor] : given)
      evaluation.input(name, tensor.shape, tensor.values);
    const std::vector<double> expected = evaluation.result(graph::Precision::F32);
    HostMemory memory({});
    runAll(evaluation.function(), given, memory);
    ASSERT_FALSE(HasFatalFailure());
    const std::vector<double> found =
        memory.read((*evaluation.function().getOps<graph::OutputOp>().begin()).getValue());
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i)
      ASSERT_NEAR(found[i], expected[i], std::fabs(expected[i]) * 1e-6) << i;
  }
}

std::vector<std::string> scalarNames() {
  std::vector<std::string> names;
  for (llvm::StringRef name : graph::scalarOps())
    names.push_back(name.str());
  return names;
}
INSTANTIATE_TEST_SUITE_P(Scalars, ScalarOperation, testing::ValuesIn(scalarNames()),
                         [](const testing::TestParamInfo<std::string> &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

} // namespace
} // namespace sinter::engine
