// RUN: %sinter_opt --quantize-activations %s | FileCheck %s
// RUN: %sinter_opt --quantize-activations="round-scalars=true" %s | FileCheck %s --check-prefix=SCALARS

!x = tensor<?x256xf32, #graph.dims<T>>
!y = tensor<?x32xf32, #graph.dims<T>>

// CHECK-LABEL: @one_rounding_for_all_readers
// CHECK: %[[X:.*]] = graph.input "x"
// CHECK: %[[A:.*]] = graph.quantize %[[X]] : {{.*}}!tile.block<"q8a">
// CHECK-NOT: graph.quantize
// CHECK: graph.dot_general %[[A]], %{{.*}} : {{.*}}"q4_1"
// CHECK: graph.dot_general %[[A]], %{{.*}} : {{.*}}"q8_0"
func.func @one_rounding_for_all_readers() {
  %x = graph.input "x" : !x
  %q = graph.weight ["q"] : tensor<32x256x!tile.block<"q4_1">>
  %k = graph.weight ["k"] : tensor<32x256x!tile.block<"q8_0">>
  %a = graph.dot_general %x, %q : !x, tensor<32x256x!tile.block<"q4_1">> -> !y
  %b = graph.dot_general %x, %k : !x, tensor<32x256x!tile.block<"q8_0">> -> !y
  graph.output "a", %a : !y
  graph.output "b", %b : !y
  return
}

// CHECK-LABEL: @floats_stay
// CHECK-NOT: graph.quantize
// CHECK: return
// SCALARS-LABEL: @floats_stay
// SCALARS: graph.quantize {{.*}} -> tensor<?x256xf16
// SCALARS-NOT: graph.quantize
// SCALARS: return
func.func @floats_stay() {
  %x = graph.input "x" : !x
  %h = graph.weight ["h"] : tensor<32x256xf16>
  %f = graph.weight ["f"] : tensor<32x256xf32>
  %a = graph.dot_general %x, %h : !x, tensor<32x256xf16> -> !y
  %b = graph.dot_general %x, %f : !x, tensor<32x256xf32> -> !y
  graph.output "a", %a : !y
  graph.output "b", %b : !y
  return
}

// Contracting axes other than rows by a weight.
// CHECK-LABEL: @other_axes_stay
// CHECK-NOT: graph.quantize
// CHECK: return
func.func @other_axes_stay() {
  %x = graph.input "x" : tensor<256x4xf32>
  %q = graph.weight ["q"] : tensor<32x256x!tile.block<"q4_1">>
  %a = graph.dot_general %x, %q contract [0] x [1]
      : tensor<256x4xf32>, tensor<32x256x!tile.block<"q4_1">> -> tensor<4x32xf32>
  graph.output "a", %a : tensor<4x32xf32>
  return
}
