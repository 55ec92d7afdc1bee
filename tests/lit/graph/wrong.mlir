// Wrong graphs: each is one diagnostic at its operation.
// RUN: %sinter_opt --verify-symbols --split-input-file --verify-diagnostics %s

func.func @symbols_missing() {
  // expected-error @+1 {{tensor has 2 dynamic extents and 1 symbols, expected one for each}}
  %a = graph.input "a" : tensor<?x?xi32, #graph.dims<T>>
  return
}

// -----

func.func @extent_without_symbol() {
  // expected-error @+1 {{with a symbol for each dynamic extent}}
  %a = graph.input "a" : tensor<?xi32>
  return
}

// -----

func.func @formula_cut() {
  // expected-error @+1 {{extent 'T+' is no formula, expected a name or a number}}
  %a = graph.input "a" : tensor<?xi32, #graph.dims<"T+">>
  return
}

// -----

func.func @formula_divides() {
  // expected-error @+1 {{extent 'T/2' is no formula, expected +, - or *}}
  %a = graph.input "a" : tensor<?xi32, #graph.dims<"T/2">>
  return
}

// -----

func.func @formula_is_a_number() {
  // expected-error @+1 {{extent '4' has no symbol, expected the number 4 in the shape}}
  %a = graph.input "a" : tensor<?xi32, #graph.dims<"T-T+4">>
  return
}

// -----

func.func @formula_too_large() {
  // expected-error @+1 {{is too large a formula}}
  %a = graph.input "a" : tensor<?xi32, #graph.dims<"A*A*A*A*A*A*A*A*A">>
  return
}

// -----

func.func @coefficient_overflows() {
  // expected-error @+1 {{is too large a formula}}
  %a = graph.input "a" : tensor<?xi32, #graph.dims<"4611686018427387904*T+4611686018427387904*T">>
  return
}

// -----

func.func @product_overflows() {
  // expected-error @+1 {{whose extents' product overflows 64 bits}}
  %a = graph.input "a" : tensor<4294967296x4294967296xf32>
  return
}

// -----

func.func @element_f64() {
  // expected-error @+1 {{tensor of f32, f16, bf16, i32, i1 or a block format}}
  %a = graph.input "a" : tensor<4xf64>
  return
}

// -----

func.func @extent_zero() {
  // expected-error @+1 {{tensor of f32, f16, bf16, i32, i1 or a block format}}
  %a = graph.input "a" : tensor<0xf32>
  return
}

// -----

func.func @weight_without_name() {
  // expected-error @+1 {{names no tensor, expected at least one}}
  %w = graph.weight [] : tensor<4xf32>
  return
}

// -----

func.func @weight_dynamic() {
  // expected-error @+1 {{expected static extents}}
  %w = graph.weight ["w"] : tensor<?x4xf32, #graph.dims<T>>
  return
}

// -----

func.func @map_ranks() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{expected at most the result's dimensions}}
  %m = graph.map %a : tensor<2x3xf32> -> tensor<3xf32> {
  ^bb0(%x: f32):
    graph.yield %x : f32
  }
  return
}

// -----

func.func @map_broadcast() {
  %a = graph.input "a" : tensor<2x3xf32>
  %b = graph.input "b" : tensor<2xf32>
  // expected-error @+1 {{expected axis 0 of the operand to be 1 or axis 1 of the result}}
  %m = graph.map %a, %b : tensor<2x3xf32>, tensor<2xf32> -> tensor<2x3xf32> {
  ^bb0(%x: f32, %y: f32):
    graph.yield %x : f32
  }
  return
}

// -----

func.func @map_broadcast_symbols() {
  %a = graph.input "a" : tensor<?xf32, #graph.dims<T>>
  %b = graph.input "b" : tensor<?xf32, #graph.dims<S>>
  // expected-error @+1 {{expected axis 0 of the operand to be 1 or axis 0 of the result}}
  %m = graph.map %a, %b : tensor<?xf32, #graph.dims<T>>, tensor<?xf32, #graph.dims<S>> -> tensor<?xf32, #graph.dims<T>> {
  ^bb0(%x: f32, %y: f32):
    graph.yield %x : f32
  }
  return
}

