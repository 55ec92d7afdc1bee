// The requests that wait for their turn, and whose turn it is: the highest priority first; of one
// priority those that were preempted, in the order in which they began; then the first of the queue
// that was served least.
#pragma once

#include "llm/scheduled_sequence.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace sinter {

// For one thread. Sequences keep their shares while they wait.
class WaitingLine {
public:
  using SequencePtr = std::unique_ptr<ScheduledSequence>;

  // Behind those of its priority and queue; before all that have not begun, where it has.
  void add(SequencePtr sequence);

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  // Of a line that is not empty.
  ScheduledSequence &next() { return *nextQueue().front(); }
  SequencePtr takeNext();

  void forEach(const std::function<void(ScheduledSequence &)> &visit) const;
  // Takes those out that have a result.
  void takeEnded(std::vector<SequencePtr> &ended);

private:
  struct Level { // of one priority
    std::deque<SequencePtr> preempted;
    std::map<FairShare *, std::deque<SequencePtr>> queues; // none of them empty
  };

  std::deque<SequencePtr> &nextQueue();

  std::map<int32_t, Level, std::greater<>> levels_; // none of them empty
  size_t size_ = 0;
};

} // namespace sinter
