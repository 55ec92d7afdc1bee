// Graphs from text, for the engine's tests.
#pragma once

#include "graph/graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>
#include <string>

namespace sinter::engine {

// A function `step` around `body`, verified. Its types: !x is [T, 64] f32, !t is [T] i32.
class GraphText {
public:
  explicit GraphText(const std::string &body) {
    graph::loadDialects(context_);
    module_ = mlir::parseSourceString<mlir::ModuleOp>(
        "!x = tensor<?x64xf32, #graph.dims<T>>\n!t = tensor<?xi32, #graph.dims<T>>\n"
        "func.func @step() {\n" +
            body + "\nreturn\n}",
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