// -----

func.func @map_arguments() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{has 1 operands and 2 region arguments, expected as many}}
  %m = graph.map %a : tensor<2x3xf32> -> tensor<2x3xf32> {
  ^bb0(%x: f32, %y: f32):
    graph.yield %x : f32
  }
  return
}

// -----

func.func @map_argument_type() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{region argument is 'f16', expected 'f32'}}
  %m = graph.map %a : tensor<2x3xf32> -> tensor<2x3xf32> {
  ^bb0(%x: f16):
    %y = arith.constant 1.0 : f32
    graph.yield %y : f32
  }
  return
}

// -----

func.func @map_yields_other() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{yielded element is 'f32', expected 'i1'}}
  %m = graph.map %a : tensor<2x3xf32> -> tensor<2x3xi1> {
  ^bb0(%x: f32):
    graph.yield %x : f32
  }
  return
}

// -----

func.func @map_division() {
  %i = graph.iota along 0 : tensor<4xi32>
  %m = graph.map %i : tensor<4xi32> -> tensor<4xi32> {
  ^bb0(%x: i32):
    // expected-error @+1 {{stands in a map, expected elementwise work that kernels compute}}
    %y = arith.divsi %x, %x : i32
    graph.yield %y : i32
  }
  return
}

// -----

func.func @map_predicate() {
  %a = graph.input "a" : tensor<2x3xf32>
  %m = graph.map %a : tensor<2x3xf32> -> tensor<2x3xi1> {
  ^bb0(%x: f32):
    // expected-error @+1 {{compares by 'ueq', expected oeq, une, olt, ole, ogt or oge in a map}}
    %y = arith.cmpf ueq, %x, %x : f32
    graph.yield %y : i1
  }
  return
}

// -----

func.func @map_half() {
  %a = graph.input "a" : tensor<4xf16>
  %m = graph.map %a : tensor<4xf16> -> tensor<4xf16> {
  ^bb0(%x: f16):
    // expected-error @+1 {{computes in 'f16' in a map, expected f32 between arith.extf and arith.truncf}}
    %y = arith.addf %x, %x : f16
    graph.yield %y : f16
  }
  return
}

// -----

func.func @map_double() {
  %a = graph.input "a" : tensor<2x3xf32>
  %m = graph.map %a : tensor<2x3xf32> -> tensor<2x3xf32> {
  ^bb0(%x: f32):
    // expected-error @+1 {{works on 'f64' in a map}}
    %y = arith.extf %x : f32 to f64
    graph.yield %x : f32
  }
  return
}

// -----

func.func @map_graph_op() {
  %a = graph.input "a" : tensor<2x3xf32>
  %m = graph.map %a : tensor<2x3xf32> -> tensor<2x3xf32> {
  ^bb0(%x: f32):
    // expected-error @+1 {{stands in a map, expected elementwise work that kernels compute}}
    %y = graph.iota along 0 : tensor<4xi32>
    graph.yield %x : f32
  }
  return
}

// -----

func.func @map_of_blocks() {
  %w = graph.weight ["w"] : tensor<2x32x!tile.block<"q8_0">>
  // expected-error @+1 {{expected elements f32, f16, bf16, i32 or i1}}
  %m = graph.map %w : tensor<2x32x!tile.block<"q8_0">> -> tensor<2x32xf32> {
  ^bb0(%x: f32):
    graph.yield %x : f32
  }
  return
}

// -----

func.func @reduce_axis() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{names axis 2 of value, which is 'tensor<2x3xf32>'}}
  %r = graph.reduce sum %a over [2] : tensor<2x3xf32> -> tensor<2xf32>
  return
}

// -----

func.func @reduce_twice() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{names axis 1 of value twice}}
  %r = graph.reduce sum %a over [1, 1] : tensor<2x3xf32> -> tensor<2xf32>
  return
}

// -----

func.func @reduce_kept() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{expected axis 1 to be 1 or all reduced axes to be left out}}
  %r = graph.reduce max %a over [1] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @reduce_half() {
  %a = graph.input "a" : tensor<2x3xf16>
  // expected-error @+1 {{combines 'f16' by sum, expected f32 or i32}}
  %r = graph.reduce sum %a over [1] : tensor<2x3xf16> -> tensor<2xf16>
  return
}

