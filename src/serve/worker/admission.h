// Which requests may wait for a model: a request whose turn would come too late is refused at once,
// so that an overloaded server still answers in time those that it takes.
#pragma once

#include "base/status.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace sinter::serve {

struct AdmissionOptions {
  uint32_t mostWaiting = 1024; // of all queues
  double mostWaitSeconds = 2;  // by the estimate; 0: no limit
  uint32_t sureWaiting = 4;    // of a queue wait whatever the estimate says
};

// A request that waits. `tokens`: of its prompt and, about, its answer.
struct Ticket {
  std::string queue;
  uint64_t tokens = 0;
};

// Estimates waiting from the tokens that wait and the rate at which steps took tokens lately.
// Queues take turns, so a request waits for what its own queue holds, times the queues that wait.
//
// Two kinds of load wait longer than the limit. A burst: all that comes within a second of an empty
// queue. And clients that keep a number of requests under way: what they send does not outnumber
// what ends.
//
// Not for several threads.
class Admission {
public:
  using Clock = std::chrono::steady_clock;

  explicit Admission(const AdmissionOptions &options = {}) : options_(options) {}

  // Counts a request that asks. Exhausted, with the numbers: it may not wait.
  Result<void> ask(const std::string &queue, Clock::time_point now);
  // It waits, begins, and ends; its client does not know yet that it did.
  void add(const Ticket &ticket, Clock::time_point now);
  void begin(const Ticket &ticket);
  void end(const Ticket &ticket, bool hasBegun);

  // A step took that many tokens, those that were reused among them.
  void addStep(uint64_t tokens, double seconds);
  void addAnswer(uint64_t tokens);

  // Of a prompt and an answer of at most `maxTokens`, as long as answers were lately.
  uint64_t tokensOf(uint64_t promptTokens, uint64_t maxTokens) const;
  uint64_t waiting() const { return waiting_; }
  // What a request would wait behind all that do, or in its queue, about; 0 where nothing was
  // measured.
  double waitSeconds() const { return secondsOf(tokens_); }
  double waitSeconds(const std::string &queue) const;
  // Whole seconds after which what was refused is worth sending again.
  uint32_t retrySeconds(const std::string &queue) const;

private:
  struct Queue { // with at least one request under way
    uint64_t waiting = 0, running = 0;
    uint64_t tokens = 0;          // of those that wait
    Clock::time_point since = {}; // when none waited last
    int64_t credit = 0;           // of requests that ended, for those that come in their place

    uint64_t underWay() const { return waiting + running; }
  };

  uint64_t ahead(uint64_t ofQueue, uint64_t ofAll) const;
  double secondsOf(uint64_t tokens) const;
  void leave(Queue &queue, const Ticket &ticket);

  AdmissionOptions options_;
  std::map<std::string, Queue> queues_;
  uint64_t waiting_ = 0, tokens_ = 0;
  uint64_t waitingQueues_ = 0;
  double stepTokens_ = 0, stepSeconds_ = 0; // decaying sums
  double answerTokens_ = 256;               // moving average
};

} // namespace sinter::serve
