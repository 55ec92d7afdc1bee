// The graph dialect's text reads back as it was printed, and what is not well formed is refused in one sentence.
#include "graph/graph.h"
#include "tile/mlir_pch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::graph {
namespace {

using testing::HasSubstr;

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
    return mlir::parseSourceString<mlir::ModuleOp>("func.func @step() {\n" + body + "\nreturn\n}",
                                                   &context_);
  }
  std::string print(mlir::ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream out(text);
    module->print(out);
    return text;
  }
  // Expects `body` to be refused with a message that holds `part`.
  void refuses(const std::string &body, const std::string &part) {
    EXPECT_FALSE(parse(body)) << body;
    EXPECT_THAT(messages_, HasSubstr(part));
  }

  mlir::MLIRContext context_;
  std::string messages_;
};

constexpr const char *kLayer = R"(
  %tokens = graph.input "tokens" : tensor<?xi32, #graph.dims<T>>
  %positions = graph.input "positions" : tensor<?xi32, #graph.dims<T>>
  %slots = graph.input "kv_slots" : tensor<?xi32, #graph.dims<T>>
  %pages = graph.input "page_table" : tensor<?x?xi32, #graph.dims<S, P>>
  %lengths = graph.input "kv_lengths" : tensor<?xi32, #graph.dims<S>>
  %blocks = graph.input "blocks" : tensor<?x3xi32, #graph.dims<B>>
  %table = graph.weight ["embed"] : tensor<100x64x!tile.block<"q8_0">>
  %w = graph.weight ["q", "k"] : tensor<96x64x!tile.block<"q4_1">>
  %gain = graph.weight ["norm"] : tensor<64xf32>
  %x = graph.gather %table, %tokens : tensor<100x64x!tile.block<"q8_0">>, tensor<?xi32, #graph.dims<T>> -> tensor<?x64xf32, #graph.dims<T>>
  %n = graph.norm %x, %gain eps 1.0e-5 : tensor<?x64xf32, #graph.dims<T>>, tensor<64xf32> -> tensor<?x64xf32, #graph.dims<T>>
  %a = graph.quantize %n : tensor<?x64xf32, #graph.dims<T>> -> tensor<?x64x!tile.block<"q8a">, #graph.dims<T>>
  %qk = graph.contract %a, %w : tensor<?x64x!tile.block<"q8a">, #graph.dims<T>>, tensor<96x64x!tile.block<"q4_1">> -> tensor<?x96xf32, #graph.dims<T>>
  %q = graph.slice %qk from 0 : tensor<?x96xf32, #graph.dims<T>> -> tensor<?x64xf32, #graph.dims<T>>
  %k = graph.slice %qk from 64 : tensor<?x96xf32, #graph.dims<T>> -> tensor<?x32xf32, #graph.dims<T>>
  %qh = graph.reshape %q : tensor<?x64xf32, #graph.dims<T>> -> tensor<?x4x16xf32, #graph.dims<T>>
  %kh = graph.reshape %k : tensor<?x32xf32, #graph.dims<T>> -> tensor<?x2x16xf32, #graph.dims<T>>
  %qr = graph.rope neighbours %qh, %positions dims 16 base 1.0e4 : tensor<?x4x16xf32, #graph.dims<T>>, tensor<?xi32, #graph.dims<T>> -> tensor<?x4x16xf32, #graph.dims<T>>
  %ks = graph.state "k" : tensor<?x2x16x32xf16, #graph.dims<C>>
  %vs = graph.state "v" : tensor<?x32x2x16xf16, #graph.dims<C>>
  %ks1 = graph.scatter %kh, %ks, %slots row_axis 3 : tensor<?x2x16xf32, #graph.dims<T>>, tensor<?x2x16x32xf16, #graph.dims<C>>, tensor<?xi32, #graph.dims<T>> -> tensor<?x2x16x32xf16, #graph.dims<C>>
  %vs1 = graph.scatter %kh, %vs, %slots row_axis 1 : tensor<?x2x16xf32, #graph.dims<T>>, tensor<?x32x2x16xf16, #graph.dims<C>>, tensor<?xi32, #graph.dims<T>> -> tensor<?x32x2x16xf16, #graph.dims<C>>
  %o = graph.attend %qr, %ks1, %vs1, %positions, %pages, %lengths, %blocks scale 0.25 : tensor<?x4x16xf32, #graph.dims<T>>, tensor<?x2x16x32xf16, #graph.dims<C>>, tensor<?x32x2x16xf16, #graph.dims<C>>, tensor<?xi32, #graph.dims<T>>, tensor<?x?xi32, #graph.dims<S, P>>, tensor<?xi32, #graph.dims<S>>, tensor<?x3xi32, #graph.dims<B>> -> tensor<?x4x16xf32, #graph.dims<T>>
  %flat = graph.reshape %o : tensor<?x4x16xf32, #graph.dims<T>> -> tensor<?x64xf32, #graph.dims<T>>
  %sum = graph.map %flat, %x : tensor<?x64xf32, #graph.dims<T>>, tensor<?x64xf32, #graph.dims<T>> -> tensor<?x64xf32, #graph.dims<T>> {
  ^bb0(%l: f32, %r: f32):
    %s = arith.addf %l, %r : f32
    graph.yield %s : f32
  }
  graph.output "rows", %sum : tensor<?x64xf32, #graph.dims<T>>
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

TEST_F(Graph, DialectHasAtMostFortyFiveOperations) {
  size_t count = 0;
  for (mlir::RegisteredOperationName name : context_.getRegisteredOperations())
    count += name.getDialectNamespace() == "graph";
  EXPECT_GT(count, 10u);
  EXPECT_LE(count, 45u);
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
    %i = graph.input "i" : tensor<?xi32, #graph.dims<T>>
    %g = graph.gather %t, %i : tensor<8x4xf32>, tensor<?xi32, #graph.dims<T>> -> tensor<?x5xf32, #graph.dims<T>>)",
          "expected axis 1 of the first to equal axis 1 of the second");
}

