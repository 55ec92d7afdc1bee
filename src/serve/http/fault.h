// Why a request is refused before a route sees it.
#pragma once

#include "serve/http/exchange.h"

namespace sinter::serve {

struct HttpFault {
  uint16_t status;     // 400, 413, ...
  std::string message; // one sentence: what was found, what was expected
  Headers headers = {};
};

} // namespace sinter::serve
