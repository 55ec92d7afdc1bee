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

// One unit of every row of a group; `kUnit` is the unit's bytes, or 0 for those given at run time.
template <uint32_t kUnit>
uint8_t *packUnits(const plan::PackField &field, std::span<const uint8_t *const> rows,
                   uint64_t blockOffset, uint8_t *dst) {
  const uint32_t unit = kUnit ? kUnit : field.unit;
  for (uint32_t at = 0; at < field.bytes; at += unit)
    for (const uint8_t *row : rows) {
      const uint8_t *src = row + blockOffset + field.offset + at;
      for (uint32_t i = 0; i < unit; ++i)
        dst[i] = src[i] ^ field.xorByte;
      dst += unit;
    }
  return dst;
}

uint8_t *packField(const plan::PackField &field, std::span<const uint8_t *const> rows,
                   uint64_t blockOffset, uint8_t *dst) {
  switch (field.unit) {
  case 1:
    return packUnits<1>(field, rows, blockOffset, dst);
  case 2:
    return packUnits<2>(field, rows, blockOffset, dst);
  case 4:
    return packUnits<4>(field, rows, blockOffset, dst);
  case 8:
    return packUnits<8>(field, rows, blockOffset, dst);
  case 16:
    return packUnits<16>(field, rows, blockOffset, dst);
  default:
    return packUnits<0>(field, rows, blockOffset, dst);
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
