// Which hosts a request may name and which pages may send one: what keeps a web page from reaching
// a server on its reader's own machine.
#pragma once

#include "serve/http/fault.h"

#include <optional>

namespace sinter::serve {

struct AccessRules {
  // Names beside those that no stranger can own; "*": any.
  std::vector<std::string> hosts;
  // Origins of pages, "https://chat.example", beside those below; "*": any.
  std::vector<std::string> origins;
  // All that is listened on is loopback: Host must be a loopback name, and pages of loopback hosts
  // may send requests.
  bool isLoopback = true;
  // Requests need a key. A page that rebinds a name of its own to this address has none.
  bool hasKeys = false;
};

// "localhost", "LOCALHOST:80", "127.0.0.1", "[::1]:11434", "x.localhost".
bool isLoopbackHost(std::string_view authority);

// The value of Host against the rules. 403: with what to do.
std::optional<HttpFault> checkHost(std::string_view authority, const AccessRules &rules);

struct OriginAnswer {
  std::optional<HttpFault> fault; // 403
  Headers headers;                // of CORS, for the answer
};
// `origin`: the request's; empty: it does not come from a page.
OriginAnswer checkOrigin(std::string_view origin, std::string_view authority,
                         const AccessRules &rules);

// The headers that answer a page's question, before its request, what it may send.
Headers preflightHeaders(std::string_view allowedMethods, std::string_view requestedHeaders);

} // namespace sinter::serve
