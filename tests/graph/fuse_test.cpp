// Fusion changes no bit: graphs before and after it evaluate alike.
#include "graph/attention_graph.h"
#include "graph/decoder_graph.h"
#include "graph/evaluation.h"
#include "graph/fuse/launch.h"
#include "graph/fuse/passes.h"
#include "graph/random_graph.h"
#include "mlir/IR/Verifier.h"
#include "tile/mlir_pch.h"

#include <gtest/gtest.h>

namespace sinter::graph {
namespace {

using Functions = std::vector<mlir::func::FuncOp>;

Functions functionsOf(mlir::ModuleOp module) {
  auto functions = module.getOps<mlir::func::FuncOp>();
  return {functions.begin(), functions.end()};
}

void expectSameBits(const NamedTensors &before, const NamedTensors &after) {
  ASSERT_EQ(before.size(), after.size());
  for (const auto &[name, tensor] : before) {
    const std::vector<double> &now = after.at(name).values;
    ASSERT_EQ(tensor.values.size(), now.size()) << name;
    EXPECT_EQ(0, std::memcmp(tensor.values.data(), now.data(), now.size() * sizeof(double)))
        << name;
  }
}

void expectSame(const Outcome &before, const Result<Outcome> &after) {
  ASSERT_TRUE(after) << after.error().message;
  expectSameBits(before.outputs, after->outputs);
  expectSameBits(before.states, after->states);
}

// Which slots the launches of a function use, and how many launches there are.
struct Launches {
  std::set<std::string> slots; // "prologue norm", ...
  size_t count = 0;
  explicit Launches(mlir::func::FuncOp function) {
    function.walk([&](LaunchOp launch) {
      ++count;
      for (mlir::Operation &op : launch.getBody().front())
        if (llvm::StringRef slot = slotOf(&op); !slot.empty())
          slots.insert((slot + " " + op.getName().stripDialect()).str());
      if (launch.getPackedTable())
        slots.insert("packed table");
    });
  }
};

RandomGraph decoderGraph(bool quantizes) {
  return DecoderGraph(quantizes ? "!tile.block<\"q8_0\">" : "f16", quantizes).make();
}

TEST(Fuse, RandomGraphsKeepTheirBits) {
  std::set<std::string> slots;
  for (uint64_t seed = 0; seed < 120; ++seed)
    for (const FuseOptions &options : {cpuFuseOptions(), simtFuseOptions()}) {
      const RandomGraph graph = randomGraph(seed, 20);
      Evaluation evaluation(graph.body);
      ASSERT_TRUE(evaluation.parsed()) << graph.body;
      giveEdges(evaluation, graph);
      const Result<Outcome> before = evaluation.run(Precision::F32);
      ASSERT_TRUE(before) << before.error().message;
      fuse(evaluation.module(), options);
      ASSERT_TRUE(mlir::succeeded(mlir::verify(evaluation.module()))) << seed;
      for (mlir::func::FuncOp function : functionsOf(evaluation.module())) {
        expectSame(*before, evaluation.run(function, Precision::F32));
        slots.merge(Launches(function).slots);
      }
      ASSERT_FALSE(HasFailure()) << seed << "\n" << graph.body;
    }
  EXPECT_TRUE(slots.contains("store quantize") || slots.contains("epilogue map"));
}

TEST(Fuse, ADecoderKeepsItsBitsOnCpuTargets) {
  for (bool quantizes : {true, false}) {
    const RandomGraph graph = decoderGraph(quantizes);
    Evaluation evaluation(graph.body);
    ASSERT_TRUE(evaluation.parsed()) << graph.body;
    giveEdges(evaluation, graph);
    const Result<Outcome> before = evaluation.run(Precision::F32);
    ASSERT_TRUE(before) << before.error().message;
    fuse(evaluation.module(), cpuFuseOptions());
    ASSERT_TRUE(mlir::succeeded(mlir::verify(evaluation.module())));
    expectSame(*before, evaluation.run(Precision::F32));
    const Launches launches(evaluation.function());
    std::set<std::string> expected = {"epilogue map",   "epilogue reshape", "epilogue rope",
                                      "epilogue slice", "store kv_append",  "packed table"};
    if (quantizes)
      expected.insert({"store quantize", "store reshape"});
    EXPECT_EQ(launches.slots, expected);
    EXPECT_EQ(launches.count, 11u);
  }
}

// In decode matmuls read norms as floats: that is the graph whose bits fusion keeps.
TEST(Fuse, ADecoderKeepsItsBitsOnSimtTargets) {
  for (bool quantizes : {true, false}) {
    const RandomGraph graph = decoderGraph(quantizes);
    Evaluation whole(graph.body), split(graph.body);
    giveEdges(whole, graph);
    giveEdges(split, graph);
    splitPhases(split.module());
    wrapOperations(split.module(), simtFuseOptions());
    keepNormsUnquantized(split.module(), simtFuseOptions());
    fuse(whole.module(), simtFuseOptions());
    ASSERT_TRUE(mlir::succeeded(mlir::verify(whole.module())));
    const Functions before = functionsOf(split.module()), after = functionsOf(whole.module());
    ASSERT_EQ(before.size(), 2u);
    ASSERT_EQ(after.size(), 2u);
    for (size_t phase : {0, 1}) {
      const Result<Outcome> expected = split.run(before[phase], Precision::F32);
      ASSERT_TRUE(expected) << expected.error().message;
      expectSame(*expected, whole.run(after[phase], Precision::F32));
    }
    EXPECT_FALSE(Launches(after[0]).slots.contains("prologue norm"));
    EXPECT_TRUE(Launches(after[1]).slots.contains("prologue norm"));
    EXPECT_EQ(Launches(after[1]).count, 8u);
  }
}

// Sums of groups are added in another order than a norm's own, so that bits differ.
TEST(Fuse, ADecoderMakesNormsFromSumsOfSquares) {
  FuseOptions options = simtFuseOptions();
  options.numbersPerLaunch = 0; // no norm is summed up in a prologue
  options.sharesDepth = [](LaunchOp) { return true; };
  const RandomGraph graph = decoderGraph(true);
  Evaluation plain(graph.body), summed(graph.body);
  giveEdges(plain, graph);
  giveEdges(summed, graph);
  fuse(plain.module(), options);
  options.normRows = [](LaunchOp) { return 1; };
  fuse(summed.module(), options);
  ASSERT_TRUE(mlir::succeeded(mlir::verify(summed.module())));
  const Functions before = functionsOf(plain.module()), after = functionsOf(summed.module());
  for (size_t phase : {0, 1}) {
    const auto expected = plain.run(before[phase], Precision::F32),
               found = summed.run(after[phase], Precision::F32);
    ASSERT_TRUE(expected && found);
    const std::vector<double> &logits = expected->outputs.at("logits").values;
    for (size_t i = 0; i < logits.size(); ++i)
      EXPECT_NEAR(found->outputs.at("logits").values[i], logits[i], 1e-5);
  }
  EXPECT_EQ(Launches(after[0]).count, Launches(before[0]).count);
  EXPECT_EQ(Launches(after[1]).count + 1, Launches(before[1]).count) << "of the second norm";
  EXPECT_TRUE(Launches(after[1]).slots.contains("store square_sums"));
  EXPECT_TRUE(Launches(after[1]).slots.contains("prologue quantize"));
}

// What becomes of each form: operations in launches of others, and how many launches there are.
TEST(Fuse, AttentionOfEachFormKeepsItsBits) {
  for (const auto &[name, form] : attentionForms())
    for (const FuseOptions &options : {cpuFuseOptions(), simtFuseOptions()}) {
      SCOPED_TRACE(name);
      AttentionGraph maker(form);
      const RandomGraph graph = maker.make();
      Evaluation evaluation(graph.body);
      ASSERT_TRUE(evaluation.parsed()) << graph.body;
      giveEdges(evaluation, maker, graph);
      const Result<Outcome> before = evaluation.run(Precision::F32);
      ASSERT_TRUE(before) << before.error().message;
      fuse(evaluation.module(), options);
      ASSERT_TRUE(mlir::succeeded(mlir::verify(evaluation.module())));
      for (mlir::func::FuncOp function : functionsOf(evaluation.module()))
        expectSame(*before, evaluation.run(function, Precision::F32));
    }
}

// Launches of a form on CPU targets but for the RoPE table and attention.
size_t launchesOf(const std::string &name) {
  for (const auto &[known, form] : attentionForms())
    if (known == name) {
      const RandomGraph graph = AttentionGraph(form).make();
      Evaluation evaluation(graph.body);
      fuse(evaluation.module(), cpuFuseOptions());
      return Launches(evaluation.function()).count - (form.ropeDims ? 2 : 1);
    }
  ADD_FAILURE() << name;
  return 0;
}

TEST(Fuse, RopeNormsAndAppendsAreInFewLaunches) {
  for (const char *one : {"Plain", "NeighboursThatRotate", "NoRope", "PartOfAHeadAsHalves",
                          "PartOfAHeadAsNeighbours", "ThreeQuartersOfAHead", "OneKeyHead"})
    EXPECT_EQ(launchesOf(one), 1u) << one; // the matmul's
  for (const char *two : {"NormsOfHeads", "NormsOfHeadsBesidePartialRope", "NormsAfterRope",
                          "NormsOfHeadsWithoutRope", "NormsOfHeadsBesideNeighbours", "HeadsOf80"})
    EXPECT_EQ(launchesOf(two), 2u) << two;
  EXPECT_EQ(launchesOf("ApartMatmuls"), 3u);
  EXPECT_EQ(launchesOf("KeysThatDoNotRotate"), 4u); // matmul, RoPE, two appends
}

// Where neighbours are stored as halves, what they meet is too, and nothing else reads them.
TEST(Fuse, NeighboursStayInTheirOrderBesideOthers) {
  EXPECT_EQ(launchesOf("QueriesScaledByRow"), 4u); // three matmuls, a map
  for (const char *apart : {"NeighboursOfQueriesAlone", "QueriesReadElsewhere"})
    EXPECT_GT(launchesOf(apart), 3u) << apart;
  FuseOptions options = cpuFuseOptions();
  options.keepsPairs = true;
  const RandomGraph graph = AttentionGraph({.pairing = "neighbours"}).make();
  Evaluation evaluation(graph.body);
  fuse(evaluation.module(), options);
  evaluation.module()->walk([](LaunchOp launch) { EXPECT_FALSE(launch.getHeadColumns()); });
}

// The last version of each pool, though nothing reads what was appended.
TEST(Fuse, LaunchesLeaveTheirStates) {
  Evaluation evaluation(R"(
    %r = graph.input "r" : tensor<1x1x2xf32>
    %s = graph.input "s" : tensor<1xi32>
    %v = graph.state "values" : tensor<1x1x2x2xf16>
    %a = graph.launch @kv_append(%r, %s, %v)
        : (tensor<1x1x2xf32>, tensor<1xi32>, tensor<1x1x2x2xf16>) -> tensor<1x1x2x2xf16> {
    ^bb0(%rows: tensor<1x1x2xf32>, %slots: tensor<1xi32>, %pool: tensor<1x1x2x2xf16>):
      %n = graph.kv_append values %rows at %slots into %pool
          : tensor<1x1x2xf32>, tensor<1xi32> into tensor<1x1x2x2xf16> -> tensor<1x1x2x2xf16>
      graph.return %n : tensor<1x1x2x2xf16>
    }
)");
  ASSERT_TRUE(evaluation.parsed());
  evaluation.input("r", {1, 1, 2}, {5, 6}).input("s", {1}, {1});
  const Result<Outcome> outcome = evaluation.run();
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->states.at("values").values, (std::vector<double>{0, 0, 5, 6}));
}

} // namespace
} // namespace sinter::graph
