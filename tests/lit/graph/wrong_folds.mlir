// Wrong folds, gathers with batch axes and block formats: each is one diagnostic at its operation.
// RUN: %sinter_opt --verify-symbols --split-input-file --verify-diagnostics %s

func.func @gather_batch_counts() {
  %a = graph.input "a" : tensor<2x3xf32>
  %i = graph.iota along 0 : tensor<2x4xi32>
  // expected-error @+1 {{has 1 batch axes of table and 2 of index, expected as many}}
  %g = graph.gather %a, %i batch [0] x [0, 1] along 1 : tensor<2x3xf32>, tensor<2x4xi32> -> tensor<2x4xf32>
  return
}

// -----

func.func @gather_batch_extents() {
  %a = graph.input "a" : tensor<2x3xf32>
  %i = graph.iota along 0 : tensor<4x2xi32>
  // expected-error @+1 {{expected axis 0 of the first to equal axis 0 of the second}}
  %g = graph.gather %a, %i batch [0] x [0] along 1 : tensor<2x3xf32>, tensor<4x2xi32> -> tensor<2x2xf32>
  return
}

// -----

func.func @gather_batch_is_indexed() {
  %a = graph.input "a" : tensor<2x3xf32>
  %i = graph.iota along 0 : tensor<2x4xi32>
  // expected-error @+1 {{names axis 0 of table twice}}
  %g = graph.gather %a, %i batch [0] x [0] along 0 : tensor<2x3xf32>, tensor<2x4xi32> -> tensor<4x3xf32>
  return
}

// -----

func.func @gather_batch_result() {
  %a = graph.input "a" : tensor<2x3xf32>
  %i = graph.iota along 0 : tensor<2x4xi32>
  // expected-error @+1 {{result is 'tensor<2x2x4xf32>', expected 2 dimensions}}
  %g = graph.gather %a, %i batch [0] x [0] along 1 : tensor<2x3xf32>, tensor<2x4xi32> -> tensor<2x2x4xf32>
  return
}

// -----

func.func @gather_batch_of_blocks() {
  %w = graph.weight ["w"] : tensor<4x32x!tile.block<"q8_0">>
  %i = graph.iota along 0 : tensor<32xi32>
  // expected-error @+1 {{takes single elements of the blocks of}}
  %g = graph.gather %w, %i batch [1] x [0] along 0 : tensor<4x32x!tile.block<"q8_0">>, tensor<32xi32> -> tensor<32xf32>
  return
}

// -----

func.func @fold_of_nothing() {
  // expected-error @+1 {{has 0 operands and 1 results, expected at least one of each}}
  %y = "graph.fold"() <{from = [0.0 : f32], axes = array<i64>}> ({
  ^bb0(%a: f32):
    graph.yield %a : f32
  }) : () -> tensor<f32>
  return
}

// -----

func.func @fold_axes() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{names axis 2 of value}}
  %y = graph.fold %a from [0.0 : f32] over [2] : tensor<2x3xf32> -> tensor<2xf32> {
  ^bb0(%s: f32, %x: f32):
    graph.yield %s : f32
  }
  return
}

// -----

func.func @fold_shapes() {
  %a = graph.input "a" : tensor<2x3xf32>
  %b = graph.input "b" : tensor<2x4xi32>
  // expected-error @+1 {{expected axis 1 of the first to equal axis 1 of the second}}
  %y = graph.fold %a, %b from [0.0 : f32] over [1] : tensor<2x3xf32>, tensor<2x4xi32> -> tensor<2xf32> {
  ^bb0(%s: f32, %x: f32, %n: i32):
    graph.yield %s : f32
  }
  return
}

// -----

func.func @fold_from_count() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{begins from 2 numbers, expected one for each of 1 results}}
  %y = graph.fold %a from [0.0 : f32, 1.0 : f32] over [1] : tensor<2x3xf32> -> tensor<2xf32> {
  ^bb0(%s: f32, %x: f32):
    graph.yield %s : f32
  }
  return
}

// -----

func.func @fold_from_type() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{begins from 0 : i32, expected a number of 'f32'}}
  %y = graph.fold %a from [0 : i32] over [1] : tensor<2x3xf32> -> tensor<2xf32> {
  ^bb0(%s: f32, %x: f32):
    graph.yield %s : f32
  }
  return
}

