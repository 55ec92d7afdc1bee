// matmul -> queries, keys and values -> RoPE -> KV cache.
// RUN: %sinter_opt --split-input-file --wrap-operations --fuse-qkv-epilogue %s | FileCheck %s
// RUN: %sinter_opt --split-input-file --wrap-operations=target=simt --fuse-qkv-epilogue=target=simt %s | FileCheck %s --check-prefix=SIMT
// RUN: %sinter_opt --split-input-file --wrap-operations --fuse-qkv-epilogue --fuse-other-head-rows %s | FileCheck %s --check-prefix=ROWS

// Halves lie 32 apart: a tile of a whole head needs no other order of rows. On SIMT targets groups
// of 8 columns lie beside their partners; values stay as they are.
// CHECK-LABEL: @whole_layer
// CHECK: graph.launch @rope_table
// CHECK: graph.launch @matmul({{.*}}) {buckets = ["prefill", "small", "one"], columns = 64 : i64, head_columns = 64 : i64}
// CHECK: graph.dot_general
// CHECK-COUNT-3: graph.slice {{.*}} {slot = "epilogue"}
// CHECK-COUNT-3: graph.reshape {{.*}} {slot = "epilogue"}
// CHECK-COUNT-2: graph.rope halves {{.*}} {slot = "epilogue"}
// CHECK: graph.kv_append keys {{.*}} {slot = "store"}
// CHECK: graph.kv_append values {{.*}} {slot = "store"}
// CHECK: graph.return %{{.*}}, %{{.*}}, %{{.*}} :
// CHECK-NOT: graph.launch
// SIMT-LABEL: @whole_layer
// SIMT: graph.launch @matmul({{.*}}) {buckets = ["prefill"], columns = 16 : i64, head_columns = 64 : i64, row_order = [array<i64: 0, 8, 1, 2, 32, 4, 8, 2, 64>, array<i64: 128, 8, 1, 2, 32, 4, 8, 1, 64>, array<i64: 192, 64, 1>]}
!x = tensor<?x64xf32, #graph.dims<T>>
!c = tensor<?x256xf32, #graph.dims<T>>
!c2 = tensor<?x128xf32, #graph.dims<T>>
!h = tensor<?x1x64xf32, #graph.dims<T>>
!h2 = tensor<?x2x64xf32, #graph.dims<T>>
!t = tensor<?xi32, #graph.dims<T>>
!kp = tensor<4x1x64x32xf16>
!vp = tensor<4x1x32x64xf16>
func.func @whole_layer() {
  %x = graph.input "x" : !x
  %p = graph.input "positions" : !t
  %s = graph.input "slots" : !t
  %k = graph.state "keys" : !kp
  %v = graph.state "values" : !vp
  %w = graph.weight ["w"] : tensor<256x64xf16>
  %a = graph.rope_table %p dims 64 base 1.0e4 : !t -> !x
  %c = graph.dot_general %x, %w : !x, tensor<256x64xf16> -> !c
  %q2 = graph.slice %c from [0, 0] : !c -> !c2
  %k2 = graph.slice %c from [0, 128] : !c -> !x
  %v2 = graph.slice %c from [0, 192] : !c -> !x
  %q3 = graph.reshape %q2 : !c2 -> !h2
  %k3 = graph.reshape %k2 : !x -> !h
  %v3 = graph.reshape %v2 : !x -> !h
  %q = graph.rope halves %q3, %a : !h2, !x -> !h2
  %kr = graph.rope halves %k3, %a : !h, !x -> !h
  %ka = graph.kv_append keys %kr at %s into %k : !h, !t into !kp -> !kp
  %va = graph.kv_append values %v3 at %s into %v : !h, !t into !vp -> !vp
  graph.output "q", %q : !h2
  return
}

// -----

