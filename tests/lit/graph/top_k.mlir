// The largest of rows: of equal ones the lower index first, NaN before all numbers; by the evaluator and on this machine.
// RUN: %sinter_compiler graph run %s --evaluate f64 | FileCheck %s
// RUN: %sinter_compiler graph run %s --target host | FileCheck %s
// CHECK: at: 2x2x3xi32
// CHECK-NEXT: {{^  3 1 4$}}
// CHECK-NEXT: {{^  0 1 2$}}
// CHECK-NEXT: {{^  4 2 0$}}
// CHECK-NEXT: {{^  0 2 1$}}
// CHECK: top: 2x2x3xf32
// CHECK-NEXT: {{^  9 4 4$}}
// CHECK-NEXT: {{^  1 1 1$}}
// CHECK-NEXT: {{^  inf -1 -2$}}
// CHECK-NEXT: {{^  -?nan -3 -inf$}}

func.func @top_k() {
  %v = graph.constant dense<[[[1.0, 4.0, 3.0, 9.0, 4.0], [1.0, 1.0, 1.0, 1.0, 1.0]], [[-2.0, -4.0, -1.0, -3.0, 0x7F800000], [0x7FC00000, 0xFF800000, -3.0, 0xFF800000, 0xFF800000]]]> : tensor<2x2x5xf32>
  %t, %i = graph.top_k %v : tensor<2x2x5xf32> -> tensor<2x2x3xf32>, tensor<2x2x3xi32>
  graph.output "top", %t : tensor<2x2x3xf32>
  graph.output "at", %i : tensor<2x2x3xi32>
  return
}
