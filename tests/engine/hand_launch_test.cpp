// Launches written by hand that verify and yet have no form here: one clear error each, no abort.
#include "engine/graph_text.h"
#include "engine/lowering.h"
#include "engine/profiles.h"
#include "tile/mlir_pch.h"

#include <gtest/gtest.h>

namespace sinter::engine {
namespace {

using targets::TargetKind;

std::string refusal(const std::string &body, TargetKind kind = TargetKind::Cpu) {
  GraphText graph(body);
  KernelSet kernels(graph.context());
  const LoweringOptions options{kind == TargetKind::Cpu ? cpuProfile() : simtProfile()};
  const Result<plan::Plan> plan = Lowering(kernels, options).run(graph.module());
  if (!plan) {
    EXPECT_EQ(plan.error().code, Code::Unsupported);
  }
  return plan ? "" : plan.error().message;
}

std::string moduleRefusal(const std::string &functions) {
  mlir::MLIRContext context;
  graph::loadDialects(context);
  const auto module = mlir::parseSourceString<mlir::ModuleOp>(
      "module attributes {graph.symbols = [#graph.symbol<\"T\", 1 to 8>]} {\n" + functions + "\n}",
      &context);
  EXPECT_TRUE(module) << functions;
  KernelSet kernels(context);
  const Result<plan::Plan> plan = Lowering(kernels, {}).run(*module);
  return plan ? "" : plan.error().message;
}

// A map alone of `operand`, whose result is %m.
std::string mapOf(const std::string &operand, const std::string &type = "!x") {
  return "%m = graph.launch @map(" + operand + ") : (" + type + ") -> " + type +
         " {\n^bb0(%a: " + type + "):\n%r = graph.map %a : " + type + " -> " + type +
         " {\n^bb0(%e: f32):\ngraph.yield %e : f32\n}\ngraph.return %r : " + type + "\n}\n";
}

constexpr const char *kX = "%x = graph.input \"x\" : !x\n";
constexpr const char *kM = "graph.output \"m\", %m : !x\n";

TEST(HandLaunch, LowersWhatPatternsMakeToo) {
  EXPECT_EQ(refusal(kX + mapOf("%x") + kM), "");
}

TEST(HandLaunch, FunctionsAreOneOrTwoPhasesWithoutArguments) {
  EXPECT_EQ(moduleRefusal(""), "the module has 0 functions, expected one, or prefill and decode");
  EXPECT_EQ(moduleRefusal("func.func @a() { return }\nfunc.func @b() { return }"),
            "the module has 2 functions, expected one, or prefill and decode");
  EXPECT_EQ(moduleRefusal("func.func @decode() { return }"),
            "the module has 1 functions, expected one, or prefill and decode");
  EXPECT_EQ(moduleRefusal("func.func private @a()"),
            "function 'a' has no single block of operations");
  EXPECT_EQ(moduleRefusal("func.func @a(%x: tensor<?x64xf32, #graph.dims<T>>) {\n" +
                          mapOf("%x", "tensor<?x64xf32, #graph.dims<T>>") + "return\n}"),
            "function 'a' has arguments or results, expected graph.input and graph.output instead");
}

TEST(HandLaunch, EdgesOfOneNameHaveOneType) {
  EXPECT_EQ(
      refusal(std::string(kX) + "%y = graph.input \"x\" : tensor<2x64xf32>"),
      "input 'x' is tensor<?x64xf32, #graph.dims<T>> and tensor<2x64xf32>, expected one type");
  EXPECT_EQ(refusal("%y = graph.weight [\"w\"] : tensor<64xf32>\n"
                    "%z = graph.weight [\"w\"] : tensor<32xf32>"),
            "weight [\"w\"] is tensor<64xf32> and tensor<32xf32>, expected one type");
}

TEST(HandLaunch, OutputsHaveMemoryOfTheirOwn) {
  EXPECT_EQ(refusal(kX + mapOf("%x") + kM + "graph.output \"n\", %m : !x"),
            "output 'n' has the name or the value of another output");
  EXPECT_EQ(refusal(std::string(kX) + "graph.output \"x\", %x : !x"),
            "output 'x' is no computed tensor, which has no form");
  EXPECT_EQ(refusal(kX + mapOf("%x") + R"(
    %v = graph.reshape %m : !x -> tensor<?x1x64xf32, #graph.dims<T>>
    graph.output "v", %v : tensor<?x1x64xf32, #graph.dims<T>>)"),
            "output 'v' is no computed tensor, which has no form");
  EXPECT_EQ(refusal(kX + mapOf("%x") + R"(
    %v = graph.reshape %m : !x -> tensor<?x1x64xf32, #graph.dims<T>>
    %q = graph.launch @rope(%v, %x) {in_place}
        : (tensor<?x1x64xf32, #graph.dims<T>>, !x) -> tensor<?x1x64xf32, #graph.dims<T>> {
    ^bb0(%a: tensor<?x1x64xf32, #graph.dims<T>>, %t: !x):
      %r = graph.rope halves %a, %t
          : tensor<?x1x64xf32, #graph.dims<T>>, !x -> tensor<?x1x64xf32, #graph.dims<T>>
      graph.return %r : tensor<?x1x64xf32, #graph.dims<T>>
    }
    graph.output "q", %q : tensor<?x1x64xf32, #graph.dims<T>>)"),
            "RoPE is in place of a weight or for an output, expected a temporary tensor");
}

TEST(HandLaunch, TensorsHaveALayout) {
  for (const char *type :
       {"tensor<4x4294967296xf32>", "tensor<?x48x!tile.block<\"q8a\">, #graph.dims<T>>"})
    EXPECT_NE(refusal("%x = graph.input \"x\" : " + std::string(type)).find("which has no layout"),
              std::string::npos)
        << type;
}

TEST(HandLaunch, PackedTablesAreWeights) {
  EXPECT_EQ(refusal(R"(
    %w = graph.input "w" : tensor<4x64xf32>
    %t = graph.input "t" : !t
    %m = graph.launch @gather(%w, %t) {packed_table} : (tensor<4x64xf32>, !t) -> !x {
    ^bb0(%a: tensor<4x64xf32>, %b: !t):
      %r = graph.gather %a, %b : tensor<4x64xf32>, !t -> !x
      graph.return %r : !x
    })"),
            "a gather's packed table is no weight, which has no kernel");
}

TEST(HandLaunch, MatmulsHaveOneBucketOrAll) {
  EXPECT_EQ(refusal(std::string(kX) + R"(
    %w = graph.weight ["w"] : tensor<64x64xf32>
    %m = graph.launch @matmul(%x, %w) {buckets = ["prefill", "one"]}
        : (!x, tensor<64x64xf32>) -> !x {
    ^bb0(%a: !x, %b: tensor<64x64xf32>):
      %r = graph.dot_general %a, %b : !x, tensor<64x64xf32> -> !x
      graph.return %r : !x
    })"),
            "a matmul has two buckets of rows, expected one or all three");
}

TEST(HandLaunch, OperationsInNoLaunchAreNamed) {
  EXPECT_EQ(refusal(std::string(kX) + "%m = graph.map %x : !x -> !x {\n^bb0(%e: f32):\n"
                                      "graph.yield %e : f32\n}"),
            "operation 'graph.map' is in no launch");
}

std::string attend(const std::string &element, const std::string &buckets) {
  std::string body = R"(
    %q = graph.input "q" : !q
    %k = graph.state "keys" : !k
    %v = graph.state "values" : !v
    %p = graph.input "positions" : !t
    %t = graph.input "pages" : tensor<1x4xi32>
    %l = graph.input "lengths" : tensor<1xi32>
    %b = graph.input "tiles" : tensor<1x3xi32>
    %o = graph.launch @attention(%q, %k, %v, %p, %t, %l, %b) {buckets = [BUCKETS]}
        : (!q, !k, !v, !t, tensor<1x4xi32>, tensor<1xi32>, tensor<1x3xi32>) -> !q {
    ^bb0(%a: !q, %c: !k, %d: !v, %e: !t, %f: tensor<1x4xi32>, %g: tensor<1xi32>,
         %h: tensor<1x3xi32>):
      %r = graph.paged_attention %a, %c, %d, %e, %f, %g, %h scale 0.25
          : !q, !k, !v, !t, tensor<1x4xi32>, tensor<1xi32>, tensor<1x3xi32> -> !q
      graph.return %r : !q
    })";
  auto replace = [&](const std::string &from, const std::string &to) {
    for (size_t at = 0; (at = body.find(from, at)) != std::string::npos; at += to.size())
      body.replace(at, from.size(), to);
  };
  replace("!q", "tensor<?x4x64xf32, #graph.dims<T>>");
  replace("!k", "tensor<?x2x64x32x" + element + ", #graph.dims<N>>");
  replace("!v", "tensor<?x2x32x64x" + element + ", #graph.dims<N>>");
  replace("BUCKETS", buckets);
  return refusal(body);
}

TEST(HandLaunch, AttentionReadsPoolsThatKernelsWrite) {
  EXPECT_EQ(attend("f16", "\"prefill\""), "");
  for (const char *element : {"f32", "i32", "i1"})
    EXPECT_EQ(attend(element, "\"prefill\""),
              "operation 'graph.paged_attention' has a form that has no kernel")
        << element;
  EXPECT_EQ(attend("f16", "\"small\""),
            "attention has the bucket small alone, expected prefill or one");
}

// Rows of one matmul: x in `from`, w in `format`.
std::string matmul(const std::string &from, const std::string &format, TargetKind kind) {
  const std::string a = "tensor<?x256x" + from + ", #graph.dims<T>>",
                    w = "tensor<64x256x" + format + ">";
  return refusal("%x = graph.input \"x\" : " + a + "\n%w = graph.weight [\"w\"] : " + w +
                     "\n%m = graph.launch @matmul(%x, %w) {buckets = [\"prefill\"]} : (" + a +
                     ", " + w + ") -> !x {\n^bb0(%a: " + a + ", %b: " + w +
                     "):\n%r = graph.dot_general %a, %b : " + a + ", " + w +
                     " -> !x\ngraph.return %r : !x\n}\ngraph.output \"m\", %m : !x",
                 kind);
}

TEST(HandLaunch, MatmulsOfAnyTwoFormatsLowerOrAreRefused) {
  const std::string file[] = {"f32", "f16", "bf16", "!tile.block<\"q8_0\">",
                              "!tile.block<\"q6_k\">"};
  const std::string q8a = "!tile.block<\"q8a\">";
  const std::string none = "operation 'graph.dot_general' has a form that has no kernel";
  for (TargetKind kind : {TargetKind::Cpu, TargetKind::Simt})
    for (const std::string &weight : file) {
      for (const std::string &rows : {file[0], file[1], file[2]})
        EXPECT_EQ(matmul(rows, weight, kind), "") << rows << " by " << weight;
      EXPECT_EQ(matmul(weight, q8a, kind), none) << weight;
      EXPECT_EQ(matmul(weight, file[3], kind), "") << weight; // dequantized first
    }
  EXPECT_EQ(matmul(q8a, file[3], TargetKind::Cpu), "");
  EXPECT_EQ(matmul(q8a, file[4], TargetKind::Cpu), none); // groups of 16 ask for finer sums
}

} // namespace
} // namespace sinter::engine