// -----

func.func @reduce_all_of_numbers() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{combines 'f32' by all, expected i1}}
  %r = graph.reduce all %a over [1] : tensor<2x3xf32> -> tensor<2xf32>
  return
}

// -----

func.func @norm_weight() {
  %a = graph.input "a" : tensor<2x3xf32>
  %w = graph.input "w" : tensor<2xf32>
  // expected-error @+1 {{expected axis 1 of the first to equal axis 0 of the second}}
  %n = graph.norm %a, %w eps 1.0e-5 : tensor<2x3xf32>, tensor<2xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @norm_axes() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{is over no axis, expected at least one}}
  %n = graph.norm layer %a over [] eps 1.0e-5 : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @norm_eps() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{has an eps that is not a number of 0 or more}}
  %n = graph.norm %a eps -1.0 : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @dot_contracting() {
  %a = graph.input "a" : tensor<2x3xf32>
  %b = graph.input "b" : tensor<4x5xf32>
  // expected-error @+1 {{expected axis 1 of the first to equal axis 1 of the second}}
  %d = graph.dot_general %a, %b : tensor<2x3xf32>, tensor<4x5xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_batch_twice() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{names axis 0 of a twice}}
  %d = graph.dot_general %a, %a batch [0] x [0] contract [0] x [0] : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3x3xf32>
  return
}

// -----

func.func @dot_result() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{expected axis 0 of the first to equal axis 1 of the second}}
  %d = graph.dot_general %a, %a : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @dot_of_whole_numbers() {
  %i = graph.iota along 0 : tensor<4xi32>
  // expected-error @+1 {{multiplies 'i32' with 'i32', expected f32, f16, bf16 or a block format}}
  %d = graph.dot_general %i, %i : tensor<4xi32>, tensor<4xi32> -> tensor<f32>
  return
}

// -----

func.func @dot_across_blocks() {
  %x = graph.input "x" : tensor<4x2xf32>
  %w = graph.weight ["w"] : tensor<2x32x!tile.block<"q8_0">>
  // expected-error @+1 {{expected the last axis, along which blocks lie, to contract}}
  %d = graph.dot_general %x, %w contract [1] x [0] : tensor<4x2xf32>, tensor<2x32x!tile.block<"q8_0">> -> tensor<4x32xf32>
  return
}

// -----

func.func @transpose_axes() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{names axis 1 of value twice}}
  %t = graph.transpose %a to [1, 1] : tensor<2x3xf32> -> tensor<3x3xf32>
  return
}

// -----

func.func @transpose_result() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{expected axis 1 of the first to equal axis 0 of the second}}
  %t = graph.transpose %a to [1, 0] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @slice_outside() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{takes elements of axis 1 from 2}}
  %s = graph.slice %a from [0, 2] : tensor<2x3xf32> -> tensor<2x2xf32>
  return
}

// -----

func.func @slice_of_a_symbol_outside() {
  %a = graph.input "a" : tensor<?xf32, #graph.dims<T>>
  // expected-error @+1 {{takes elements of axis 0 from 1}}
  %s = graph.slice %a from [1] : tensor<?xf32, #graph.dims<T>> -> tensor<?xf32, #graph.dims<T>>
  return
}

// -----

func.func @slice_backwards() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{by steps of -1, expected an offset of 0 or more and a step of 1 or more}}
  %s = graph.slice %a from [0, 2] step [1, -1] : tensor<2x3xf32> -> tensor<2x2xf32>
  return
}

// -----

func.func @slice_rank() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{has 1 offsets for}}
  %s = graph.slice %a from [0] : tensor<2x3xf32> -> tensor<2x2xf32>
  return
}

// -----

func.func @slice_in_a_block() {
  %w = graph.weight ["w"] : tensor<2x64x!tile.block<"q8_0">>
  // expected-error @+1 {{cuts a block of}}
  %s = graph.slice %w from [0, 16] : tensor<2x64x!tile.block<"q8_0">> -> tensor<2x32x!tile.block<"q8_0">>
  return
}

