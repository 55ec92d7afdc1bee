// Rules on the bytes of a request head.
#include "serve/http/head_rules.h"

#include "serve/http/ascii.h"

#include <algorithm>
#include <array>

namespace sinter::serve {
namespace {

HttpFault bad(std::string message) {
  return {400, std::move(message)};
}

// Fields of which a second one would leave open which counts.
constexpr std::array<std::string_view, 8> kSingleFields = {
    "authorization", "content-length", "content-type",      "expect",
    "host",          "origin",         "transfer-encoding", "x-api-key"};

struct Framing {
  bool hasLength = false, hasChunks = false, hasHost = false;
};

bool isControl(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

std::string_view trimmed(std::string_view value) {
  const size_t first = value.find_first_not_of(" \t");
  if (first == std::string_view::npos)
    return {};
  return value.substr(first, value.find_last_not_of(" \t") - first + 1);
}

// More digits than a size can have would be cut by some servers.
bool isLength(std::string_view value) {
  constexpr size_t kMostDigits = 18;
  return !value.empty() && value.size() <= kMostDigits &&
         std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<HttpFault> checkRequestLine(std::string_view line) {
  for (const char c : line)
    if (isControl(c) || static_cast<unsigned char>(c) >= 0x80)
      return bad("the request line has a byte that is not printable ASCII");
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last)
    return bad("the request line is not METHOD TARGET HTTP/1.1");
  if (line.substr(first + 1, last - first - 1).find(' ') != std::string_view::npos)
    return bad("the request line has more than two spaces");
  const std::string_view version = line.substr(last + 1);
  if (version.starts_with("HTTP/") && version != "HTTP/1.1" && version != "HTTP/1.0")
    return HttpFault{505, "the request's version is not HTTP/1.1 or HTTP/1.0"};
  return std::nullopt;
}

std::optional<HttpFault> checkFraming(std::string_view name, std::string_view value, bool isHttp10,
                                      Framing &framing) {
  if (name == "content-length") {
    framing.hasLength = true;
    if (!isLength(value))
      return bad("Content-Length is not one plain number");
  }
  if (name == "transfer-encoding") {
    framing.hasChunks = true;
    if (!equalsIgnoringCase(value, "chunked") || isHttp10)
      return bad("Transfer-Encoding is not 'chunked' in HTTP/1.1");
  }
  if (name == "host") {
    framing.hasHost = true;
    if (value.find_first_of(" \t,/@?#\\\"") != std::string_view::npos)
      return bad("Host is not HOST or HOST:PORT");
  }
  if (framing.hasLength && framing.hasChunks)
    return bad("the request has Content-Length and Transfer-Encoding, expected one of them");
  return std::nullopt;
}

std::optional<HttpFault> checkField(std::string_view line, bool isHttp10, Headers &single,
                                    Framing &framing) {
  if (line.starts_with(' ') || line.starts_with('\t'))
    return bad("a header line begins with white space");
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0)
    return bad("a header line is not NAME: VALUE");
  const std::string name = lowerCase(line.substr(0, colon));
  if (!std::all_of(name.begin(), name.end(), isTokenCharacter))
    return bad("a header's name has a character that names do not have");
  const std::string_view value = trimmed(line.substr(colon + 1));
  for (const char c : value)
    if (isControl(c) && c != '\t')
      return bad("the value of header '" + name + "' has a control character");
  if (std::ranges::find(kSingleFields, name) != kSingleFields.end()) {
    const auto isName = [&](const auto &field) { return field.first == name; };
    if (std::ranges::any_of(single, isName))
      return bad("the request has header '" + name + "' twice");
    single.emplace_back(name, "");
  }
  return checkFraming(name, value, isHttp10, framing);
}

} // namespace

HeadEnd findHeadEnd(std::string_view bytes, size_t &scanned, const HttpLimits &limits) {
  // TLS sent to a plain port begins so: there may be no line to wait for.
  if (!bytes.empty() && isControl(bytes[0]) && bytes[0] != '\r')
    return {0, bad("the bytes are not HTTP/1.1")};
  while (true) {
    const size_t feed = bytes.find('\n', scanned);
    const size_t seen = feed == std::string_view::npos ? bytes.size() : feed + 1;
    const bool isFirst = bytes.substr(0, scanned).find('\n') == std::string_view::npos;
    if (isFirst && seen > limits.targetBytes)
      return {0, HttpFault{414, "the request line has more than " +
                                    std::to_string(limits.targetBytes) + " bytes"}};
    if (seen > limits.headBytes)
      return {0, HttpFault{431, "the request's head has more than " +
                                    std::to_string(limits.headBytes) + " bytes"}};
    if (feed == std::string_view::npos) {
      scanned = isFirst ? 0 : bytes.size();
      return {};
    }
    if (feed == 0 || bytes[feed - 1] != '\r')
      return {0, bad("a line ends with LF alone, expected CR LF")};
    if (feed >= 3 && bytes[feed - 2] == '\n')
      return {feed + 1, {}};
    scanned = feed + 1;
  }
}

std::optional<HttpFault> checkHead(std::string_view head, const HttpLimits &limits) {
  const size_t lineEnd = head.find("\r\n");
  const std::string_view requestLine = head.substr(0, lineEnd);
  if (auto fault = checkRequestLine(requestLine))
    return fault;
  const bool isHttp10 = requestLine.ends_with("HTTP/1.0");
  Headers single;
  Framing framing;
  size_t count = 0;
  for (std::string_view rest = head.substr(lineEnd + 2); rest != "\r\n";) {
    const size_t end = rest.find("\r\n");
    if (++count > limits.headerCount)
      return HttpFault{431, "the request has more than " + std::to_string(limits.headerCount) +
                                " headers"};
    if (auto fault = checkField(rest.substr(0, end), isHttp10, single, framing))
      return fault;
    rest.remove_prefix(end + 2);
  }
  if (!framing.hasHost && !isHttp10)
    return bad("the request has no Host");
  return std::nullopt;
}

} // namespace sinter::serve