// Neighbours that rotate together are packed half a head apart, where keys are too.
// CHECK-LABEL: @neighbours
// CHECK: graph.launch @matmul({{.*}}) {buckets = {{.*}}, columns = 64 : i64, head_columns = 64 : i64, row_order = [array<i64: 0, 32, 2, 2, 1, 1, 64>, array<i64: 64, 32, 2, 2, 1, 1, 64>]}
// CHECK-COUNT-2: graph.rope neighbours {{.*}} {slot = "epilogue"}
// CHECK-NOT: graph.launch @rope(
!x = tensor<?x64xf32, #graph.dims<T>>
!c = tensor<?x128xf32, #graph.dims<T>>
!h = tensor<?x1x64xf32, #graph.dims<T>>
!t = tensor<?xi32, #graph.dims<T>>
!kp = tensor<4x1x64x32xf16>
!vp = tensor<4x1x32x64xf16>
func.func @neighbours() {
  %x = graph.input "x" : !x
  %a = graph.input "angles" : !x
  %s = graph.input "slots" : !t
  %g = graph.input "pages" : tensor<1x2xi32>
  %l = graph.input "lengths" : tensor<1xi32>
  %b = graph.input "tiles" : tensor<1x3xi32>
  %k = graph.state "keys" : !kp
  %v = graph.state "values" : !vp
  %w = graph.weight ["w"] : tensor<128x64xf16>
  %c = graph.dot_general %x, %w : !x, tensor<128x64xf16> -> !c
  %q2 = graph.slice %c from [0, 0] : !c -> !x
  %k2 = graph.slice %c from [0, 64] : !c -> !x
  %q3 = graph.reshape %q2 : !x -> !h
  %k3 = graph.reshape %k2 : !x -> !h
  %q = graph.rope neighbours %q3, %a : !h, !x -> !h
  %kr = graph.rope neighbours %k3, %a : !h, !x -> !h
  %ka = graph.kv_append keys %kr at %s into %k : !h, !t into !kp -> !kp
  %o = graph.paged_attention %q, %ka, %v, %s, %g, %l, %b scale 0.25
      : !h, !kp, !vp, !t, tensor<1x2xi32>, tensor<1xi32>, tensor<1x3xi32> -> !h
  graph.output "o", %o : !h
  return
}

// -----

// The order of pairs within a head is seen.
// CHECK-LABEL: @neighbours_that_are_read
// CHECK: graph.launch @matmul
// CHECK: graph.launch @rope(
!x = tensor<?x64xf32, #graph.dims<T>>
!h = tensor<?x1x64xf32, #graph.dims<T>>
func.func @neighbours_that_are_read() {
  %x = graph.input "x" : !x
  %a = graph.input "angles" : !x
  %w = graph.weight ["w"] : tensor<64x64xf16>
  %c = graph.dot_general %x, %w : !x, tensor<64x64xf16> -> !x
  %q3 = graph.reshape %c : !x -> !h
  %q = graph.rope neighbours %q3, %a : !h, !x -> !h
  graph.output "q", %q : !h
  return
}

// -----

// A part of each head rotates; on SIMT targets its columns lie in groups, and the others follow.
// CHECK-LABEL: @part_of_a_head
// CHECK: graph.launch @matmul({{.*}}) {buckets = ["prefill", "small", "one"], columns = 64 : i64, head_columns = 64 : i64}
// SIMT-LABEL: @part_of_a_head
// SIMT: graph.launch @matmul({{.*}}) {buckets = ["prefill"], columns = 16 : i64, head_columns = 64 : i64, row_order = [array<i64: 0, 8, 1, 2, 16, 2, 8>, array<i64: 32, 32, 1>]}
!x = tensor<?x64xf32, #graph.dims<T>>
!a = tensor<?x32xf32, #graph.dims<T>>
!h = tensor<?x1x64xf32, #graph.dims<T>>
func.func @part_of_a_head() {
  %x = graph.input "x" : !x
  %a = graph.input "angles" : !a
  %w = graph.weight ["w"] : tensor<64x64xf16>
  %c = graph.dot_general %x, %w : !x, tensor<64x64xf16> -> !x
  %q3 = graph.reshape %c : !x -> !h
  %q = graph.rope halves %q3, %a dims 32 : !h, !a -> !h
  graph.output "q", %q : !h
  return
}

// -----

// CHECK-LABEL: @values_alone
// CHECK: graph.launch @matmul({{.*}}) {buckets = {{.*}}, columns = 64 : i64, head_columns = 64 : i64}
// CHECK: graph.kv_append values {{.*}} {slot = "store"}
// CHECK-NOT: graph.launch
!x = tensor<?x64xf32, #graph.dims<T>>
!h = tensor<?x1x64xf32, #graph.dims<T>>
!t = tensor<?xi32, #graph.dims<T>>
!vp = tensor<4x1x32x64xf16>
func.func @values_alone() {
  %x = graph.input "x" : !x
  %s = graph.input "slots" : !t
  %v = graph.state "values" : !vp
  %w = graph.weight ["w"] : tensor<64x64xf16>
  %c = graph.dot_general %x, %w : !x, tensor<64x64xf16> -> !x
  %v3 = graph.reshape %c : !x -> !h
  %va = graph.kv_append values %v3 at %s into %v : !h, !t into !vp -> !vp
  return
}

