// Token buckets by name.
#include "serve/http/quotas.h"

#include <algorithm>
#include <cmath>

namespace sinter::serve {
namespace {

using std::chrono::duration;

double minutesSince(Quotas::Clock::time_point then, Quotas::Clock::time_point now) {
  return std::max(0.0, duration<double, std::ratio<60>>(now - then).count());
}

// Until `level` is `wanted`; at least one, as a client that comes back at once finds nothing new.
uint32_t secondsUntil(double wanted, double level, double perMinute) {
  const double seconds = std::ceil((wanted - level) / perMinute * 60);
  return static_cast<uint32_t>(std::clamp(seconds, 1.0, 86'400.0));
}

} // namespace

Quotas::Bucket &Quotas::bucket(const std::string &name, Clock::time_point now) {
  // Where clients' addresses are the names, strangers choose how many there are.
  constexpr size_t kMostBuckets = 65'536;
  if (buckets_.size() >= kMostBuckets && !buckets_.contains(name))
    dropFull(now);
  Bucket &found = buckets_.try_emplace(name, Bucket{requests_, tokens_, now}).first->second;
  const double minutes = minutesSince(found.at, now);
  found.requests = std::min(requests_, found.requests + minutes * requests_);
  found.tokens = std::min(tokens_, found.tokens + minutes * tokens_);
  found.at = std::max(found.at, now);
  return found;
}

// A bucket that is full again is as one that never was. Where none is, all are forgotten.
void Quotas::dropFull(Clock::time_point now) {
  const auto isFull = [&](const auto &entry) {
    const double minutes = minutesSince(entry.second.at, now);
    return entry.second.requests + minutes * requests_ >= requests_ &&
           entry.second.tokens + minutes * tokens_ >= tokens_;
  };
  if (std::erase_if(buckets_, isFull) == 0)
    buckets_.clear();
}

std::optional<uint32_t> Quotas::takeRequest(const std::string &name, Clock::time_point now) {
  if (!limits())
    return std::nullopt;
  const std::lock_guard lock(mutex_);
  Bucket &mine = bucket(name, now);
  if (tokens_ > 0 && mine.tokens <= 0)
    return secondsUntil(1, mine.tokens, tokens_);
  if (requests_ > 0 && mine.requests < 1)
    return secondsUntil(1, mine.requests, requests_);
  mine.requests -= 1;
  return std::nullopt;
}

void Quotas::chargeTokens(const std::string &name, uint64_t tokens, Clock::time_point now) {
  if (tokens_ == 0)
    return;
  const std::lock_guard lock(mutex_);
  bucket(name, now).tokens -= static_cast<double>(tokens);
}

} // namespace sinter::serve
