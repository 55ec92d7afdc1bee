// Kernels for the tests of hal and runtime, in the cpu driver's calling convention. Built into one
// shared object, without the tests' sanitizers and without a library.
#include <stdint.h>

typedef void *const *Buffers;
typedef const int64_t *Scalars;

enum { kBlock = 16 };

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

// buffers: out int64[z][y][x]; scalars: the grid's x and y extents. Adds 1 + its index to each grid
// point's element.
void count_points(Buffers buffers, Scalars scalars, void *scratch, int64_t x, int64_t y,
                  int64_t z) {
  int64_t point = (z * scalars[1] + y) * scalars[0] + x;
  ((int64_t *)buffers[0])[point] += 1 + point;
}

// buffers: a, b, out float[n]; scalars: n. Point x adds elements 16 x to 16 x + 15.
void add_f32(Buffers buffers, Scalars scalars, void *scratch, int64_t x, int64_t y, int64_t z) {
  const float *a = buffers[0], *b = buffers[1];
  float *out = buffers[2];
  for (int64_t i = x * kBlock; i < smaller(scalars[0], (x + 1) * kBlock); ++i)
    out[i] = a[i] + b[i];
}

// buffers: in, out float[n]; scalars: n, factor. Point x scales elements 16 x to 16 x + 15.
void scale_f32(Buffers buffers, Scalars scalars, void *scratch, int64_t x, int64_t y, int64_t z) {
  const float *in = buffers[0];
  float *out = buffers[1];
  for (int64_t i = x * kBlock; i < smaller(scalars[0], (x + 1) * kBlock); ++i)
    out[i] = in[i] * (float)scalars[1];
}

// buffers: out uint8[x]; scalars: bytes. Fills the scratch, reads it back, and puts 1 when it is
// aligned and holds what was written.
void use_scratch(Buffers buffers, Scalars scalars, void *scratch, int64_t x, int64_t y, int64_t z) {
  volatile uint8_t *bytes = scratch;
  uint8_t good = (uintptr_t)scratch % 64 == 0;
  for (int64_t i = 0; i < scalars[0]; ++i)
    bytes[i] = (uint8_t)(x + i);
  for (int64_t i = 0; i < scalars[0]; ++i)
    good &= bytes[i] == (uint8_t)(x + i);
  ((uint8_t *)buffers[0])[x] = good;
}

// No buffer, no scalar, no effect: what a launch itself costs.
void do_nothing(Buffers buffers, Scalars scalars, void *scratch, int64_t x, int64_t y, int64_t z) {}
