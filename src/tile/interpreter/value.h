// What the interpreter's values are made of: element types, tiles held as typed bytes, views of the
// host's memory, and the value of any SSA name.
#pragma once

#include "base/status.h"
#include "mlir/IR/Types.h"
#include "numeric/formats/activation_format.h"
#include "numeric/formats/block_format.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <variant>

namespace sinter::tile {

enum class ElementKind : uint8_t { Int, F16, BF16, F32, F64, E4M3, E5M2, Block };

/// How one element, or one block of them, lies in memory.
struct Element {
  ElementKind kind = ElementKind::Int;
  uint8_t bits = 0;                    // of an integer's value; index has 64
  uint16_t bytes = 0;                  // 1, 2, 4 or 8; of a block, any
  uint16_t length = 1;                 // elements of a block
  const BlockFormat *format = nullptr; // of a block; null: an activation format
  const ActivationFormat *activation = nullptr;

  bool isInt() const { return kind == ElementKind::Int; }
  bool isBlock() const { return kind == ElementKind::Block; }
  /// All ones in the low `bits` bits.
  uint64_t mask() const { return bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1; }
};

/// None for types that the interpreter does not hold (integers beyond 64 bits, unknown formats).
std::optional<Element> elementOf(mlir::Type type);

/// Bytes of live storage; outlives what it counts.
struct MemoryMeter {
  uint64_t live = 0;
};

/// Elements in row-major order; a scalar is a tile of rank 0. Copies share the bytes, so a tile is
/// written only by the operation that makes it. Integers are kept zero-extended in their bytes. A
/// tile of blocks holds whole blocks of the file's order along its last axis.
class Tile {
public:
  Tile() = default;
  /// Elements are zero. All extents are positive, the last one whole blocks.
  Tile(Element element, llvm::ArrayRef<int64_t> shape, MemoryMeter *meter);

  static Tile integer(Element element, uint64_t value);
  static Tile index(int64_t value);

  Element element() const { return element_; }
  llvm::ArrayRef<int64_t> shape() const { return shape_; }
  int64_t rank() const { return static_cast<int64_t>(shape_.size()); }
  int64_t count() const { return count_; }
  uint64_t byteCount() const {
    return static_cast<uint64_t>(count_) / element_.length * element_.bytes;
  }

  const std::byte *data() const { return heap_ ? heap_->bytes.get() : small_; }
  std::byte *data() { return heap_ ? heap_->bytes.get() : small_; }
  template <typename T> const T *as() const { return reinterpret_cast<const T *>(data()); }
  template <typename T> T *as() { return reinterpret_cast<T *>(data()); }

  /// Of element `at`, an integer: zero- and sign-extended.
  uint64_t unsignedAt(int64_t at) const;
  int64_t signedAt(int64_t at) const;

private:
  struct Storage {
    std::unique_ptr<std::byte[]> bytes;
    uint64_t size;
    MemoryMeter *meter;
    ~Storage() {
      if (meter)
        meter->live -= size;
    }
  };

  Element element_;
  llvm::SmallVector<int64_t, 3> shape_;
  int64_t count_ = 0;
  std::shared_ptr<Storage> heap_;
  alignas(8) std::byte small_[8] = {};
};

/// Elements a kernel of the interpreter converts at a time.
inline constexpr int64_t kChunk = 256;

int64_t signExtend(uint64_t value, unsigned bits);

/// Elements [start, start + out.size()) as doubles (exact for every float type) or integers.
void readDoubles(const Tile &tile, int64_t start, llvm::MutableArrayRef<double> out);
void readInts(const Tile &tile, int64_t start, llvm::MutableArrayRef<uint64_t> out);
/// Rounds each value once to the tile's float type, or cuts it to the tile's integer width.
void writeDoubles(Tile &tile, int64_t start, llvm::ArrayRef<double> values);
void writeInts(Tile &tile, int64_t start, llvm::ArrayRef<uint64_t> values);
/// Clears the bits beyond an integer type's width, which memory may hold and tiles may not.
void clearUnusedBits(Tile &tile);
/// All elements as f32; the type is not f64.
llvm::SmallVector<float, 0> toFloats(const Tile &tile);

/// Rounds to f32 such that a further rounding to a type of at most 22 bits of precision is as good
/// as rounding `value` itself.
float roundToOdd(double value);
/// The value of the element type nearest to `value`, as a double.
double roundTo(Element element, double value);

struct View;
class AccessLog;

/// Rows of a gathered view: its row r is row q mod rowsPerPage of the page index[q div rowsPerPage]
/// with q = firstRow + r; with `byRow`, row i mod rowsPerPage of the page i div rowsPerPage with i
/// = index[q].
struct PageRows {
  std::shared_ptr<const View> pages, index;
  int64_t firstRow = 0;
  int64_t rowsPerPage = 1;
  bool byRow = false;
};

/// A rectangle of the host's memory. Coordinates outside [low, high) of an axis have no memory.
/// Places count elements. With interleave = R, row r, column k lies at ((r / R) * row stride + k) *
/// R + r mod R; blocks of R rows then lie unit by unit side by side
/// (numeric/formats/dot_packing.h).
struct View {
  struct Axis {
    int64_t low = 0;
    int64_t high = 0;
    int64_t stride = 0; // elements; not used for the first axis of a gathered view
  };
  std::byte *data = nullptr;
  Element element;
  llvm::SmallVector<Axis, 4> axes;
  int64_t origin = 0;                   // of coordinate 0, in elements from data; wraps
  std::shared_ptr<const PageRows> rows; // null: the first axis is not gathered
  int64_t interleave = 0;               // strides hold it as a factor then
  int64_t firstRow = 0;                 // of an interleaved view: row of coordinate 0
  AccessLog *log = nullptr;             // of all views of the same memory; null: none is kept

  int64_t rank() const { return static_cast<int64_t>(axes.size()); }
  int64_t extent(int64_t axis) const { return std::max<int64_t>(axes[axis].high, 0); }
  /// Where the element lies, in elements from data; none outside. Coordinates left out at the end
  /// count as 0 and are not checked.
  std::optional<int64_t> locate(llvm::ArrayRef<int64_t> coordinates) const;
  /// The rectangle of `extents` at `origins`, clipped to this view.
  View window(llvm::ArrayRef<int64_t> origins, llvm::ArrayRef<int64_t> extents) const;
};

/// Copies between a tile and the rectangle of its shape at `offsets`; returns the elements copied.
/// Elements outside the view are left as they are. Blocks have functions of their own.
int64_t loadTile(const View &view, llvm::ArrayRef<int64_t> offsets, Tile &tile);
int64_t storeTile(const Tile &tile, const View &view, llvm::ArrayRef<int64_t> offsets);
/// The same for tiles of blocks; none where a block of the tile begins within a block of the view.
std::optional<int64_t> loadBlocks(const View &view, llvm::ArrayRef<int64_t> offsets, Tile &tile);
std::optional<int64_t> storeBlocks(const Tile &tile, const View &view,
                                   llvm::ArrayRef<int64_t> offsets);

/// What a value of a higher dialect's type refers to.
class Object {
public:
  virtual ~Object() = default;
};

using RuntimeValue =
    std::variant<std::monostate, Tile, std::shared_ptr<const View>, std::shared_ptr<Object>>;

} // namespace sinter::tile
