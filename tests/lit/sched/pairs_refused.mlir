// Pairs of shapes that do not fit their numbers are refused by name.
// RUN: split-file %s %t
// RUN: not %sinter_compiler kernel emit %t/extent.mlir --stage sched --level avx512bf16 2>&1 | FileCheck %s --check-prefix=EXTENT
// RUN: not %sinter_compiler kernel emit %t/axis.mlir --stage sched --level avx512bf16 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not %sinter_compiler kernel emit %t/element.mlir --stage sched --level avx512bf16 2>&1 | FileCheck %s --check-prefix=ELEMENT
// RUN: not %sinter_compiler kernel emit %t/dot.mlir --stage asm --level avx512vnni 2>&1 | FileCheck %s --check-prefix=DOT
// RUN: not %sinter_compiler kernel emit %t/mixed.mlir --stage asm --level avx512bf16 2>&1 | FileCheck %s --check-prefix=MIXED
// RUN: not %sinter_compiler kernel emit %t/dot.mlir --stage sched --level cuda:sm_90a 2>&1 | FileCheck %s --check-prefix=THREADS
// THREADS: multiplies words of pairs, which has no form for threads
// EXTENT: makes 'tensor<16x16xi32>' of 'tensor<16x16xf32>' along axis 1, expected i32 words of two neighbours in f32
// AXIS: along axis 2, expected
// ELEMENT: makes 'tensor<16x8xi32>' of 'tensor<16x16xf16>' along axis 1, expected i32 words of two neighbours in f32 or bf16
// DOT: multiplies pairs of bf16, which cpu:x86_64+{{.*}} has no instruction for
// MIXED: multiplies 'i32' with 'f32' into f32, expected words of pairs in both or in neither

//--- extent.mlir
tile.kernel @extent(%a: !tile.view<?x?xf32, in>) {
  %c1 = arith.constant 1 : index
  tile.grid %c1, %c1, %c1
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %pairs = sched.pair %zero along 1 : tensor<16x16xf32> -> tensor<16x16xi32>
}
//--- axis.mlir
tile.kernel @axis(%a: !tile.view<?x?xf32, in>) {
  %c1 = arith.constant 1 : index
  tile.grid %c1, %c1, %c1
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %pairs = sched.pair %zero along 2 : tensor<16x16xf32> -> tensor<16x8xi32>
}
//--- element.mlir
tile.kernel @element(%a: !tile.view<?x?xf32, in>) {
  %c1 = arith.constant 1 : index
  tile.grid %c1, %c1, %c1
  %zero = arith.constant dense<0.0> : tensor<16x16xf16>
  %pairs = sched.pair %zero along 1 : tensor<16x16xf16> -> tensor<16x8xi32>
}
//--- dot.mlir
tile.kernel @dot(%out: !tile.view<?x?xf32, out>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.grid %c1, %c1, %c1
  %a = arith.constant dense<0> : tensor<1x16xi32>
  %b = arith.constant dense<0> : tensor<16x16xi32>
  %zero = arith.constant dense<0.0> : tensor<1x16xf32>
  %sum = tile.dot %a, %b, %zero : tensor<1x16xi32>, tensor<16x16xi32>, tensor<1x16xf32> -> tensor<1x16xf32>
  tile.store %sum, %out[%c0, %c0] : tensor<1x16xf32>, <?x?xf32, out>
}
//--- mixed.mlir
tile.kernel @mixed(%out: !tile.view<?x?xf32, out>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.grid %c1, %c1, %c1
  %a = arith.constant dense<0> : tensor<1x16xi32>
  %b = arith.constant dense<0.0> : tensor<16x16xf32>
  %zero = arith.constant dense<0.0> : tensor<1x16xf32>
  %sum = tile.dot %a, %b, %zero : tensor<1x16xi32>, tensor<16x16xf32>, tensor<1x16xf32> -> tensor<1x16xf32>
  tile.store %sum, %out[%c0, %c0] : tensor<1x16xf32>, <?x?xf32, out>
}
