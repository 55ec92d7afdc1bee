// The target of a request line, taken apart.
#pragma once

#include "serve/http/fault.h"

#include <tl/expected.hpp>

namespace sinter::serve {

struct RequestTarget {
  std::string path; // decoded; "*" for a request about the whole server
  std::vector<std::pair<std::string, std::string>> query;
  std::string authority; // of an absolute target: "localhost:11434"
};

// Takes "/path?a=b", "http://host/path?a=b" and "*". Percent-encoding must be whole; no decoded
// byte may be a control character.
tl::expected<RequestTarget, HttpFault> parseTarget(std::string_view target);

} // namespace sinter::serve
