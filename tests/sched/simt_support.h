// Runs textual kernels in SIMT IR: a body between constants, three views and a thread block.
#pragma once

#include "sched/interp_support.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace sinter::sched {

/// Threads, shared bytes and programs of a kernel around a body, and blocks of each program.
struct Block {
  int64_t threads = 4;
  int64_t shared = 64;
  int64_t programs = 1;
  int64_t blocks = 1;
};

/// A kernel with %x: 16 f32 in, %y: 16 f32 out, %z: 16 f32 inout and these names: constants %c0,
/// %c1, %c4, %i0, %i4, %i16 (i32), %yes, %no, %f0, %f1; %t the thread, %ti it as index, %b4 four
/// times it and %s4 four times it as i32; %p the program. `body` begins on line 22 of kernel.mlir.
inline std::string simtKernel(const std::string &body, const Block &block = {}) {
  return "tile.kernel @k(%x: !tile.view<16xf32, in>, %y: !tile.view<16xf32, out>, "
         "%z: !tile.view<16xf32, inout>) attributes {sched.threads = " +
         std::to_string(block.threads) + " : i64, sched.shared = " + std::to_string(block.shared) +
         " : i64, sched.blocks = " + std::to_string(block.blocks) +
         " : i64} {\n"
         "%c0 = arith.constant 0 : index\n"
         "%c1 = arith.constant 1 : index\n"
         "%c4 = arith.constant 4 : index\n"
         "%cprograms = arith.constant " +
         std::to_string(block.programs) +
         " : index\n"
         "%i0 = arith.constant 0 : i32\n"
         "%i4 = arith.constant 4 : i32\n"
         "%i16 = arith.constant 16 : i32\n"
         "%yes = arith.constant true\n"
         "%no = arith.constant false\n"
         "%f0 = arith.constant 0.0 : f32\n"
         "%f1 = arith.constant 1.0 : f32\n"
         "%v0 = arith.constant dense<0.0> : vector<4xf32>\n"
         "%odd = arith.constant 2 : index\n"
         "tile.grid %cprograms, %c1, %c1\n"
         "%p = tile.program_id 0\n"
         "%t = sched.thread\n"
         "%ti = arith.index_castui %t : i32 to index\n"
         "%b4 = arith.muli %ti, %c4 : index\n"
         "%s4 = arith.muli %t, %i4 : i32\n"
         "%first = arith.cmpi eq, %t, %i0 : i32\n" +
         body + "\n}\n";
}

/// One 4-byte access each.
inline std::string load(const std::string &result, const std::string &view, const std::string &byte,
                        const std::string &when = "%yes") {
  std::string access = view == "%x" ? "in" : view == "%y" ? "out" : "inout";
  return result + " = sched.view_load " + view + "[" + byte + "] when " + when +
         " else %f0 : !tile.view<16xf32, " + access + "> -> f32\n";
}
inline std::string store(const std::string &value, const std::string &view, const std::string &byte,
                         const std::string &when = "%yes") {
  std::string access = view == "%x" ? "in" : view == "%y" ? "out" : "inout";
  return "sched.view_store " + value + ", " + view + "[" + byte + "] when " + when +
         " : f32, !tile.view<16xf32, " + access + ">\n";
}
inline std::string share(const std::string &value, const std::string &byte,
                         const std::string &when = "%yes") {
  return "sched.shared_store " + value + ", [" + byte + "] when " + when + " : f32\n";
}
inline std::string fetch(const std::string &result, const std::string &byte) {
  return result + " = sched.shared_load [" + byte + "] : f32\n";
}
inline const std::string kBarrier = "sched.barrier\n";

/// What a run of simtKernel(body) left: %x is 0, 1, ..., 15, %y is -1 and %z 100, 101, ... before.
struct SimtOutcome {
  std::vector<float> y = std::vector<float>(16, -1.0f), z = std::vector<float>(16);
  std::string message = "succeeded";
};

inline Result<tile::RunStatistics> runSimt(const std::string &text,
                                           std::vector<tile::Argument> arguments,
                                           const InterpreterOptions &options = {}) {
  mlir::MLIRContext context;
  context
      .loadDialect<tile::TileDialect, SchedDialect, mlir::arith::ArithDialect,
                   mlir::math::MathDialect, mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context, "kernel.mlir");
  if (!module)
    return fail(Code::InvalidArgument, "the text does not parse");
  return interpretKernel(*module->getOps<tile::KernelOp>().begin(), arguments, options);
}

inline SimtOutcome runBody(const std::string &body, const Block &block = {},
                           const InterpreterOptions &options = {}) {
  SimtOutcome outcome;
  std::vector<float> x(16);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i);
    outcome.z[i] = 100.0f + x[i];
  }
  auto result = runSimt(simtKernel(body, block),
                        {tile::HostView::contiguous(x.data(), {16}),
                         tile::HostView::contiguous(outcome.y.data(), {16}),
                         tile::HostView::contiguous(outcome.z.data(), {16})},
                        options);
  if (!result)
    outcome.message = result.error().message;
  return outcome;
}

/// The message of a kernel that must fail, without the program, which is 0, 0, 0.
inline std::string refusal(const std::string &body, const Block &block = {},
                           const InterpreterOptions &options = {}) {
  std::string message = runBody(body, block, options).message;
  const std::string tail = " (in program 0, 0, 0)";
  if (size_t at = message.find(tail); at != std::string::npos)
    message.erase(at);
  return message;
}

} // namespace sinter::sched
