// Stands in for <metal_simdgroup_matrix>: matrices of 8 by 8 that the lanes of a simdgroup hold
// together, two elements each, where open Metal code finds them.
#pragma once

#include "metal_shim/stdlib.h"

namespace metal {

template <typename T, int Rows, int Columns> class simdgroup_matrix {
  static_assert(Rows == 8 && Columns == 8, "matrices are 8 by 8");

public:
  vec<T, 2> &thread_elements() { return elements_; }

private:
  vec<T, 2> elements_;
};

namespace shim {
// A lane's row, and the first of its two columns.
inline uint rowOf(uint lane) {
  return lane / 16 * 4 + lane / 2 % 4;
}
inline uint columnOf(uint lane) {
  return lane / 8 % 2 * 4 + lane % 2 * 2;
}
template <typename T> inline float elementAt(const vec<T, 2> *lanes, uint row, uint column) {
  uint lane = row / 4 * 16 + row % 4 * 2 + column / 4 * 8 + column / 2 % 2;
  return float(column % 2 ? lanes[lane].y : lanes[lane].x);
}
} // namespace shim

template <typename T>
inline void simdgroup_multiply_accumulate(simdgroup_matrix<float, 8, 8> &d,
                                          simdgroup_matrix<T, 8, 8> a, simdgroup_matrix<T, 8, 8> b,
                                          simdgroup_matrix<float, 8, 8> c) {
  struct Operands {
    vec<T, 2> a, b;
  };
  const Operands *lanes = metal_shim::exchange(Operands{a.thread_elements(), b.thread_elements()});
  float left[8][8], right[8][8];
  for (uint lane = 0; lane < 32; ++lane) {
    uint row = shim::rowOf(lane), column = shim::columnOf(lane);
    left[row][column] = float(lanes[lane].a.x);
    left[row][column + 1] = float(lanes[lane].a.y);
    right[row][column] = float(lanes[lane].b.x);
    right[row][column + 1] = float(lanes[lane].b.y);
  }
  uint lane = metal_shim::current().lane, row = shim::rowOf(lane), column = shim::columnOf(lane);
  vec<float, 2> sums = c.thread_elements();
  for (uint k = 0; k < 8; ++k) {
    sums.x = fma(left[row][k], right[k][column], sums.x);
    sums.y = fma(left[row][k], right[k][column + 1], sums.y);
  }
  d.thread_elements() = sums;
}

} // namespace metal
