// The graph dialect's text reads back as it was printed, and what is not well formed is refused in
// one sentence.
#include "graph/graph.h"
#include "graph/rewrite/passes.h"
#include "numeric/formats/dot_packing.h"
#include "tile/mlir_pch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::graph {
namespace {

using testing::HasSubstr;
using testing::Not;

// Types that the cases share; an alias is only text.
constexpr const char *kTypes = R"(
!act = tensor<?x64x!tile.block<"q8a">, #graph.dims<T>>
!table = tensor<100x64x!tile.block<"q8_0">>
!w = tensor<96x64x!tile.block<"q4_1">>
!x = tensor<?x64xf32, #graph.dims<T>>
!qk = tensor<?x96xf32, #graph.dims<T>>
!k = tensor<?x32xf32, #graph.dims<T>>
!qh = tensor<?x4x16xf32, #graph.dims<T>>
!kh = tensor<?x2x16xf32, #graph.dims<T>>
!rotations = tensor<?x16xf32, #graph.dims<T>>
!qh3 = tensor<?x3x16xf32, #graph.dims<T>>
!keys = tensor<?x2x16x32xf16, #graph.dims<C>>
!values = tensor<?x2x32x16xf16, #graph.dims<C>>
!t = tensor<?xi32, #graph.dims<T>>
!s = tensor<?xi32, #graph.dims<S>>
!pages = tensor<?x?xi32, #graph.dims<S, P>>
!blocks = tensor<?x3xi32, #graph.dims<B>>
!keys3 = tensor<?x3x16x32xf16, #graph.dims<C>>
!values3 = tensor<?x3x32x16xf16, #graph.dims<C>>
!values64 = tensor<?x2x64x16xf16, #graph.dims<C>>
!w8 = tensor<8x64xf32>
!x8 = tensor<?x8xf32, #graph.dims<T>>
)";

class Graph : public testing::Test {
protected:
  Graph() {
    loadDialects(context_);
    context_.printOpOnDiagnostic(false);
  }

  // Parses `body` inside a function; on failure, the messages are in `messages_`.
  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &body) {
    messages_.clear();
    mlir::ScopedDiagnosticHandler handler(&context_, [&](mlir::Diagnostic &diagnostic) {
      messages_ += diagnostic.str() + "\n";
      return mlir::success();
    });
    return mlir::parseSourceString<mlir::ModuleOp>(std::string(kTypes) + "module" + attributes_ +
                                                       " {\nfunc.func @step() {\n" + body +
                                                       "\nreturn\n}\n}",
                                                   &context_);
  }
  std::string print(mlir::ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream out(text);
    module->print(out);
    return text;
  }
  // The same in a module with these symbols.
  mlir::OwningOpRef<mlir::ModuleOp> parseWith(const std::string &symbols, const std::string &body) {
    attributes_ = " attributes {graph.symbols = " + symbols + "}";
    return parse(body);
  }
  // Expects `body` to be refused with a message that holds `part`.
  void refuses(const std::string &body, const std::string &part) {
    EXPECT_FALSE(parse(body)) << body;
    EXPECT_THAT(messages_, HasSubstr(part));
  }

  mlir::MLIRContext context_;
  std::string attributes_; // of the module, with a blank before them
  std::string messages_;
};

