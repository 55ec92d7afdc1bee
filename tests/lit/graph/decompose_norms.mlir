// RUN: %sinter_opt --decompose-norms %s | FileCheck %s

!x = tensor<?x3x4xf32, #graph.dims<T>>

// CHECK-LABEL: @layer_norm_of_a_middle_axis
// CHECK: %[[X:.*]] = graph.input "x"
// CHECK: %[[SUM:.*]] = graph.reduce sum %[[X]] over [1] : {{.*}} -> tensor<?x1x4xf32, #graph.dims<T>>
// CHECK: %[[COUNT:.*]] = graph.reduce sum {{.*}} -> tensor<1x1x1xf32>
// CHECK: %[[MEAN:.*]] = graph.map %[[SUM]], %[[COUNT]]
// CHECK: arith.divf
// CHECK: graph.map %[[X]], %[[MEAN]]
// CHECK: arith.subf
// CHECK: math.rsqrt
// CHECK: graph.reshape %{{.*}} : tensor<3xf32> -> tensor<1x3x1xf32>
// CHECK-NOT: graph.norm
// CHECK: return
func.func @layer_norm_of_a_middle_axis() {
  %x = graph.input "x" : !x
  %w = graph.weight ["w"] : tensor<3xf32>
  %y = graph.norm layer %x, %w over [1] eps 1.0e-5 : !x, tensor<3xf32> -> !x
  graph.output "y", %y : !x
  return
}

// CHECK-LABEL: @rms_norm_of_rows_stays
// CHECK: graph.norm
// CHECK-NOT: graph.reduce
func.func @rms_norm_of_rows_stays() {
  %x = graph.input "x" : !x
  %w = graph.weight ["w"] : tensor<4xf32>
  %y = graph.norm %x, %w eps 1.0e-5 : !x, tensor<4xf32> -> !x
  graph.output "y", %y : !x
  return
}
