// Phases, launches of single operations, RoPE in place, packed tables.
// RUN: split-file %s %t
// RUN: %sinter_opt --split-phases --wrap-operations=target=simt --keep-norms-unquantized %t/phases.mlir | FileCheck %t/phases.mlir
// RUN: %sinter_opt --split-input-file --wrap-operations --rope-in-place --share-packed-tables %t/places.mlir | FileCheck %t/places.mlir
// RUN: %sinter_opt --fuse=target=simt %t/phases.mlir | FileCheck %t/phases.mlir --check-prefix=FUSED
// RUN: %sinter_opt --split-input-file --verify-diagnostics --fuse=target=simt %t/wrong.mlir
// RUN: not %sinter_opt --fuse=target=tpu %t/phases.mlir 2>&1 | FileCheck %t/phases.mlir --check-prefix=TARGET

//--- phases.mlir
// In decode the matmul reads the norm itself; a value that is right operand, or read twice, stays.
// CHECK-LABEL: func.func @prefill() attributes {graph.phase = "prefill"}
// CHECK-COUNT-3: graph.launch @quantize
// CHECK-LABEL: func.func @decode() attributes {graph.phase = "decode"}
// CHECK: %[[N:.*]] = graph.launch @norm
// CHECK: graph.launch @matmul(%[[N]],
// CHECK-COUNT-2: graph.launch @quantize
// CHECK-NOT: graph.launch @quantize
// FUSED-LABEL: @prefill
// FUSED-NOT: "prologue"
// FUSED-LABEL: @decode
// FUSED: graph.norm {{.*}} {slot = "prologue"}
// TARGET: error: fuse has target 'tpu', expected cpu or simt
!x = tensor<?x64xf32, #graph.dims<T>>
!q = tensor<?x64x!tile.block<"q8a">, #graph.dims<T>>
!w = tensor<64x64x!tile.block<"q8_0">>
func.func @step() {
  %x = graph.input "x" : !x
  %gain = graph.weight ["gain"] : tensor<64xf32>
  %w = graph.weight ["w"] : !w
  %n = graph.norm %x, %gain eps 1.0e-5 : !x, tensor<64xf32> -> !x
  %q = graph.quantize %n : !x -> !q
  %c = graph.dot_general %q, %w : !q, !w -> !x
  %m = graph.norm %c, %gain eps 1.0e-5 : !x, tensor<64xf32> -> !x
  %mq = graph.quantize %m : !x -> !q
  %d = graph.dot_general %mq, %w : !q, !w -> !x
  %e = graph.dot_general %mq, %w : !q, !w -> !x
  %y = graph.input "y" : tensor<64x64xf32>
  %s = graph.norm %y, %gain eps 1.0e-5 : tensor<64x64xf32>, tensor<64xf32> -> tensor<64x64xf32>
  %sq = graph.quantize %s : tensor<64x64xf32> -> tensor<64x64x!tile.block<"q8a">>
  %f = graph.dot_general %x, %sq : !x, tensor<64x64x!tile.block<"q8a">> -> !x
  graph.output "d", %d : !x
  graph.output "e", %e : !x
  graph.output "f", %f : !x
  return
}

//--- places.mlir
// CHECK-LABEL: @nothing_else_reads
// CHECK: graph.launch @rope({{.*}}) {in_place}
!x = tensor<?x24xf32, #graph.dims<T>>
!h = tensor<?x1x24xf32, #graph.dims<T>>
func.func @nothing_else_reads() {
  %x = graph.input "x" : !x
  %a = graph.input "angles" : !x
  %w = graph.weight ["w"] : tensor<24x24xf16>
  %c = graph.dot_general %x, %w : !x, tensor<24x24xf16> -> !x
  %h = graph.reshape %c : !x -> !h
  %q = graph.rope halves %h, %a : !h, !x -> !h
  %r = graph.reshape %q : !h -> !x
  %d = graph.dot_general %r, %w : !x, tensor<24x24xf16> -> !x
  graph.output "d", %d : !x
  return
}

// -----