constexpr const char *kLayer = R"(
  %tokens = graph.input "tokens" : !t
  %positions = graph.input "positions" : !t
  %slots = graph.input "kv_slots" : !t
  %pages = graph.input "page_table" : !pages
  %lengths = graph.input "kv_lengths" : !s
  %blocks = graph.input "blocks" : !blocks
  %table = graph.weight ["embed"] : !table
  %w = graph.weight ["q", "k"] : !w
  %gain = graph.weight ["norm"] : tensor<64xf32>
  %x = graph.gather %table, %tokens : !table, !t -> !x
  %n = graph.norm %x, %gain eps 1.0e-5 : !x, tensor<64xf32> -> !x
  %a = graph.quantize %n : !x -> !act
  %qk = graph.dot_general %a, %w : !act, !w -> !qk
  %q = graph.slice %qk from [0, 0] : !qk -> !x
  %k = graph.slice %qk from [0, 64] : !qk -> !k
  %qh = graph.reshape %q : !x -> !qh
  %kh = graph.reshape %k : !k -> !kh
  %rotations = graph.rope_table %positions dims 16 base 1.0e4 : !t -> !rotations
  %qr = graph.rope neighbours %qh, %rotations : !qh, !rotations -> !qh
  %ks = graph.state "k" : !keys
  %vs = graph.state "v" : !values
  %ks1 = graph.kv_append keys %kh at %slots into %ks
      : !kh, !t into !keys -> !keys
  %vs1 = graph.kv_append values %kh at %slots into %vs
      : !kh, !t into !values -> !values
  %o = graph.paged_attention %qr, %ks1, %vs1, %positions, %pages, %lengths, %blocks scale 0.25
      : !qh, !keys, !values, !t, !pages, !s, !blocks -> !qh
  %flat = graph.reshape %o : !qh -> !x
  %sum = graph.map %flat, %x : !x, !x -> !x {
  ^bb0(%l: f32, %r: f32):
    %s = arith.addf %l, %r : f32
    graph.yield %s : f32
  }
  graph.output "rows", %sum : !x
)";

TEST_F(Graph, TextOfEveryOperationReadsBackTheSame) {
  auto first = parse(kLayer);
  ASSERT_TRUE(first) << messages_;
  std::string text = print(*first);
  auto second = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
  ASSERT_TRUE(second);
  EXPECT_EQ(print(*second), text);
  EXPECT_THAT(text, HasSubstr("tensor<?x?xi32, #graph.dims<S, P>>"));
}

TEST_F(Graph, DialectHasAtMostSixtyOperations) {
  size_t count = 0;
  for (mlir::RegisteredOperationName name : context_.getRegisteredOperations())
    count += name.getDialectNamespace() == "graph";
  EXPECT_GT(count, 10u);
  EXPECT_LE(count, 60u);
}

TEST_F(Graph, SymbolsMustBeAsManyAsDynamicExtents) {
  refuses(R"(%a = graph.input "a" : tensor<?x?xi32, #graph.dims<T>>)",
          "tensor has 2 dynamic extents and 1 symbols, expected one for each");
}

TEST_F(Graph, DynamicExtentWithoutSymbolIsNoGraphTensor) {
  refuses(R"(%a = graph.input "a" : tensor<?xi32>)", "with a symbol for each dynamic extent");
}

TEST_F(Graph, WeightWithoutTensorIsRefused) {
  refuses("%w = graph.weight [] : tensor<4xf32>", "names no tensor, expected at least one");
}

TEST_F(Graph, GatherOfAnotherWidthIsRefused) {
  refuses(R"(%t = graph.weight ["t"] : tensor<8x4xf32>
    %i = graph.input "i" : !t
    %g = graph.gather %t, %i : tensor<8x4xf32>, !t -> tensor<?x5xf32, #graph.dims<T>>)",
          "expected axis 1 of the first to equal axis 1 of the second");
}

TEST_F(Graph, ContractOverDifferentExtentsIsRefused) {
  refuses(R"(%a = graph.input "a" : !x
    %b = graph.weight ["b"] : tensor<8x32xf32>
    %c = graph.dot_general %a, %b : !x, tensor<8x32xf32> -> !x8)",
          "a is 'tensor<?x64xf32, #graph.dims<T>>' and b is 'tensor<8x32xf32>', expected axis 1");
}

TEST_F(Graph, ContractWithAnotherSymbolIsRefused) {
  refuses(R"(%a = graph.input "a" : !x
    %b = graph.weight ["b"] : !w8
    %c = graph.dot_general %a, %b : !x, !w8 -> tensor<?x8xf32, #graph.dims<R>>)",
          "expected axis 0 of the first to equal axis 0 of the second");
}

