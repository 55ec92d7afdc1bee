// How much service each queue of requests had, so that the one with the least comes next: the
// virtual token counter of Sheng et al., "Fairness in Serving Large Language Models" (2401.00588).
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace sinter {

// One queue, which all requests of one name share.
struct FairShare {
  uint64_t served = 0;   // tokens
  uint64_t requests = 0; // that wait or run
};

// For one thread.
class FairShares {
public:
  // One more request of this queue waits. A queue that had none begins level with the least served
  // of those that have some, so that nobody saves up turns. Valid until its last leave().
  FairShare *join(const std::string &name);
  // A request of it has ended.
  void leave(FairShare *share);

  // Queues that are remembered: those with requests, and those that were served more than these.
  size_t size() const { return shares_.size(); }

private:
  void forgetIdle();

  std::map<std::string, FairShare> shares_;
};

} // namespace sinter
