// A graph that is no decoder: two branches, a softmax over a middle axis, a batched product of two values, a concat and
// an odd broadcast.
// RUN: %sinter_compiler graph run %s --evaluate f64 --size T=2 | FileCheck %s
// RUN: %sinter_compiler graph run %s --size T=2 --seed 7 > %t.f32
// RUN: %sinter_compiler graph run %s --size T=2 --seed 7 | diff - %t.f32
// RUN: %sinter_compiler graph run %s --size T=0 | FileCheck %s --check-prefix=EMPTY
// RUN: rm -rf %t && mkdir %t
// RUN: %sinter_compiler graph run %s --size T=2 --seed 7 -o %t
// RUN: not %sinter_compiler graph run %s --size T=2 --input y=%t/sums.npy 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not %sinter_compiler graph run %s --size T=2 --input a=%t/sums.npy 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not %sinter_compiler graph run %s --size T=2 --input a=%s 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: not %sinter_compiler graph run %s 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not %sinter_compiler graph run %s --size T=9223372036854775807 2>&1 | FileCheck %s --check-prefix=OVERFLOW
// RUN: not %sinter_compiler graph run %s --size T=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not %sinter_compiler graph run %s --evaluate f16 2>&1 | FileCheck %s --check-prefix=PRECISION
// RUN: not %sinter_compiler graph run %s --function other 2>&1 | FileCheck %s --check-prefix=FUNCTION
// RUN: not %sinter_compiler graph run %t/none.mlir 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: %sinter_compiler graph run %s --size T=2 --target host --compare | FileCheck %s --check-prefix=HOST
// RUN: %sinter_compiler graph run %s --size T=0 --target host | FileCheck %s --check-prefix=EMPTY
// RUN: rm -rf %t.host && mkdir %t.host
// RUN: %sinter_compiler graph run %s --size T=2 --seed 7 --target host -o %t.host
// RUN: test -s %t.host/y.npy
// RUN: not %sinter_compiler graph run %s --size T=2 --target amd 2>&1 | FileCheck %s --check-prefix=DEVICE
// RUN: not %sinter_compiler graph run %s --size T=2 --target z80 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not %sinter_compiler graph run %s --size T=2 --target host --evaluate f64 2>&1 | FileCheck %s --check-prefix=EITHER
// RUN: not %sinter_compiler graph run %s --size T=2 --compare 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: not %sinter_compiler graph run %s --size T=3000000000 --target host 2>&1 | FileCheck %s --check-prefix=LARGE

// Weights of a softmax sum to 1.
// CHECK: sums: 2x1x4xf32
// CHECK-NEXT: {{^  1 1 1 1$}}
// CHECK-NEXT: {{^  1 1 1 1$}}
// CHECK: y: 2x3x9xf32
// EMPTY: sums: 0x1x4xf32
// UNKNOWN: the graph has no input, state or weight 'y'
// SHAPE: axis 1 of 'a' is 1, expected 3
// BYTES: run.mlir': the .npy file does not begin with its magic number
// SIZE: input 'a': symbol 'T' has no value; give --size NAME=N or a file by --input
// OVERFLOW: the bytes of a tensor overflow 63 bits
// NEGATIVE: size of 'T' is '-1', expected 0 or more
// PRECISION: --evaluate: f16 not in {f32,f64}
// FUNCTION: has 0 functions named 'other', expected one
// MISSING: cannot read '{{.*}}none.mlir'
// HOST: sums: 2x1x4xf32
// HOST-NEXT: {{^  (1|1[.]0000001.*|0[.]9999999.*)( |$)}}
// HOST: y: 2x3x9xf32
// HOST: largest error: {{.*}}; the evaluator's in f32:
// DEVICE: this machine runs no code for 'amd:gfx942{{.*}}': no driver is named 'amd'
// TARGET: found target 'z80', expected host
// EITHER: --evaluate excludes --target
// ALONE: --compare requires --target
// LARGE: a tensor has more than 2147483648 elements

!a = tensor<?x3x4xf32, #graph.dims<T>>
!row = tensor<?x1x4xf32, #graph.dims<T>>

func.func @attention_like() {
  %a = graph.input "a" : !a
  %scale = graph.input "scale" : tensor<3x1xf32>
  %w = graph.weight ["w"] : tensor<5x4xf16>
  %max = graph.reduce max %a over [1] : !a -> !row
  %e = graph.map %a, %max : !a, !row -> !a {
  ^bb0(%x: f32, %m: f32):
    %d = arith.subf %x, %m : f32
    %r = math.exp %d : f32
    graph.yield %r : f32
  }
  %sum = graph.reduce sum %e over [1] : !a -> !row
  %p = graph.map %e, %sum : !a, !row -> !a {
  ^bb0(%x: f32, %s: f32):
    %r = arith.divf %x, %s : f32
    graph.yield %r : f32
  }
  %sums = graph.reduce sum %p over [1] : !a -> !row
  %scaled = graph.map %a, %scale : !a, tensor<3x1xf32> -> !a {
  ^bb0(%x: f32, %s: f32):
    %r = arith.mulf %x, %s : f32
    graph.yield %r : f32
  }
  %scores = graph.dot_general %p, %scaled batch [0] x [0] contract [1] x [1] : !a, !a -> tensor<?x4x4xf32, #graph.dims<T>>
  %back = graph.dot_general %scaled, %scores batch [0] x [0] contract [2] x [1]
      : !a, tensor<?x4x4xf32, #graph.dims<T>> -> !a
  %wide = graph.dot_general %a, %w : !a, tensor<5x4xf16> -> tensor<?x3x5xf32, #graph.dims<T>>
  %y = graph.concat %wide, %back along 2 : tensor<?x3x5xf32, #graph.dims<T>>, !a -> tensor<?x3x9xf32, #graph.dims<T>>
  graph.output "sums", %sums : !row
  graph.output "y", %y : tensor<?x3x9xf32, #graph.dims<T>>
  return
}
