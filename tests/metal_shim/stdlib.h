// Stands in for <metal_stdlib> where MSL is compiled as C++ for the host: scalar and vector types,
// conversions, mathematics, and the calls by which threads of a threadgroup meet.
#pragma once

#include "metal_shim/fibers.h"

#include <bit>
#include <cstdint>
#include <cstring>

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef _Float16 half;

// The upper half of a float; converted to nearest even.
struct bfloat {
  ushort bits;

  bfloat() = default;
  bfloat(float value) {
    uint all = std::bit_cast<uint>(value);
    bits = value != value ? ushort(all >> 16 | 0x40u)
                          : ushort((all + 0x7fffu + (all >> 16 & 1u)) >> 16);
  }
  operator float() const { return std::bit_cast<float>(uint(bits) << 16); }
};

namespace metal {

// ---- vectors ----

template <typename T, int N> struct vec;

template <typename T> struct alignas(2 * sizeof(T)) vec<T, 2> {
  T x, y;
  vec() = default;
  explicit vec(T all) : x(all), y(all) {}
  vec(T a, T b) : x(a), y(b) {}
};

template <typename T> struct alignas(4 * sizeof(T)) vec<T, 3> {
  T x, y, z;
  vec() = default;
  explicit vec(T all) : x(all), y(all), z(all) {}
  vec(T a, T b, T c) : x(a), y(b), z(c) {}
};

template <typename T> struct alignas(4 * sizeof(T)) vec<T, 4> {
  union {
    struct {
      T x, y, z, w;
    };
    struct {
      vec<T, 2> xy, zw;
    };
  };
  vec() = default;
  explicit vec(T all) : x(all), y(all), z(all), w(all) {}
  vec(T a, T b, T c, T d) : x(a), y(b), z(c), w(d) {}
  vec(vec<T, 2> low, vec<T, 2> high) : xy(low), zw(high) {}
};

// As vectors lie in memory that is aligned to their elements only.
template <typename T, int N> struct packed_vec {
  T elements[N];

  explicit packed_vec(const vec<T, N> &from) { std::memcpy(elements, &from, sizeof elements); }
  operator vec<T, N>() const {
    vec<T, N> to;
    std::memcpy(&to, elements, sizeof elements);
    return to;
  }
};

} // namespace metal

#define SINTER_SHIM_VECTORS(type)                                                                  \
  typedef metal::vec<type, 2> type##2;                                                             \
  typedef metal::vec<type, 3> type##3;                                                             \
  typedef metal::vec<type, 4> type##4;                                                             \
  typedef metal::packed_vec<type, 2> packed_##type##2;                                             \
  typedef metal::packed_vec<type, 3> packed_##type##3;                                             \
  typedef metal::packed_vec<type, 4> packed_##type##4;
SINTER_SHIM_VECTORS(bool)
SINTER_SHIM_VECTORS(uchar)
SINTER_SHIM_VECTORS(ushort)
SINTER_SHIM_VECTORS(uint)
SINTER_SHIM_VECTORS(ulong)
SINTER_SHIM_VECTORS(half)
SINTER_SHIM_VECTORS(bfloat)
SINTER_SHIM_VECTORS(float)

namespace metal {

template <typename To, typename From> inline To as_type(From value) {
  static_assert(sizeof(To) == sizeof(From), "as_type keeps the size");
  return std::bit_cast<To>(value);
}

// ---- mathematics ----

inline float fma(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
inline float fabs(float x) {
  return __builtin_fabsf(x);
}
inline float floor(float x) {
  return __builtin_floorf(x);
}
inline float ceil(float x) {
  return __builtin_ceilf(x);
}
inline float rint(float x) {
  return __builtin_rintf(x);
}

namespace precise {
inline float sqrt(float x) {
  return __builtin_sqrtf(x);
}
} // namespace precise

namespace fast {
inline float exp2(float x) {
  return __builtin_exp2f(x);
}
inline float log2(float x) {
  return __builtin_log2f(x);
}
inline float rsqrt(float x) {
  return 1.0f / __builtin_sqrtf(x);
}
inline float tanh(float x) {
  return __builtin_tanhf(x);
}
} // namespace fast

// ---- threads ----

enum class mem_flags { mem_none, mem_device, mem_threadgroup };

inline void threadgroup_barrier(mem_flags) {
  metal_shim::meetThreadgroup();
}

template <typename T> inline T simd_shuffle_xor(T value, ushort mask) {
  T *slots = metal_shim::exchange(value);
  return slots[metal_shim::current().lane ^ mask];
}

} // namespace metal

using metal::as_type;

// ---- words of the language ----

#define kernel static
#define device
#define constant const
#define threadgroup
#define thread
