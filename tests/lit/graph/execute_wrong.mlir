// Graphs that the evaluator runs and no kernel computes: one clear sentence with the operation's place.
// RUN: not %sinter_compiler graph run %s --function axes --target host 2>&1 | FileCheck %s --check-prefix=AXES
// RUN: not %sinter_compiler graph run %s --function blocks --target host 2>&1 | FileCheck %s --check-prefix=BLOCKS
// RUN: not %sinter_compiler graph run %s --function nothing --target host 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: %sinter_compiler graph run %s --function axes
// RUN: %sinter_compiler graph run %s --function blocks

// AXES: execute_wrong.mlir:[[#@LINE+4]]:8: a kernel would have views of 7 axes, expected at most 6
func.func @axes() {
  %x = graph.input "x" : tensor<2x3x2x3x2x3x2xf32>

  %t = graph.transpose %x to [6, 5, 4, 3, 2, 1, 0] : tensor<2x3x2x3x2x3x2xf32> -> tensor<2x3x2x3x2x3x2xf32>
  graph.output "t", %t : tensor<2x3x2x3x2x3x2xf32>
  return
}

// BLOCKS: execute_wrong.mlir:[[#@LINE+5]]:8: a dot_general of such block formats has no generic kernel
func.func @blocks() {
  %x = graph.input "x" : tensor<2x4x32xf32>
  %w = graph.weight ["w"] : tensor<2x4x32x!tile.block<"q8_0">>

  %d = graph.dot_general %x, %w batch [0] x [0] contract [2] x [2] : tensor<2x4x32xf32>, tensor<2x4x32x!tile.block<"q8_0">> -> tensor<2x4x4xf32>
  graph.output "d", %d : tensor<2x4x4xf32>
  return
}

// NOTHING: the graph computes nothing, expected an output
func.func @nothing() {
  %x = graph.input "x" : tensor<2xf32>
  return
}
