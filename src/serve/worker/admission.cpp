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
constexpr auto kWindow = std::chrono::seconds(1);
// Requests of clients that send one when one ends, by those that ended; more clients may come.
constexpr double kSteady = 1.25, kMoreClients = 4;

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
  return std::min(ofAll, ofQueue * queues_.size());
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

void Admission::turnWindow(Queue &queue, Clock::time_point now) const {
  if (now - queue.window < kWindow)
    return;
  queue.last = now - queue.window < 2 * kWindow ? queue.current : Counts{};
  queue.current = {.mostWaiting = queue.waiting};
  queue.window = now;
}

bool Admission::isSteady(const Queue &queue) const {
  const uint64_t asked = queue.last.asked + queue.current.asked;
  const uint64_t ended = queue.last.ended + queue.current.ended;
  return static_cast<double>(asked) <= kSteady * static_cast<double>(ended) + kMoreClients &&
         queue.waiting < std::max(queue.last.mostWaiting, queue.current.mostWaiting);
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
  if (now - queue.since < kBurst)
    return {};
  turnWindow(queue, now);
  ++queue.current.asked;
  const double seconds = waitSeconds(name);
  const bool isShort = ahead(queue.waiting, waiting_) < options_.sureWaiting ||
                       seconds <= options_.mostWaitSeconds || options_.mostWaitSeconds <= 0;
  if (isShort || isSteady(queue))
    return {};
  return fail(Code::Exhausted, "the turn of one more request would come after about " +
                                   secondsText(seconds) + " s, expected at most " +
                                   secondsText(options_.mostWaitSeconds) + " s; " +
                                   std::to_string(waiting_) + " requests wait");
}

void Admission::add(const Ticket &ticket, Clock::time_point now) {
  Queue &queue =
      queues_.try_emplace(ticket.queue, Queue{.since = now, .window = now}).first->second;
  ++queue.waiting;
  queue.tokens += ticket.tokens;
  queue.current.mostWaiting = std::max(queue.current.mostWaiting, queue.waiting);
  ++waiting_;
  tokens_ += ticket.tokens;
}

void Admission::end(const std::string &name, Clock::time_point now) {
  const auto found = queues_.find(name);
  if (found == queues_.end())
    return;
  turnWindow(found->second, now);
  ++found->second.current.ended;
}

void Admission::leave(const Ticket &ticket) {
  const auto found = queues_.find(ticket.queue);
  SINTER_CHECK(found != queues_.end());
  --waiting_;
  tokens_ -= ticket.tokens;
  found->second.tokens -= ticket.tokens;
  if (--found->second.waiting == 0)
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