TEST_F(Graph, DotGeneralOfBatchesReadsBackTheSame) {
  auto module = parse(R"(%a = graph.input "a" : tensor<2x?x4x3xf32, #graph.dims<T>>
    %b = graph.input "b" : tensor<4x5x2x3xf16>
    %c = graph.dot_general %a, %b batch [0, 2] x [2, 0] contract [3] x [3]
      : tensor<2x?x4x3xf32, #graph.dims<T>>, tensor<4x5x2x3xf16> -> tensor<2x4x?x5xf32, #graph.dims<T>>
    %w = graph.weight ["w"] : tensor<7x3xf32>
    %d = graph.dot_general %a, %w : tensor<2x?x4x3xf32, #graph.dims<T>>, tensor<7x3xf32>
      -> tensor<2x?x4x7xf32, #graph.dims<T>>)");
  ASSERT_TRUE(module) << messages_;
  const std::string text = print(*module);
  EXPECT_EQ(print(*mlir::parseSourceString<mlir::ModuleOp>(text, &context_)), text);
  std::vector<bool> linear;
  module->walk([&](DotGeneralOp op) { linear.push_back(op.isLinear()); });
  EXPECT_THAT(linear, testing::ElementsAre(false, true));
}

TEST_F(Graph, DotGeneralOverAxesThatDoNotFitIsRefused) {
  const auto dot = [&](const std::string &axes) {
    return R"(%a = graph.input "a" : tensor<2x4xf32>
      %c = graph.dot_general %a, %a )" +
           axes + " : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x2xf32>";
  };
  EXPECT_TRUE(parse(dot("contract [1] x [1]"))) << messages_;
  refuses(dot("contract [2] x [1]"), "names axis 2 of a, which is");
  refuses(dot("contract [1, 1] x [1, 1]"), "names axis 1 of a twice");
  refuses(dot("batch [0] x [] contract [1] x [1]"),
          "has 1 batch axes of a and 0 of b, expected as many");
  refuses(dot("batch [0] x [0]"), "result is 'tensor<2x2xf32>', expected 1 dimensions");
}

TEST_F(Graph, QuantizedActivationsNeedABlockFormatOnTheRight) {
  refuses(R"(%a = graph.input "a" : !act
    %b = graph.weight ["b"] : !w8
    %c = graph.dot_general %a, %b : !act, !w8 -> !x8)",
          "expected a block format on both sides or a float on the left");
}

TEST_F(Graph, MapWithWorkOfAnotherDialectIsRefused) {
  refuses(R"(%a = graph.input "a" : tensor<4xf32>
    %m = graph.map %a : tensor<4xf32> -> tensor<4xf32> {
    ^bb0(%l: f32):
      %x = graph.input "x" : tensor<4xf32>
      graph.yield %l : f32
    })",
          "stands in a map, expected elementwise work that kernels compute");
}

TEST_F(Graph, SliceBeyondTheLastColumnIsRefused) {
  refuses(R"(%a = graph.input "a" : !x
    %s = graph.slice %a from [0, 40] : !x -> !k)",
          "takes elements of axis 1 from 40");
}

TEST_F(Graph, ReshapeToOtherElementsIsRefused) {
  refuses(R"(%a = graph.input "a" : !x
    %s = graph.reshape %a : !x -> !qh3)",
          "expected the same elements");
}

TEST_F(Graph, RotationsOfMoreThanAHeadAreRefused) {
  refuses(R"(%p = graph.input "p" : !t
    %r = graph.rope_table %p dims 18 base 1.0e4 : !t -> !rotations)",
          "rotates 18 elements");
  refuses(R"(%p = graph.input "p" : !t
    %r = graph.rope_table %p dims 15 base 1.0e4 : !t -> !rotations)",
          "rotates 15 elements");
}

TEST_F(Graph, RotationsByANegativeBaseAreRefused) {
  refuses(R"(%p = graph.input "p" : !t
    %r = graph.rope_table %p dims 16 base -1.0 : !t -> !rotations)",
          "a base that is not a positive number");
}