// -----

func.func @fold_accumulator() {
  %a = graph.input "a" : tensor<2x3xf16>
  // expected-error @+1 {{folds into 'tensor<2xf16>', expected elements f32, i32 or i1}}
  %y = graph.fold %a from [0.0 : f16] over [1] : tensor<2x3xf16> -> tensor<2xf16> {
  ^bb0(%s: f16, %x: f16):
    graph.yield %s : f16
  }
  return
}

// -----

func.func @fold_result() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{expected axis 0 of the first to equal axis 0 of the second}}
  %y = graph.fold %a from [0.0 : f32] over [1] : tensor<2x3xf32> -> tensor<3xf32> {
  ^bb0(%s: f32, %x: f32):
    graph.yield %s : f32
  }
  return
}

// -----

func.func @fold_arguments() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{has 1 region arguments, expected 2: one for each result and each operand}}
  %y = graph.fold %a from [0.0 : f32] over [1] : tensor<2x3xf32> -> tensor<2xf32> {
  ^bb0(%s: f32):
    graph.yield %s : f32
  }
  return
}

// -----

func.func @fold_argument_type() {
  %a = graph.input "a" : tensor<2x3xf32>
  // expected-error @+1 {{region argument is 'i32', expected 'f32'}}
  %y = graph.fold %a from [0.0 : f32] over [1] : tensor<2x3xf32> -> tensor<2xf32> {
  ^bb0(%s: f32, %x: i32):
    graph.yield %s : f32
  }
  return
}

// -----

func.func @fold_yields() {
  %a = graph.input "a" : tensor<2x3xf32>
  %y = graph.fold %a from [0.0 : f32] over [1] : tensor<2x3xf32> -> tensor<2xf32> {
  ^bb0(%s: f32, %x: f32):
    // expected-error @+1 {{yields 2 elements, expected 1}}
    graph.yield %s, %x : f32, f32
  }
  return
}

// -----

func.func @fold_yield_type() {
  %a = graph.input "a" : tensor<2x3xi32>
  // expected-error @+1 {{yielded element is 'i32', expected 'f32'}}
  %y = graph.fold %a from [0.0 : f32] over [1] : tensor<2x3xi32> -> tensor<2xf32> {
  ^bb0(%s: f32, %x: i32):
    graph.yield %x : i32
  }
  return
}

// -----

func.func @fold_scalar_operation() {
  %a = graph.input "a" : tensor<2x3xi32>
  %y = graph.fold %a from [0 : i32] over [1] : tensor<2x3xi32> -> tensor<2xi32> {
  ^bb0(%s: i32, %x: i32):
    // expected-error @+1 {{stands in a fold, expected elementwise work that kernels compute}}
    %d = arith.divsi %s, %x : i32
    graph.yield %d : i32
  }
  return
}

// -----

func.func @dequantize_of_floats() {
  %a = graph.input "a" : tensor<2x3xf16>
  // expected-error @+1 {{expected elements of a block format}}
  %y = graph.dequantize %a : tensor<2x3xf16> -> tensor<2x3xf32>
  return
}

// -----

func.func @dequantize_result() {
  %w = graph.weight ["w"] : tensor<4x32x!tile.block<"q8_0">>
  // expected-error @+1 {{result is 'tensor<4x32xf16>', expected elements 'f32'}}
  %y = graph.dequantize %w : tensor<4x32x!tile.block<"q8_0">> -> tensor<4x32xf16>
  return
}

// -----

func.func @transpose_of_blocks() {
  %w = graph.weight ["w"] : tensor<32x32x!tile.block<"q8_0">>
  // expected-error @+1 {{along which blocks lie, expected it to stay the last}}
  %t = graph.transpose %w to [1, 0] : tensor<32x32x!tile.block<"q8_0">> -> tensor<32x32x!tile.block<"q8_0">>
  return
}

// -----

func.func @concat_of_cut_blocks() {
  %w = graph.weight ["w"] : tensor<2x16x!tile.block<"q8_0">>
  // expected-error @+1 {{cuts a block of}}
  %t = graph.concat %w, %w along 1 : tensor<2x16x!tile.block<"q8_0">>, tensor<2x16x!tile.block<"q8_0">> -> tensor<2x32x!tile.block<"q8_0">>
  return
}
