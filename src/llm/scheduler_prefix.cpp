// What the scheduler reuses of the prefix cache, and what it leaves there.
#include "llm/scheduled_sequence.h"
#include "llm/scheduler.h"

#include <algorithm>

namespace sinter {

bool Scheduler::usesCache(const Sequence &sequence) const {
  return cache_ && sequence.request.usesPrefixCache;
}

// The last token is computed again, for its logits.
uint64_t Scheduler::adoptRows(Sequence &sequence) {
  if (!usesCache(sequence))
    return 0;
  const auto found = cache_->adopt(sequence.rows(), sequence.cachedRows, sequence.tokens.size() - 1,
                                   sequence.place, sequence.pages);
  sequence.cachedRows = found.rows;
  return found.treeRows;
}

// Those that others had computed, but not what preemption takes and gives back.
void Scheduler::countReused(Sequence &sequence, size_t heldRows) {
  const size_t own = std::max(heldRows, sequence.mostRows);
  if (sequence.cachedRows <= own)
    return;
  const size_t reused = sequence.cachedRows - own;
  counters_.prefixHits += sequence.reusedTokens == 0;
  counters_.reusedTokens += reused;
  sequence.reusedTokens += reused;
  sequence.mostRows = sequence.cachedRows;
}

// Others may have computed since what comes next.
void Scheduler::adoptRowsOfRunning() {
  for (const SequencePtr &sequence : running_) {
    if (sequence->generates())
      continue;
    const size_t held = sequence->cachedRows, reused = sequence->reusedTokens;
    adoptRows(*sequence);
    countReused(*sequence, held);
    sequence->share->served -= sequence->reusedTokens - reused;
  }
}

void Scheduler::keepRows(Sequence &sequence) {
  if (usesCache(sequence))
    cache_->insert(sequence.rows(), sequence.cachedRows, sequence.place, sequence.pages);
}

void Scheduler::releaseRows(Sequence &sequence) {
  sequence.pages.shrink(0);
  sequence.place = nullptr;
  sequence.cachedRows = 0;
}

// Whether one that is planned computes what comes next for both. Where there are states, sequences
// could only go on from the end of a step of the other.
bool Scheduler::waitsForRows(const Sequence &sequence) const {
  if (!usesCache(sequence) || runner_.limits().stateSlots > 0)
    return false;
  return std::ranges::any_of(plan_, [&](const Part &part) {
    const Sequence &other = *part.sequence;
    return other.request.usesPrefixCache &&
           cache_->sharesNextPage(other.rows(), other.place, sequence.rows(), sequence.place);
  });
}

// Where prefill stops to keep a state: at the end of what the tree has pages for, where a third
// prompt may branch off, and some tokens before the prompt's end, for a next turn.
size_t Scheduler::prefillStop(const Sequence &sequence) const {
  size_t stop = sequence.prefillRows;
  if (!usesCache(sequence) || runner_.limits().stateSlots == 0)
    return stop;
  const size_t prompt = sequence.promptTokens;
  for (const size_t rows :
       {sequence.branchRows, prompt - std::min(prompt, kTokensAfterCheckpoint)}) {
    const size_t whole = rows / cache_->unitRows() * cache_->unitRows();
    if (whole > sequence.cachedRows)
      stop = std::min(stop, whole);
  }
  return stop;
}

// After a step of prefill.
void Scheduler::keepPrefill(Sequence &sequence, size_t stop) {
  keepRows(sequence);
  const bool isStop = sequence.cachedRows == stop && cache_ &&
                      cache_->rowsOf(sequence.place) == sequence.cachedRows;
  if (isStop && runner_.limits().stateSlots > 0)
    cache_->keepState(sequence.place, sequence.pages);
}

} // namespace sinter
