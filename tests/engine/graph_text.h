// Graphs from text, for the engine's tests.
#pragma once

#include "graph/graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>
#include <string>

namespace sinter::engine {

// The symbols of a decoder, with its roles.
inline constexpr const char *kDecoderSymbols = R"(
  #graph.symbol<"T", 1 to 65536, tokens>, #graph.symbol<"S", 1 to 65536>,
  #graph.symbol<"B", 1 to 65536>, #graph.symbol<"R", 0 to 65536>, #graph.symbol<"C", 0 to 65536>,
  #graph.symbol<"P", 1 to 16777216>, #graph.symbol<"N", 1 to 2147483647>,
  #graph.symbol<"G", 0 to 1, decode>, #graph.symbol<"K", 0 to 9223372036854775807, keys_held>,
  #graph.symbol<"V", 0 to 9223372036854775807, keys_seen>,
  #graph.symbol<"L", 256 to 2147483648, longest_context>)";

// Attention over a paged KV cache, as a body of GraphText.
inline constexpr const char *kAttend = R"(
    %q = graph.input "q" : tensor<?x4x64xf32, #graph.dims<T>>
    %k = graph.state "keys" : tensor<?x2x64x32xf16, #graph.dims<N>>
    %v = graph.state "values" : tensor<?x2x32x64xf16, #graph.dims<N>>
    %p = graph.input "positions" : !t
    %t = graph.input "pages" : tensor<?x?xi32, #graph.dims<S, P>>
    %l = graph.input "lengths" : tensor<?xi32, #graph.dims<S>>
    %b = graph.input "blocks" : tensor<?x3xi32, #graph.dims<B>>
    %o = graph.paged_attention %q, %k, %v, %p, %t, %l, %b scale 0.25
        : tensor<?x4x64xf32, #graph.dims<T>>, tensor<?x2x64x32xf16, #graph.dims<N>>,
          tensor<?x2x32x64xf16, #graph.dims<N>>, !t, tensor<?x?xi32, #graph.dims<S, P>>,
          tensor<?xi32, #graph.dims<S>>, tensor<?x3xi32, #graph.dims<B>>
          -> tensor<?x4x64xf32, #graph.dims<T>>
    graph.output "o", %o : tensor<?x4x64xf32, #graph.dims<T>>
)";

// A function `step` around `body`, verified, in a module with these symbols. Its types: !x is
// [T, 64] f32, !t is [T] i32.
class GraphText {
public:
  explicit GraphText(const std::string &body, const std::string &symbols = kDecoderSymbols) {
    graph::loadDialects(context_);
    module_ = mlir::parseSourceString<mlir::ModuleOp>(
        "!x = tensor<?x64xf32, #graph.dims<T>>\n!t = tensor<?xi32, #graph.dims<T>>\n"
        "module attributes {graph.symbols = [" +
            symbols + "]} {\nfunc.func @step() {\n" + body + "\nreturn\n}\n}",
        &context_);
    EXPECT_TRUE(module_) << body;
  }
  mlir::MLIRContext &context() { return context_; }
  mlir::ModuleOp module() { return *module_; }
  mlir::func::FuncOp step() { return *module_->getOps<mlir::func::FuncOp>().begin(); }
  // The only operation of its kind.
  template <class Op> Op only() {
    Op found;
    module_->walk([&](Op op) {
      EXPECT_FALSE(found);
      found = op;
    });
    EXPECT_TRUE(found);
    return found;
  }

private:
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

} // namespace sinter::engine
