// Bookkeeping of sums in flight: bounded by the kernel's values and by the tiles that live.
#include "tile/mlir_pch.h"

#include "base/check.h"
#include "sched/interpreter/simt_accumulators.h"

using namespace mlir;

namespace sinter::sched {

// Smaller tiles lie within the values that hold them and have no place of their own.
static bool hasPlace(const tile::Tile &tile) {
  return tile.byteCount() > 8;
}

void SumsInFlight::beginProgram() {
  *this = SumsInFlight();
}

const SumsInFlight::Held *SumsInFlight::find(const tile::Tile &tile) const {
  auto found = held_.find(tile.data());
  return found == held_.end() ? nullptr : &found->second;
}

int64_t SumsInFlight::registersOf(const Held &held) const {
  return flights_.at(held.number).sums.shape().back();
}

void SumsInFlight::hold(Held held) {
  SINTER_CHECK(hasPlace(held.tile));
  Place place = held.tile.data();
  places_[held.number].push_back(place);
  held_[place] = std::move(held);
}

void SumsInFlight::start(FlyingSums sums, const tile::Tile &tile, mlir::Value origin) {
  uint64_t number = numbers_++;
  hold({tile, origin, number, -1, sums.op});
  flights_.emplace(number, std::move(sums));
}

void SumsInFlight::derive(const Held &held, int64_t element, const tile::Tile &tile,
                          mlir::Value origin) {
  hold({tile, origin, held.number, element, held.op});
}

FlyingSums SumsInFlight::take(const Held &held, Operation &op) {
  uint64_t number = held.number;
  for (Place place : places_[number]) {
    Held &value = held_.find(place)->second;
    value.takenBy = &op;
    auto [known, isNew] = voids_.try_emplace(value.origin, place);
    if (!isNew)
      held_.erase(std::exchange(known->second, place));
  }
  places_.erase(number);
  FlyingSums sums = std::move(flights_.at(number));
  flights_.erase(number);
  return sums;
}

void SumsInFlight::wait(bool commit, uint64_t pending) {
  groups_ += commit;
  if (groups_ > pending)
    ended_ = std::max(ended_, groups_ - pending);
}

Operation *SumsInFlight::productInFlight() const {
  for (const auto &[number, sums] : flights_)
    if (sums.group >= ended_)
      return sums.op;
  return nullptr;
}

void SumsInFlight::fence() {
  written_.clear();
  isFenced_ = true;
}

void SumsInFlight::noteResult(const tile::Tile &tile, bool isWritten) {
  if (!hasPlace(tile))
    return;
  if (isWritten)
    written_.insert(tile.data());
  else
    written_.erase(tile.data());
}

} // namespace sinter::sched
