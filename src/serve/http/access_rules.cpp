// Host allow-list and CORS.
#include "serve/http/access_rules.h"

#include "serve/http/ascii.h"

#include <arpa/inet.h>

namespace sinter::serve {
namespace {

// Lower case, without port and brackets; nothing where it is no HOST or HOST:PORT.
std::optional<std::string> hostOf(std::string_view authority) {
  std::string_view host = authority;
  std::string_view rest;
  if (authority.starts_with('[')) {
    const size_t end = authority.find(']');
    if (end == std::string_view::npos)
      return std::nullopt;
    host = authority.substr(1, end - 1);
    rest = authority.substr(end + 1);
  } else if (const size_t colon = authority.find(':'); colon != std::string_view::npos) {
    host = authority.substr(0, colon);
    rest = authority.substr(colon);
  }
  const auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
  if (!rest.empty() && (rest[0] != ':' || rest.size() < 2 || rest.size() > 6 ||
                        !std::ranges::all_of(rest.substr(1), isDigit)))
    return std::nullopt;
  std::string lower = lowerCase(host);
  if (lower.ends_with('.')) // the root of names
    lower.pop_back();
  if (lower.empty())
    return std::nullopt;
  return lower;
}

bool isAddress(const std::string &host) {
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

bool isLoopbackName(const std::string &host) {
  unsigned char bytes[sizeof(in6_addr)];
  if (inet_pton(AF_INET, host.c_str(), bytes) == 1)
    return bytes[0] == 127;
  return host == "localhost" || host.ends_with(".localhost") || host == "::1";
}

// Names that public DNS does not give out: a stranger's page cannot be at one.
bool isPrivateName(const std::string &host) {
  if (isAddress(host) || isLoopbackName(host) || host.find('.') == std::string::npos)
    return true;
  for (const char *suffix : {".local", ".internal", ".lan", ".home.arpa"})
    if (host.ends_with(suffix))
      return true;
  return false;
}

bool isListed(const std::vector<std::string> &list, std::string_view value) {
  return std::ranges::any_of(list, [&](const std::string &each) {
    return each == "*" || equalsIgnoringCase(each, value);
  });
}

// "http://localhost:3000" -> "localhost:3000"; empty where it is no origin of HTTP.
std::string_view authorityOf(std::string_view origin) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (equalsIgnoringCase(origin.substr(0, scheme.size()), scheme))
      return origin.substr(scheme.size());
  return {};
}

} // namespace

bool isLoopbackHost(std::string_view authority) {
  const auto host = hostOf(authority);
  return host && isLoopbackName(*host);
}

std::optional<HttpFault> checkHost(std::string_view authority, const AccessRules &rules) {
  const auto host = hostOf(authority);
  if (host && isListed(rules.hosts, *host))
    return std::nullopt;
  if (!host)
    return HttpFault{400, "Host is '" + std::string(authority) + "', expected HOST or HOST:PORT"};
  if (rules.isLoopback ? isLoopbackName(*host) : rules.hasKeys || isPrivateName(*host))
    return std::nullopt;
  return HttpFault{403, "host '" + *host + "' is not served here; --allow-host " + *host +
                            " lets it in"};
}

OriginAnswer checkOrigin(std::string_view origin, std::string_view authority,
                         const AccessRules &rules) {
  if (origin.empty())
    return {};
  const std::string_view from = authorityOf(origin);
  if (!from.empty() && equalsIgnoringCase(from, authority))
    return {}; // the server's own page
  const auto isOrigin = [&](const std::string &each) { return equalsIgnoringCase(each, origin); };
  const bool isOpen = !std::ranges::any_of(rules.origins, isOrigin) && isListed(rules.origins, "*");
  if (!isListed(rules.origins, origin) && !(rules.isLoopback && isLoopbackHost(from)))
    return {HttpFault{403, "pages of '" + std::string(origin) +
                               "' may not send requests; --cors-origin lets them"},
            {}};
  return {std::nullopt,
          {{"Access-Control-Allow-Origin", isOpen ? "*" : std::string(origin)},
           {"Vary", "Origin"},
           {"Access-Control-Expose-Headers", "Retry-After, X-Request-Id"}}};
}

Headers preflightHeaders(std::string_view allowedMethods, std::string_view requestedHeaders) {
  Headers headers = {{"Access-Control-Allow-Methods", std::string(allowedMethods)},
                     {"Access-Control-Max-Age", "600"}};
  if (!requestedHeaders.empty())
    headers.emplace_back("Access-Control-Allow-Headers", std::string(requestedHeaders));
  return headers;
}

} // namespace sinter::serve
