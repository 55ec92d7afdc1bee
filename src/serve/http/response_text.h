// An answer as bytes of HTTP/1.1.
#pragma once

#include "serve/http/exchange.h"

#include <optional>

namespace sinter::serve {

// What the request and the connection say about how it is answered.
struct ResponseStyle {
  bool isHead = false;   // HEAD: all but the body
  bool isHttp10 = false; // no chunks
  bool closes = false;   // the connection, behind the answer
  Headers headers = {};  // beside the answer's own: of CORS
};

// Status line and headers. `length`: of the body; none: the body comes in chunks, or in HTTP/1.0
// until the connection closes. A header of the answer that is no header is left out.
std::string responseHead(const HttpResponse &response, const ResponseStyle &style,
                         std::optional<size_t> length);

// Whether the status lets an answer have a body.
bool hasBody(uint16_t status);

std::string chunk(std::string_view bytes); // not empty
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

} // namespace sinter::serve
