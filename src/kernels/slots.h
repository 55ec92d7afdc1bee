// What kernel sources share: slots that graph fusion fills, and loads and stores that convert.
#pragma once

#include "sinter/kernel.h"

#include <functional>

namespace sinter::kernels {

using kernel::Element;
using kernel::KernelBuilder;
using kernel::Scalar;
using kernel::Tile;
using kernel::View;

// Where a tile lies in its two-dimensional operand.
struct TilePlace {
  Scalar row, column;
  int64_t rows, columns;
  int64_t part = 0; // which of the program's tiles, of those one below another
};

// A hole of a kernel source. `declare` runs once, after the kernel's own arguments, and adds
// arguments of its own; `prepare` runs once before the kernel's loops for each part of a program,
// where the kernel's header says so, and sees the view that the slot's tiles come from, f32, and
// the place of the part's first one; `apply` may run several times and maps an f32 tile (or
// whatever the kernel's header says) to one of the same shape. Empty functions leave the tile as it
// is.
struct Slot {
  std::function<void(KernelBuilder &)> declare;
  std::function<void(KernelBuilder &, const View &, const TilePlace &)> prepare;
  std::function<Tile(KernelBuilder &, Tile, const TilePlace &)> apply;

  void open(KernelBuilder &k) const {
    if (declare)
      declare(k);
  }
  void begin(KernelBuilder &k, const View &from, const TilePlace &place) const {
    if (prepare)
      prepare(k, from, place);
  }
  Tile operator()(KernelBuilder &k, const Tile &tile, const TilePlace &place) const {
    return apply ? apply(k, tile, place) : tile;
  }
};

// Stores a kernel's result tiles if they do not all go to one view. `declare` adds arguments after
// the kernel's own and those of its slots. `cut`, where it is there, runs before a tile is made of
// which these rows alone are the program's: places count from the first of them until it runs
// again. `store` may run several times; it writes an f32 tile of `columns` columns (0: of any
// number).
struct EpilogueStore {
  std::function<void(KernelBuilder &)> declare;
  std::function<void(KernelBuilder &, Tile, const TilePlace &)> store;
  int64_t columns = 0;
  std::function<void(KernelBuilder &, const Scalar &row, const Scalar &rows)> cut = {};

  explicit operator bool() const { return static_cast<bool>(store); }
  // A tile of whole multiples of `columns` is stored part by part; one of fewer as it is.
  void operator()(KernelBuilder &k, const Tile &tile, const TilePlace &place) const {
    if (columns == 0 || place.columns <= columns)
      return store(k, tile, place);
    for (int64_t first = 0; first < place.columns; first += columns)
      store(k, slice(tile, {0, first}, {place.rows, columns}),
            {place.row, place.column + first, place.rows, columns});
  }
};

// The f32 values of a tile of any float or block format.
inline Tile toF32(const Tile &tile, Element from) {
  return from.isBlock() ? dequantize(tile) : convert(tile, kernel::F32);
}

// The f32 values of a view's tile at `place`.
inline Tile loadF32(const View &view, Element element, const TilePlace &place) {
  return toF32(load(view, {place.row, place.column}, {place.rows, place.columns}), element);
}

// An f32 tile as a tile of `element`; a block format quantizes.
inline Tile fromF32(const Tile &tile, Element element) {
  return element.isBlock() ? quantize(tile, element) : convert(tile, element);
}

// Stores an f32 tile as `element`.
inline void storeF32(const View &view, Element element, const TilePlace &place, const Tile &tile) {
  store(view, {place.row, place.column}, fromF32(tile, element));
}

} // namespace sinter::kernels
