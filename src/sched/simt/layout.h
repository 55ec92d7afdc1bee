// How tiles lie in the registers of a block's threads: the attribute #sched.layout with a shape.
#pragma once

#include "layout/layout.h"
#include "sched/sched.h"

namespace sinter::sched {

/// Attributes of a kernel in SIMT IR: threads of a block, and bytes of its shared memory.
inline constexpr llvm::StringLiteral kThreadsName = "sched.threads";
inline constexpr llvm::StringLiteral kSharedName = "sched.shared";
/// Blocks of each program, which read one another's shared memory; 1 where it is not there.
inline constexpr llvm::StringLiteral kBlocksName = "sched.blocks";
int64_t blocksOf(tile::KernelOp kernel);
/// The threads of a block; a diagnostic unless they are a power of two of at most `most`.
mlir::FailureOr<int64_t> threadsOf(tile::KernelOp kernel, int64_t most);

/// On a kernel whose source has no matmuls. What it writes then should leave caches before what it
/// reads: rows of 8192 columns are normalised 4 % faster on an H200, whose memory writes in longer
/// runs.
inline constexpr llvm::StringLiteral kStreams = "sched.streams";
/// On a kernel whose threads mostly wait for memory.
inline constexpr llvm::StringLiteral kLatencyBound = "sched.latency_bound";

/// A bit of a coordinate; axis -1 is none: threads that differ in it hold copies.
struct LayoutBit {
  int axis = -1;
  int bit = 0;
  bool operator==(const LayoutBit &) const = default;
};

/// The attribute's number for a bit, and back.
inline constexpr int kBitsPerAxis = 64;
int32_t encodeLayoutBit(LayoutBit bit);
LayoutBit decodeLayoutBit(int32_t number);

/// The layout of one tile. Registers count the atom's register bits first, then the atom's repeats,
/// last axis fastest. Coordinates at or above the tile's extents are padding.
class SimtLayout {
public:
  SimtLayout(llvm::ArrayRef<int64_t> shape, llvm::SmallVector<LayoutBit> registers,
             llvm::SmallVector<LayoutBit> threads);
  /// The layout of a tile type that has one.
  static SimtLayout of(mlir::Type tile);
  /// 2^vectorBits neighbours along `axis` in one thread; a subgroup's threads along that axis, the
  /// subgroups along the others from the last to the first, then along it again; threads that are
  /// left over hold copies.
  static SimtLayout blocked(llvm::ArrayRef<int64_t> shape, int64_t threads, int64_t subgroup,
                            int axis, int vectorBits);

  SimtLayoutAttr attribute(mlir::MLIRContext *context) const;
  /// `tile` with this layout as its encoding.
  mlir::RankedTensorType encode(mlir::RankedTensorType tile) const;

  llvm::ArrayRef<int64_t> shape() const { return shape_; }
  llvm::ArrayRef<LayoutBit> registerBits() const { return registers_; }
  llvm::ArrayRef<LayoutBit> threadBits() const { return threads_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  int64_t threads() const { return int64_t(1) << threads_.size(); }
  /// Elements that one atom covers along an axis, a power of two, and how many atoms cover it.
  int64_t atom(int axis) const { return int64_t(1) << atomBits_[axis]; }
  int64_t repeats(int axis) const { return llvm::divideCeil(shape_[axis], atom(axis)); }
  /// Values that each thread holds.
  int64_t registers() const;

  /// The part of the coordinates that a register's number gives, and the part that a thread's does;
  /// a coordinate is their sum.
  llvm::SmallVector<int64_t> registerCoords(int64_t number) const;
  llvm::SmallVector<int64_t> threadCoords(int64_t thread) const;
  /// The register that holds the coordinates whose thread part is zero; they must be such a part.
  int64_t registerAt(llvm::ArrayRef<int64_t> coords) const;
  /// Thread bits that copy, as a mask: of each set of copies, the thread without these bits is
  /// first.
  int64_t copies() const;
  /// How many neighbours along `axis` a thread holds in consecutive registers, a power of two.
  int64_t vector(int axis) const;

  /// The layout of the tile with extent 1 along `axis`.
  SimtLayout reduced(int axis) const;
  SimtLayout permuted(llvm::ArrayRef<int64_t> order) const;
  /// The layout in which each register still holds the same element, row-major, of a tile of
  /// another shape; nothing where the bits do not fall on its axes.
  std::optional<SimtLayout> reshaped(llvm::ArrayRef<int64_t> shape) const;
  /// The layout of a tile of `shape`, several of which one after the other along `axis` are a tile
  /// of this layout, register by register: of whole atoms, or of what registers alone count.
  /// Nothing where threads would share a part.
  std::optional<SimtLayout> ofPart(llvm::ArrayRef<int64_t> shape, int axis) const;
  /// The same bits for another shape of the same rank.
  SimtLayout withShape(llvm::ArrayRef<int64_t> shape) const;

  /// (register, thread) -> coordinates, as the layout library has it.
  Result<layout::Layout> toLayout() const;

  bool operator==(const SimtLayout &) const = default;

private:
  llvm::SmallVector<int64_t> shape_;
  llvm::SmallVector<LayoutBit> registers_, threads_;
  llvm::SmallVector<int> atomBits_;
};

} // namespace sinter::sched
