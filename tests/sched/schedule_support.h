// Schedules textual kernels in tile form.
#pragma once

#include "sched/simt/schedule.h"
#include "sched/simt_support.h"

#include "tile/interpreter/engine.h"

namespace sinter::sched {

/// What is made of a kernel; with the first diagnostic of scheduling, without its place, where
/// there is one.
struct Made {
  std::unique_ptr<mlir::MLIRContext> context = std::make_unique<mlir::MLIRContext>();
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string message = "scheduled";

  tile::KernelOp kernel() { return *module->getOps<tile::KernelOp>().begin(); }
};

inline Made made(const std::string &text, const SimtFacts &facts) {
  Made result;
  mlir::MLIRContext &context = *result.context;
  context
      .loadDialect<tile::TileDialect, SchedDialect, mlir::arith::ArithDialect,
                   mlir::math::MathDialect, mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    if (message.empty())
      message = diagnostic.str();
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context, "kernel.mlir");
  auto scheduled =
      module ? scheduleSimt(*module, facts) : fail(Code::InvalidArgument, "does not parse");
  if (scheduled)
    result.module = std::move(*scheduled);
  else
    result.message = message;
  return result;
}

} // namespace sinter::sched
