// Launches written by hand that fit no kernel: each is one diagnostic at its place.
// RUN: %sinter_opt --split-input-file --verify-diagnostics %s

!x = tensor<64x64xf32>
func.func @kernel_unknown(%x: !x) {
  // expected-error @+1 {{names kernel 'gemm', which does not do 'map'}}
  %r = graph.launch @gemm(%x) : (!x) -> !x {
  ^bb0(%a: !x):
    %m = graph.map %a : !x -> !x {
    ^bb0(%e: f32):
      graph.yield %e : f32
    }
    graph.return %m : !x
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @kernel_of_another_operation(%x: !x) {
  // expected-error @+1 {{names kernel 'norm', which does not do 'iota'}}
  %r = graph.launch @norm(%x) : (!x) -> tensor<4xi32> {
  ^bb0(%a: !x):
    %m = graph.iota along 0 : tensor<4xi32>
    graph.return %m : tensor<4xi32>
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @two_operations(%x: !x) {
  // expected-error @+1 {{has 2 operations without a slot, expected the one of its kernel}}
  %r = graph.launch @dot_general(%x) : (!x) -> !x {
  ^bb0(%a: !x):
    %m = graph.dot_general %a, %a : !x, !x -> !x
    %n = graph.dot_general %m, %a : !x, !x -> !x
    graph.return %n : !x
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @no_operation(%x: !x) {
  // expected-error @+1 {{has 0 operations without a slot, expected the one of its kernel}}
  %r = graph.launch @map(%x) : (!x) -> !x {
  ^bb0(%a: !x):
    graph.return %a : !x
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @slot_unknown(%x: !x) {
  %r = graph.launch @quantize(%x) : (!x) -> tensor<64x64xf16> {
  ^bb0(%a: !x):
    // expected-error @+1 {{has slot "middle", expected prologue, epilogue or store}}
    %m = graph.quantize %a {slot = "middle"} : !x -> tensor<64x64xf16>
    graph.return %m : tensor<64x64xf16>
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @slot_is_no_name(%x: !x) {
  %r = graph.launch @quantize(%x) : (!x) -> tensor<64x64xf16> {
  ^bb0(%a: !x):
    // expected-error @+1 {{has slot 3 : i64, expected prologue, epilogue or store}}
    %m = graph.quantize %a {slot = 3} : !x -> tensor<64x64xf16>
    graph.return %m : tensor<64x64xf16>
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @kernel_has_no_such_slot(%x: !x) {
  %r = graph.launch @quantize(%x) : (!x) -> tensor<64x64xf16> {
  ^bb0(%a: !x):
    // expected-error @+1 {{is in slot 'epilogue', which kernel 'quantize' does not have}}
    %n = graph.map %a {slot = "epilogue"} : !x -> !x {
    ^bb0(%e: f32):
      graph.yield %e : f32
    }
    %m = graph.quantize %n : !x -> tensor<64x64xf16>
    graph.return %m : tensor<64x64xf16>
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @slot_takes_no_such_operation(%x: !x, %g: tensor<64xf32>) {
  %r = graph.launch @norm(%x, %g) : (!x, tensor<64xf32>) -> !x {
  ^bb0(%a: !x, %b: tensor<64xf32>):
    %n = graph.norm %a, %b eps 1.0e-5 : !x, tensor<64xf32> -> !x
    // expected-error @+1 {{is in slot 'store', which takes no such operation}}
    %m = graph.map %n {slot = "store"} : !x -> !x {
    ^bb0(%e: f32):
      graph.yield %e : f32
    }
    graph.return %m : !x
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @slots_out_of_order(%x: !x, %g: tensor<64xf32>) {
  %r = graph.launch @matmul(%x, %g) {buckets = ["one"]} : (!x, tensor<64xf32>) -> !x {
  ^bb0(%a: !x, %b: tensor<64xf32>):
    %c = graph.dot_general %a, %a : !x, !x -> !x
    // expected-error @+1 {{comes too late for prologue: a body is prologue, operation, epilogue, store}}
    %n = graph.norm %c, %b eps 1.0e-5 {slot = "prologue"} : !x, tensor<64xf32> -> !x
    graph.return %n : !x
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @argument_types(%x: !x) {
  // expected-error @+1 {{has a body whose arguments are not of the operands' types}}
  %r = graph.launch @quantize(%x) : (!x) -> tensor<32x64xf16> {
  ^bb0(%a: tensor<32x64xf32>):
    %m = graph.quantize %a : tensor<32x64xf32> -> tensor<32x64xf16>
    graph.return %m : tensor<32x64xf16>
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @argument_count(%x: !x) {
  // expected-error @+1 {{has a body whose arguments are not of the operands' types}}
  %r = graph.launch @quantize(%x, %x) : (!x, !x) -> tensor<64x64xf16> {
  ^bb0(%a: !x):
    %m = graph.quantize %a : !x -> tensor<64x64xf16>
    graph.return %m : tensor<64x64xf16>
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @return_types(%x: !x) {
  %r = graph.launch @quantize(%x) : (!x) -> tensor<64x64xbf16> {
  ^bb0(%a: !x):
    %m = graph.quantize %a : !x -> tensor<64x64xf16>
    // expected-error @+1 {{returns other types than the launch has results}}
    graph.return %m : tensor<64x64xf16>
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @returns_an_operand(%x: !x, %g: tensor<64xf32>) {
  %r = graph.launch @norm(%x, %g) : (!x, tensor<64xf32>) -> !x {
  ^bb0(%a: !x, %b: tensor<64xf32>):
    // expected-error @+1 {{makes what neither its launch nor others read}}
    %n = graph.norm %a, %b eps 1.0e-5 : !x, tensor<64xf32> -> !x
    graph.return %a : !x
  }
  return
}

// -----

!x = tensor<64x64xf32>
!q = tensor<64x64x!tile.block<"q8a">>
func.func @returns_what_stays_inside(%x: !x, %g: tensor<64xf32>) {
  %r:2 = graph.launch @norm(%x, %g) : (!x, tensor<64xf32>) -> (!x, !q) {
  ^bb0(%a: !x, %b: tensor<64xf32>):
    %n = graph.norm %a, %b eps 1.0e-5 : !x, tensor<64xf32> -> !x
    %q = graph.quantize %n {slot = "store"} : !x -> !q
    // expected-error @+1 {{returns 2 values, expected the one that 'graph.quantize' makes}}
    graph.return %n, %q : !x, !q
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @buckets_missing(%x: !x) {
  // expected-error @+1 {{has no buckets, expected prefill, small or one}}
  %r = graph.launch @matmul(%x) : (!x) -> !x {
  ^bb0(%a: !x):
    %m = graph.dot_general %a, %a : !x, !x -> !x
    graph.return %m : !x
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @buckets_empty(%x: !x) {
  // expected-error @+1 {{has an empty list of buckets, expected prefill, small or one}}
  %r = graph.launch @matmul(%x) {buckets = []} : (!x) -> !x {
  ^bb0(%a: !x):
    %m = graph.dot_general %a, %a : !x, !x -> !x
    graph.return %m : !x
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @bucket_unknown(%x: !x) {
  // expected-error @+1 {{has bucket "few", expected prefill, small or one}}
  %r = graph.launch @matmul(%x) {buckets = ["one", "few"]} : (!x) -> !x {
  ^bb0(%a: !x):
    %m = graph.dot_general %a, %a : !x, !x -> !x
    graph.return %m : !x
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @bucket_twice(%x: !x) {
  // expected-error @+1 {{has bucket "one" twice}}
  %r = graph.launch @matmul(%x) {buckets = ["one", "one"]} : (!x) -> !x {
  ^bb0(%a: !x):
    %m = graph.dot_general %a, %a : !x, !x -> !x
    graph.return %m : !x
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @buckets_of_a_kernel_without(%x: !x) {
  // expected-error @+1 {{has buckets, which kernel 'quantize' does not have}}
  %r = graph.launch @quantize(%x) {buckets = ["one"]} : (!x) -> tensor<64x64xf16> {
  ^bb0(%a: !x):
    %m = graph.quantize %a : !x -> tensor<64x64xf16>
    graph.return %m : tensor<64x64xf16>
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @rows_twice(%x: !x) {
  // expected-error @+1 {{has a row order that takes row 0 of the weight's 64 twice or has none}}
  %r = graph.launch @matmul(%x) {buckets = ["one"], row_order = [array<i64: 0, 64, 1>, array<i64: 0, 1, 1>]} : (!x) -> !x {
  ^bb0(%a: !x):
    %m = graph.dot_general %a, %a : !x, !x -> !x
    graph.return %m : !x
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @row_outside(%x: !x) {
  // expected-error @+1 {{has a row order that takes row 64 of the weight's 64 twice or has none}}
  %r = graph.launch @matmul(%x) {buckets = ["one"], row_order = [array<i64: 9223372036854775807, 64, 9223372036854775807>]} : (!x) -> !x {
  ^bb0(%a: !x):
    %m = graph.dot_general %a, %a : !x, !x -> !x
    graph.return %m : !x
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @rows_left_out(%x: !x) {
  // expected-error @+1 {{has a row order that leaves out rows of the weight's 64}}
  %r = graph.launch @matmul(%x) {buckets = ["one"], row_order = []} : (!x) -> !x {
  ^bb0(%a: !x):
    %m = graph.dot_general %a, %a : !x, !x -> !x
    graph.return %m : !x
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @row_order_even(%x: !x) {
  // expected-error @+1 {{has row order part array<i64: 0, 64>, expected [first row, extent, stride, ...]}}
  %r = graph.launch @matmul(%x) {buckets = ["one"], row_order = [array<i64: 0, 64>]} : (!x) -> !x {
  ^bb0(%a: !x):
    %m = graph.dot_general %a, %a : !x, !x -> !x
    graph.return %m : !x
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @row_order_of_too_many(%x: !x) {
  // expected-error @+1 {{has a row order of more rows than the weight's 64}}
  %r = graph.launch @matmul(%x) {buckets = ["one"], row_order = [array<i64: 0, 4294967296, 1, 4294967296, 1>]} : (!x) -> !x {
  ^bb0(%a: !x):
    %m = graph.dot_general %a, %a : !x, !x -> !x
    graph.return %m : !x
  }
  return
}

// -----

!w = tensor<?x64xf32, #graph.dims<N>>
func.func @row_order_of_dynamic_rows(%x: tensor<4x64xf32>, %w: !w) {
  // expected-error @+1 {{expected at most 16777216 rows}}
  %r = graph.launch @matmul(%x, %w) {buckets = ["one"], row_order = [array<i64: 0, 64, 1>]} : (tensor<4x64xf32>, !w) -> tensor<4x?xf32, #graph.dims<N>> {
  ^bb0(%a: tensor<4x64xf32>, %b: !w):
    %m = graph.dot_general %a, %b : tensor<4x64xf32>, !w -> tensor<4x?xf32, #graph.dims<N>>
    graph.return %m : tensor<4x?xf32, #graph.dims<N>>
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @row_order_without_epilogue(%x: !x) {
  // expected-error @+1 {{has another row order than its epilogue's, expected none}}
  %r = graph.launch @matmul(%x) {buckets = ["one"], row_order = [array<i64: 0, 64, 1>]} : (!x) -> !x {
  ^bb0(%a: !x):
    %m = graph.dot_general %a, %a : !x, !x -> !x
    graph.return %m : !x
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @columns_zero(%x: !x) {
  // expected-error @+1 {{has a number of columns that is not positive}}
  %r = graph.launch @matmul(%x) {buckets = ["one"], columns = 0} : (!x) -> !x {
  ^bb0(%a: !x):
    %m = graph.dot_general %a, %a : !x, !x -> !x
    graph.return %m : !x
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @head_columns_negative(%x: !x) {
  // expected-error @+1 {{has a number of columns that is not positive}}
  %r = graph.launch @matmul(%x) {buckets = ["one"], head_columns = -64} : (!x) -> !x {
  ^bb0(%a: !x):
    %m = graph.dot_general %a, %a : !x, !x -> !x
    graph.return %m : !x
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @no_heads(%x: !x) {
  // expected-error @+1 {{has an epilogue that does not make heads of 64 columns}}
  %r = graph.launch @matmul(%x) {buckets = ["one"], head_columns = 64} : (!x) -> !x {
  ^bb0(%a: !x):
    %m = graph.dot_general %a, %a : !x, !x -> !x
    graph.return %m : !x
  }
  return
}

// -----

!x = tensor<64x64xf32>
!h = tensor<64x2x32xf32>
func.func @heads_of_other_columns(%x: !x, %t: tensor<64x32xf32>) {
  // expected-error @+1 {{has an epilogue that does not make heads of 64 columns}}
  %r = graph.launch @matmul(%x, %t) {buckets = ["one"], head_columns = 64} : (!x, tensor<64x32xf32>) -> !h {
  ^bb0(%a: !x, %b: tensor<64x32xf32>):
    %m = graph.dot_general %a, %a : !x, !x -> !x
    %h = graph.reshape %m {slot = "epilogue"} : !x -> !h
    %q = graph.rope halves %h, %b {slot = "epilogue"} : !h, tensor<64x32xf32> -> !h
    graph.return %q : !h
  }
  return
}

// -----

// Neighbours that rotate together must be packed apart.
!x = tensor<64x64xf32>
!h = tensor<64x1x64xf32>
func.func @row_order_of_heads(%x: !x) {
  // expected-error @+1 {{has another row order than its epilogue's, expected [array<i64: 0, 32, 2, 2, 1, 1, 64>]}}
  %r = graph.launch @matmul(%x) {buckets = ["one"], head_columns = 64} : (!x) -> !h {
  ^bb0(%a: !x):
    %m = graph.dot_general %a, %a : !x, !x -> !x
    %h = graph.reshape %m {slot = "epilogue"} : !x -> !h
    %q = graph.rope neighbours %h, %a {slot = "epilogue"} : !h, !x -> !h
    graph.return %q : !h
  }
  return
}

// -----

!x = tensor<64x64xf32>
!h = tensor<64x1x64xf32>
func.func @columns_are_no_part_of_a_head(%x: !x) {
  // expected-error @+1 {{has 24 columns, expected a head of 64 or an even part of its half}}
  %r = graph.launch @matmul(%x) {buckets = ["one"], head_columns = 64, columns = 24} : (!x) -> !h {
  ^bb0(%a: !x):
    %m = graph.dot_general %a, %a : !x, !x -> !x
    %h = graph.reshape %m {slot = "epilogue"} : !x -> !h
    %q = graph.rope halves %h, %a {slot = "epilogue"} : !h, !x -> !h
    graph.return %q : !h
  }
  return
}

// -----

!x = tensor<64x64xf32>
!h = tensor<64x32xf32>
func.func @map_of_one_slice(%x: !x) {
  // expected-error @+1 {{has an epilogue that is no map of the matmul's columns}}
  %r = graph.launch @matmul(%x) {buckets = ["one"]} : (!x) -> !h {
  ^bb0(%a: !x):
    %m = graph.dot_general %a, %a : !x, !x -> !x
    %s = graph.slice %m from [0, 32] {slot = "epilogue"} : !x -> !h
    %q = graph.map %s {slot = "epilogue"} : !h -> !h {
    ^bb0(%e: f32):
      graph.yield %e : f32
    }
    graph.return %q : !h
  }
  return
}

// -----

!x = tensor<64x64xf32>
!q = tensor<64x64x!tile.block<"q8a">>
func.func @matmul_quantizes(%x: !x) {
  // expected-error @+1 {{has an epilogue or store without a map and without head_columns}}
  %r = graph.launch @matmul(%x) {buckets = ["one"]} : (!x) -> !q {
  ^bb0(%a: !x):
    %m = graph.dot_general %a, %a : !x, !x -> !x
    %q = graph.quantize %m {slot = "store"} : !x -> !q
    graph.return %q : !q
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @in_place_of_another_kernel(%x: !x) {
  // expected-error @+1 {{has in_place, which only kernel 'rope' does}}
  %r = graph.launch @quantize(%x) {in_place} : (!x) -> tensor<64x64xf16> {
  ^bb0(%a: !x):
    %m = graph.quantize %a : !x -> tensor<64x64xf16>
    graph.return %m : tensor<64x64xf16>
  }
  return
}

// -----

func.func @stands_in_a_launch() {
  %r = graph.launch @input() : () -> tensor<4xf32> {
    // expected-error @+1 {{stands in a launch, which only computes}}
    %m = graph.input "x" : tensor<4xf32>
    graph.return %m : tensor<4xf32>
  }
  return
}

// -----

// The body is verified first.
!x = tensor<64x64xf32>
func.func @wrong_operation_inside(%x: !x, %w: tensor<f32>) {
  %r = graph.launch @matmul(%x, %w) {buckets = ["one"], row_order = [array<i64: 0, 64, 1>]} : (!x, tensor<f32>) -> !x {
  ^bb0(%a: !x, %b: tensor<f32>):
    // expected-error @+1 {{axis}}
    %m = graph.dot_general %a, %b : !x, tensor<f32> -> !x
    graph.return %m : !x
  }
  return
}

// -----

// Maps of sums follow one another.
!x = tensor<4x64xf32>
func.func @second_map_of_the_sums(%r: tensor<8x64xf32>, %p: tensor<4x2xi32>, %w: tensor<4x2xf32>, %x: !x) {
  // expected-error @+1 {{has an epilogue that is no map of the sums' rows, expected one that reads them once}}
  %o = graph.launch @combine_rows(%r, %p, %w, %x) : (tensor<8x64xf32>, tensor<4x2xi32>, tensor<4x2xf32>, !x) -> !x {
  ^bb0(%a: tensor<8x64xf32>, %b: tensor<4x2xi32>, %c: tensor<4x2xf32>, %d: !x):
    %s = graph.combine_rows %a at %b by %c : tensor<8x64xf32>, tensor<4x2xi32>, tensor<4x2xf32> -> !x
    %m = graph.map %s {slot = "epilogue"} : !x -> !x {
    ^bb0(%u: f32):
      %v = arith.negf %u : f32
      graph.yield %v : f32
    }
    %n = graph.map %m, %d, %m {slot = "epilogue"} : !x, !x, !x -> !x {
    ^bb0(%u: f32, %y: f32, %z: f32):
      %v = arith.addf %u, %y : f32
      graph.yield %v : f32
    }
    graph.return %n : !x
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @quantized_norm_without_sums(%x: !x, %g: tensor<64xf32>, %w: tensor<64x64xbf16>) {
  %r = graph.launch @matmul(%x, %g, %w) {buckets = ["one"]} : (!x, tensor<64xf32>, tensor<64x64xbf16>) -> !x {
  ^bb0(%a: !x, %b: tensor<64xf32>, %v: tensor<64x64xbf16>):
    // expected-error @+1 {{is no prologue of its matmul, expected one root mean square norm of rows}}
    %n = graph.norm %a, %b eps 1.0e-5 {slot = "prologue"} : !x, tensor<64xf32> -> !x
    %q = graph.quantize %n {slot = "prologue"} : !x -> tensor<64x64xbf16>
    %c = graph.dot_general %q, %v : tensor<64x64xbf16>, tensor<64x64xbf16> -> !x
    graph.return %c : !x
  }
  return
}

// -----

!x = tensor<64x64xf32>
func.func @squares_of_other_groups(%x: !x, %w: tensor<64x64xbf16>) {
  %r:2 = graph.launch @matmul(%x, %w) {buckets = ["one"]} : (!x, tensor<64x64xbf16>) -> (!x, tensor<64x8xf32>) {
  ^bb0(%a: !x, %v: tensor<64x64xbf16>):
    %c = graph.dot_general %a, %v : !x, tensor<64x64xbf16> -> !x
    %m = graph.map %c, %a {slot = "epilogue"} : !x, !x -> !x {
    ^bb0(%e: f32, %f: f32):
      %s = arith.addf %e, %f : f32
      graph.yield %s : f32
    }
    // expected-error @+1 {{is no store of its matmul, expected the last operation, of the map's rows, in groups of 16 columns}}
    %s = graph.square_sums %m {slot = "store"} : !x -> tensor<64x8xf32>
    graph.return %m, %s : !x, tensor<64x8xf32>
  }
  return
}