TEST_F(Graph, ScaledAndDividedRotationsReadBackTheSame) {
  auto module = parse(R"(%p = graph.input "p" : !t
    %w = graph.weight ["w"] : tensor<8xf32>
    %r = graph.rope_table %p over %w dims 16 base 1.0e4 {magnitude = 5.0e-1 : f32,
        scales = array<f32: 1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5>}
      : !t over tensor<8xf32> -> !rotations)");
  ASSERT_TRUE(module) << messages_;
  const std::string text = print(*module);
  EXPECT_THAT(text, HasSubstr("over %"));
  EXPECT_THAT(text, HasSubstr("magnitude = 5.000000e-01"));
  EXPECT_EQ(print(*mlir::parseSourceString<mlir::ModuleOp>(text, &context_)), text);
}

TEST_F(Graph, RotationsByOtherNumbersThanOneForEachPairAreRefused) {
  refuses(R"(%p = graph.input "p" : !t
    %r = graph.rope_table %p dims 16 base 1.0e4 {scales = array<f32: 1.0>} : !t -> !rotations)",
          "has 1 scales, expected 8");
  refuses(R"(%p = graph.input "p" : !t
    %w = graph.weight ["w"] : tensor<4xf32>
    %r = graph.rope_table %p over %w dims 8 base 1.0e4 : !t over tensor<4xf32> -> !rotations)",
          "rotates 8 elements by 'tensor<?x16xf32, #graph.dims<T>>', expected an even number that is "
          "the last extent");
  refuses(R"(%p = graph.input "p" : !t
    %w = graph.weight ["w"] : tensor<7xf32>
    %r = graph.rope_table %p over %w dims 16 base 1.0e4 : !t over tensor<7xf32> -> !rotations)",
          "expected a number for each pair");
}

TEST_F(Graph, RopeByRotationsOfAnotherHeadIsRefused) {
  refuses(R"(%a = graph.input "a" : !kh
    %r = graph.input "r" : !x
    %b = graph.rope halves %a, %r : !kh, !x -> !kh)",
          "rotates 16 elements by 'tensor<?x64xf32, #graph.dims<T>>', expected a table of as many "
          "columns");
}

TEST_F(Graph, RopeOfAPartOfAHeadReadsBackTheSame) {
  auto module = parse(R"(%a = graph.input "a" : !kh
    %r = graph.input "r" : !x8
    %b = graph.rope neighbours %a, %r dims 8 : !kh, !x8 -> !kh)");
  ASSERT_TRUE(module) << messages_;
  const std::string text = print(*module);
  EXPECT_THAT(text, HasSubstr("dims 8 :"));
  EXPECT_EQ(print(*mlir::parseSourceString<mlir::ModuleOp>(text, &context_)), text);
}

TEST_F(Graph, RopeOfMoreThanAHeadOrOfAnOddPartIsRefused) {
  for (const char *dims : {"7", "18"})
    refuses("%a = graph.input \"a\" : !kh\n%r = graph.input \"r\" : !rotations\n"
            "%b = graph.rope halves %a, %r dims " +
                std::string(dims) + " : !kh, !rotations -> !kh",
            "rotates " + std::string(dims) + " elements of heads in");
  refuses(R"(%a = graph.input "a" : !kh
    %r = graph.input "r" : !rotations
    %b = graph.rope halves %a, %r dims 0 : !kh, !rotations -> !kh)",
          "attribute 'dims' failed to satisfy constraint");
}

TEST_F(Graph, ScatterIntoAnotherHeadCountIsRefused) {
  refuses(R"(%r = graph.input "r" : !kh
    %k = graph.state "k" : !keys3
    %v = graph.state "v" : !values3
    %i = graph.input "i" : !t
    %a = graph.kv_append keys %r at %i into %k
        : !kh, !t into !keys3 -> !keys3
    %b = graph.kv_append values %r at %i into %v
        : !kh, !t into !values3 -> !values3)",
          "expected axis 1 of the first to equal axis 1 of the second");
}

