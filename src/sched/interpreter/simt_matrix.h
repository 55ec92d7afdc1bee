// A matrix instruction executed from its table: fragments gathered from all lanes, multiplied,
// scattered.
#pragma once

#include "sched/simt/matrix_instructions.h"
#include "tile/interpreter/value.h"

#include <vector>

namespace sinter::sched {

/// One operand of an instruction.
class Fragment {
public:
  Fragment(const SimtLayout &layout, MatrixElement element);

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  bool isInt() const;
  /// Row-major elements held by the lanes from `firstThread` of a tile [threads, registers]; T is
  /// float or uint32_t. InvalidArgument: copies of one element differ.
  template <typename T>
  Result<std::vector<T>> gather(const tile::Tile &tile, int64_t firstThread) const;
  template <typename T>
  void scatter(llvm::ArrayRef<T> matrix, tile::Tile &tile, int64_t firstThread) const;

private:
  template <typename T> T read(const tile::Tile &tile, int64_t at) const;

  MatrixElement element_;
  int64_t rows_, columns_, lanes_, registers_;
  bool hasCopies_;
  std::vector<uint32_t> places_; // by lane, then register: in the row-major matrix
};

class MatrixUnit {
public:
  explicit MatrixUnit(const MatrixInstruction &instruction);

  /// d = c + a . b for every subgroup of tiles [threads, registers].
  Result<void> multiply(const tile::Tile &a, const tile::Tile &b, const tile::Tile &c,
                        tile::Tile &d) const;
  /// The same for the lanes from `firstThread` of an instruction with shared operands: a and b are
  /// row-major, [m, k] and [k, n].
  Result<void> multiplyShared(const tile::Tile &a, const tile::Tile &b, const tile::Tile &c,
                              tile::Tile &d, int64_t firstThread) const;
  /// Likewise with b [k, n] alone in shared memory: a has a fragment.
  Result<void> multiplyTile(const tile::Tile &a, const tile::Tile &b, const tile::Tile &c,
                            tile::Tile &d, int64_t firstThread) const;

private:
  template <typename T>
  Result<void> multiplySubgroup(const tile::Tile &a, const tile::Tile &b, const tile::Tile &c,
                                tile::Tile &d, int64_t firstOfA, int64_t firstOfB,
                                int64_t firstThread) const;

  int64_t lanes_;
  Fragment a_, b_, c_;
};

} // namespace sinter::sched
