// Large files from HTTP into the store: in ranges side by side, continued where they broke off, and
// checked against their digest.
#pragma once

#include "store/http_client.h"
#include "store/store.h"

namespace sinter::store {

struct DownloadOptions {
  HttpOptions http = {};
  uint32_t connections = 4;
  uint64_t segmentBytes = 16 << 20; // what one request asks for
  // Of one segment without a megabyte between them, and the pause before the second one, which
  // doubles up to half a minute; a server may ask for more.
  uint32_t attempts = 6;
  std::chrono::milliseconds firstPause{500};
};

// What is fetched. The digest says what the bytes must be, so that parts of one may come from
// different hosts and at different times.
struct DownloadSource {
  std::string url;
  std::string bearer = {}; // a token for the host of `url`
  Sha256Digest digest;
  uint64_t bytes = 0;
};

struct DownloadProgress {
  OnBytes onBytes = nullptr;                // from any thread, one at a time
  std::function<void()> onVerify = nullptr; // all bytes are there
};

// Puts the blob into the store, unless it is there; waits where another process fetches it. What
// came before an error stays and is continued by the next call. NotFound, Permission, Timeout,
// Internal: what the server answered; Corrupt: the bytes are others than the digest says, and were
// deleted; Cancelled.
Result<void> downloadBlob(const Store &store, const DownloadSource &source,
                          const DownloadOptions &options, const DownloadProgress &progress,
                          const std::atomic<bool> &cancel);

// A small text, such as a manifest. Errors as downloadBlob(); Corrupt: more than `mostBytes`.
// `what` names it in messages.
Result<std::string> fetchText(const HttpGet &get, const std::string &what, size_t mostBytes,
                              const DownloadOptions &options, const std::atomic<bool> &cancel);

// Bytes of it that an earlier call left.
uint64_t partialBytes(const Store &store, const Sha256Digest &digest);

} // namespace sinter::store
