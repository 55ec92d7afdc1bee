// matmul -> map: elementwise work on the matmul's tiles.
// RUN: %sinter_opt --split-input-file --wrap-operations --fuse-quantize-store --fuse-map-epilogue %s | FileCheck %s

// CHECK-LABEL: @residual
// CHECK: graph.launch @matmul(%{{.*}}, %{{.*}}) {buckets = ["prefill", "small", "one"], columns = 1 : i64}
// CHECK: graph.dot_general
// CHECK-NEXT: graph.map {{.*}} {slot = "epilogue"}
// CHECK: graph.return
// CHECK-NOT: graph.launch
!x = tensor<?x64xf32, #graph.dims<T>>
func.func @residual() {
  %x = graph.input "x" : !x
  %w = graph.weight ["w"] : tensor<64x64xf16>
  %c = graph.dot_general %x, %w : !x, tensor<64x64xf16> -> !x
  %s = graph.map %c, %x : !x, !x -> !x {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %b : f32
    graph.yield %r : f32
  }
  graph.output "s", %s : !x
  return
}

// -----

// Rows of gate and up are packed 32 by 32, as many as a scale's, and the map's result is quantized.
// CHECK-LABEL: @gate_and_up
// CHECK: graph.launch @matmul(%{{.*}}, %{{.*}}) {buckets = {{.*}}, columns = 64 : i64, row_order = [array<i64: 0, 32, 1, 2, 64, 2, 32>]}
// CHECK-SAME: -> tensor<?x64x!tile.block<"q8a">
// CHECK: graph.dot_general
// CHECK-NEXT: graph.slice {{.*}} {slot = "epilogue"}
// CHECK-NEXT: graph.slice {{.*}} {slot = "epilogue"}
// CHECK-NEXT: graph.map {{.*}} {slot = "epilogue"}
// CHECK: graph.quantize {{.*}} {slot = "store"}
// CHECK-NOT: graph.launch
!x = tensor<?x64xf32, #graph.dims<T>>
!y = tensor<?x128xf32, #graph.dims<T>>
!q = tensor<?x64x!tile.block<"q8a">, #graph.dims<T>>
!w = tensor<128x64xf16>
func.func @gate_and_up() {
  %x = graph.input "x" : !x
  %w = graph.weight ["w"] : !w
  %c = graph.dot_general %x, %w : !x, !w -> !y
  %u = graph.slice %c from [0, 64] : !y -> !x
  %g = graph.slice %c from [0, 0] : !y -> !x
  %m = graph.map %g, %u : !x, !x -> !x {
  ^bb0(%a: f32, %b: f32):
    %r = arith.mulf %a, %b : f32
    graph.yield %r : f32
  }
  %q = graph.quantize %m : !x -> !q
  graph.output "q", %q : !q
  return
}

// -----

// The other operand is made after the matmul.
// CHECK-LABEL: @operand_comes_later
// CHECK: graph.launch @matmul
// CHECK: graph.launch @norm
// CHECK: graph.launch @map
!x = tensor<?x64xf32, #graph.dims<T>>
func.func @operand_comes_later() {
  %x = graph.input "x" : !x
  %w = graph.weight ["w"] : tensor<64x64xf16>
  %gain = graph.weight ["gain"] : tensor<64xf32>
  %c = graph.dot_general %x, %w : !x, tensor<64x64xf16> -> !x
  %n = graph.norm %x, %gain eps 1.0e-5 : !x, tensor<64xf32> -> !x
  %s = graph.map %c, %n : !x, !x -> !x {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %b : f32
    graph.yield %r : f32
  }
  graph.output "s", %s : !x
  return
}

// -----

// CHECK-LABEL: @result_is_read_elsewhere
// CHECK: graph.launch @matmul
// CHECK: graph.launch @map
!x = tensor<?x64xf32, #graph.dims<T>>
func.func @result_is_read_elsewhere() {
  %x = graph.input "x" : !x
  %w = graph.weight ["w"] : tensor<64x64xf16>
  %c = graph.dot_general %x, %w : !x, tensor<64x64xf16> -> !x
  %s = graph.map %c : !x -> !x {
  ^bb0(%a: f32):
    graph.yield %a : f32
  }
  graph.output "c", %c : !x
  graph.output "s", %s : !x
  return
}

// -----

// CHECK-LABEL: @slices_overlap
// CHECK: graph.launch @matmul
// CHECK: graph.launch @map
!x = tensor<?x64xf32, #graph.dims<T>>
!y = tensor<?x96xf32, #graph.dims<T>>
func.func @slices_overlap() {
  %x = graph.input "x" : !x
  %w = graph.weight ["w"] : tensor<96x64xf16>
  %c = graph.dot_general %x, %w : !x, tensor<96x64xf16> -> !y
  %g = graph.slice %c from [0, 0] : !y -> !x
  %u = graph.slice %c from [0, 32] : !y -> !x
  %s = graph.map %g, %u : !x, !x -> !x {
  ^bb0(%a: f32, %b: f32):
    %r = arith.mulf %a, %b : f32
    graph.yield %r : f32
  }
  graph.output "s", %s : !x
  return
}

