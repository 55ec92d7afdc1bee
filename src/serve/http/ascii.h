// Letters of protocols: ASCII alone, whatever the locale.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace sinter::serve {

inline char lowerCase(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

inline std::string lowerCase(std::string_view text) {
  std::string lower(text);
  for (char &c : lower)
    c = lowerCase(c);
  return lower;
}

inline bool equalsIgnoringCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lowerCase(x) == lowerCase(y); });
}

// Of a token, as methods and names of headers are (RFC 9110, section 5.6.2).
inline bool isTokenCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

} // namespace sinter::serve
