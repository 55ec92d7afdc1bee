// Bytes of a connection to answers of HTTP/1.1. No socket: bytes are put in as they come.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sinter::cli {

// Reads one answer.
class ResponseParser {
public:
  ResponseParser();
  ~ResponseParser();
  ResponseParser(const ResponseParser &) = delete;
  ResponseParser &operator=(const ResponseParser &) = delete;

  // Parts of the body are added to `body`. False: what came is no answer of HTTP/1.1, and why() has
  // the reason; nothing else may be put in then.
  bool put(std::string_view bytes, std::string &body);
  // The server ended the connection. False: the answer is not whole.
  bool end();

  const std::string &why() const;
  bool begun() const; // a byte came
  bool headDone() const;
  bool done() const;
  unsigned status() const; // from headDone() on, as is what follows
  bool keepsAlive() const;
  // The value of Retry-After; none: there is no such header.
  const std::optional<std::string> &retryAfter() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace sinter::cli
