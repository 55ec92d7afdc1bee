// What must hold of whatever bytes come as requests; shared by the fuzzer and the tests.
#pragma once

#include "serve/http/request_parser.h"
#include "serve/http_cases.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <string_view>

namespace sinter::serve {

inline std::string textOf(const HttpRequest &request) {
  std::string text = request.method + " " + request.path;
  for (const auto &[name, value] : request.query)
    text += "?" + name + "=" + value;
  const bool hasBody = request.method == "POST" || !request.body.empty();
  return hasBody ? text + "=" + request.body : text;
}

// What comes of the bytes when next() of them arrive at a time: requests, then a status or "more".
template <typename Next> std::string readInPieces(std::string_view bytes, Next next) {
  const HttpLimits limits = limitsOfCases();
  std::string text, waiting;
  auto parser = std::make_unique<RequestParser>(limits);
  while (true) {
    const bool hadHead = parser->headDone();
    const auto taken = parser->put(waiting);
    if (!taken)
      return text + std::to_string(taken.error().status);
    waiting.erase(0, *taken);
    if (!hadHead && parser->headDone())
      if (const auto fault = parser->limitBody(limits.bodyBytes))
        return text + std::to_string(fault->status);
    if (parser->done()) {
      text += textOf(parser->request());
      if (!parser->keepsAlive())
        return text + " close";
      text += "; ";
      parser = std::make_unique<RequestParser>(limits);
    } else if (*taken == 0) {
      if (bytes.empty())
        break;
      const size_t count = std::min<size_t>(next(), bytes.size());
      waiting += bytes.substr(0, count);
      bytes.remove_prefix(count);
    }
  }
  if (!waiting.empty() || parser->begun())
    return text + "more";
  return text.substr(0, text.size() - std::min<size_t>(text.size(), 2));
}

inline std::string readAs(std::string_view bytes, size_t atOnce) {
  return readInPieces(bytes, [atOnce] { return atOnce; });
}

// Empty: the bytes are read alike however they arrive.
inline std::string httpInconsistencyOf(std::string_view bytes) {
  const std::string whole = readAs(bytes, std::string::npos);
  for (const size_t atOnce : {size_t{1}, size_t{3}, size_t{17}, size_t{100}})
    if (const std::string parts = readAs(bytes, atOnce); parts != whole)
      return "whole: " + whole + "\nby " + std::to_string(atOnce) + ": " + parts;
  std::minstd_rand random(static_cast<uint32_t>(std::hash<std::string_view>()(bytes)));
  const std::string parts = readInPieces(bytes, [&] { return 1 + random() % 64; });
  return parts == whole ? "" : "whole: " + whole + "\nat random: " + parts;
}

} // namespace sinter::serve
