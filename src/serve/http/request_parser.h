// Bytes of a connection to a request. No socket: bytes are put in as they come.
#pragma once

#include "serve/http/fault.h"
#include "serve/http/limits.h"

#include <memory>
#include <optional>
#include <tl/expected.hpp>

namespace sinter::serve {

// Reads one request. Strict: head_rules.h says what is refused beyond the grammar.
class RequestParser {
public:
  explicit RequestParser(const HttpLimits &limits);
  ~RequestParser();
  RequestParser(const RequestParser &) = delete;
  RequestParser &operator=(const RequestParser &) = delete;

  // Takes a prefix of the bytes that were not taken so far, and stops behind the head, then behind
  // the body. 0: more bytes are needed first. After a fault nothing else may be put in.
  tl::expected<size_t, HttpFault> put(std::string_view bytes);

  bool headDone() const;
  bool done() const;
  // A byte of it came, beside empty lines.
  bool begun() const;

  // All but the body from headDone() on.
  HttpRequest &request();
  // The host that the request names, as Host or in its target.
  const std::string &authority() const;
  bool isHttp10() const;
  bool keepsAlive() const;
  bool expectsContinue() const;
  std::optional<uint64_t> contentLength() const;
  // Of what the route takes; once, between head and body. 413: the request announces more.
  [[nodiscard]] std::optional<HttpFault> limitBody(size_t bytes);

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace sinter::serve
