// What a request head may not have: all that two servers in a row could read in two ways. A head
// that passes has one reading, so no request can be smuggled behind another.
#pragma once

#include "serve/http/fault.h"
#include "serve/http/limits.h"

#include <optional>

namespace sinter::serve {

// Where the head ends in the bytes that came so far.
struct HeadEnd {
  size_t bytes = 0; // with the empty line; 0: not yet
  std::optional<HttpFault> fault;
};

// `scanned`: the bytes of an earlier call, which are not looked at again; it is moved on.
HeadEnd findHeadEnd(std::string_view bytes, size_t &scanned, const HttpLimits &limits);

// Of a whole head, from the method to the empty line.
std::optional<HttpFault> checkHead(std::string_view head, const HttpLimits &limits);

} // namespace sinter::serve
