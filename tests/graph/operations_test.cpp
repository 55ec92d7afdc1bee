// Operations on tensors of any rank: their text reads back, and symbols that nothing binds are
// refused.
#include "graph/graph.h"
#include "graph/ir/symbols.h"
#include "tile/mlir_pch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::graph {
namespace {

using testing::HasSubstr;

class Operations : public testing::Test {
protected:
  Operations() { loadDialects(context_); }
  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &body) {
    return mlir::parseSourceString<mlir::ModuleOp>("func.func @step() {\n" + body + "\nreturn\n}",
                                                   &context_);
  }
  static std::string print(mlir::ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream out(text);
    module->print(out);
    return text;
  }
  mlir::MLIRContext context_;
};

constexpr const char *kAll = R"(
  %a = graph.input "a" : tensor<?x3x8xf32, #graph.dims<T>>
  %c = graph.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %s = graph.reduce sum %a over [0, 2] : tensor<?x3x8xf32, #graph.dims<T>> -> tensor<3xf32>
  %k = graph.reduce max %a over [1] : tensor<?x3x8xf32, #graph.dims<T>> -> tensor<?x1x8xf32, #graph.dims<T>>
  %m = graph.map %a, %k : tensor<?x3x8xf32, #graph.dims<T>>, tensor<?x1x8xf32, #graph.dims<T>>
      -> tensor<?x3x8xf32, #graph.dims<T>> {
  ^bb0(%l: f32, %r: f32):
    %d = arith.subf %l, %r : f32
    graph.yield %d : f32
  }
  %f = graph.map : -> tensor<?x3xi1, #graph.dims<T>> {
    %t = arith.constant true
    graph.yield %t : i1
  }
  %n = graph.norm layer %a, %c bias %s over [1] eps 1.0e-5
      : tensor<?x3x8xf32, #graph.dims<T>>, tensor<3xf32> bias tensor<3xf32> -> tensor<?x3x8xf32, #graph.dims<T>>
  %p = graph.norm %a eps 1.0e-5 : tensor<?x3x8xf32, #graph.dims<T>> -> tensor<?x3x8xf32, #graph.dims<T>>
  %t = graph.transpose %a to [2, 0, 1] : tensor<?x3x8xf32, #graph.dims<T>> -> tensor<8x?x3xf32, #graph.dims<T>>
  %r = graph.reshape %a : tensor<?x3x8xf32, #graph.dims<T>> -> tensor<?x4xf32, #graph.dims<"6*T">>
  %x = graph.slice %a from [0, 0, 1] step [1, 2, 3] : tensor<?x3x8xf32, #graph.dims<T>>
      -> tensor<?x2x3xf32, #graph.dims<T>>
  %y = graph.concat %a, %m along 0 : tensor<?x3x8xf32, #graph.dims<T>>, tensor<?x3x8xf32, #graph.dims<T>>
      -> tensor<?x3x8xf32, #graph.dims<"T*2">>
  %z = graph.pad %a low [1, 0, 0] high [2, 0, 1] fill -1.0 : f32 : tensor<?x3x8xf32, #graph.dims<T>>
      -> tensor<?x3x9xf32, #graph.dims<"T+3">>
  %i = graph.iota along 1 : tensor<?x2xi32, #graph.dims<T>>
  %g = graph.gather %a, %i along 1 : tensor<?x3x8xf32, #graph.dims<T>>, tensor<?x2xi32, #graph.dims<T>>
      -> tensor<?x?x2x8xf32, #graph.dims<T, T>>
  %h = graph.reduce any %f over [0, 1] : tensor<?x3xi1, #graph.dims<T>> -> tensor<i1>
  graph.output "h", %h : tensor<i1>
)";

TEST_F(Operations, TextReadsBackTheSame) {
  auto first = parse(kAll);
  ASSERT_TRUE(first);
  const std::string text = print(*first);
  auto second = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
  ASSERT_TRUE(second);
  EXPECT_EQ(print(*second), text);
  EXPECT_THAT(text, HasSubstr("#graph.dims<\"2*T\">"));
}

TEST_F(Operations, SymbolThatNoInputHasAloneIsRefused) {
  const auto unbound = [&](const std::string &type) {
    auto module = parse("%a = graph.input \"a\" : tensor<?xf32, #graph.dims<T>>\n"
                        "%i = graph.iota along 0 : " +
                        type);
    EXPECT_TRUE(module);
    std::string message;
    mlir::ScopedDiagnosticHandler handler(&context_, [&](mlir::Diagnostic &diagnostic) {
      message += diagnostic.str();
      return mlir::success();
    });
    return mlir::succeeded(verifySymbols(*module->getOps<mlir::func::FuncOp>().begin())) ? ""
                                                                                         : message;
  };
  EXPECT_EQ(unbound("tensor<?xi32, #graph.dims<\"2*T\">>"), "");
  EXPECT_THAT(unbound("tensor<?xi32, #graph.dims<\"T+U\">>"),
              HasSubstr("whose symbol 'U' cannot be bound"));
}

TEST(Binding, ShapesThatContradictOneAnotherAreRefused) {
  mlir::MLIRContext context;
  loadDialects(context);
  const mlir::Type f32 = mlir::Float32Type::get(&context);
  Binding binding;
  ASSERT_TRUE(binding.bind("a", tensorOf({"T", 4}, f32), {3, 4}));
  EXPECT_EQ(binding.shapeOf(tensorOf({"2*T", 4}, f32))->front(), 6);
  EXPECT_EQ(binding.bind("b", tensorOf({"T"}, f32), {5}).error().message,
            "axis 0 of 'b' is 5, expected 'T', which is 3");
  EXPECT_EQ(binding.bind("b", tensorOf({"T"}, f32), {5, 1}).error().message,
            "'b' has 2 dimensions, expected 1");
  EXPECT_EQ(binding.check("a", tensorOf({"T", 4}, f32), {3, 5}).error().message,
            "axis 1 of 'a' is 5, expected 4");
  binding.set("N", int64_t(1) << 31);
  EXPECT_THAT(binding.shapeOf(tensorOf({"N", "N"}, f32)).error().message,
              HasSubstr("overflow 63 bits"));
}

} // namespace
} // namespace sinter::graph
