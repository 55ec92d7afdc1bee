// Cases of kernels that reach beyond their views: blocks at negative offsets, windows that begin
// before their view or have fewer than no elements, and coordinates before a window.
#pragma once

#include "targets/kernel_cases.h"

namespace sinter::targets::cpu {

// out = x shifted down and right + a window that begins before x, where programs do + another one
// from before its first element + two without elements in the first programs, through a window of
// out that begins before it.
inline void defineOutside(kernel::KernelBuilder &k, kernel::Element element) {
  using namespace kernel;
  constexpr int64_t rows = 8, columns = 64;
  View x = k.in("x", element, {dyn, dyn}), out = k.out("out", F32, {dyn, dyn});
  k.grid(ceilDiv(out.dim(1), columns), ceilDiv(out.dim(0), rows));
  Scalar row = k.programId(1) * rows, column = k.programId(0) * columns;
  Tile shifted = convert(load(x, {row - 3, column - 5}, {rows, columns}), F32);
  View early = window(x, {row - 4, column - 7}, {6, 40});
  Tile first = convert(load(early, {0, 0}, {rows, columns}), F32);
  View late = window(x, {row + 1, column + 2}, {5, 50});
  Tile before = convert(load(late, {-2, -3}, {rows, columns}), F32);
  View none = window(x, {row, column}, {k.programId(1) - 1, columns});
  View thin = window(x, {row, column}, {rows, k.programId(0) - 2});
  Tile nothing = convert(load(none, {0, 0}, {rows, columns}), F32) +
                 convert(load(thin, {0, 0}, {rows, columns}), F32);
  store(window(out, {row - 2, column - 3}, {rows + 2, columns + 3}), {2, 3},
        shifted + first + before + nothing);
}

inline KernelCase outsideCase(const std::string &type, kernel::Element element) {
  KernelCase c;
  c.label = "outside_" + type;
  c.kernel = "outside";
  c.views = {{"x", {"M", "N"}}, {"out", {"M", "N"}}};
  c.extents = {{"M", {1, 3, 8, 21}}, {"N", {1, 5, 47, 64, 65, 130}}};
  c.build = [element](kernel::KernelBuilder &k) { defineOutside(k, element); };
  return c;
}

inline void addBoundsCases(KernelCases &cases) {
  cases.push_back(outsideCase("f32", kernel::F32));
  cases.push_back(outsideCase("f16", kernel::F16));
}

} // namespace sinter::targets::cpu
