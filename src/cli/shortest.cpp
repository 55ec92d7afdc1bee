// Shortest decimal forms, by the standard library.
#include "cli/shortest.h"

#include <array>
#include <charconv>

namespace sinter::cli {

std::string shortestText(float value) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

double shortest(float value) {
  const std::string text = shortestText(value);
  double result = value;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

} // namespace sinter::cli
