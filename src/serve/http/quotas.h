// Requests and tokens by key in a minute.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace sinter::serve {

// Token buckets: what is not used in a minute is kept for the next, and no longer. Thread-safe.
class Quotas {
public:
  using Clock = std::chrono::steady_clock;

  // 0: no limit.
  Quotas(uint64_t requestsPerMinute, uint64_t tokensPerMinute)
      : requests_(static_cast<double>(requestsPerMinute)),
        tokens_(static_cast<double>(tokensPerMinute)) {}

  // Takes one request of `name`'s. Where none is left, or more tokens were used than a minute has:
  // the seconds until it is worth asking again.
  std::optional<uint32_t> takeRequest(const std::string &name,
                                      Clock::time_point now = Clock::now());
  // Counts tokens that a request of `name`'s used, those of its prompt and of its answer. An answer
  // that has begun is not cut: what it uses beyond the limit delays the next request.
  void chargeTokens(const std::string &name, uint64_t tokens, Clock::time_point now = Clock::now());

  bool limits() const { return requests_ > 0 || tokens_ > 0; }

private:
  struct Bucket {
    double requests, tokens;
    Clock::time_point at;
  };
  Bucket &bucket(const std::string &name, Clock::time_point now);
  void dropFull(Clock::time_point now);

  const double requests_, tokens_; // per minute; 0: no limit
  std::mutex mutex_;
  std::map<std::string, Bucket> buckets_;
};

} // namespace sinter::serve
