// A block of experts, from logits to the residual: executed beside the evaluator, for one token and for several.
// RUN: %sinter_compiler graph run %s --function softmax --size T=1 --target host --compare | FileCheck %s --check-prefixes=ONE,CLOSE
// RUN: %sinter_compiler graph run %s --function softmax --size T=70 --target host --compare | FileCheck %s --check-prefix=CLOSE
// RUN: %sinter_compiler graph run %s --function grouped --size T=3 --target host --compare | FileCheck %s --check-prefix=CLOSE

// One token's choices of experts 6, 5 and 0 lie in ascending order of the experts.
// ONE: e: 1x3xi32
// ONE-NEXT: {{^  6 5 0$}}
// ONE: g: 12x3xi32
// ONE-NEXT: {{^  0 0 1$}}
// ONE-NEXT: {{^  5 1 1$}}
// ONE-NEXT: {{^  6 2 1$}}
// ONE-NEXT: {{^  0 0 0$}}
// ONE: p: 1x3xi32
// ONE-NEXT: {{^  2 1 0$}}
// CLOSE: largest error: {{[0-9.]+e-0[7-9]}};
!x = tensor<?x64xf32, #graph.dims<T>>
!l = tensor<?x12xf32, #graph.dims<T>>
!w = tensor<?x3xf32, #graph.dims<T>>
!i = tensor<?x3xi32, #graph.dims<T>>
!s = tensor<?x64xf32, #graph.dims<"3*T">>
!h = tensor<?x96xf32, #graph.dims<"3*T">>
!g = tensor<12x3xi32>
!up = tensor<12x96x64xf32>
!down = tensor<12x64x96xf32>
func.func @softmax() {
  %x = graph.input "x" : !x
  %l = graph.input "l" : !l
  %res = graph.input "res" : !x
  %wg = graph.weight ["gate"] : !up
  %wu = graph.weight ["up"] : !up
  %wd = graph.weight ["down"] : !down
  %w, %e = graph.route softmax %l {normalized} : !l -> !w, !i
  %p, %g = graph.group_rows %e : !i -> !i, !g
  %s = graph.spread_rows %x to %p : !x, !i -> !s
  %a = graph.grouped_dot %s, %wg by %g choices 3 : !s, !up by !g -> !h
  %b = graph.grouped_dot %s, %wu by %g choices 3 : !s, !up by !g -> !h
  %m = graph.map %a, %b : !h, !h -> !h {
  ^bb0(%u: f32, %v: f32):
    %r = arith.mulf %u, %v : f32
    graph.yield %r : f32
  }
  %d = graph.grouped_dot %m, %wd by %g choices 3 : !h, !down by !g -> !s
  %c = graph.combine_rows %d at %p by %w : !s, !i, !w -> !x
  %o = graph.map %c, %res : !x, !x -> !x {
  ^bb0(%u: f32, %v: f32):
    %r = arith.addf %u, %v : f32
    graph.yield %r : f32
  }
  graph.output "w", %w : !w
  graph.output "e", %e : !i
  graph.output "p", %p : !i
  graph.output "g", %g : !g
  graph.output "o", %o : !x
  return
}

// Half of the experts' groups count, choices have a bias, experts' matrices are blocks and f16 with biases.
!logits = tensor<?x16xf32, #graph.dims<T>>
!two = tensor<?x2xf32, #graph.dims<T>>
!chosen = tensor<?x2xi32, #graph.dims<T>>
!rows = tensor<?x64xf32, #graph.dims<"2*T">>
!hidden = tensor<?x32xf32, #graph.dims<"2*T">>
!both = tensor<?x64xf32, #graph.dims<"2*T">>
func.func @grouped() {
  %x = graph.input "x" : !x
  %l = graph.input "l" : !logits
  %bias = graph.weight ["bias"] : tensor<16xf32>
  %wu = graph.weight ["gate_up"] : tensor<16x64x64x!tile.block<"q4_0">>
  %wd = graph.weight ["down"] : tensor<16x64x32xf16>
  %bu = graph.weight ["gate_up.bias"] : tensor<16x64xf32>
  %w, %e = graph.route sigmoid %l bias %bias {groups = 4 : i64, used_groups = 2 : i64, normalized, scale = 2.5 : f32} : !logits bias tensor<16xf32> -> !two, !chosen
  %p, %g = graph.group_rows %e : !chosen -> !chosen, tensor<16x3xi32>
  %s = graph.spread_rows %x to %p : !x, !chosen -> !rows
  %u = graph.grouped_dot %s, %wu by %g bias %bu choices 2 : !rows, tensor<16x64x64x!tile.block<"q4_0">> by tensor<16x3xi32> bias tensor<16x64xf32> -> !both
  %a = graph.slice %u from [0, 0] : !both -> !hidden
  %b = graph.slice %u from [0, 32] : !both -> !hidden
  %m = graph.map %a, %b : !hidden, !hidden -> !hidden {
  ^bb0(%v: f32, %t: f32):
    %r = arith.mulf %v, %t : f32
    graph.yield %r : f32
  }
  %d = graph.grouped_dot %m, %wd by %g choices 2 : !hidden, tensor<16x64x32xf16> by tensor<16x3xi32> -> !rows
  %c = graph.combine_rows %d at %p by %w : !rows, !chosen, !two -> !x
  graph.output "e", %e : !chosen
  graph.output "o", %c : !x
  return
}
