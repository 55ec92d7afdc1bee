// RUN: %sinter_opt --join-matmuls --join-maps --split-input-file %s | FileCheck %s

!x = tensor<?x64xf32, #graph.dims<T>>
!part = tensor<?x32xf32, #graph.dims<T>>
!w = tensor<32x64xf16>

// CHECK-LABEL: @biases_are_one_map
// CHECK: graph.weight ["qb", "kb"] : tensor<64xf32>
// CHECK: graph.map
// CHECK-NOT: graph.map
func.func @biases_are_one_map() {
  %x = graph.input "x" : !x
  %q = graph.weight ["q"] : !w
  %k = graph.weight ["k"] : !w
  %qb = graph.weight ["qb"] : tensor<32xf32>
  %kb = graph.weight ["kb"] : tensor<32xf32>
  %a = graph.dot_general %x, %q : !x, !w -> !part
  %b = graph.dot_general %x, %k : !x, !w -> !part
  %c = graph.map %a, %qb : !part, tensor<32xf32> -> !part {
  ^bb0(%u: f32, %v: f32):
    %r = arith.addf %u, %v : f32
    graph.yield %r : f32
  }
  %d = graph.map %b, %kb : !part, tensor<32xf32> -> !part {
  ^bb0(%u: f32, %v: f32):
    %r = arith.addf %u, %v : f32
    graph.yield %r : f32
  }
  graph.output "q", %c : !part
  graph.output "k", %d : !part
  return
}

// -----

!x = tensor<?x64xf32, #graph.dims<T>>
!part = tensor<?x32xf32, #graph.dims<T>>
!w = tensor<32x64xf16>

// A scale of one element is no vector of columns.
// CHECK-LABEL: @scales_stay_apart
// CHECK-COUNT-2: graph.map
func.func @scales_stay_apart() {
  %x = graph.input "x" : !x
  %q = graph.weight ["q"] : !w
  %k = graph.weight ["k"] : !w
  %qs = graph.weight ["qs"] : tensor<1xf32>
  %ks = graph.weight ["ks"] : tensor<1xf32>
  %a = graph.dot_general %x, %q : !x, !w -> !part
  %b = graph.dot_general %x, %k : !x, !w -> !part
  %c = graph.map %a, %qs : !part, tensor<1xf32> -> !part {
  ^bb0(%u: f32, %v: f32):
    %r = arith.mulf %u, %v : f32
    graph.yield %r : f32
  }
  %d = graph.map %b, %ks : !part, tensor<1xf32> -> !part {
  ^bb0(%u: f32, %v: f32):
    %r = arith.mulf %u, %v : f32
    graph.yield %r : f32
  }
  graph.output "q", %c : !part
  graph.output "k", %d : !part
  return
}
