// A product in registers that reads operands a part ahead, written by hand: what the passes make of the gemm kernel is the same, thread by thread
// (the order of constants aside).
// RUN: %sinter_compiler kernel emit %s --target cuda:sm_80 --emit sched | grep -v arith.constant > %t.hand
// RUN: %sinter_compiler kernel emit gemm --set a=bf16 --set b=bf16 --set transpose_b=true --set block_m=128 --set block_n=64 --set block_k=64 --target cuda:sm_80 --emit sched | grep -v arith.constant > %t.made
// RUN: diff %t.hand %t.made
// RUN: FileCheck %s < %t.hand

// CHECK: sched.threads = 256
// CHECK: sched.copy_async
// CHECK: sched.shared_matrices
// CHECK: sched.matrix "nvidia.mma.m16n8k16.f32.bf16"
!a = !tile.view<?x?xbf16, in>
!b = !tile.view<?x?xbf16, in>
!out = !tile.view<?x?xf32, out>
!accumulators = tensor<128x64xf32>
!left = tensor<128x16xbf16>
!right = tensor<64x16xbf16>
!pipelineA = !sched.pipeline<4, tensor<128x64xbf16>>
!pipelineB = !sched.pipeline<4, tensor<64x64xbf16>>
tile.kernel @gemm(%a: !a {tile.name = "a"}, %b: !b {tile.name = "b"}, %out: !out {tile.name = "out"}) attributes {sched.threads = 256 : i64} {
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !accumulators
  %c0 = arith.constant 0 : index
  %n = tile.dim %out, 1 : !out
  %columns = arith.ceildivsi %n, %c64 : index
  %m = tile.dim %out, 0 : !out
  %rows = arith.ceildivsi %m, %c128 : index
  tile.grid %columns, %rows, %c1

  // Groups of 8 rows of programs, column by column.
  %x = tile.program_id 0
  %y = tile.program_id 1
  %c8 = arith.constant 8 : index
  %before = arith.muli %y, %columns : index
  %number = arith.addi %before, %x : index
  %perGroup = arith.muli %columns, %c8 : index
  %group = arith.divui %number, %perGroup : index
  %inGroup = arith.remui %number, %perGroup : index
  %firstRow = arith.muli %group, %c8 : index
  %rowsLeft = arith.subi %rows, %firstRow : index
  %height = arith.minui %rowsLeft, %c8 : index
  %rowInGroup = arith.remui %inGroup, %height : index
  %row = arith.addi %firstRow, %rowInGroup : index
  %column = arith.divui %inGroup, %height : index
  %atM = arith.muli %row, %c128 : index
  %atN = arith.muli %column, %c64 : index

  // Four steps ahead, each into the place whose last part was read before the barrier.
  %k = tile.dim %a, 1 : !a
  %pipelineA = sched.make_pipeline : !pipelineA
  %pipelineB = sched.make_pipeline : !pipelineB
  %place0 = arith.constant 0 : i32
  sched.stage_copy %a[%atM, %c0] to %pipelineA[%place0] : !a, !pipelineA
  sched.stage_copy %b[%atN, %c0] to %pipelineB[%place0] : !b, !pipelineB
  sched.commit
  %place1 = arith.constant 1 : i32
  sched.stage_copy %a[%atM, %c64] to %pipelineA[%place1] : !a, !pipelineA
  sched.stage_copy %b[%atN, %c64] to %pipelineB[%place1] : !b, !pipelineB
  sched.commit
  %place2 = arith.constant 2 : i32
  sched.stage_copy %a[%atM, %c128] to %pipelineA[%place2] : !a, !pipelineA
  sched.stage_copy %b[%atN, %c128] to %pipelineB[%place2] : !b, !pipelineB
  sched.commit
  %place3 = arith.constant 3 : i32
  %c192 = arith.constant 192 : index
  sched.stage_copy %a[%atM, %c192] to %pipelineA[%place3] : !a, !pipelineA
  sched.stage_copy %b[%atN, %c192] to %pipelineB[%place3] : !b, !pipelineB
  sched.commit
  sched.await 3
  %firstLeft = sched.stage_read %pipelineA[%place0] from [0, 0] : !pipelineA -> !left
  %firstRight = sched.stage_read %pipelineB[%place0] from [0, 0] : !pipelineB -> !right
  %c256 = arith.constant 256 : index
  %depth = arith.constant 4 : index
  %accumulators:3 = scf.for %at = %c0 to %k step %c64 iter_args(%acc = %zero, %left0 = %firstLeft, %right0 = %firstRight) -> (!accumulators, !left, !right) {
    %step = arith.divui %at, %c64 : index
    %inPipeline = arith.remui %step, %depth : index
    %place = arith.index_cast %inPipeline : index to i32
    %left1 = sched.stage_read %pipelineA[%place] from [0, 16] : !pipelineA -> !left
    %right1 = sched.stage_read %pipelineB[%place] from [0, 16] : !pipelineB -> !right
    %sum0 = tile.dot %left0, %right0, %acc transpose_b : !left, !right, !accumulators -> !accumulators
    %left2 = sched.stage_read %pipelineA[%place] from [0, 32] : !pipelineA -> !left
    %right2 = sched.stage_read %pipelineB[%place] from [0, 32] : !pipelineB -> !right
    %sum1 = tile.dot %left1, %right1, %sum0 transpose_b : !left, !right, !accumulators -> !accumulators
    %left3 = sched.stage_read %pipelineA[%place] from [0, 48] : !pipelineA -> !left
    %right3 = sched.stage_read %pipelineB[%place] from [0, 48] : !pipelineB -> !right
    %sum2 = tile.dot %left2, %right2, %sum1 transpose_b : !left, !right, !accumulators -> !accumulators
    sched.await 2
    %stepNext = arith.addi %step, %c1 : index
    %inPipelineNext = arith.remui %stepNext, %depth : index
    %placeNext = arith.index_cast %inPipelineNext : index to i32
    %leftNext = sched.stage_read %pipelineA[%placeNext] from [0, 0] : !pipelineA -> !left
    %rightNext = sched.stage_read %pipelineB[%placeNext] from [0, 0] : !pipelineB -> !right
    %sum3 = tile.dot %left3, %right3, %sum2 transpose_b : !left, !right, !accumulators -> !accumulators
    %later = arith.addi %at, %c256 : index
    sched.stage_copy %a[%atM, %later] to %pipelineA[%place] : !a, !pipelineA
    sched.stage_copy %b[%atN, %later] to %pipelineB[%place] : !b, !pipelineB
    sched.commit
    scf.yield %sum3, %leftNext, %rightNext : !accumulators, !left, !right
  }
  sched.await 0
  tile.store %accumulators#0, %out[%atM, %atN] : !accumulators, !out
}