TEST_F(Graph, HeadsThatAreNoMultipleOfKeyHeadsAreRefused) {
  refuses(R"(%q = graph.input "q" : !qh3
    %k = graph.state "k" : !keys
    %v = graph.state "v" : !values
    %p = graph.input "p" : !t
    %t = graph.input "t" : !pages
    %l = graph.input "l" : !s
    %b = graph.input "b" : !blocks
    %o = graph.paged_attention %q, %k, %v, %p, %t, %l, %b scale 0.25
        : !qh3, !keys, !values, !t, !pages, !s, !blocks -> !qh3)",
          "expected heads to be a multiple of the keys' heads");
}

// Attention of four heads with these words and types.
std::string attention(const std::string &words, const std::string &sinks = "",
                      const std::string &values = "!values", const std::string &result = "!qh") {
  return R"(%q = graph.input "q" : !qh
    %k = graph.state "k" : !keys
    %v = graph.state "v" : )" +
         values + R"(
    %p = graph.input "p" : !t
    %t = graph.input "t" : !pages
    %l = graph.input "l" : !s
    %b = graph.input "b" : !blocks
    )" + (sinks.empty() ? "" : "%w = graph.weight [\"w\"] : " + sinks + "\n") +
         "%o = graph.paged_attention %q, %k, %v, %p, %t, %l, %b " +
         (sinks.empty() ? "" : "sinks %w ") + words + " : !qh, !keys, " + values +
         ", !t, !pages, !s, !blocks" + (sinks.empty() ? "" : " sinks " + sinks) + " -> " + result;
}

TEST_F(Graph, AttentionOfEveryFormReadsBackTheSame) {
  for (const char *words : {"scale 0.25 window 4", "scale 0.25 window 4 both",
                            "scale 0.25 chunk 8 soft_cap 3.000000e+01",
                            "scale 0.25 slopes [5.000000e-01, 2.500000e-01, 1.0, 2.0]"})
    for (const char *sinks : {"", "tensor<4xf32>"}) {
      auto module = parse(attention(words, sinks));
      ASSERT_TRUE(module) << messages_;
      const std::string text = print(*module);
      EXPECT_EQ(print(*mlir::parseSourceString<mlir::ModuleOp>(text, &context_)), text);
    }
  auto module = parse(attention("scale 0.25", "", "tensor<?x2x32x8xf16, #graph.dims<C>>",
                                "tensor<?x4x8xf32, #graph.dims<T>>"));
  EXPECT_TRUE(module) << messages_;
}

TEST_F(Graph, AttentionThatMeansNothingIsRefused) {
  const std::tuple<const char *, const char *, const char *> cases[] = {
      {"scale 0.25 window 4 chunk 8", "", "has window 4 and chunk 8, expected one of them"},
      {"scale 0.25 chunk 8 both", "", "sees both ways and has chunk 8, expected one of them"},
      {"scale 0.25 window 0", "", "attribute 'window' failed to satisfy constraint"},
      {"scale 0.25 chunk -1", "", "attribute 'chunk' failed to satisfy constraint"},
      {"scale 0.25 soft_cap 0.0", "", "expected a positive number"},
      {"scale 0.25 soft_cap 0x7F800000", "", "expected a positive number"},
      {"scale 0.25 slopes [1.0, 2.0]", "", "has 2 slopes, expected one for each of 4 heads"},
      {"scale 0.25 slopes [1.0, 2.0, 1.0, 1.0e39]", "", "has a slope that is not a number"},
      {"scale 0.25", "tensor<2xf32>", "expected one for each of 4 heads"},
      {"scale 0.25", "tensor<4xf16>", "expected elements 'f32'"}};
  for (const auto &[words, sinks, message] : cases)
    refuses(attention(words, sinks), message);
  refuses(attention("scale 0.25", "", "tensor<?x2x32x8xf16, #graph.dims<C>>"),
          "expected axis 2 of the first to equal axis 3 of the second");
  refuses(attention("scale 0.25", "", "!values64"), "expected axis 3 of the first to equal axis 2");
}

