// RUN: %sinter_opt --join-matmuls --split-input-file %s | FileCheck %s

!x = tensor<?x64xf32, #graph.dims<T>>
!wide = tensor<?x96xf32, #graph.dims<T>>
!q4 = tensor<32x64x!tile.block<"q4_1">>

// CHECK-LABEL: @two_matmuls_of_one_value
// CHECK: %[[X:.*]] = graph.input "x"
// CHECK: %[[W:.*]] = graph.weight ["q", "k"] : tensor<64x64x!tile.block<"q4_1">>
// CHECK: %[[ALL:.*]] = graph.dot_general %[[X]], %[[W]]
// CHECK-NOT: graph.dot_general
// CHECK: %[[Q:.*]] = graph.slice %[[ALL]] from [0, 0] : {{.*}} -> tensor<?x32xf32
// CHECK: %[[K:.*]] = graph.slice %[[ALL]] from [0, 32] : {{.*}} -> tensor<?x32xf32
// CHECK: graph.output "q", %[[Q]]
// CHECK: graph.output "k", %[[K]]
func.func @two_matmuls_of_one_value() {
  %x = graph.input "x" : !x
  %q = graph.weight ["q"] : !q4
  %k = graph.weight ["k"] : !q4
  %a = graph.dot_general %x, %q : !x, !q4 -> tensor<?x32xf32, #graph.dims<T>>
  %b = graph.dot_general %x, %k : !x, !q4 -> tensor<?x32xf32, #graph.dims<T>>
  graph.output "q", %a : tensor<?x32xf32, #graph.dims<T>>
  graph.output "k", %b : tensor<?x32xf32, #graph.dims<T>>
  return
}

// CHECK-LABEL: @weights_of_two_formats_stay_apart
// CHECK-COUNT-2: graph.dot_general
func.func @weights_of_two_formats_stay_apart() {
  %x = graph.input "x" : !x
  %q = graph.weight ["q"] : !q4
  %k = graph.weight ["k"] : tensor<32x64xf32>
  %a = graph.dot_general %x, %q : !x, !q4 -> tensor<?x32xf32, #graph.dims<T>>
  %b = graph.dot_general %x, %k : !x, tensor<32x64xf32> -> tensor<?x32xf32, #graph.dims<T>>
  graph.output "q", %a : tensor<?x32xf32, #graph.dims<T>>
  graph.output "k", %b : tensor<?x32xf32, #graph.dims<T>>
  return
}

// CHECK-LABEL: @two_values_stay_apart
// CHECK-COUNT-2: graph.dot_general
func.func @two_values_stay_apart() {
  %x = graph.input "x" : !x
  %y = graph.input "y" : !x
  %q = graph.weight ["q"] : !q4
  %k = graph.weight ["k"] : !q4
  %a = graph.dot_general %x, %q : !x, !q4 -> tensor<?x32xf32, #graph.dims<T>>
  %b = graph.dot_general %y, %k : !x, !q4 -> tensor<?x32xf32, #graph.dims<T>>
  graph.output "q", %a : tensor<?x32xf32, #graph.dims<T>>
  graph.output "k", %b : tensor<?x32xf32, #graph.dims<T>>
  return
}

// Batches and right sides that are no weights.
// CHECK-LABEL: @matmuls_of_two_values_stay
// CHECK-COUNT-3: graph.dot_general
func.func @matmuls_of_two_values_stay() {
  %x = graph.input "x" : tensor<2x3x4xf32>
  %w = graph.weight ["w"] : tensor<2x5x4xf32>
  %v = graph.input "v" : tensor<5x4xf32>
  %a = graph.dot_general %x, %w batch [0] x [0] contract [2] x [2]
      : tensor<2x3x4xf32>, tensor<2x5x4xf32> -> tensor<2x3x5xf32>
  %b = graph.dot_general %x, %w batch [0] x [0] contract [2] x [2]
      : tensor<2x3x4xf32>, tensor<2x5x4xf32> -> tensor<2x3x5xf32>
  %c = graph.dot_general %x, %v : tensor<2x3x4xf32>, tensor<5x4xf32> -> tensor<2x3x5xf32>
  graph.output "a", %a : tensor<2x3x5xf32>
  graph.output "b", %b : tensor<2x3x5xf32>
  graph.output "c", %c : tensor<2x3x5xf32>
  return
}
