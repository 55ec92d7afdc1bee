// norm -> matmul, in decode on SIMT targets: each program makes the norm of its row.
// RUN: %sinter_opt --split-input-file --wrap-operations=target=simt --fuse-norm-prologue=target=simt %s | FileCheck %s
// RUN: %sinter_opt --split-input-file --wrap-operations --fuse-norm-prologue %s | FileCheck %s --check-prefix=CPU

// Eight programs read 64 numbers each.
// CHECK-LABEL: @pays
// CHECK: graph.launch @matmul(%{{.*}}, %{{.*}}, %{{.*}}) {buckets = ["one"]}
// CHECK: graph.norm {{.*}} {slot = "prologue"}
// CHECK-NEXT: graph.dot_general
// CHECK-NEXT: graph.return
// CHECK-NOT: graph.launch
// CPU-LABEL: @pays
// CPU: graph.launch @norm
// CPU: graph.launch @matmul
!x = tensor<?x64xf32, #graph.dims<T>>
func.func @pays() attributes {graph.phase = "decode"} {
  %x = graph.input "x" : !x
  %gain = graph.weight ["gain"] : tensor<64xf32>
  %w = graph.weight ["w"] : tensor<64x64xf16>
  %n = graph.norm %x, %gain eps 1.0e-5 : !x, tensor<64xf32> -> !x
  %c = graph.dot_general %n, %w : !x, tensor<64x64xf16> -> !x
  graph.output "c", %c : !x
  return
}

// -----

// 128 K numbers in all are as many as one launch costs: 64 programs of 2048.
// CHECK-LABEL: @just_pays
// CHECK: graph.norm {{.*}} {slot = "prologue"}
!x = tensor<?x2048xf32, #graph.dims<T>>
!y = tensor<?x512xf32, #graph.dims<T>>
func.func @just_pays() attributes {graph.phase = "decode"} {
  %x = graph.input "x" : !x
  %gain = graph.weight ["gain"] : tensor<2048xf32>
  %w = graph.weight ["w"] : tensor<512x2048xf16>
  %n = graph.norm %x, %gain eps 1.0e-5 : !x, tensor<2048xf32> -> !x
  %c = graph.dot_general %n, %w : !x, tensor<512x2048xf16> -> !y
  graph.output "c", %c : !y
  return
}

// -----

// One program more.
// CHECK-LABEL: @does_not_pay
// CHECK: graph.launch @norm
// CHECK: graph.launch @matmul
!x = tensor<?x2048xf32, #graph.dims<T>>
!y = tensor<?x513xf32, #graph.dims<T>>
func.func @does_not_pay() attributes {graph.phase = "decode"} {
  %x = graph.input "x" : !x
  %gain = graph.weight ["gain"] : tensor<2048xf32>
  %w = graph.weight ["w"] : tensor<513x2048xf16>
  %n = graph.norm %x, %gain eps 1.0e-5 : !x, tensor<2048xf32> -> !x
  %c = graph.dot_general %n, %w : !x, tensor<513x2048xf16> -> !y
  graph.output "c", %c : !y
  return
}

// -----

// Prefill has many rows for each program.
// CHECK-LABEL: @prefill
// CHECK: graph.launch @norm
// CHECK: graph.launch @matmul{{.*}}buckets = ["prefill"]
!x = tensor<?x64xf32, #graph.dims<T>>
func.func @prefill() attributes {graph.phase = "prefill"} {
  %x = graph.input "x" : !x
  %gain = graph.weight ["gain"] : tensor<64xf32>
  %w = graph.weight ["w"] : tensor<64x64xf16>
  %n = graph.norm %x, %gain eps 1.0e-5 : !x, tensor<64xf32> -> !x
  %c = graph.dot_general %n, %w : !x, tensor<64x64xf16> -> !x
  graph.output "c", %c : !x
  return
}

// -----

// CHECK-LABEL: @norm_is_read_elsewhere
// CHECK: graph.launch @norm
// CHECK: graph.launch @matmul
!x = tensor<?x64xf32, #graph.dims<T>>
func.func @norm_is_read_elsewhere() attributes {graph.phase = "decode"} {
  %x = graph.input "x" : !x
  %gain = graph.weight ["gain"] : tensor<64xf32>
  %w = graph.weight ["w"] : tensor<64x64xf16>
  %n = graph.norm %x, %gain eps 1.0e-5 : !x, tensor<64xf32> -> !x
  %c = graph.dot_general %n, %w : !x, tensor<64x64xf16> -> !x
  graph.output "n", %n : !x
  graph.output "c", %c : !x
  return
}

// -----

// The prologue is the root mean square of a row.
// CHECK-LABEL: @layer_norm
// CHECK: graph.launch @norm
// CHECK: graph.launch @matmul
!x = tensor<?x64xf32, #graph.dims<T>>
func.func @layer_norm() attributes {graph.phase = "decode"} {
  %x = graph.input "x" : !x
  %gain = graph.weight ["gain"] : tensor<64xf32>
  %w = graph.weight ["w"] : tensor<64x64xf16>
  %n = graph.norm layer %x, %gain over [1] eps 1.0e-5 : !x, tensor<64xf32> -> !x
  %c = graph.dot_general %n, %w : !x, tensor<64x64xf16> -> !x
  graph.output "c", %c : !x
  return
}

// -----

// The norm is the right operand.
// CHECK-LABEL: @norm_is_b
// CHECK: graph.launch @norm
// CHECK: graph.launch @matmul
!x = tensor<64x64xf32>
func.func @norm_is_b() attributes {graph.phase = "decode"} {
  %x = graph.input "x" : !x
  %gain = graph.weight ["gain"] : tensor<64xf32>
  %n = graph.norm %x, %gain eps 1.0e-5 : !x, tensor<64xf32> -> !x
  %c = graph.dot_general %x, %n : !x, !x -> !x
  graph.output "c", %c : !x
  return
}
