// matmul -> rows -> norm -> matmul, in decode: the first stores sums of squares, the second scales what it reads.
// RUN: %sinter_opt --split-input-file --wrap-operations=target=simt "--fuse-map-epilogue=target=simt" "--fuse-norm-squares=target=simt shares" %s | FileCheck %s
// RUN: %sinter_opt --split-input-file --wrap-operations=target=simt --fuse-map-epilogue=target=simt --fuse-norm-squares=target=simt %s | FileCheck %s --check-prefix=OFF

// CHECK-LABEL: @fuses
// CHECK: %[[ROWS:.*]]:2 = graph.launch @matmul
// CHECK: graph.map {{.*}}slot = "epilogue"
// CHECK: graph.square_sums {{.*}} {slot = "store"} : tensor<?x64xf32, #graph.dims<T>> -> tensor<?x4xf32, #graph.dims<T>>
// CHECK: graph.launch @matmul(%[[ROWS]]#0, %{{.*}}, %[[ROWS]]#1
// CHECK: graph.norm {{.*}} squares {{.*}} {slot = "prologue"}
// CHECK-NEXT: graph.quantize {{.*}} {slot = "prologue"}
// CHECK-NEXT: graph.dot_general
// CHECK-NOT: graph.launch
// OFF-LABEL: @fuses
// OFF-NOT: square_sums
!x = tensor<?x64xf32, #graph.dims<T>>
!a = tensor<?x64xbf16, #graph.dims<T>>
!w = tensor<64x64x!tile.block<"q8_0">>
func.func @fuses() attributes {graph.phase = "decode"} {
  %x = graph.input "x" : !x
  %a = graph.input "a" : !a
  %gain = graph.weight ["gain"] : tensor<64xf32>
  %v = graph.weight ["v"] : !w
  %w = graph.weight ["w"] : !w
  %m = graph.dot_general %a, %v : !a, !w -> !x
  %r = graph.map %m, %x : !x, !x -> !x {
  ^bb0(%l: f32, %k: f32):
    %s = arith.addf %l, %k : f32
    graph.yield %s : f32
  }
  %n = graph.norm %r, %gain eps 1.0e-5 : !x, tensor<64xf32> -> !x
  %q = graph.quantize %n : !x -> !a
  %c = graph.dot_general %q, %w : !a, !w -> !x
  graph.output "c", %c : !x
  graph.output "r", %r : !x
  return
}

// -----

// Two norms of the same rows read the same sums.
// CHECK-LABEL: @two_readers
// CHECK-COUNT-1: graph.square_sums
// CHECK-COUNT-2: graph.norm {{.*}} squares
// CHECK-NOT: graph.launch @norm
// CHECK-NOT: graph.square_sums
!x = tensor<?x64xf32, #graph.dims<T>>
!a = tensor<?x64xbf16, #graph.dims<T>>
!w = tensor<64x64x!tile.block<"q8_0">>
func.func @two_readers() attributes {graph.phase = "decode"} {
  %x = graph.input "x" : !x
  %a = graph.input "a" : !a
  %gain = graph.weight ["gain"] : tensor<64xf32>
  %other = graph.weight ["other"] : tensor<64xf32>
  %v = graph.weight ["v"] : !w
  %w = graph.weight ["w"] : !w
  %m = graph.dot_general %a, %v : !a, !w -> !x
  %r = graph.map %m, %x : !x, !x -> !x {
  ^bb0(%l: f32, %k: f32):
    %s = arith.addf %l, %k : f32
    graph.yield %s : f32
  }
  %n = graph.norm %r, %gain eps 1.0e-5 : !x, tensor<64xf32> -> !x
  %q = graph.quantize %n : !x -> !a
  %c = graph.dot_general %q, %w : !a, !w -> !x
  %o = graph.norm %r, %other eps 1.0e-5 : !x, tensor<64xf32> -> !x
  %p = graph.quantize %o : !x -> !a
  %d = graph.dot_general %p, %w : !a, !w -> !x
  graph.output "c", %c : !x
  graph.output "d", %d : !x
  return
}

// -----

// No matmul makes the rows.
// CHECK-LABEL: @rows_of_no_matmul
// CHECK: graph.launch @norm
// CHECK-NOT: squares
!x = tensor<?x64xf32, #graph.dims<T>>
!a = tensor<?x64xbf16, #graph.dims<T>>
!w = tensor<64x64x!tile.block<"q8_0">>
func.func @rows_of_no_matmul() attributes {graph.phase = "decode"} {
  %x = graph.input "x" : !x
  %gain = graph.weight ["gain"] : tensor<64xf32>
  %w = graph.weight ["w"] : !w
  %n = graph.norm %x, %gain eps 1.0e-5 : !x, tensor<64xf32> -> !x
  %q = graph.quantize %n : !x -> !a
  %c = graph.dot_general %q, %w : !a, !w -> !x
  graph.output "c", %c : !x
  return
}

// -----