constexpr const char *kTwoContracts = R"(
  %x = graph.input "x" : !x
  %q = graph.weight ["q"] : tensor<64x64x!tile.block<"q4_1">>
  %k = graph.weight ["k"] : tensor<32x64x!tile.block<"q4_1">>
  %f = graph.weight ["f"] : tensor<8x64xf32>
  %a = graph.dot_general %x, %q : !x, tensor<64x64x!tile.block<"q4_1">> -> !x
  %b = graph.dot_general %x, %k : !x, tensor<32x64x!tile.block<"q4_1">> -> !k
  %c = graph.dot_general %x, %f : !x, tensor<8x64xf32> -> !x8
  graph.output "a", %a : !x
  graph.output "b", %b : !k
  graph.output "c", %c : !x8
)";

TEST_F(Graph, ContractsOfOneValueWithOneFormatAreJoinedAndSliced) {
  auto module = parse(kTwoContracts);
  ASSERT_TRUE(module) << messages_;
  joinMatmuls(*module);
  ASSERT_TRUE(mlir::succeeded(mlir::verify(*module)));
  std::string text = print(*module);
  EXPECT_THAT(text, HasSubstr("graph.weight [\"q\", \"k\"] : tensor<96x64x!tile.block<\"q4_1\">>"));
  EXPECT_THAT(text, HasSubstr("from [0, 64] : tensor<?x96xf32, #graph.dims<T>>"));
  EXPECT_THAT(text, HasSubstr("graph.weight [\"f\"] : tensor<8x64xf32>"));
  EXPECT_THAT(text, Not(HasSubstr("graph.weight [\"q\"]")));
}

TEST_F(Graph, PoolsAreKeptInTheTypeThatIsAskedForFromTheStateToTheAttention) {
  auto module = parse(kLayer);
  ASSERT_TRUE(module) << messages_;
  keepPools(*module, mlir::BFloat16Type::get(&context_));
  ASSERT_TRUE(mlir::succeeded(mlir::verify(*module)));
  int pools = 0;
  module->walk([&](StateOp op) { pools += op.getType().getElementType().isBF16(); });
  module->walk([&](PagedAttentionOp op) {
    pools += op.getKeys().getType().getElementType().isBF16();
    pools += op.getValues().getType().getElementType().isBF16();
  });
  EXPECT_EQ(pools, 4);
}

TEST_F(Graph, ActivationsAreRoundedOnceForBlockFormatsOnly) {
  auto module = parse(kTwoContracts);
  ASSERT_TRUE(module) << messages_;
  quantizeActivations(*module, [](mlir::Type) { return &kQ8a; });
  ASSERT_TRUE(mlir::succeeded(mlir::verify(*module)));
  int rounded = 0, left = 0;
  module->walk([&](QuantizeOp) { ++rounded; });
  module->walk([&](DotGeneralOp op) { left += op.getA().getType().getElementType().isF32(); });
  EXPECT_EQ(rounded, 1);
  EXPECT_EQ(left, 1);
}

TEST_F(Graph, ActivationsBesideBlocksWithoutSuchAFormatTakeTheFloatThatIsAskedFor) {
  auto module = parse(kTwoContracts);
  ASSERT_TRUE(module) << messages_;
  auto none = [](mlir::Type) -> const ActivationFormat * { return nullptr; };
  quantizeActivations(*module, none, /*roundScalars=*/true,
                      mlir::BFloat16Type::get(module->getContext()));
  ASSERT_TRUE(mlir::succeeded(mlir::verify(*module)));
  int rounded = 0, beside = 0;
  module->walk([&](QuantizeOp) { ++rounded; });
  module->walk([&](DotGeneralOp op) { beside += op.getA().getType().getElementType().isBF16(); });
  EXPECT_EQ(rounded, 1);
  EXPECT_EQ(beside, 2); // not that with f32
}

