// Decode steps that begin before the host has chosen the tokens of the step before. The device
// keeps the order of steps, so pages that an ended sequence gives back, and that a row under way
// still writes, may be taken at once: whoever takes them writes later.
#include "llm/scheduled_sequence.h"
#include "llm/scheduler.h"

#include <algorithm>

namespace sinter {

// `follows`: the row comes after one that is under way.
RowOrder Scheduler::orderOf(const Sequence &sequence, bool follows) const {
  RowOrder order;
  order.isKept = sequence.keepsRow || sequence.request.onLogits;
  if (!sequence.guesses.isGood())
    return order;
  const std::optional<Sampler> &sampler = sequence.request.sampler;
  order.guess = sampler ? sampler->guessRule(follows) : GuessRule{.topK = 1};
  return order;
}

// Whether the planned decode step is worth it: those whose next token the device guesses go on
// while the others sit out a step.
bool Scheduler::mayBeginAhead() const {
  if (!overlaps_ || !runner_.runsAhead() || plan_.empty())
    return false;
  const auto guessed = std::ranges::count_if(
      plan_, [&](const Part &part) { return orderOf(*part.sequence, false).guess.isAny(); });
  return 2 * static_cast<size_t>(guessed) > plan_.size();
}

// Null: it has ended, or the row is none of its rows any more.
Scheduler::Sequence *Scheduler::sequenceOf(const StepUnderWay::Row &row) const {
  Sequence *sequence = find(row.request);
  return sequence && !sequence->result && sequence->epoch == row.epoch ? sequence : nullptr;
}

void Scheduler::markRowsUnderWay() {
  for (const SequencePtr &sequence : running_)
    sequence->rowUnderWay = -1;
  for (size_t i = 0; underWay_ && i < underWay_->rows.size(); ++i)
    if (Sequence *sequence = sequenceOf(underWay_->rows[i]))
      sequence->rowUnderWay = static_cast<int32_t>(i);
}

// Whether a sequence with a row under way wants another one after it, unless that ends its answer.
bool Scheduler::goesOn(const Sequence &sequence) const {
  return sequence.generatedTokens() + 1 < sequence.request.maxTokens &&
         sequence.cachedRows + 1 < contextOf(sequence.request);
}

// A row of each sequence that decodes, after the step under way. False: that step must end first.
bool Scheduler::planAhead() {
  plan_.clear();
  sources_.clear();
  size_t followers = 0, sitOut = 0;
  for (const SequencePtr &running : running_) {
    Sequence &sequence = *running;
    const bool isUnderWay = sequence.rowUnderWay >= 0;
    if (isUnderWay ? !goesOn(sequence) : sequence.awaitsMask())
      continue;
    if (!isUnderWay && !sequence.isDue(Phase::Decode))
      return false;
    if (isUnderWay && !underWay_->rows[static_cast<size_t>(sequence.rowUnderWay)].hasGuess) {
      ++sitOut;
      continue;
    }
    if (!sequence.pages.reserve(sequence.cachedRows + isUnderWay + 1))
      return false;
    followers += isUnderWay;
    plan_.push_back({&sequence, 1});
    sources_.push_back(sequence.rowUnderWay);
  }
  return followers > sitOut;
}

// Nothing: the runner refused it, and its sequences have ended.
std::optional<Scheduler::StepUnderWay> Scheduler::beginPlanned() {
  static constexpr TokenId kUnknown = 0;
  StepUnderWay step;
  parts_.clear();
  orders_.clear();
  sources_.resize(plan_.size(), -1);
  for (size_t i = 0; i < plan_.size(); ++i) {
    const Sequence &sequence = *plan_[i].sequence;
    const bool follows = sources_[i] >= 0;
    const auto tokens = follows ? std::span(&kUnknown, 1)
                                : std::span(sequence.tokens).subspan(sequence.cachedRows, 1);
    parts_.push_back({tokens, static_cast<uint32_t>(sequence.cachedRows + follows), &sequence.pages,
                      LogitsWanted::Last, Phase::Decode});
    orders_.push_back(orderOf(sequence, follows));
    step.rows.push_back({sequence.id, sequence.epoch, orders_.back().guess.isAny()});
  }
  step.began = SchedulerClock::now();
  last_ = Phase::Decode;
  ++counters_.decodeSteps;
  const auto begun = buildBatch(parts_, runner_.limits().batchShape(), batch_).and_then([&] {
    return runner_.begin(batch_, {sources_, orders_});
  });
  if (begun)
    return step;
  if (begun.error().code == Code::DeviceLost)
    deviceLost_ = begun.error();
  for (const Part &part : plan_)
    end(*part.sequence, begun.error());
  collectEnded();
  if (cache_)
    cache_->clear();
  return std::nullopt;
}

void Scheduler::stepAhead() {
  beginWaiting();
  adoptRowsOfRunning();
  markRowsUnderWay();
  makeDrafts();
  std::optional<StepUnderWay> next;
  if (planAhead()) {
    next = beginPlanned();
    counters_.aheadSteps += next.has_value();
  }
  const StepUnderWay former = std::move(*underWay_);
  underWay_ = std::move(next);
  finish(former);
  for (const SequencePtr &sequence : running_)
    sequence->rowUnderWay = -1;
  if (underWay_ && std::ranges::none_of(underWay_->rows, [&](const StepUnderWay::Row &row) {
        return sequenceOf(row) != nullptr;
      }))
    dropUnderWay();
}

void Scheduler::finish(const StepUnderWay &step) {
  const SchedulerClock::time_point idleSince = now_;
  const auto rows = runner_.finish();
  now_ = SchedulerClock::now();
  if (rows) {
    const double time =
        std::chrono::duration<double>(now_ - std::max(step.began, idleSince)).count();
    budget_.addDecode(time);
    batchLimit_.addDecode(static_cast<uint32_t>(step.rows.size()), time);
  } else if (rows.error().code == Code::DeviceLost) {
    deviceLost_ = rows.error();
  }
  for (size_t i = 0; i < step.rows.size(); ++i) {
    Sequence *sequence = sequenceOf(step.rows[i]);
    if (!sequence)
      ++counters_.thrownRows;
    else if (rows)
      acceptGuessed(*sequence, step.rows[i], *rows, i);
    else
      end(*sequence, rows.error());
  }
  collectEnded();
  if (!rows && cache_)
    cache_->clear();
}

void Scheduler::acceptGuessed(Sequence &sequence, const StepUnderWay::Row &planned,
                              const StepRows &rows, size_t row) {
  const size_t before = sequence.tokens.size();
  const TokenId guess = rows.guess(row);
  accept({&sequence, 1}, rows, row);
  if (sequence.result)
    return;
  const bool isChosen = sequence.tokens.size() > before;
  const bool isRight = isChosen && sequence.tokens.back() == guess;
  if (planned.hasGuess && isChosen)
    sequence.guesses.note(isRight);
  sequence.epoch += !isRight;
}

// The row is computed again: what it said is gone, and its token could not be chosen without.
void Scheduler::takeBack(Sequence &sequence) {
  sequence.keepsRow = true;
  --sequence.cachedRows;
}

void Scheduler::dropUnderWay() {
  if (!underWay_)
    return;
  counters_.thrownRows += underWay_->rows.size();
  underWay_.reset();
  (void)runner_.finish().has_value(); // nobody waits for its rows
}

} // namespace sinter