// -----

// CHECK-LABEL: @table_comes_later
// CHECK: graph.launch @matmul
// CHECK: graph.launch @rope_table
// CHECK: graph.launch @rope(
!x = tensor<?x64xf32, #graph.dims<T>>
!h = tensor<?x1x64xf32, #graph.dims<T>>
!t = tensor<?xi32, #graph.dims<T>>
func.func @table_comes_later() {
  %x = graph.input "x" : !x
  %p = graph.input "positions" : !t
  %w = graph.weight ["w"] : tensor<64x64xf16>
  %c = graph.dot_general %x, %w : !x, tensor<64x64xf16> -> !x
  %a = graph.rope_table %p dims 64 base 1.0e4 : !t -> !x
  %q3 = graph.reshape %c : !x -> !h
  %q = graph.rope halves %q3, %a : !h, !x -> !h
  graph.output "q", %q : !h
  return
}

// -----

// Heads of 24 columns are no whole groups of packed rows: RoPE and appends are a launch of their own.
// ROWS-LABEL: @keys_are_no_whole_tile
// ROWS: graph.launch @matmul
// ROWS: graph.launch @rope(
// ROWS: graph.kv_append keys {{.*}} {slot = "store"}
// ROWS-NOT: graph.launch
!x = tensor<?x24xf32, #graph.dims<T>>
!h = tensor<?x1x24xf32, #graph.dims<T>>
!t = tensor<?xi32, #graph.dims<T>>
!kp = tensor<4x1x24x32xf16>
func.func @keys_are_no_whole_tile() {
  %x = graph.input "x" : !x
  %a = graph.input "angles" : !x
  %s = graph.input "slots" : !t
  %k = graph.state "keys" : !kp
  %w = graph.weight ["w"] : tensor<24x24xf16>
  %c = graph.dot_general %x, %w : !x, tensor<24x24xf16> -> !x
  %k3 = graph.reshape %c : !x -> !h
  %kr = graph.rope neighbours %k3, %a : !h, !x -> !h
  %ka = graph.kv_append keys %kr at %s into %k : !h, !t into !kp -> !kp
  return
}

// -----

// Heads of 24 columns are no whole groups of packed rows.
// ROWS-LABEL: @head_is_no_whole_tile
// CHECK-LABEL: @head_is_no_whole_tile
// CHECK: graph.launch @matmul
// CHECK: graph.launch @rope(
!x = tensor<?x24xf32, #graph.dims<T>>
!h = tensor<?x1x24xf32, #graph.dims<T>>
func.func @head_is_no_whole_tile() {
  %x = graph.input "x" : !x
  %a = graph.input "angles" : !x
  %w = graph.weight ["w"] : tensor<24x24xf16>
  %c = graph.dot_general %x, %w : !x, tensor<24x24xf16> -> !x
  %q3 = graph.reshape %c : !x -> !h
  %q = graph.rope halves %q3, %a : !h, !x -> !h
  graph.output "q", %q : !h
  return
}

// -----

// CHECK-LABEL: @head_is_too_wide
// CHECK: graph.launch @matmul
// CHECK: graph.launch @rope(
!x = tensor<?x512xf32, #graph.dims<T>>
!h = tensor<?x1x512xf32, #graph.dims<T>>
func.func @head_is_too_wide() {
  %x = graph.input "x" : !x
  %a = graph.input "angles" : !x
  %w = graph.weight ["w"] : tensor<512x512xf16>
  %c = graph.dot_general %x, %w : !x, tensor<512x512xf16> -> !x
  %q3 = graph.reshape %c : !x -> !h
  %q = graph.rope halves %q3, %a : !h, !x -> !h
  graph.output "q", %q : !h
  return
}

// -----