TEST_F(Graph, ContractOverDifferentExtentsIsRefused) {
  refuses(R"(%a = graph.input "a" : tensor<?x64xf32, #graph.dims<T>>
    %b = graph.weight ["b"] : tensor<8x32xf32>
    %c = graph.contract %a, %b : tensor<?x64xf32, #graph.dims<T>>, tensor<8x32xf32> -> tensor<?x8xf32, #graph.dims<T>>)",
          "a is 'tensor<?x64xf32, #graph.dims<T>>' and b is 'tensor<8x32xf32>', expected axis 1");
}

TEST_F(Graph, ContractWithAnotherSymbolIsRefused) {
  refuses(R"(%a = graph.input "a" : tensor<?x64xf32, #graph.dims<T>>
    %b = graph.weight ["b"] : tensor<8x64xf32>
    %c = graph.contract %a, %b : tensor<?x64xf32, #graph.dims<T>>, tensor<8x64xf32> -> tensor<?x8xf32, #graph.dims<R>>)",
          "expected axis 0 of the first to equal axis 0 of the second");
}

TEST_F(Graph, QuantizedActivationsNeedABlockFormatOnTheRight) {
  refuses(R"(%a = graph.input "a" : tensor<?x64x!tile.block<"q8a">, #graph.dims<T>>
    %b = graph.weight ["b"] : tensor<8x64xf32>
    %c = graph.contract %a, %b : tensor<?x64x!tile.block<"q8a">, #graph.dims<T>>, tensor<8x64xf32> -> tensor<?x8xf32, #graph.dims<T>>)",
          "expected a block format on both sides or f32 on the left");
}

TEST_F(Graph, MapWithWorkOfAnotherDialectIsRefused) {
  refuses(R"(%a = graph.input "a" : tensor<4xf32>
    %m = graph.map %a : tensor<4xf32> -> tensor<4xf32> {
    ^bb0(%l: f32):
      %x = graph.input "x" : tensor<4xf32>
      graph.yield %l : f32
    })",
          "contains 'graph.input', expected arith and math only");
}

TEST_F(Graph, SliceBeyondTheLastColumnIsRefused) {
  refuses(R"(%a = graph.input "a" : tensor<?x64xf32, #graph.dims<T>>
    %s = graph.slice %a from 40 : tensor<?x64xf32, #graph.dims<T>> -> tensor<?x32xf32, #graph.dims<T>>)",
          "takes columns from 40");
}

TEST_F(Graph, ReshapeToOtherElementsIsRefused) {
  refuses(R"(%a = graph.input "a" : tensor<?x64xf32, #graph.dims<T>>
    %s = graph.reshape %a : tensor<?x64xf32, #graph.dims<T>> -> tensor<?x3x16xf32, #graph.dims<T>>)",
          "expected the same elements");
}

TEST_F(Graph, RopeOverMoreThanAHeadIsRefused) {
  refuses(R"(%a = graph.input "a" : tensor<?x2x16xf32, #graph.dims<T>>
    %p = graph.input "p" : tensor<?xi32, #graph.dims<T>>
    %r = graph.rope halves %a, %p dims 18 base 1.0e4 : tensor<?x2x16xf32, #graph.dims<T>>, tensor<?xi32, #graph.dims<T>> -> tensor<?x2x16xf32, #graph.dims<T>>)",
          "rotates 18 elements");
}

TEST_F(Graph, ScatterIntoAnotherHeadCountIsRefused) {
  refuses(R"(%r = graph.input "r" : tensor<?x2x16xf32, #graph.dims<T>>
    %s = graph.state "s" : tensor<?x32x3x16xf16, #graph.dims<C>>
    %i = graph.input "i" : tensor<?xi32, #graph.dims<T>>
    %n = graph.scatter %r, %s, %i row_axis 1 : tensor<?x2x16xf32, #graph.dims<T>>, tensor<?x32x3x16xf16, #graph.dims<C>>, tensor<?xi32, #graph.dims<T>> -> tensor<?x32x3x16xf16, #graph.dims<C>>)",
          "expected axis 1 of the first to equal axis 2 of the second");
}

TEST_F(Graph, HeadsThatAreNoMultipleOfKeyHeadsAreRefused) {
  refuses(R"(%q = graph.input "q" : tensor<?x3x16xf32, #graph.dims<T>>
    %k = graph.state "k" : tensor<?x2x16x32xf16, #graph.dims<C>>
    %v = graph.state "v" : tensor<?x32x2x16xf16, #graph.dims<C>>
    %p = graph.input "p" : tensor<?xi32, #graph.dims<T>>
    %t = graph.input "t" : tensor<?x?xi32, #graph.dims<S, P>>
    %l = graph.input "l" : tensor<?xi32, #graph.dims<S>>
    %b = graph.input "b" : tensor<?x3xi32, #graph.dims<B>>
    %o = graph.attend %q, %k, %v, %p, %t, %l, %b scale 0.25 : tensor<?x3x16xf32, #graph.dims<T>>, tensor<?x2x16x32xf16, #graph.dims<C>>, tensor<?x32x2x16xf16, #graph.dims<C>>, tensor<?xi32, #graph.dims<T>>, tensor<?x?xi32, #graph.dims<S, P>>, tensor<?xi32, #graph.dims<S>>, tensor<?x3xi32, #graph.dims<B>> -> tensor<?x3x16xf32, #graph.dims<T>>)",
          "expected heads to be a multiple of the keys' heads");
}

} // namespace
} // namespace sinter::graph