// What one kernel makes together, heads of a value one by one, holds whole scales.
TEST_F(Graph, ScalesOfActivationsSuitTheirMakerAndAllTheirReaders) {
  auto formatsOf = [&](const char *weights, const char *more) {
    auto module = parse(std::string(R"(
  %x = graph.input "x" : tensor<?x512xf32, #graph.dims<T>>
  %h = graph.input "h" : tensor<?x8x64xf32, #graph.dims<T>>
  %j = graph.reshape %h : tensor<?x8x64xf32, #graph.dims<T>> -> tensor<?x512xf32, #graph.dims<T>>
  %w = graph.weight ["w"] : tensor<32x512x!tile.block<")") +
                        weights + R"(">>
  %m = graph.weight ["m"] : tensor<32x512x!tile.block<")" +
                        more + R"(">>
  %a = graph.dot_general %x, %w : tensor<?x512xf32, #graph.dims<T>>, tensor<32x512x!tile.block<")" +
                        weights + R"(">> -> tensor<?x32xf32, #graph.dims<T>>
  %b = graph.dot_general %x, %m : tensor<?x512xf32, #graph.dims<T>>, tensor<32x512x!tile.block<")" +
                        more + R"(">> -> tensor<?x32xf32, #graph.dims<T>>
  %c = graph.dot_general %j, %w : tensor<?x512xf32, #graph.dims<T>>, tensor<32x512x!tile.block<")" +
                        weights + R"(">> -> tensor<?x32xf32, #graph.dims<T>>
  graph.output "a", %a : tensor<?x32xf32, #graph.dims<T>>
  graph.output "b", %b : tensor<?x32xf32, #graph.dims<T>>
  graph.output "c", %c : tensor<?x32xf32, #graph.dims<T>>
)");
    EXPECT_TRUE(module) << messages_;
    auto activationFor = [&](mlir::Type type) -> const ActivationFormat * {
      const BlockFormat &format = *tile::blockFormatOf(type);
      return &activationFormatFor(dotGroupLength(format), format.blockLength);
    };
    quantizeActivations(*module, activationFor);
    std::vector<std::string> formats;
    module->walk([&](DotGeneralOp op) {
      formats.push_back(
          llvm::cast<tile::BlockType>(op.getA().getType().getElementType()).getFormat().str());
    });
    return formats;
  };
  using testing::ElementsAre;
  EXPECT_THAT(formatsOf("q4_k", "q6_k"), ElementsAre("q8a_16_256", "q8a_16_256", "q8a"));
  EXPECT_THAT(formatsOf("q6_k", "q8_0"), ElementsAre("q8a_16", "q8a_16", "q8a_16"));
}

// Heads that attend to the same keys lie side by side and are rounded together.
TEST_F(Graph, ScalesOfActivationsSpanTheHeadsThatShareKeys) {
  auto formatOf = [&](int kvHeads) {
    const std::string heads = std::to_string(kvHeads);
    auto module = parse(R"(
  %q = graph.input "q" : tensor<?x8x64xf32, #graph.dims<T>>
  %positions = graph.input "positions" : !t
  %pages = graph.input "page_table" : !pages
  %lengths = graph.input "kv_lengths" : !s
  %blocks = graph.input "blocks" : !blocks
  %ks = graph.state "k" : tensor<?x)" +
                        heads + R"(x64x16xf16, #graph.dims<N>>
  %vs = graph.state "v" : tensor<?x)" +
                        heads + R"(x16x64xf16, #graph.dims<N>>
  %o = graph.paged_attention %q, %ks, %vs, %positions, %pages, %lengths, %blocks scale 0.25
      : tensor<?x8x64xf32, #graph.dims<T>>, tensor<?x)" +
                        heads + R"(x64x16xf16, #graph.dims<N>>, tensor<?x)" + heads +
                        R"(x16x64xf16, #graph.dims<N>>, !t, !pages, !s, !blocks
      -> tensor<?x8x64xf32, #graph.dims<T>>
  %j = graph.reshape %o : tensor<?x8x64xf32, #graph.dims<T>> -> tensor<?x512xf32, #graph.dims<T>>
  %w = graph.weight ["w"] : tensor<32x512x!tile.block<"q6_k">>
  %c = graph.dot_general %j, %w : tensor<?x512xf32, #graph.dims<T>>, tensor<32x512x!tile.block<"q6_k">>
      -> tensor<?x32xf32, #graph.dims<T>>
  graph.output "c", %c : tensor<?x32xf32, #graph.dims<T>>
)");
    EXPECT_TRUE(module) << messages_;
    if (!module)
      return std::string();
    quantizeActivations(*module, [](mlir::Type) { return &kQ8a16By256; });
    std::string format;
    module->walk([&](DotGeneralOp op) {
      format = llvm::cast<tile::BlockType>(op.getA().getType().getElementType()).getFormat().str();
    });
    return format;
  };
  EXPECT_EQ(formatOf(2), "q8a_16_256");
  EXPECT_EQ(formatOf(4), "q8a_16");
  EXPECT_EQ(formatOf(8), "q8a_16");
}

