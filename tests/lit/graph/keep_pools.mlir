// RUN: %sinter_opt --keep-pools %s | FileCheck %s
// RUN: not %sinter_opt --keep-pools="element=f32" %s 2>&1 | FileCheck %s --check-prefix=REFUSED
// REFUSED: keep-pools has element 'f32', expected f16 or bf16

!rows = tensor<?x2x32xf32, #graph.dims<T>>
!slots = tensor<?xi32, #graph.dims<T>>

// CHECK-LABEL: @a_cache_of_halves
// CHECK: graph.state "k" : tensor<?x2x32x16xbf16
// CHECK: graph.state "v" : tensor<?x2x16x32xbf16
// CHECK: graph.kv_append keys
// CHECK-SAME: -> tensor<?x2x32x16xbf16, #graph.dims<C>>
// CHECK: graph.kv_append values
// CHECK-SAME: -> tensor<?x2x16x32xbf16
// CHECK: graph.state "other" : tensor<4xf16>
func.func @a_cache_of_halves() {
  %x = graph.input "x" : !rows
  %s = graph.input "s" : !slots
  %k = graph.state "k" : tensor<?x2x32x16xf16, #graph.dims<C>>
  %v = graph.state "v" : tensor<?x2x16x32xf16, #graph.dims<C>>
  %a = graph.kv_append keys %x at %s into %k
      : !rows, !slots into tensor<?x2x32x16xf16, #graph.dims<C>> -> tensor<?x2x32x16xf16, #graph.dims<C>>
  %b = graph.kv_append values %x at %s into %v
      : !rows, !slots into tensor<?x2x16x32xf16, #graph.dims<C>> -> tensor<?x2x16x32xf16, #graph.dims<C>>
  %o = graph.state "other" : tensor<4xf16>
  return
}

// CHECK-LABEL: @a_cache_of_blocks
// CHECK-NOT: bf16
// CHECK: return
func.func @a_cache_of_blocks() {
  %x = graph.input "x" : !rows
  %s = graph.input "s" : !slots
  %k = graph.state "k" : tensor<?x2x16x32x!tile.block<"q8_0">, #graph.dims<C>>
  %v = graph.state "v" : tensor<?x2x16x32x!tile.block<"q8_0">, #graph.dims<C>>
  %a = graph.kv_append keys %x at %s into %k
      : !rows, !slots into tensor<?x2x16x32x!tile.block<"q8_0">, #graph.dims<C>> -> tensor<?x2x16x32x!tile.block<"q8_0">, #graph.dims<C>>
  %b = graph.kv_append values %x at %s into %v
      : !rows, !slots into tensor<?x2x16x32x!tile.block<"q8_0">, #graph.dims<C>> -> tensor<?x2x16x32x!tile.block<"q8_0">, #graph.dims<C>>
  return
}
