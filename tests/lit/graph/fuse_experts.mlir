// Gate and up of experts are one launch with the activation, the sum of the choices' rows one with the shared expert's
// rows and the residual; rows are quantized before they are spread.
// RUN: %sinter_opt --join-experts --quantize-activations --wrap-operations --fuse-quantize-store --fuse-map-epilogue %s | FileCheck %s

// CHECK-LABEL: @experts
// CHECK: %[[Q:.*]] = graph.launch @quantize
// CHECK: %[[S:.*]] = graph.launch @spread_rows(%[[Q]], %{{.*}}) {{.*}} -> tensor<?x64x!tile.block<"q8a">
// CHECK: graph.launch @grouped_matmul(%[[S]], {{.*}}) {buckets = ["prefill", "small", "one"], columns = 64 : i64, row_order = [array<i64: 0, 32, 1, 2, 768, 3, 32, 8, 96>]}
// CHECK: graph.grouped_dot
// CHECK-NEXT: graph.slice {{.*}} {slot = "epilogue"}
// CHECK-NEXT: graph.slice {{.*}} {slot = "epilogue"}
// CHECK-NEXT: graph.map {{.*}} {slot = "epilogue"}
// CHECK: graph.quantize {{.*}} {slot = "store"}
// CHECK: graph.launch @grouped_matmul
// CHECK-SAME: {buckets = ["prefill", "small", "one"]}
// CHECK: graph.launch @combine_rows
// CHECK: graph.combine_rows
// CHECK-NEXT: graph.map {{.*}} {slot = "epilogue"}
// CHECK: graph.map {{.*}} {slot = "epilogue"}
// CHECK-NOT: graph.launch

!x = tensor<?x64xf32, #graph.dims<T>>
!w = tensor<?x2xf32, #graph.dims<T>>
!i = tensor<?x2xi32, #graph.dims<T>>
!s = tensor<?x64xf32, #graph.dims<"2*T">>
!h = tensor<?x96xf32, #graph.dims<"2*T">>
!g = tensor<8x3xi32>
!up = tensor<8x96x64x!tile.block<"q8_0">>
!down = tensor<8x64x96x!tile.block<"q8_0">>
func.func @experts() {
  %x = graph.input "x" : !x
  %w = graph.input "w" : !w
  %p = graph.input "p" : !i
  %g = graph.input "g" : !g
  %wg = graph.weight ["gate"] : !up
  %wu = graph.weight ["up"] : !up
  %wd = graph.weight ["down"] : !down
  %s = graph.spread_rows %x to %p : !x, !i -> !s
  %a = graph.grouped_dot %s, %wg by %g choices 2 : !s, !up by !g -> !h
  %b = graph.grouped_dot %s, %wu by %g choices 2 : !s, !up by !g -> !h
  %m = graph.map %a, %b : !h, !h -> !h {
  ^bb0(%u: f32, %v: f32):
    %r = arith.mulf %u, %v : f32
    graph.yield %r : f32
  }
  %d = graph.grouped_dot %m, %wd by %g choices 2 : !h, !down by !g -> !s
  %c = graph.combine_rows %d at %p by %w : !s, !i, !w -> !x
  %b2 = graph.input "shared" : !x
  %t = graph.map %c, %b2 : !x, !x -> !x {
  ^bb0(%u: f32, %v: f32):
    %r = arith.addf %u, %v : f32
    graph.yield %r : f32
  }
  %o = graph.map %x, %t : !x, !x -> !x {
  ^bb0(%u: f32, %v: f32):
    %r = arith.addf %u, %v : f32
    graph.yield %r : f32
  }
  graph.output "o", %o : !x
  return
}

// A map that reads the sums twice, and one of sums that are an output, have launches of their own.
// CHECK-LABEL: @apart
// CHECK: graph.launch @combine_rows
// CHECK: graph.combine_rows
// CHECK-NEXT: graph.return
// CHECK: graph.launch @map
// CHECK: graph.launch @combine_rows
// CHECK: graph.combine_rows
// CHECK-NEXT: graph.return
// CHECK: graph.launch @map
func.func @apart() {
  %d = graph.input "d" : !s
  %w = graph.input "w" : !w
  %p = graph.input "p" : !i
  %c = graph.combine_rows %d at %p by %w : !s, !i, !w -> !x
  %o = graph.map %c, %c : !x, !x -> !x {
  ^bb0(%u: f32, %v: f32):
    %r = arith.mulf %u, %v : f32
    graph.yield %r : f32
  }
  graph.output "o", %o : !x
  %e = graph.combine_rows %d at %p by %w : !s, !i, !w -> !x
  %n = graph.map %e : !x -> !x {
  ^bb0(%u: f32):
    %r = arith.negf %u : f32
    graph.yield %r : f32
  }
  graph.output "e", %e : !x
  graph.output "n", %n : !x
  return
}
