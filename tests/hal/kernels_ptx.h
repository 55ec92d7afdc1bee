// The kernels of tests/hal/kernels.c as PTX text for any NVIDIA device from compute capability 8.0
// on, and a few that only the cuda driver's own tests use. Any number of threads runs them.
#pragma once

namespace sinter::hal {

inline constexpr const char *kTestKernelsPtx = R"(
.version 7.0
.target sm_80
.address_size 64

.extern .shared .align 16 .b8 dynamic[];

.visible .entry do_nothing() { ret; }

// out int64[z][y][x]; the grid's x and y extents. Thread 0 adds 1 + the point's index.
.visible .entry count_points(.param .u64 pOut, .param .u64 pX, .param .u64 pY)
{
  .reg .pred %p; .reg .b32 %r; .reg .b64 %out, %x, %y, %point, %i, %v;
  mov.u32 %r, %tid.x;
  setp.ne.u32 %p, %r, 0;
  @%p bra done;
  ld.param.u64 %out, [pOut];
  ld.param.u64 %x, [pX];
  ld.param.u64 %y, [pY];
  mov.u32 %r, %ctaid.z; cvt.u64.u32 %point, %r;
  mov.u32 %r, %ctaid.y; cvt.u64.u32 %i, %r;
  mad.lo.u64 %point, %point, %y, %i;
  mov.u32 %r, %ctaid.x; cvt.u64.u32 %i, %r;
  mad.lo.u64 %point, %point, %x, %i;
  mad.lo.u64 %out, %point, 8, %out;
  ld.global.u64 %v, [%out];
  add.u64 %v, %v, %point;
  add.u64 %v, %v, 1;
  st.global.u64 [%out], %v;
done:
  ret;
}

// a, b, out float[n]; n. Program x adds elements 16 x to 16 x + 15.
.visible .entry add_f32(.param .u64 pA, .param .u64 pB, .param .u64 pOut, .param .u64 pN)
{
  .reg .pred %p; .reg .b32 %t, %step, %r; .reg .f32 %f, %g; .reg .b64 %a, %b, %out, %n, %i, %j;
  ld.param.u64 %a, [pA];
  ld.param.u64 %b, [pB];
  ld.param.u64 %out, [pOut];
  ld.param.u64 %n, [pN];
  mov.u32 %t, %tid.x;
  mov.u32 %step, %ntid.x;
  mov.u32 %r, %ctaid.x;
next:
  setp.ge.u32 %p, %t, 16;
  @%p bra done;
  mul.wide.u32 %i, %r, 16;
  cvt.u64.u32 %j, %t;
  add.u64 %i, %i, %j;
  setp.ge.s64 %p, %i, %n;
  @%p bra done;
  mad.lo.u64 %j, %i, 4, %a;
  ld.global.f32 %f, [%j];
  mad.lo.u64 %j, %i, 4, %b;
  ld.global.f32 %g, [%j];
  add.f32 %f, %f, %g;
  mad.lo.u64 %j, %i, 4, %out;
  st.global.f32 [%j], %f;
  add.u32 %t, %t, %step;
  bra next;
done:
  ret;
}

// in, out float[n]; n, factor. Program x scales elements 16 x to 16 x + 15.
.visible .entry scale_f32(.param .u64 pIn, .param .u64 pOut, .param .u64 pN, .param .u64 pFactor)
{
  .reg .pred %p; .reg .b32 %t, %step, %r; .reg .f32 %f, %factor; .reg .b64 %in, %out, %n, %i, %j;
  ld.param.u64 %in, [pIn];
  ld.param.u64 %out, [pOut];
  ld.param.u64 %n, [pN];
  ld.param.u64 %j, [pFactor];
  cvt.rn.f32.s64 %factor, %j;
  mov.u32 %t, %tid.x;
  mov.u32 %step, %ntid.x;
  mov.u32 %r, %ctaid.x;
next:
  setp.ge.u32 %p, %t, 16;
  @%p bra done;
  mul.wide.u32 %i, %r, 16;
  cvt.u64.u32 %j, %t;
  add.u64 %i, %i, %j;
  setp.ge.s64 %p, %i, %n;
  @%p bra done;
  mad.lo.u64 %j, %i, 4, %in;
  ld.global.f32 %f, [%j];
  mul.f32 %f, %f, %factor;
  mad.lo.u64 %j, %i, 4, %out;
  st.global.f32 [%j], %f;
  add.u32 %t, %t, %step;
  bra next;
done:
  ret;
}

// out int32[threads]. Each thread puts its index into dynamic shared memory and reads that of its
// mirror image, the block's last 4 * threads bytes of `bytes`.
.visible .entry mirror(.param .u64 pOut, .param .u64 pBytes)
{
  .reg .b32 %t, %n, %s, %base, %bytes, %v; .reg .b64 %out, %i;
  ld.param.u64 %out, [pOut];
  ld.param.u64 %i, [pBytes];
  cvt.u32.u64 %bytes, %i;
  mov.u32 %t, %tid.x;
  mov.u32 %n, %ntid.x;
  mov.u32 %base, dynamic;
  add.u32 %base, %base, %bytes;
  shl.b32 %s, %n, 2;
  sub.u32 %base, %base, %s;
  mad.lo.u32 %s, %t, 4, %base;
  st.shared.u32 [%s], %t;
  bar.sync 0;
  sub.u32 %v, %n, %t;
  sub.u32 %v, %v, 1;
  mad.lo.u32 %s, %v, 4, %base;
  ld.shared.u32 %v, [%s];
  mul.wide.u32 %i, %t, 4;
  add.u64 %out, %out, %i;
  st.global.u32 [%out], %v;
  ret;
}

// The address to write to.
.visible .entry poke(.param .u64 pAddress)
{
  .reg .b32 %r; .reg .b64 %a;
  ld.param.u64 %a, [pAddress];
  mov.u32 %r, 1;
  st.global.u32 [%a], %r;
  ret;
}

// flag int32[1]. Runs until the flag is not 0.
.visible .entry wait_for(.param .u64 pFlag)
{
  .reg .pred %p; .reg .b32 %r; .reg .b64 %flag;
  ld.param.u64 %flag, [pFlag];
again:
  ld.volatile.global.u32 %r, [%flag];
  setp.eq.u32 %p, %r, 0;
  @%p bra again;
  ret;
}

// Only for blocks of 64 threads.
.visible .entry needs_64_threads() .reqntid 64, 1, 1 { ret; }
)";

} // namespace sinter::hal
