// Bookkeeping of accumulators in flight: bounded by the kernel's values and by the tiles that live.
#include "tile/mlir_pch.h"

#include "base/check.h"
#include "sched/interpreter/simt_accumulators.h"

using namespace mlir;

namespace sinter::sched {

// Smaller tiles lie within the values that hold them and have no place of their own.
static bool hasPlace(const tile::Tile &tile) {
  return tile.byteCount() > 8;
}

void AccumulatorsInFlight::beginProgram() {
  *this = AccumulatorsInFlight();
}

const AccumulatorsInFlight::Held *AccumulatorsInFlight::find(const tile::Tile &tile) const {
  auto found = held_.find(tile.data());
  return found == held_.end() ? nullptr : &found->second;
}

int64_t AccumulatorsInFlight::registersOf(const Held &held) const {
  return flights_.at(held.number).accumulators.shape().back();
}

void AccumulatorsInFlight::hold(Held held) {
  SINTER_CHECK(hasPlace(held.tile));
  Place place = held.tile.data();
  places_[held.number].push_back(place);
  held_[place] = std::move(held);
}

void AccumulatorsInFlight::start(InFlightAccumulators accumulators, const tile::Tile &tile,
                                 mlir::Value origin) {
  uint64_t number = numbers_++;
  hold({tile, origin, number, -1, accumulators.op});
  flights_.emplace(number, std::move(accumulators));
}

void AccumulatorsInFlight::derive(const Held &held, int64_t element, const tile::Tile &tile,
                                  mlir::Value origin) {
  hold({tile, origin, held.number, element, held.op});
}

InFlightAccumulators AccumulatorsInFlight::take(const Held &held, Operation &op) {
  uint64_t number = held.number;
  for (Place place : places_[number]) {
    Held &value = held_.find(place)->second;
    value.takenBy = &op;
    auto [known, isNew] = voids_.try_emplace(value.origin, place);
    if (!isNew)
      held_.erase(std::exchange(known->second, place));
  }
  places_.erase(number);
  InFlightAccumulators accumulators = std::move(flights_.at(number));
  flights_.erase(number);
  return accumulators;
}

void AccumulatorsInFlight::wait(bool commit, uint64_t pending) {
  groups_ += commit;
  if (groups_ > pending)
    ended_ = std::max(ended_, groups_ - pending);
}

Operation *AccumulatorsInFlight::matmulInFlight() const {
  for (const auto &[number, accumulators] : flights_)
    if (accumulators.group >= ended_)
      return accumulators.op;
  return nullptr;
}

void AccumulatorsInFlight::fence() {
  written_.clear();
  isFenced_ = true;
}

void AccumulatorsInFlight::noteResult(const tile::Tile &tile, bool isWritten) {
  if (!hasPlace(tile))
    return;
  if (isWritten)
    written_.insert(tile.data());
  else
    written_.erase(tile.data());
}

} // namespace sinter::sched
