// Interleaving of rows, a group of rows per task.
#include "runtime/packer.h"

#include "base/check.h"
#include "hal/host_memory.h"
#include "numeric/formats/dot_packing.h"
#include "plan/row_order.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>

namespace sinter::runtime {
namespace {

// What is packed between two releases of the source: large beside a page, small beside a model.
constexpr uint64_t kPartBytes = uint64_t(32) << 20;
constexpr uint64_t kPartRows = 1 << 16;

constexpr uint32_t kVectorBytes = 16;

template <typename Unit> constexpr uint32_t kUnits = kVectorBytes / sizeof(Unit); // of a vector

template <typename Unit> using Vector = Unit __attribute__((vector_size(kVectorBytes)));

// The units of the first, or second, halves of two vectors in turns.
template <typename Unit, uint32_t Half, std::size_t... I>
Vector<Unit> interleaved(Vector<Unit> a, Vector<Unit> b, std::index_sequence<I...>) {
  constexpr uint32_t first = Half * kUnits<Unit> / 2;
  return __builtin_shufflevector(a, b, (first + I / 2 + (I % 2) * kUnits<Unit>)...);
}

// A square of units with rows and columns exchanged: as many perfect shuffles of its rows as double
// from one to its width.
template <typename Unit> void transpose(std::array<Vector<Unit>, kUnits<Unit>> &square) {
  constexpr auto indices = std::make_index_sequence<kUnits<Unit>>();
  for (uint32_t width = 1; width < kUnits<Unit>; width *= 2) {
    const std::array<Vector<Unit>, kUnits<Unit>> from = square;
    for (uint32_t i = 0; i < kUnits<Unit> / 2; ++i) {
      const Vector<Unit> upper = from[i], lower = from[i + kUnits<Unit> / 2];
      square[2 * i] = interleaved<Unit, 0>(upper, lower, indices);
      square[2 * i + 1] = interleaved<Unit, 1>(upper, lower, indices);
    }
  }
}

// One vector's worth of units of every row, where the rows are a whole number of squares, so many
// bytes from unit to unit.
template <typename Unit>
void packSquares(std::span<const uint8_t *const> rows, uint64_t offset, Unit mask, uint8_t *dst,
                 uint64_t stride) {
  for (std::size_t row = 0; row < rows.size(); row += kUnits<Unit>) {
    std::array<Vector<Unit>, kUnits<Unit>> square;
    for (uint32_t i = 0; i < kUnits<Unit>; ++i) {
      std::memcpy(&square[i], rows[row + i] + offset, kVectorBytes);
      square[i] ^= mask;
    }
    transpose<Unit>(square);
    for (uint32_t i = 0; i < kUnits<Unit>; ++i)
      std::memcpy(dst + i * stride + row * sizeof(Unit), &square[i], kVectorBytes);
  }
}

// Where the first unit of a group's first row goes, and bytes from there to the next unit's.
struct Destination {
  uint8_t *first;
  uint64_t stride;

  Destination(const plan::PackField &field, std::size_t rows, uint8_t *block)
      : first(block + uint64_t(field.place) * rows), stride(uint64_t(field.step) * rows) {}
};

// One unit of every row of a group after the other, for units as large as the integer `Unit`.
template <typename Unit>
void packUnits(const plan::PackField &field, std::span<const uint8_t *const> rows,
               uint64_t blockOffset, Destination to) {
  const auto mask = static_cast<Unit>(UINT64_C(0x0101010101010101) * field.xorByte);
  uint64_t at = 0;
  if (rows.size() % kUnits<Unit> == 0)
    for (; at + kVectorBytes <= field.bytes; at += kVectorBytes) {
      packSquares<Unit>(rows, blockOffset + field.offset + at, mask, to.first, to.stride);
      to.first += kUnits<Unit> * to.stride;
    }
  for (; at < field.bytes; at += sizeof(Unit), to.first += to.stride)
    for (std::size_t row = 0; row < rows.size(); ++row) {
      Unit unit;
      std::memcpy(&unit, rows[row] + blockOffset + field.offset + at, sizeof unit);
      unit ^= mask;
      std::memcpy(to.first + row * sizeof unit, &unit, sizeof unit);
    }
}

// The same for units of any size.
void packLongUnits(const plan::PackField &field, std::span<const uint8_t *const> rows,
                   uint64_t blockOffset, Destination to) {
  for (uint64_t at = 0; at < field.bytes; at += field.unit, to.first += to.stride) {
    uint8_t *dst = to.first;
    for (const uint8_t *row : rows) {
      std::memcpy(dst, row + blockOffset + field.offset + at, field.unit);
      if (field.xorByte != 0)
        for (uint32_t i = 0; i < field.unit; ++i)
          dst[i] ^= field.xorByte;
      dst += field.unit;
    }
  }
}

// Words with their items turned, by what each byte of a word becomes.
class Turner {
public:
  explicit Turner(uint8_t itemBits) {
    for (uint32_t byte = 0; byte < parts_.size(); ++byte)
      for (uint32_t value = 0; value < parts_[byte].size(); ++value)
        parts_[byte][value] = turnItems(value << 8 * byte, itemBits);
  }

