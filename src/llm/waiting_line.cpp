// Levels of priority, queues within them.
#include "llm/waiting_line.h"

#include <algorithm>

namespace sinter {

void WaitingLine::add(SequencePtr sequence) {
  Level &level = levels_[sequence->request.priority];
  ++size_;
  if (!sequence->hasBegun()) {
    level.queues[sequence->share].push_back(std::move(sequence));
    return;
  }
  const auto place =
      std::ranges::upper_bound(level.preempted, sequence->rank, {},
                               [](const SequencePtr &preempted) { return preempted->rank; });
  level.preempted.insert(place, std::move(sequence));
}

// Of two queues that were served alike, the one whose first request came first.
std::deque<WaitingLine::SequencePtr> &WaitingLine::nextQueue() {
  Level &level = levels_.begin()->second;
  if (!level.preempted.empty())
    return level.preempted;
  const auto least = std::ranges::min_element(level.queues, std::less<>(), [](const auto &queue) {
    return std::pair(queue.first->served, queue.second.front()->id);
  });
  return least->second;
}

WaitingLine::SequencePtr WaitingLine::takeNext() {
  const auto level = levels_.begin();
  std::deque<SequencePtr> &queue = nextQueue();
  SequencePtr sequence = std::move(queue.front());
  queue.pop_front();
  --size_;
  if (queue.empty() && &queue != &level->second.preempted)
    level->second.queues.erase(sequence->share);
  if (level->second.preempted.empty() && level->second.queues.empty())
    levels_.erase(level);
  return sequence;
}

void WaitingLine::forEach(const std::function<void(ScheduledSequence &)> &visit) const {
  for (const auto &[priority, level] : levels_) {
    for (const SequencePtr &sequence : level.preempted)
      visit(*sequence);
    for (const auto &[share, queue] : level.queues)
      for (const SequencePtr &sequence : queue)
        visit(*sequence);
  }
}

void WaitingLine::takeEnded(std::vector<SequencePtr> &ended) {
  const auto takeFrom = [&](std::deque<SequencePtr> &queue) {
    for (SequencePtr &sequence : queue)
      if (sequence->result)
        ended.push_back(std::move(sequence));
    size_ -= std::erase(queue, nullptr);
  };
  for (auto &[priority, level] : levels_) {
    takeFrom(level.preempted);
    for (auto &[share, queue] : level.queues)
      takeFrom(queue);
    std::erase_if(level.queues, [](const auto &queue) { return queue.second.empty(); });
  }
  std::erase_if(levels_, [](const auto &entry) {
    return entry.second.preempted.empty() && entry.second.queues.empty();
  });
}

} // namespace sinter
