// Runs textual kernels in the interpreter's tests: parsing, memory for views, and one-tile kernels
// around a few operations.
#pragma once

#include "tile/interpreter/interpreter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace sinter::tile {

/// Parses modules named "kernel.mlir" in locations; keeps them.
class KernelText {
public:
  explicit KernelText(const std::string &text) {
    context_.loadDialect<TileDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                         mlir::scf::SCFDialect>();
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, &context_, "kernel.mlir");
  }
  /// Null where the text did not parse (which has printed why).
  KernelOp kernel() {
    if (!module_ || module_->getOps<KernelOp>().empty())
      return nullptr;
    return *module_->getOps<KernelOp>().begin();
  }

private:
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

/// Memory for a view without gaps.
template <typename T> HostView viewOf(std::vector<T> &data, std::vector<int64_t> shape) {
  return HostView::contiguous(data.data(), shape);
}

inline Result<RunStatistics> runKernel(const std::string &text, std::vector<Argument> arguments,
                                       const InterpreterOptions &options = {}) {
  KernelText parsed(text);
  if (!parsed.kernel())
    return fail(Code::InvalidArgument, "the text does not parse");
  return interpretKernel(parsed.kernel(), arguments, options);
}

/// The message of a run that must fail; "succeeded" otherwise.
inline std::string failureOf(const std::string &text, std::vector<Argument> arguments,
                             const InterpreterOptions &options = {}) {
  auto result = runKernel(text, std::move(arguments), options);
  return result ? "succeeded" : result.error().message;
}

/// Runs `body`, which maps tile %a (and %b) : tensor<Nx from> to %r : tensor<Nx to>.
template <typename To, typename From>
std::vector<To> runOnTiles(const std::string &fromType, const std::string &toType,
                           const std::string &body, std::vector<From> a, std::vector<From> b = {}) {
  std::string n = std::to_string(a.size());
  b.resize(a.size());
  std::vector<To> out(a.size());
  std::string from = n + "x" + fromType, to = n + "x" + toType;
  std::string text = "tile.kernel @k(%in0: !tile.view<" + from + ", in>, %in1: !tile.view<" + from +
                     ", in>, %result: !tile.view<" + to +
                     ", out>) {\n%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
                     "tile.grid %c1, %c1, %c1\n"
                     "%a = tile.load %in0[%c0] : !tile.view<" +
                     from + ", in> -> tensor<" + from +
                     ">\n"
                     "%b = tile.load %in1[%c0] : !tile.view<" +
                     from + ", in> -> tensor<" + from + ">\n" + body +
                     "\ntile.store %r, %result[%c0] : tensor<" + to + ">, !tile.view<" + to +
                     ", out>\n}";
  int64_t count = static_cast<int64_t>(a.size());
  auto result = runKernel(text, {viewOf(a, {count}), viewOf(b, {count}), viewOf(out, {count})});
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message);
  return out;
}

} // namespace sinter::tile
