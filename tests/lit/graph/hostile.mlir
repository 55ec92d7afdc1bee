// Text that is no graph: one clear error each, no abort.
// RUN: split-file %s %t
// RUN: not %sinter_compiler graph run %t/empty.mlir 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not %sinter_compiler graph run %t/syntax.mlir 2>&1 | FileCheck %s --check-prefix=SYNTAX
// RUN: not %sinter_compiler graph run %t/arguments.mlir 2>&1 | FileCheck %s --check-prefix=ARGUMENTS
// RUN: not %sinter_compiler graph run %t/external.mlir 2>&1 | FileCheck %s --check-prefix=EXTERNAL
// RUN: not %sinter_compiler graph run %t/foreign.mlir 2>&1 | FileCheck %s --check-prefix=FOREIGN
// RUN: not %sinter_compiler graph run %t/outside.mlir 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// RUN: not %sinter_compiler graph run %t/unbound.mlir 2>&1 | FileCheck %s --check-prefix=UNBOUND
// RUN: not %sinter_compiler graph run %t/twice.mlir 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not %sinter_compiler graph run %t/large.mlir 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not %sinter_compiler graph run %t/slice.mlir --size T=2 2>&1 | FileCheck %s --check-prefix=SLICE
// RUN: not %sinter_compiler graph run %t/name.mlir -o %t 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not %sinter_compiler graph 2>&1 | FileCheck %s --check-prefix=USAGE

// EMPTY: has 0 functions, expected one
// SYNTAX: syntax.mlir:2:{{[0-9]+}}: {{.*}}expected
// ARGUMENTS: function 'step' has arguments or results, expected graph.input and graph.output instead
// EXTERNAL: function 'step' has no single block of operations
// FOREIGN: foreign.mlir:2:{{[0-9]+}}: operation 'arith.constant' is none of the graph dialect
// OUTSIDE: outside.mlir:4:{{[0-9]+}}: {{.*}}using value defined outside the region
// UNBOUND: unbound.mlir:2:{{[0-9]+}}: {{.*}}whose symbol 'T' cannot be bound
// TWICE: twice.mlir:4:{{[0-9]+}}: output 'y' is made twice
// LARGE: more than 2147483648 elements
// SLICE: slice.mlir:3:{{[0-9]+}}: a slice takes 3 elements of axis 0 from 0
// NAME: output '../y' has a name that is no file name
// USAGE: see sinter-compiler graph --help

//--- empty.mlir
//--- syntax.mlir
func.func @step() {
  %a = graph.input : tensor<4xf32>
//--- arguments.mlir
func.func @step(%a: tensor<4xf32>) {
  return
}
//--- external.mlir
func.func private @step()
//--- foreign.mlir
func.func @step() {
  %c = arith.constant 1.0 : f32
  return
}
//--- outside.mlir
func.func @step() {
  %c = arith.constant 1.0 : f32
  %m = graph.map : -> tensor<4xf32> {
    graph.yield %c : f32
  }
  return
}
//--- unbound.mlir
func.func @step() {
  %i = graph.iota along 0 : tensor<?xi32, #graph.dims<T>>
  return
}
//--- twice.mlir
func.func @step() {
  %i = graph.iota along 0 : tensor<4xi32>
  graph.output "y", %i : tensor<4xi32>
  graph.output "y", %i : tensor<4xi32>
  return
}
//--- large.mlir
func.func @step() {
  %a = graph.input "a" : tensor<4294967296xf32>
  return
}
//--- slice.mlir
func.func @step() {
  %a = graph.input "a" : tensor<?xf32, #graph.dims<T>>
  %s = graph.slice %a from [0] : tensor<?xf32, #graph.dims<T>> -> tensor<3xf32>
  return
}
//--- name.mlir
func.func @step() {
  %i = graph.iota along 0 : tensor<4xi32>
  graph.output "../y", %i : tensor<4xi32>
  return
}
