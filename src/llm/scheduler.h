// Continuous batching: generates for many requests at once. Each step takes the tokens that are
// due, shares the KV cache's pages among the sequences, and hands every token out as soon as it is
// chosen.
//
// A step has tokens of one phase, and the phases take turns (chunked prefill): while some sequences
// decode, a prefill step takes at most SchedulerOptions::promptTokens tokens, fewer where they
// would take SchedulerOptions::prefillRatio times as long as a decode step, and a decode step with
// one token of each such sequence follows it. So the time between two tokens of a sequence is
// bounded by one prefill step and one decode step, however long the prompts are.
//
// A constraint may make its masks on another thread. A sequence whose mask is not there when its
// row of logits is keeps that row and is left out of steps until the mask is made; the others go
// on. What a constraint drafts is computed with the last token in one prefill step and then chosen
// token by token as ever; what was drafted otherwise than chosen is thrown away. So a draft saves
// steps and changes no token. There are none where phases differ in bits, or where a sequence has
// a state or layers that forget rows.
//
// With SchedulerOptions::overlap a decode step begins while the host still has the tokens of the
// step before to learn (scheduler_ahead.cpp). The device guesses these; the host chooses them as
// ever. A row that followed a wrong guess, or a sequence that ended, is thrown away. A sequence
// whose token the device cannot guess sits out one step; the others go on. Nothing is preempted
// while a step is under way.
//
// Requests wait in queues by name. The next one that begins has the highest priority, and of these
// the queue that was served the fewest tokens. It begins as soon as the block pool has pages for
// what it holds, and a slot for its state where the model has states; none passes it meanwhile, so
// a long prompt is not starved by short ones. A priority starves lower ones while it has requests.
//
// When pages run out, the scheduler preempts the sequence of the lowest priority, the last one that
// began of these: it gives pages and state back and waits, before all requests of its priority that
// have not begun, until it is recomputed from its tokens. The first one of the highest priority is
// never preempted and fits the pool, so all requests end. A request's tokens depend on the request
// alone: not on what runs beside it, nor on preemption, nor on the prefix cache.
//
// With a prefix cache (llm/prefix_cache.h) a request computes only the rows of its prompt that none
// before it computed. Its last token is always computed, for its logits. Of requests that run and
// have the same rows to compute next, the first one computes them and the others wait for these.
// Pages that only the cache holds go before a sequence is preempted.
#pragma once

#include "llm/batch_limit.h"
#include "llm/generation.h"
#include "llm/kv_pages.h"
#include "llm/prefill_budget.h"
#include "llm/prefill_shares.h"
#include "llm/sampler/sampler.h"
#include "llm/token_guess.h"

#include <atomic>
#include <chrono>
#include <compare>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace sinter {

// A request that was submitted; later ones have greater numbers.
struct RequestId {
  uint64_t number = UINT64_MAX;
  friend constexpr auto operator<=>(const RequestId &, const RequestId &) = default;
};

using SchedulerClock = std::chrono::steady_clock;

// Called once, when a request begins to run.
using BeginSink = std::function<void()>;
// Called once, before the first token, with the tokens of the prompt that others had computed.
using ReuseSink = std::function<void(uint64_t tokens)>;
// Called with each token before the token's other sink, and with the row of logits that it was
// chosen from; end tokens apart. The row is valid during the call.
using LogitsSink = std::function<void(TokenId, std::span<const float> logits)>;
// Called once, with what was generated or with the error that ended the request.
using EndSink = std::function<void(Result<Generation>)>;

struct Request {
  std::vector<TokenId> prompt;
  uint64_t maxTokens = UINT64_MAX;
  // Chooses the tokens, and begins with the prompt; none: greedy choice.
  std::optional<Sampler> sampler = std::nullopt;
  // Read before each step; must live until the request ends. Null: only cancel() cancels.
  const std::atomic<bool> *cancel = nullptr;
  // Goes on after end tokens, for benchmarks.
  bool ignoreEndTokens = false;
  uint32_t contextTokens = 0; // of prompt and answer; 0: what the runner has
  std::string queue = {};     // whose turn it takes
  bool usesPrefixCache = true;
  std::string cacheScope = {}; // requests of other scopes share no pages with it
  int32_t priority = 0;        // higher first
  // A request that has not begun by then ends with Timeout; none: it waits.
  std::optional<SchedulerClock::time_point> deadline = std::nullopt;
  BeginSink onBegin = nullptr; // null: not called, as are the others
  ReuseSink onReuse = nullptr;
  LogitsSink onLogits = nullptr;
  TokenSink onToken = nullptr;
  EndSink onEnd = nullptr;
};

