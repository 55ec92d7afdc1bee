// Wrong operations with states of sequences: each is one diagnostic at its operation.
// RUN: %sinter_opt --split-input-file --verify-diagnostics %s

func.func @state_of_other_columns() {
  %r = graph.input "r" : tensor<5x8xf32>
  %w = graph.weight ["w"] : tensor<8x4xf32>
  %p = graph.input "p" : tensor<1x4xi32>
  %s = graph.state "s" : tensor<2x3x7xf32>
  // expected-error @+1 {{expected axis 1 of the first to equal axis 2 of the second}}
  %y, %n = graph.causal_conv %r, %w of %p from %s : tensor<5x8xf32>, tensor<8x4xf32> of tensor<1x4xi32> from tensor<2x3x7xf32> -> tensor<5x8xf32>, tensor<2x3x7xf32>
  return
}

// -----

func.func @state_of_other_width() {
  %r = graph.input "r" : tensor<5x8xf32>
  %w = graph.weight ["w"] : tensor<8x4xf32>
  %p = graph.input "p" : tensor<1x4xi32>
  %s = graph.state "s" : tensor<2x4x8xf32>
  // expected-error @+1 {{expected at least two weights a column and rows of the state for all but one}}
  %y, %n = graph.causal_conv %r, %w of %p from %s : tensor<5x8xf32>, tensor<8x4xf32> of tensor<1x4xi32> from tensor<2x4x8xf32> -> tensor<5x8xf32>, tensor<2x4x8xf32>
  return
}

// -----

func.func @spans_of_three_columns() {
  %r = graph.input "r" : tensor<5x8xf32>
  %w = graph.weight ["w"] : tensor<8x4xf32>
  %p = graph.input "p" : tensor<1x3xi32>
  %s = graph.state "s" : tensor<2x3x8xf32>
  // expected-error @+1 {{expected four columns: slot, next slot, first row, rows}}
  %y, %n = graph.causal_conv %r, %w of %p from %s : tensor<5x8xf32>, tensor<8x4xf32> of tensor<1x3xi32> from tensor<2x3x8xf32> -> tensor<5x8xf32>, tensor<2x3x8xf32>
  return
}

// -----

func.func @half_weights() {
  %r = graph.input "r" : tensor<5x8xf32>
  %w = graph.weight ["w"] : tensor<8x4xf16>
  %p = graph.input "p" : tensor<1x4xi32>
  %s = graph.state "s" : tensor<2x3x8xf32>
  // expected-error @+1 {{weight is 'tensor<8x4xf16>', expected elements 'f32'}}
  %y, %n = graph.causal_conv %r, %w of %p from %s : tensor<5x8xf32>, tensor<8x4xf16> of tensor<1x4xi32> from tensor<2x3x8xf32> -> tensor<5x8xf32>, tensor<2x3x8xf32>
  return
}

// -----

func.func @heads_that_do_not_divide() {
  %q = graph.input "q" : tensor<5x2x8xf32>
  %v = graph.input "v" : tensor<5x3x4xf32>
  %b = graph.input "b" : tensor<5x3xf32>
  %p = graph.input "p" : tensor<1x4xi32>
  %s = graph.state "s" : tensor<2x3x8x4xf32>
  // expected-error @+1 {{expected static heads, a multiple of the keys' heads}}
  %y, %n = graph.delta_rule %q, %q, %v, %b, %b of %p from %s scale 1.0 : tensor<5x2x8xf32>, tensor<5x2x8xf32>, tensor<5x3x4xf32>, tensor<5x3xf32>, tensor<5x3xf32> of tensor<1x4xi32> from tensor<2x3x8x4xf32> -> tensor<5x3x4xf32>, tensor<2x3x8x4xf32>
  return
}

// -----

func.func @beta_of_other_heads() {
  %q = graph.input "q" : tensor<5x1x8xf32>
  %v = graph.input "v" : tensor<5x3x4xf32>
  %d = graph.input "d" : tensor<5x3xf32>
  %b = graph.input "b" : tensor<5x1xf32>
  %p = graph.input "p" : tensor<1x4xi32>
  %s = graph.state "s" : tensor<2x3x8x4xf32>
  // expected-error @+1 {{beta is 'tensor<5x1xf32>' and value is 'tensor<5x3x4xf32>', expected axis 1 of the first to equal axis 1 of the second}}
  %y, %n = graph.delta_rule %q, %q, %v, %d, %b of %p from %s scale 1.0 : tensor<5x1x8xf32>, tensor<5x1x8xf32>, tensor<5x3x4xf32>, tensor<5x3xf32>, tensor<5x1xf32> of tensor<1x4xi32> from tensor<2x3x8x4xf32> -> tensor<5x3x4xf32>, tensor<2x3x8x4xf32>
  return
}

// -----

func.func @matrices_the_other_way_round() {
  %q = graph.input "q" : tensor<5x1x8xf32>
  %v = graph.input "v" : tensor<5x3x4xf32>
  %b = graph.input "b" : tensor<5x3xf32>
  %p = graph.input "p" : tensor<1x4xi32>
  %s = graph.state "s" : tensor<2x3x4x8xf32>
  // expected-error @+1 {{expected axis 2 of the first to equal axis 2 of the second}}
  %y, %n = graph.delta_rule %q, %q, %v, %b, %b of %p from %s scale 1.0 : tensor<5x1x8xf32>, tensor<5x1x8xf32>, tensor<5x3x4xf32>, tensor<5x3xf32>, tensor<5x3xf32> of tensor<1x4xi32> from tensor<2x3x4x8xf32> -> tensor<5x3x4xf32>, tensor<2x3x4x8xf32>
  return
}

// -----

func.func @scale_that_is_no_number() {
  %q = graph.input "q" : tensor<5x1x8xf32>
  %v = graph.input "v" : tensor<5x3x4xf32>
  %b = graph.input "b" : tensor<5x3xf32>
  %p = graph.input "p" : tensor<1x4xi32>
  %s = graph.state "s" : tensor<2x3x8x4xf32>
  // expected-error @+1 {{has a scale that is not a number}}
  %y, %n = graph.delta_rule %q, %q, %v, %b, %b of %p from %s scale 0x7FC00000 : tensor<5x1x8xf32>, tensor<5x1x8xf32>, tensor<5x3x4xf32>, tensor<5x3xf32>, tensor<5x3xf32> of tensor<1x4xi32> from tensor<2x3x8x4xf32> -> tensor<5x3x4xf32>, tensor<2x3x8x4xf32>
  return
}