// The rows are 24 columns, which are no whole groups.
// CHECK-LABEL: @groups_are_cut
// CHECK: graph.launch @norm
// CHECK-NOT: squares
!x = tensor<?x24xf32, #graph.dims<T>>
!a = tensor<?x32xbf16, #graph.dims<T>>
!b = tensor<?x24xbf16, #graph.dims<T>>
func.func @groups_are_cut() attributes {graph.phase = "decode"} {
  %x = graph.input "x" : !x
  %a = graph.input "a" : !a
  %gain = graph.weight ["gain"] : tensor<24xf32>
  %v = graph.weight ["v"] : tensor<24x32xbf16>
  %w = graph.weight ["w"] : tensor<24x24xbf16>
  %m = graph.dot_general %a, %v : !a, tensor<24x32xbf16> -> !x
  %r = graph.map %m, %x : !x, !x -> !x {
  ^bb0(%l: f32, %k: f32):
    %s = arith.addf %l, %k : f32
    graph.yield %s : f32
  }
  %n = graph.norm %r, %gain eps 1.0e-5 : !x, tensor<24xf32> -> !x
  %q = graph.quantize %n : !x -> !b
  %c = graph.dot_general %q, %w : !b, tensor<24x24xbf16> -> !x
  graph.output "c", %c : !x
  return
}

// -----

// A layer norm takes a mean too.
// CHECK-LABEL: @layer_norm
// CHECK: graph.launch @norm
// CHECK-NOT: squares
!x = tensor<?x64xf32, #graph.dims<T>>
!a = tensor<?x64xbf16, #graph.dims<T>>
!w = tensor<64x64x!tile.block<"q8_0">>
func.func @layer_norm() attributes {graph.phase = "decode"} {
  %x = graph.input "x" : !x
  %a = graph.input "a" : !a
  %gain = graph.weight ["gain"] : tensor<64xf32>
  %v = graph.weight ["v"] : !w
  %w = graph.weight ["w"] : !w
  %m = graph.dot_general %a, %v : !a, !w -> !x
  %r = graph.map %m, %x : !x, !x -> !x {
  ^bb0(%l: f32, %k: f32):
    %s = arith.addf %l, %k : f32
    graph.yield %s : f32
  }
  %n = graph.norm layer %r, %gain eps 1.0e-5 : !x, tensor<64xf32> -> !x
  %q = graph.quantize %n : !x -> !a
  %c = graph.dot_general %q, %w : !a, !w -> !x
  graph.output "c", %c : !x
  return
}

// -----

// Prefill keeps its norm.
// CHECK-LABEL: @prefill
// CHECK: graph.launch @norm
// CHECK-NOT: squares
!x = tensor<?x64xf32, #graph.dims<T>>
!a = tensor<?x64xbf16, #graph.dims<T>>
!w = tensor<64x64x!tile.block<"q8_0">>
func.func @prefill() attributes {graph.phase = "prefill"} {
  %x = graph.input "x" : !x
  %a = graph.input "a" : !a
  %gain = graph.weight ["gain"] : tensor<64xf32>
  %v = graph.weight ["v"] : !w
  %w = graph.weight ["w"] : !w
  %m = graph.dot_general %a, %v : !a, !w -> !x
  %r = graph.map %m, %x : !x, !x -> !x {
  ^bb0(%l: f32, %k: f32):
    %s = arith.addf %l, %k : f32
    graph.yield %s : f32
  }
  %n = graph.norm %r, %gain eps 1.0e-5 : !x, tensor<64xf32> -> !x
  %q = graph.quantize %n : !x -> !a
  %c = graph.dot_general %q, %w : !a, !w -> !x
  graph.output "c", %c : !x
  return
}

// -----

// Another reads the normalized rows, so that they must be stored.
// CHECK-LABEL: @norm_is_read_elsewhere
// CHECK: graph.launch @norm
// CHECK-NOT: squares
!x = tensor<?x64xf32, #graph.dims<T>>
!a = tensor<?x64xbf16, #graph.dims<T>>
!w = tensor<64x64x!tile.block<"q8_0">>
func.func @norm_is_read_elsewhere() attributes {graph.phase = "decode"} {
  %x = graph.input "x" : !x
  %a = graph.input "a" : !a
  %gain = graph.weight ["gain"] : tensor<64xf32>
  %v = graph.weight ["v"] : !w
  %w = graph.weight ["w"] : !w
  %m = graph.dot_general %a, %v : !a, !w -> !x
  %r = graph.map %m, %x : !x, !x -> !x {
  ^bb0(%l: f32, %k: f32):
    %s = arith.addf %l, %k : f32
    graph.yield %s : f32
  }
  %n = graph.norm %r, %gain eps 1.0e-5 : !x, tensor<64xf32> -> !x
  %q = graph.quantize %n : !x -> !a
  %c = graph.dot_general %q, %w : !a, !w -> !x
  graph.output "c", %c : !x
  graph.output "n", %n : !x
  return
}
