// What a client may cost the server.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sinter::serve {

struct HttpLimits {
  size_t targetBytes = 8 << 10;  // of the request line
  size_t headBytes = 32 << 10;   // of request line and headers
  size_t headerCount = 100;      // fields of a request
  size_t bodyBytes = 32u << 20;  // of a request
  size_t bodiesBytes = 1u << 30; // of all requests that are being read
  size_t unreadBytes = 1 << 20;  // of an answer in parts that its client has not read
  size_t connections = 4096;
  std::chrono::milliseconds handshake{10'000};
  std::chrono::milliseconds head{15'000}; // from the first byte of a request to the end of its head
  // For a body, over what 16 KiB per second take, and for an answer's next byte to be read.
  std::chrono::milliseconds transfer{60'000};
  std::chrono::milliseconds idle{75'000}; // between two requests
};

} // namespace sinter::serve