  void pack(const plan::PackField &field, std::span<const uint8_t *const> rows,
            uint64_t blockOffset, Destination to) const {
    const uint32_t mask = UINT32_C(0x01010101) * field.xorByte;
    for (uint64_t at = 0; at < field.bytes; at += sizeof mask, to.first += to.stride)
      for (std::size_t row = 0; row < rows.size(); ++row) {
        const uint8_t *bytes = rows[row] + blockOffset + field.offset + at;
        uint32_t word = mask;
        for (uint32_t byte = 0; byte < parts_.size(); ++byte)
          word ^= parts_[byte][bytes[byte]];
        std::memcpy(to.first + row * sizeof word, &word, sizeof word);
      }
  }

private:
  std::array<std::array<uint32_t, 256>, 4> parts_;
};

void packWhole(const plan::PackField &field, std::span<const uint8_t *const> rows,
               uint64_t blockOffset, Destination to) {
  switch (field.unit) {
  case 1:
    return packUnits<uint8_t>(field, rows, blockOffset, to);
  case 2:
    return packUnits<uint16_t>(field, rows, blockOffset, to);
  case 4:
    return packUnits<uint32_t>(field, rows, blockOffset, to);
  case 8:
    return packUnits<uint64_t>(field, rows, blockOffset, to);
  default:
    return packLongUnits(field, rows, blockOffset, to);
  }
}

// Bytes of several tensors as rows of one, with a walk over them in a recipe's order.
class RowSource {
public:
  // Each tensor is a whole number of rows.
  RowSource(const plan::PackRecipe &recipe, std::span<const std::span<const uint8_t>> tensors)
      : tensors_(tensors), rowBytes_(plan::rowBytes(recipe)), ordered_(!recipe.rowOrder.empty()),
        walker_(recipe.rowOrder) {
    for (std::span<const uint8_t> tensor : tensors)
      ends_.push_back(rows() + tensor.size() / rowBytes_);
  }

  uint64_t rows() const { return ends_.empty() ? 0 : ends_.back(); }
  bool done() const { return taken_ == rows(); }

  std::span<const uint8_t> next() {
    const uint64_t row = ordered_ ? walker_.next() : taken_;
    ++taken_;
    if (row < begin_ || row >= ends_[tensor_])
      seek(row);
    return tensors_[tensor_].subspan((row - begin_) * rowBytes_, rowBytes_);
  }

private:
  void seek(uint64_t row) {
    tensor_ = static_cast<std::size_t>(std::ranges::upper_bound(ends_, row) - ends_.begin());
    begin_ = tensor_ == 0 ? 0 : ends_[tensor_ - 1];
  }

