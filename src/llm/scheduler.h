// Continuous batching: generates for many requests at once. Each step takes the tokens that are
// due, shares the KV cache's pages among the sequences, and hands every token out as soon as it is
// chosen.
//
// A step has tokens of one phase, and the phases take turns (chunked prefill): while some sequences
// decode, a prefill step takes at most SchedulerOptions::promptTokens tokens, and a decode step
// with one token of each such sequence follows it. So the time between two tokens of a sequence is
// bounded by one prefill step and one decode step, however long the prompts are.
//
// Requests begin in the order of their arrival, as soon as the block pool has pages for what they
// hold, and a slot for their state where the model has states. When pages run out, the scheduler
// preempts the youngest sequence: it gives pages and state back and waits, before all requests that
// have not begun, until it is recomputed from its tokens. The oldest sequence is never preempted
// and fits the pool, so all requests end. A request's tokens
// depend on the request alone: not on what runs beside it, nor on preemption.
#pragma once

#include "llm/generation.h"
#include "llm/kv_pages.h"
#include "llm/prefill_shares.h"
#include "llm/sampler/sampler.h"

#include <atomic>
#include <chrono>
#include <compare>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace sinter {

// A request that was submitted; later ones have greater numbers.
struct RequestId {
  uint64_t number = UINT64_MAX;
  friend constexpr auto operator<=>(const RequestId &, const RequestId &) = default;
};

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
  TokenSink onToken = nullptr; // null: not called, as is `onEnd`
  EndSink onEnd = nullptr;
};

struct SchedulerOptions {
  uint32_t sequences = UINT32_MAX; // most that run at once, within what the runner takes
  uint32_t waiting = 1024;         // most requests that wait; at least 1
  // Prefill tokens between two decode steps; at least 1. More tokens make prefill faster and decode
  // wait longer (SmolLM2 Q4_1, two Xeon cores: 32 tokens take 19 ms, 1,650 a second; 64 take 33 ms,
  // 1,950; 128 take 62 ms, 2,060, and no number gives more).
  uint32_t promptTokens = 128;
  // Decodes only while there is nothing to prefill, for whoever waits for all answers.
  bool prefillFirst = false;
};

// Totals since the scheduler was made.
struct SchedulerCounters {
  uint64_t prefillSteps = 0, decodeSteps = 0;
  uint64_t rows = 0;           // of all steps
  uint64_t recomputedRows = 0; // of preempted sequences
  uint64_t preemptions = 0;    // sequences whose pages others needed
};

struct ScheduledSequence;

// Borrows runner, pool and tokenizer. For one thread. The callbacks of requests may call submit()
// and cancel(). Requests that are left when it dies end without a call.
class Scheduler {
public:
  Scheduler(StepRunner &runner, PagePool &pages, const Tokenizer &tokenizer,
            const SchedulerOptions &options = {});
  ~Scheduler();
  Scheduler(const Scheduler &) = delete;
  Scheduler &operator=(const Scheduler &) = delete;

  // InvalidArgument, with the numbers: the prompt is empty, longer than the context or has tokens
  // outside the vocabulary. Exhausted, with the numbers: prompt and answer together may need more
  // pages than the whole pool has, or too many requests wait. No callback is called then.
  Result<RequestId> submit(Request request);

  // Ends the request at the next step with reason Cancelled. False: it has ended, or never was.
  bool cancel(RequestId id);

  // Ends what was cancelled, begins what there are pages for, and runs one step. An error of the
  // runner ends the requests of that step with it; one of a sampler or a sink ends its request. The
  // others go on. Exhausted, for one request: others than this scheduler hold pages of the pool
  // that it needs. Returns whether any requests are left; each call brings their end nearer.
  bool step();

  bool idle() const { return running_.empty() && waiting_.empty(); }
  size_t runningCount() const { return running_.size(); }
  size_t waitingCount() const { return waiting_.size(); }
  const SchedulerCounters &counters() const { return counters_; }

private:
  using Sequence = ScheduledSequence;
  using SequencePtr = std::unique_ptr<Sequence>;
  struct Part {
    Sequence *sequence;
    uint32_t rows;
  };

  Result<void> checkFits(const Request &request) const;
  Sequence *find(RequestId id) const;
  void endCancelled();
  void begin();
  Phase choosePhase() const;
  void planPrefill();
  void planDecode();
  bool makeRoom(Sequence &sequence);
  void preemptYoungest();
  void run(Phase phase);
  void addToBatch(const Part &part, Phase phase);
  void accept(const Part &part, std::span<const float> &logits);
  void choose(Sequence &sequence, std::span<const float> logits);
  void take(Sequence &sequence, TokenId token);
  void end(Sequence &sequence, StopReason reason);
  void end(Sequence &sequence, Status error);
  void collectEnded();
  void deliver();

  StepRunner &runner_;
  PagePool &pool_;
  const Tokenizer &tokenizer_;
  SchedulerOptions options_;
  uint64_t nextNumber_ = 0;
  // Both in the order of arrival, and all that run came before all that wait.
  std::vector<SequencePtr> running_;
  std::deque<SequencePtr> waiting_;
  std::vector<SequencePtr> ended_; // whose end was not said yet
  bool anyEnded_ = false;          // in the other lists
  Phase last_ = Phase::Decode;
  bool stepping_ = false;
  SchedulerCounters counters_;
  // Of the step at hand; kept for their memory.
  std::vector<Part> plan_;
  std::vector<uint32_t> left_;
  PrefillShares shares_;
  std::vector<BatchPart> parts_;
  Batch batch_;
  SamplerScratch scratch_;
  std::chrono::steady_clock::time_point now_; // when its logits came
};

} // namespace sinter