// Slices of one matrix that do not overlap.
// CHECK-LABEL: @slices
// CHECK: graph.launch @rope({{.*}}) {in_place}
// CHECK: graph.launch @rope({{.*}}) {in_place}
!x = tensor<?x24xf32, #graph.dims<T>>
!y = tensor<?x48xf32, #graph.dims<T>>
!h = tensor<?x1x24xf32, #graph.dims<T>>
func.func @slices() {
  %x = graph.input "x" : !x
  %a = graph.input "angles" : !x
  %w = graph.weight ["w"] : tensor<48x24xf16>
  %c = graph.dot_general %x, %w : !x, tensor<48x24xf16> -> !y
  %c1 = graph.slice %c from [0, 0] : !y -> !x
  %c2 = graph.slice %c from [0, 24] : !y -> !x
  %h1 = graph.reshape %c1 : !x -> !h
  %h2 = graph.reshape %c2 : !x -> !h
  %q1 = graph.rope halves %h1, %a : !h, !x -> !h
  %q2 = graph.rope halves %h2, %a : !h, !x -> !h
  return
}

// -----

// CHECK-LABEL: @slices_overlap
// CHECK: graph.launch @rope(
// CHECK-NOT: in_place
!x = tensor<?x24xf32, #graph.dims<T>>
!y = tensor<?x40xf32, #graph.dims<T>>
!h = tensor<?x1x24xf32, #graph.dims<T>>
func.func @slices_overlap() {
  %x = graph.input "x" : !x
  %a = graph.input "angles" : !x
  %w = graph.weight ["w"] : tensor<40x24xf16>
  %c = graph.dot_general %x, %w : !x, tensor<40x24xf16> -> !y
  %c1 = graph.slice %c from [0, 0] : !y -> !x
  %c2 = graph.slice %c from [0, 16] : !y -> !x
  %h1 = graph.reshape %c1 : !x -> !h
  %h2 = graph.reshape %c2 : !x -> !h
  %q1 = graph.rope halves %h1, %a : !h, !x -> !h
  %q2 = graph.rope halves %h2, %a : !h, !x -> !h
  return
}

// -----

// The caller's memory stays as it is, and an output has memory of its own.
// CHECK-LABEL: @inputs_and_outputs
// CHECK: graph.launch @rope(
// CHECK-NOT: in_place
!x = tensor<?x24xf32, #graph.dims<T>>
!h = tensor<?x1x24xf32, #graph.dims<T>>
func.func @inputs_and_outputs() {
  %x = graph.input "x" : !h
  %a = graph.input "angles" : !x
  %w = graph.weight ["w"] : tensor<24x24xf16>
  %p = graph.rope halves %x, %a : !h, !x -> !h
  %c = graph.dot_general %a, %w : !x, tensor<24x24xf16> -> !x
  %h = graph.reshape %c : !x -> !h
  %q = graph.rope halves %h, %a : !h, !x -> !h
  graph.output "q", %q : !h
  return
}

// -----

// CHECK-LABEL: @one_weight_for_both_ends
// CHECK: graph.launch @gather({{.*}}) {packed_table}
!x = tensor<?x64xf32, #graph.dims<T>>
!t = tensor<?xi32, #graph.dims<T>>
func.func @one_weight_for_both_ends() {
  %t = graph.input "tokens" : !t
  %w = graph.weight ["w"] : tensor<64x64xf16>
  %x = graph.gather %w, %t : tensor<64x64xf16>, !t -> !x
  %c = graph.dot_general %x, %w : !x, tensor<64x64xf16> -> !x
  graph.output "c", %c : !x
  return
}

// -----

// CHECK-LABEL: @two_weights
// CHECK: graph.launch @gather(
// CHECK-NOT: packed_table
!x = tensor<?x64xf32, #graph.dims<T>>
!t = tensor<?xi32, #graph.dims<T>>
func.func @two_weights() {
  %t = graph.input "tokens" : !t
  %e = graph.weight ["e"] : tensor<64x64xf16>
  %w = graph.weight ["w"] : tensor<64x64xf16>
  %x = graph.gather %e, %t : tensor<64x64xf16>, !t -> !x
  %c = graph.dot_general %x, %w : !x, tensor<64x64xf16> -> !x
  graph.output "c", %c : !x
  return
}

//--- wrong.mlir
// expected-error @+1 {{has 0 functions, expected one to split by phase}}
module {}

// -----

// expected-error @+1 {{has no body, expected one to split by phase}}
func.func private @step()

// -----

// expected-error @+1 {{has phase "prompt", expected prefill or decode on a function}}
func.func @step() attributes {graph.phase = "prompt"} {
  return
}
