// Interleaving of rows, a group of rows per task.
#include "runtime/packer.h"

#include "base/check.h"
#include "base/checked.h"

#include <algorithm>
#include <cstring>

namespace sinter::runtime {
namespace {

// What is packed between two releases of the source: large beside a page, small beside a model.
constexpr uint64_t kPartBytes = uint64_t(32) << 20;
constexpr uint64_t kPartRows = 1 << 16;

uint64_t rowBytes(const plan::PackRecipe &recipe) {
  return uint64_t(recipe.blocksPerRow) * recipe.blockBytes;
}

// One unit of every row of a group after the other, for units as large as the integer `Unit`. Whole
// integers, because the compiler must take bytes of source and destination for the same ones.
template <typename Unit>
uint8_t *packUnits(const plan::PackField &field, std::span<const uint8_t *const> rows,
                   uint64_t blockOffset, uint8_t *dst) {
  const auto mask = static_cast<Unit>(UINT64_C(0x0101010101010101) * field.xorByte);
  for (uint32_t at = 0; at < field.bytes; at += sizeof(Unit))
    for (const uint8_t *row : rows) {
      Unit unit;
      std::memcpy(&unit, row + blockOffset + field.offset + at, sizeof unit);
      unit ^= mask;
      std::memcpy(dst, &unit, sizeof unit);
      dst += sizeof unit;
    }
  return dst;
}

// The same for units of any size.
uint8_t *packLongUnits(const plan::PackField &field, std::span<const uint8_t *const> rows,
                       uint64_t blockOffset, uint8_t *dst) {
  for (uint32_t at = 0; at < field.bytes; at += field.unit)
    for (const uint8_t *row : rows) {
      std::memcpy(dst, row + blockOffset + field.offset + at, field.unit);
      if (field.xorByte != 0)
        for (uint32_t i = 0; i < field.unit; ++i)
          dst[i] ^= field.xorByte;
      dst += field.unit;
    }
  return dst;
}

uint8_t *packField(const plan::PackField &field, std::span<const uint8_t *const> rows,
                   uint64_t blockOffset, uint8_t *dst) {
  switch (field.unit) {
  case 1:
    return packUnits<uint8_t>(field, rows, blockOffset, dst);
  case 2:
    return packUnits<uint16_t>(field, rows, blockOffset, dst);
  case 4:
    return packUnits<uint32_t>(field, rows, blockOffset, dst);
  case 8:
    return packUnits<uint64_t>(field, rows, blockOffset, dst);
  default:
    return packLongUnits(field, rows, blockOffset, dst);
  }
}

// Packs rows of several tensors as if they were one.
class Interleaver {
public:
  Interleaver(const plan::PackRecipe &recipe, std::span<const std::span<const uint8_t>> tensors,
              std::span<uint8_t> dst)
      : recipe_(recipe), tensors_(tensors), dst_(dst), rowBytes_(rowBytes(recipe)) {}

  void run(hal::Device &device, WeightSource &source) {
    const uint64_t atom = recipe_.rowsPerAtom;
    const uint64_t rowsOfPart = std::clamp<uint64_t>(kPartBytes / rowBytes_, 1, kPartRows);
    const uint64_t groupsOfPart = std::max<uint64_t>(rowsOfPart / atom, 1);
    for (uint64_t done = 0; done < dst_.size();) {
      rows_.clear();
      released_.clear();
      while (rows_.size() < groupsOfPart * atom && takeRow())
        ;
      // Rows beyond the last are blocks of zeros.
      if (rows_.size() % atom != 0)
        zeros_.resize(rowBytes_);
      while (rows_.size() % atom != 0)
        rows_.push_back(zeros_.data());
      partDst_ = dst_.data() + done;
      device.parallelFor(static_cast<int64_t>(rows_.size() / atom), packGroup, this);
      done += rows_.size() * rowBytes_;
      for (std::span<const uint8_t> bytes : released_)
        source.release(bytes);
    }
  }

private:
  bool takeRow() {
    while (tensor_ < tensors_.size() && offset_ == tensors_[tensor_].size()) {
      ++tensor_;
      offset_ = 0;
    }
    if (tensor_ == tensors_.size())
      return false;
    const std::span<const uint8_t> row = tensors_[tensor_].subspan(offset_, rowBytes_);
    if (!released_.empty() && released_.back().data() + released_.back().size() == row.data())
      released_.back() = {released_.back().data(), released_.back().size() + rowBytes_};
    else
      released_.push_back(row);
    rows_.push_back(row.data());
    offset_ += rowBytes_;
    return true;
  }

  static void packGroup(void *context, int64_t index) {
    const auto &self = *static_cast<const Interleaver *>(context);
    const uint64_t atom = self.recipe_.rowsPerAtom;
    const auto group = static_cast<uint64_t>(index);
    const auto rows = std::span(self.rows_).subspan(group * atom, atom);
    uint8_t *dst = self.partDst_ + group * atom * self.rowBytes_;
    for (uint64_t block = 0; block < self.recipe_.blocksPerRow; ++block)
      for (const plan::PackField &field : self.recipe_.fields)
        dst = packField(field, rows, block * self.recipe_.blockBytes, dst);
  }

  const plan::PackRecipe &recipe_;
  std::span<const std::span<const uint8_t>> tensors_;
  std::span<uint8_t> dst_;
  uint64_t rowBytes_;
  std::vector<uint8_t> zeros_;
  std::size_t tensor_ = 0;                         // of the next row
  uint64_t offset_ = 0;                            // of the next row in its tensor
  std::vector<const uint8_t *> rows_;              // of the part at hand
  std::vector<std::span<const uint8_t>> released_; // the source of those rows
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

Result<void> pack(const plan::PackRecipe &recipe, std::span<const std::span<const uint8_t>> tensors,
                  std::span<uint8_t> dst, hal::Device &device, WeightSource &source) {
  SINTER_ASSIGN(const uint64_t bytes, packedBytes(recipe, tensors));
  SINTER_CHECK(bytes == dst.size());
  if (recipe.mode == plan::PackMode::Interleave) {
    Interleaver(recipe, tensors, dst).run(device, source);
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

} // namespace sinter::runtime