  std::span<const std::span<const uint8_t>> tensors_;
  uint64_t rowBytes_;
  bool ordered_;
  plan::RowWalker walker_;
  std::vector<uint64_t> ends_; // the row after each tensor's last
  uint64_t taken_ = 0;
  std::size_t tensor_ = 0; // of the row last taken
  uint64_t begin_ = 0;     // its first row
};

// Bytes to release, neighbours as one: what is no whole page of its own is not given back.
class Released {
public:
  void add(std::span<const uint8_t> bytes) {
    if (!runs_.empty() && runs_.back().data() + runs_.back().size() == bytes.data())
      runs_.back() = {runs_.back().data(), runs_.back().size() + bytes.size()};
    else
      runs_.push_back(bytes);
  }

  void releaseTo(WeightSource &source) {
    std::ranges::sort(runs_, {}, [](const auto &run) { return run.data(); });
    Released joined;
    for (std::span<const uint8_t> run : runs_)
      joined.add(run);
    for (std::span<const uint8_t> run : joined.runs_)
      source.release(run);
    runs_.clear();
  }

private:
  std::vector<std::span<const uint8_t>> runs_;
};

// The recipe with a row as one block where a block is a single field: its units lie in a row as
// they lie in a block.
plan::PackRecipe inLongBlocks(plan::PackRecipe recipe) {
  const uint64_t bytes = plan::rowBytes(recipe);
  if (recipe.fields.size() == 1 && recipe.fields[0].bytes == recipe.blockBytes &&
      bytes <= UINT32_MAX) {
    recipe.fields[0].bytes = recipe.blockBytes = static_cast<uint32_t>(bytes);
    recipe.blocksPerRow = 1;
  }
  return recipe;
}

// Packs the rows of several tensors as if they were one.
class Interleaver {
public:
  Interleaver(const plan::PackRecipe &recipe, std::span<const std::span<const uint8_t>> tensors)
      : recipe_(inLongBlocks(recipe)), source_(recipe, tensors), rowBytes_(plan::rowBytes(recipe)) {
    for (const plan::PackField &field : recipe_.fields)
      if (field.itemBits != 8 && !turners_.contains(field.itemBits))
        turners_.emplace(field.itemBits, field.itemBits);
  }

  bool done() const { return source_.done(); }
  // Packs the next part to `dst`, which has mostBytes() or the bytes that are left, and returns its
  // bytes.
  uint64_t packPart(uint8_t *dst, hal::Device &device, WeightSource &source) {
    takeRows(rowsOfPart());
    partDst_ = dst;
    device.parallelFor(static_cast<int64_t>(rows_.size() / recipe_.rowsPerAtom), packGroup, this);
    released_.releaseTo(source);
    return rows_.size() * rowBytes_;
  }
  uint64_t mostBytes() const { return rowsOfPart() * rowBytes_; }

private:
  uint64_t rowsOfPart() const {
    const uint64_t atom = recipe_.rowsPerAtom;
    const uint64_t rows = std::clamp<uint64_t>(kPartBytes / rowBytes_, 1, kPartRows);
    return std::max<uint64_t>(rows / atom, 1) * atom;
  }

  void takeRows(uint64_t count) {
    rows_.clear();
    while (rows_.size() < count && !source_.done()) {
      const std::span<const uint8_t> row = source_.next();
      released_.add(row);
      rows_.push_back(row.data());
    }
    // Rows beyond the last are blocks of zeros.
    if (rows_.size() % recipe_.rowsPerAtom != 0)
      zeros_.resize(rowBytes_);
    while (rows_.size() % recipe_.rowsPerAtom != 0)
      rows_.push_back(zeros_.data());
  }

  static void packGroup(void *context, int64_t index) {
    const auto &self = *static_cast<const Interleaver *>(context);
    const uint64_t atom = self.recipe_.rowsPerAtom;
    const auto group = static_cast<uint64_t>(index);
    const auto rows = std::span(self.rows_).subspan(group * atom, atom);
    uint8_t *dst = self.partDst_ + group * atom * self.rowBytes_;
    const uint64_t blockBytes = self.recipe_.blockBytes;
    for (uint64_t block = 0; block < self.recipe_.blocksPerRow; ++block, dst += blockBytes * atom)
      for (const plan::PackField &field : self.recipe_.fields)
        self.packField(field, rows, block * blockBytes, dst);
  }