struct SchedulerOptions {
  uint32_t sequences = UINT32_MAX; // most that run at once, within what the runner takes
  // That run if there are as many; beyond them more run while they make decode faster
  // (llm/batch_limit.h). UINT32_MAX: `sequences` run.
  uint32_t leastSequences = UINT32_MAX;
  uint32_t waiting = 1024; // most requests that wait; at least 1
  // Prefill tokens between two decode steps; at least a chunk of the runner. More tokens make
  // prefill faster and decode wait longer (SmolLM2 Q4_1, two Xeon cores: 32 tokens take 19 ms,
  // 1,650 a second; 64 take 33 ms, 1,950; 128 take 62 ms, 2,060, and no number gives more).
  uint32_t promptTokens = 128;
  // Time of such a prefill step in decode steps' time: promptTokens becomes the most that is taken,
  // 32 tokens the least. 0: promptTokens whatever they take.
  double prefillRatio = 0;
  // Decodes only while there is nothing to prefill, for whoever waits for all answers.
  bool prefillFirst = false;
  // Begins decode steps before the tokens of the step before are chosen, where the runner runs
  // ahead.
  bool overlap = true;
  bool prefixCache = false; // ignored where PrefixCache::check() says that there is none
};

// Totals since the scheduler was made.
struct SchedulerCounters {
  uint64_t prefillSteps = 0, decodeSteps = 0;
  uint64_t heldRows = 0; // that had to wait for a mask
  // Tokens of drafts that were computed, and those of them that were chosen.
  uint64_t draftedTokens = 0, acceptedDrafts = 0;
  // Decode steps that began before the tokens of the step before were chosen, and rows of them that
  // were thrown away.
  uint64_t aheadSteps = 0, thrownRows = 0;
  uint64_t rows = 0;           // of all steps, but for those
  uint64_t recomputedRows = 0; // of preempted sequences
  uint64_t preemptions = 0;    // sequences whose pages others needed
  uint64_t reusedTokens = 0;   // of prompts, that were in the prefix cache
  uint64_t prefixHits = 0;     // requests that reused some
};

struct ScheduledSequence;
class FairShares;
class PrefixCache;
class WaitingLine;

// Borrows runner, pool and tokenizer. For one thread. The callbacks of requests may call submit()
// and cancel(). Requests that are left when it dies end without a call.
class Scheduler {
public:
  Scheduler(StepRunner &runner, PagePool &pages, const Tokenizer &tokenizer,
            const SchedulerOptions &options = {});
  ~Scheduler();
  Scheduler(const Scheduler &) = delete;
  Scheduler &operator=(const Scheduler &) = delete;

  // Whether it can ever run. InvalidArgument, with the numbers: the prompt is empty, longer than
  // the context or has tokens outside the vocabulary. Exhausted, with the numbers: prompt and
  // answer together may need more pages than the whole pool has. From any thread.
  Result<void> check(const Request &request) const;
  // The errors of check(), and Exhausted, with the numbers: too many requests wait. No callback is
  // called then.
  Result<RequestId> submit(Request request);

  // Ends the request at the next step with reason Cancelled. False: it has ended, or never was.
  bool cancel(RequestId id);

  // Ends what was cancelled or expired, begins what there are pages for, and runs one step. An
  // error of the runner ends the requests of that step with it; one of a sampler or a sink ends its
  // request. The others go on. Exhausted, for one request: others than this scheduler hold pages of
  // the pool that it needs. Returns whether any requests are left; each call brings their end
  // nearer.
  bool step();

  // Ends all that is left with this error, now. Not within a callback.
  void endAll(const Status &error);

  bool idle() const { return running_.empty() && waitingCount() == 0; }
  size_t runningCount() const { return running_.size(); }
  // That may run at once now, as far as pages allow.
  uint32_t mostRunning() const;
  size_t waitingCount() const; // preempted ones too
  // What the runner said when it lost its device; no step works after that.
  const std::optional<Status> &deviceLost() const { return deviceLost_; }
  const SchedulerCounters &counters() const { return counters_; }
  const PrefixCache *prefixCache() const { return cache_.get(); } // null: there is none

private:
  using Sequence = ScheduledSequence;
  using SequencePtr = std::unique_ptr<Sequence>;
  struct Part {
    Sequence *sequence;
    uint32_t rows;
  };

