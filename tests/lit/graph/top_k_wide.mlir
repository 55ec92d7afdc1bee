// Rows of more elements than are ranked at once, in groups of groups: distinct ones, and many ties; by the evaluator and on
// this machine.
// RUN: %sinter_compiler graph run %s --evaluate f64 | FileCheck %s
// RUN: %sinter_compiler graph run %s --target host | FileCheck %s
// CHECK: at: 2x4xi32
// CHECK-NEXT: {{^  39999 39799 39998 39599$}}
// CHECK-NEXT: {{^  7 207 407 607$}}
// CHECK: top: 2x4xf32
// CHECK-NEXT: {{^  12078 11979 11956 11880$}}
// CHECK-NEXT: {{^  4 4 4 4$}}

func.func @top_k_wide() {
  %which = graph.iota along 0 : tensor<2x200x200xi32>
  %line = graph.iota along 1 : tensor<2x200x200xi32>
  %place = graph.iota along 2 : tensor<2x200x200xi32>
  %m = graph.map %which, %line, %place : tensor<2x200x200xi32>, tensor<2x200x200xi32>, tensor<2x200x200xi32> -> tensor<2x200x200xf32> {
  ^bb0(%w: i32, %l: i32, %p: i32):
    %zero = arith.constant 0 : i32
    %four = arith.constant 4 : i32
    %seven = arith.constant 7 : i32
    %a = arith.constant 77 : i32
    %b = arith.constant 100 : i32
    %la = arith.subi %l, %a : i32
    %pb = arith.subi %p, %b : i32
    %apart = arith.muli %la, %pb : i32
    %seventh = arith.cmpi eq, %p, %seven : i32
    %alike = arith.select %seventh, %four, %zero : i32
    %first = arith.cmpi eq, %w, %zero : i32
    %value = arith.select %first, %apart, %alike : i32
    %float = arith.sitofp %value : i32 to f32
    graph.yield %float : f32
  }
  %v = graph.reshape %m : tensor<2x200x200xf32> -> tensor<2x40000xf32>
  %t, %i = graph.top_k %v : tensor<2x40000xf32> -> tensor<2x4xf32>, tensor<2x4xi32>
  graph.output "top", %t : tensor<2x4xf32>
  graph.output "at", %i : tensor<2x4xi32>
  return
}