  void packField(const plan::PackField &field, std::span<const uint8_t *const> rows,
                 uint64_t blockOffset, uint8_t *block) const {
    const Destination to(field, rows.size(), block);
    if (field.itemBits == 8)
      return packWhole(field, rows, blockOffset, to);
    turners_.at(field.itemBits).pack(field, rows, blockOffset, to);
  }

  plan::PackRecipe recipe_;
  RowSource source_;
  uint64_t rowBytes_;
  std::map<uint8_t, Turner> turners_; // by the bits of an item
  std::vector<uint8_t> zeros_;
  std::vector<const uint8_t *> rows_; // of the part at hand
  Released released_;                 // the source of those rows
  uint8_t *partDst_ = nullptr;
};

} // namespace

Result<uint64_t> packedBytes(const plan::PackRecipe &recipe,
                             std::span<const std::span<const uint8_t>> tensors) {
  CheckedSize total = 0;
  for (std::span<const uint8_t> tensor : tensors) {
    if (recipe.mode == plan::PackMode::Interleave && tensor.size() % rowBytes(recipe) != 0)
      return fail(Code::InvalidArgument, "a tensor has " + std::to_string(tensor.size()) +
                                             " bytes, expected rows of " +
                                             std::to_string(rowBytes(recipe)));
    total = total + tensor.size();
  }
  if (recipe.mode == plan::PackMode::Interleave) {
    const CheckedSize atomBytes = CheckedSize(recipe.rowsPerAtom) * rowBytes(recipe);
    total = atomBytes.valid() ? alignUp(total, *atomBytes.value()) : atomBytes;
  }
  if (!total.valid())
    return fail(Code::InvalidArgument, "a weight's size exceeds 64 bits");
  return *total.value();
}

static Result<void> checkOrder(const plan::PackRecipe &recipe,
                               std::span<const std::span<const uint8_t>> tensors) {
  if (recipe.rowOrder.empty())
    return {};
  return plan::checkPermutation(recipe.rowOrder, RowSource(recipe, tensors).rows());
}

Result<void> pack(const plan::PackRecipe &recipe, std::span<const std::span<const uint8_t>> tensors,
                  std::span<uint8_t> dst, hal::Device &device, WeightSource &source) {
  SINTER_ASSIGN(const uint64_t bytes, packedBytes(recipe, tensors));
  SINTER_CHECK(bytes == dst.size());
  if (recipe.mode == plan::PackMode::Interleave) {
    SINTER_TRY(checkOrder(recipe, tensors));
    for (Interleaver parts(recipe, tensors); !parts.done();)
      dst = dst.subspan(parts.packPart(dst.data(), device, source));
    return {};
  }
  for (std::span<const uint8_t> tensor : tensors) {
    if (!tensor.empty())
      std::memcpy(dst.data(), tensor.data(), tensor.size());
    dst = dst.subspan(tensor.size());
    source.release(tensor);
  }
  return {};
}

Result<void> packInParts(const plan::PackRecipe &recipe,
                         std::span<const std::span<const uint8_t>> tensors, const PackedSink &sink,
                         hal::Device &device, WeightSource &source) {
  SINTER_ASSIGN(const uint64_t bytes, packedBytes(recipe, tensors));
  uint64_t offset = 0;
  if (recipe.mode == plan::PackMode::Interleave) {
    SINTER_TRY(checkOrder(recipe, tensors));
    Interleaver parts(recipe, tensors);
    SINTER_ASSIGN(const hal::HostMemory part,
                  hal::HostMemory::allocate(std::min(parts.mostBytes(), bytes)));
    while (!parts.done()) {
      const uint64_t packed = parts.packPart(part.data(), device, source);
      SINTER_TRY(sink(offset, {part.data(), packed}));
      offset += packed;
    }
    return {};
  }
  for (std::span<const uint8_t> tensor : tensors)
    while (!tensor.empty()) {
      const auto part = tensor.first(std::min<uint64_t>(tensor.size(), kPartBytes));
      SINTER_TRY(sink(offset, part));
      source.release(part);
      offset += part.size();
      tensor = tensor.subspan(part.size());
    }
  return {};
}

} // namespace sinter::runtime