// -----

// CHECK-LABEL: @slices_leave_columns_out
// CHECK: graph.launch @matmul
// CHECK: graph.launch @map
!x = tensor<?x64xf32, #graph.dims<T>>
!y = tensor<?x160xf32, #graph.dims<T>>
func.func @slices_leave_columns_out() {
  %x = graph.input "x" : !x
  %w = graph.weight ["w"] : tensor<160x64xf16>
  %c = graph.dot_general %x, %w : !x, tensor<160x64xf16> -> !y
  %g = graph.slice %c from [0, 0] : !y -> !x
  %u = graph.slice %c from [0, 64] : !y -> !x
  %s = graph.map %g, %u : !x, !x -> !x {
  ^bb0(%a: f32, %b: f32):
    %r = arith.mulf %a, %b : f32
    graph.yield %r : f32
  }
  graph.output "s", %s : !x
  return
}

// -----

// Parts of 48 columns are no whole groups of 32.
// CHECK-LABEL: @parts_are_no_whole_groups
// CHECK: graph.launch @matmul
// CHECK: graph.launch @map
!x = tensor<?x64xf32, #graph.dims<T>>
!y = tensor<?x96xf32, #graph.dims<T>>
!h = tensor<?x48xf32, #graph.dims<T>>
func.func @parts_are_no_whole_groups() {
  %x = graph.input "x" : !x
  %w = graph.weight ["w"] : tensor<96x64xf16>
  %c = graph.dot_general %x, %w : !x, tensor<96x64xf16> -> !y
  %g = graph.slice %c from [0, 0] : !y -> !h
  %u = graph.slice %c from [0, 48] : !y -> !h
  %s = graph.map %g, %u : !h, !h -> !h {
  ^bb0(%a: f32, %b: f32):
    %r = arith.mulf %a, %b : f32
    graph.yield %r : f32
  }
  graph.output "s", %s : !h
  return
}

// -----

// A vector of columns follows the matmul's tiles before anything else.
// CHECK-LABEL: @bias_is_broadcast
// CHECK: graph.launch @matmul
// CHECK: graph.dot_general
// CHECK: graph.map {{.*}}{slot = "epilogue"}
// CHECK-NOT: graph.launch @map
!x = tensor<?x64xf32, #graph.dims<T>>
func.func @bias_is_broadcast() {
  %x = graph.input "x" : !x
  %w = graph.weight ["w"] : tensor<64x64xf16>
  %bias = graph.weight ["bias"] : tensor<64xf32>
  %c = graph.dot_general %x, %w : !x, tensor<64x64xf16> -> !x
  %s = graph.map %c, %bias : !x, tensor<64xf32> -> !x {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %b : f32
    graph.yield %r : f32
  }
  graph.output "s", %s : !x
  return
}

// -----

// A product of two values has no weight whose rows could be packed.
// CHECK-LABEL: @no_weight
// CHECK: graph.launch @matmul
// CHECK: graph.launch @map
!x = tensor<?x64xf32, #graph.dims<T>>
func.func @no_weight() {
  %x = graph.input "x" : !x
  %y = graph.input "y" : tensor<64x64xf32>
  %c = graph.dot_general %x, %y : !x, tensor<64x64xf32> -> !x
  %s = graph.map %c : !x -> !x {
  ^bb0(%a: f32):
    graph.yield %a : f32
  }
  graph.output "s", %s : !x
  return
}

// -----

// One map alone: a second is a launch.
// CHECK-LABEL: @two_maps
// CHECK: graph.launch @matmul
// CHECK: graph.map {{.*}} {slot = "epilogue"}
// CHECK: graph.launch @map
!x = tensor<?x64xf32, #graph.dims<T>>
func.func @two_maps() {
  %x = graph.input "x" : !x
  %w = graph.weight ["w"] : tensor<64x64xf16>
  %c = graph.dot_general %x, %w : !x, tensor<64x64xf16> -> !x
  %s = graph.map %c : !x -> !x {
  ^bb0(%a: f32):
    graph.yield %a : f32
  }
  %t = graph.map %s : !x -> !x {
  ^bb0(%a: f32):
    graph.yield %a : f32
  }
  graph.output "t", %t : !x
  return
}

// -----

// A map that nothing reads stays whole.
// CHECK-LABEL: @nothing_reads_the_map
// CHECK: graph.launch @matmul
// CHECK: %[[S:.*]] = graph.map {{.*}} {slot = "epilogue"}
// CHECK: graph.return %[[S]]
!x = tensor<?x64xf32, #graph.dims<T>>
func.func @nothing_reads_the_map() {
  %x = graph.input "x" : !x
  %w = graph.weight ["w"] : tensor<64x64xf16>
  %c = graph.dot_general %x, %w : !x, tensor<64x64xf16> -> !x
  %s = graph.map %c : !x -> !x {
  ^bb0(%a: f32):
    graph.yield %a : f32
  }
  return
}
