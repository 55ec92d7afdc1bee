// Runs textual kernels of both dialects in the scheduled interpreter's tests.
#pragma once

#include "sched/interpreter/interpreter.h"
#include "sched/sched.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

namespace sinter::sched {

/// Parses modules named "kernel.mlir" in locations; keeps them.
class KernelText {
public:
  explicit KernelText(const std::string &text) {
    context_.loadDialect<tile::TileDialect, SchedDialect, mlir::arith::ArithDialect,
                         mlir::math::MathDialect, mlir::scf::SCFDialect>();
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, &context_, "kernel.mlir");
  }
  /// Null where the text did not parse (which has printed why).
  tile::KernelOp kernel() {
    if (!module_ || module_->getOps<tile::KernelOp>().empty())
      return nullptr;
    return *module_->getOps<tile::KernelOp>().begin();
  }

private:
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

/// A file of tests/sched.
inline std::string textOf(const std::string &name) {
  std::ifstream stream(std::string(SINTER_TEST_DIR "/sched/") + name);
  EXPECT_TRUE(stream.good()) << name;
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

inline Result<tile::RunStatistics> runKernel(const std::string &text,
                                             std::vector<tile::Argument> arguments,
                                             const InterpreterOptions &options = {}) {
  KernelText parsed(text);
  if (!parsed.kernel())
    return fail(Code::InvalidArgument, "the text does not parse");
  return interpretKernel(parsed.kernel(), arguments, options);
}

/// A kernel of one program with %x: 16 f32 in, %y: 16 f32 out and the constants %c0, %c1, %c8 and
/// %c12 around `body`, which begins on line 8 of kernel.mlir.
inline std::string kernelAround(const std::string &body) {
  return "tile.kernel @k(%x: !tile.view<16xf32, in>, %y: !tile.view<16xf32, out>) {\n"
         "%c0 = arith.constant 0 : index\n"
         "%c1 = arith.constant 1 : index\n"
         "%c8 = arith.constant 8 : index\n"
         "%c12 = arith.constant 12 : index\n"
         "tile.grid %c1, %c1, %c1\n"
         "%t = tile.load %x[%c0] : !tile.view<16xf32, in> -> tensor<16xf32>\n" +
         body + "\n}\n";
}

/// The 16 results of kernelAround(body) on 0, 1, ..., 15; the message where it fails.
struct Outcome {
  std::vector<float> values = std::vector<float>(16, -1.0f);
  std::string message = "succeeded";
};
inline Outcome runAround(const std::string &body, const InterpreterOptions &options = {}) {
  Outcome outcome;
  std::vector<float> x(16);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i);
  auto result = runKernel(kernelAround(body),
                          {tile::HostView::contiguous(x.data(), {16}),
                           tile::HostView::contiguous(outcome.values.data(), {16})},
                          options);
  if (!result)
    outcome.message = result.error().message;
  return outcome;
}

} // namespace sinter::sched
