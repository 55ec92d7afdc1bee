// sinter-opt: runs passes by name over textual IR of any of Sinter's dialects, for developers and
// lit tests.
#include "graph/graph.h"
#include "graph/rewrite/pass_list.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "sched/sched.h"
#include "tile/tile.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry dialects;
  dialects.insert<sinter::graph::GraphDialect, sinter::tile::TileDialect,
                  sinter::sched::SchedDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::math::MathDialect, mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
  mlir::registerTransformsPasses();
  sinter::graph::registerPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "runs Sinter's passes on textual IR\n", dialects));
}
