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

// BLOCKS: execute_wrong.mlir:[[#@LINE+5]]:8: activations in blocks are dequantized, which no kernel does
func.func @blocks() {
  %x = graph.input "x" : tensor<4x32xf32>

  %q = graph.quantize %x : tensor<4x32xf32> -> tensor<4x32x!tile.block<"q8a">>
  %d = graph.dequantize %q : tensor<4x32x!tile.block<"q8a">> -> tensor<4x32xf32>
  graph.output "d", %d : tensor<4x32xf32>
  return
}

// NOTHING: the graph computes nothing, expected an output
func.func @nothing() {
  %x = graph.input "x" : tensor<2xf32>
  return
}
