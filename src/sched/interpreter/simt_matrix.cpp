// Gathering, multiplying and scattering the fragments of a matrix instruction.
#include "tile/mlir_pch.h"

#include "sched/interpreter/simt_matrix.h"

#include <bit>
#include <cmath>

using namespace mlir;

namespace sinter::sched {

Fragment::Fragment(const SimtLayout &layout, MatrixElement element)
    : element_(element), rows_(layout.shape()[0]), columns_(layout.shape()[1]),
      lanes_(layout.threads()), registers_(layout.registers()), hasCopies_(layout.copies() != 0) {
  for (int64_t lane = 0; lane < lanes_; ++lane)
    for (int64_t number = 0; number < registers_; ++number) {
      auto ofLane = layout.threadCoords(lane), ofRegister = layout.registerCoords(number);
      int64_t row = ofLane[0] + ofRegister[0], column = ofLane[1] + ofRegister[1];
      places_.push_back(static_cast<uint32_t>(row * columns_ + column));
    }
}

bool Fragment::isInt() const {
  return element_ == MatrixElement::S8 || element_ == MatrixElement::U8 ||
         element_ == MatrixElement::S32;
}

// The sign counts, or it does not: S8 and U8 differ only here.
template <> uint32_t Fragment::read(const tile::Tile &tile, int64_t at) const {
  return static_cast<uint32_t>(element_ == MatrixElement::U8
                                   ? tile.unsignedAt(at)
                                   : static_cast<uint64_t>(tile.signedAt(at)));
}

template <> float Fragment::read(const tile::Tile &tile, int64_t at) const {
  double value;
  tile::readDoubles(tile, at, value);
  auto number = static_cast<float>(value);
  if (element_ != MatrixElement::TF32)
    return number;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(number) & ~uint32_t(0x1fff));
}

template <typename T>
Result<std::vector<T>> Fragment::gather(const tile::Tile &tile, int64_t firstThread) const {
  std::vector<T> matrix(rows_ * columns_);
  std::vector<int64_t> holders(hasCopies_ ? matrix.size() : 0, -1);
  for (int64_t at = 0; at < lanes_ * registers_; ++at) {
    T value = read<T>(tile, firstThread * registers_ + at);
    uint32_t place = places_[at];
    if (hasCopies_) {
      int64_t lane = at / registers_, holder = std::exchange(holders[place], lane);
      if (holder >= 0 && std::bit_cast<uint32_t>(matrix[place]) != std::bit_cast<uint32_t>(value))
        return fail(Code::InvalidArgument, "finds different copies of element [" +
                                               std::to_string(place / columns_) + ", " +
                                               std::to_string(place % columns_) + "] in threads " +
                                               std::to_string(firstThread + holder) + " and " +
                                               std::to_string(firstThread + lane));
    }
    matrix[place] = value;
  }
  return matrix;
}

template <typename T>
void Fragment::scatter(ArrayRef<T> matrix, tile::Tile &tile, int64_t firstThread) const {
  T *to = tile.as<T>() + firstThread * registers_;
  for (auto [at, place] : llvm::enumerate(places_))
    to[at] = matrix[place];
}

MatrixUnit::MatrixUnit(const MatrixInstruction &instruction)
    : lanes_(instruction.lanes), a_(instruction.layoutA(), instruction.aElement),
      b_(instruction.layoutB(), instruction.bElement),
      c_(instruction.layoutC(), instruction.cElement) {}

static float multiplyAdd(float a, float b, float c) {
  return std::fma(a, b, c);
}

static uint32_t multiplyAdd(uint32_t a, uint32_t b, uint32_t c) {
  return a * b + c;
}

template <typename T>
Result<void> MatrixUnit::multiplySubgroup(const tile::Tile &a, const tile::Tile &b,
                                          const tile::Tile &c, tile::Tile &d, int64_t firstOfA,
                                          int64_t firstOfB, int64_t firstThread) const {
  SINTER_ASSIGN(std::vector<T> left, a_.gather<T>(a, firstOfA));
  SINTER_ASSIGN(std::vector<T> right, b_.gather<T>(b, firstOfB));
  SINTER_ASSIGN(std::vector<T> sum, c_.gather<T>(c, firstThread));
  int64_t k = a_.columns(), n = c_.columns();
  for (int64_t row = 0; row < c_.rows(); ++row)
    for (int64_t step = 0; step < k; ++step)
      for (int64_t column = 0; column < n; ++column)
        sum[row * n + column] =
            multiplyAdd(left[row * k + step], right[step * n + column], sum[row * n + column]);
  c_.scatter<T>(sum, d, firstThread);
  return {};
}

Result<void> MatrixUnit::multiply(const tile::Tile &a, const tile::Tile &b, const tile::Tile &c,
                                  tile::Tile &d) const {
  for (int64_t first = 0; first < c.shape()[0]; first += lanes_)
    SINTER_TRY(c_.isInt() ? multiplySubgroup<uint32_t>(a, b, c, d, first, first, first)
                          : multiplySubgroup<float>(a, b, c, d, first, first, first));
  return {};
}

Result<void> MatrixUnit::multiplyShared(const tile::Tile &a, const tile::Tile &b,
                                        const tile::Tile &c, tile::Tile &d,
                                        int64_t firstThread) const {
  return c_.isInt() ? multiplySubgroup<uint32_t>(a, b, c, d, 0, 0, firstThread)
                    : multiplySubgroup<float>(a, b, c, d, 0, 0, firstThread);
}

Result<void> MatrixUnit::multiplyTile(const tile::Tile &a, const tile::Tile &b, const tile::Tile &c,
                                      tile::Tile &d, int64_t firstThread) const {
  return c_.isInt() ? multiplySubgroup<uint32_t>(a, b, c, d, firstThread, 0, firstThread)
                    : multiplySubgroup<float>(a, b, c, d, firstThread, 0, firstThread);
}

} // namespace sinter::sched
