// Panels of shapes that do not fit each other or their formats are refused by name, before anything reads them.
// RUN: split-file %s %t
// RUN: not %sinter_compiler kernel emit %t/scales_rank0.mlir --stage sched --level avx512vnni 2>&1 | FileCheck %s --check-prefix=SCALES_RANK0
// RUN: not %sinter_compiler kernel emit %t/words_rank1.mlir --stage sched --level avx512vnni 2>&1 | FileCheck %s --check-prefix=WORDS_RANK1
// RUN: not %sinter_compiler kernel emit %t/shift.mlir --stage sched --level avx512vnni 2>&1 | FileCheck %s --check-prefix=SHIFT
// RUN: not %sinter_compiler kernel emit %t/no_shift.mlir --stage sched --level avx512vnni 2>&1 | FileCheck %s --check-prefix=NO_SHIFT
// RUN: not %sinter_compiler kernel emit %t/many_pairs.mlir --stage sched --level avx512vnni 2>&1 | FileCheck %s --check-prefix=MANY_PAIRS
// RUN: not %sinter_compiler kernel emit %t/mins_of_integers.mlir --stage sched --level avx512vnni 2>&1 | FileCheck %s --check-prefix=MINS_OF_INTEGERS
// RUN: not %sinter_compiler kernel emit %t/numbers.mlir --stage sched --level avx512vnni 2>&1 | FileCheck %s --check-prefix=NUMBERS
// RUN: not %sinter_compiler kernel emit %t/accumulators.mlir --stage sched --level avx512vnni 2>&1 | FileCheck %s --check-prefix=SUMS
// RUN: not %sinter_compiler kernel emit %t/part.mlir --stage sched --level avx512vnni 2>&1 | FileCheck %s --check-prefix=PART
// RUN: not %sinter_compiler kernel emit %t/groups.mlir --stage sched --level avx512vnni 2>&1 | FileCheck %s --check-prefix=GROUPS
// RUN: not %sinter_compiler kernel emit %t/expand_rank0.mlir --stage sched --level avx512vnni 2>&1 | FileCheck %s --check-prefix=EXPAND_RANK0
// RUN: not %sinter_compiler kernel emit %t/total_scales_rank0.mlir --stage sched --level avx512vnni 2>&1 | FileCheck %s --check-prefix=TOTAL_SCALES_RANK0
// RUN: not %sinter_compiler kernel emit %t/totals_rank0.mlir --stage sched --level avx512vnni 2>&1 | FileCheck %s --check-prefix=TOTALS_RANK0
// RUN: not %sinter_compiler kernel emit %t/totals_mins.mlir --stage sched --level avx512vnni 2>&1 | FileCheck %s --check-prefix=TOTALS_MINS
// RUN: not %sinter_compiler kernel emit %t/totals_mins_rank1.mlir --stage sched --level avx512vnni 2>&1 | FileCheck %s --check-prefix=TOTALS_MINS_RANK1
// SCALES_RANK0: has words 'tensor<8x16xi32>' and scales 'tensor<f32>', expected 8xNxi32
// WORDS_RANK1: has words 'tensor<16xi32>'
// SHIFT: has shift beside scales 'tensor<2x16xi32>', expected 0 to 15
// NO_SHIFT: has no shift
// MANY_PAIRS: expected 8xNxi32 and one or two groups
// MINS_OF_INTEGERS: has minima beside scales 'tensor<2x16xi32>', expected them in f32
// NUMBERS: has numbers from -8 to 128, expected those of a signed byte
// SUMS: expected one block of activations a row and accumulators like the scales
// PART: takes part 8 of blocks of 256
// GROUPS: expected those of 2 groups
// EXPAND_RANK0: expands 'tensor<16x256x!tile.block
// TOTAL_SCALES_RANK0: takes the scales of totals
// TOTALS_RANK0: scales 'tensor<i32>'
// TOTALS_MINS: has minima 'tensor<3x16xf32>', expected 'tensor<16x16xf32>'
// TOTALS_MINS_RANK1: has minima 'tensor<16xf32>'

