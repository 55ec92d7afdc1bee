// Who holds each of a number of like things, pages or slots: sequences, several of which may share
// one, and at most one keeper, which keeps what no sequence needs at the moment.
#pragma once

#include "base/check.h"

#include <cstdint>
#include <vector>

namespace sinter {

class HolderCounts {
public:
  explicit HolderCounts(uint32_t count = 0) : holders_(count, 0), kept_(count, false) {}

  uint32_t size() const { return static_cast<uint32_t>(holders_.size()); }
  uint32_t holders(uint32_t index) const { return holders_[index]; }
  // Of things that the keeper alone holds.
  uint32_t idle() const { return idle_; }
  bool isIdle(uint32_t index) const { return kept_[index] && holders_[index] == 1; }

  // A sequence becomes the only holder.
  void take(uint32_t index) {
    SINTER_CHECK(holders_[index] == 0);
    holders_[index] = 1;
  }
  // One more sequence holds it.
  void share(uint32_t index) {
    SINTER_CHECK(holders_[index] > 0);
    idle_ -= isIdle(index);
    ++holders_[index];
  }
  // A sequence holds it no more. True: nobody does.
  bool give(uint32_t index) {
    SINTER_CHECK(index < size() && holders_[index] > uint32_t{kept_[index]});
    --holders_[index];
    idle_ += isIdle(index);
    return holders_[index] == 0;
  }
  // The keeper holds it, too.
  void keep(uint32_t index) {
    SINTER_CHECK(holders_[index] > 0 && !kept_[index]);
    ++holders_[index];
    kept_[index] = true;
  }
  // The keeper holds it no more. True: nobody does.
  bool drop(uint32_t index) {
    SINTER_CHECK(kept_[index]);
    idle_ -= isIdle(index);
    kept_[index] = false;
    --holders_[index];
    return holders_[index] == 0;
  }

private:
  std::vector<uint32_t> holders_;
  std::vector<bool> kept_;
  uint32_t idle_ = 0;
};

} // namespace sinter
