// The accumulators of matrix instructions that are on their way: which values of a kernel stand for
// them, and who may use these.
#pragma once

#include "tile/interpreter/engine.h"

#include <map>
#include <vector>

namespace sinter::sched {

/// Accumulators as they will be, and the matmul that is adding to them.
struct InFlightAccumulators {
  tile::Tile accumulators;
  mlir::Operation *op = nullptr;
  uint64_t group = 0;
};

/// Values are known by their storage, which control flow hands on as it is.
class AccumulatorsInFlight {
public:
  /// What a value stands for: all of a matmul's accumulators, or one element for each thread.
  struct Held {
    tile::Tile tile; // keeps the storage
    mlir::Value origin;
    uint64_t number = 0;                // of the accumulators
    int64_t element = -1;               // -1: all
    mlir::Operation *op = nullptr;      // that started the matmul
    mlir::Operation *takenBy = nullptr; // after which nothing may use the value
  };

  void beginProgram();
  bool none() const { return held_.empty(); }
  /// Null where the value is no accumulators in flight.
  const Held *find(const tile::Tile &tile) const;
  /// How many accumulators each thread has of those that `held` stands for.
  int64_t registersOf(const Held &held) const;

  /// `tile`, the value of `origin`, stands for `accumulators` from here on. Its storage is its own.
  void start(InFlightAccumulators accumulators, const tile::Tile &tile, mlir::Value origin);
  /// `tile` stands for an element (-1: all) of the same accumulators as `held`.
  void derive(const Held &held, int64_t element, const tile::Tile &tile, mlir::Value origin);
  /// `op` goes on with the accumulators; every value that stands for them is void.
  InFlightAccumulators take(const Held &held, mlir::Operation &op);

  // Groups of matmuls.
  uint64_t openGroup() const { return groups_; }
  /// Ends the open group if `commit`, and waits for all but the `pending` youngest.
  void wait(bool commit, uint64_t pending);
  /// Groups below it have ended.
  uint64_t ended() const { return ended_; }
  /// A matmul of this program that has not ended, or null.
  mlir::Operation *matmulInFlight() const;

  // Registers that matmuls may add to: not written since the last fence.
  void fence();
  void noteResult(const tile::Tile &tile, bool isWritten);
  bool isWritten(const tile::Tile &tile) const { return written_.contains(tile.data()); }
  bool isOrdered(const tile::Tile &tile) const { return isFenced_ && !isWritten(tile); }

private:
  using Place = const std::byte *;
  void hold(Held held);

  llvm::DenseMap<Place, Held> held_;
  llvm::DenseMap<mlir::Value, Place> voids_; // the latest void value of each origin
  std::map<uint64_t, InFlightAccumulators> flights_;
  std::map<uint64_t, std::vector<Place>> places_; // of the values that stand for each
  llvm::DenseSet<Place> written_;
  bool isFenced_ = false;
  uint64_t numbers_ = 0, groups_ = 0, ended_ = 0;
};

} // namespace sinter::sched