  // A decode step that the runner has begun, with a row of each sequence.
  struct StepUnderWay {
    struct Row {
      RequestId request;
      uint64_t epoch;
      bool hasGuess;
    };
    std::vector<Row> rows;
    SchedulerClock::time_point began;
  };

  uint32_t contextOf(const Request &request) const;
  Result<void> checkFits(const Request &request) const;
  Sequence *find(RequestId id) const;
  void endCancelled();
  void endExpired();
  void beginWaiting();
  void begin(SequencePtr sequence);
  bool usesCache(const Sequence &sequence) const;
  uint64_t adoptRows(Sequence &sequence);
  void adoptRowsOfRunning();
  void countReused(Sequence &sequence, size_t heldRows);
  void keepRows(Sequence &sequence);
  void keepPrefill(Sequence &sequence, size_t stop);
  void releaseRows(Sequence &sequence);
  bool waitsForRows(const Sequence &sequence) const;
  size_t prefillStop(const Sequence &sequence) const;
  std::optional<Phase> choosePhase() const;
  void planPrefill();
  void planDecode();
  bool makeRoom(Sequence &sequence);
  void preemptLast();
  void stepNow();
  void run(Phase phase);
  // scheduler_ahead.cpp
  bool mayBeginAhead() const;
  RowOrder orderOf(const Sequence &sequence, bool follows) const;
  bool goesOn(const Sequence &sequence) const;
  Sequence *sequenceOf(const StepUnderWay::Row &row) const;
  void markRowsUnderWay();
  bool planAhead();
  std::optional<StepUnderWay> beginPlanned();
  void stepAhead();
  void finish(const StepUnderWay &step);
  void acceptGuessed(Sequence &sequence, const StepUnderWay::Row &planned, const StepRows &rows,
                     size_t row);
  void takeBack(Sequence &sequence);
  void dropUnderWay();
  void measure(Phase phase, SchedulerClock::duration time);
  void addToBatch(const Part &part, Phase phase);
  void accept(const Part &part, const StepRows &rows, size_t &row);
  void choose(Sequence &sequence, const StepRows &rows, size_t row);
  Result<void> hold(Sequence &sequence, const StepRows &rows, size_t row);
  Result<void> tellLogits(Sequence &sequence, TokenId token, const StepRows &rows, size_t row);
  void chooseHeld();
  void waitForMask();
  void waitForDrafts();
  void makeDrafts();
  uint32_t draftOf(Sequence &sequence) const;
  void planDrafts();
  void acceptDraft(const Part &part, const StepRows &rows, size_t &row);
  void take(Sequence &sequence, TokenId token);
  void end(Sequence &sequence, StopReason reason);
  void end(Sequence &sequence, Status error);
  void collectEnded();
  void deliver();

  StepRunner &runner_;
  PagePool &pool_;
  const Tokenizer &tokenizer_;
  SchedulerOptions options_;
  bool takesDrafts_, overlaps_;
  uint64_t nextNumber_ = 0;
  uint64_t nextRank_ = 0;
  std::unordered_map<uint64_t, Sequence *> live_; // by number
  std::unique_ptr<FairShares> queues_;
  std::vector<SequencePtr> running_; // the highest priority first, then the least rank
  std::unique_ptr<WaitingLine> waiting_;
  std::unique_ptr<PrefixCache> cache_; // null: none
  std::vector<SequencePtr> ended_;     // whose end was not said yet
  bool anyEnded_ = false;              // in the other lists
  bool anyCancelled_ = false;
  uint64_t cancelFlags_ = 0; // of requests that have one
  SchedulerClock::time_point nextDeadline_ = SchedulerClock::time_point::max();
  std::optional<Status> deviceLost_;
  Phase last_ = Phase::Decode;
  bool stepping_ = false;
  SchedulerCounters counters_;
  // Of the step at hand; kept for their memory.
  std::vector<Part> plan_;
  std::vector<uint32_t> left_;
  PrefillBudget budget_;
  BatchLimit batchLimit_;
  PrefillShares shares_;
  std::vector<BatchPart> parts_;
  std::vector<int32_t> sources_; // of plan_, in a step that is begun ahead
  std::vector<RowOrder> orders_;
  Batch batch_;
  SamplerScratch scratch_;
  SchedulerClock::time_point now_; // when its logits came
  std::optional<StepUnderWay> underWay_;
};

} // namespace sinter