//--- scales_rank0.mlir
tile.kernel @k(%a: !tile.view<?x?x!tile.block<"q8a_16_256">, in>, %b: !tile.view<?x?x!tile.block<"q6_k">, in, interleave = 16>, %o: !tile.view<?x?xf32, out>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.grid %c1, %c1, %c1
  %a0 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x32x!tile.block<"q8a_16_256">>
  %a2 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x256x!tile.block<"q8a_16_256">>
  %bb = tile.load %b[%c0, %c0] : <?x?x!tile.block<"q6_k">, in, interleave = 16> -> tensor<16x256x!tile.block<"q6_k">>
  %w = arith.constant dense<0> : tensor<8x16xi32>
  %s = arith.constant dense<0.0> : tensor<f32>
  %acc = arith.constant dense<0.0> : tensor<4x16xf32>
  %r = sched.panel_dot %a0, %w, %s, %acc : (tensor<4x32x!tile.block<"q8a_16_256">>, tensor<8x16xi32>, tensor<f32>, tensor<4x16xf32>) -> tensor<4x16xf32>
}

//--- words_rank1.mlir
tile.kernel @k(%a: !tile.view<?x?x!tile.block<"q8a_16_256">, in>, %b: !tile.view<?x?x!tile.block<"q6_k">, in, interleave = 16>, %o: !tile.view<?x?xf32, out>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.grid %c1, %c1, %c1
  %a0 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x32x!tile.block<"q8a_16_256">>
  %a2 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x256x!tile.block<"q8a_16_256">>
  %bb = tile.load %b[%c0, %c0] : <?x?x!tile.block<"q6_k">, in, interleave = 16> -> tensor<16x256x!tile.block<"q6_k">>
  %w = arith.constant dense<0> : tensor<16xi32>
  %s = arith.constant dense<0.0> : tensor<2x16xf32>
  %acc = arith.constant dense<0.0> : tensor<4x16xf32>
  %r = sched.panel_dot %a0, %w, %s, %acc : (tensor<4x32x!tile.block<"q8a_16_256">>, tensor<16xi32>, tensor<2x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
}

//--- shift.mlir
tile.kernel @k(%a: !tile.view<?x?x!tile.block<"q8a_16_256">, in>, %b: !tile.view<?x?x!tile.block<"q6_k">, in, interleave = 16>, %o: !tile.view<?x?xf32, out>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.grid %c1, %c1, %c1
  %a0 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x32x!tile.block<"q8a_16_256">>
  %a2 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x256x!tile.block<"q8a_16_256">>
  %bb = tile.load %b[%c0, %c0] : <?x?x!tile.block<"q6_k">, in, interleave = 16> -> tensor<16x256x!tile.block<"q6_k">>
  %w = arith.constant dense<0> : tensor<8x16xi32>
  %s = arith.constant dense<0> : tensor<2x16xi32>
  %acc = arith.constant dense<0> : tensor<4x16xi32>
  %r = sched.panel_dot %a0, %w, %s, %acc {shift = 40 : i64} : (tensor<4x32x!tile.block<"q8a_16_256">>, tensor<8x16xi32>, tensor<2x16xi32>, tensor<4x16xi32>) -> tensor<4x16xi32>
}

//--- no_shift.mlir
tile.kernel @k(%a: !tile.view<?x?x!tile.block<"q8a_16_256">, in>, %b: !tile.view<?x?x!tile.block<"q6_k">, in, interleave = 16>, %o: !tile.view<?x?xf32, out>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.grid %c1, %c1, %c1
  %a0 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x32x!tile.block<"q8a_16_256">>
  %a2 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x256x!tile.block<"q8a_16_256">>
  %bb = tile.load %b[%c0, %c0] : <?x?x!tile.block<"q6_k">, in, interleave = 16> -> tensor<16x256x!tile.block<"q6_k">>
  %w = arith.constant dense<0> : tensor<8x16xi32>
  %s = arith.constant dense<0> : tensor<2x16xi32>
  %acc = arith.constant dense<0> : tensor<4x16xi32>
  %r = sched.panel_dot %a0, %w, %s, %acc : (tensor<4x32x!tile.block<"q8a_16_256">>, tensor<8x16xi32>, tensor<2x16xi32>, tensor<4x16xi32>) -> tensor<4x16xi32>
}

//--- many_pairs.mlir
tile.kernel @k(%a: !tile.view<?x?x!tile.block<"q8a_16_256">, in>, %b: !tile.view<?x?x!tile.block<"q6_k">, in, interleave = 16>, %o: !tile.view<?x?xf32, out>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.grid %c1, %c1, %c1
  %a0 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x32x!tile.block<"q8a_16_256">>
  %a2 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x256x!tile.block<"q8a_16_256">>
  %bb = tile.load %b[%c0, %c0] : <?x?x!tile.block<"q6_k">, in, interleave = 16> -> tensor<16x256x!tile.block<"q6_k">>
  %w = arith.constant dense<0> : tensor<8x16xi32>
  %s = arith.constant dense<0> : tensor<32x16xi32>
  %acc = arith.constant dense<0> : tensor<4x16xi32>
  %r = sched.panel_dot %a0, %w, %s, %acc {pairs, shift = 1 : i64} : (tensor<4x32x!tile.block<"q8a_16_256">>, tensor<8x16xi32>, tensor<32x16xi32>, tensor<4x16xi32>) -> tensor<4x16xi32>
}

//--- mins_of_integers.mlir
tile.kernel @k(%a: !tile.view<?x?x!tile.block<"q8a_16_256">, in>, %b: !tile.view<?x?x!tile.block<"q6_k">, in, interleave = 16>, %o: !tile.view<?x?xf32, out>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.grid %c1, %c1, %c1
  %a0 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x32x!tile.block<"q8a_16_256">>
  %a2 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x256x!tile.block<"q8a_16_256">>
  %bb = tile.load %b[%c0, %c0] : <?x?x!tile.block<"q6_k">, in, interleave = 16> -> tensor<16x256x!tile.block<"q6_k">>
  %w = arith.constant dense<0> : tensor<8x16xi32>
  %s = arith.constant dense<0> : tensor<2x16xi32>
  %acc = arith.constant dense<0> : tensor<4x16xi32>
  %m = arith.constant dense<0.0> : tensor<2x16xf32>
  %r = sched.panel_dot %a0, %w, %s, %acc, %m {least = 0 : i64, shift = 0 : i64} : (tensor<4x32x!tile.block<"q8a_16_256">>, tensor<8x16xi32>, tensor<2x16xi32>, tensor<4x16xi32>, tensor<2x16xf32>) -> tensor<4x16xi32>
}

//--- numbers.mlir
tile.kernel @k(%a: !tile.view<?x?x!tile.block<"q8a_16_256">, in>, %b: !tile.view<?x?x!tile.block<"q6_k">, in, interleave = 16>, %o: !tile.view<?x?xf32, out>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.grid %c1, %c1, %c1
  %a0 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x32x!tile.block<"q8a_16_256">>
  %a2 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x256x!tile.block<"q8a_16_256">>
  %bb = tile.load %b[%c0, %c0] : <?x?x!tile.block<"q6_k">, in, interleave = 16> -> tensor<16x256x!tile.block<"q6_k">>
  %w = arith.constant dense<0> : tensor<8x16xi32>
  %s = arith.constant dense<0> : tensor<2x16xi32>
  %acc = arith.constant dense<0> : tensor<4x16xi32>
  %r = sched.panel_dot %a0, %w, %s, %acc {least = -8 : i64, most = 128 : i64, shift = 0 : i64} : (tensor<4x32x!tile.block<"q8a_16_256">>, tensor<8x16xi32>, tensor<2x16xi32>, tensor<4x16xi32>) -> tensor<4x16xi32>
}

//--- accumulators.mlir
tile.kernel @k(%a: !tile.view<?x?x!tile.block<"q8a_16_256">, in>, %b: !tile.view<?x?x!tile.block<"q6_k">, in, interleave = 16>, %o: !tile.view<?x?xf32, out>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.grid %c1, %c1, %c1
  %a0 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x32x!tile.block<"q8a_16_256">>
  %a2 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x256x!tile.block<"q8a_16_256">>
  %bb = tile.load %b[%c0, %c0] : <?x?x!tile.block<"q6_k">, in, interleave = 16> -> tensor<16x256x!tile.block<"q6_k">>
  %w = arith.constant dense<0> : tensor<8x16xi32>
  %s = arith.constant dense<0> : tensor<2x16xi32>
  %acc = arith.constant dense<0.0> : tensor<4x16xf32>
  %r = sched.panel_dot %a0, %w, %s, %acc {shift = 0 : i64} : (tensor<4x32x!tile.block<"q8a_16_256">>, tensor<8x16xi32>, tensor<2x16xi32>, tensor<4x16xf32>) -> tensor<4x16xf32>
}

//--- part.mlir
tile.kernel @k(%a: !tile.view<?x?x!tile.block<"q8a_16_256">, in>, %b: !tile.view<?x?x!tile.block<"q6_k">, in, interleave = 16>, %o: !tile.view<?x?xf32, out>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.grid %c1, %c1, %c1
  %a0 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x32x!tile.block<"q8a_16_256">>
  %a2 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x256x!tile.block<"q8a_16_256">>
  %bb = tile.load %b[%c0, %c0] : <?x?x!tile.block<"q6_k">, in, interleave = 16> -> tensor<16x256x!tile.block<"q6_k">>
  %w, %s = sched.expand %bb part 8 : tensor<16x256x!tile.block<"q6_k">> -> tensor<8x16xi32>, tensor<2x16xf32>
}

//--- groups.mlir
tile.kernel @k(%a: !tile.view<?x?x!tile.block<"q8a_16_256">, in>, %b: !tile.view<?x?x!tile.block<"q6_k">, in, interleave = 16>, %o: !tile.view<?x?xf32, out>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.grid %c1, %c1, %c1
  %a0 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x32x!tile.block<"q8a_16_256">>
  %a2 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x256x!tile.block<"q8a_16_256">>
  %bb = tile.load %b[%c0, %c0] : <?x?x!tile.block<"q6_k">, in, interleave = 16> -> tensor<16x256x!tile.block<"q6_k">>
  %w, %s = sched.expand %bb part 0 : tensor<16x256x!tile.block<"q6_k">> -> tensor<8x16xi32>, tensor<1x16xf32>
}

//--- expand_rank0.mlir
tile.kernel @k(%a: !tile.view<?x?x!tile.block<"q8a_16_256">, in>, %b: !tile.view<?x?x!tile.block<"q6_k">, in, interleave = 16>, %o: !tile.view<?x?xf32, out>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.grid %c1, %c1, %c1
  %a0 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x32x!tile.block<"q8a_16_256">>
  %a2 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x256x!tile.block<"q8a_16_256">>
  %bb = tile.load %b[%c0, %c0] : <?x?x!tile.block<"q6_k">, in, interleave = 16> -> tensor<16x256x!tile.block<"q6_k">>
  %w, %s = sched.expand %bb part 0 : tensor<16x256x!tile.block<"q6_k">> -> tensor<i32>, tensor<2x16xf32>
}

//--- total_scales_rank0.mlir
tile.kernel @k(%a: !tile.view<?x?x!tile.block<"q8a_16_256">, in>, %b: !tile.view<?x?x!tile.block<"q6_k">, in, interleave = 16>, %o: !tile.view<?x?xf32, out>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.grid %c1, %c1, %c1
  %a0 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x32x!tile.block<"q8a_16_256">>
  %a2 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x256x!tile.block<"q8a_16_256">>
  %bb = tile.load %b[%c0, %c0] : <?x?x!tile.block<"q6_k">, in, interleave = 16> -> tensor<16x256x!tile.block<"q6_k">>
  %r = sched.total_scales %bb : tensor<16x256x!tile.block<"q6_k">> -> tensor<f32>
}

//--- totals_rank0.mlir
tile.kernel @k(%a: !tile.view<?x?x!tile.block<"q8a_16_256">, in>, %b: !tile.view<?x?x!tile.block<"q6_k">, in, interleave = 16>, %o: !tile.view<?x?xf32, out>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.grid %c1, %c1, %c1
  %a0 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x32x!tile.block<"q8a_16_256">>
  %a2 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x256x!tile.block<"q8a_16_256">>
  %bb = tile.load %b[%c0, %c0] : <?x?x!tile.block<"q6_k">, in, interleave = 16> -> tensor<16x256x!tile.block<"q6_k">>
  %t = arith.constant dense<0> : tensor<i32>
  %s = arith.constant dense<0.0> : tensor<2x16xf32>
  %r = sched.scale_totals %a2, %t, %s : (tensor<4x256x!tile.block<"q8a_16_256">>, tensor<i32>, tensor<2x16xf32>) -> tensor<f32>
}

//--- totals_mins.mlir
tile.kernel @k(%a: !tile.view<?x?x!tile.block<"q8a_16_256">, in>, %b: !tile.view<?x?x!tile.block<"q6_k">, in, interleave = 16>, %o: !tile.view<?x?xf32, out>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.grid %c1, %c1, %c1
  %a0 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x32x!tile.block<"q8a_16_256">>
  %a2 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x256x!tile.block<"q8a_16_256">>
  %bb = tile.load %b[%c0, %c0] : <?x?x!tile.block<"q6_k">, in, interleave = 16> -> tensor<16x256x!tile.block<"q6_k">>
  %t = arith.constant dense<0> : tensor<4x16xi32>
  %s = arith.constant dense<0.0> : tensor<2x16xf32>
  %m = arith.constant dense<0.0> : tensor<3x16xf32>
  %r = sched.scale_totals %a2, %t, %s, %m : (tensor<4x256x!tile.block<"q8a_16_256">>, tensor<4x16xi32>, tensor<2x16xf32>, tensor<3x16xf32>) -> tensor<4x16xf32>
}

//--- totals_mins_rank1.mlir
tile.kernel @k(%a: !tile.view<?x?x!tile.block<"q8a_16_256">, in>, %b: !tile.view<?x?x!tile.block<"q6_k">, in, interleave = 16>, %o: !tile.view<?x?xf32, out>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.grid %c1, %c1, %c1
  %a0 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x32x!tile.block<"q8a_16_256">>
  %a2 = tile.load %a[%c0, %c0] : <?x?x!tile.block<"q8a_16_256">, in> -> tensor<4x256x!tile.block<"q8a_16_256">>
  %bb = tile.load %b[%c0, %c0] : <?x?x!tile.block<"q6_k">, in, interleave = 16> -> tensor<16x256x!tile.block<"q6_k">>
  %t = arith.constant dense<0> : tensor<4x16xi32>
  %s = arith.constant dense<0.0> : tensor<2x16xf32>
  %m = arith.constant dense<0.0> : tensor<16xf32>
  %r = sched.scale_totals %a2, %t, %s, %m : (tensor<4x256x!tile.block<"q8a_16_256">>, tensor<4x16xi32>, tensor<2x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
}
