// norm | map | attention -> quantize: the kernel stores the quantized form.
// RUN: %sinter_opt --split-input-file --wrap-operations --fuse-quantize-store --fuse-norm-quantize-store %s | FileCheck %s
// RUN: %sinter_opt --split-input-file --wrap-operations=target=simt --fuse-quantize-store=target=simt --fuse-norm-quantize-store %s | FileCheck %s --check-prefix=SIMT

// CHECK-LABEL: @norm
// CHECK: graph.launch @norm({{.*}} -> tensor<?x64x!tile.block<"q8a">
// CHECK: graph.norm
// CHECK-NEXT: graph.quantize {{.*}} {slot = "store"}
// CHECK-NEXT: graph.return
// CHECK-NOT: graph.launch
!x = tensor<?x64xf32, #graph.dims<T>>
!q = tensor<?x64x!tile.block<"q8a">, #graph.dims<T>>
func.func @norm() {
  %x = graph.input "x" : !x
  %gain = graph.weight ["gain"] : tensor<64xf32>
  %n = graph.norm %x, %gain eps 1.0e-5 : !x, tensor<64xf32> -> !x
  %q = graph.quantize %n : !x -> !q
  graph.output "q", %q : !q
  return
}

// -----

// CHECK-LABEL: @map
// CHECK: graph.launch @map({{.*}} -> tensor<?x64x!tile.block<"q8a">
// CHECK: graph.quantize {{.*}} {slot = "store"}
// CHECK-NOT: graph.launch
!x = tensor<?x64xf32, #graph.dims<T>>
!q = tensor<?x64x!tile.block<"q8a">, #graph.dims<T>>
func.func @map() {
  %x = graph.input "x" : !x
  %n = graph.map %x : !x -> !x {
  ^bb0(%a: f32):
    %r = math.tanh %a : f32
    graph.yield %r : f32
  }
  %q = graph.quantize %n : !x -> !q
  graph.output "q", %q : !q
  return
}

// -----

// CHECK-LABEL: @norm_is_read_as_floats_too
// CHECK: graph.launch @norm
// CHECK: graph.launch @quantize
!x = tensor<?x64xf32, #graph.dims<T>>
!q = tensor<?x64x!tile.block<"q8a">, #graph.dims<T>>
func.func @norm_is_read_as_floats_too() {
  %x = graph.input "x" : !x
  %gain = graph.weight ["gain"] : tensor<64xf32>
  %n = graph.norm %x, %gain eps 1.0e-5 : !x, tensor<64xf32> -> !x
  %q = graph.quantize %n : !x -> !q
  graph.output "n", %n : !x
  graph.output "q", %q : !q
  return
}

// -----

// CHECK-LABEL: @input
// CHECK: graph.launch @quantize
!x = tensor<?x64xf32, #graph.dims<T>>
!q = tensor<?x64x!tile.block<"q8a">, #graph.dims<T>>
func.func @input() {
  %x = graph.input "x" : !x
  %q = graph.quantize %x : !x -> !q
  graph.output "q", %q : !q
  return
}

// -----

// Scales of 32 elements: a head of 64 holds whole ones, on either target.
// CHECK-LABEL: @attention
// CHECK: graph.launch @attention({{.*}} {buckets = ["prefill", "small", "one"]} {{.*}} -> tensor<?x256x!tile.block<"q8a">
// CHECK: graph.paged_attention
// CHECK-NEXT: graph.reshape {{.*}} {slot = "store"}
// CHECK-NEXT: graph.quantize {{.*}} {slot = "store"}
// CHECK-NEXT: graph.return
// CHECK-NOT: graph.launch
// SIMT-LABEL: @attention
// SIMT: graph.quantize {{.*}} {slot = "store"}
!q = tensor<?x4x64xf32, #graph.dims<T>>
!j = tensor<?x256xf32, #graph.dims<T>>
!s = tensor<?x256x!tile.block<"q8a">, #graph.dims<T>>
!kp = tensor<?x2x64x32xf16, #graph.dims<N>>
!vp = tensor<?x2x32x64xf16, #graph.dims<N>>
!t = tensor<?xi32, #graph.dims<T>>
func.func @attention() {
  %q = graph.input "q" : !q
  %k = graph.state "keys" : !kp
  %v = graph.state "values" : !vp
  %p = graph.input "positions" : !t
  %g = graph.input "pages" : tensor<?x?xi32, #graph.dims<S, P>>
  %l = graph.input "lengths" : tensor<?xi32, #graph.dims<S>>
  %b = graph.input "tiles" : tensor<?x3xi32, #graph.dims<B>>
  %o = graph.paged_attention %q, %k, %v, %p, %g, %l, %b scale 0.25
      : !q, !kp, !vp, !t, tensor<?x?xi32, #graph.dims<S, P>>, tensor<?xi32, #graph.dims<S>>,
        tensor<?x3xi32, #graph.dims<B>> -> !q
  %j = graph.reshape %o : !q -> !j
  %s = graph.quantize %j : !j -> !s
  graph.output "s", %s : !s
  return
}

// -----

// A head of 16 holds no whole scale: two heads do where one program joins those that share keys.
// CHECK-LABEL: @scales_of_joined_heads
// CHECK: graph.launch @attention
// CHECK: graph.quantize {{.*}} {slot = "store"}
// SIMT-LABEL: @scales_of_joined_heads
// SIMT: graph.launch @attention
// SIMT: graph.launch @quantize
!q = tensor<?x4x16xf32, #graph.dims<T>>
!j = tensor<?x64xf32, #graph.dims<T>>
!s = tensor<?x64x!tile.block<"q8a">, #graph.dims<T>>
!kp = tensor<?x2x16x32xf16, #graph.dims<N>>
!vp = tensor<?x2x32x16xf16, #graph.dims<N>>
!t = tensor<?xi32, #graph.dims<T>>
func.func @scales_of_joined_heads() {
  %q = graph.input "q" : !q
  %k = graph.state "keys" : !kp
  %v = graph.state "values" : !vp
  %p = graph.input "positions" : !t
  %g = graph.input "pages" : tensor<?x?xi32, #graph.dims<S, P>>
  %l = graph.input "lengths" : tensor<?xi32, #graph.dims<S>>
  %b = graph.input "tiles" : tensor<?x3xi32, #graph.dims<B>>
  %o = graph.paged_attention %q, %k, %v, %p, %g, %l, %b scale 0.25
      : !q, !kp, !vp, !t, tensor<?x?xi32, #graph.dims<S, P>>, tensor<?xi32, #graph.dims<S>>,
        tensor<?x3xi32, #graph.dims<B>> -> !q
  %j = graph.reshape %o : !q -> !j
  %s = graph.quantize %j : !j -> !s
  graph.output "s", %s : !s
  return
}
