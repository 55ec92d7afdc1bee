// Which products are fetched ahead, seen before distribution: deep pipelines where shared memory has room, none where a tile is
// no product of two 16-bit tiles as they are loaded.
// RUN: %sinter_compiler kernel emit gemm --set a=f16 --set b=f16 --set block_m=128 --set block_n=128 --set block_k=64 --target cuda:sm_90a --emit layout | FileCheck %s --check-prefixes=COMMON,SHARED
// RUN: %sinter_compiler kernel emit gemm --set a=f16 --set b=f16 --set block_m=128 --set block_n=128 --set block_k=64 --target cuda:sm_80 --emit layout | FileCheck %s --check-prefixes=COMMON,REGISTERS
// RUN: %sinter_compiler kernel emit gemm --set a=f16 --set b=f16 --set block_m=128 --set block_n=128 --set block_k=64 --target cuda:sm_86 --emit layout | FileCheck %s --check-prefixes=COMMON,SHALLOW
// RUN: %sinter_compiler kernel emit gemm --set a=f16 --set b=f16 --set transpose_b=false --set block_m=64 --set block_n=128 --set block_k=64 --target cuda:sm_90a --emit layout | FileCheck %s --check-prefixes=COMMON,COLUMNS
// RUN: %sinter_compiler kernel emit gemm --set a=f16 --set b=f16 --set batched=true --set block_m=128 --set block_n=128 --set block_k=64 --target cuda:sm_90a --emit layout | FileCheck %s --check-prefixes=COMMON,BATCH
// RUN: %sinter_compiler kernel emit gemm --set a=f32 --set b=f32 --set block_m=64 --set block_n=64 --set block_k=32 --target cuda:sm_90a --emit layout | FileCheck %s --check-prefixes=COMMON,DECLINED
// RUN: %sinter_compiler kernel emit gemm --set a=f16 --set b=f16 --set block_m=64 --set block_n=64 --set block_k=20 --target cuda:sm_90a --emit layout | FileCheck %s --check-prefixes=COMMON,DECLINED
// RUN: %sinter_compiler kernel emit gemm --set a=f16 --set b=f16 --set block_m=128 --set block_n=64 --set block_k=128 --target cuda:sm_86 --emit layout | FileCheck %s --check-prefixes=COMMON,DECLINED
// RUN: %sinter_compiler kernel emit gemm --set a=f16 --set b=f32 --set block_m=64 --set block_n=64 --set block_k=32 --target cuda:sm_90a --emit layout | FileCheck %s --check-prefixes=COMMON,DECLINED

// COMMON: tile.kernel @gemm
// COMMON-SAME: sched.threads =

// The instruction reads shared memory: the product of the step before may still read its place.
// SHARED: sched.make_pipeline swizzled : <4, tensor<128x64xf16>>
// SHARED: sched.make_pipeline swizzled : <4, tensor<128x64xf16>>
// SHARED-COUNT-2: sched.commit
// SHARED: scf.for
// SHARED-NOT: tile.load
// SHARED: sched.await 1
// SHARED-NEXT: arith
// SHARED: sched.stage_copy
// SHARED: sched.stage_copy
// SHARED-NEXT: sched.commit
// SHARED: sched.stage_dot "nvidia.wgmma.m64n128k16.f32.f16" {{.*}} pending 1
// SHARED: scf.yield
// SHARED: sched.await 0
// SHARED-NEXT: sched.settle
// SHARED-NEXT: tile.store

// Fragments are read a part along K ahead, those of the next step's first part behind this one's barrier.
// REGISTERS: sched.make_pipeline : <4, tensor<128x64xf16>>
// REGISTERS-COUNT-4: sched.commit
// REGISTERS: sched.await 3
// REGISTERS-COUNT-2: sched.stage_read {{.*}} from [0, 0]
// REGISTERS: scf.for
// REGISTERS-NOT: tile.load
// REGISTERS-COUNT-2: sched.stage_read {{.*}} from [0, 16]
// REGISTERS: tile.dot {{.*}}"nvidia.mma.m16n8k16.f32.f16"
// REGISTERS-COUNT-2: sched.stage_read {{.*}} from [0, 48]
// REGISTERS: sched.await 2
// REGISTERS-COUNT-2: sched.stage_read {{.*}} from [0, 0]
// REGISTERS: tile.dot {{.*}}"nvidia.mma.m16n8k16.f32.f16"
// REGISTERS: sched.stage_copy
// REGISTERS: scf.yield
// REGISTERS: sched.await 0
// REGISTERS-NOT: sched.settle

// 99 KiB hold two places.
// SHALLOW: sched.make_pipeline : <2, tensor<128x64xf16>>
// SHALLOW: sched.await 1
// SHALLOW: scf.for
// SHALLOW: sched.await 0
// SHALLOW: sched.stage_read

// No instruction of shared memory takes b by columns.
// COLUMNS: sched.make_pipeline : <4, tensor<64x64xf16>>
// COLUMNS: sched.make_pipeline : <4, tensor<64x128xf16>>
// COLUMNS-NOT: sched.stage_dot
// COLUMNS: sched.stage_read {{.*}} from [16, 0] : <4, tensor<64x128xf16>> -> tensor<16x128xf16
// COLUMNS: tile.dot

// Of a batch the last two axes are fetched, at the program's place along the first.
// BATCH: %[[AT:.*]] = tile.program_id 2
// BATCH: sched.stage_copy %{{.*}}[%[[AT]], {{.*}}] axes [1, 2] to
// BATCH-NOT: tile.load
// BATCH: sched.stage_dot

// DECLINED-NOT: sched.make_pipeline
// DECLINED: scf.for
// DECLINED: tile.load
// DECLINED: tile.dot
