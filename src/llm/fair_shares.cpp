// Queues that come and go.
#include "llm/fair_shares.h"

#include "base/check.h"

#include <algorithm>

namespace sinter {

FairShare *FairShares::join(const std::string &name) {
  FairShare &share = shares_[name];
  if (share.requests == 0) {
    uint64_t least = UINT64_MAX;
    for (const auto &[other, counted] : shares_)
      if (counted.requests > 0)
        least = std::min(least, counted.served);
    share.served = least == UINT64_MAX ? share.served : std::max(share.served, least);
  }
  ++share.requests;
  return &share;
}

void FairShares::leave(FairShare *share) {
  SINTER_CHECK(share->requests > 0);
  if (--share->requests == 0)
    forgetIdle();
}

// An idle queue that was served no more than a busy one would begin level with it anyway.
void FairShares::forgetIdle() {
  uint64_t least = UINT64_MAX;
  for (const auto &[name, share] : shares_)
    if (share.requests > 0)
      least = std::min(least, share.served);
  std::erase_if(shares_, [&](const auto &entry) {
    return entry.second.requests == 0 && entry.second.served <= least;
  });
}

} // namespace sinter
