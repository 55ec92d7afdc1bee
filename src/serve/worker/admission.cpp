// Estimates from decaying sums, and what is a burst.
#include "serve/worker/admission.h"

#include "base/check.h"

#include <algorithm>
#include <cmath>

namespace sinter::serve {
namespace {

constexpr double kMemorySeconds = 10; // of steps, for which a measured rate counts
constexpr double kLeastSeconds = 0.5; // of steps, before which no rate is known
constexpr double kNewestAnswer = 1.0 / 16;
constexpr auto kBurst = std::chrono::seconds(1);
// Clients that keep requests under way may become a few more. Who sends more than that runs into
// debt, and is paid back by what ends.
constexpr int64_t kMoreClients = 4, kMostCredit = 256;

std::string secondsText(double seconds) {
  return std::to_string(static_cast<uint64_t>(std::ceil(seconds)));
}

} // namespace

double Admission::secondsOf(uint64_t tokens) const {
  if (stepSeconds_ < kLeastSeconds || stepTokens_ <= 0)
    return 0;
  return static_cast<double>(tokens) * stepSeconds_ / stepTokens_;
}

uint64_t Admission::ahead(uint64_t ofQueue, uint64_t ofAll) const {
  return std::min(ofAll, ofQueue * waitingQueues_);
}

double Admission::waitSeconds(const std::string &name) const {
  const auto found = queues_.find(name);
  return found == queues_.end() ? 0 : secondsOf(ahead(found->second.tokens, tokens_));
}

uint32_t Admission::retrySeconds(const std::string &queue) const {
  constexpr double kMost = 60;
  const double over = waitSeconds(queue) - options_.mostWaitSeconds;
  return static_cast<uint32_t>(std::clamp(std::ceil(over), 1.0, kMost));
}

Result<void> Admission::ask(const std::string &name, Clock::time_point now) {
  if (waiting_ >= options_.mostWaiting)
    return fail(Code::Exhausted, std::to_string(waiting_) +
                                     " requests wait already, expected fewer than " +
                                     std::to_string(options_.mostWaiting));
  const auto found = queues_.find(name);
  if (found == queues_.end())
    return {};
  Queue &queue = found->second;
  if (queue.waiting > 0 && now - queue.since < kBurst)
    return {};
  const double seconds = waitSeconds(name);
  const bool isShort = ahead(queue.waiting, waiting_) < options_.sureWaiting ||
                       seconds <= options_.mostWaitSeconds || options_.mostWaitSeconds <= 0;
  queue.credit = isShort ? kMoreClients : std::max(queue.credit - 1, -kMostCredit);
  if (queue.credit >= 0)
    return {};
  return fail(Code::Exhausted, "the turn of one more request would come after about " +
                                   secondsText(seconds) + " s, expected at most " +
                                   secondsText(options_.mostWaitSeconds) + " s; " +
                                   std::to_string(waiting_) + " requests wait");
}

void Admission::add(const Ticket &ticket, Clock::time_point now) {
  Queue &queue = queues_.try_emplace(ticket.queue, Queue{.credit = kMoreClients}).first->second;
  if (queue.waiting++ == 0) {
    queue.since = now;
    ++waitingQueues_;
  }
  queue.tokens += ticket.tokens;
  ++waiting_;
  tokens_ += ticket.tokens;
}

void Admission::leave(Queue &queue, const Ticket &ticket) {
  SINTER_CHECK(queue.waiting > 0 && queue.tokens >= ticket.tokens);
  queue.tokens -= ticket.tokens;
  tokens_ -= ticket.tokens;
  --waiting_;
  if (--queue.waiting == 0)
    --waitingQueues_;
}

void Admission::begin(const Ticket &ticket) {
  const auto found = queues_.find(ticket.queue);
  SINTER_CHECK(found != queues_.end());
  leave(found->second, ticket);
  ++found->second.running;
}

void Admission::end(const Ticket &ticket, bool hasBegun) {
  const auto found = queues_.find(ticket.queue);
  SINTER_CHECK(found != queues_.end());
  Queue &queue = found->second;
  queue.credit = std::min(queue.credit + 1, kMostCredit);
  if (hasBegun)
    --queue.running;
  else
    leave(queue, ticket);
  if (queue.underWay() == 0)
    queues_.erase(found);
}

void Admission::addStep(uint64_t tokens, double seconds) {
  const double left = std::exp(-seconds / kMemorySeconds);
  stepTokens_ = stepTokens_ * left + static_cast<double>(tokens);
  stepSeconds_ = stepSeconds_ * left + seconds;
}

void Admission::addAnswer(uint64_t tokens) {
  answerTokens_ += kNewestAnswer * (static_cast<double>(tokens) - answerTokens_);
}

uint64_t Admission::tokensOf(uint64_t promptTokens, uint64_t maxTokens) const {
  return promptTokens + std::min(maxTokens, static_cast<uint64_t>(answerTokens_));
}

} // namespace sinter::serve
