// Which requests run, and what each step is made of.
#include "llm/scheduler.h"

#include "base/check.h"
#include "llm/choose_token.h"
#include "llm/scheduled_sequence.h"
#include "llm/waiting_line.h"

#include <algorithm>
#include <limits>

namespace sinter {
namespace {

// Fewer make prefill slow: the weights are read for each step.
constexpr uint32_t kLeastPrefill = 32;

double seconds(SchedulerClock::duration time) {
  return std::chrono::duration<double>(time).count();
}

// Rows of a draft have a decode step's bits, and rows that were not chosen can be written over.
bool takesDrafts(const RunnerLimits &limits) {
  return limits.phasesAgree && limits.stateSlots == 0 && limits.chunkRows == 1 &&
         std::ranges::all_of(limits.kvGroups, [](const KvGroupPages &group) {
           return group.lookBack == UINT64_MAX;
         });
}

} // namespace

Scheduler::Scheduler(StepRunner &runner, PagePool &pages, const Tokenizer &tokenizer,
                     const SchedulerOptions &options)
    : runner_(runner), pool_(pages), tokenizer_(tokenizer), options_(options),
      takesDrafts_(takesDrafts(runner.limits())),
      overlaps_(options.overlap && runner.limits().canTakeBack()),
      queues_(std::make_unique<FairShares>()), waiting_(std::make_unique<WaitingLine>()),
      budget_(0, 0, 0), batchLimit_(1, 1) {
  const RunnerLimits &limits = runner.limits();
  options_.sequences = std::clamp(std::min(limits.stepSequences, limits.stepTokens), 1u,
                                  std::max(options.sequences, 1u));
  batchLimit_ = {std::clamp(options.leastSequences, 1u, options_.sequences), options_.sequences};
  options_.waiting = std::max(options.waiting, 1u);
  options_.promptTokens = std::clamp(options.promptTokens, limits.chunkRows, limits.stepTokens);
  budget_ = {std::min(std::max(limits.chunkRows, kLeastPrefill), options_.promptTokens),
             options_.promptTokens, options_.prefillRatio};
  if (options.prefixCache && PrefixCache::check(limits))
    cache_ = std::make_unique<PrefixCache>(pages, limits);
}

Scheduler::~Scheduler() {
  dropUnderWay();
}

uint32_t Scheduler::mostRunning() const {
  return batchLimit_.sequences();
}

size_t Scheduler::waitingCount() const {
  return waiting_->size();
}

uint32_t Scheduler::contextOf(const Request &request) const {
  const uint32_t most = runner_.limits().contextTokens;
  return request.contextTokens ? std::min(request.contextTokens, most) : most;
}

// Rows are tokens but for the last one, whose keys and values nobody reads.
Result<void> Scheduler::checkFits(const Request &request) const {
  const uint64_t room = contextOf(request) - request.prompt.size();
  const uint64_t answer = std::min(std::max<uint64_t>(request.maxTokens, 1) - 1, room);
  const uint64_t rows = request.prompt.size() + answer;
  if (pool_.pagesFor(rows) <= pool_.pageCount())
    return {};
  return fail(Code::Exhausted, "a prompt of " + std::to_string(request.prompt.size()) +
                                   " tokens with its answer may take " + std::to_string(rows) +
                                   " tokens of KV cache in " +
                                   std::to_string(pool_.pagesFor(rows)) + " pages, the pool has " +
                                   std::to_string(pool_.pageCount()) + " pages of " +
                                   std::to_string(pool_.pageRows()));
}

Result<void> Scheduler::check(const Request &request) const {
  const uint32_t vocabulary = runner_.limits().vocabSize;
  SINTER_TRY(checkPrompt(request.prompt, contextOf(request)));
  for (size_t i = 0; i < request.prompt.size(); ++i)
    if (const TokenId id = request.prompt[i]; id < 0 || static_cast<uint32_t>(id) >= vocabulary)
      return fail(Code::InvalidArgument, "token " + std::to_string(i) + " of the prompt is " +
                                             std::to_string(id) + ", expected one below " +
                                             std::to_string(vocabulary));
  return checkFits(request);
}

Result<RequestId> Scheduler::submit(Request request) {
  SINTER_TRY(check(request));
  if (waitingCount() >= options_.waiting)
    return fail(Code::Exhausted, std::to_string(waitingCount()) +
                                     " requests wait already, expected fewer than " +
                                     std::to_string(options_.waiting));
  const RequestId id{nextNumber_++};
  cancelFlags_ += request.cancel != nullptr;
  if (request.deadline)
    nextDeadline_ = std::min(nextDeadline_, *request.deadline);
  FairShare *share = queues_->join(request.queue);
  auto sequence = std::make_unique<Sequence>(id, std::move(request), pool_, share);
  if (sequence->request.sampler)
    sequence->request.sampler->begin(sequence->tokens);
  live_.emplace(id.number, sequence.get());
  waiting_->add(std::move(sequence));
  return id;
}

Scheduler::Sequence *Scheduler::find(RequestId id) const {
  const auto found = live_.find(id.number);
  return found == live_.end() ? nullptr : found->second;
}

bool Scheduler::cancel(RequestId id) {
  Sequence *sequence = find(id);
  if (!sequence || sequence->result)
    return false;
  sequence->cancelled = true;
  anyCancelled_ = true;
  return true;
}

bool Scheduler::step() {
  SINTER_CHECK(!stepping_);
  stepping_ = true;
  endCancelled();
  endExpired();
  chooseHeld();
  if (underWay_)
    stepAhead();
  else
    stepNow();
  deliver();
  stepping_ = false;
  return !idle();
}

void Scheduler::stepNow() {
  beginWaiting();
  adoptRowsOfRunning();
  makeDrafts();
  if (const std::optional<Phase> phase = choosePhase()) {
    plan_.clear();
    if (*phase == Phase::Prefill) {
      planPrefill();
      planDrafts();
    } else {
      planDecode();
    }
    sources_.clear();
    if (*phase == Phase::Decode && mayBeginAhead())
      underWay_ = beginPlanned();
    else if (!plan_.empty())
      run(*phase);
  } else {
    waitForMask();
  }
}

void Scheduler::endAll(const Status &error) {
  SINTER_CHECK(!stepping_);
  for (const SequencePtr &sequence : running_)
    end(*sequence, error);
  waiting_->forEach([&](Sequence &sequence) { end(sequence, error); });
  collectEnded();
  dropUnderWay();
  deliver();
}

void Scheduler::endCancelled() {
  if (!anyCancelled_ && cancelFlags_ == 0)
    return;
  anyCancelled_ = false;
  const auto endIfCancelled = [&](Sequence &sequence) {
    if (sequence.isCancelled())
      end(sequence, StopReason::Cancelled);
  };
  for (const SequencePtr &sequence : running_)
    endIfCancelled(*sequence);
  waiting_->forEach(endIfCancelled);
  collectEnded();
}

void Scheduler::endExpired() {
  if (nextDeadline_ == SchedulerClock::time_point::max())
    return;
  const auto now = SchedulerClock::now();
  if (now < nextDeadline_)
    return;
  nextDeadline_ = SchedulerClock::time_point::max();
  const std::string beside = std::to_string(running_.size()) + " requests run and " +
                             std::to_string(waitingCount()) + " wait";
  waiting_->forEach([&](Sequence &sequence) {
    if (sequence.hasBegun() || !sequence.request.deadline)
      return;
    if (now < *sequence.request.deadline) {
      nextDeadline_ = std::min(nextDeadline_, *sequence.request.deadline);
      return;
    }
    const auto waited =
        std::chrono::duration_cast<std::chrono::milliseconds>(now - sequence.submitted);
    end(sequence, Status{Code::Timeout, "the request's turn did not come before its deadline: it "
                                        "waited " +
                                            std::to_string(waited.count()) + " ms; " + beside});
  });
  collectEnded();
}

// Each with pages for what it holds. A page for each that runs stays free, so that those grow for a
// while before one of them is preempted.
void Scheduler::beginWaiting() {
  while (!waiting_->empty() && running_.size() < mostRunning()) {
    Sequence &next = waiting_->next();
    next.branchRows = adoptRows(next);
    const bool fits =
        pool_.hasRoomForState() &&
        pool_.hasRoomFor(next.tokens.size(), running_.size(), next.pages.pages().size());
    if (!fits && !running_.empty())
      return releaseRows(next);
    if (auto reserved = next.pages.reserve(next.tokens.size()); !reserved) {
      end(next, std::move(reserved).error());
      collectEnded();
      continue;
    }
    begin(waiting_->takeNext());
  }
}

// What is left of the prompt is charged for before it is computed: else one queue would take all
// free places.
void Scheduler::begin(SequencePtr sequence) {
  countReused(*sequence, 0);
  if (!sequence->hasBegun()) {
    sequence->rank = nextRank_++;
    sequence->began = SchedulerClock::now();
    sequence->share->served += sequence->promptTokens - sequence->cachedRows;
    if (const BeginSink &sink = sequence->request.onBegin)
      sink();
  }
  const auto order = [](const SequencePtr &running) {
    return std::pair(-int64_t{running->request.priority}, running->rank);
  };
  const auto place = std::ranges::upper_bound(running_, order(sequence), {}, order);
  running_.insert(place, std::move(sequence));
}

// Nothing: no sequence is due.
std::optional<Phase> Scheduler::choosePhase() const {
  const auto isAnyDue = [&](Phase phase) {
    return std::ranges::any_of(running_,
                               [&](const SequencePtr &sequence) { return sequence->isDue(phase); });
  };
  const bool decodes = isAnyDue(Phase::Decode);
  if (!isAnyDue(Phase::Prefill))
    return decodes ? std::optional(Phase::Decode) : std::nullopt;
  return !decodes || options_.prefillFirst || last_ == Phase::Decode ? Phase::Prefill
                                                                     : Phase::Decode;
}

void Scheduler::planPrefill() {
  left_.clear();
  bool alone = true;
  for (const SequencePtr &sequence : running_) {
    alone &= options_.prefillFirst || !sequence->generates();
    if (sequence->generates() || waitsForRows(*sequence))
      continue;
    plan_.push_back({sequence.get(), 0});
    left_.push_back(static_cast<uint32_t>(prefillStop(*sequence) - sequence->cachedRows));
  }
  const RunnerLimits &limits = runner_.limits();
  const auto shares =
      shares_.share(left_, alone ? limits.stepTokens : budget_.tokens(), limits.chunkRows);
  for (size_t i = 0; i < plan_.size(); ++i)
    plan_[i].rows = shares[i];
  std::erase_if(plan_, [](const Part &part) { return part.rows == 0; });
}

// In their order, so that the one that is preempted has not been planned yet.
void Scheduler::planDecode() {
  for (size_t i = 0; i < running_.size(); ++i) {
    Sequence &sequence = *running_[i];
    if (sequence.isDue(Phase::Decode) && makeRoom(sequence))
      plan_.push_back({&sequence, 1});
  }
  collectEnded();
}

// Pages for one more row. False: the sequence was stopped, or it has ended.
bool Scheduler::makeRoom(Sequence &sequence) {
  while (true) {
    auto reserved = sequence.pages.reserve(sequence.cachedRows + 1);
    if (reserved)
      return true;
    if (running_.size() == 1) {
      end(sequence, std::move(reserved).error());
      return false;
    }
    const bool itself = running_.back().get() == &sequence;
    preemptLast();
    if (itself)
      return false;
  }
}

// Where phases differ, what was generated must be computed again as it was the first time: token by
// token.
void Scheduler::preemptLast() {
  SequencePtr last = std::move(running_.back());
  running_.pop_back();
  keepRows(*last);
  releaseRows(*last);
  if (runner_.limits().phasesAgree)
    last->prefillRows = std::max(last->promptTokens, last->tokens.size() - 1);
  last->heldLogits.clear();
  waiting_->add(std::move(last));
  ++counters_.preemptions;
}

void Scheduler::run(Phase phase) {
  parts_.clear();
  for (const Part &part : plan_)
    addToBatch(part, phase);
  const auto began = SchedulerClock::now();
  const auto rows = buildBatch(parts_, runner_.limits().batchShape(), batch_).and_then([&] {
    return runner_.stepToChoose(batch_);
  });
  last_ = phase;
  ++(phase == Phase::Prefill ? counters_.prefillSteps : counters_.decodeSteps);
  now_ = SchedulerClock::now();
  if (rows)
    measure(phase, now_ - began);
  if (!rows && rows.error().code == Code::DeviceLost)
    deviceLost_ = rows.error();
  size_t row = 0;
  for (const Part &part : plan_) {
    if (rows)
      accept(part, *rows, row);
    else
      end(*part.sequence, rows.error());
  }
  collectEnded();
  if (!rows && cache_)
    cache_->clear();
}

void Scheduler::measure(Phase phase, SchedulerClock::duration time) {
  if (phase == Phase::Prefill)
    return budget_.addPrefill(static_cast<uint32_t>(batch_.tokens.size()), seconds(time));
  budget_.addDecode(seconds(time));
  batchLimit_.addDecode(static_cast<uint32_t>(plan_.size()), seconds(time));
}

void Scheduler::addToBatch(const Part &part, Phase phase) {
  Sequence &sequence = *part.sequence;
  if (sequence.draftRows > 0) {
    const auto draft = sequence.constraint()->drafted().first(sequence.draftRows);
    sequence.tokens.insert(sequence.tokens.end(), draft.begin(), draft.end());
  }
  const auto tokens = std::span(sequence.tokens).subspan(sequence.cachedRows, part.rows);
  const bool last = sequence.cachedRows + part.rows == sequence.tokens.size();
  const LogitsWanted wanted = sequence.draftRows > 0 ? LogitsWanted::All
                              : last                 ? LogitsWanted::Last
                                                     : LogitsWanted::None;
  parts_.push_back(
      {tokens, static_cast<uint32_t>(sequence.cachedRows), &sequence.pages, wanted, phase});
}

// `row` is the first one of this part, then of the part after it.
void Scheduler::accept(const Part &part, const StepRows &rows, size_t &row) {
  Sequence &sequence = *part.sequence;
  if (sequence.draftRows > 0)
    return acceptDraft(part, rows, row);
  const size_t end = sequence.cachedRows + part.rows, stop = prefillStop(sequence);
  const bool prefills = !sequence.generates();
  counters_.rows += part.rows;
  counters_.recomputedRows +=
      std::min(end, sequence.mostRows) - std::min(sequence.cachedRows, sequence.mostRows);
  sequence.cachedRows = end;
  sequence.mostRows = std::max(sequence.mostRows, end);
  sequence.pages.stateWritten();
  if (prefills)
    keepPrefill(sequence, stop);
  if (end < sequence.tokens.size())
    return;
  choose(sequence, rows, row++);
}

// Until its mask is made.
Result<void> Scheduler::hold(Sequence &sequence, const StepRows &rows, size_t row) {
  SINTER_ASSIGN(const std::span<const float> logits, rows.row(row));
  sequence.heldLogits.assign(logits.begin(), logits.end());
  ++counters_.heldRows;
  return {};
}

Result<void> Scheduler::tellLogits(Sequence &sequence, TokenId token, const StepRows &rows,
                                   size_t row) {
  const LogitsSink &sink = sequence.request.onLogits;
  if (!sink)
    return {};
  SINTER_ASSIGN(const std::span<const float> logits, rows.row(row));
  sink(token, logits);
  return {};
}

void Scheduler::choose(Sequence &sequence, const StepRows &rows, size_t row) {
  if (sequence.request.maxTokens == 0)
    return end(sequence, StopReason::TokenLimit);
  if (TokenConstraint *constraint = sequence.constraint(); constraint && !constraint->isReady()) {
    if (!rows.hasRow(row))
      return takeBack(sequence);
    if (auto held = hold(sequence, rows, row); !held)
      end(sequence, std::move(held).error());
    return;
  }
  Sampler *sampler = sequence.request.sampler ? &*sequence.request.sampler : nullptr;
  auto chosen = chooseIfThere(rows, row, sampler, tokenizer_.suppressed(), scratch_);
  if (!chosen)
    return end(sequence, std::move(chosen).error());
  if (!*chosen)
    return takeBack(sequence);
  const TokenId token = **chosen;
  if (sampler)
    sampler->accept(token);
  if (sequence.generatedTokens() == 0) {
    sequence.firstToken = now_;
    if (const ReuseSink &sink = sequence.request.onReuse)
      sink(sequence.reusedTokens);
  } else {
    ++sequence.decodeSteps;
  }
  if (!sequence.request.ignoreEndTokens && endsAnswer(tokenizer_, token))
    return end(sequence, StopReason::EndToken);
  ++sequence.share->served;
  if (auto told = tellLogits(sequence, token, rows, row); !told)
    return end(sequence, std::move(told).error());
  take(sequence, token);
}

void Scheduler::take(Sequence &sequence, TokenId token) {
  sequence.tokens.push_back(token);
  if (const TokenSink &sink = sequence.request.onToken)
    if (auto taken = sink(token); !taken)
      return end(sequence, std::move(taken).error());
  if (sequence.generatedTokens() >= sequence.request.maxTokens)
    end(sequence, StopReason::TokenLimit);
  else if (sequence.cachedRows >= contextOf(sequence.request))
    end(sequence, StopReason::ContextFull);
}

void Scheduler::end(Sequence &sequence, StopReason reason) {
  Generation generation;
  generation.reason = reason;
  const auto answer = std::span(sequence.tokens).subspan(sequence.promptTokens);
  generation.tokens.assign(answer.begin(), answer.end());
  generation.promptTokens = sequence.promptTokens;
  generation.reusedTokens = sequence.reusedTokens;
  generation.decodeSteps = sequence.decodeSteps;
  const bool answered = sequence.firstToken != SchedulerClock::time_point();
  const auto now = SchedulerClock::now();
  generation.queueSeconds =
      seconds((sequence.hasBegun() ? sequence.began : now) - sequence.submitted);
  generation.prefillSeconds = seconds((answered ? sequence.firstToken : now) - sequence.submitted);
  generation.decodeSeconds = answered ? seconds(now - sequence.firstToken) : 0;
  sequence.result = std::move(generation);
  anyEnded_ = true;
}

void Scheduler::end(Sequence &sequence, Status error) {
  sequence.result = Fail(std::move(error));
  anyEnded_ = true;
}

// Takes those that have ended out of the lists and gives their pages back; no caller holds a place
// in the lists.
void Scheduler::collectEnded() {
  if (!anyEnded_)
    return;
  anyEnded_ = false;
  const size_t before = ended_.size();
  for (SequencePtr &sequence : running_)
    if (sequence->result)
      ended_.push_back(std::move(sequence));
  std::erase(running_, nullptr);
  waiting_->takeEnded(ended_);
  for (const SequencePtr &sequence : std::span(ended_).subspan(before)) {
    keepRows(*sequence);
    releaseRows(*sequence);
    cancelFlags_ -= sequence->request.cancel != nullptr;
    queues_->leave(sequence->share);
    live_.erase(sequence->id.number);
  }
}

void Scheduler::deliver() {
  for (const SequencePtr &sequence : ended_)
    if (const EndSink &sink = sequence->request.onEnd)
      sink(std::move(*sequence->result));
  ended_.clear();
}

} // namespace sinter