// Queries and keys that do not rotate by one table.
// CHECK-LABEL: @two_tables
// CHECK: graph.launch @matmul
// CHECK: graph.launch @rope(
// CHECK: graph.launch @rope(
// CHECK: graph.launch @kv_append
!x = tensor<?x64xf32, #graph.dims<T>>
!c = tensor<?x128xf32, #graph.dims<T>>
!h = tensor<?x1x64xf32, #graph.dims<T>>
!t = tensor<?xi32, #graph.dims<T>>
!kp = tensor<4x1x64x32xf16>
func.func @two_tables() {
  %x = graph.input "x" : !x
  %a = graph.input "angles" : !x
  %b = graph.input "others" : !x
  %s = graph.input "slots" : !t
  %k = graph.state "keys" : !kp
  %w = graph.weight ["w"] : tensor<128x64xf16>
  %c = graph.dot_general %x, %w : !x, tensor<128x64xf16> -> !c
  %q2 = graph.slice %c from [0, 0] : !c -> !x
  %k2 = graph.slice %c from [0, 64] : !c -> !x
  %q3 = graph.reshape %q2 : !x -> !h
  %k3 = graph.reshape %k2 : !x -> !h
  %q = graph.rope halves %q3, %a : !h, !x -> !h
  %kr = graph.rope halves %k3, %b : !h, !x -> !h
  %ka = graph.kv_append keys %kr at %s into %k : !h, !t into !kp -> !kp
  graph.output "q", %q : !h
  return
}

// -----

// Keys come before queries.
// CHECK-LABEL: @other_order
// CHECK: graph.launch @matmul
// CHECK: graph.launch @rope(
!x = tensor<?x64xf32, #graph.dims<T>>
!c = tensor<?x128xf32, #graph.dims<T>>
!h = tensor<?x1x64xf32, #graph.dims<T>>
!t = tensor<?xi32, #graph.dims<T>>
!kp = tensor<4x1x64x32xf16>
func.func @other_order() {
  %x = graph.input "x" : !x
  %a = graph.input "angles" : !x
  %s = graph.input "slots" : !t
  %k = graph.state "keys" : !kp
  %w = graph.weight ["w"] : tensor<128x64xf16>
  %c = graph.dot_general %x, %w : !x, tensor<128x64xf16> -> !c
  %k2 = graph.slice %c from [0, 0] : !c -> !x
  %q2 = graph.slice %c from [0, 64] : !c -> !x
  %q3 = graph.reshape %q2 : !x -> !h
  %k3 = graph.reshape %k2 : !x -> !h
  %q = graph.rope halves %q3, %a : !h, !x -> !h
  %kr = graph.rope halves %k3, %a : !h, !x -> !h
  %ka = graph.kv_append keys %kr at %s into %k : !h, !t into !kp -> !kp
  graph.output "q", %q : !h
  return
}

// -----

// A pool of f32 has no kernel that appends tiles.
// CHECK-LABEL: @pool_of_floats
// CHECK: graph.launch @matmul
// CHECK: graph.launch @kv_append
!x = tensor<?x64xf32, #graph.dims<T>>
!h = tensor<?x1x64xf32, #graph.dims<T>>
!t = tensor<?xi32, #graph.dims<T>>
!vp = tensor<4x1x32x64xf32>
func.func @pool_of_floats() {
  %x = graph.input "x" : !x
  %s = graph.input "slots" : !t
  %v = graph.state "values" : !vp
  %w = graph.weight ["w"] : tensor<64x64xf16>
  %c = graph.dot_general %x, %w : !x, tensor<64x64xf16> -> !x
  %v3 = graph.reshape %c : !x -> !h
  %va = graph.kv_append values %v3 at %s into %v : !h, !t into !vp -> !vp
  return
}

// -----

// CHECK-LABEL: @heads_are_read_elsewhere
// CHECK: graph.launch @matmul
// CHECK: graph.launch @rope(
!x = tensor<?x64xf32, #graph.dims<T>>
!h = tensor<?x1x64xf32, #graph.dims<T>>
func.func @heads_are_read_elsewhere() {
  %x = graph.input "x" : !x
  %a = graph.input "angles" : !x
  %w = graph.weight ["w"] : tensor<64x64xf16>
  %c = graph.dot_general %x, %w : !x, tensor<64x64xf16> -> !x
  %q3 = graph.reshape %c : !x -> !h
  %q = graph.rope halves %q3, %a : !h, !x -> !h
  graph.output "c", %c : !x
  graph.output "q", %q : !h
  return
}
