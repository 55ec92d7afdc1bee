// Folds, gathers with batch axes, weights in blocks as operands of general operations, and a state, compiled and
// compared with the evaluator.
// RUN: %sinter_compiler graph run %s --function softmax_and_argmax --size T=5 --target host --compare | FileCheck %s
// RUN: %sinter_compiler graph run %s --function softmax_and_argmax --size T=0 --target host --compare | FileCheck %s --check-prefix=EMPTY
// RUN: %sinter_compiler graph run %s --function blocks --target host --compare | FileCheck %s
// RUN: %sinter_compiler graph run %s --function state --size T=3 --target host --compare | FileCheck %s

// CHECK: largest error: {{.*}}; the evaluator's in f32:
// EMPTY: at: 0xi32

!rows = tensor<?x40xf32, #graph.dims<T>>
!row = tensor<?xf32, #graph.dims<T>>
!index = tensor<?xi32, #graph.dims<T>>

// The running maximum and sum of a softmax in one fold, an argmax, and each row's own element by a batched gather.
func.func @softmax_and_argmax() {
  %x = graph.input "x" : !rows
  %high, %total = graph.fold %x from [0xFF800000 : f32, 0.0 : f32] over [1] : !rows -> !row, !row {
  ^bb0(%m: f32, %s: f32, %e: f32):
    %n = arith.maximumf %m, %e : f32
    %d = arith.subf %m, %n : f32
    %f = math.exp %d : f32
    %g = arith.subf %e, %n : f32
    %h = math.exp %g : f32
    %t = math.fma %s, %f, %h : f32
    graph.yield %n, %t : f32, f32
  }
  %i = graph.iota along 1 : tensor<?x40xi32, #graph.dims<T>>
  %most, %at = graph.fold %x, %i from [-2.0 : f32, -1 : i32] over [1]
      : !rows, tensor<?x40xi32, #graph.dims<T>> -> !row, !index {
  ^bb0(%m: f32, %n: i32, %e: f32, %k: i32):
    %l = arith.cmpf ogt, %e, %m : f32
    %a = arith.select %l, %e, %m : f32
    %b = arith.select %l, %k, %n : i32
    graph.yield %a, %b : f32, i32
  }
  %found = graph.gather %x, %at batch [0] x [0] along 1 : !rows, !index -> !row
  %same = graph.map %found, %most : !row, !row -> tensor<?xi1, #graph.dims<T>> {
  ^bb0(%a: f32, %b: f32):
    %e = arith.cmpf oeq, %a, %b : f32
    graph.yield %e : i1
  }
  graph.output "high", %high : !row
  graph.output "total", %total : !row
  graph.output "at", %at : !index
  graph.output "same", %same : tensor<?xi1, #graph.dims<T>>
  return
}

!w = tensor<3x4x64x!tile.block<"q4_0">>
!turned = tensor<4x3x64x!tile.block<"q4_0">>

// A batched product, a gather of each batch's own rows, and floats of moved blocks.
func.func @blocks() {
  %x = graph.input "x" : tensor<3x5x64xf32>
  %i = graph.input "i" : tensor<3x2xi32>
  %w = graph.weight ["w"] : !w
  %d = graph.dot_general %x, %w batch [0] x [0] contract [2] x [2] : tensor<3x5x64xf32>, !w -> tensor<3x5x4xf32>
  %g = graph.gather %w, %i batch [0] x [0] along 1 : !w, tensor<3x2xi32> -> tensor<3x2x64xf32>
  %t = graph.transpose %w to [1, 0, 2] : !w -> !turned
  %f = graph.dequantize %t : !turned -> tensor<4x3x64xf32>
  %n = graph.norm layer %f over [0] eps 1.0e-5 : tensor<4x3x64xf32> -> tensor<4x3x64xf32>
  graph.output "d", %d : tensor<3x5x4xf32>
  graph.output "g", %g : tensor<3x2x64xf32>
  graph.output "n", %n : tensor<4x3x64xf32>
  return
}

!pool = tensor<2x1x2x32x!tile.block<"q8_0">>

// The compared state holds what the run appends.
func.func @state() {
  %x = graph.input "x" : tensor<?x1x32xf32, #graph.dims<T>>
  %slots = graph.iota along 0 : !index
  %before = graph.state "values" : !pool
  %after = graph.kv_append values %x at %slots into %before
      : tensor<?x1x32xf32, #graph.dims<T>>, !index into !pool -> !pool
  %y = graph.reduce max %x over [1, 2] : tensor<?x1x32xf32, #graph.dims<T>> -> !row
  graph.output "y", %y : !row
  return
}
