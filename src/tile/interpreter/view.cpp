// Views of the interpreter: where an element lies, windows, and copies between views and tiles.
#include "tile/mlir_pch.h"

#include "tile/interpreter/races.h"
#include "tile/interpreter/value.h"

#include <cstring>

using namespace mlir;

namespace sinter::tile {

static int64_t saturatingSub(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_sub_overflow(a, b, &result))
    return b < 0 ? INT64_MAX : INT64_MIN;
  return result;
}

// Offsets wrap: an origin far outside comes back into memory with the coordinate that is inside.
static int64_t wrappingMulAdd(int64_t a, int64_t b, int64_t c) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b) +
                              static_cast<uint64_t>(c));
}

static std::optional<int64_t> locateRow(const PageRows &rows, int64_t row) {
  int64_t place;
  if (__builtin_add_overflow(rows.firstRow, row, &place) || place < 0)
    return std::nullopt;
  std::optional<int64_t> at = rows.index->locate(rows.byRow ? place : place / rows.rowsPerPage);
  if (!at)
    return std::nullopt;
  int32_t number;
  std::memcpy(&number, rows.index->data + *at * int64_t(sizeof number), sizeof number);
  if (!rows.byRow)
    return rows.pages->locate({number, place % rows.rowsPerPage});
  if (number < 0)
    return std::nullopt;
  return rows.pages->locate({number / rows.rowsPerPage, number % rows.rowsPerPage});
}

std::optional<int64_t> View::locate(ArrayRef<int64_t> coordinates) const {
  int64_t at = origin;
  for (auto [axis, coordinate] : llvm::zip(axes, coordinates))
    if (coordinate < axis.low || coordinate >= axis.high)
      return std::nullopt;
  for (size_t axis = rows || interleave ? 1 : 0; axis < coordinates.size(); ++axis)
    at = wrappingMulAdd(coordinates[axis], axes[axis].stride, at);
  if (interleave) {
    int64_t row = wrappingMulAdd(1, firstRow, coordinates[0]);
    return wrappingMulAdd(row / interleave, axes[0].stride, at + row % interleave);
  }
  if (!rows)
    return at;
  std::optional<int64_t> row = locateRow(*rows, coordinates[0]);
  if (!row)
    return std::nullopt;
  return wrappingMulAdd(1, *row, at);
}

View View::window(ArrayRef<int64_t> origins, ArrayRef<int64_t> extents) const {
  View result = *this;
  for (int64_t axis = 0; axis < rank(); ++axis) {
    Axis &clipped = result.axes[axis];
    clipped.low = std::max<int64_t>(saturatingSub(clipped.low, origins[axis]), 0);
    clipped.high = std::min(saturatingSub(clipped.high, origins[axis]), extents[axis]);
    if (axis > 0 || (!rows && !interleave))
      result.origin = wrappingMulAdd(origins[axis], clipped.stride, result.origin);
  }
  result.firstRow = wrappingMulAdd(1, origins[0], firstRow);
  if (rows) {
    auto moved = std::make_shared<PageRows>(*rows);
    if (__builtin_add_overflow(rows->firstRow, origins[0], &moved->firstRow))
      result.axes[0].high = 0;
    result.rows = std::move(moved);
  }
  return result;
}

namespace {

// A line of elements along the last axis that has memory: `tileAt` is its first element in the
// tile, `viewAt` in the view, both in elements.
struct Line {
  int64_t tileAt, viewAt, count, stride;
};

// Visits the lines of the rectangle of `shape` at `offsets` that lie inside the view.
class Lines {
public:
  Lines(const View &view, ArrayRef<int64_t> offsets, ArrayRef<int64_t> shape)
      : view_(view), offsets_(offsets), shape_(shape), coordinates_(offsets.size()) {}

  template <typename F> void visit(F copy) {
    int64_t last = static_cast<int64_t>(shape_.size()) - 1;
    int64_t outer = 1;
    for (int64_t axis = 0; axis < last; ++axis)
      outer *= shape_[axis];
    // Neighbours on a gathered axis lie apart: each is a line of its own.
    int64_t step = last == 0 && view_.rows ? 1 : shape_[last];
    for (int64_t line = 0; line < outer; ++line)
      if (setOuter(line))
        for (int64_t first = 0; first < shape_[last]; first += step)
          visitLine(line * shape_[last], first, first + step, copy);
  }

private:
  // Whether the line's outer coordinates are representable.
  bool setOuter(int64_t line) {
    for (int64_t axis = static_cast<int64_t>(shape_.size()) - 2; axis >= 0; --axis) {
      if (__builtin_add_overflow(offsets_[axis], line % shape_[axis], &coordinates_[axis]))
        return false;
      line /= shape_[axis];
    }
    return true;
  }

  template <typename F> void visitLine(int64_t base, int64_t first, int64_t end, F copy) {
    size_t last = shape_.size() - 1;
    first = std::max(first, saturatingSub(view_.axes[last].low, offsets_[last]));
    end = std::min(end, saturatingSub(view_.axes[last].high, offsets_[last]));
    if (first >= end || __builtin_add_overflow(offsets_[last], first, &coordinates_[last]))
      return;
    if (std::optional<int64_t> at = view_.locate(coordinates_))
      copy(Line{base + first, *at, end - first, view_.axes[last].stride});
  }

  const View &view_;
  ArrayRef<int64_t> offsets_, shape_;
  SmallVector<int64_t, 6> coordinates_;
};

} // namespace

static void copyElements(std::byte *to, int64_t toStride, const std::byte *from, int64_t fromStride,
                         int64_t count, int64_t bytes) {
  if (toStride == 1 && fromStride == 1) {
    std::memcpy(to, from, count * bytes);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * toStride * bytes, from + i * fromStride * bytes, bytes);
}

int64_t loadTile(const View &view, ArrayRef<int64_t> offsets, Tile &tile) {
  int64_t bytes = view.element.bytes, copied = 0;
  Lines(view, offsets, tile.shape()).visit([&](const Line &line) {
    for (int64_t i = 0; view.log && i < line.count; ++i)
      view.log->read(line.viewAt + i * line.stride);
    copyElements(tile.data() + line.tileAt * bytes, 1, view.data + line.viewAt * bytes, line.stride,
                 line.count, bytes);
    copied += line.count;
  });
  clearUnusedBits(tile);
  return copied;
}

int64_t storeTile(const Tile &tile, const View &view, ArrayRef<int64_t> offsets) {
  int64_t bytes = view.element.bytes, copied = 0;
  Lines(view, offsets, tile.shape()).visit([&](const Line &line) {
    for (int64_t i = 0; view.log && i < line.count; ++i) {
      const int64_t at = line.viewAt + i * line.stride;
      view.log->write(at, std::memcmp(view.data + at * bytes,
                                      tile.data() + (line.tileAt + i) * bytes, bytes) != 0);
    }
    copyElements(view.data + line.viewAt * bytes, line.stride, tile.data() + line.tileAt * bytes, 1,
                 line.count, bytes);
    copied += line.count;
  });
  return copied;
}

} // namespace sinter::tile
