// A product ahead of its operands, written by hand: what the passes make of the gemm kernel is the same, thread by thread
// (the order of constants aside).
// RUN: %sinter_compiler kernel emit %s --target cuda:sm_90a --emit sched | grep -v arith.constant > %t.hand
// RUN: %sinter_compiler kernel emit gemm --set a=bf16 --set b=bf16 --set transpose_b=true --set block_m=128 --set block_n=64 --set block_k=64 --target cuda:sm_90a --emit sched | grep -v arith.constant > %t.made
// RUN: diff %t.hand %t.made
// RUN: FileCheck %s < %t.hand

// CHECK: sched.threads = 256
// CHECK: sched.copy_async
// CHECK: sched.matrix_async "nvidia.wgmma.m64n64k16.f32.bf16"
!a = !tile.view<?x?xbf16, in>
!b = !tile.view<?x?xbf16, in>
!out = !tile.view<?x?xf32, out>
!accumulators = tensor<128x64xf32>
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

  // Two steps ahead; of four places, one is read, one is still being read.
  %k = tile.dim %a, 1 : !a
  sched.await_launches
  %pipelineA = sched.make_pipeline swizzled : !pipelineA
  %pipelineB = sched.make_pipeline swizzled : !pipelineB
  %place0 = arith.constant 0 : i32
  sched.stage_copy %a[%atM, %c0] to %pipelineA[%place0] : !a, !pipelineA
  sched.stage_copy %b[%atN, %c0] to %pipelineB[%place0] : !b, !pipelineB
  sched.commit
  %place1 = arith.constant 1 : i32
  sched.stage_copy %a[%atM, %c64] to %pipelineA[%place1] : !a, !pipelineA
  sched.stage_copy %b[%atN, %c64] to %pipelineB[%place1] : !b, !pipelineB
  sched.commit
  %c2 = arith.constant 2 : index
  %depth = arith.constant 4 : index
  %flying = scf.for %at = %c0 to %k step %c64 iter_args(%acc = %zero) -> !accumulators {
    %step = arith.divui %at, %c64 : index
    sched.await 1
    %later = arith.addi %at, %c128 : index
    %stepLater = arith.addi %step, %c2 : index
    %inPipelineLater = arith.remui %stepLater, %depth : index
    %placeLater = arith.index_cast %inPipelineLater : index to i32
    sched.stage_copy %a[%atM, %later] to %pipelineA[%placeLater] : !a, !pipelineA
    sched.stage_copy %b[%atN, %later] to %pipelineB[%placeLater] : !b, !pipelineB
    sched.commit
    %inPipeline = arith.remui %step, %depth : index
    %place = arith.index_cast %inPipeline : index to i32
    %sum = sched.stage_dot "nvidia.wgmma.m64n64k16.f32.bf16" %pipelineA, %pipelineB[%place], %acc pending 1 : !pipelineA, !pipelineB, !accumulators -> !accumulators
    scf.yield %sum : !accumulators
  }
  sched.await 0
  %accumulators = sched.settle %flying : !accumulators -> !accumulators
  tile.store %accumulators, %out[%atM, %atN] : !accumulators, !out
}
