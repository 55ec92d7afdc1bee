// Wrong operations of routing: each is one diagnostic at its operation.
// RUN: %sinter_opt --split-input-file --verify-diagnostics %s

func.func @more_than_there_are() {
  %v = graph.input "v" : tensor<2x4xf32>
  // expected-error @+1 {{chooses 'tensor<2x5xf32>' of 'tensor<2x4xf32>', expected at most as many as there are}}
  %t, %i = graph.top_k %v : tensor<2x4xf32> -> tensor<2x5xf32>, tensor<2x5xi32>
  return
}

// -----

func.func @indices_of_another_shape() {
  %v = graph.input "v" : tensor<2x4xf32>
  // expected-error @+1 {{expected axis 1 of the first to equal axis 1 of the second}}
  %t, %i = graph.top_k %v : tensor<2x4xf32> -> tensor<2x3xf32>, tensor<2x2xi32>
  return
}

// -----

func.func @no_axis() {
  %v = graph.input "v" : tensor<f32>
  // expected-error @+1 {{expected an axis to choose along}}
  %t, %i = graph.top_k %v : tensor<f32> -> tensor<f32>, tensor<i32>
  return
}

// -----

func.func @groups_hold_too_few() {
  %l = graph.input "l" : tensor<2x8xf32>
  // expected-error @+1 {{chooses 3 of 8 experts in 1 of 4 groups, expected groups of equal size that hold enough}}
  %w, %e = graph.route softmax %l {groups = 4 : i64} : tensor<2x8xf32> -> tensor<2x3xf32>, tensor<2x3xi32>
  return
}

// -----

func.func @groups_of_unequal_size() {
  %l = graph.input "l" : tensor<2x8xf32>
  // expected-error @+1 {{in 3 of 3 groups, expected groups of equal size}}
  %w, %e = graph.route softmax %l {groups = 3 : i64, used_groups = 3 : i64} : tensor<2x8xf32> -> tensor<2x3xf32>, tensor<2x3xi32>
  return
}

// -----

func.func @more_neighbours_than_experts() {
  %l = graph.input "l" : tensor<2x8xf32>
  // expected-error @+1 {{has 8 experts of which 9 stand for one, expected no more than there are}}
  %w, %e = graph.route softmax %l {sharing = 9 : i64} : tensor<2x8xf32> -> tensor<2x3xf32>, tensor<2x3xi32>
  return
}

// -----

func.func @bias_of_other_experts() {
  %l = graph.input "l" : tensor<2x8xf32>
  %b = graph.weight ["b"] : tensor<7xf32>
  // expected-error @+1 {{expected axis 1 of the first to equal axis 0 of the second}}
  %w, %e = graph.route sigmoid %l bias %b : tensor<2x8xf32> bias tensor<7xf32> -> tensor<2x3xf32>, tensor<2x3xi32>
  return
}

// -----

func.func @more_choices_than_experts() {
  %e = graph.input "e" : tensor<2x3xi32>
  // expected-error @+1 {{of 2 experts, expected a static number of different ones}}
  %p, %g = graph.group_rows %e : tensor<2x3xi32> -> tensor<2x3xi32>, tensor<2x3xi32>
  return
}

// -----

func.func @groups_of_two_columns() {
  %e = graph.input "e" : tensor<2x3xi32>
  // expected-error @+1 {{expected three columns for each of a static number of experts}}
  %p, %g = graph.group_rows %e : tensor<2x3xi32> -> tensor<2x3xi32>, tensor<4x2xi32>
  return
}

// -----

func.func @rows_of_other_choices() {
  %x = graph.input "x" : tensor<?x8xf32, #graph.dims<T>>
  %p = graph.input "p" : tensor<?x3xi32, #graph.dims<T>>
  // expected-error @+1 {{expected one for each choice}}
  %s = graph.spread_rows %x to %p : tensor<?x8xf32, #graph.dims<T>>, tensor<?x3xi32, #graph.dims<T>> -> tensor<?x8xf32, #graph.dims<"2*T">>
  return
}

// -----

func.func @matrices_of_half_an_expert() {
  %a = graph.input "a" : tensor<6x8xf32>
  %b = graph.weight ["b"] : tensor<6x4x8xf32>
  %g = graph.input "g" : tensor<4x3xi32>
  // expected-error @+1 {{expected static matrices for each of 4 experts}}
  %y = graph.grouped_dot %a, %b by %g choices 2 : tensor<6x8xf32>, tensor<6x4x8xf32> by tensor<4x3xi32> -> tensor<6x4xf32>
  return
}

// -----

func.func @columns_of_one_part() {
  %a = graph.input "a" : tensor<6x8xf32>
  %b = graph.weight ["b"] : tensor<8x4x8xf32>
  %g = graph.input "g" : tensor<4x3xi32>
  // expected-error @+1 {{expected 8 columns: 2 parts of 4}}
  %y = graph.grouped_dot %a, %b by %g choices 2 : tensor<6x8xf32>, tensor<8x4x8xf32> by tensor<4x3xi32> -> tensor<6x4xf32>
  return
}

// -----

func.func @depths_differ() {
  %a = graph.input "a" : tensor<6x8xf32>
  %b = graph.weight ["b"] : tensor<4x4x16xf32>
  %g = graph.input "g" : tensor<4x3xi32>
  // expected-error @+1 {{expected axis 1 of the first to equal axis 2 of the second}}
  %y = graph.grouped_dot %a, %b by %g choices 2 : tensor<6x8xf32>, tensor<4x4x16xf32> by tensor<4x3xi32> -> tensor<6x4xf32>
  return
}

// -----

func.func @weights_of_other_tokens() {
  %r = graph.input "r" : tensor<6x8xf32>
  %p = graph.input "p" : tensor<2x3xi32>
  %w = graph.input "w" : tensor<3x2xf32>
  // expected-error @+1 {{expected axis 0 of the first to equal axis 0 of the second}}
  %y = graph.combine_rows %r at %p by %w : tensor<6x8xf32>, tensor<2x3xi32>, tensor<3x2xf32> -> tensor<2x8xf32>
  return
}
