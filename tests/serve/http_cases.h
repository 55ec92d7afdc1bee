// Bytes of requests with how they must be read, from tests/data/serve/http_cases.txt.
#pragma once

#include "serve/http/limits.h"

#include <fstream>
#include <ostream>
#include <string>
#include <vector>

namespace sinter::serve {

struct HttpCase {
  std::string name, expected, bytes;
};
inline std::ostream &operator<<(std::ostream &stream, const HttpCase &each) {
  return stream << each.name;
}

inline HttpLimits limitsOfCases() {
  HttpLimits limits;
  limits.targetBytes = 512;
  limits.headBytes = 2048;
  limits.headerCount = 32;
  limits.bodyBytes = 1000;
  return limits;
}

inline std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    const char kind = text[++i];
    if (kind == 'x') {
      out +=
          static_cast<char>(std::strtoul(std::string(text.substr(i + 1, 2)).c_str(), nullptr, 16));
      i += 2;
    } else {
      out += kind == 'r' ? '\r' : kind == 'n' ? '\n' : kind == 't' ? '\t' : kind;
    }
  }
  return out;
}

inline std::vector<HttpCase> httpCases() {
  std::vector<HttpCase> cases;
  std::ifstream file(SINTER_TEST_DIR "/data/serve/http_cases.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#')
      continue;
    const size_t first = line.find('\t'), second = line.find('\t', first + 1);
    cases.push_back({line.substr(0, first), unescaped(line.substr(first + 1, second - first - 1)),
                     unescaped(std::string_view(line).substr(second + 1))});
  }
  return cases;
}

} // namespace sinter::serve
