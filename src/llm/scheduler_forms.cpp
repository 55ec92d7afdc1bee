// Sequences that are held to a form: rows that wait for their masks, and drafts.
#include "llm/scheduled_sequence.h"
#include "llm/scheduler.h"

#include <algorithm>

namespace sinter {

// Rows of logits whose masks were made since.
void Scheduler::chooseHeld() {
  for (const SequencePtr &sequence : running_) {
    if (!sequence->awaitsMask() || !sequence->constraint()->isReady())
      continue;
    const std::vector<float> logits = std::exchange(sequence->heldLogits, {});
    now_ = SchedulerClock::now();
    choose(*sequence, StepRows(logits, logits.size()), 0);
  }
  collectEnded();
}

// Not for long: what else may come, such as a new request, must not wait for it.
void Scheduler::waitForMask() {
  constexpr std::chrono::milliseconds kMost(1);
  for (const SequencePtr &sequence : running_)
    if (sequence->awaitsMask())
      return sequence->constraint()->waitUntilReady(kMost);
}

uint32_t Scheduler::draftOf(Sequence &sequence) const {
  constexpr size_t kLeast = 2; // a step of its own must pay
  constexpr size_t kTries = 16;
  TokenConstraint *constraint = sequence.constraint();
  const size_t next = sequence.cachedRows + 1;
  if (std::exchange(sequence.lostDraftTurn, false))
    return 0;
  if (!constraint || !sequence.generates() || sequence.awaitsMask() ||
      next != sequence.tokens.size())
    return 0;
  if (sequence.draftedTokens > kTries + 2 * sequence.acceptedDrafts) // the model writes otherwise
    return 0;
  const size_t tokens = sequence.request.maxTokens - sequence.generatedTokens() - 1;
  const size_t context = contextOf(sequence.request) - next;
  const size_t rows = std::min({constraint->drafted().size(), tokens, context});
  return rows < kLeast ? 0 : static_cast<uint32_t>(rows);
}

// A draft that is there before its step saves a step more than one that comes during it. Masks take
// microseconds, so a little patience pays; who was late several times gets none.
void Scheduler::waitForDrafts() {
  constexpr std::chrono::microseconds kPatience(100);
  constexpr uint32_t kMostLate = 4;
  const auto start = SchedulerClock::now();
  for (const SequencePtr &sequence : running_) {
    TokenConstraint *constraint = sequence->constraint();
    if (!constraint || sequence->rowUnderWay >= 0 || constraint->isReady() ||
        sequence->lateMasks == kMostLate)
      continue;
    const auto left = kPatience - (SchedulerClock::now() - start);
    if (left.count() <= 0)
      return;
    constraint->waitUntilReady(std::chrono::duration_cast<std::chrono::microseconds>(left));
    sequence->lateMasks += !constraint->isReady();
  }
}

// Only with pages that are free: nothing is preempted for a draft.
void Scheduler::makeDrafts() {
  if (!takesDrafts_)
    return;
  waitForDrafts();
  for (const SequencePtr &sequence : running_) {
    sequence->draftRows = sequence->rowUnderWay < 0 ? draftOf(*sequence) : 0;
    if (sequence->draftRows > 0 &&
        !sequence->pages.reserve(sequence->cachedRows + 1 + sequence->draftRows))
      sequence->draftRows = 0;
  }
}

// After what is left of prompts; where they leave no room a sequence decodes next time.
void Scheduler::planDrafts() {
  uint32_t planned = 0;
  for (const Part &part : plan_)
    planned += part.rows;
  const uint32_t budget = plan_.empty() ? runner_.limits().stepTokens : budget_.tokens();
  for (const SequencePtr &sequence : running_) {
    if (sequence->draftRows == 0)
      continue;
    const uint32_t room = budget - std::min(budget, planned);
    sequence->lostDraftTurn = room < 2;
    if (sequence->lostDraftTurn)
      continue;
    const uint32_t rows = std::min(1 + sequence->draftRows, room);
    sequence->draftRows = rows - 1;
    plan_.push_back({sequence.get(), rows});
    planned += rows;
  }
}

// Each row's token is chosen as if it were alone; the first one that the draft has not ends it.
void Scheduler::acceptDraft(const Part &part, const StepRows &rows, size_t &row) {
  Sequence &sequence = *part.sequence;
  const size_t first = std::exchange(row, row + part.rows);
  const std::vector<TokenId> draft(sequence.tokens.end() - sequence.draftRows,
                                   sequence.tokens.end());
  sequence.tokens.resize(sequence.tokens.size() - draft.size());
  sequence.draftRows = 0;
  sequence.draftedTokens += draft.size();
  counters_.rows += part.rows;
  counters_.draftedTokens += draft.size();
  const uint64_t steps = sequence.decodeSteps;
  for (size_t i = 0; !sequence.result; ++i) {
    const size_t before = sequence.tokens.size();
    sequence.decodeSteps = steps; // one step, however many tokens it gives
    sequence.mostRows = std::max(sequence.mostRows, ++sequence.cachedRows);
    choose(sequence, rows, first + i);
    const bool isChosen =
        i < draft.size() && sequence.tokens.size() > before && sequence.tokens.back() == draft[i];
    if (!isChosen)
      break;
    ++sequence.acceptedDrafts;
    ++counters_.acceptedDrafts;
  }
}

} // namespace sinter