// -----

func.func @concat_sum() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{joins 6 elements along axis 1 into}}
  %c = graph.concat %a, %a along 1 : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x5xf32>
  return
}

// -----

func.func @concat_other_axis() {
  %a = graph.input "a" : tensor<2x3xf32>
  %b = graph.input "b" : tensor<4x3xf32>
  // expected-error @+1 {{expected axis 0 of the first to equal axis 0 of the second}}
  %c = graph.concat %a, %b along 1 : tensor<2x3xf32>, tensor<4x3xf32> -> tensor<2x6xf32>
  return
}

// -----

func.func @pad_result() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{pads axis 1 of}}
  %p = graph.pad %a low [0, 1] high [0, 1] fill 0.0 : f32 : tensor<2x3xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @pad_fill() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{fill is 'i32', expected 'f32'}}
  %p = graph.pad %a low [0, 1] high [0, 1] fill 0 : i32 : tensor<2x3xf32> -> tensor<2x5xf32>
  return
}

// -----

func.func @pad_inwards() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{pads axis 1 by -1 and 0, expected 0 or more}}
  %p = graph.pad %a low [0, -1] high [0, 0] fill 0.0 : f32 : tensor<2x3xf32> -> tensor<2x2xf32>
  return
}

// -----

func.func @reshape_elements() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{expected the same elements}}
  %r = graph.reshape %a : tensor<2x3xf32> -> tensor<7xf32>
  return
}

// -----

func.func @reshape_symbols() {
  %a = graph.input "a" : tensor<?x4xf32, #graph.dims<T>>
  // expected-error @+1 {{expected the same elements}}
  %r = graph.reshape %a : tensor<?x4xf32, #graph.dims<T>> -> tensor<?xf32, #graph.dims<"3*T">>
  return
}

// -----

func.func @gather_index() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{index is 'tensor<2x3xf32>', expected elements 'i32'}}
  %g = graph.gather %a, %a : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3x3xf32>
  return
}

// -----

func.func @gather_result() {
  %a = graph.input "a" : tensor<2x3xf32>
  %i = graph.iota along 0 : tensor<4xi32>
  // expected-error @+1 {{expected axis 0 of the first to equal axis 0 of the second}}
  %g = graph.gather %a, %i along 1 : tensor<2x3xf32>, tensor<4xi32> -> tensor<4x2xf32>
  return
}

// -----

func.func @gather_narrows() {
  %a = graph.input "a" : tensor<2x3xf32>
  %i = graph.iota along 0 : tensor<4xi32>
  // expected-error @+1 {{makes 'f16' from 'f32', expected the same elements or f32 from floats}}
  %g = graph.gather %a, %i : tensor<2x3xf32>, tensor<4xi32> -> tensor<4x3xf16>
  return
}

// -----

func.func @iota_axis() {
  // expected-error @+1 {{names axis 1 of the result}}
  %i = graph.iota along 1 : tensor<4xi32>
  return
}

// -----

func.func @iota_float() {
  // expected-error @+1 {{expected elements 'i32'}}
  %i = graph.iota along 0 : tensor<4xf32>
  return
}

// -----

func.func @unbound_symbol() {
  // expected-error @+1 {{whose symbol 'T' cannot be bound, expected an input or state with an extent 'T' alone}}
  %i = graph.iota along 0 : tensor<?xi32, #graph.dims<T>>
  return
}

// -----

func.func @unbound_in_a_product() {
  // expected-error @+1 {{whose symbol 'T' cannot be bound}}
  %a = graph.input "a" : tensor<?xf32, #graph.dims<"2*T">>
  return
}

// -----

func.func @map_truth_values() {
  %i = graph.iota along 0 : tensor<4xi32>
  %m = graph.map %i : tensor<4xi32> -> tensor<4xi1> {
  ^bb0(%x: i32):
    %t = arith.trunci %x : i32 to i1
    // expected-error @+1 {{computes in i1 in a map, expected i32}}
    %y = arith.addi %t, %t : i1
    graph.yield %y : i1
  }
  return
}
