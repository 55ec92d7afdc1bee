// HTTP as pulls need it: GET, of a range too, with redirects that keep secrets from other hosts.
#pragma once

#include "base/status.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sinter::store {

struct HttpOptions {
  uint32_t mostRedirects = 5;
  std::chrono::seconds connect{15};
  // A transfer that stays below so many bytes a second for so long is given up.
  uint32_t leastBytesPerSecond = 512;
  std::chrono::seconds slowest{30};
  std::string userAgent = "sinter";
};

// Bytes of a resource from `begin` up to, not including, `end`.
struct ByteRange {
  uint64_t begin = 0, end = 0;
};

struct HttpGet {
  std::string url;
  std::string accept = {};
  std::string bearer = {}; // a token for this host alone; empty: none
  std::optional<ByteRange> range = {};
};

// Of the answer that came after all redirects.
struct HttpHead {
  uint16_t status = 0;
  std::optional<uint64_t> bytes = {};      // Content-Length
  std::optional<ByteRange> range = {};     // Content-Range
  std::optional<uint64_t> wholeBytes = {}; // of the resource, as Content-Range says
  std::optional<uint32_t> retryAfter = {}; // seconds
};

// A transfer that did not become whole.
struct HttpFailure {
  Status status;
  bool isTransient = false; // trying again may help
};

struct HttpReceiver {
  // Before the body of an answer below 300; an error ends the transfer. Null: takes any.
  std::function<Result<void>(const HttpHead &)> onHead = nullptr;
  std::function<Result<void>(std::span<const uint8_t>)> onBody;
};

struct HttpAnswer {
  HttpHead head;
  std::string errorText; // the body's beginning where the status is 400 or more
};

// Asked again and again while something is waited for; true ends the waiting with Code::Cancelled.
using IsCancelled = std::function<bool()>;

// One connection at a time, kept for the next request to its host; one thread at a time.
class HttpClient {
public:
  virtual ~HttpClient() = default;
  // An answer of any status. Timeout, Cancelled, Internal (the network, TLS), InvalidArgument (an
  // address that is none), or the receiver's error. The address is named in messages without its
  // query, which may hold secrets.
  virtual tl::expected<HttpAnswer, HttpFailure>
  get(const HttpGet &get, const HttpReceiver &receiver, const IsCancelled &isCancelled) = 0;
};

// Unsupported, with what to install: this machine has no libcurl.
Result<std::unique_ptr<HttpClient>> makeHttpClient(const HttpOptions &options = {});

// The address without query, fragment and user.
std::string shownUrl(std::string_view url);

} // namespace sinter::store