constexpr const char *kOneInput = "%x = graph.input \"x\" : !x";

TEST_F(Graph, AModuleDeclaresItsSymbols) {
  auto module = parseWith(R"([#graph.symbol<"T", 1 to 512, tokens>, #graph.symbol<"S", -1 to 9>])",
                          kOneInput);
  ASSERT_TRUE(module) << messages_;
  llvm::SmallVector<SymbolAttr> symbols = symbolsOf(*module);
  ASSERT_EQ(symbols.size(), 2u);
  EXPECT_EQ(symbols[0].getName(), "T");
  EXPECT_EQ(symbols[0].getMax(), 512);
  EXPECT_EQ(symbols[0].getRole(), SymbolRole::Tokens);
  EXPECT_EQ(symbols[1].getMin(), -1);
  EXPECT_EQ(symbols[1].getRole(), SymbolRole::Extent);
  const std::string text = print(*module);
  EXPECT_EQ(print(*mlir::parseSourceString<mlir::ModuleOp>(text, &context_)), text);
}

TEST_F(Graph, SymbolsThatAreNotWellFormedAreRefused) {
  for (const auto &[symbols, part] : std::vector<std::pair<std::string, std::string>>{
           {R"([#graph.symbol<"T", 2 to 1>])", "symbol 'T' has minimum 2 above its maximum 1"},
           {R"([#graph.symbol<"", 0 to 1>])", "a symbol has no name"},
           {R"([#graph.symbol<"T", 0 to 1, rows>])", "expected"},
           {R"([#graph.symbol<"T", 0 to 1>, #graph.symbol<"T", 0 to 1>])",
            "declares symbol \"T\" twice"},
           {R"([#graph.symbol<"T", 0 to 1, decode>, #graph.symbol<"S", 0 to 1, decode>])",
            "gives symbols \"T\" and \"S\" the role decode"},
           {R"([#graph.symbol<"S", 0 to 1>])",
            "uses symbol 'T', which the module does not declare"},
           {R"(["T"])", "declares symbol \"T\", expected a #graph.symbol"},
           {R"("T")", "declares symbols as \"T\", expected a list of #graph.symbol"}}) {
    EXPECT_FALSE(parseWith(symbols, kOneInput)) << symbols;
    EXPECT_THAT(messages_, HasSubstr(part)) << symbols;
  }
}

TEST_F(Graph, AttributesOfOtherNamesAndPlacesAreRefused) {
  attributes_ = " attributes {graph.symbol = []}";
  refuses(kOneInput, "has attribute 'graph.symbol', expected 'graph.symbols'");
  attributes_.clear();
  refuses("%x = graph.input \"x\" {graph.symbols = []} : !x",
          "declares symbols, expected a module to do so");
}

} // namespace
} // namespace sinter::graph
