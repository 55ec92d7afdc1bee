// Trying again: what an answer's status means, and how long to wait.
#pragma once

#include "store/download.h"

namespace sinter::store {

// Of a status that is not below 300, with the server's own words where they are short.
HttpFailure statusFailure(const std::string &what, const HttpAnswer &answer);

// The attempts at one thing. For one thread.
class Attempts {
public:
  Attempts(const DownloadOptions &options, IsCancelled isCancelled)
      : options_(options), isCancelled_(std::move(isCancelled)) {}

  // Waits before the next attempt. The failure's error where it is no use, or there were enough.
  Result<void> waitAfter(const HttpFailure &failure, uint32_t leastSeconds);
  // Something was gained: the count begins anew.
  void reset() { made_ = 0; }

private:
  const DownloadOptions &options_;
  const IsCancelled isCancelled_;
  uint32_t made_ = 0;
};

} // namespace sinter::store
